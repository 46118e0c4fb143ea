package terminal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Channels of the protocol v5.channel.k8s.io.
const (
	stdin  = 0
	stdout = 1
	failed = 3
	resize = 4
)

// exec is a command that runs, as the API server sees it.
type exec struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
}

// reads is the next message of a channel.
func (e exec) reads(channel byte) string {
	for {
		_, message, err := e.conn.Read(e.ctx)
		if err != nil {
			return ""
		}
		if message[0] == channel && len(message) > 1 {
			return string(message[1:])
		}
	}
}

func (e exec) writes(channel byte, text string) error {
	return e.conn.Write(e.ctx, websocket.MessageBinary, append([]byte{channel}, text...))
}

// exits with a code, in the words of the API server.
func (e exec) exits(code string) {
	_ = e.writes(failed, `{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode",`+
		`"message":"`+code+`"}]}}`)
	_ = e.conn.Close(websocket.StatusNormalClosure, "")
}

// world is a service on an API server with one pod.
type world struct {
	*terminal.Service
	item  *workload.Workload
	shell func(exec)
	ended func(terminal.Reason)
	alive atomic.Bool

	mu     sync.Mutex
	pod    *corev1.Pod
	asked  string
	record record
}

func (w *world) setPod(pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pod = pod
}

func (w *world) Get(_ context.Context, a identity.Actor, id workload.ID) (workload.Workload, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id != w.item.ID {
		return workload.Workload{}, fault.New(fault.NotFound, i18n.T("workload.not_found"))
	}
	return *w.item, workload.Permit(a, identity.ReadWorkload, *w.item)
}

func newWorld(t *testing.T, adjust ...func(*terminal.Options)) *world {
	t.Helper()
	w := &world{item: &workload.Workload{ID: "w-1", Name: "nb-a", Kind: catalog.Notebook, Tenant: "vision",
		Owner: "p-dana", OwnerName: "Dana", Cluster: "main", Namespace: "gpu-vision",
		Observed: workload.Observation{Pod: "nb-a-0", PodPresent: true}}}
	w.alive.Store(true)
	w.ended = func(terminal.Reason) {}
	w.pod = &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "nb-a-0", Namespace: "gpu-vision", UID: types.UID("u-1"),
			Labels: kube.PodSelector(*w.item)},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/gpu-vision/pods/nb-a-0", func(rw http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		rw.Header().Set("Content-Type", "application/json")
		if w.pod == nil {
			rw.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(rw).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound})
			return
		}
		_ = json.NewEncoder(rw).Encode(w.pod)
	})
	mux.HandleFunc("GET /api/v1/namespaces/gpu-vision/pods/nb-a-0/exec", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked = r.URL.RawQuery
		w.mu.Unlock()
		conn, err := websocket.Accept(rw, r, &websocket.AcceptOptions{Subprotocols: []string{"v5.channel.k8s.io"}})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.CloseNow() }()
		w.shell(exec{t, r.Context(), conn})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	cluster, err := terminal.NewCluster(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	o := terminal.Options{Workloads: w, Record: &w.record,
		Ended: func(r terminal.Reason) { w.ended(r) }, Clusters: map[string]terminal.Cluster{"main": cluster},
		Rules: terminal.Rules{Enabled: true, Limits: session.Limits{Idle: time.Hour, Longest: time.Hour, Most: 20,
			PerPerson: 10}},
		Alive: func(context.Context) bool { return w.alive.Load() }, Every: 10 * time.Millisecond}
	for _, change := range adjust {
		change(&o)
	}
	w.Service = terminal.New(o)
	w.shell = func(e exec) { e.reads(stdin) }
	return w
}

func person(id identity.PersonID) identity.Actor {
	return identity.Actor{Person: identity.Person{ID: id}, Via: identity.ViaSession,
		Tenants: map[string][]identity.Role{"vision": {identity.Developer}}}
}

// client types what is in keys, and keeps what it sees.
type client struct {
	keys  chan terminal.Input
	mu    sync.Mutex
	seen  bytes.Buffer
	told  []string // ids of the ends that it heard of
	stuck bool     // takes no output
}

func (c *client) End(_ context.Context, words i18n.Text) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, words.ID)
}

// record is the audit.
type record struct {
	mu     sync.Mutex
	events []audit.Event
	err    error
}

func (r *record) Append(_ context.Context, events ...audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.events = append(r.events, events...)
	}
	return r.err
}

func newClient() *client { return &client{keys: make(chan terminal.Input, 10)} }

func (c *client) Read(ctx context.Context) (terminal.Input, error) {
	select {
	case in, more := <-c.keys:
		if !more {
			return in, errors.New("the browser went away")
		}
		return in, nil
	case <-ctx.Done():
		return terminal.Input{}, ctx.Err()
	}
}

func (c *client) Write(ctx context.Context, p []byte) error {
	if c.stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Write(p)
	return nil
}

// run opens a session and stays in it to its end.
func run(t *testing.T, w *world, c *client) terminal.End {
	t.Helper()
	s, err := w.Open(t.Context(), person("p-dana"), "w-1")
	if err != nil {
		t.Fatal(err)
	}
	end, err := s.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.Running(); n != 0 {
		t.Errorf("%d sessions are counted after the end", n)
	}
	return end
}

// TestTheShellIsAnswered: keys and sizes arrive, output comes back byte by byte as it is, with the code of the end.
func TestTheShellIsAnswered(t *testing.T) {
	w, c := newWorld(t), newClient()
	binary := strings.Repeat("\x00\xff\x1b[31m", 1<<18)
	var typed, size string
	w.shell = func(e exec) {
		for typed == "" || size == "" { // two streams, in either order
			_, message, err := e.conn.Read(e.ctx)
			switch {
			case err != nil:
				return
			case len(message) > 1 && message[0] == stdin:
				typed = string(message[1:])
			case len(message) > 1 && message[0] == resize:
				size = string(message[1:])
			}
		}
		for rest := binary; rest != ""; rest = rest[min(len(rest), 16<<10):] {
			if e.writes(stdout, rest[:min(len(rest), 16<<10)]) != nil {
				return
			}
		}
		e.exits("3")
	}
	c.keys <- terminal.Input{Keys: []byte("ls\r")}
	go func() { c.keys <- terminal.Input{Size: terminal.Size{Columns: 120, Rows: 40}} }()
	if end := run(t, w, c); end.Reason != terminal.Exited || end.Code != 3 {
		t.Errorf("ended %+v", end)
	}
	if typed != "ls\r" || strings.TrimSpace(size) != `{"Width":120,"Height":40}` {
		t.Errorf("typed %q, size %q", typed, size)
	}
	if c.seen.String() != binary {
		t.Errorf("%d bytes of %d are seen", c.seen.Len(), len(binary))
	}
	if !strings.Contains(w.asked, "container=main") || !strings.Contains(w.asked, "tty=true") {
		t.Errorf("asked for %s", w.asked)
	}
}

// TestHowASessionEnds: each end says why, and the shell is left.
func TestHowASessionEnds(t *testing.T) {
	soon := 20 * time.Millisecond
	for name, test := range map[string]struct {
		want   terminal.Reason
		adjust func(*terminal.Options)
		shell  func(*world, *client, exec)
		stuck  bool
	}{
		"nothing happens":      {want: terminal.Idle, adjust: func(o *terminal.Options) { o.Rules.Idle = soon }},
		"the longest time":     {want: terminal.TooLong, adjust: func(o *terminal.Options) { o.Rules.Longest = soon }},
		"the browser goes":     {want: terminal.Left, shell: func(_ *world, c *client, _ exec) { close(c.keys) }},
		"the session is ended": {want: terminal.NoLonger, shell: func(w *world, _ *client, _ exec) { w.alive.Store(false) }},
		"it is somebody else's now": {want: terminal.NoLonger, shell: func(w *world, _ *client, _ exec) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.item.Owner = "p-devi"
		}},
		"the pod goes":     {want: terminal.PodGone, shell: func(w *world, _ *client, _ exec) { w.setPod(nil) }},
		"the portal stops": {want: terminal.Stopping, shell: func(w *world, _ *client, _ exec) { go w.Close(t.Context()) }},
		"the shell is killed with its pod": {want: terminal.PodGone, shell: func(w *world, _ *client, e exec) {
			w.setPod(nil)
			e.exits("137")
		}},
		"the cluster breaks off": {want: terminal.Broken, shell: func(_ *world, _ *client, e exec) { _ = e.conn.CloseNow() }},
		"nobody reads": {want: terminal.Slow, stuck: true, adjust: func(o *terminal.Options) { o.Patience = soon },
			shell: func(_ *world, _ *client, e exec) { _ = e.writes(stdout, "much") }},
	} {
		t.Run(name, func(t *testing.T) {
			adjust := test.adjust
			if adjust == nil {
				adjust = func(*terminal.Options) {}
			}
			w, c := newWorld(t, adjust), newClient()
			c.stuck = test.stuck
			w.shell = func(e exec) {
				if test.shell != nil {
					test.shell(w, c, e)
				}
				e.reads(stdin) // until the portal hangs up
			}
			var counted []terminal.Reason
			w.ended = func(r terminal.Reason) { counted = append(counted, r) }
			if end := run(t, w, c); end.Reason != test.want || !slices.Equal(counted, []terminal.Reason{test.want}) {
				t.Errorf("want %s, got %+v, counted %v", test.want, end, counted)
			}
			if !slices.Equal(c.told, []string{"terminal.end_" + string(test.want)}) {
				t.Errorf("told %q", c.told)
			}
		})
	}
}

// visitors tells of each visit.
type visitors chan workload.Visit

func (v visitors) SaveVisits(_ context.Context, list []workload.Visit) error {
	for _, one := range list {
		v <- one
	}
	return nil
}

// TestWhoHasATerminalIsInside: it is written down as it is of those who come through the gateway.
func TestWhoHasATerminalIsInside(t *testing.T) {
	seen := make(visitors, 1)
	w, c := newWorld(t, func(o *terminal.Options) { o.Visits = seen }), newClient()
	w.shell = func(e exec) {
		if one := <-seen; one.Workload != "w-1" || one.Person != "p-dana" || time.Since(one.At).Abs() > time.Minute {
			t.Errorf("want Dana inside, got %+v", one)
		}
		e.exits("0")
	}
	if end := run(t, w, c); end.Reason != terminal.Exited {
		t.Errorf("want it over, got %+v", end)
	}
}

// TestWhoMayHaveATerminal: the owner and with whom it is shared for use, in a session of their own, where the site
// allows it.
func TestWhoMayHaveATerminal(t *testing.T) {
	dana, devi := person("p-dana"), person("p-devi")
	token, other := dana, person("p-nora")
	token.Via, other.Tenants = identity.ViaToken, nil
	acting := dana
	acting.Impersonator = &identity.Person{ID: "p-ada"}
	for name, test := range map[string]struct {
		actor identity.Actor
		off   bool
		grant workload.Permission // to devi
		want  fault.Kind          // "" for a terminal
	}{
		"the owner":                  {actor: dana},
		"a site without terminals":   {actor: dana, off: true, want: fault.Forbidden},
		"a token":                    {actor: token, want: fault.Forbidden},
		"in the owner's place":       {actor: acting, want: fault.Forbidden},
		"a colleague":                {actor: devi, want: fault.Forbidden},
		"a colleague who may look":   {actor: devi, grant: workload.MayRead, want: fault.Forbidden},
		"a colleague who may use it": {actor: devi, grant: workload.MayUse},
		"another team":               {actor: other, want: fault.NotFound},
	} {
		w := newWorld(t, func(o *terminal.Options) { o.Rules.Enabled = !test.off })
		if test.grant != "" {
			w.item.Grants = []workload.Grant{{To: workload.ToPerson, Person: "p-devi", Permission: test.grant}}
		}
		s, err := w.Open(t.Context(), test.actor, "w-1")
		if s != nil {
			s.Close()
		}
		if test.want == "" && err != nil || test.want != "" && !fault.Is(err, test.want) {
			t.Errorf("%s: want %q, got %v", name, test.want, err)
		}
	}
}

// TestNumbers: one person has so many, all together so many, and what ends makes room.
func TestNumbers(t *testing.T) {
	w := newWorld(t, func(o *terminal.Options) { o.Rules.PerPerson, o.Rules.Most = 10, 11 })
	w.item.Grants = []workload.Grant{{To: workload.ToTeam, Permission: workload.MayUse}}
	open := func(who identity.PersonID) *terminal.Session {
		t.Helper()
		s, err := w.Open(t.Context(), person(who), "w-1")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var first *terminal.Session
	for range 10 {
		first = open("p-dana")
	}
	if _, err := w.Open(t.Context(), person("p-dana"), "w-1"); !fault.Is(err, fault.TooMany) {
		t.Errorf("an eleventh of one person: %v", err)
	}
	open("p-devi")
	if _, err := w.Open(t.Context(), person("p-emil"), "w-1"); !fault.Is(err, fault.TooMany) {
		t.Errorf("a twelfth of all: %v", err)
	}
	first.Close()
	first.Close()
	open("p-emil")
	if n := w.Running(); n != 11 {
		t.Errorf("%d are counted", n)
	}
}

// TestNoContainerThatRuns is a Conflict: no pod, another's pod by that name, one that starts or goes.
func TestNoContainerThatRuns(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"another's":  func(p *corev1.Pod) { p.Labels = nil },
		"it starts":  func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = corev1.ContainerState{} },
		"it goes":    func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} },
		"has no own": func(p *corev1.Pod) { p.Status.ContainerStatuses = nil },
	} {
		w := newWorld(t)
		change(w.pod)
		if _, err := w.Open(t.Context(), person("p-dana"), "w-1"); !fault.Is(err, fault.Conflict) || w.Running() != 0 {
			t.Errorf("%s: %v, %d counted", name, err, w.Running())
		}
	}
}

// TestStartAndEndAreRecorded with who, where, how long and why, and with nothing of what was typed and answered.
func TestStartAndEndAreRecorded(t *testing.T) {
	var later atomic.Bool
	w, c := newWorld(t, func(o *terminal.Options) {
		o.Now = func() time.Time {
			at := time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)
			if later.Load() {
				at = at.Add(134 * time.Second)
			}
			return at
		}
	}), newClient()
	w.shell = func(e exec) {
		e.reads(stdin)
		later.Store(true)
		_ = e.writes(stdout, "the answer")
		e.exits("3")
	}
	c.keys <- terminal.Input{Keys: []byte("a secret\r")}
	run(t, w, c)
	var kinds []audit.Kind
	for _, e := range w.record.events {
		kinds = append(kinds, e.Kind)
		if e.Actor != "p-dana" || e.Workload != "w-1" || e.Tenant != "vision" || e.Via != identity.ViaSession {
			t.Errorf("%+v", e)
		}
		if text := fmt.Sprint(e); strings.Contains(text, "a secret") || strings.Contains(text, "the answer") {
			t.Errorf("recorded %s", text)
		}
	}
	if !slices.Equal(kinds, []audit.Kind{audit.TerminalOpened, audit.TerminalClosed}) {
		t.Fatalf("recorded %v", kinds)
	}
	said := i18n.MustLoad().For("en").Say(w.record.events[1].Detail)
	if want := "Container main, open for 2m14s. The shell exited with code 3."; said != want {
		t.Errorf("want %q, got %q", want, said)
	}
}

// TestWhatCannotBeRecordedDoesNotStart, and the client hears why.
func TestWhatCannotBeRecordedDoesNotStart(t *testing.T) {
	w, c := newWorld(t), newClient()
	w.record.err = fault.New(fault.Unavailable, i18n.T("terminal.end_broken"))
	s, err := w.Open(t.Context(), person("p-dana"), "w-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), c); !fault.Is(err, fault.Unavailable) || w.asked != "" || w.Running() != 0 {
		t.Errorf("%v, asked %q, %d counted", err, w.asked, w.Running())
	}
	if !slices.Equal(c.told, []string{"terminal.end_broken"}) {
		t.Errorf("told %q", c.told)
	}
}

// TestClosingWaitsForEveryEnd and lets nobody in any more.
func TestClosingWaitsForEveryEnd(t *testing.T) {
	w, c := newWorld(t), newClient()
	inside := make(chan struct{})
	w.shell = func(e exec) {
		close(inside)
		e.reads(stdin)
	}
	s, err := w.Open(t.Context(), person("p-dana"), "w-1")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = s.Run(t.Context(), c) }()
	<-inside
	w.Close(t.Context())
	w.Close(t.Context()) // as often as one likes
	if n := len(w.record.events); n != 2 || !slices.Equal(c.told, []string{"terminal.end_stopping"}) {
		t.Errorf("%d events, told %q", n, c.told)
	}
	if _, err := w.Open(t.Context(), person("p-dana"), "w-1"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("afterwards: %v", err)
	}
}
