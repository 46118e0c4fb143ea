package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// world is a whole portal on SQLite with a working sign-in provider and a cluster that does not answer: two teams and a
// third that is disabled.
type world struct {
	*App
	t        *testing.T
	url      string
	provider *oidctest.Provider
	chooser  *http.Client // with which people reach the provider
	log      *lockedBuffer
	clock    *clock
	number   int
}

// clock is the machine's time plus what a test lets pass.
type clock struct {
	mu sync.Mutex
	on time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.on)
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on += d
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// The people, by subject.
const (
	developer = "developer" // of vision
	other     = "other"     // a developer of speech
	owner     = "owner"     // of vision
	approver  = "approver"
	admin     = "admin"
	auditor   = "auditor"
	closed    = "closed" // a developer of the disabled team
	both      = "both"   // an approver who is a developer of vision too

	member   = "member"   // another developer of vision
	disabled = "disabled" // a developer of vision who was shut out after their sign-in
)

// besides are people whom the provider does not offer: they have signed in before.
var besides = []oidctest.User{
	{Subject: member, Name: "Mia Member", Email: "mia@example.org", Groups: []string{"vision-devs"}},
	{Subject: disabled, Name: "Dan Disabled", Email: "dan@example.org", Groups: []string{"vision-devs"}},
}

var everybody = []oidctest.User{
	{Subject: developer, Name: "Dora Dev", Email: "dora@example.org", Groups: []string{"vision-devs"}},
	{Subject: other, Name: "Otto Other", Email: "otto@example.org", Groups: []string{"speech-devs"}},
	{Subject: owner, Name: "Olga Owner", Email: "olga@example.org", Groups: []string{"vision-owners"}},
	{Subject: approver, Name: "Ada Approver", Email: "ada@example.org", Groups: []string{"approvers"}},
	{Subject: admin, Name: "Adam Admin", Email: "adam@example.org", Groups: []string{"admins"}},
	{Subject: auditor, Name: "Audrey Auditor", Email: "audrey@example.org", Groups: []string{"auditors"}},
	{Subject: closed, Name: "Clara Closed", Email: "clara@example.org", Groups: []string{"closed-devs"}},
	{Subject: both, Name: "Bo Both", Email: "bo@example.org", Groups: []string{"vision-devs", "approvers"}},
}

var quota = map[string]int{"cpu": 1000, "mig-1g.10gb": 7, "vgpu-12q": 100, "h100": 1000}

// newWorld starts a portal. Changes may alter its settings. Tests with worlds of their own run side by side.
func newWorld(t *testing.T, changes ...func(*config.Config)) *world {
	t.Helper()
	return newWorldWith(t, nil, changes...)
}

// leftToMakeTest skips what starts a whole portal when tests are to be short, as in make check: 160 of them take
// minutes. The one that is left is what a new service fails first.
func leftToMakeTest(t *testing.T) {
	t.Helper()
	if testing.Short() && t.Name() != "TestNobodyGetsNothing" {
		t.Skip("starts a whole portal: make test runs it")
	}
}

// newWorldWith is newWorld with options beside the clock.
func newWorldWith(t *testing.T, options []Option, changes ...func(*config.Config)) *world {
	t.Helper()
	leftToMakeTest(t)
	t.Parallel()
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, log: &lockedBuffer{}, clock: &clock{}, chooser: http.DefaultClient}
	w.url = fmt.Sprintf("http://localhost:%d", listener.Addr().(*net.TCPAddr).Port)
	w.provider = oidctest.Start(t, oidctest.Options{Users: everybody, Now: w.clock.now})
	c := w.config(dir, listener.Addr().String())
	for _, change := range changes {
		change(&c)
	}
	c, err = config.Load("", func(string) string { return "" }, func(defaults *config.Config) { *defaults = c })
	if err != nil {
		t.Fatal(err)
	}
	logger := logging.New(w.log, logging.Text, slog.LevelDebug)
	if w.App, err = New(t.Context(), c, "test", logger, append(options, WithClock(w.clock.now))...); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) config(dir, listen string) config.Config {
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(nowhere), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return config.Config{
		Listen: listen, URL: w.url, Database: "sqlite:" + filepath.Join(dir, "portal.db"),
		OIDC: config.OIDC{Issuer: w.provider.Issuer(), ClientID: w.provider.ClientID(),
			ClientSecret: w.provider.ClientSecret()},
		Clusters: []config.Cluster{{Name: "main", Kubeconfig: kubeconfig, Prometheus: "http://127.0.0.1:1",
			Access:        kube.Access{Snapshots: true},
			SharedStorage: []workload.Class{{Name: "nfs", Access: workload.ManyNodes}}}},
		Platform: tenant.Roles{identity.Approver: {"approvers"}, identity.Admin: {"admins"}, identity.Auditor: {"auditors"}},
		Tenants: []tenant.Tenant{
			{Name: "vision", Title: "Vision", Quota: quota,
				Groups: map[identity.Role][]string{identity.Developer: {"vision-devs"}, identity.Owner: {"vision-owners"}}},
			{Name: "speech", Quota: quota, Groups: map[identity.Role][]string{identity.Developer: {"speech-devs"}}},
			{Name: "closed", Quota: quota, Disabled: true,
				Groups: map[identity.Role][]string{identity.Developer: {"closed-devs"}}},
		},
		Approvals:  config.Approvals{Undo: new(catalog.Duration)}, // decisions take effect at once
		Terminal:   config.Terminal{Enabled: true, Files: true, FileGiB: 1, PerPerson: 5, Most: 100},
		Tunnel:     config.Tunnel{Enabled: true, PerPerson: 5, Most: 100, MaxGiB: 1},
		Embed:      config.Embed{AllowedOrigins: []string{"https://grafana.example.org"}},
		TeamImages: []string{"registry.example.org/{team}/*"},
		LicensePools: []license.Pool{{Name: "nvidia-vws", Title: "NVIDIA vWS", Feature: "NVIDIA RTX Virtual Workstation",
			Seats: 5}},
	}
}

// nowhere is a cluster where nothing listens.
const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: canary-kubeconfig-token}}]
current-context: c
`

// person is somebody as the provider would tell of them.
func (w *world) person(subject string) identity.Person {
	for _, u := range slices.Concat(everybody, besides) {
		if u.Subject == subject {
			return identity.Person{ID: identity.NewPersonID(w.provider.Issuer(), u.Subject), Issuer: w.provider.Issuer(),
				Subject: u.Subject, Name: u.Name, Email: u.Email, Groups: u.Groups, SeenAt: w.clock.now()}
		}
	}
	w.t.Fatalf("nobody is called %s", subject)
	return identity.Person{}
}

func (w *world) actorOf(subject string) identity.Actor {
	return w.actor(w.person(subject), identity.ViaToken)
}

// token makes an API token.
func (w *world) token(subject string) string {
	w.t.Helper()
	text, err := CreateToken(w.t.Context(), w.store, w.person(subject), "test", time.Hour, w.clock.now())
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// disable shuts somebody out in the store, as the administrator does on the page.
func (w *world) disable(subject string) {
	w.t.Helper()
	event := audit.By(w.actorOf(admin), audit.PersonDisabled, w.clock.now())
	if err := w.store.Disable(w.t.Context(), w.person(subject).ID, "has left", event); err != nil {
		w.t.Fatal(err)
	}
}

// next is a fresh number, for names that must differ.
func (w *world) next() int { w.number++; return w.number }

// running puts a workload with storage into the database as if it ran.
func (w *world) running(subject, team string) workload.Workload {
	w.t.Helper()
	p, now, name := w.person(subject), w.clock.now(), fmt.Sprintf("nb-%s-%d", subject, w.next())
	size, _ := w.offer.Catalog().Size("cpu")
	image, _ := w.offer.Catalog().Image("jupyterlab")
	item := workload.Workload{ID: workload.ID(newID("w-")), Name: name, Kind: catalog.Notebook, Tenant: team, Owner: p.ID,
		OwnerName: p.Name, Size: size, Image: image,
		Cluster: "main", Namespace: "gpu-" + team, Volume: name + "-home", StorageGiB: 10, Desired: workload.WantRunning,
		Generation: 1, State: workload.Running,
		Lease: workload.Lease{From: now, Until: now.Add(4 * time.Hour)}, CreatedAt: now, UpdatedAt: now}
	w.save(func(tx request.Tx) error {
		if err := tx.SaveWorkload(w.t.Context(), item); err != nil {
			return err
		}
		return tx.SaveVolume(w.t.Context(), volumeOf(item, item.ID))
	})
	return item
}

// delegated lets somebody decide in another's place from ten days on, whatever rights that person has.
func (w *world) delegated(subject, stand string) delegation.Delegation {
	w.t.Helper()
	person, other, now := w.person(subject), w.person(stand), w.clock.now()
	for _, p := range []identity.Person{person, other} {
		if err := w.store.SavePerson(w.t.Context(), p); err != nil {
			w.t.Fatal(err)
		}
	}
	p := delegation.Delegation{ID: newID("i-"), Person: person.ID, Delegate: other.ID, From: now.AddDate(0, 0, 10),
		Until: now.AddDate(0, 0, 11), CreatedAt: now}
	if err := w.store.CreateDelegation(w.t.Context(), p, audit.By(identity.Actor{Person: person}, audit.DelegationCreated,
		now)); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// unusedVolume is storage that nobody uses.
func (w *world) unusedVolume(subject, team string) workload.Volume {
	w.t.Helper()
	p, now := w.person(subject), w.clock.now()
	v := workload.Volume{Name: fmt.Sprintf("kept-%s-%d", subject, w.next()), Tenant: team, Owner: p.ID, OwnerName: p.Name,
		Cluster: "main", Namespace: "gpu-" + team, GiB: 10,
		CreatedAt: now, UpdatedAt: now}
	w.save(func(tx request.Tx) error { return tx.SaveVolume(w.t.Context(), v) })
	return v
}

func volumeOf(item workload.Workload, by workload.ID) workload.Volume {
	return workload.Volume{Name: item.Volume, Tenant: item.Tenant, Owner: item.Owner, OwnerName: item.OwnerName,
		Cluster: item.Cluster, Namespace: item.Namespace,
		GiB: item.StorageGiB, Workload: by, CreatedAt: item.CreatedAt, UpdatedAt: item.CreatedAt}
}

// pending is a request for a whole GPU, which waits for an approver.
func (w *world) pending(subject, team string) request.Request {
	w.t.Helper()
	r, err := w.requests.Requests.Submit(w.t.Context(), w.actorOf(subject), request.Draft{Kind: catalog.Notebook,
		Tenant: team,
		Size:   "h100", Image: "jupyterlab", Reason: "training",
		Name: fmt.Sprintf("big-%s-%d", subject, w.next())})
	if err != nil {
		w.t.Fatal(err)
	}
	if r.State != request.Pending {
		w.t.Fatalf("want a request that waits, got %s", r.State)
	}
	return r
}

func (w *world) save(fn func(request.Tx) error) {
	w.t.Helper()
	if err := w.store.DecideExclusively(w.t.Context(), fn); err != nil {
		w.t.Fatal(err)
	}
}

// events is the whole audit record, oldest first.
func (w *world) events(kinds ...audit.Kind) []audit.Event {
	w.t.Helper()
	var all []audit.Event
	cursor := ""
	for {
		page, next, err := w.store.Events(w.t.Context(), audit.Filter{Kinds: kinds, Cursor: cursor, Limit: 500})
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, page...)
		if cursor = next; next == "" {
			return all
		}
	}
}

// browser keeps cookies, follows nothing, and tells what a browser tells.
type browser struct {
	w       *world
	client  *http.Client
	cookies map[string]*http.Cookie
	headers map[string]string // on each call; an empty value takes a header away
}

func (w *world) browser() *browser {
	b := &browser{w: w, cookies: map[string]*http.Cookie{}, headers: map[string]string{}}
	b.client = &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return b
}

// signedIn is a browser with a session. It is the short way: the long one is signIn.
func (w *world) signedIn(subject string) *browser {
	w.t.Helper()
	p, now, credential := w.person(subject), w.clock.now(), identity.NewCredential()
	p.SeenAt = now
	if err := w.store.SavePerson(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
	session := identity.Session{ID: credential.ID, SecretHash: credential.Hash(), Person: p.ID, CreatedAt: now,
		SeenAt: now, EndsAt: now.Add(24 * time.Hour)}
	if err := w.store.CreateSession(w.t.Context(), session); err != nil {
		w.t.Fatal(err)
	}
	b := w.browser()
	b.cookies[edge.Session] = &http.Cookie{Name: edge.Session, Value: credential.String()}
	return b
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) page(t *testing.T) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func (b *browser) get(path string) answer { return b.do(http.MethodGet, path, nil) }

func (b *browser) post(path string, form url.Values) answer {
	return b.do(http.MethodPost, path, form)
}

func (b *browser) do(method, path string, form url.Values) answer {
	b.w.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequest(method, b.w.url+path, body)
	if err != nil {
		b.w.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if method != http.MethodGet {
		r.Header.Set("Origin", b.w.url)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for name, value := range b.headers {
		r.Header.Set(name, value)
		if value == "" {
			r.Header.Del(name)
		}
	}
	for _, cookie := range b.cookies {
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
	}
	reply, err := b.client.Do(r)
	if err != nil {
		b.w.t.Fatal(err)
	}
	for _, cookie := range reply.Cookies() {
		b.cookies[cookie.Name] = cookie
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		}
	}
	return read(b.w.t, reply)
}

// read takes the whole answer, or the head of a stream.
func read(t *testing.T, reply *http.Response) answer {
	t.Helper()
	defer reply.Body.Close()
	a := answer{status: reply.StatusCode, header: reply.Header}
	if reply.Header.Get("Content-Type") == "text/event-stream" {
		return a
	}
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	a.body = string(text)
	return a
}

// signIn goes the whole way: the form, the provider, and back.
func (b *browser) signIn(subject string) answer {
	b.w.t.Helper()
	return b.comeBack(b.wayToProvider(), subject)
}

// wayToProvider begins a sign-in and gives the provider's address.
func (b *browser) wayToProvider() string {
	b.w.t.Helper()
	left := b.post("/signin", url.Values{"return": {"/storage"}})
	target, ok := left.page(b.w.t).Find("main a").Attr("href")
	if !ok {
		b.w.t.Fatalf("no way to the provider: %d %s", left.status, left.body)
	}
	return target
}

// comeBack chooses a person at the provider and brings its answer.
func (b *browser) comeBack(target, subject string) answer {
	b.w.t.Helper()
	back, err := oidctest.Choose(b.w.chooser, target, subject)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return b.get(back.RequestURI())
}

func (b *browser) session() string {
	if c := b.cookies[edge.Session]; c != nil {
		return c.Value
	}
	return ""
}

// call is an API call with a bearer token ("" for none); body is marshalled unless it is text.
func (w *world) call(token, method, path string, body any, headers ...string) answer {
	w.t.Helper()
	reply, err := w.send(token, method, path, body, headers...)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

func (w *world) send(token, method, path string, body any, headers ...string) (answer, error) {
	var reader io.Reader
	switch v := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(v)
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return answer{}, err
		}
		reader = bytes.NewReader(data)
	}
	r, err := http.NewRequest(method, w.url+path, reader)
	if err != nil {
		return answer{}, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	reply, err := noRedirect.Do(r)
	if err != nil {
		return answer{}, err
	}
	return read(w.t, reply), nil
}

var noRedirect = &http.Client{Timeout: time.Minute,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// json reads an answer's body.
func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	return v
}
