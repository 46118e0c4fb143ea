package main

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // the driver

	"github.com/gpu-portal/gpu-portal/internal/app"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

var update = flag.Bool("update", false, "write testdata anew; read the difference with care")

// noon is when everything happens.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// portal is a real one on SQLite, with a cluster that does not answer.
type portal struct {
	t        *testing.T
	url      string
	tokens   map[string]string // by name
	database string            // file
	next     int
}

const provider = "http://127.0.0.1:1" // nobody is asked there: tokens are the portal's own

// groups of the people by whom it is called.
var groups = map[string]string{"dora": "vision-devs", "otto": "speech-devs", "ada": "approvers"}

func newPortal(t *testing.T) *portal {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	must(t, os.WriteFile(kubeconfig, []byte(nowhere), 0o600))
	c, err := config.Load("", func(string) string { return "" }, func(c *config.Config) {
		c.URL, c.Database = "http://localhost:8080", "sqlite:"+filepath.Join(dir, "portal.db")
		c.OIDC = config.OIDC{Issuer: provider, ClientID: "portal", ClientSecret: "secret"}
		c.Clusters = []config.Cluster{{Name: "main", Kubeconfig: kubeconfig, Access: kube.Access{Snapshots: true}}}
		c.Platform = tenant.Roles{identity.Approver: {"approvers"}}
		quota := map[string]int{"cpu": 10, "h100": 2}
		for _, team := range []string{"vision", "speech"} {
			c.Tenants = append(c.Tenants, tenant.Tenant{Name: team, Quota: quota,
				Groups: map[identity.Role][]string{identity.Developer: {team + "-devs"}}})
		}
		c.Approvals = config.Approvals{Undo: new(catalog.Duration)}
	})
	must(t, err)
	p := &portal{t: t, tokens: map[string]string{}, database: filepath.Join(dir, "portal.db")}
	p.makeTokens(c)
	clock := func() time.Time { return noon }
	portal, err := app.New(t.Context(), c, "test", slog.New(slog.DiscardHandler), app.WithClock(clock),
		app.WithIDs(p.id))
	must(t, err)
	server := httptest.NewServer(portal)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: none}}]
current-context: c
`

func (p *portal) id(prefix string) string { p.next++; return fmt.Sprintf("%s%04d", prefix, p.next) }

// makeTokens is what an operator does before the portal runs.
func (p *portal) makeTokens(c config.Config) {
	p.t.Helper()
	st, err := app.OpenStore(p.t.Context(), c)
	must(p.t, err)
	for who, group := range groups {
		p.tokens[who], err = app.CreateToken(p.t.Context(), st, identity.Person{Issuer: provider, Subject: who,
			Name: strings.ToUpper(who[:1]) + who[1:], Groups: []string{group}}, "test", time.Hour, noon)
		must(p.t, err)
	}
	must(p.t, st.Close())
}

// becomes sets the state of a workload, as the controller would after a look at the cluster.
func (p *portal) becomes(name, state string) {
	p.exec("UPDATE workloads SET state = ? WHERE name = ?", state, name)
}

// bound says of the claim of every volume what the controller says of one that is bound.
func (p *portal) bound() {
	p.exec(`INSERT INTO volume_claims (volume, state, seen_at) SELECT name, '{"phase":"Bound"}', ? FROM volumes WHERE true
		ON CONFLICT (volume) DO NOTHING`, noon.UnixMilli())
}

// taken says of a snapshot what the controller says of one with that status.
func (p *portal) taken(name, state string) {
	p.exec("UPDATE volume_snapshots SET state = ?, seen_at = ? WHERE name = ?", state, noon.UnixMilli(), name)
}

func (p *portal) exec(statement string, args ...any) {
	db, err := sql.Open("sqlite", p.database+"?_pragma=busy_timeout(60000)")
	if err == nil {
		_, err = db.Exec(statement, args...)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		p.t.Error(err)
	}
}

// terminal is a person at a keyboard who calls gpuctl.
type terminal struct {
	t      *testing.T
	dir    string
	env    map[string]string
	typed  string // what is answered to questions
	pasted string // the token that is pasted
	person bool
}

func newTerminal(t *testing.T) *terminal {
	return &terminal{t: t, dir: filepath.Join(t.TempDir(), "gpuctl"), env: map[string]string{}, person: true}
}

// signedIn is a terminal of somebody with a token.
func (p *portal) signedIn(who string) *terminal {
	p.t.Helper()
	term := newTerminal(p.t)
	term.env["GPUCTL_URL"], term.env["GPUCTL_TOKEN"] = p.url, p.tokens[who]
	return term
}

// screen is what a command wrote.
type screen struct {
	code     int
	out, err string
}

// written is read while a command still writes.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
	on   func(all string)
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.text.Write(p)
	if w.on != nil {
		w.on(w.text.String())
	}
	return n, err
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (term *terminal) run(args ...string) screen { return term.watch(nil, args...) }

// watch runs a command and is told of what it writes for people.
func (term *terminal) watch(on func(all string), args ...string) screen {
	var out bytes.Buffer
	said := &written{on: on}
	c := &cli{in: strings.NewReader(term.typed), out: &out, err: said, zone: time.UTC, every: time.Millisecond,
		getenv: func(name string) string { return term.env[name] }, home: func() (string, error) { return term.dir, nil },
		interactive: func() bool { return term.person },
		secret:      func(string, io.Writer) (string, error) { return term.pasted, nil }}
	code := c.run(term.t.Context(), args)
	return screen{code, out.String(), said.text.String()}
}

// ok insists that a command works, and gives its output.
func (term *terminal) ok(args ...string) string {
	term.t.Helper()
	s := term.run(args...)
	if s.code != done {
		term.t.Fatalf("gpuctl %s: want it done, got %d %s", strings.Join(args, " "), s.code, s.err)
	}
	return s.out
}

// fails insists on an exit code, and on words in what is said.
func (term *terminal) fails(code int, words string, args ...string) {
	term.t.Helper()
	s := term.run(args...)
	if s.code != code || !strings.Contains(s.err, words) {
		term.t.Errorf("gpuctl %s: want %d with %q, got %d %s", strings.Join(args, " "), code, words, s.code, s.err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// volatile is what differs from run to run.
var volatile = regexp.MustCompile(`http://127\.0\.0\.1:\d+|urn:gpu-portal:request:\w+`)

// golden compares what commands wrote with a file.
func golden(t *testing.T, name string, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	got = volatile.ReplaceAllStringFunc(got, func(s string) string {
		if strings.HasPrefix(s, "urn") {
			return "urn:gpu-portal:request:ID"
		}
		return "http://PORTAL"
	})
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update writes it anew):\n%s", file, diff)
	}
}
