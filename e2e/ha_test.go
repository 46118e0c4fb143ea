package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestHighAvailability: two processes for pages, two controllers, one PostgreSQL. The leader is frozen, another is cut
// off from the database, a process for pages is killed and another cut off. Callers who try again with the same
// Idempotency-Key get each request once, each workload runs as one pod, and the record has each event once. A cluster
// that is added at one process is taken up by all.
func TestHighAvailability(t *testing.T) {
	s := newSite(t)
	pods := countPods(t, spaces("ha")+"vision")
	var asked []string
	asks := func() string {
		t.Helper()
		id := s.starts(fmt.Sprintf("ha-%d", len(asked)))
		asked = append(asked, id)
		return id
	}
	s.runs(asks())

	leader, other := s.leader()
	s.signal(leader, syscall.SIGSTOP)
	s.runs(asks()) // the other one has taken over
	s.signal(leader, syscall.SIGCONT)
	waittest.For(t, "the frozen controller knows that it does not lead", func() bool {
		return said(t, leader,
			leadsNoMore)
	})

	s.cut(other, true)
	s.runs(asks())
	s.cut(other, false)

	s.pages[0].Kill()
	second := asks() // the first address answers nobody
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := s.pages[0].Start(ctx); err != nil {
		t.Fatal(err)
	}
	s.runs(second)

	s.cut(s.pages[1], true)
	third := asks()
	s.runs(third)
	s.cut(s.pages[1], false)
	for _, p := range s.pages {
		if err := p.WaitReady(ctx, "/readyz"); err != nil {
			t.Error(err)
		}
	}

	for _, p := range s.pages { // both tell the same
		if got := items(client{t, p, "dana"}.ok(http.StatusOK, http.MethodGet, "/workloads", nil)); len(got) != len(asked) {
			t.Errorf("want %d workloads, got %d", len(asked), len(got))
		}
	}
	if got := pods(); got != len(asked) {
		t.Errorf("want one pod for each of %d workloads, got %d", len(asked), got)
	}
	for _, id := range asked {
		counts := map[string]int{}
		for _, e := range items(client{t, s.pages[0], "audrey"}.ok(http.StatusOK, http.MethodGet,
			"/audit?workload="+id+"&limit=500", nil)) {
			counts[str(e["kind"])]++
		}
		if counts["workload.created"] != 1 {
			t.Errorf("want each event of %s once, got %v", id, counts)
		}
	}
	s.takesUp(newAnnex(t, "ha"))
	for _, id := range asked {
		client{t, s.pages[1], "dana"}.remove(id)
	}
}

// takesUp: a cluster that is added at one process for pages is taken up by all of them, and by the controllers.
func (s *site) takesUp(a annex) {
	t := s.t
	client{t, s.pages[0], "pat"}.ok(http.StatusCreated, http.MethodPost, "/clusters", a.body)
	for _, p := range s.pages {
		client{t, p, "pat"}.until("/clusters", "the annex answers", 3*time.Minute, func(list map[string]any) bool {
			return slices.ContainsFunc(items(list), func(c map[string]any) bool {
				return c["name"] == "annex" && c["state"] == "reachable"
			})
		})
	}
	dana := client{t, s.pages[1], "dana"}
	id := str(dana.running("cpu", map[string]any{"cluster": "annex", "storage": ""})["id"])
	if w := (client{t, s.pages[0], "dana"}).ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil); w["cluster"] !=
		"annex" || w["state"] != "running" {
		t.Errorf("want it to run on the annex for the other process too, got %v on %v", w["state"], w["cluster"])
	}
}

const tookTheLead, leadsNoMore = "this process leads now", "this process does not lead any more"

// site is a portal of several processes on one PostgreSQL, each with a way to the database of its own.
type site struct {
	t                  *testing.T
	pages, controllers []*stack.Portal
	ways               map[*stack.Portal]*way
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, ways: map[*stack.Portal]*way{}}
	database, err := url.Parse(storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(database.Query().Get("host"), ".s.PGSQL.5432")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("5a", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	one := func(roles ...string) *stack.Portal {
		w := newWay(t, socket)
		p := ownPortal(t, "ha", func(o *stack.PortalOptions) {
			o.Database = fmt.Sprintf("postgres://portal@%s%s?sslmode=disable", w.listener.Addr(), database.Path)
			o.Change = func(c map[string]any) {
				c["roles"], c["secretKeyFile"], c["clusterNetworks"] = roles, key, []string{"127.0.0.0/8"}
			}
		})
		s.ways[p] = w
		return p
	}
	s.pages = []*stack.Portal{one("web", "gateway"), one("web", "gateway")}
	s.controllers = []*stack.Portal{one("controller"), one("controller")}
	return s
}

// starts asks for a notebook, at one address after the other until somebody says yes, and gives its workload.
func (s *site) starts(name string) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"kind": "notebook", "tenant": "vision", "size": "cpu", "image": "jupyterlab",
		"lease": "8h", "name": name, "reason": "high availability"})
	if err != nil {
		s.t.Fatal(err)
	}
	var id, last string
	n := 0
	waittest.For(s.t, "an answer to the request "+name, func() bool {
		p := s.pages[n%len(s.pages)]
		n++
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/api/v1/requests", bytes.NewReader(body))
		if err != nil {
			s.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+p.Tokens["dana"])
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", name)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		last = fmt.Sprint(answer.StatusCode, " ", string(text))
		var request struct{ Workload string }
		if err != nil || answer.StatusCode >= http.StatusInternalServerError {
			return false
		}
		if json.Unmarshal(text, &request) != nil || request.Workload == "" {
			s.t.Fatalf("%s: %s", name, last)
		}
		id = request.Workload
		return true
	})
	return id
}

// runs waits until a workload runs, as either process for pages tells it.
func (s *site) runs(id string) {
	s.t.Helper()
	n := 0
	waittest.For(s.t, id+" to run", func() bool {
		p := s.pages[n%len(s.pages)]
		n++
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/api/v1/workloads/"+id, http.NoBody)
		if err != nil {
			s.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+p.Tokens["dana"])
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		var w struct{ State string }
		return json.NewDecoder(answer.Body).Decode(&w) == nil && w.State == "running"
	})
}

// leader is the controller that leads, beside the other one.
func (s *site) leader() (leads, waits *stack.Portal) {
	s.t.Helper()
	waittest.For(s.t, "a controller leads", func() bool {
		for i, c := range s.controllers {
			if said(s.t, c, tookTheLead) {
				leads, waits = c, s.controllers[1-i]
				return true
			}
		}
		return false
	})
	return leads, waits
}

func (s *site) signal(p *stack.Portal, what syscall.Signal) {
	s.t.Helper()
	if err := p.Signal(what); err != nil {
		s.t.Fatal(err)
	}
}

// cut ends or heals the way of a process to the database.
func (s *site) cut(p *stack.Portal, off bool) { s.ways[p].set(off) }

// said reports whether a process has written a line with the words.
func said(t *testing.T, p *stack.Portal, words string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Dir, "portal.log"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(text, []byte(words))
}

// way leads to a socket. While it is cut nothing comes through and nobody hears of it, as with a network that drops
// packets; what was sent meanwhile arrives when it heals.
type way struct {
	listener net.Listener
	socket   string

	mu     sync.Mutex
	healed *sync.Cond
	off    bool
}

func newWay(t *testing.T, socket string) *way {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{listener: listener, socket: socket}
	w.healed = sync.NewCond(&w.mu)
	t.Cleanup(func() { w.set(false); _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	return w
}

func (w *way) set(off bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = off
	w.healed.Broadcast()
}

func (w *way) pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.off {
		w.healed.Wait()
	}
}

func (w *way) carry(c net.Conn) {
	defer c.Close()
	w.pass()
	db, err := net.Dial("unix", w.socket)
	if err != nil {
		return
	}
	defer db.Close()
	go func() { w.copy(db, c); _ = db.Close() }()
	w.copy(c, db)
}

func (w *way) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		w.pass()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
