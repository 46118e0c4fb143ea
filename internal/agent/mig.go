//go:build cgo

package agent

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// layout is what a card can be cut into. It does not change for as long as the MIG mode does not (nvml.h,
// nvmlDeviceGetGpuInstanceProfileInfo).
type layout struct {
	enabled  Value[bool]
	profiles Value[[]Profile]
	infos    []nvml.GpuInstanceProfileInfo // beside profiles
}

// mig reads how a card is cut, and gives the handles of its MIG devices, which are good for this round only.
func (s *session) mig(uuid Value[string], total Value[uint64], d nvml.Device) (MIG, []nvml.Device) {
	type modes struct{ current, pending int }
	mode := ask(s, callMIGMode, func() (modes, nvml.Return) {
		current, pending, ret := d.GetMigMode()
		return modes{current, pending}, ret
	})
	m := MIG{
		Enabled: mapped(mode, func(m modes) bool { return m.current == nvml.DEVICE_MIG_ENABLE }),
		Pending: mapped(mode, func(m modes) bool { return m.pending == nvml.DEVICE_MIG_ENABLE }),
	}
	on, ok := m.Enabled.Get()
	if !ok {
		why := m.Enabled.Why()
		m.Profiles, m.Instances, m.Devices = Unknown[[]Profile](why), Unknown[[]GPUInstance](why), Unknown[[]MIGDevice](why)
		return m, nil
	}
	l := s.layout(uuid, m.Enabled, total, d)
	m.Profiles = l.profiles
	if !on {
		m.Instances, m.Devices = KnownList[GPUInstance](nil), KnownList[MIGDevice](nil)
		return m, nil
	}
	m.Instances = s.instances(l, d)
	m.Profiles = s.room(l, m.Instances, d)
	var parts []nvml.Device
	m.Devices, parts = s.devices(d)
	return m, parts
}

func (s *session) layout(uuid Value[string], enabled Value[bool], total Value[uint64], d nvml.Device) layout {
	key, named := uuid.Get()
	if l, ok := s.layouts[key]; ok && named && l.enabled.Equal(enabled) {
		return l
	}
	l := layout{enabled: enabled}
	var list []Profile
	why := NotSupported
	for kind := range nvml.GPU_INSTANCE_PROFILE_COUNT {
		got := ask(s, callProfile, func() (nvml.GpuInstanceProfileInfo, nvml.Return) {
			return d.GetGpuInstanceProfileInfo(kind)
		})
		info, ok := got.Get()
		if !ok {
			if got.Why() != NotSupported {
				why = got.Why()
			}
			continue
		}
		list = append(list, s.profile(kind, info, total, d))
		l.infos = append(l.infos, info)
	}
	l.profiles = KnownList(list)
	if why != NotSupported || len(list) == 0 {
		l.profiles, l.infos = Unknown[[]Profile](why), nil
		return l
	}
	if _, known := total.Get(); named && known && s.gone == "" && s.ended == "" {
		s.layouts[key] = l
	}
	return l
}

func (s *session) profile(kind int, info nvml.GpuInstanceProfileInfo, total Value[uint64], d nvml.Device) Profile {
	p := Profile{
		ID: int(info.Id), Slices: int(info.SliceCount), MaxInstances: int(info.InstanceCount),
		Multiprocessors: int(info.MultiprocessorCount), MemoryMiB: info.MemorySizeMB,
		CopyEngines: int(info.CopyEngineCount), Decoders: int(info.DecoderCount), Encoders: int(info.EncoderCount),
		JPEG: int(info.JpegCount), OFA: int(info.OfaCount),
		Name: profileName(kind, info, total), Remaining: Unknown[int](NotComputed),
	}
	at := ask(s, callPlacements, func() ([]nvml.GpuInstancePlacement, nvml.Return) {
		return d.GetGpuInstancePossiblePlacements(&info)
	})
	p.Placements = mapped(at, func(list []nvml.GpuInstancePlacement) []Placement {
		out := make([]Placement, 0, len(list))
		for _, a := range list {
			out = append(out, Placement{int(a.Start), int(a.Size)})
		}
		return out
	})
	p.Free = KnownList[Placement](nil)
	return p
}

// suffixes tell profiles apart that have equally many slices.
var suffixes = map[int]string{
	nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV1: "+me", nvml.GPU_INSTANCE_PROFILE_2_SLICE_REV1: "+me",
	nvml.GPU_INSTANCE_PROFILE_1_SLICE_GFX: "+gfx", nvml.GPU_INSTANCE_PROFILE_2_SLICE_GFX: "+gfx",
	nvml.GPU_INSTANCE_PROFILE_4_SLICE_GFX:   "+gfx",
	nvml.GPU_INSTANCE_PROFILE_1_SLICE_NO_ME: "-me", nvml.GPU_INSTANCE_PROFILE_2_SLICE_NO_ME: "-me",
	nvml.GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME: "+me.all", nvml.GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME: "+me.all",
}

// profileName is the name under which device plugin and nvidia-smi know a profile. The GB in it are the share of the
// card in eighths, rounded up, of the card's memory in GiB, rounded up: NVIDIA's go-nvlib counts so where the driver
// does not give the name.
func profileName(kind int, info nvml.GpuInstanceProfileInfo, total Value[uint64]) Value[string] {
	bytes, ok := total.Get()
	if !ok || bytes == 0 {
		return Unknown[string](NotComputed)
	}
	eighths := math.Ceil(8 * float64(info.MemorySizeMB) * (1 << 20) / float64(bytes))
	gb := math.Round(eighths / 8 * math.Ceil(float64(bytes)/(1<<30)))
	return Known(fmt.Sprintf("%dg.%dgb%s", info.SliceCount, int(gb), suffixes[kind]))
}

// instances must be all or unknown: with one of them missing, a placement would look free that is not.
func (s *session) instances(l layout, d nvml.Device) Value[[]GPUInstance] {
	profiles, ok := l.profiles.Get()
	if !ok {
		return Unknown[[]GPUInstance](l.profiles.Why())
	}
	var list []GPUInstance
	for i, info := range l.infos {
		if info.InstanceCount == 0 {
			continue // go-nvml would index an empty list
		}
		handles := ask(s, callInstances, func() ([]nvml.GpuInstance, nvml.Return) { return d.GetGpuInstances(&info) })
		if _, ok := handles.Get(); !ok {
			return Unknown[[]GPUInstance](handles.Why())
		}
		for _, h := range handles.Or(nil) {
			got := ask(s, callInstance, h.GetInfo)
			gi, ok := got.Get()
			if !ok {
				return Unknown[[]GPUInstance](got.Why())
			}
			list = append(list, GPUInstance{int(gi.Id), int(gi.ProfileId), profiles[i].Name, Placement{int(gi.Placement.Start),
				int(gi.Placement.Size)}})
		}
	}
	slices.SortFunc(list, func(a, b GPUInstance) int { return cmp.Compare(a.ID, b.ID) })
	return KnownList(list)
}

// room says for each profile where one more would fit, and how many the driver would make.
func (s *session) room(l layout, instances Value[[]GPUInstance], d nvml.Device) Value[[]Profile] {
	return mapped(l.profiles, func(cached []Profile) []Profile {
		list := slices.Clone(cached)
		for i := range list {
			list[i].Free = Unknown[[]Placement](NotComputed)
			if there, ok := instances.Get(); ok {
				list[i].Free = free(list[i], there)
			}
			list[i].Remaining = ask(s, callRemaining, func() (int, nvml.Return) {
				return d.GetGpuInstanceRemainingCapacity(&l.infos[i])
			})
		}
		return list
	})
}

// devices lists the MIG devices. Their numbers have gaps: after a device was destroyed the others keep theirs.
func (s *session) devices(d nvml.Device) (Value[[]MIGDevice], []nvml.Device) {
	most := ask(s, callMaxMIGDevices, d.GetMaxMigDeviceCount)
	n, ok := most.Get()
	if !ok {
		return Unknown[[]MIGDevice](most.Why()), nil
	}
	var list []MIGDevice
	var handles []nvml.Device
	for i := range n {
		got := ask(s, callMIGDevice, func() (nvml.Device, nvml.Return) { return d.GetMigDeviceHandleByIndex(i) })
		h, ok := got.Get()
		if got.Why() == NotFound {
			continue
		}
		if !ok {
			return Unknown[[]MIGDevice](got.Why()), nil
		}
		list = append(list, s.migDevice(h))
		handles = append(handles, h)
	}
	return KnownList(list), handles
}

// migDevice reads what a MIG device is once: its UUID is made from card, GPU instance and compute instance.
func (s *session) migDevice(h nvml.Device) MIGDevice {
	uuid := text(ask(s, callUUID, h.GetUUID))
	key, named := uuid.Get()
	m, ok := s.migDevices[key]
	if !ok || !named {
		m = MIGDevice{UUID: uuid, Name: text(ask(s, callName, h.GetName)), GPUInstance: ask(s, callGPUInstanceID,
			h.GetGpuInstanceId),
			ComputeInstance: ask(s, callComputeInstanceID, h.GetComputeInstanceId)}
		a := ask(s, callAttributes, h.GetAttributes)
		m.Slices = mapped(a, func(a nvml.DeviceAttributes) int { return int(a.GpuInstanceSliceCount) })
		m.ComputeSlices = mapped(a, func(a nvml.DeviceAttributes) int { return int(a.ComputeInstanceSliceCount) })
		m.Multiprocessors = mapped(a, func(a nvml.DeviceAttributes) int { return int(a.MultiprocessorCount) })
		if named && s.gone == "" && s.ended == "" {
			s.migDevices[key] = m
		}
	}
	m.Memory = s.memory(h)
	return m
}
