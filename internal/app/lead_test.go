package app

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestMain is also the portal of TestAFrozenPortalIsReplaced.
func TestMain(m *testing.M) {
	if folder := os.Getenv("APP_TEST_PORTAL"); folder != "" {
		if err := portalAlone(folder); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// portalAlone serves with the database that the folder names, on a port of its own: it listens from when it takes the
// port, as some connection of another test would have it by the time the database is open.
func portalAlone(folder string) error {
	address, err := os.ReadFile(filepath.Join(folder, "database"))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	c, err := config.Load("", func(string) string { return "" }, func(c *config.Config) {
		*c = config.Config{Listen: fmt.Sprint("127.0.0.1:", port), URL: fmt.Sprint("http://localhost:", port),
			Database: string(address), SecretKeyFile: filepath.Join(folder, "key"),
			OIDC:     config.OIDC{Issuer: "http://127.0.0.1:1", ClientID: "portal", ClientSecret: "secret"},
			Clusters: []config.Cluster{{Name: "main", Kubeconfig: filepath.Join(folder, "kubeconfig")}},
			Platform: tenant.Roles{identity.Admin: {"admins"}},
			Tenants: []tenant.Tenant{{Name: "vision", Quota: quota,
				Groups: map[identity.Role][]string{identity.Developer: {"vision-devs"}}}}}
	})
	if err != nil {
		return err
	}
	fmt.Println("url", c.URL)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return runAt(ctx, c, "test", os.Stdout, &door{first: listener.(*net.TCPListener)})
}

// portal is a process of the portal.
type portal struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan struct{} // closed when it says nothing any more

	mu    sync.Mutex
	lines []string
}

func startPortal(t *testing.T, folder string) *portal {
	t.Helper()
	p := &portal{t: t, cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "APP_TEST_PORTAL="+folder)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		for said := bufio.NewScanner(out); said.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, said.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		_ = p.cmd.Wait()
		if t.Failed() { // without the calls, of which there are thousands
			t.Log(strings.Join(slices.DeleteFunc(p.lines, func(line string) bool {
				return strings.Contains(line, "msg=call ") && strings.Contains(line, " status=2")
			}), "\n"))
		}
	})
	return p
}

// countLogLines is how often a line with the words was written.
func (p *portal) countLogLines(words string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if strings.Contains(line, words) {
			n++
		}
	}
	return n
}

func (p *portal) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// url is known once it has said anything.
func (p *portal) url() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.TrimPrefix(p.lines[0], "url ")
}

func (p *portal) healthy() bool {
	answer, err := http.Get(p.url() + "/healthz?verbose")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// portalFolder is what replicas of one portal share, and the address of their database.
func portalFolder(t *testing.T) (folder, address string) {
	t.Helper()
	leftToMakeTest(t)
	folder, address = t.TempDir(), storetest.Postgres(t)
	for name, text := range map[string]string{"database": address, "kubeconfig": nowhere,
		"key": strings.Repeat("5a", 32)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, address
}

func eventually(t *testing.T, what string, so func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	waittest.For(t, what, so)
	return time.Since(begun)
}

const tookTheLead, leadsNoMore = "this process leads now", "this process does not lead any more"

// takeoverSlack is for a machine at load 10.
const takeoverSlack = 30 * time.Second

// TestAFrozenPortalIsReplaced: T-FENCE. The whole process of the leader is frozen with its connections open. The other
// replica leads within 30 s and does what is due, once. When the first one goes on it knows that it does not lead, is
// healthy, and takes over again when the second one is killed.
func TestAFrozenPortalIsReplaced(t *testing.T) {
	t.Parallel()
	folder, address := portalFolder(t)
	first := startPortal(t, folder)
	eventually(t, "the first one leads", func() bool { return first.countLogLines(tookTheLead) == 1 })
	second := startPortal(t, folder)
	eventually(t, "the second one serves", func() bool { return second.countLogLines("the portal is there") == 1 })

	first.signal(syscall.SIGSTOP)
	frozen := time.Now()
	st, err := store.Open(t.Context(), address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	overdue := storetest.Request("r-1")
	overdue.CreatedAt, overdue.ExpiresAt, overdue.DecidedAt = frozen.Add(-time.Hour), frozen.Add(-time.Minute), time.Time{}
	if err := st.DecideExclusively(t.Context(), func(tx request.Tx) error {
		_, err := tx.SaveRequest(t.Context(), overdue)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second one leads", func() bool { return second.countLogLines(tookTheLead) == 1 })
	took := time.Since(frozen)
	t.Logf("frozen: replaced after %s", took.Round(100*time.Millisecond))
	if took > 30*time.Second+takeoverSlack {
		t.Errorf("it took %s", took)
	}
	expired := func() int {
		events, _, err := st.Events(t.Context(), audit.Filter{Kinds: []audit.Kind{audit.RequestExpired}, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(events)
	}
	eventually(t, "what is due is done", func() bool { return expired() == 1 })
	waittest.Within(t, 2*time.Minute, "it is frozen for three times the lease", func() bool {
		return time.Since(frozen) > 90*time.Second
	})

	first.signal(syscall.SIGCONT)
	eventually(t, "the first one knows", func() bool { return first.countLogLines(leadsNoMore) == 1 })
	eventually(t, "the first one is healthy", first.healthy)
	second.signal(syscall.SIGKILL)
	took = eventually(t, "the first one leads again", func() bool { return first.countLogLines(tookTheLead) == 2 })
	t.Logf("killed: replaced after %s", took.Round(100*time.Millisecond))
	if took > 10*time.Second+takeoverSlack {
		t.Errorf("it took %s", took)
	}
	eventually(t, "its jobs have run", func() bool {
		runs, err := st.JobRuns(t.Context())
		return err == nil && len(runs) > 0 && runs[len(runs)-1].Started.After(frozen)
	})
	if n := expired(); n != 1 || second.countLogLines(leadsNoMore) != 0 {
		t.Errorf("the request expired %d times; the second one stepped back %d times", n, second.countLogLines(leadsNoMore))
	}
}

// TestJobsAreTold: administrators read what the leader does and how it went.
func TestJobsAreTold(t *testing.T) {
	w := newWorld(t)
	token := w.token(admin)
	eventually(t, "the first run is told", func() bool {
		answer := w.call(token, http.MethodGet, "/api/v1/jobs", nil)
		return answer.status == http.StatusOK && strings.Contains(answer.body, `"job":"licenses-poll"`) &&
			strings.Contains(answer.body, `"outcome":"done"`)
	})
	names := map[string]bool{}
	for _, j := range w.jobs() {
		if names[j.Name] || j.Every <= 0 || j.Run == nil {
			t.Errorf("job %q: named twice, or without a period", j.Name)
		}
		names[j.Name] = true
	}
}

// TestTheStoreIsThePortals: it has the portal's clock and writes to the portal's log.
func TestTheStoreIsThePortals(t *testing.T) {
	w := newWorld(t)
	w.clock.pass(400 * 24 * time.Hour)
	before, err := w.store.Backlog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.running(developer, "vision")
	at, err := w.store.ChangeAfter(t.Context(), before.Changes)
	if err != nil || at.Before(time.Now().Add(300*24*time.Hour)) {
		t.Errorf("a change is of %s by the store's clock: %v", at, err)
	}
	release, ok, _ := w.store.Lead(t.Context())
	if !ok {
		t.Fatal("want to lead")
	}
	defer release()
	late := w.store.Fenced(t.Context())
	again, _, _ := w.store.Lead(t.Context())
	defer again()
	if err := w.store.PurgeOld(late, time.Time{}); err == nil {
		t.Error("a late write was not refused")
	}
	if !strings.Contains(w.log.String(), "a late write was refused") {
		t.Error("the portal's log does not say so")
	}
}
