//go:build cgo

package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata anew")

func reader(t testing.TB, lib nvml.Interface) *Reader {
	t.Helper()
	r := NewReader(lib, t.TempDir(), func() time.Time { return now })
	t.Cleanup(r.Close)
	return r
}

// read makes a round that must have cards.
func read(t testing.TB, r *Reader, at time.Time) (Report, []GPU) {
	t.Helper()
	report, err := r.Read(at)
	if err != nil {
		t.Fatal(err)
	}
	gpus, ok := report.GPUs.Get()
	if report.Driver.State != Ready || !ok {
		t.Fatalf("driver %q, cards %q", report.Driver.State, report.GPUs.Why())
	}
	return report, gpus
}

// The mocks leave most functions out and panic there: that is an unknown value and no end of the round.
func TestEveryMockServer(t *testing.T) {
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			report, gpus := read(t, reader(t, server()), now)
			if len(gpus) != 8 || report.Driver.Version.Or("") != "550.54.15" || report.Driver.CUDA.Or("") != "12.4" {
				t.Errorf("%d cards, driver %+v", len(gpus), report.Driver)
			}
			for _, g := range gpus {
				if g.Lost || g.Architecture.Or("") != "ampere" || g.Memory.Total.Or(0) != 40<<30 ||
					g.ComputeCapability.Or("") != "8.0" || g.UUID.Why() != "" {
					t.Errorf("card %d: %+v", g.Index, g)
				}
				if g.ECC.Enabled.Why() != CallFailed || g.NVLinks.Why() != CallFailed {
					t.Errorf("card %d: what the mock does not have is %q and %q", g.Index, g.ECC.Enabled.Why(), g.NVLinks.Why())
				}
				if profiles := g.MIG.Profiles.Or(nil); len(profiles) < 6 || profiles[0].Name.Or("") != "1g.5gb" {
					t.Errorf("card %d: profiles %+v", g.Index, g.MIG.Profiles)
				}
			}
		})
	}
}

// A newer go-nvml brings more machines: they belong into the table.
func TestNoMockServerIsLeftOut(t *testing.T) {
	out, err := exec.Command("go", "list", "github.com/NVIDIA/go-nvml/pkg/nvml/mock/...").Output()
	if err != nil {
		t.Fatal("go list:", err)
	}
	for _, path := range strings.Fields(string(out)) {
		name := filepath.Base(path)
		if _, ok := servers[name]; !ok && strings.HasPrefix(name, "dgx") {
			t.Errorf("%s is not tested", name)
		}
	}
}

// The report of a machine with something of everything. go test -run Golden -update writes it anew; read the difference
// as carefully as code.
func TestGoldenReport(t *testing.T) {
	s := dgx()
	rich(t, s)
	proc := t.TempDir()
	fakeProc(t, proc, 40, 7, "0::/kubepods/pod"+uid+"/"+id1+"\n")
	fakeProc(t, proc, 42, 7, "0::/system.slice/display-manager.service\n")
	r := NewReader(s, proc, func() time.Time { return now })
	loop := NewLoop(Options{Source: r, Interval: 10 * time.Second, Node: "node-1", Version: "v1.0",
		Now: func() time.Time { return now }})
	report, err := loop.Once()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	if err := e.Encode(report); err != nil {
		t.Fatal(err)
	}
	got := text.Bytes()
	const file = "testdata/report.json"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	back, err := Parse(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, back); diff != "" {
		t.Errorf("read back (-written +read)\n%s", diff)
	}
	for _, name := range []string{"mig_device_memory_used_bytes", "vgpu_licensed", "license_expiry_timestamp_seconds",
		"nvlink_errors_total", "row_remap_pending"} {
		if samples(t, Handler(loop, ""))["gpu_portal_agent_"+name] == nil {
			t.Errorf("%s is known, and no metric", name)
		}
	}
}

func TestAnswersOfTheDriver(t *testing.T) {
	cases := map[nvml.Return]Reason{
		nvml.ERROR_NOT_SUPPORTED: NotSupported, nvml.ERROR_NO_PERMISSION: NoPermission, nvml.ERROR_UNKNOWN: CallFailed,
		nvml.ERROR_NO_DATA:            NoData,
		nvml.ERROR_FUNCTION_NOT_FOUND: LibraryTooOld, nvml.ERROR_TIMEOUT: Timeout, nvml.ERROR_MEMORY: CallFailed,
		nvml.Return(4711): CallFailed,
	}
	for code, want := range cases {
		t.Run(string(want)+fmt.Sprint(int(code)), func(t *testing.T) {
			s := dgx()
			answer(&card(s, 1).Device, code, func(name string, _ bool) bool { return name != "GetUUIDFunc" })
			_, gpus := read(t, reader(t, s), now)
			g := gpus[1]
			for what, got := range map[string]Reason{
				"name": g.Name.Why(), "memory": g.Memory.Used.Why(), "mig": g.MIG.Enabled.Why(), "instances": g.MIG.Instances.Why(),
				"rows":    g.RowRemap.Corrected.Why(),
				"license": g.License.Supported.Why(), "nvlinks": g.NVLinks.Why(), "processes": g.Processes.Why(),
				"ecc": g.ECC.Enabled.Why(), "vgpu": g.VGPUHost.Active.Why(),
			} {
				if got != want {
					t.Errorf("%s: want %q, got %q", what, want, got)
				}
			}
			if g.Lost || gpus[0].Name.Why() != "" || gpus[2].Name.Why() != "" {
				t.Error("other cards are touched, or the card is called lost")
			}
		})
	}
}

func TestLibraryMissing(t *testing.T) {
	s := dgx()
	missing := answer(&s.Interface, nvml.ERROR_LIBRARY_NOT_FOUND, only("Init"))
	r := reader(t, s)
	for range 3 {
		report, err := r.Read(now)
		if err != nil || report.Driver.State != string(LibraryMissing) || report.GPUs.Why() != LibraryMissing ||
			report.Driver.Version.Why() != LibraryMissing {
			t.Fatalf("got %+v, %v", report.Driver, err)
		}
	}
	r.Close()
	if len(s.ShutdownCalls())+len(s.DeviceGetCountCalls())+len(s.SystemGetDriverVersionCalls()) > 0 {
		t.Error("a function of a library that is not there was called: that ends the process")
	}
	missing() // the driver container is ready now
	if report, _ := read(t, r, now); report.Driver.Sessions != 1 {
		t.Errorf("%d sessions", report.Driver.Sessions)
	}
}

func TestDriverReload(t *testing.T) {
	// A call says that the session is over, until a new one is opened.
	ended := func(t *testing.T, s *dgxa100.Server, disturb func() (undo func())) Report {
		t.Helper()
		r := reader(t, s)
		read(t, r, now)
		undo, open := disturb(), s.InitFunc
		s.InitFunc = func() nvml.Return {
			undo()
			return open()
		}
		report, _ := read(t, r, now.Add(10*time.Second))
		return report
	}
	for _, code := range []nvml.Return{nvml.ERROR_UNINITIALIZED, nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_UNKNOWN} {
		t.Run("before the round "+fmt.Sprint(int(code)), func(t *testing.T) {
			s := dgx()
			report := ended(t, s, func() func() { return answer(&s.Interface, code, only("DeviceGetCount")) })
			if report.Driver.Sessions != 2 || len(report.GPUs.Or(nil)) != 8 {
				t.Errorf("got %+v", report.Driver)
			}
		})
	}
	t.Run("in the middle of a round", func(t *testing.T) {
		s := dgx()
		report := ended(t, s, func() func() {
			return answer(&card(s, 3).Device, nvml.ERROR_UNINITIALIZED,
				only("GetMemoryInfo"))
		})
		if report.Driver.Sessions != 2 || report.GPUs.Or(nil)[3].Memory.Total.Why() != "" {
			t.Errorf("got %+v", report.Driver)
		}
		if n := len(s.ShutdownCalls()); n != 1 {
			t.Errorf("%d times shut down", n)
		}
	})
	t.Run("the driver is away for a while", func(t *testing.T) {
		s := dgx()
		r := reader(t, s)
		read(t, r, now)
		gone := answer(&s.Interface, nvml.ERROR_DRIVER_NOT_LOADED,
			func(name string, _ bool) bool { return name == "InitFunc" || name == "DeviceGetCountFunc" })
		for range 3 {
			if report, err := r.Read(now); err != nil || report.Driver.State != string(DriverNotLoaded) ||
				report.GPUs.Why() != DriverNotLoaded {
				t.Fatalf("got %+v, %v", report.Driver, err)
			}
		}
		gone()
		if report, _ := read(t, r, now); report.Driver.Sessions != 2 {
			t.Errorf("%d sessions", report.Driver.Sessions)
		}
	})
}

// A library that was used cannot be unloaded, so only a new process can load that of another driver version. One that
// begins with the wrong library gains nothing from beginning again.
func TestDriverOfAnotherVersion(t *testing.T) {
	s := dgx()
	r := reader(t, s)
	fits := answer(&s.Interface, nvml.ERROR_LIB_RM_VERSION_MISMATCH,
		func(name string, _ bool) bool { return name == "InitFunc" || name == "DeviceGetCountFunc" })
	if report, err := r.Read(now); err != nil || report.Driver.State != string(DriverMismatch) {
		t.Errorf("at first: %v, %+v", err, report.Driver)
	}
	fits()
	read(t, r, now)
	answer(&s.Interface, nvml.ERROR_LIB_RM_VERSION_MISMATCH, func(name string, _ bool) bool {
		return name == "InitFunc" ||
			name == "DeviceGetCountFunc"
	})
	if report, err := r.Read(now); !errors.Is(err, ErrRestart) || report.Driver.State != string(DriverMismatch) {
		t.Errorf("after it was replaced: %v, %+v", err, report.Driver)
	}
}

func TestLostCard(t *testing.T) {
	for _, code := range []nvml.Return{nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED} {
		s := dgx()
		r := reader(t, s)
		_, before := read(t, r, now)
		d := card(s, 5)
		calls := len(d.GetEccModeCalls())
		back := answer(&d.Device, code, all)
		_, gpus := read(t, r, now.Add(10*time.Second))
		g := gpus[5]
		if !g.Lost || g.Memory.Total.Why() != reasonOf(code) || g.ECC.Enabled.Why() != reasonOf(code) {
			t.Errorf("got %+v", g)
		}
		if !g.UUID.Equal(before[5].UUID) || !g.Name.Equal(before[5].Name) || !g.PCI.BusID.Equal(before[5].PCI.BusID) {
			t.Error("which card it was is not said")
		}
		if len(d.GetEccModeCalls()) != calls {
			t.Error("a lost card is asked on; each call may take a timeout")
		}
		for i, g := range gpus {
			if i != 5 && (g.Lost || g.Memory.Total.Why() != "") {
				t.Errorf("card %d was not lost", i)
			}
		}
		back()
		if report, _ := read(t, r, now.Add(20*time.Second)); report.Driver.Sessions != 1 {
			t.Error("a new session too early: it costs more than a round")
		}
		if report, gpus := read(t, r, now.Add(2*time.Minute)); report.Driver.Sessions != 2 || gpus[5].Lost {
			t.Errorf("%d sessions, lost: %v", report.Driver.Sessions, gpus[5].Lost)
		}
	}
	t.Run("no handle any more", func(t *testing.T) {
		s := dgx()
		r := reader(t, s)
		_, before := read(t, r, now)
		s.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
			if i == 5 {
				return nil, nvml.ERROR_GPU_IS_LOST
			}
			return s.Devices[i], nvml.SUCCESS
		}
		_, gpus := read(t, r, now)
		if !gpus[5].Lost || !gpus[5].UUID.Equal(before[5].UUID) || gpus[5].Processes.Why() != GPULost || gpus[6].Lost {
			t.Errorf("got %+v", gpus[5])
		}
	})
}

// What cannot change while a driver is loaded is asked once: on a real machine each call goes through the kernel.
func TestStandingFactsAreAskedOnce(t *testing.T) {
	s := dgx()
	rich(t, s)
	r := reader(t, s)
	_, first := read(t, r, now)
	_, second := read(t, r, now)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two rounds in which nothing changed (-first +second)\n%s", diff)
	}
	d, host := card(s, 1), card(s, 2)
	for what, calls := range map[string]int{
		"name": len(d.GetNameCalls()), "PCI": len(d.GetPciInfoCalls()), "vGPU types": len(host.GetSupportedVgpusCalls()),
		"links that are up": len(d.GetNvLinkVersionCalls()) - 1,
		"profiles":          len(d.GetGpuInstanceProfileInfoCalls()) - nvml.GPU_INSTANCE_PROFILE_COUNT + 1,
	} {
		if calls != 1 {
			t.Errorf("%s: asked %d times", what, calls)
		}
	}
	if n := len(d.GetRemappedRowsCalls()); n != 2 {
		t.Errorf("what changes was asked %d times", n)
	}
}

func TestMIGChange(t *testing.T) {
	s := dgx()
	r := reader(t, s)
	_, gpus := read(t, r, now)
	m := gpus[0].MIG
	if m.Enabled.Or(true) || m.Instances.Why() != "" || len(m.Instances.Or(nil)) != 0 ||
		named(m, "3g.20gb").Remaining.Why() != NotComputed {
		t.Errorf("before: %+v", m)
	}

	cut(t, card(s, 0), map[int][]uint32{nvml.GPU_INSTANCE_PROFILE_3_SLICE: {4}, nvml.GPU_INSTANCE_PROFILE_1_SLICE: {0, 1}})
	_, gpus = read(t, r, now)
	m = gpus[0].MIG
	var got []string
	for _, i := range m.Instances.Or(nil) {
		got = append(got, fmt.Sprintf("%s@%d+%d", i.Profile.Or("?"), i.Placement.Start, i.Placement.Size))
	}
	if diff := cmp.Diff([]string{"1g.5gb@0+1", "1g.5gb@1+1", "3g.20gb@4+4"}, got); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string][]Placement{"1g.5gb": {{2, 1}, {3, 1}}, "2g.10gb": {{2, 2}}, "3g.20gb": {},
		"7g.40gb": {}, "1g.5gb+me": {{2, 1}, {3, 1}}} {
		if diff := cmp.Diff(Known(want), named(m, name).Free); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if p := named(m, "3g.20gb"); p.Remaining.Or(-1) != 1 {
		t.Errorf("remaining %+v", p.Remaining)
	}
	devices := m.Devices.Or(nil)
	if len(devices) != 3 || devices[0].Memory.Total.Or(0) == 0 || devices[0].UUID.Or("") == devices[1].UUID.Or("") {
		t.Errorf("devices %+v", m.Devices)
	}
	if len(gpus[1].MIG.Instances.Or(nil)) != 0 || gpus[1].MIG.Enabled.Or(true) {
		t.Error("another card changed")
	}

	for gi := range card(s, 0).GpuInstances {
		if gi.Info.Placement.Start == 4 {
			gi.Destroy()
		}
	}
	_, gpus = read(t, r, now)
	m = gpus[0].MIG
	if len(m.Instances.Or(nil)) != 2 || len(m.Devices.Or(nil)) != 2 || len(named(m, "3g.20gb").Free.Or(nil)) != 1 {
		t.Errorf("after one was removed: %+v", m.Instances)
	}
}

// Older drivers (R535 for one) tell profiles in MIG mode only. What was read in one mode does not hold in the other.
func TestProfilesBelongToTheMode(t *testing.T) {
	s := dgx()
	d := card(s, 0)
	tell := d.GetGpuInstanceProfileInfoFunc
	d.GetGpuInstanceProfileInfoFunc = func(kind int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
		info, ret := tell(kind)
		if d.MigMode != nvml.DEVICE_MIG_ENABLE {
			if kind > 0 {
				return info, nvml.ERROR_NOT_SUPPORTED
			}
			info.InstanceCount = 1
		}
		return info, ret
	}
	r := reader(t, s)
	for round, want := range []struct{ mode, profiles, most int }{{0, 1, 1}, {1, 7, 7}, {1, 7, 7}, {0, 1, 1}} {
		d.MigMode = want.mode
		_, gpus := read(t, r, now)
		if list := gpus[0].MIG.Profiles.Or(nil); len(list) != want.profiles || list[0].MaxInstances != want.most {
			t.Errorf("round %d: %+v", round, list)
		}
	}
	d.MigMode = 0
	d.GetGpuInstanceProfileInfoFunc = func(int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
		return nvml.GpuInstanceProfileInfo{}, nvml.ERROR_NOT_SUPPORTED
	}
	if _, gpus := read(t, reader(t, s), now); gpus[0].MIG.Profiles.Why() != NotSupported ||
		gpus[0].MIG.Enabled.Why() != "" {
		t.Errorf("an old driver: %+v", gpus[0].MIG.Profiles)
	}
}

func named(m MIG, profile string) Profile {
	for _, p := range m.Profiles.Or(nil) {
		if p.Name.Or("") == profile {
			return p
		}
	}
	return Profile{}
}

// Without privileges NVML gives no placements: what fits is unknown then, and processes come from the MIG devices.
func TestMIGWithoutPrivileges(t *testing.T) {
	s := dgx()
	d := card(s, 0)
	cut(t, d, map[int][]uint32{nvml.GPU_INSTANCE_PROFILE_3_SLICE: {0, 4}})
	for _, f := range []string{"GetGpuInstances", "GetGpuInstanceRemainingCapacity", "GetMemoryInfo",
		"GetComputeRunningProcesses"} {
		answer(&d.Device, nvml.ERROR_NO_PERMISSION, only(f))
	}
	_, gpus := read(t, reader(t, s), now)
	g := gpus[0]
	if g.MIG.Instances.Why() != NoPermission || g.Memory.Total.Why() != NoPermission || len(g.MIG.Devices.Or(nil)) != 2 {
		t.Errorf("got %+v", g.MIG)
	}
	for _, p := range g.MIG.Profiles.Or(nil) {
		if p.Free.Why() != NotComputed || p.Remaining.Why() != NoPermission {
			t.Errorf("profile %d: free %+v, remaining %+v", p.ID, p.Free, p.Remaining)
		}
	}
	if list := g.Processes.Or(nil); len(list) != 2 || list[0].GPUInstance.Why() != "" ||
		list[0].Container.Why() != NoSuchProcess {
		t.Errorf("processes %+v", g.Processes)
	}
}

// An old library lacks functions. To call one would end the process with "undefined symbol".
func TestOldLibrary(t *testing.T) {
	s := dgx()
	lacks := map[string]bool{"nvmlDeviceGetRemappedRows": true, "nvmlDeviceGetMigMode": true, "nvmlEventSetWait_v2": true}
	s.LookupSymbolFunc = func(name string) error {
		if lacks[name] {
			return errors.New("undefined symbol")
		}
		return nil
	}
	report, gpus := read(t, reader(t, s), now)
	if diff := cmp.Diff([]string{"nvmlDeviceGetMigMode", "nvmlDeviceGetRemappedRows"},
		report.Driver.MissingCalls); diff != "" {
		t.Error(diff)
	}
	if g := gpus[0]; g.RowRemap.Failed.Why() != LibraryTooOld || g.MIG.Enabled.Why() != LibraryTooOld ||
		g.MIG.Profiles.Why() != LibraryTooOld || g.Name.Why() != "" {
		t.Errorf("got %+v", g)
	}
	for i := range s.Devices {
		if len(card(s, i).GetRemappedRowsCalls())+len(card(s, i).GetMigModeCalls()) > 0 {
			t.Fatal("a function that is not there was called")
		}
	}
}

func TestXIDs(t *testing.T) {
	type event struct {
		data nvml.EventData
		ret  nvml.Return
	}
	s := dgx()
	events := make(chan event)
	set := &mock.EventSet{
		FreeFunc: func() nvml.Return { return nvml.SUCCESS },
		WaitFunc: func(uint32) (nvml.EventData, nvml.Return) {
			e, ok := <-events
			if !ok {
				return nvml.EventData{}, nvml.ERROR_TIMEOUT
			}
			return e.data, e.ret
		},
	}
	s.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) { return set, nvml.SUCCESS }
	for i := range 7 { // the last one does not tell
		card(s, i).RegisterEventsFunc = func(uint64, nvml.EventSet) nvml.Return { return nvml.SUCCESS }
	}
	r := reader(t, s)
	t.Cleanup(func() { close(events) }) // before the reader is closed
	_, gpus := read(t, r, now)
	if x, ok := gpus[0].XIDs.Get(); !ok || len(x.Counts) != 0 || !x.Since.Equal(now) {
		t.Errorf("at first: %+v", gpus[0].XIDs)
	}
	if gpus[7].XIDs.Why() != NotSupported {
		t.Errorf("a card without events: %+v", gpus[7].XIDs)
	}
	xid := func(i int, n uint64) {
		events <- event{nvml.EventData{Device: s.Devices[i], EventType: nvml.EventTypeXidCriticalError, EventData: n},
			nvml.SUCCESS}
	}
	xid(2, 79)
	xid(2, 48)
	xid(2, 79)
	events <- event{ret: nvml.ERROR_TIMEOUT} // taken when the one before is written down
	_, gpus = read(t, r, now)
	want := Known(XIDs{Since: now, Counts: []XIDCount{{48, 1, now}, {79, 2, now}}})
	if diff := cmp.Diff(want, gpus[2].XIDs); diff != "" {
		t.Error(diff)
	}

	listener := r.session.listener
	events <- event{ret: nvml.ERROR_GPU_IS_LOST}
	<-listener.done
	if got := r.xids.of(gpus[2].UUID.Or("")).Why(); got != GPULost {
		t.Errorf("nobody listens, and XIDs are %q", got)
	}
	_, gpus = read(t, r, now)
	if x, ok := gpus[2].XIDs.Get(); !ok || x.Gaps != 1 || len(x.Counts) != 2 {
		t.Errorf("a new listener: %+v", gpus[2].XIDs)
	}
}

// Names and what fits, for each model of which the facts are known.
func TestProfilesOfEachModel(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "hardware", "testdata", "mig.json"))
	if err != nil {
		t.Fatal(err)
	}
	var facts struct {
		GPUs []struct {
			ID       string `json:"id"`
			MemoryGB uint64 `json:"memory_gb"`
			Profiles []struct {
				Name       string  `json:"name"`
				Enum       int     `json:"nvml_profile_enum"`
				ID         uint32  `json:"smi_profile_id"`
				Slices     uint32  `json:"compute_slices"`
				MiB        float64 `json:"memory_mib"`
				Max        uint32  `json:"max_instances"`
				Placements struct {
					Starts []uint32 `json:"starts"`
					Size   uint32   `json:"size"`
				} `json:"placements"`
			} `json:"profiles"`
		} `json:"gpus"`
	}
	if err := json.Unmarshal(data, &facts); err != nil {
		t.Fatal(err)
	}
	for _, model := range facts.GPUs {
		t.Run(model.ID, func(t *testing.T) {
			s := dgx()
			d := card(s, 0)
			d.MigMode = nvml.DEVICE_MIG_ENABLE
			d.MemoryInfo.Total = model.MemoryGB << 30
			placements, infos, names := map[uint32][]nvml.GpuInstancePlacement{}, map[int]nvml.GpuInstanceProfileInfo{},
				map[int]string{}
			for _, p := range model.Profiles {
				if p.Enum >= nvml.GPU_INSTANCE_PROFILE_COUNT || p.MiB == 0 {
					continue // newer than this go-nvml, or not known
				}
				infos[p.Enum] = nvml.GpuInstanceProfileInfo{Id: p.ID, SliceCount: p.Slices, InstanceCount: p.Max,
					MemorySizeMB: uint64(p.MiB)}
				names[p.Enum] = p.Name
				for _, start := range p.Placements.Starts {
					placements[p.ID] = append(placements[p.ID], nvml.GpuInstancePlacement{Start: start, Size: p.Placements.Size})
				}
			}
			if len(infos) == 0 {
				t.Skip("how large its instances are is not known")
			}
			d.GetGpuInstanceProfileInfoFunc = func(kind int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
				info, ok := infos[kind]
				if !ok {
					return info, nvml.ERROR_NOT_SUPPORTED
				}
				return info, nvml.SUCCESS
			}
			d.GetGpuInstancePossiblePlacementsFunc = func(info *nvml.GpuInstanceProfileInfo) (
				[]nvml.GpuInstancePlacement, nvml.Return) {
				return placements[info.Id], nvml.SUCCESS
			}
			_, gpus := read(t, reader(t, s), now)
			profiles := gpus[0].MIG.Profiles.Or(nil)
			if len(profiles) != len(infos) {
				t.Fatalf("%d of %d profiles", len(profiles), len(infos))
			}
			for kind, want := range names {
				if named(gpus[0].MIG, want).Name.Or("") != want {
					t.Errorf("profile %d of %d MiB has no name %s", kind, infos[kind].MemorySizeMB, want)
				}
			}
		})
	}
}

// What one round costs on eight cards, each in seven slices with a process in each. The bar is 0.5 % of a core at an
// interval of 10 s.
func BenchmarkRound(b *testing.B) {
	s, proc := dgx(), b.TempDir()
	for i := range s.Devices {
		d := card(s, i)
		cut(b, d, map[int][]uint32{nvml.GPU_INSTANCE_PROFILE_1_SLICE: {0, 1, 2, 3, 4, 5, 6}})
		answer(&d.Device, nvml.ERROR_NO_PERMISSION, only("GetComputeRunningProcesses"))
		d.GetNvLinkStateFunc = func(int) (nvml.EnableState, nvml.Return) { return nvml.FEATURE_ENABLED, nvml.SUCCESS }
	}
	for pid := range 7 {
		fakeProc(b, proc, 900+pid, 1, "0::/kubepods/pod"+uid+"/"+id1+"\n")
	}
	r := NewReader(s, proc, time.Now)
	loop := NewLoop(Options{Source: r, Interval: 10 * time.Second})
	defer r.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := loop.round(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		forget(s)
		b.StartTimer()
	}
	b.StopTimer()
	if last, ok := loop.Last(); !ok || len(last.Report.GPUs.Or(nil)) != 8 {
		b.Fatal("no cards")
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(b.Elapsed().Seconds())/float64(b.N)/10*100, "%core@10s")
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MB")
}
