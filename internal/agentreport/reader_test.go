package agentreport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/agent"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// taken is when the agent's own mock server, a DGX A100 with every peculiarity, was read (internal/agent,
// TestGoldenReport).
var taken = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func mocked(t testing.TB) agent.Report {
	t.Helper()
	file, err := os.Open("../agent/testdata/report.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := agent.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type source struct{ report agent.Report }

func (s source) Read(time.Time) (agent.Report, error) { return s.report, nil }
func (s source) Close()                               {}

// serving is the agent's own handler with a report.
func serving(t testing.TB, r agent.Report, tokenFile string) http.Handler {
	t.Helper()
	l := agent.NewLoop(agent.Options{Source: source{r}, Node: r.Node, Now: func() time.Time { return r.TakenAt }})
	if _, err := l.Once(); err != nil {
		t.Fatal(err)
	}
	return agent.Handler(l, tokenFile)
}

// site is a cluster whose agents all answer from one server on loopback.
type site struct {
	*Reader
	mu      sync.Mutex
	pods    []Pod
	listing error
	now     time.Time
	answer  http.Handler
	changes int
}

func newSite(t testing.TB, answer http.Handler, pods ...Pod) *site {
	t.Helper()
	s := &site{pods: pods, now: taken.Add(5 * time.Second), answer: answer}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		h := s.answer
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	s.Reader = New(Options{Cluster: "main", Pods: func(context.Context) ([]Pod, error) { return s.pods, s.listing },
		Transport: transport,
		URL:       func(p Pod) (string, error) { return "http://" + p.IP + ":9410/v1/report", nil },
		Now:       func() time.Time { return s.now }, Changed: func() { s.changes++ }})
	return s
}

func (s *site) answers(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = h
}

func (s *site) round(t testing.TB) {
	t.Helper()
	if err := s.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
}

var onNode = Pod{Name: "agent-a", Node: "node-1", IP: "10.0.0.1"}

// TestTheAgentsOwnReport: what the agent reads from its mock driver arrives as layouts and licenses.
func TestTheAgentsOwnReport(t *testing.T) {
	s := newSite(t, serving(t, mocked(t), ""), onNode)
	s.round(t)
	cards := s.Cards()["node-1"]
	if len(cards) != 8 {
		t.Fatalf("want eight cards, got %d", len(cards))
	}
	want := inventory.PhysicalCard{UUID: "GPU-00000000-0000-0000-0000-000000000000", Bus: "00000000:10:00.0",
		Model: "Mock NVIDIA A100-SXM4-40GB",
		Axis:  8,
		Slices: []inventory.Placement{{UUID: "MIG-00000000-0000-0000-0000-000000000000-0", Profile: "1g.5gb", Start: 0,
			Size: 1},
			{UUID: "MIG-00000000-0000-0000-0000-000000000000-1", Profile: "1g.5gb", Start: 1, Size: 1},
			{UUID: "MIG-00000000-0000-0000-0000-000000000000-2", Profile: "3g.20gb", Start: 4, Size: 4}}}
	got := cards[0]
	for _, f := range got.Fits {
		if f.Profile == "1g.5gb" && !cmp.Equal(f, inventory.Fitting{Profile: "1g.5gb", Size: 1, Starts: []int{2, 3}}) ||
			f.Profile == "3g.20gb" {
			t.Errorf("want room for two of 1g.5gb beside the slices, and for none of 3g.20gb, got %+v", f)
		}
	}
	if len(got.Fits) == 0 {
		t.Error("want to be told what still fits")
	}
	got.Fits = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the first card (-want +got):\n%s", diff)
	}
	if c := cards[1]; c.Axis != 0 || c.Slices != nil || c.Fits != nil {
		t.Errorf("want no cut of a card that is not in MIG mode, got %+v", c)
	}
	if c := cards[7]; !c.Lost || c.UUID != "" {
		t.Errorf("want the lost card to be there as lost, got %+v", c)
	}
	devices := []license.Device{
		{Cluster: "main", Node: "node-1", UUID: "11111111-2222-3333-4444-555555555555", Index: "2", State: license.Licensed,
			SeenAt: taken, Expires: time.Date(2026, 11, 22, 8, 30, 1, 0, time.UTC)},
		{Cluster: "main", Node: "node-1", UUID: "GPU-00000000-0000-0000-0000-000000000003", Index: "3",
			State: license.Licensed, SeenAt: taken, Expires: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
	}
	said := s.Devices()
	for i := range said {
		said[i].Model = ""
	}
	if diff := cmp.Diff(devices, said); diff != "" {
		t.Errorf("the vGPUs (-want +got):\n%s", diff)
	}
	if s.round(t); s.changes != 1 {
		t.Errorf("want one change to be told, got %d", s.changes)
	}
}

// TestLicenseStates: each word of the driver, on the host's side and in the guest.
func TestLicenseStates(t *testing.T) {
	host := func(word string) func(*agent.GPU) {
		return func(g *agent.GPU) {
			g.VGPUHost.Active = agent.Known([]agent.VGPUInstance{{UUID: agent.Known("v-1"), LicenseState: agent.Known(word)}})
		}
	}
	inGuest := func(features ...agent.LicenseFeature) func(*agent.GPU) {
		return func(g *agent.GPU) {
			g.UUID, g.Virtualization = agent.Known("GPU-1"), agent.Known("vgpu_guest")
			g.License = agent.License{Supported: agent.Known(true), Features: agent.Known(features)}
		}
	}
	for sentence, c := range map[string]struct {
		change func(*agent.GPU)
		want   license.State // "": no vGPU
	}{
		"licensed":                 {host("licensed"), license.Licensed},
		"in grace":                 {host("unlicensed_unrestricted"), license.Unrestricted},
		"slowed down":              {host("unlicensed_restricted"), license.Restricted},
		"unlicensed":               {host("unlicensed"), license.Unlicensed},
		"has not begun to ask":     {host("uninitialized"), license.StateUnknown},
		"a word of a newer driver": {host("on loan"), license.StateUnknown},
		"a guest with its license": {inGuest(agent.LicenseFeature{Enabled: true, Licensed: true}),
			license.Licensed},
		"a guest without":                  {inGuest(agent.LicenseFeature{Enabled: true}), license.Unlicensed},
		"a guest with nothing switched on": {inGuest(agent.LicenseFeature{Licensed: true}), ""},
		"a card that needs none":           {func(g *agent.GPU) { g.UUID = agent.Known("GPU-1") }, ""},
		"a guest whose license nobody knows": {func(g *agent.GPU) {
			g.UUID, g.Virtualization = agent.Known("GPU-1"),
				agent.Known("vgpu_guest")
		}, ""},
	} {
		var g agent.GPU
		c.change(&g)
		got := license.State("")
		if list := devices(g); len(list) > 0 {
			got = list[0].State
		}
		if got != c.want {
			t.Errorf("%s: want %q, got %q", sentence, c.want, got)
		}
	}
}

// TestReportsThatAreNotBelieved: whatever a pod answers, it knows its own node at most, and now.
func TestReportsThatAreNotBelieved(t *testing.T) {
	text := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
	}
	changed := func(change func(*agent.Report)) func(testing.TB) http.Handler {
		return func(t testing.TB) http.Handler {
			r := mocked(t)
			change(&r)
			return serving(t, r, "")
		}
	}
	fixed := func(h http.Handler) func(testing.TB) http.Handler { return func(testing.TB) http.Handler { return h } }
	for sentence, answer := range map[string]func(testing.TB) http.Handler{
		"the report of another node":   changed(func(r *agent.Report) { r.Node = "node-2" }),
		"a report of no node":          changed(func(r *agent.Report) { r.Node = "" }),
		"a report of the past":         changed(func(r *agent.Report) { r.TakenAt = taken.Add(-Stale - time.Minute) }),
		"a report of the future":       changed(func(r *agent.Report) { r.TakenAt = taken.Add(time.Hour) }),
		"a report without a time":      changed(func(r *agent.Report) { r.TakenAt = time.Time{} }),
		"more cards than a node takes": changed(func(r *agent.Report) { r.GPUs = agent.Known(make([]agent.GPU, 65)) }),
		"another schema":               fixed(text(200, `{"schema":"gpu-portal.agent/v9","node":"node-1"}`)),
		"a page":                       fixed(text(200, "<html>Sign in</html>")),
		"half a report":                fixed(text(200, `{"schema":"gpu-portal.agent/v1","node":"node-1","gpus":{"value":[`)),
		"nothing":                      fixed(text(200, "")),
		"a deep nest":                  fixed(text(200, `{"schema":`+strings.Repeat("[", 100_000))),
		"an error":                     fixed(text(500, "boom")),
		"no right":                     fixed(text(401, "")),
		"a long one": fixed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, `{"schema":"gpu-portal.agent/v1","node":"`)
			for range agent.MaxReport>>16 + 2 {
				if _, err := w.Write([]byte(strings.Repeat("x", 1<<16))); err != nil {
					return
				}
			}
		})),
		"somewhere else": fixed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/report" {
				t.Error("want no redirect to be followed, for the token would go with it")
			}
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		})),
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newSite(t, answer(t), onNode)
			s.round(t)
			if cards, devices := s.Cards(), s.Devices(); len(cards["node-1"])+len(devices) > 0 || len(cards["node-2"]) > 0 {
				t.Errorf("want nothing to be known, got %v %v", cards, devices)
			}
			s.answers(serving(t, mocked(t), "")) // it comes to its senses
			if s.round(t); len(s.Cards()["node-1"]) != 8 {
				t.Errorf("want a sound report to be taken afterwards, got %v", s.Cards())
			}
			s.answers(answer(t)) // a bad word does not wipe out a good one
			if s.round(t); len(s.Cards()["node-1"]) != 8 {
				t.Errorf("want the last sound report to stand while it is fresh, got %v", s.Cards())
			}
		})
	}
}

// TestSilenceIsUnknown: an agent that answers no more is believed for as long as its last word is fresh, and a pod that
// is gone is not.
func TestSilenceIsUnknown(t *testing.T) {
	s := newSite(t, serving(t, mocked(t), ""), onNode)
	s.round(t)
	s.answers(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	s.now = taken.Add(Stale)
	if s.round(t); len(s.Cards()["node-1"]) != 8 {
		t.Error("want its last word to stand while it is fresh")
	}
	s.now = taken.Add(Stale + time.Second)
	if len(s.Cards()) != 0 || len(s.Devices()) != 0 {
		t.Error("want nothing to be known any more, before the next round even")
	}
	s.now = taken
	s.answers(serving(t, mocked(t), ""))
	s.round(t)
	if s.pods = nil; len(s.Cards()) != 1 {
		t.Fatal("want it to be known again")
	}
	if s.round(t); len(s.Cards()) != 0 {
		t.Error("want nothing to be known of a node whose agent is gone")
	}
	s.pods, s.listing = []Pod{onNode}, errors.New("the API server is away")
	if err := s.Round(t.Context()); !errors.Is(err, s.listing) {
		t.Errorf("want to be told that the pods could not be listed, got %v", err)
	}
}

// TestOneAgentSpeaksForANode: of two pods on a node the first by name, and none for a node that the API server does not
// name.
func TestOneAgentSpeaksForANode(t *testing.T) {
	got := oneEach([]Pod{{"b", "node-1", "10.0.0.2"}, {"a", "node-1", "10.0.0.1"}, {"c", "", "10.0.0.3"},
		{"d", "node-2", ""}})
	if diff := cmp.Diff([]Pod{{"a", "node-1", "10.0.0.1"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := oneEach(make([]Pod, 0)); len(got) != 0 {
		t.Errorf("want none, got %v", got)
	}
}

// TestTheToken: it is read for each round and shown to the agent; without a file that can be read nobody is asked.
func TestTheToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, serving(t, mocked(t), file), onNode)
	if s.round(t); len(s.Cards()) != 0 {
		t.Fatal("want the agent to refuse whoever has no token")
	}
	s.o.TokenFile = file
	if s.round(t); len(s.Cards()["node-1"]) != 8 {
		t.Error("want the report for the token")
	}
	s.o.TokenFile = file + ".gone"
	if err := s.Round(t.Context()); err == nil {
		t.Error("want to be told that the token cannot be read")
	}
}
