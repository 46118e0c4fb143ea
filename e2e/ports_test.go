package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var forwarded = regexp.MustCompile(`^(127\.0\.0\.1:\d+) leads to board \(6006\) of with-ports$`)

// TestPortsOfAWorkload: an administrator names a TCP port of an image in its form, and offers one that has no pages at
// all. gpuctl forward leads a port of Dana's computer to the first, as often as a program connects, and nobody else
// there; the notebook without pages starts, has no address, and its page says how to connect.
func TestPortsOfAWorkload(t *testing.T) {
	catalogAsItWas(t)
	pat := signIn(t, "pat", look{})
	pat.open("/admin/images")
	pat.click("[data-test=entry][data-name='jupyter-notebook'] a")
	pat.fill("[data-test=field-ports]", "board=6006")
	pat.shot("form")
	pat.click("[data-test=save]")
	pat.sees("[data-test=flash]")
	images := str(as(t, "pat").ok(http.StatusOK, http.MethodGet, "/catalog", nil)["text"])
	if !strings.Contains(images, "board: 6006") {
		t.Fatalf("want the port in the catalog, got %s", images)
	}

	dana, shell := as(t, "dana"), newShell(t).signedIn("dana")
	w := dana.running("mig-1g.10gb", map[string]any{"image": "jupyter-notebook", "name": "with-ports"})
	board := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "board of %s", r.URL.Path)
	}))
	t.Cleanup(board.Close)
	route := fmt.Sprintf("/routes?pod=%s/%s&port=6006", w["namespace"], w["pod"])
	control(t, http.MethodPut, route+"&to="+board.Listener.Addr().String())
	t.Cleanup(func() { control(t, http.MethodDelete, route) })

	p := signIn(t, "dana", look{})
	p.open("/workloads/" + str(w["id"]) + "/connect")
	p.reads("[data-test=connect-ports]", "gpuctl forward with-ports board")
	p.accessible()
	p.shot("connect")
	shell.shows("board", "get", "with-ports")

	at := shell.forwards("with-ports", "0:board")
	for i := range 3 {
		resp, err := http.Get(fmt.Sprintf("http://%s/%d", at, i)) //nolint:noctx // of a test
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if want := fmt.Sprintf("board of /%d", i); err != nil || string(text) != want {
			t.Errorf("want %q, got %q %v", want, text, err)
		}
	}
	shell.says(5, `no port "grpc". It has: board`, "forward", "with-ports", "grpc")
	newShell(t).signedIn("nora").says(4, "No workload", "forward", "with-ports", "board")
	p.open("/workloads/" + str(w["id"]) + "/history")
	p.reads("[data-test=workload-history]", "Port 6006")
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+str(w["id"])+"/stop", nil)
	aNotebookWithoutPages(t, dana, p)
}

// forwards runs gpuctl forward until the test ends, and gives the port of this computer.
func (s shell) forwards(args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := s.command(ctx, append([]string{"forward"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			s.t.Errorf("want it to end by Ctrl-C, got %d", code)
		}
	})
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		lines <- strings.TrimSpace(line)
	}()
	select {
	case line := <-lines:
		m := forwarded.FindStringSubmatch(line)
		if m == nil {
			s.t.Fatalf("want the port of this computer, got %q", line)
		}
		return m[1]
	case <-time.After(time.Minute):
		s.t.Fatal("gpuctl forward says nothing")
		return ""
	}
}

// aNotebookWithoutPages runs when its port takes connections; Connect is its next action.
func aNotebookWithoutPages(t *testing.T, dana client, p *person) {
	t.Helper()
	text := str(as(t, "pat").ok(http.StatusOK, http.MethodGet, "/catalog", nil)["text"])
	saved(t, "pat", "", strings.TrimRight(text, "\n")+"\n- name: dask\n  title: Dask scheduler\n  kind: notebook\n"+
		"  reference: registry.example.org/dask/scheduler:1@sha256:"+strings.Repeat("ab", 32)+"\n"+
		"  ports: {scheduler: 8786}\n  order: 900\n")
	w := dana.running("mig-1g.10gb", map[string]any{"image": "dask", "name": "no-pages"})
	if w["url"] != "" {
		t.Errorf("want no address, got %v", w["url"])
	}
	pod := podOf(t, w)
	if probe := pod.Spec.Containers[0].StartupProbe; probe == nil || probe.TCPSocket == nil {
		t.Errorf("want its port probed, got %+v", probe)
	}
	p.open("/workloads/" + str(w["id"]))
	p.shot("no-pages")
	p.click("[data-test=connect]")
	p.reads("[data-test=connect-ports]", "gpuctl forward no-pages scheduler")
	p.shot("no-pages-connect")
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+str(w["id"])+"/stop", nil)
}
