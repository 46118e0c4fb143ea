package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const (
	goodStatus  = `{"started":"2026-11-21T08:00:00.000000Z","last_activity":"2026-11-21T08:30:00.123456Z","connections":2,"kernels":1}`
	goodKernels = `[{"id":"x","name":"python3","last_activity":"2026-11-21T08:31:00Z","execution_state":"busy","connections":1}]`
)

// probe asks a server that answers as told; "" is no answer within the time.
func probe(t *testing.T, status, kernels string, change ...func(*workload.Workload)) (
	*workload.Activity, []string, error) {
	t.Helper()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI+" "+r.Header.Get("Authorization"))
		body := status
		if strings.HasPrefix(r.URL.Path, "/api/kernels") {
			body = kernels
		}
		switch body {
		case "":
			<-r.Context().Done()
		case "forbidden":
			w.WriteHeader(http.StatusForbidden)
		case "redirect":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case "huge":
			for range 40 {
				_, _ = io.WriteString(w, strings.Repeat(" ", 64<<10))
			}
			_, _ = io.WriteString(w, goodStatus)
		default:
			_, _ = io.WriteString(w, body)
		}
	}))
	t.Cleanup(server.Close)
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	pods, err := NewPods(PodsOptions{
		Clusters: map[string]Cluster{"c1": {Dialer: dialerFunc(func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		})}},
		Secrets: &world{}, Now: func() time.Time { return now }, ProbeTimeout: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := notebook("nb-anna", "anna")
	for _, f := range change {
		f(&w)
	}
	a, err := pods.Probe(t.Context(), w)
	server.Close() // waits for the handlers
	return a, asked, err
}

type dialerFunc func(ctx context.Context) (net.Conn, error)

func (f dialerFunc) DialContext(ctx context.Context, _, _ string) (net.Conn, error) { return f(ctx) }

func TestProbe(t *testing.T) {
	a, asked, err := probe(t, goodStatus, goodKernels)
	if err != nil {
		t.Fatal(err)
	}
	want := &workload.Activity{
		At: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), LastActivity: time.Date(2026, 11, 21, 8, 30, 0, 123456000,
			time.UTC), Connections: 2,
		Kernels: []workload.Kernel{{Name: "python3", State: "busy", LastActivity: time.Date(2026, 11, 21, 8, 31, 0, 0,
			time.UTC), Connections: 1}},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("activity (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/api/status token " + podSecret, "/api/kernels?no_track_activity=1 token " + podSecret},
		asked); diff != "" {
		t.Errorf("what was asked must not count as activity (-want +got):\n%s", diff)
	}
}

// Half an answer is none: whoever stops idle notebooks must not stop one because its server could not be understood.
func TestProbeErrors(t *testing.T) {
	for name, c := range map[string]struct{ status, kernels string }{
		"no answer":           {"", goodKernels},
		"no kernels":          {goodStatus, ""},
		"forbidden":           {"forbidden", goodKernels},
		"kernels forbidden":   {goodStatus, "forbidden"},
		"redirect":            {"redirect", goodKernels},
		"too large":           {"huge", goodKernels},
		"not JSON":            {"<html>", goodKernels},
		"null":                {"null", goodKernels},
		"no last activity":    {`{"connections":1}`, goodKernels},
		"kernels are no list": {goodStatus, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			a, _, err := probe(t, c.status, c.kernels)
			if a != nil || err == nil || time.Since(begun) > 30*time.Second {
				t.Errorf("want an error in time, got %+v, %v after %s", a, err, time.Since(begun))
			}
		})
	}
}

func TestProbeAsksRunningJupyterOnly(t *testing.T) {
	for name, f := range map[string]func(*workload.Workload){
		"an endpoint":    func(w *workload.Workload) { w.Kind = catalog.Endpoint },
		"another server": func(w *workload.Workload) { w.Image.Auth = "" },
		"not running":    func(w *workload.Workload) { w.State = workload.Starting },
	} {
		if a, asked, err := probe(t, goodStatus, goodKernels, f); a != nil || err != nil || len(asked) > 0 {
			t.Errorf("%s: want nothing asked, got %v, %v, %v", name, a, err, asked)
		}
	}
	if _, asked, err := probe(t, goodStatus, goodKernels, func(w *workload.Workload) {
		w.Observed.PodIP = "127.0.0.1"
	}); err == nil || len(asked) > 0 {
		t.Error("want no call to this machine")
	}
}

func FuzzProbe(f *testing.F) {
	f.Add(goodStatus, goodKernels)
	f.Add(`{"last_activity":"2026-11-21 08:30:00+00:00","connections":-5}`,
		`[{},null,{"name":"a\u0000b","execution_state":5}]`)
	f.Add(`{"last_activity":5,"connections":1e99}`, `[[]]`)
	f.Add(`{"last_activity":"2026-11-21T08:30:00Z"}`, `[{"name":"`+strings.Repeat("x", 500)+
		`","execution_state":"idle","connections":"3"}]`)
	f.Fuzz(func(t *testing.T, status, kernels string) {
		a, err := parseActivity([]byte(status), []byte(kernels))
		if err != nil {
			return
		}
		if a.LastActivity.IsZero() || a.Connections < 0 || len(a.Kernels) > maxKernels {
			t.Errorf("%+v cannot be", a)
		}
		for _, k := range a.Kernels {
			if len([]rune(k.Name)) > 80 || strings.ContainsAny(k.Name, "\x00\n\x1b") || kernelState(k.State) != k.State &&
				k.State != "unknown" || k.Connections < 0 {
				t.Errorf("%+v cannot be", k)
			}
		}
	})
}

func TestDialSettings(t *testing.T) {
	for setting, ok := range map[string]bool{
		"": true, "direct": true, "socks5://127.0.0.1:1080": true, "socks5://u:p@proxy:1080": true,
		"apiserver": false, "socks5://proxy": false, "http://proxy:80": false, "socks5://a:1/x": false, "nonsense": false,
		"%": false,
	} {
		if _, err := NewDialer(setting); (err == nil) != ok {
			t.Errorf("%q: want ok %t, got %v", setting, ok, err)
		}
	}
	if _, err := NewPods(PodsOptions{Clusters: map[string]Cluster{"a": {Dial: "x"},
		"b": {Dial: "apiserver", Transport: http.DefaultTransport}}}); err == nil ||
		!strings.Contains(err.Error(), "cluster a") {
		t.Errorf("want cluster a named, got %v", err)
	}
}
