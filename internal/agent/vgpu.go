//go:build cgo

package agent

import (
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func noVGPUHost(why Reason) VGPUHost {
	return VGPUHost{
		Unknown[bool](why), Unknown[bool](why), Unknown[string](why), Unknown[[]VGPUType](why), Unknown[[]string](why),
		Unknown[[]VGPUInstance](why),
	}
}

// vgpuHost asks only a card whose driver shares it out to virtual machines.
func (s *session) vgpuHost(uuid, virtualization Value[string], d nvml.Device) VGPUHost {
	mode, ok := virtualization.Get()
	if !ok {
		return noVGPUHost(virtualization.Why())
	}
	if mode != "vgpu_host" && mode != "vsga_host" {
		return noVGPUHost(NotSupported)
	}
	creatable := ask(s, callCreatableVGPUs, d.GetCreatableVgpus)
	return VGPUHost{
		SRIOV: mapped(ask(s, callHostMode, d.GetHostVgpuMode),
			func(m nvml.HostVgpuMode) bool { return m == nvml.HOST_VGPU_MODE_SRIOV }),
		Heterogeneous: mapped(ask(s, callHeterogeneous, d.GetVgpuHeterogeneousMode),
			func(m nvml.VgpuHeterogeneousMode) bool { return m.Mode == uint32(nvml.FEATURE_ENABLED) }),
		Scheduler: worded(mapped(ask(s, callScheduler, d.GetVgpuSchedulerState),
			func(st nvml.VgpuSchedulerGetState) uint32 { return st.SchedulerPolicy }),
			map[uint32]string{nvml.VGPU_SCHEDULER_POLICY_BEST_EFFORT: "best_effort",
				nvml.VGPU_SCHEDULER_POLICY_EQUAL_SHARE: "equal_share",
				nvml.VGPU_SCHEDULER_POLICY_FIXED_SHARE: "fixed_share"}),
		Supported: s.vgpuTypes(uuid, d),
		Creatable: mapped(creatable, func(list []nvml.VgpuTypeId) []string {
			names := make([]string, 0, len(list))
			for _, t := range list {
				if name, ok := text(ask(s, callTypeName, t.GetName)).Get(); ok {
					names = append(names, name)
				}
			}
			return names
		}),
		Active: s.vgpus(d),
	}
}

// vgpuTypes is read once: dozens of types with five answers each, which the driver's version and the card decide.
func (s *session) vgpuTypes(uuid Value[string], d nvml.Device) Value[[]VGPUType] {
	key, named := uuid.Get()
	if types, ok := s.types[key]; ok && named {
		return Known(types)
	}
	list := mapped(ask(s, callSupportedVGPUs, d.GetSupportedVgpus), func(ids []nvml.VgpuTypeId) []VGPUType {
		types := make([]VGPUType, 0, len(ids))
		for _, t := range ids {
			types = append(types, VGPUType{
				Name: text(ask(s, callTypeName, t.GetName)), Class: text(ask(s, callTypeClass, t.GetClass)),
				License:          text(ask(s, callTypeLicense, t.GetLicense)),
				FramebufferBytes: ask(s, callTypeFramebuffer, t.GetFramebufferSize),
				MaxInstances:     ask(s, callTypeMax, func() (int, nvml.Return) { return t.GetMaxInstances(d) }),
			})
		}
		return types
	})
	if types, ok := list.Get(); ok && named && s.gone == "" && s.ended == "" {
		s.types[key] = types
	}
	return list
}

func (s *session) vgpus(d nvml.Device) Value[[]VGPUInstance] {
	return mapped(ask(s, callActiveVGPUs, d.GetActiveVgpus), func(handles []nvml.VgpuInstance) []VGPUInstance {
		list := make([]VGPUInstance, 0, len(handles))
		for _, v := range handles {
			list = append(list, s.vgpu(v))
		}
		return list
	})
}

func (s *session) vgpu(v nvml.VgpuInstance) VGPUInstance {
	out := VGPUInstance{
		UUID: text(ask(s, callVGPUUUID, v.GetUUID)),
		VM: text(ask(s, callVGPUVM, func() (string, nvml.Return) {
			id, _, ret := v.GetVmID()
			return id, ret
		})),
		UsedBytes: ask(s, callVGPUUsed, v.GetFbUsage), GuestDriver: text(ask(s, callVGPUDriver, v.GetVmDriverVersion)),
		GPUInstance: ask(s, callVGPUInstance, func() (int, nvml.Return) {
			id, ret := v.GetGpuInstanceId()
			return id, ret
		}),
	}
	if id, ok := out.GPUInstance.Get(); ok && uint32(id) == 0xFFFFFFFF {
		out.GPUInstance = Unknown[int](NotAvailable) // a time-sliced vGPU
	}
	kind := ask(s, callVGPUType, v.GetType)
	if t, ok := kind.Get(); ok {
		out.Type = text(ask(s, callTypeName, t.GetName))
	} else {
		out.Type = Unknown[string](kind.Why())
	}
	l := ask(s, callVGPULicense, v.GetLicenseInfo)
	out.Licensed = mapped(l, func(l nvml.VgpuLicenseInfo) bool { return l.IsLicensed != 0 })
	out.LicenseState = worded(mapped(l, func(l nvml.VgpuLicenseInfo) uint32 { return l.CurrentState }), licenseStates)
	out.LicenseUntil = Unknown[time.Time](l.Why())
	if l, ok := l.Get(); ok {
		e := l.LicenseExpiry
		out.LicenseUntil = expiry(e.Status, e.Year, e.Month, e.Day, e.Hour, e.Min, e.Sec)
	}
	return out
}

// State 0 is NVML's own "unknown" and has no word.
var licenseStates = map[uint32]string{
	nvml.GRID_LICENSE_STATE_UNINITIALIZED:           "uninitialized",
	nvml.GRID_LICENSE_STATE_UNLICENSED_UNRESTRICTED: "unlicensed_unrestricted",
	nvml.GRID_LICENSE_STATE_UNLICENSED_RESTRICTED:   "unlicensed_restricted",
	nvml.GRID_LICENSE_STATE_UNLICENSED:              "unlicensed", nvml.GRID_LICENSE_STATE_LICENSED: "licensed",
}

var (
	licenseFeatures = map[uint32]string{
		uint32(nvml.GRID_LICENSE_FEATURE_CODE_VGPU): "vgpu", uint32(nvml.GRID_LICENSE_FEATURE_CODE_NVIDIA_RTX): "rtx",
		uint32(nvml.GRID_LICENSE_FEATURE_CODE_GAMING): "gaming", uint32(nvml.GRID_LICENSE_FEATURE_CODE_COMPUTE): "compute",
	}
	expiryStates = map[uint8]string{
		nvml.GRID_LICENSE_EXPIRY_NOT_AVAILABLE: "not_available", nvml.GRID_LICENSE_EXPIRY_INVALID: "invalid",
		nvml.GRID_LICENSE_EXPIRY_VALID:          "valid",
		nvml.GRID_LICENSE_EXPIRY_NOT_APPLICABLE: "not_applicable", nvml.GRID_LICENSE_EXPIRY_PERMANENT: "permanent",
	}
)

func (s *session) license(d nvml.Device) License {
	got := ask(s, callLicense, d.GetGridLicensableFeatures)
	return License{
		Supported: mapped(got, func(f nvml.GridLicensableFeatures) bool { return f.IsGridLicenseSupported != 0 }),
		Features: mapped(got, func(f nvml.GridLicensableFeatures) []LicenseFeature {
			n := min(int(f.LicensableFeaturesCount), len(f.GridLicensableFeatures))
			list := make([]LicenseFeature, 0, n)
			if f.IsGridLicenseSupported == 0 {
				return list
			}
			for _, feature := range f.GridLicensableFeatures[:n] {
				list = append(list, licenseFeature(feature))
			}
			return list
		}),
	}
}

func licenseFeature(f nvml.GridLicensableFeature) LicenseFeature {
	e := f.LicenseExpiry
	return LicenseFeature{
		Feature: orUnknown(licenseFeatures[f.FeatureCode]), Product: cstring(f.ProductName[:]).Or(""),
		Enabled: f.FeatureEnabled != 0, Licensed: f.FeatureState == 1,
		Expiry:       expiry(e.Status, e.Year, e.Month, e.Day, e.Hour, e.Min, e.Sec),
		ExpiryStatus: orUnknown(expiryStates[e.Status]),
	}
}

func orUnknown(word string) string {
	if word == "" {
		return "unknown"
	}
	return word
}

// expiry is in UTC; nvidia-smi prints the same fields as GMT.
func expiry(status uint8, year uint32, month, day, hour, minute, second uint16) Value[time.Time] {
	if status != nvml.GRID_LICENSE_EXPIRY_VALID {
		return Unknown[time.Time](NotAvailable)
	}
	return Known(time.Date(int(year), time.Month(month), int(day), int(hour), int(minute), int(second), 0, time.UTC))
}
