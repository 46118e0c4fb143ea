package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// doctor runs the portal's own command and gives what it printed with its exit status.
func doctor(t *testing.T, args ...string) (string, int) {
	t.Helper()
	out, err := exec.Command(stack.Bin("..", "portal"), append([]string{"doctor"}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return string(out), 0
	}
	return string(out), exit.ExitCode()
}

// TestTheDoctorLooksAtASite: beside a running portal the command finds cluster, rights, GPUs and metrics well; settings
// that cannot be used are told as such; and no secret is in any output.
func TestTheDoctorLooksAtASite(t *testing.T) {
	config := filepath.Join(portal.Dir, "portal.yaml")
	out, status := doctor(t, "--config", config, "-o", "json")
	if status > 1 {
		t.Fatalf("exit status %d: %s", status, out)
	}
	var said struct {
		Findings []struct{ Check, State, Found, Mend string }
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	states := map[string]string{}
	for _, f := range said.Findings {
		states[f.Check] = f.State
		if (f.State == "warning" || f.State == "failed") && f.Mend == "" {
			t.Errorf("%s: it is not said how to mend it", f.Check)
		}
	}
	for _, check := range []string{"settings", "database", "signin", "cluster", "rights.cluster", "nodes", "prometheus",
		"licenses"} {
		if states[check] != "ok" {
			t.Errorf("%s: want ok, got %q in %s", check, states[check], out)
		}
	}
	for _, secret := range []string{world.OIDCClientSecret} {
		if secret != "" && strings.Contains(out, secret) {
			t.Errorf("a secret is printed: %s", out)
		}
	}

	broken := filepath.Join(t.TempDir(), "portal.yaml")
	if err := os.WriteFile(broken, []byte("listen: nonsense\noidc: {clientSecret: canary-6c1f}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, status = doctor(t, "--config", broken)
	if status != 2 || !strings.Contains(out, "listen:") || strings.Contains(out, "canary-6c1f") {
		t.Errorf("want exit status 2 and the setting named, got %d: %s", status, out)
	}
}

// TestTheSystemTellsItsQueues: those of the database and, within half a minute of the election, the leader's of each
// cluster.
func TestTheSystemTellsItsQueues(t *testing.T) {
	pat := as(t, "pat")
	waittest.Until(t, "the leader's queue", func() error {
		names := map[string]bool{}
		queues, _ := pat.ok(http.StatusOK, http.MethodGet, "/system", nil)["queues"].([]any)
		for _, q := range queues {
			queue := q.(map[string]any)
			cluster, _ := queue["cluster"].(string)
			names[strings.Trim(str(queue["name"])+"/"+cluster, "/")] = true
		}
		for _, name := range []string{"approvals", "license-seats", "gpus", "events", "messages", "reconciliation/main"} {
			if !names[name] {
				return fmt.Errorf("no %s among %v", name, names)
			}
		}
		return nil
	})
}
