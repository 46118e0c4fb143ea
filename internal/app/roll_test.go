package app

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

// endpoints are the replicas that get calls. As with the endpoints of a Service and the chart's preStop pause, a
// replica is taken off the list, and what was sent to it has its answer, before it is told to stop.
type endpoints struct {
	mu    sync.Mutex
	list  []*portal
	calls map[*portal]int
	turn  int
}

func (e *endpoints) add(p *portal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, p)
}

// remove takes the replica off the list that was added first.
func (e *endpoints) remove() *portal {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.list[0]
	e.list = e.list[1:]
	return p
}

func (e *endpoints) busy(p *portal) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[p] > 0
}

// next takes one in turn; done is to be called when the answer is there.
func (e *endpoints) next() (p *portal, done func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turn++
	p = e.list[e.turn%len(e.list)]
	e.calls[p]++
	return p, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.calls[p]--
	}
}

// send makes one call of any replica.
func (e *endpoints) send(method, path string, body any, headers map[string]string) (answer, error) {
	p, done := e.next()
	defer done()
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	r, err := http.NewRequest(method, p.url()+path, bytes.NewReader(text))
	if err != nil {
		return answer{}, err
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	reply, err := noRedirect.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer reply.Body.Close()
	got, err := io.ReadAll(reply.Body)
	return answer{status: reply.StatusCode, header: reply.Header, body: string(got)}, err
}

// credentials puts somebody's session and token into the database of replicas. The session knows the roles: one that
// does not gets another secret with its first call, and the one from here would end a minute later.
func credentials(t *testing.T, st *store.Store) (session, token map[string]string) {
	t.Helper()
	now, c := time.Now(), identity.NewCredential()
	p := identity.Person{Issuer: "http://127.0.0.1:1", Subject: developer, Name: "Dora Dev", Email: "dora@example.org",
		Groups: []string{"vision-devs"}}
	text, err := CreateToken(t.Context(), st, p, "test", time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.CreateSession(t.Context(), identity.Session{ID: c.ID, SecretHash: c.Hash(),
		Person: identity.NewPersonID(p.Issuer, p.Subject), CreatedAt: now, SeenAt: now,
		EndsAt: now.Add(time.Hour), Roles: identity.RolesHash(identity.Actor{
			Tenants: map[string][]identity.Role{"vision": {identity.Developer}}})}); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"Cookie": edge.Session + "=" + c.String(), "Accept": "text/html"},
		map[string]string{"Authorization": "Bearer " + text, "Content-Type": "application/json"}
}

// TestReplicasAreRolled: T-UPG. Two replicas on one PostgreSQL are replaced one after the other, each twice, while
// clients read and write. Nothing was released, so old and new are of one build; then the database gets what the first
// pod of a next version would do to it, and the replicas of this one go on until they are replaced. Clients see no
// error: reads may be sent again, writes are not. Sessions and tokens go on, streams end whole, and what was
// acknowledged is there once.
func TestReplicasAreRolled(t *testing.T) {
	t.Parallel()
	folder, address := portalFolder(t)
	e := &endpoints{calls: map[*portal]int{}}
	replica := func() {
		p := startPortal(t, folder)
		eventually(t, "a replica is ready", func() bool { return p.countLogLines("the portal is there") == 1 && p.healthy() })
		e.add(p)
	}
	replica()
	replica()
	st, err := store.Open(t.Context(), address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	session, token := credentials(t, st)

	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var reads, again, writes atomic.Int64
	load := func(once func()) {
		group.Go(func() {
			for pace := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; <-pace.C {
				once()
			}
		})
	}
	read := func(path string, headers map[string]string) {
		reads.Add(1)
		for try := 0; ; try++ {
			a, err := e.send(http.MethodGet, path, nil, headers)
			switch {
			case err == nil && a.status == http.StatusOK:
				if cookie := a.header.Get("Set-Cookie"); cookie != "" {
					t.Errorf("GET %s sets a cookie, which nobody takes: %s", path, cookie)
				}
				return
			case try == 3 || err == nil && a.status != http.StatusServiceUnavailable:
				t.Errorf("GET %s: %d %v %s", path, a.status, err, a.body)
				return
			}
			again.Add(1)
		}
	}
	load(func() { read("/storage", session) })
	load(func() { read("/", session) })
	load(func() { read("/api/v1/requests", token) })
	acknowledged := map[string]bool{}
	load(func() {
		a, err := e.send(http.MethodPost, "/api/v1/requests", map[string]any{"kind": "notebook", "tenant": "vision",
			"size": "h100", "image": "jupyterlab", "lease": "1h", "reason": "training",
			"name": fmt.Sprintf("roll-%d", len(acknowledged))}, token)
		var r struct{ ID string }
		if err != nil || a.status != http.StatusCreated || json.Unmarshal([]byte(a.body), &r) != nil {
			t.Errorf("POST: %d %v %s", a.status, err, a.body)
			return
		}
		acknowledged[r.ID] = true
		writes.Add(1)
		a, err = e.send(http.MethodPost, "/api/v1/requests/"+r.ID+"/withdraw", nil, token)
		if err != nil || a.status >= 300 {
			t.Errorf("withdraw %s: %d %v %s", r.ID, a.status, err, a.body)
		}
	})
	for range 4 {
		before := reads.Load()
		p := e.remove()
		eventually(t, "its calls are answered", func() bool { return !e.busy(p) })
		ended := pageStream(t, p, session)
		p.signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("an open page's stream is torn off: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("an open page's stream goes on after SIGTERM")
		}
		select {
		case <-p.ended:
		case <-time.After(2 * time.Minute):
			t.Fatal("it does not stop")
		}
		replica()
		eventually(t, "clients go on", func() bool { return reads.Load() > before+10 })
	}
	migrateFurther(t, address)
	before, written := reads.Load(), writes.Load()
	eventually(t, "clients go on while a newer version has migrated", func() bool {
		return reads.Load() > before+30 && writes.Load() > written+5
	})
	stop()
	group.Wait()
	late := startPortal(t, folder)
	select {
	case <-late.ended:
	case <-time.After(time.Minute):
		t.Error("a replica of this version started on a database of a newer one")
	}
	if late.countLogLines("belongs to a newer version") == 0 {
		t.Error("a replica that may not start does not say why")
	}
	t.Logf("%d reads, %d of them sent again; %d writes", reads.Load(), again.Load(), len(acknowledged))
	if len(acknowledged) < 10 {
		t.Errorf("only %d requests were written", len(acknowledged))
	}
	for id := range acknowledged {
		a, err := e.send(http.MethodGet, "/api/v1/requests/"+id, nil, token)
		if err != nil || a.status != http.StatusOK {
			t.Errorf("acknowledged and lost: %s: %d %v", id, a.status, err)
		}
	}
	if n := e.list[0].countLogLines(tookTheLead) + e.list[1].countLogLines(tookTheLead); n == 0 {
		eventually(t, "one of the new replicas leads", func() bool {
			return e.list[0].countLogLines(tookTheLead)+e.list[1].countLogLines(tookTheLead) > 0
		})
	}
}

// pageStream opens the stream of a page at one replica; the channel tells how it ended.
func pageStream(t *testing.T, p *portal, session map[string]string) <-chan error {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, p.url()+"/live?page=storage", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range session {
		r.Header.Set(name, value)
	}
	answer, err := noRedirect.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("a page's stream: %v %v", answer, err)
	}
	ended := make(chan error, 1)
	go func() {
		defer func() { _ = answer.Body.Close() }()
		_, err := io.Copy(io.Discard, answer.Body)
		ended <- err
	}()
	return ended
}

// migrateFurther does what a migration of the next version may do while this one runs: each table gets a column. One
// table at a time: a transaction that locks two waits for what runs, and that for it.
func migrateFurther(t *testing.T, address string) {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const altered = `SELECT format('ALTER TABLE %I ADD COLUMN of_the_next_version int NOT NULL DEFAULT 0', tablename)
		FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version'`
	rows, err := db.QueryContext(t.Context(), altered)
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{`INSERT INTO goose_db_version (version_id, is_applied)
		SELECT max(version_id) + 1, true FROM goose_db_version`}
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		statements = append(statements, one)
	}
	if err := rows.Err(); err != nil || len(statements) < 20 {
		t.Fatalf("%d tables, %v", len(statements)-1, err)
	}
	for _, one := range statements {
		if _, err := db.ExecContext(t.Context(), one); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
	}
}
