//go:build cgo

package agent

import (
	"fmt"
	"strconv"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// identity is what does not change of a card while the driver is loaded.
type identity struct {
	name, serial, brand, architecture, capability, virtualization Value[string]
	minor                                                         Value[int]
	pci                                                           PCI
}

// gpu reads one card. Once it is found lost, the rest is unknown for that reason.
func (s *session) gpu(index int, d nvml.Device) GPU {
	g := GPU{Index: index, UUID: s.uuid(index, d)}
	g.is(s.identity(g.UUID, d))
	g.Memory = s.memory(d)
	var parts []nvml.Device
	g.MIG, parts = s.mig(g.UUID, g.Memory.Total, d)
	g.Processes = s.processes(d, parts)
	g.ECC, g.RowRemap, g.RetiredPages = s.ecc(d), s.rowRemap(d), s.retiredPages(d)
	g.NVLinks = s.links(g.UUID, d)
	g.VGPUHost = s.vgpuHost(g.UUID, g.Virtualization, d)
	g.License = s.license(d)
	g.Lost = s.gone != ""
	return g
}

// uuid remembers: which card was lost is what a person asks first.
func (s *session) uuid(index int, d nvml.Device) Value[string] {
	got := text(ask(s, callUUID, d.GetUUID))
	if _, ok := got.Get(); ok {
		s.uuids[index] = got
		return got
	}
	if before, ok := s.uuids[index]; ok && s.gone != "" {
		return before
	}
	return got
}

func (g *GPU) is(id identity) {
	g.Name, g.Serial, g.Brand, g.Architecture, g.ComputeCapability = id.name, id.serial, id.brand, id.architecture,
		id.capability
	g.Minor, g.PCI, g.Virtualization = id.minor, id.pci, id.virtualization
}

// unreadable is a card of which the driver gives no handle. What was known of it in this session still holds when it
// was lost since.
func (s *session) unreadable(index int, why Reason) GPU {
	g := unreadable(index, why)
	if uuid, ok := s.uuids[index]; ok && g.Lost {
		g.UUID = uuid
		if id, ok := s.identities[uuid.Or("")]; ok {
			g.is(id)
		}
	}
	return g
}

func unreadable(index int, why Reason) GPU {
	none := Memory{Unknown[uint64](why), Unknown[uint64](why), Unknown[uint64](why), Unknown[uint64](why)}
	words, flag, count, number := Unknown[string](why), Unknown[bool](why), Unknown[uint64](why), Unknown[int](why)
	return GPU{
		Index: index, Lost: why == GPULost || why == ResetRequired, UUID: words, Name: words, Serial: words, Brand: words,
		Architecture: words, ComputeCapability: words,
		Minor: number, PCI: PCI{words, words}, Memory: none,
		MIG:       MIG{flag, flag, Unknown[[]Profile](why), Unknown[[]GPUInstance](why), Unknown[[]MIGDevice](why)},
		Processes: Unknown[[]Process](why), ECC: ECC{flag, flag, count, count, count, count},
		RowRemap:     RowRemap{number, number, flag, flag},
		RetiredPages: RetiredPages{number, number, flag}, NVLinks: Unknown[[]NVLink](why), XIDs: Unknown[XIDs](why),
		Virtualization: words,
		VGPUHost:       noVGPUHost(why), License: License{flag, Unknown[[]LicenseFeature](why)},
	}
}

// identity reads once per session. A card that was lost meanwhile is read again.
func (s *session) identity(uuid Value[string], d nvml.Device) identity {
	key, named := uuid.Get()
	if id, ok := s.identities[key]; ok && named {
		return id
	}
	id := identity{
		name:         text(ask(s, callName, d.GetName)),
		serial:       text(ask(s, callSerial, d.GetSerial)),
		brand:        worded(ask(s, callBrand, d.GetBrand), brands),
		architecture: worded(ask(s, callArchitecture, d.GetArchitecture), architectures),
		capability: ask(s, callCapability, func() (string, nvml.Return) {
			major, minor, ret := d.GetCudaComputeCapability()
			return strconv.Itoa(major) + "." + strconv.Itoa(minor), ret
		}),
		minor:          ask(s, callMinor, d.GetMinorNumber),
		virtualization: worded(ask(s, callVirtualization, d.GetVirtualizationMode), virtualizations),
	}
	pci := ask(s, callPCI, d.GetPciInfo)
	if p, ok := pci.Get(); ok {
		id.pci = PCI{BusID: cstring(p.BusId[:]), DeviceID: Known(fmt.Sprintf("0x%08X", p.PciDeviceId))}
	} else {
		id.pci = PCI{Unknown[string](pci.Why()), Unknown[string](pci.Why())}
	}
	if named && s.gone == "" && s.ended == "" {
		s.identities[key] = id
	}
	return id
}

// worded gives a constant of NVML its word; one that is newer than the table has none.
func worded[T comparable](v Value[T], words map[T]string) Value[string] {
	c, ok := v.Get()
	if !ok {
		return Unknown[string](v.Why())
	}
	if w, ok := words[c]; ok {
		return Known(w)
	}
	return Unknown[string](NotAvailable)
}

// The words are those of nvidia-smi and of GPU feature discovery (nvidia.com/gpu.family), in lower case.
var (
	brands = map[nvml.BrandType]string{
		nvml.BRAND_QUADRO: "quadro", nvml.BRAND_TESLA: "tesla", nvml.BRAND_NVS: "nvs", nvml.BRAND_GRID: "grid",
		nvml.BRAND_GEFORCE: "geforce", nvml.BRAND_TITAN: "titan",
		nvml.BRAND_NVIDIA_VAPPS: "nvidia-vapps", nvml.BRAND_NVIDIA_VPC: "nvidia-vpc", nvml.BRAND_NVIDIA_VCS: "nvidia-vcs",
		nvml.BRAND_NVIDIA_VWS:          "nvidia-vws",
		nvml.BRAND_NVIDIA_CLOUD_GAMING: "nvidia-cloud-gaming", nvml.BRAND_QUADRO_RTX: "quadro-rtx",
		nvml.BRAND_NVIDIA_RTX: "nvidia-rtx", nvml.BRAND_NVIDIA: "nvidia",
		nvml.BRAND_GEFORCE_RTX: "geforce-rtx", nvml.BRAND_TITAN_RTX: "titan-rtx",
	}
	architectures = map[nvml.DeviceArchitecture]string{
		nvml.DEVICE_ARCH_KEPLER: "kepler", nvml.DEVICE_ARCH_MAXWELL: "maxwell", nvml.DEVICE_ARCH_PASCAL: "pascal",
		nvml.DEVICE_ARCH_VOLTA:  "volta",
		nvml.DEVICE_ARCH_TURING: "turing", nvml.DEVICE_ARCH_AMPERE: "ampere", nvml.DEVICE_ARCH_ADA: "ada-lovelace",
		nvml.DEVICE_ARCH_HOPPER:    "hopper",
		nvml.DEVICE_ARCH_BLACKWELL: "blackwell",
	}
	virtualizations = map[nvml.GpuVirtualizationMode]string{
		nvml.GPU_VIRTUALIZATION_MODE_NONE: "none", nvml.GPU_VIRTUALIZATION_MODE_PASSTHROUGH: "passthrough",
		nvml.GPU_VIRTUALIZATION_MODE_VGPU:      "vgpu_guest",
		nvml.GPU_VIRTUALIZATION_MODE_HOST_VGPU: "vgpu_host", nvml.GPU_VIRTUALIZATION_MODE_HOST_VSGA: "vsga_host",
	}
)

// memory prefers version 2 of the call, which tells the driver's own part; in version 1 that part is counted as used
// (nvml.h, nvmlMemory_v2_t).
func (s *session) memory(d nvml.Device) Memory {
	v2 := ask(s, callMemoryV2, d.GetMemoryInfo_v2)
	if m, ok := v2.Get(); ok {
		return Memory{Known(m.Total), Known(m.Used), Known(m.Free), Known(m.Reserved)}
	}
	v1 := ask(s, callMemory, d.GetMemoryInfo)
	if m, ok := v1.Get(); ok {
		return Memory{Known(m.Total), Known(m.Used), Known(m.Free), Unknown[uint64](v2.Why())}
	}
	none := Unknown[uint64](v1.Why())
	return Memory{none, none, none, none}
}
