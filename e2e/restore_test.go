package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// dump is one way to keep a database and to bring it back.
type dump struct {
	database string // address; "" for SQLite in the portal's folder
	take     func(t *testing.T, p *stack.Portal)
	restore  func(t *testing.T, p *stack.Portal)
}

// fileCopy is SQLite's: the file while the portal is down.
func fileCopy(*testing.T) dump {
	move := func(t *testing.T, from, to string) {
		t.Helper()
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dump{
		take: func(t *testing.T, p *stack.Portal) {
			move(t, filepath.Join(p.Dir, "portal.db"), filepath.Join(p.Dir, "backup.db"))
		},
		restore: func(t *testing.T, p *stack.Portal) {
			for _, rest := range []string{"-wal", "-shm"} {
				if err := os.Remove(filepath.Join(p.Dir, "portal.db"+rest)); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
			move(t, filepath.Join(p.Dir, "backup.db"), filepath.Join(p.Dir, "portal.db"))
		},
	}
}

// pgDump is PostgreSQL's own.
func pgDump(t *testing.T) dump {
	address := storetest.Postgres(t)
	run := func(t *testing.T, name string, args ...string) {
		t.Helper()
		path, err := storetest.Program(name)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	return dump{database: address,
		take: func(t *testing.T, p *stack.Portal) {
			run(t, "pg_dump", "-Fc", "-f", filepath.Join(p.Dir, "backup"), "-d", address)
		},
		restore: func(t *testing.T, p *stack.Portal) {
			run(t, "pg_restore", "--clean", "--if-exists", "-d", address, filepath.Join(p.Dir, "backup"))
		},
	}
}

// TestRestoredBackup is T-DB-4, the finding H3: yesterday's backup against today's cluster. The portal made anew what
// had been deleted, started what had been stopped, and said nothing of what the backup does not know.
func TestRestoredBackup(t *testing.T) {
	for name, kind := range map[string]func(*testing.T) dump{"sqlite": fileCopy, "postgres": pgDump} {
		t.Run(name, func(t *testing.T) { restoreStory(t, "rest"+name[:1], kind(t)) })
	}
}

func restoreStory(t *testing.T, name string, d dump) {
	p := ownPortal(t, name, func(o *stack.PortalOptions) {
		if d.database != "" {
			o.Database = d.database
			o.Change = withKey(t)
		}
	})
	dana, pat := client{t, p, "dana"}, client{t, p, "pat"}
	namespace := spaces(name) + "vision"
	replicas := func(name string) int32 {
		set, err := kube(t).AppsV1().StatefulSets(namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return -1
		}
		return *set.Spec.Replicas
	}
	keep := map[string]string{}
	for _, name := range []string{"r-a", "r-d"} {
		keep[name] = str(dana.running("cpu", map[string]any{"name": name, "storage": ""})["id"])
	}
	p.Stop()
	d.take(t, p)
	start(t, p)
	dana.running("cpu", map[string]any{"name": "r-c", "storage": ""})
	dana.ok(http.StatusOK, http.MethodDelete, "/workloads/"+keep["r-a"], nil)
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+keep["r-d"]+"/stop", nil)
	dana.reaches(keep["r-a"], "ended")
	dana.reaches(keep["r-d"], "stopped")
	p.Stop()
	d.restore(t, p)
	before := versions(t, namespace)
	start(t, p)

	found := pat.differences("r-a database", "r-c cluster", "r-d different")
	waittest.Until(t, "the portal is ready, and says that it holds", func() error {
		if text := body(t, p.URL+"/readyz?verbose"); !strings.Contains(text, "held") || !strings.Contains(text, "ready") {
			return fmt.Errorf("it says %q", text)
		}
		return nil
	})
	refused := dana.call(http.MethodPost, "/workloads/"+keep["r-d"]+"/stop", nil)
	if refused.Status != http.StatusServiceUnavailable {
		t.Errorf("want a spec refused with 503, got %d: %s", refused.Status, refused.Raw)
	}
	time.Sleep(25 * time.Second) // after so long it had acted
	if now := versions(t, namespace); !slices.Equal(before, now) {
		t.Errorf("something was done in the cluster:\n%v\n%v", before, now)
	}
	if got := pat.decides(found["r-c"], "adopt", "stale"); got != http.StatusConflict {
		t.Errorf("want 409 for what was not seen, got %d", got)
	}
	if got := dana.decides(found["r-c"], "adopt", ""); got != http.StatusForbidden {
		t.Errorf("want only administrators to decide, got %d", got)
	}
	for name, decision := range map[string]string{"r-a": "adopt", "r-c": "adopt", "r-d": "apply"} {
		if got := pat.decides(found[name], decision, ""); got != http.StatusOK {
			t.Fatalf("%s %s: %d", decision, name, got)
		}
	}
	dana.reaches(keep["r-d"], "running")
	dana.reaches(keep["r-a"], "ended")
	c := str(found["r-c"]["key"])
	dana.reaches(c, "running")
	pat.differences()
	if replicas("r-a") != -1 || replicas("r-c") != 1 || replicas("r-d") != 1 {
		t.Errorf("want what was decided: r-a %d, r-c %d, r-d %d", replicas("r-a"), replicas("r-c"), replicas("r-d"))
	}
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+c+"/stop", nil) // work goes on
	dana.reaches(c, "stopped")
}

func start(t *testing.T, p *stack.Portal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
}

// withKey names the file of the secret key, which PostgreSQL needs.
func withKey(t *testing.T) func(map[string]any) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(strings.Repeat("ab", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(c map[string]any) { c["secretKeyFile"] = file }
}

// versions are the objects of a namespace with their resource versions, without what Kubernetes itself writes.
func versions(t *testing.T, namespace string) []string {
	t.Helper()
	ctx, all := context.Background(), metav1.ListOptions{}
	var list []string
	sets, err := kube(t).AppsV1().StatefulSets(namespace).List(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range sets.Items {
		list = append(list, "StatefulSet "+o.Name+" "+o.ResourceVersion)
	}
	services, err := kube(t).CoreV1().Services(namespace).List(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range services.Items {
		list = append(list, "Service "+o.Name+" "+o.ResourceVersion)
	}
	slices.Sort(list)
	return list
}

func body(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// differences waits until these are listed, "name kind", and gives them by name.
func (c client) differences(want ...string) map[string]map[string]any {
	c.t.Helper()
	var got []string
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		found := map[string]map[string]any{}
		got = nil
		for _, d := range items(c.ok(http.StatusOK, http.MethodGet, "/differences", nil)) {
			found[str(d["name"])] = d
			got = append(got, str(d["name"])+" "+str(d["kind"]))
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			return found
		}
	}
	c.t.Fatalf("want the differences %v, got %v", want, got)
	return nil
}

// decides takes a decision about what was seen, and gives the status.
func (c client) decides(d map[string]any, decision, seen string) int {
	c.t.Helper()
	if seen == "" {
		seen = str(d["seen"])
	}
	return c.call(http.MethodPost, "/differences/"+str(d["id"])+"/"+decision, map[string]any{"seen": seen}).Status
}
