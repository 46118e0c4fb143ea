//go:build cgo

package agent

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
)

// answer makes the functions of a mock give a code and zeros; which says whether a function that is set already is
// changed too. The result undoes it.
func answer(m any, code nvml.Return, which func(name string, set bool) bool) (undo func()) {
	v := reflect.ValueOf(m).Elem()
	before := map[int]reflect.Value{}
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() != reflect.Func || !field.CanSet() || !which(v.Type().Field(i).Name, !field.IsNil()) {
			continue
		}
		before[i] = reflect.ValueOf(field.Interface())
		f := field.Type()
		field.Set(reflect.MakeFunc(f, func([]reflect.Value) []reflect.Value {
			out := make([]reflect.Value, f.NumOut())
			for o := range out {
				out[o] = reflect.Zero(f.Out(o))
				if f.Out(o) == reflect.TypeFor[nvml.Return]() {
					out[o] = reflect.ValueOf(code)
				}
			}
			return out
		}))
	}
	return func() {
		for i, f := range before {
			v.Field(i).Set(f)
		}
	}
}

func unset(_ string, set bool) bool { return !set }
func all(string, bool) bool         { return true }

// only picks one function.
func only(name string) func(string, bool) bool {
	return func(n string, _ bool) bool { return n == name+"Func" }
}

// servers are the machines that go-nvml brings along.
var servers = map[string]func() *dgxa100.Server{"dgxa100": dgxa100.New}

// dgx is go-nvml's machine with eight A100, where what it leaves out is not supported instead of a panic.
func dgx() *dgxa100.Server {
	s := dgxa100.New()
	answer(&s.Interface, nvml.ERROR_NOT_SUPPORTED, unset)
	for i := range s.Devices {
		d := card(s, i)
		d.UUID = fmt.Sprintf("GPU-00000000-0000-0000-0000-00000000000%d", i)
		answer(&d.Device, nvml.ERROR_NOT_SUPPORTED, unset)
		d.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) {
			p := nvml.PciInfo{PciDeviceId: 0x20B010DE}
			copy(p.BusId[:], fmt.Sprintf("00000000:%02X:00.0", 0x10+i))
			return p, nvml.SUCCESS
		}
	}
	return s
}

func card(s *dgxa100.Server, i int) *dgxa100.Device { return s.Devices[i].(*dgxa100.Device) }

// cut puts a card into MIG mode and makes instances; each gets one compute instance and so one MIG device.
func cut(t testing.TB, d *dgxa100.Device, parts map[int][]uint32) {
	t.Helper()
	d.MigMode = nvml.DEVICE_MIG_ENABLE
	for kind := range nvml.GPU_INSTANCE_PROFILE_COUNT {
		for _, start := range parts[kind] {
			info, ret := d.GetGpuInstanceProfileInfo(kind)
			if ret != nvml.SUCCESS {
				t.Fatal(ret)
			}
			at, _ := d.GetGpuInstancePossiblePlacements(&info)
			if _, ret = d.CreateGpuInstanceWithPlacement(&info, &nvml.GpuInstancePlacement{Start: start,
				Size: at[0].Size}); ret != nvml.SUCCESS {
				t.Fatal(ret)
			}
		}
	}
	d.GetGpuInstanceRemainingCapacityFunc = func(info *nvml.GpuInstanceProfileInfo) (int, nvml.Return) {
		return int(info.InstanceCount) - 1, nvml.SUCCESS
	}
	made := map[*dgxa100.GpuInstance]nvml.Device{}
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	d.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		for gi := range d.GpuInstances {
			if int(gi.Info.Id) == i-1 { // number 0 is a gap
				if made[gi] == nil {
					made[gi] = migDevice(d, gi.Info)
				}
				return made[gi], nvml.SUCCESS
			}
		}
		return nil, nvml.ERROR_NOT_FOUND
	}
}

func migDevice(d *dgxa100.Device, gi nvml.GpuInstanceInfo) nvml.Device {
	info, _ := d.GetGpuInstanceProfileInfo(int(gi.ProfileId))
	m := &mock.Device{
		GetUUIDFunc: func() (string, nvml.Return) {
			return fmt.Sprintf("MIG-%s-%d", d.UUID[4:], gi.Id),
				nvml.SUCCESS
		},
		GetNameFunc:              func() (string, nvml.Return) { return d.Name + " MIG", nvml.SUCCESS },
		GetGpuInstanceIdFunc:     func() (int, nvml.Return) { return int(gi.Id), nvml.SUCCESS },
		GetComputeInstanceIdFunc: func() (int, nvml.Return) { return 0, nvml.SUCCESS },
		GetAttributesFunc: func() (nvml.DeviceAttributes, nvml.Return) {
			return nvml.DeviceAttributes{GpuInstanceSliceCount: info.SliceCount, ComputeInstanceSliceCount: info.SliceCount,
				MultiprocessorCount: info.MultiprocessorCount}, nvml.SUCCESS
		},
		GetMemoryInfoFunc: func() (nvml.Memory, nvml.Return) {
			return nvml.Memory{Total: info.MemorySizeMB << 20, Free: info.MemorySizeMB<<20 - 1<<20, Used: 1 << 20}, nvml.SUCCESS
		},
		GetComputeRunningProcessesFunc: func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{{Pid: 900 + gi.Id, UsedGpuMemory: 1 << 20, GpuInstanceId: gi.Id, ComputeInstanceId: 0}},
				nvml.SUCCESS
		},
	}
	answer(m, nvml.ERROR_NOT_SUPPORTED, unset)
	return m
}

// rich gives a machine something of everything that a report can hold.
func rich(t testing.TB, s *dgxa100.Server) {
	t.Helper()
	mixed, busy, host, guest, lost := card(s, 0), card(s, 1), card(s, 2), card(s, 3), card(s, 7)

	cut(t, mixed, map[int][]uint32{nvml.GPU_INSTANCE_PROFILE_3_SLICE: {4}, nvml.GPU_INSTANCE_PROFILE_1_SLICE: {0, 1}})
	answer(&mixed.Device, nvml.ERROR_NO_PERMISSION, only("GetComputeRunningProcesses"))

	busy.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
		return nvml.Memory_v2{Total: 40 << 30, Reserved: 1 << 30, Used: 9 << 30, Free: 30 << 30}, nvml.SUCCESS
	}
	busy.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{
			{Pid: 41, UsedGpuMemory: 1<<64 - 1, GpuInstanceId: 1<<32 - 1, ComputeInstanceId: 1<<32 - 1},
			{Pid: 40, UsedGpuMemory: 8 << 30, GpuInstanceId: 1<<32 - 1, ComputeInstanceId: 1<<32 - 1},
		}, nvml.SUCCESS
	}
	busy.GetGraphicsRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{
			{Pid: 40, UsedGpuMemory: 8 << 30, GpuInstanceId: 1<<32 - 1, ComputeInstanceId: 1<<32 - 1},
			{Pid: 42, UsedGpuMemory: 1 << 20, GpuInstanceId: 1<<32 - 1, ComputeInstanceId: 1<<32 - 1},
		}, nvml.SUCCESS
	}
	busy.GetEccModeFunc = func() (nvml.EnableState, nvml.EnableState, nvml.Return) {
		return nvml.FEATURE_ENABLED, nvml.FEATURE_DISABLED, nvml.SUCCESS
	}
	busy.GetTotalEccErrorsFunc = func(kind nvml.MemoryErrorType, since nvml.EccCounterType) (uint64, nvml.Return) {
		return uint64(10*int(since) + int(kind)), nvml.SUCCESS
	}
	busy.GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) { return 3, 1, true, false, nvml.SUCCESS }
	busy.GetNvLinkStateFunc = func(link int) (nvml.EnableState, nvml.Return) {
		switch {
		case link > 2:
			return 0, nvml.ERROR_INVALID_ARGUMENT
		case link == 1:
			return nvml.FEATURE_DISABLED, nvml.SUCCESS
		}
		return nvml.FEATURE_ENABLED, nvml.SUCCESS
	}
	busy.GetNvLinkVersionFunc = func(int) (uint32, nvml.Return) { return 3, nvml.SUCCESS }
	busy.GetNvLinkRemoteDeviceTypeFunc = func(int) (nvml.IntNvLinkDeviceType, nvml.Return) {
		return nvml.NVLINK_DEVICE_TYPE_SWITCH, nvml.SUCCESS
	}
	busy.GetNvLinkErrorCounterFunc = func(link int, kind nvml.NvLinkErrorCounter) (uint64, nvml.Return) {
		return uint64(link*10) + uint64(kind), nvml.SUCCESS
	}
	busy.GetSerialFunc = func() (string, nvml.Return) { return "1320000000001", nvml.SUCCESS }
	busy.GetVirtualizationModeFunc = func() (nvml.GpuVirtualizationMode, nvml.Return) {
		return nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.SUCCESS
	}

	shareOut(host)
	licensed(guest)
	answer(&lost.Device, nvml.ERROR_GPU_IS_LOST, all)
}

// shareOut makes a card a vGPU host with one guest.
func shareOut(d *dgxa100.Device) {
	kind := &mock.VgpuTypeId{
		GetNameFunc:            func() (string, nvml.Return) { return "GRID A100-10C", nvml.SUCCESS },
		GetClassFunc:           func() (string, nvml.Return) { return "Compute", nvml.SUCCESS },
		GetLicenseFunc:         func() (string, nvml.Return) { return "NVIDIA-Virtual-Compute-Server,9.0", nvml.SUCCESS },
		GetFramebufferSizeFunc: func() (uint64, nvml.Return) { return 10 << 30, nvml.SUCCESS },
		GetMaxInstancesFunc:    func(nvml.Device) (int, nvml.Return) { return 4, nvml.SUCCESS },
	}
	guest := &mock.VgpuInstance{
		GetUUIDFunc:            func() (string, nvml.Return) { return "11111111-2222-3333-4444-555555555555", nvml.SUCCESS },
		GetVmIDFunc:            func() (string, nvml.VgpuVmIdType, nvml.Return) { return "vm-7", 0, nvml.SUCCESS },
		GetTypeFunc:            func() (nvml.VgpuTypeId, nvml.Return) { return kind, nvml.SUCCESS },
		GetFbUsageFunc:         func() (uint64, nvml.Return) { return 5 << 30, nvml.SUCCESS },
		GetVmDriverVersionFunc: func() (string, nvml.Return) { return "550.54.15", nvml.SUCCESS },
		GetGpuInstanceIdFunc:   func() (int, nvml.Return) { return 1<<32 - 1, nvml.SUCCESS },
		GetLicenseInfoFunc: func() (nvml.VgpuLicenseInfo, nvml.Return) {
			return nvml.VgpuLicenseInfo{IsLicensed: 1, CurrentState: nvml.GRID_LICENSE_STATE_LICENSED,
				LicenseExpiry: nvml.VgpuLicenseExpiry{Year: 2026, Month: 11, Day: 22, Hour: 8, Min: 30, Sec: 1,
					Status: nvml.GRID_LICENSE_EXPIRY_VALID}}, nvml.SUCCESS
		},
	}
	answer(kind, nvml.ERROR_NOT_SUPPORTED, unset)
	answer(guest, nvml.ERROR_NOT_SUPPORTED, unset)
	d.GetVirtualizationModeFunc = func() (nvml.GpuVirtualizationMode, nvml.Return) {
		return nvml.GPU_VIRTUALIZATION_MODE_HOST_VGPU, nvml.SUCCESS
	}
	d.GetHostVgpuModeFunc = func() (nvml.HostVgpuMode, nvml.Return) { return nvml.HOST_VGPU_MODE_SRIOV, nvml.SUCCESS }
	d.GetVgpuSchedulerStateFunc = func() (nvml.VgpuSchedulerGetState, nvml.Return) {
		return nvml.VgpuSchedulerGetState{SchedulerPolicy: nvml.VGPU_SCHEDULER_POLICY_EQUAL_SHARE}, nvml.SUCCESS
	}
	d.GetSupportedVgpusFunc = func() ([]nvml.VgpuTypeId, nvml.Return) { return []nvml.VgpuTypeId{kind}, nvml.SUCCESS }
	d.GetCreatableVgpusFunc = func() ([]nvml.VgpuTypeId, nvml.Return) { return []nvml.VgpuTypeId{kind}, nvml.SUCCESS }
	d.GetActiveVgpusFunc = func() ([]nvml.VgpuInstance, nvml.Return) { return []nvml.VgpuInstance{guest}, nvml.SUCCESS }
}

// licensed makes a card what a vGPU guest sees.
func licensed(d *dgxa100.Device) {
	d.GetVirtualizationModeFunc = func() (nvml.GpuVirtualizationMode, nvml.Return) {
		return nvml.GPU_VIRTUALIZATION_MODE_VGPU, nvml.SUCCESS
	}
	d.GetGridLicensableFeaturesFunc = func() (nvml.GridLicensableFeatures, nvml.Return) {
		f := nvml.GridLicensableFeatures{IsGridLicenseSupported: 1, LicensableFeaturesCount: 2}
		f.GridLicensableFeatures[0] = nvml.GridLicensableFeature{FeatureCode: uint32(nvml.GRID_LICENSE_FEATURE_CODE_COMPUTE),
			FeatureState: 1, FeatureEnabled: 1,
			LicenseExpiry: nvml.GridLicenseExpiry{Year: 2026, Month: 12, Day: 1, Status: nvml.GRID_LICENSE_EXPIRY_VALID}}
		copy(f.GridLicensableFeatures[0].ProductName[:], "NVIDIA Virtual Compute Server")
		f.GridLicensableFeatures[1] = nvml.GridLicensableFeature{FeatureCode: 99,
			LicenseExpiry: nvml.GridLicenseExpiry{Status: nvml.GRID_LICENSE_EXPIRY_NOT_APPLICABLE}}
		return f, nvml.SUCCESS
	}
}

// forget drops what the mocks remember of each call: in a benchmark that would be most of the memory.
func forget(s *dgxa100.Server) {
	drop := func(m any) {
		calls := reflect.ValueOf(m).Elem().FieldByName("calls")
		reflect.NewAt(calls.Type(), calls.Addr().UnsafePointer()).Elem().SetZero()
	}
	drop(&s.Interface)
	for i := range s.Devices {
		d := card(s, i)
		drop(&d.Device)
		for gi := range d.GpuInstances {
			drop(&gi.GpuInstance)
		}
		for n := range 8 {
			if m, ret := d.GetMigDeviceHandleByIndex(n); ret == nvml.SUCCESS {
				drop(m)
			}
		}
	}
}
