//go:build cgo

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/agent"
)

// oldLibrary builds the library of testdata.
func oldLibrary(t testing.TB) string {
	t.Helper()
	lib := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", lib, "testdata/oldnvml.c").CombinedOutput(); err != nil {
		t.Fatalf("no C compiler for the library; on Debian: apt-get install gcc libc6-dev: %v %s", err, out)
	}
	return lib
}

// start runs the agent as a process of its own with the library.
func start(t testing.TB, args ...string) (cmd *exec.Cmd, setState func(code int)) {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	cmd = exec.Command(os.Args[0], append([]string{"-nvml", oldLibrary(t)}, args...)...)
	cmd.Env = append(os.Environ(), "BE_THE_AGENT=1", "STUB_STATE="+state)
	return cmd, func(code int) {
		t.Helper()
		next := state + ".next" // renamed, so that it is never read half written
		if err := os.WriteFile(next, []byte(strconv.Itoa(code)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, state); err != nil {
			t.Fatal(err)
		}
	}
}

// A call of a function that the library lacks ends a process with "symbol lookup error" and code 127.
func TestOldLibrary(t *testing.T) {
	cmd, _ := start(t, "-once")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	r, err := agent.Parse(strings.NewReader(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	gpus := r.GPUs.Or(nil)
	if r.Driver.State != agent.Ready || r.Driver.Version.Or("") != "384.81" || len(gpus) != 8 ||
		len(r.Driver.MissingCalls) < 40 {
		t.Fatalf("driver %+v, %d cards", r.Driver, len(gpus))
	}
	for i, g := range gpus {
		if g.UUID.Or("") != fmt.Sprintf("GPU-%d", i+1) || g.Memory.Total.Or(0) != 16<<30 ||
			g.Memory.Reserved.Why() != agent.LibraryTooOld {
			t.Errorf("card %d: %+v", i, g)
		}
		if g.MIG.Enabled.Why() != agent.LibraryTooOld || g.XIDs.Why() != agent.LibraryTooOld ||
			r.Driver.CUDA.Why() != agent.LibraryTooOld {
			t.Errorf("card %d: what the library lacks is %q", i, g.MIG.Enabled.Why())
		}
	}
}

// serving starts an agent and gives its address.
func serving(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	address := make(chan string, 1)
	go func() { // to the end, or the agent could not write its log any more
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			var line struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
				address <- line.Address
			}
		}
		close(address)
	}()
	a, ok := <-address
	if !ok {
		t.Fatal("the agent ended before it served")
	}
	return "http://" + a
}

// until asks for reports until one is as it should be. The agent's own rounds set the pace; the limit is for a test
// that fails.
func until(t testing.TB, url, what string, ok func(agent.Report) bool) {
	t.Helper()
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	var last agent.Report
	for range 2400 {
		if res, err := http.Get(url + "/v1/report"); err == nil {
			if last, err = agent.Parse(res.Body); err == nil && ok(last) {
				res.Body.Close()
				return
			}
			res.Body.Close()
		}
		<-pace.C
	}
	t.Fatalf("%s: never; driver %+v", what, last.Driver)
}

// Error codes are those of nvml.h: 9 the driver is not loaded, 18 library and driver are of different versions.
func TestDriverGoesAndComesBack(t *testing.T) {
	cmd, setState := start(t, "-listen", "127.0.0.1:0", "-interval", "1s")
	url := serving(t, cmd)
	state := func(want string) func(agent.Report) bool {
		return func(r agent.Report) bool { return r.Driver.State == want }
	}
	until(t, url, "ready", state(agent.Ready))
	setState(9)
	until(t, url, "without a driver", state(string(agent.DriverNotLoaded)))
	setState(0)
	until(t, url, "ready again", func(r agent.Report) bool {
		return r.Driver.State == agent.Ready && r.Driver.Sessions == 2 && len(r.GPUs.Or(nil)) == 8
	})
	setState(18)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitRestart {
		t.Errorf("a replaced driver: %v", err)
	}
}

// What the whole process holds, in a round per second. The bar is 40 MB.
func BenchmarkProcess(b *testing.B) {
	cmd, _ := start(b, "-listen", "127.0.0.1:0", "-interval", "1s")
	url := serving(b, cmd)
	until(b, url, "ready", func(r agent.Report) bool { return r.Driver.State == agent.Ready })
	for b.Loop() {
		res, err := http.Get(url + "/metrics")
		if err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); f[0] == "VmRSS:" {
			kib, _ := strconv.ParseFloat(f[1], 64)
			b.ReportMetric(kib*1024/1e6, "RSS-MB")
		}
	}
}
