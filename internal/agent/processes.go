//go:build cgo

package agent

import (
	"cmp"
	"math"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// processes of a card. In MIG mode NVML answers for the whole card to a privileged user only; the MIG devices answer
// everybody who may use them.
func (s *session) processes(d nvml.Device, parts []nvml.Device) Value[[]Process] {
	whole := s.processesOn(d)
	if whole.Why() != NoPermission || len(parts) == 0 {
		return whole
	}
	var list []Process
	for _, part := range parts {
		v := s.processesOn(part)
		some, ok := v.Get()
		if !ok {
			return v
		}
		list = append(list, some...)
	}
	return KnownList(list)
}

func (s *session) processesOn(d nvml.Device) Value[[]Process] {
	kinds := []struct {
		name string
		call call
		list func() ([]nvml.ProcessInfo, nvml.Return)
	}{{"compute", callCompute, d.GetComputeRunningProcesses}, {"mps", callMPS, d.GetMPSComputeRunningProcesses},
		{"graphics", callGraphics, d.GetGraphicsRunningProcesses}}
	type place struct{ pid, gi, ci uint32 }
	var list []Process
	seen, answers, why := map[place]bool{}, 0, NotSupported
	for _, k := range kinds {
		got := ask(s, k.call, k.list)
		infos, ok := got.Get()
		switch {
		case ok:
			answers++
		case got.Why() == NotSupported || got.Why() == LibraryTooOld: // a kind that this card or driver does not know
			why = got.Why()
			continue
		default:
			return Unknown[[]Process](got.Why())
		}
		for _, p := range infos {
			// one that computes and draws is in two lists with the same memory
			if at := (place{p.Pid, p.GpuInstanceId, p.ComputeInstanceId}); !seen[at] {
				seen[at] = true
				list = append(list, s.process(k.name, p))
			}
		}
	}
	if answers == 0 {
		return Unknown[[]Process](why)
	}
	slices.SortFunc(list, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.GPUInstance.Or(-1), b.GPUInstance.Or(-1)),
			cmp.Compare(a.ComputeInstance.Or(-1), b.ComputeInstance.Or(-1)))
	})
	return KnownList(list)
}

func (s *session) process(kind string, p nvml.ProcessInfo) Process {
	used := Known(p.UsedGpuMemory)
	if p.UsedGpuMemory == math.MaxUint64 { // NVML_VALUE_NOT_AVAILABLE
		used = Unknown[uint64](NotAvailable)
	}
	return Process{
		PID: int(p.Pid), Kind: kind, UsedBytes: used, GPUInstance: instanceID(p.GpuInstanceId),
		ComputeInstance: instanceID(p.ComputeInstanceId),
		Container:       s.containers.Of(int(p.Pid)),
	}
}

// instanceID is all ones where there is no MIG, or where the driver's older answer has no such field.
func instanceID(id uint32) Value[int] {
	if id == math.MaxUint32 {
		return Unknown[int](NotAvailable)
	}
	return Known(int(id))
}
