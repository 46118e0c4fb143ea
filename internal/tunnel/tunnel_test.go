package tunnel_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/tunnel"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// world is a service with one workload, whose pod is a TCP server on this machine.
type world struct {
	*tunnel.Service
	t       *testing.T
	server  net.Listener
	alive   atomic.Bool
	counted chan tunnel.Reason
	mu      sync.Mutex
	item    workload.Workload
	dialed  int32
	away    error
	http    bool // pods take HTTP only
	record  record
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

func (w *world) Dials(string) bool { return !w.http }

func (w *world) Get(_ context.Context, a identity.Actor, id workload.ID) (workload.Workload, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id != w.item.ID {
		return workload.Workload{}, fault.New(fault.NotFound, i18n.T("workload.not_found"))
	}
	return w.item, workload.Permit(a, identity.ReadWorkload, w.item)
}

func (w *world) Dial(_ context.Context, _ workload.Workload, port int32) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialed = port
	if w.away != nil {
		return nil, w.away
	}
	return net.Dial("tcp", w.server.Addr().String())
}

func (w *world) change(change func(*workload.Workload)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.item)
}

// newWorld has a pod that answers each connection with serve; the default sends back what it gets.
func newWorld(t *testing.T, serve func(net.Conn), adjust ...func(*tunnel.Options)) *world {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if serve == nil {
		serve = func(c net.Conn) { _, _ = io.Copy(c, c) }
	}
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	w := &world{t: t, server: server, counted: make(chan tunnel.Reason, 10), item: workload.Workload{
		ID: "w-1", Name: "nb-a", Kind: catalog.Notebook,
		Tenant: "vision", Owner: "p-dana", OwnerName: "Dana", Cluster: "main", Namespace: "gpu-vision", Generation: 1,
		Desired: workload.WantRunning, State: workload.Running,
		Image:    catalog.Image{Port: 8888, SSH: &catalog.SSH{Port: 2222, User: "jovyan"}},
		Observed: workload.Observation{Pod: "nb-a-0", PodPresent: true, PodIP: "10.0.0.7"}}}
	w.alive.Store(true)
	o := tunnel.Options{Workloads: w, Pods: w, Record: &w.record, Ended: func(r tunnel.Reason) { w.counted <- r },
		Rules: tunnel.Rules{Enabled: true, MaxBytes: 1 << 30, Limits: session.Limits{Idle: time.Minute,
			Longest: time.Minute, Most: 10, PerPerson: 5}},
		Alive: func(context.Context) bool { return w.alive.Load() }, Every: 5 * time.Millisecond}
	for _, a := range adjust {
		a(&o)
	}
	w.Service = tunnel.New(o)
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel() // some tests leave a session that never ran
		w.Close(over)
		server.Close()
	})
	return w
}

func member(id identity.PersonID) identity.Actor {
	return identity.Actor{Person: identity.Person{ID: id}, Via: identity.ViaToken,
		Tenants: map[string][]identity.Role{"vision": {identity.Developer}}}
}

var dana = member("p-dana")

// pipe is both ends of a TCP connection.
func pipe(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err == nil {
		far, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		near.Close()
		far.Close()
	})
	return near, far
}

// begin opens a tunnel of the owner; ends tells how it ended.
func (w *world) begin() (client net.Conn, ends chan tunnel.End) {
	w.t.Helper()
	client, ends, _ = w.beginWith("")
	return client, ends
}

// program is a client that remembers what it was told.
type program struct {
	net.Conn
	told chan tunnel.Reason
}

func (p program) CloseWrite() error                     { return p.Conn.(*net.TCPConn).CloseWrite() }
func (p program) End(_ context.Context, end tunnel.End) { p.told <- end.Reason }

func (w *world) beginWith(port string) (client net.Conn, ends chan tunnel.End, told chan tunnel.Reason) {
	w.t.Helper()
	opened, err := w.Open(w.t.Context(), dana, "w-1", port)
	if err != nil {
		w.t.Fatal(err)
	}
	near, far := pipe(w.t)
	ends, told = make(chan tunnel.End, 1), make(chan tunnel.Reason, 2)
	go func() {
		end, err := opened.Run(context.WithoutCancel(w.t.Context()), program{far, told})
		if err != nil {
			w.t.Error(err)
		}
		ends <- end
	}()
	return near, ends, told
}

func ended(t *testing.T, ends chan tunnel.End, want tunnel.Reason) tunnel.End {
	t.Helper()
	select {
	case end := <-ends:
		if end.Reason != want {
			t.Errorf("want it to end as %s, got %+v", want, end)
		}
		return end
	case <-time.After(time.Minute):
		t.Fatalf("want it to end as %s, and it goes on", want)
		return tunnel.End{}
	}
}

func TestBytesPassAsTheyAre(t *testing.T) {
	w := newWorld(t, nil)
	client, ends := w.begin()
	sent := bytes.Repeat([]byte("\x00\xff\r\n every byte "), 100_000)
	go func() {
		_, _ = client.Write(sent)
		_ = client.(*net.TCPConn).CloseWrite() // the pod may still answer
	}()
	got, err := io.ReadAll(client)
	if err != nil || !bytes.Equal(sent, got) {
		t.Errorf("want %d bytes back, got %d, %v", len(sent), len(got), err)
	}
	end := ended(t, ends, tunnel.Closed)
	if n := int64(len(sent)); end.Sent != n || end.Received != n {
		t.Errorf("want %d bytes counted each way, got %+v", n, end)
	}
	var kinds []audit.Kind
	for _, e := range w.record.events {
		kinds = append(kinds, e.Kind)
		if e.Workload != "w-1" || e.Tenant != "vision" || e.Actor != "p-dana" {
			t.Errorf("want it recorded where and by whom, got %+v", e)
		}
	}
	if !slices.Equal(kinds, []audit.Kind{audit.TunnelOpened, audit.TunnelClosed}) {
		t.Errorf("want start and end recorded, got %v", kinds)
	}
	if w.dialed != 2222 || w.Running() != 0 {
		t.Errorf("want the image's port, and the place given back, got %d and %d", w.dialed, w.Running())
	}
}

// echoes insists that a tunnel works.
func echoes(t *testing.T, client net.Conn) {
	t.Helper()
	got := make([]byte, 2)
	if _, err := client.Write([]byte("hi")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(client, got); err != nil || string(got) != "hi" {
		t.Fatalf("want it to pass bytes, got %q %v", got, err)
	}
}

func TestHowATunnelEnds(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, is := range map[string]struct {
		want   tunnel.Reason
		serve  func(net.Conn)
		adjust func(*tunnel.Options)
		do     func(*world, net.Conn)
	}{
		"the client breaks off": {want: tunnel.Left, do: func(_ *world, c net.Conn) {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}},
		"nobody says anything": {want: tunnel.Idle, adjust: func(o *tunnel.Options) { o.Rules.Idle = 50 * time.Millisecond }},
		"the longest time is over": {want: tunnel.TooLong, adjust: func(o *tunnel.Options) {
			o.Rules.Longest = 50 * time.Millisecond
		}},
		"the most bytes are passed": {want: tunnel.TooMuch, adjust: func(o *tunnel.Options) { o.Rules.MaxBytes = 10 },
			do: func(_ *world, c net.Conn) { _, _ = c.Write(make([]byte, 100)) }},
		"the token is revoked": {want: tunnel.NoLonger, do: func(w *world, _ net.Conn) { w.alive.Store(false) }},
		"it is handed to somebody else": {want: tunnel.NoLonger, do: func(w *world, _ net.Conn) {
			w.change(func(i *workload.Workload) { i.Owner = "p-other" })
		}},
		"it is stopped": {want: tunnel.PodGone, do: func(w *world, _ net.Conn) {
			w.change(func(i *workload.Workload) { i.Desired, i.State = workload.WantStopped, workload.Stopping })
		}},
		"another pod has its name": {want: tunnel.PodGone, do: func(w *world, _ net.Conn) {
			w.change(func(i *workload.Workload) { i.Observed.PodIP = "10.0.0.8" })
		}},
		"the portal stops": {want: tunnel.Stopping, do: func(w *world, _ net.Conn) { go w.Close(context.Background()) }},
		"the pod takes nothing": {want: tunnel.Slow, serve: func(c net.Conn) {
			_, _ = io.CopyN(c, c, 2)
			<-hang
		}, adjust: func(o *tunnel.Options) { o.Patience = 50 * time.Millisecond },
			do: func(_ *world, c net.Conn) { go func() { _, _ = c.Write(make([]byte, 64<<20)) }() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var adjust []func(*tunnel.Options)
			if is.adjust != nil {
				adjust = append(adjust, is.adjust)
			}
			w := newWorld(t, is.serve, adjust...)
			client, ends, told := w.beginWith("")
			if is.want != tunnel.Idle && is.want != tunnel.TooLong {
				echoes(t, client)
			}
			if is.do != nil {
				is.do(w, client)
			}
			ended(t, ends, is.want)
			if got := <-told; got != is.want || len(told) != 0 {
				t.Errorf("want the client told once that it is %s, got %s and %d more", is.want, got, len(told))
			}
			if got := <-w.counted; got != is.want || len(w.counted) != 0 {
				t.Errorf("want %s counted once, got %s and %d more", is.want, got, len(w.counted))
			}
			if w.Running() != 0 {
				t.Error("want the place given back")
			}
			if _, err := io.Copy(io.Discard, client); errors.Is(err, context.DeadlineExceeded) {
				t.Error("want the client's connection closed")
			}
		})
	}
}

// inBrowser is the owner by a session.
func inBrowser() identity.Actor {
	a := dana
	a.Via = identity.ViaSession
	return a
}

// impersonated is the owner, as an administrator sees the portal in their place.
func impersonated() identity.Actor {
	a := dana
	a.Impersonator = &identity.Person{ID: "p-admin"}
	return a
}

func TestWhoHasATunnel(t *testing.T) {
	auditor := identity.Actor{Person: identity.Person{ID: "p-au"}, Global: []identity.Role{identity.Auditor}}
	for name, is := range map[string]struct {
		actor  identity.Actor
		id     workload.ID
		change func(*workload.Workload)
		adjust func(*tunnel.Options)
		http   bool
		port   string
		want   fault.Kind
	}{
		"the site allows none": {actor: dana, adjust: func(o *tunnel.Options) { o.Rules.Enabled = false },
			want: fault.Forbidden},
		"an administrator in their place": {actor: impersonated(), want: fault.Forbidden},
		"a colleague":                     {actor: member("p-dave"), want: fault.Forbidden},
		"somebody who only watches":       {actor: auditor, want: fault.Forbidden},
		"a stranger":                      {actor: identity.Actor{Person: identity.Person{ID: "p-x"}}, want: fault.NotFound},
		"no workload":                     {actor: dana, id: "w-2", want: fault.NotFound},
		"the owner in the browser":        {actor: inBrowser(), want: fault.Forbidden},
		"an image without a server": {actor: dana, want: fault.Conflict,
			change: func(i *workload.Workload) { i.Image.SSH = nil }},
		"the port of the pages":     {actor: dana, port: "8888", want: fault.Conflict},
		"no port of the image":      {actor: dana, port: "22", want: fault.Conflict},
		"pods behind an API server": {actor: dana, want: fault.Conflict, http: true},
		"one that is stopped": {actor: dana, want: fault.Conflict,
			change: func(i *workload.Workload) { i.State = workload.Stopped }},
		"the most of one person": {actor: dana, want: fault.TooMany,
			adjust: func(o *tunnel.Options) { o.Rules.PerPerson = 0 }},
		"the most of the process": {actor: dana, want: fault.TooMany, adjust: func(o *tunnel.Options) { o.Rules.Most = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			var adjust []func(*tunnel.Options)
			if is.adjust != nil {
				adjust = append(adjust, is.adjust)
			}
			w := newWorld(t, nil, adjust...)
			w.http = is.http
			if is.change != nil {
				w.change(is.change)
			}
			id := is.id
			if id == "" {
				id = "w-1"
			}
			if _, err := w.Open(t.Context(), is.actor, id, is.port); !fault.Is(err, is.want) {
				t.Errorf("want %v, got %v", is.want, err)
			}
			if w.Running() != 0 || w.dialed != 0 {
				t.Error("want no place taken and nothing dialed")
			}
		})
	}
}

// TestATunnelLeadsToAPortOfTheImage by its name or number, and the record has which.
func TestATunnelLeadsToAPortOfTheImage(t *testing.T) {
	for _, port := range []string{"tensorboard", "6006"} {
		w := newWorld(t, nil)
		w.change(func(i *workload.Workload) { i.Image.Ports = map[string]int32{"tensorboard": 6006} })
		client, ends, _ := w.beginWith(port)
		echoes(t, client)
		_ = client.(*net.TCPConn).CloseWrite()
		ended(t, ends, tunnel.Closed)
		if w.dialed != 6006 {
			t.Errorf("%s: dialed %d", port, w.dialed)
		}
		for _, e := range w.record.events {
			if words := i18n.MustLoad().For("en").Say(e.Detail); !strings.HasPrefix(words, "Port 6006") {
				t.Errorf("want the port recorded, got %q", words)
			}
		}
	}
}

// TestARefusedPortNamesTheOthers: whoever mistypes one learns which there are.
func TestARefusedPortNamesTheOthers(t *testing.T) {
	w := newWorld(t, nil)
	english := i18n.MustLoad().For("en")
	refused := func(port, want string) {
		t.Helper()
		_, err := w.Open(t.Context(), dana, "w-1", port)
		if said := english.Say(fault.As(err).Sentence); said != want {
			t.Errorf("%q: want %q, got %q", port, want, said)
		}
	}
	refused("grpc", "Its image has no port grpc. It has: ssh.")
	w.change(func(i *workload.Workload) { i.Image.SSH = nil })
	refused("grpc", "Its image defines no ports. Choose an image that does.")
	refused("", "Its image has no SSH server. Choose an image that has one.")
}

func TestAPodThatDoesNotAnswer(t *testing.T) {
	w := newWorld(t, nil)
	w.away = errors.New("connection refused")
	if _, err := w.Open(t.Context(), dana, "w-1", ""); !fault.Is(err, fault.Unavailable) || w.Running() != 0 {
		t.Errorf("want it told and the place given back, got %v", err)
	}
}

func TestPlacesAreCounted(t *testing.T) {
	w := newWorld(t, nil, func(o *tunnel.Options) { o.Rules.PerPerson = 2 })
	first, err := w.Open(t.Context(), dana, "w-1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Open(t.Context(), dana, "w-1", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Open(t.Context(), dana, "w-1", ""); !fault.Is(err, fault.TooMany) {
		t.Errorf("want a third refused, got %v", err)
	}
	first.Close()
	first.Close() // twice gives one place back
	if _, err := w.Open(t.Context(), dana, "w-1", ""); err != nil || w.Running() != 2 {
		t.Errorf("want the place free again, got %v with %d", err, w.Running())
	}
}

// TestNothingPassesUnrecorded: where the start cannot be written down, there is no tunnel.
func TestNothingPassesUnrecorded(t *testing.T) {
	w := newWorld(t, nil)
	opened, err := w.Open(t.Context(), dana, "w-1", "")
	if err != nil {
		t.Fatal(err)
	}
	w.record.err = errors.New("the store is away")
	near, far := pipe(t)
	if _, err := opened.Run(t.Context(), program{far, make(chan tunnel.Reason, 1)}); err == nil {
		t.Error("want it refused")
	}
	if n, err := near.Read(make([]byte, 1)); n != 0 || err == nil || w.Running() != 0 {
		t.Errorf("want the connection closed and the place given back, got %d %v", n, err)
	}
}

// TestEachEndHasWords in every language: a missing one would be its own name.
func TestEachEndHasWords(t *testing.T) {
	bundle, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range i18n.Languages {
		for _, r := range tunnel.Reasons() {
			if words := bundle.For(lang.String()).Say(tunnel.End{Reason: r}.Words()); strings.Contains(words, "tunnel.") {
				t.Errorf("%s: %s", lang, words)
			}
		}
	}
}
