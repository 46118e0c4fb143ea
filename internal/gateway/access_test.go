package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestWithoutASession(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		method  string
		headers []string
		want    int
	}{
		"a page":              {http.MethodGet, navigation, http.StatusSeeOther},
		"a page, old browser": {http.MethodGet, []string{"Accept", "text/html,*/*"}, http.StatusSeeOther},
		"fetch": {http.MethodGet, []string{"Sec-Fetch-Mode", "cors", "Accept", "text/html"},
			http.StatusUnauthorized},
		"a program": {http.MethodGet, nil, http.StatusUnauthorized},
		"a form":    {http.MethodPost, navigation, http.StatusUnauthorized},
		"a preflight": {http.MethodOptions, []string{"Origin", "http://x.test", "Access-Control-Request-Method",
			"POST"}, http.StatusUnauthorized},
		"a websocket": {http.MethodGet, with(navigation, "Upgrade", "websocket", "Connection", "Upgrade"),
			http.StatusUnauthorized},
		"a cookie that is none": {http.MethodGet, []string{"Cookie", edge.Workload + "=x"}, http.StatusUnauthorized},
		"a cookie by guess": {http.MethodGet, []string{"Cookie", edge.Workload + "=" + annaPortal + ".secret"},
			http.StatusUnauthorized},
		"a token of a person": {http.MethodGet, []string{"Authorization", "Bearer gpup_x.y"}, http.StatusUnauthorized},
		"a key that is none":  {http.MethodGet, []string{"Authorization", "Bearer gpk_x.y"}, http.StatusUnauthorized},
		"an unknown key": {http.MethodGet, []string{"Authorization", "Bearer gpk_aaaaaaaa.y"},
			http.StatusUnauthorized},
		"somebody else's bearer": {http.MethodGet, []string{"Authorization", "Bearer " + podSecret}, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			var bodies []string
			for _, host := range []string{"nb-anna", "ep-anna", "nb-nobody"} {
				res := w.call(c.method, host, "/", nil, c.headers...)
				if res.StatusCode != c.want {
					t.Errorf("%s: want %d, got %d", host, c.want, res.StatusCode)
				}
				if c.want == http.StatusUnauthorized && res.Header.Get("Content-Type") != "application/problem+json" {
					t.Errorf("%s: want a problem, got %s", host, res.Header.Get("Content-Type"))
				}
				bodies = append(bodies, text(t, res))
			}
			if bodies[0] != bodies[1] || bodies[1] != bodies[2] {
				t.Errorf("what exists and what does not must look alike: %q", bodies)
			}
		})
	}
	if d := w.dials(); len(d) != 0 {
		t.Errorf("want no pod called, got %v", d)
	}
}

// T-ORIGIN-4: a cookie opens one host.
func TestCookieOfOneWorkloadAtAnother(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	var bodies []string
	for _, host := range []string{"nb-other", "nb-jonas", "ep-anna", "nb-nobody"} {
		res := w.get(host, "/", "Cookie", cookie)
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: want 401, got %d", host, res.StatusCode)
		}
		bodies = append(bodies, text(t, res))
	}
	for _, b := range bodies {
		if b != bodies[0] {
			t.Errorf("want the same answer for each, got %q", bodies)
		}
	}
	credential, _ := identity.ParseCredential(strings.TrimPrefix(cookie, edge.Workload+"="))
	if res := w.get("nb-anna", "/", "Cookie", edge.Workload+"="+credential.ID+
		".wrong"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("want the id without the secret refused while the real one is known, got %d", res.StatusCode)
	}
	if d := w.dials(); len(d) != 0 {
		t.Errorf("want no pod called, got %v", d)
	}
}

// What ends access, and what each end looks like for a call that comes after it.
var ends = map[string]struct {
	do   func(w *world)
	want int
}{
	"sign-out": {func(w *world) { _ = w.EndSession(context.Background(), annaPortal) },
		http.StatusUnauthorized},
	"the portal session's end":  {func(w *world) { w.pass(101 * time.Hour) }, http.StatusUnauthorized},
	"the gateway session's end": {func(w *world) { w.pass(13 * time.Hour) }, http.StatusUnauthorized},
	"disabled": {func(w *world) {
		w.mu.Lock()
		defer w.mu.Unlock()
		a := w.actors["anna"]
		a.Person.Disabled = true
		w.actors["anna"] = a
	}, http.StatusUnauthorized},
	"the person is gone": {func(w *world) {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.actors, "anna")
	}, http.StatusUnauthorized},
	"given to somebody else": {func(w *world) { w.change("nb-anna", func(wl *workload.Workload) { wl.Owner = "jonas" }) },
		http.StatusNotFound},
	"stopped": {func(w *world) {
		w.change("nb-anna", func(wl *workload.Workload) { wl.Desired, wl.State = workload.WantStopped, workload.Stopping })
	}, http.StatusServiceUnavailable},
	"ended": {func(w *world) { w.change("nb-anna", func(wl *workload.Workload) { wl.State = workload.Ended }) },
		http.StatusNotFound},
	"a job, which answers nowhere": {func(w *world) {
		w.change("nb-anna", func(wl *workload.Workload) { wl.Kind, wl.State = catalog.Job, workload.Succeeded })
	}, http.StatusNotFound},
	"crashed": {func(w *world) { w.change("nb-anna", func(wl *workload.Workload) { wl.State = workload.Failed }) },
		http.StatusServiceUnavailable},
	"moved on": {func(w *world) {
		w.change("nb-anna", func(wl *workload.Workload) { wl.Observed.Pod, wl.Observed.PodIP = "nb-anna-1", "10.64.0.6" })
	}, http.StatusOK},
}

// T-SESS-1: whatever ends access closes open websockets and streams. The interval is 50 ms here and 2 s in life, with a
// bound of 5 s.
func TestOpenConnectionsEndWithAccess(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cookie := w.signIn(annaPortal, "nb-anna")
			socket := w.mustDial("nb-anna", cookie)
			if got, err := w.echo(socket, "hello"); err != nil || got != "hello" {
				t.Fatalf("want an echo, got %q, %v", got, err)
			}
			stream := w.get("nb-anna", "/stream", "Cookie", cookie)
			if _, err := io.ReadFull(stream.Body, make([]byte, 9)); err != nil {
				t.Fatal(err)
			}
			w.rechecked("the connections", 4)
			if w.gw.Open() != 2 {
				t.Fatalf("want both still open after some rechecks, got %d", w.gw.Open())
			}
			end.do(w)
			begun := time.Now()
			if _, _, err := socket.Read(t.Context()); err == nil {
				t.Error("want the websocket closed")
			}
			if _, err := io.Copy(io.Discard, stream.Body); err == nil {
				t.Error("want the stream broken off")
			}
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("took %s", took)
			}
			if res := w.get("nb-anna", "/", "Cookie", cookie); res.StatusCode != end.want {
				t.Errorf("want %d afterwards, got %d", end.want, res.StatusCode)
			}
			waitFor(t, "nothing open any more", func() bool { return w.gw.Open() == 0 })
		})
	}
}

func TestSharingAndTakingItBack(t *testing.T) {
	w := newWorld(t)
	w.change("nb-anna", func(wl *workload.Workload) { wl.Grants = withTheTeam })
	cookie := w.signIn(jonasPortal, "nb-anna")
	socket := w.mustDial("nb-anna", cookie)
	anna := w.mustDial("nb-anna", w.signIn(annaPortal, "nb-anna"))
	w.change("nb-anna", func(wl *workload.Workload) { wl.Grants = nil })
	if _, _, err := socket.Read(t.Context()); err == nil {
		t.Error("want the colleague's websocket closed")
	}
	if got, err := w.echo(anna, "still here"); err != nil || got != "still here" {
		t.Errorf("want the owner's open, got %q, %v", got, err)
	}
	denied := text(t, w.get("nb-anna", "/", with(navigation, "Cookie", cookie)...))
	unknown := text(t, w.get("nb-anna", "/.gpu-portal/x", navigation...))
	if denied != unknown || !strings.Contains(denied, "Nothing to open here") {
		t.Errorf("want one page for both, got %q and %q", denied, unknown)
	}
}

// A browser that does not read cannot keep its connection by that.
func TestABrowserThatDoesNotReadIsClosedToo(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /flood HTTP/1.1\r\nHost: nb-anna.apps.test\r\nCookie: "+cookie+"\r\n\r\n")
	last := int64(-1)
	waitFor(t, "the flood to be held up by who does not read", func() bool {
		held := last == flooded.Load() && last > 0
		last = flooded.Load()
		return held && w.gw.Open() == 1
	})
	_ = w.EndSession(t.Context(), annaPortal)
	waitFor(t, "nothing open any more", func() bool { return w.gw.Open() == 0 })
}

func TestWakeAsksAtOnce(t *testing.T) {
	w := newWorld(t, func(o *Options, _ *PodsOptions) { o.Recheck = time.Hour })
	cookie := w.signIn(annaPortal, "nb-anna")
	socket := w.mustDial("nb-anna", cookie)
	_ = w.EndSession(t.Context(), annaPortal)
	w.gw.Wake(t.Context())
	if _, _, err := socket.Read(t.Context()); err == nil {
		t.Error("want the websocket closed")
	}
	if res := w.get("nb-anna", "/", "Cookie", cookie); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("want no earlier answer to hold, got %d", res.StatusCode)
	}
}

func TestIdlePortalSession(t *testing.T) {
	w := newWorld(t, func(o *Options, _ *PodsOptions) { o.Idle = time.Hour })
	cookie := w.signIn(annaPortal, "nb-anna")
	if res := w.get("nb-anna", "/", "Cookie", cookie); res.StatusCode != http.StatusOK {
		t.Fatalf("want it open, got %d", res.StatusCode)
	}
	w.pass(time.Hour)
	if res := w.get("nb-anna", "/", "Cookie", cookie); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("want it over, got %d", res.StatusCode)
	}
}

// A database that is away fails closed for new calls; open connections get a short grace, since nobody can sign out
// meanwhile.
func TestDatabaseAway(t *testing.T) {
	w := newWorld(t, func(o *Options, _ *PodsOptions) { o.Grace = 3 * time.Second })
	cookie := w.signIn(annaPortal, "nb-anna")
	socket := w.mustDial("nb-anna", cookie)
	w.fail(fault.New(fault.Unavailable, i18n.Literal("away")))
	w.rechecked("the websocket", 1)
	res := w.get("nb-anna", "/", "Cookie", cookie)
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("want 503 for now, got %d", res.StatusCode)
	}
	if got, err := w.echo(socket, "grace"); err != nil || got != "grace" {
		t.Errorf("want the open one kept for a while, got %q, %v", got, err)
	}
	if _, _, err := socket.Read(t.Context()); err == nil {
		t.Error("want it closed in the end")
	}
	w.fail(errors.New("anything else"))
	if res := w.get("nb-anna", "/", navigation...); res.StatusCode != http.StatusSeeOther {
		t.Errorf("want the way in shown without the database, got %d", res.StatusCode)
	}
	w.fail(nil)
	if res := w.get("nb-anna", "/", "Cookie", cookie); res.StatusCode != http.StatusOK {
		t.Errorf("want it back, got %d", res.StatusCode)
	}
}

func TestAnswersHoldForTheInterval(t *testing.T) {
	w := newWorld(t, func(o *Options, _ *PodsOptions) { o.Recheck = time.Hour })
	cookie := w.signIn(annaPortal, "nb-anna")
	w.get("nb-anna", "/", "Cookie", cookie)
	before := w.asked.Load()
	for range 100 {
		w.get("nb-anna", "/", "Cookie", cookie)
	}
	if n := w.asked.Load() - before; n != 0 {
		t.Errorf("want no question while an answer holds, got %d", n)
	}
}

func TestTooManyConnections(t *testing.T) {
	w := newWorld(t, func(o *Options, _ *PodsOptions) { o.MaxConnections = 3 })
	one, two := w.signIn(annaPortal, "nb-anna"), w.signIn(annaPortal, "nb-anna")
	var sockets []*websocket.Conn
	for _, cookie := range []string{one, two, one} {
		sockets = append(sockets, w.mustDial("nb-anna", cookie))
	}
	res := w.get("nb-anna", "/", "Cookie", two)
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("want 429 over the limit, whichever session it is, got %d", res.StatusCode)
	}
	if res := w.get("nb-other", "/", "Cookie", w.signIn(annaPortal, "nb-other")); res.StatusCode != http.StatusOK {
		t.Errorf("want another workload untouched, got %d", res.StatusCode)
	}
	_ = sockets[0].CloseNow()
	waitFor(t, "room again", func() bool { return w.get("nb-anna", "/", "Cookie", two).StatusCode == http.StatusOK })
}

func TestCloseEndsEverything(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	socket := w.mustDial("nb-anna", cookie)
	stream := w.get("nb-anna", "/stream", "Cookie", cookie)
	w.gw.Close()
	if _, _, err := socket.Read(t.Context()); err == nil {
		t.Error("want the websocket closed")
	}
	if _, err := io.Copy(io.Discard, stream.Body); err == nil {
		t.Error("want the stream broken off")
	}
}

// Nothing is left behind when everybody has gone.
func TestTheWatchEnds(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	w.get("nb-anna", "/", "Cookie", cookie)
	waitFor(t, "the watch to end", func() bool {
		w.gw.watcher.Lock()
		defer w.gw.watcher.Unlock()
		return !w.gw.watched && w.gw.passes.empty()
	})
	socket := w.mustDial("nb-anna", cookie)
	_ = w.EndSession(t.Context(), annaPortal)
	if _, _, err := socket.Read(t.Context()); err == nil {
		t.Error("want the watch to have begun again")
	}
}

// rechecked waits until the gateway has asked the database so many times more: open connections are looked at again
// every Recheck.
func (w *world) rechecked(what string, questions int64) {
	w.t.Helper()
	before := w.asked.Load()
	waitFor(w.t, "another look at "+what, func() bool { return w.asked.Load() >= before+questions })
}

var waitFor = waittest.For
