package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// world is a portal in small: people, workloads, sessions, one pod that stands for all, and a gateway before it.
type world struct {
	t  testing.TB
	gw *Gateway

	server *httptest.Server // the gateway
	pod    *httptest.Server // every pod address leads here
	client *http.Client     // every host name leads to the gateway; follows no redirects

	mu        sync.Mutex
	now       time.Time // zero: the real time
	workloads map[string]workload.Workload
	actors    map[identity.PersonID]identity.Actor
	sessions  map[string]identity.Session
	codes     map[string]code
	keys      map[string]endpointkey.Key
	taken     []endpointkey.Traffic
	failing   error // of the database
	dialled   []string
	asked     atomic.Int64 // questions to the database
}

type code struct {
	session, workload string
	expires           time.Time
}

const (
	portalURL   = "http://portal.test"
	podSecret   = "pod-secret-of-nb-anna"
	annaPortal  = "anna-portal-session"
	jonasPortal = "jonas-portal-session"
)

// newWorld: anna owns the notebooks nb-anna and nb-other and the endpoint ep-anna in tenant red, where jonas is a
// developer too; nb-jonas is his.
func newWorld(t testing.TB, change ...func(*Options, *PodsOptions)) *world {
	w := &world{
		t: t, workloads: map[string]workload.Workload{}, actors: map[identity.PersonID]identity.Actor{},
		sessions: map[string]identity.Session{},
		codes:    map[string]code{}, keys: map[string]endpointkey.Key{},
	}
	for _, p := range []identity.PersonID{"anna", "jonas"} {
		w.actors[p] = identity.Actor{Person: identity.Person{ID: p},
			Tenants: map[string][]identity.Role{"red": {identity.Developer}}, Via: identity.ViaSession}
	}
	w.actors["eve"] = identity.Actor{Person: identity.Person{ID: "eve"},
		Tenants: map[string][]identity.Role{"blue": {identity.Developer}}, Via: identity.ViaSession}
	for id, p := range map[string]identity.PersonID{annaPortal: "anna", jonasPortal: "jonas",
		"eve-portal-session": "eve"} {
		w.sessions[id] = identity.Session{ID: id, Person: p, SeenAt: time.Now(), EndsAt: time.Now().Add(100 * time.Hour)}
	}
	w.put(notebook("nb-anna", "anna"))
	w.put(notebook("nb-other", "anna"))
	w.put(notebook("nb-jonas", "jonas"))
	ep := notebook("ep-anna", "anna")
	ep.Kind, ep.Image.Auth = catalog.Endpoint, "bearer"
	w.put(ep)
	w.pod = httptest.NewServer(http.HandlerFunc(podHandler))
	t.Cleanup(w.pod.Close)

	pods := PodsOptions{Clusters: map[string]Cluster{"c1": {Dialer: w}}, Secrets: w, Now: w.Now}
	opts := Options{
		PortalURL: portalURL, AppsDomain: "apps.test", Workloads: w, Sessions: w, Actors: w, Keys: w, Now: w.Now,
		Recheck: 50 * time.Millisecond,
		Bundle:  bundle(), Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&opts, &pods)
	}
	var err error
	if opts.Pods, err = NewPods(pods); err != nil {
		t.Fatal(err)
	}
	if w.gw, err = New(opts); err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(w.gw)
	t.Cleanup(w.server.Close)
	w.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 64,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", w.server.Listener.Addr().String())
			},
		},
	}
	t.Cleanup(w.client.CloseIdleConnections)
	return w
}

var bundle = sync.OnceValue(i18n.MustLoad)

func notebook(name string, owner identity.PersonID) workload.Workload {
	return workload.Workload{
		ID: workload.ID("w-" + name), Name: name, Kind: catalog.Notebook, Tenant: "red", Owner: owner, Cluster: "c1",
		Namespace: "gpu-red",
		Image:     catalog.Image{Port: 8888, Auth: "token"}, Desired: workload.WantRunning, State: workload.Running,
		Observed: workload.Observation{Ready: true, Pod: name + "-0", PodIP: "10.64.0.5"},
	}
}

func (w *world) put(wl workload.Workload) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wl.Version = w.workloads[wl.Name].Version + 1
	w.workloads[wl.Name] = wl
}

func (w *world) change(name string, f func(*workload.Workload)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wl := w.workloads[name]
	f(&wl)
	wl.Version++
	w.workloads[name] = wl
}

func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = err
}

// pass stops the clock and moves it on.
func (w *world) pass(d time.Duration) {
	now := w.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = now.Add(d)
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now.IsZero() {
		return time.Now()
	}
	return w.now
}

// ask begins every question to the database.
func (w *world) ask() (unlock func(), err error) {
	w.asked.Add(1)
	w.mu.Lock()
	return w.mu.Unlock, w.failing
}

func missing() error { return fault.New(fault.NotFound, i18n.Literal("no such row")) }

func (w *world) WorkloadByName(_ context.Context, name string) (workload.Workload, error) {
	unlock, err := w.ask()
	defer unlock()
	wl, ok := w.workloads[name]
	if err == nil && !ok {
		err = missing()
	}
	return wl, err
}

func (w *world) Workload(_ context.Context, id workload.ID) (workload.Workload, error) {
	unlock, err := w.ask()
	defer unlock()
	if err != nil {
		return workload.Workload{}, err
	}
	for _, wl := range w.workloads {
		if wl.ID == id {
			return wl, nil
		}
	}
	return workload.Workload{}, missing()
}

func (w *world) SaveCode(_ context.Context, hash, session, workloadID string, expires time.Time) error {
	unlock, err := w.ask()
	defer unlock()
	w.codes[hash] = code{session, workloadID, expires}
	return err
}

func (w *world) TakeCode(_ context.Context, hash string, now time.Time) (string, string, error) {
	unlock, err := w.ask()
	defer unlock()
	if err != nil {
		return "", "", err
	}
	c, ok := w.codes[hash]
	delete(w.codes, hash)
	if !ok || !now.Before(c.expires) {
		return "", "", missing()
	}
	return c.session, c.workload, nil
}

func (w *world) CreateSession(_ context.Context, s identity.Session) error {
	unlock, err := w.ask()
	defer unlock()
	w.sessions[s.ID] = s
	return err
}

func (w *world) Session(_ context.Context, id string) (identity.Session, error) {
	unlock, err := w.ask()
	defer unlock()
	s, ok := w.sessions[id]
	if err == nil && !ok {
		err = missing()
	}
	return s, err
}

func (w *world) EndSession(_ context.Context, id string) error {
	unlock, err := w.ask()
	defer unlock()
	delete(w.sessions, id)
	return err
}

func (w *world) Actor(_ context.Context, id identity.PersonID) (identity.Actor, error) {
	unlock, err := w.ask()
	defer unlock()
	a, ok := w.actors[id]
	if err == nil && !ok {
		err = missing()
	}
	return a, err
}

func (w *world) EndpointKey(_ context.Context, id string) (endpointkey.Key, error) {
	unlock, err := w.ask()
	defer unlock()
	k, ok := w.keys[id]
	if err == nil && !ok {
		err = missing()
	}
	return k, err
}

func (w *world) AddKeyTraffic(_ context.Context, list []endpointkey.Traffic) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failing == nil {
		w.taken = append(w.taken, list...)
	}
	return w.failing
}

// Token is the workload's own secret.
func (w *world) Token(wl workload.Workload) string { return "pod-secret-of-" + wl.Name }

// DialContext leads every pod address to the one pod, and writes the address down.
func (w *world) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	w.mu.Unlock()
	if strings.HasPrefix(address, "10.64.9.") {
		return nil, errors.New("connection refused")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", w.pod.Listener.Addr().String())
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.dialled...)
}

// receivedCall is a call as the pod received it.
type receivedCall struct {
	Method, Host, URI string
	Header            http.Header
	Body              int64
}

// flooded counts the blocks that /flood has sent.
var flooded atomic.Int64

// podHandler is a notebook server that tells what it saw.
func podHandler(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ws":
		echoWebSocket(w, r)
	case "/stream", "/v1/stream":
		for i := range 1000 {
			if _, err := fmt.Fprintf(w, "data: %d\n\n", i); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	case "/slow": // an answer of known length, half of which takes its time
		w.Header().Set("Content-Length", "8")
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case "/early": // what of the body is there is answered before the rest comes
		_ = http.NewResponseController(w).EnableFullDuplex()
		begin := make([]byte, 4)
		_, _ = io.ReadFull(r.Body, begin)
		_, _ = w.Write(begin)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.Copy(w, r.Body)
	case "/flood":
		block := make([]byte, 64<<10)
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
			flooded.Add(1)
		}
	case "/cookies":
		for _, line := range r.URL.Query()["set"] {
			w.Header().Add("Set-Cookie", line)
		}
	case "/headers":
		for name, values := range r.URL.Query() {
			w.Header()[name] = values
		}
	case "/hints":
		w.Header().Set("Set-Cookie", edge.Workload+"=evil.evil")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Set-Cookie")
	case "/v1/chat/completions":
		answerChat(w, r)
	case "/break":
		panic(http.ErrAbortHandler)
	case "/redirect":
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
	default:
		n, _ := io.Copy(io.Discard, r.Body)
		_ = json.NewEncoder(w).Encode(receivedCall{r.Method, r.Host, r.RequestURI, r.Header, n})
	}
}

func echoWebSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true,
		Subprotocols: []string{"v1.kernel.websocket.jupyter.org"}})
	if err != nil {
		return
	}
	defer conn.CloseNow() //nolint:errcheck // the test is over
	conn.SetReadLimit(1 << 22)
	for {
		kind, message, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		if string(message) == "headers" {
			message, _ = json.Marshal(r.Header)
		}
		if conn.Write(r.Context(), kind, message) != nil {
			return
		}
	}
}

// call makes one call to a workload's host; headers are pairs.
func (w *world) call(method, name, path string, body io.Reader, headers ...string) *http.Response {
	w.t.Helper()
	return w.callHost(method, name+".apps.test", path, body, headers...)
}

func (w *world) callHost(method, host, path string, body io.Reader, headers ...string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+host+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func (w *world) get(name, path string, headers ...string) *http.Response {
	w.t.Helper()
	return w.call(http.MethodGet, name, path, nil, headers...)
}

var navigation = []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "cross-site",
	"Accept", "text/html"}

func with(headers []string, more ...string) []string {
	return append(append([]string(nil), headers...), more...)
}

// signIn goes the whole way in and gives the Cookie header of the workload's host.
func (w *world) signIn(portalSession, name string) string {
	w.t.Helper()
	state, location := w.toPortal(name, "/lab")
	res := w.get(name, strings.TrimPrefix(w.authorize(portalSession, location), "http://"+name+".apps.test"),
		with(navigation, "Cookie", edge.State+"="+state)...)
	if res.StatusCode != http.StatusSeeOther {
		w.t.Fatalf("want the callback to let in, got %d", res.StatusCode)
	}
	for _, c := range res.Cookies() {
		if c.Name == edge.Workload {
			return c.Name + "=" + c.Value
		}
	}
	w.t.Fatal("want a cookie of the workload")
	return ""
}

// toPortal is the first call without a cookie: it gives the state and the portal's address.
func (w *world) toPortal(name, path string) (state string, location *url.URL) {
	w.t.Helper()
	res := w.get(name, path, navigation...)
	location, err := res.Location()
	if err != nil || res.StatusCode != http.StatusSeeOther {
		w.t.Fatalf("want a way to the portal, got %d, %v", res.StatusCode, err)
	}
	for _, c := range res.Cookies() {
		if c.Name == edge.State {
			return c.Value, location
		}
	}
	w.t.Fatal("want a state cookie")
	return "", nil
}

// authorize is what the portal's page does; it gives the address of the callback.
func (w *world) authorize(portalSession string, location *url.URL) string {
	w.t.Helper()
	q := location.Query()
	a, _ := w.Actor(w.t.Context(), w.sessions[portalSession].Person)
	to, err := w.gw.Authorize(w.t.Context(), a, portalSession, q.Get("workload"), q.Get("return"), q.Get("state"))
	if err != nil {
		w.t.Fatal(err)
	}
	return to
}

// text is the body, without the id of the call: it differs from answer to answer.
func text(t testing.TB, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(body), res.Header.Get("X-Request-Id"), "")
}

func sawOf(t testing.TB, res *http.Response) receivedCall {
	t.Helper()
	var s receivedCall
	if err := json.NewDecoder(res.Body).Decode(&s); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("want the pod's answer, got %d, %v", res.StatusCode, err)
	}
	return s
}

// dial opens a websocket to a workload.
func (w *world) dial(name, cookie string, headers ...string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	if cookie != "" {
		h.Set("Cookie", cookie)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return websocket.Dial(w.t.Context(), "ws://"+name+".apps.test/ws", &websocket.DialOptions{HTTPClient: w.client,
		HTTPHeader: h})
}

func (w *world) mustDial(name, cookie string, headers ...string) *websocket.Conn {
	w.t.Helper()
	conn, _, err := w.dial(name, cookie, headers...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func (w *world) echo(conn *websocket.Conn, message string) (string, error) {
	ctx, stop := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer stop()
	if err := conn.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
		return "", err
	}
	_, got, err := conn.Read(ctx)
	return string(got), err
}

// withTheTeam lets everybody in the team open a workload.
var withTheTeam = []workload.Grant{{ID: "g-team", To: workload.ToTeam, Permission: workload.MayUse}}
