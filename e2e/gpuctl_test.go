package e2e

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shell is a person with the built gpuctl and a home of their own.
type shell struct {
	t    *testing.T
	home string
}

func newShell(t *testing.T) shell { return shell{t, t.TempDir()} }

func (s shell) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(root, ".cache", "bin", "gpuctl"), args...)
	cmd.Env = []string{"HOME=" + s.home, "XDG_CONFIG_HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// run gives the exit code, and what was written for programs and for people.
func (s shell) run(args ...string) (code int, out, said string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := s.command(ctx, args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("gpuctl %s: %v (make build makes it)", strings.Join(args, " "), err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// shows insists that a command works and that its output has some words.
func (s shell) shows(words string, args ...string) string {
	s.t.Helper()
	code, out, said := s.run(args...)
	if code != 0 || !strings.Contains(out+said, words) {
		s.t.Fatalf("gpuctl %s: want %q, got %d %s %s", strings.Join(args, " "), words, code, out, said)
	}
	return out
}

// fails insists on an exit code.
func (s shell) fails(code int, args ...string) {
	s.t.Helper()
	if got, out, said := s.run(args...); got != code {
		s.t.Errorf("gpuctl %s: want exit code %d, got %d %s %s", strings.Join(args, " "), code, got, out, said)
	}
}

// signedIn is somebody's shell after gpuctl login.
func (s shell) signedIn(who string) shell {
	s.t.Helper()
	token := filepath.Join(s.home, "token")
	if err := os.WriteFile(token, []byte(portal.Tokens[who]), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.shows("Signed in to "+portal.URL, "login", portal.URL, "--token-file", token)
	return s
}

// TestTheCommandLine goes from the sign-in to the end of a notebook with the program that people have.
func TestTheCommandLine(t *testing.T) {
	dana, nora, devi := newShell(t).signedIn("dana"), newShell(t).signedIn("nora"), newShell(t).signedIn("devi")
	const name = "by-command"
	start := []string{"start", "--team", "vision", "--size", "cpu", "--image", "jupyterlab", "--lease", "8h", "--name",
		name, "--storage", "10Gi", "--reason", "end-to-end test"}
	dana.shows("at once", append(start, "--dry-run")...)
	dana.shows("running", append(start, "--wait")...)
	w := find(t, items(as(t, "dana").ok(http.StatusOK, http.MethodGet, "/workloads?scope=mine", nil)), "name", name)
	t.Cleanup(func() { as(t, "dana").remove(str(w["id"])) })

	dana.shows(name+"\n", "list", "-o", "name")
	dana.shows(str(w["url"])+"\n", "open", name)
	dana.shows("Pod/"+str(w["pod"]), "events", name)
	writesTo(t, http.MethodPut, w, "", "epoch 1\n")
	dana.shows("epoch 1\n", "logs", name)
	dana.follows(w, name)

	nora.fails(4, "get", name)
	devi.fails(4, "logs", name)
	devi.fails(4, "stop", name)

	dana.shows(name, "stop", name)
	as(t, "dana").reaches(str(w["id"]), "stopped")
	dana.fails(5, "logs", name)
	dana.shows(name, "resume", name)
	as(t, "dana").reaches(str(w["id"]), "running")
	dana.fails(2, "delete", name)
	dana.shows(name, "delete", name, "--yes", "--with-storage")
	as(t, "dana").reaches(str(w["id"]), "ended")
	dana.fails(4, "get", name)
}

// follows reads a log on until what is written meanwhile has come, and leaves as Ctrl-C does.
func (s shell) follows(w map[string]any, name string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := s.command(ctx, "logs", "-f", "--tail", "1", name)
	out := &tailed{came: make(chan string, 100)}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for _, step := range []struct{ comes, then string }{{"epoch 1\n", "epoch 2\n"}, {"epoch 2\n", ""}} {
		select {
		case got := <-out.came:
			if got != step.comes {
				s.t.Errorf("want %q, got %q", step.comes, got)
			}
		case <-ctx.Done():
			s.t.Fatalf("%q did not come", step.comes)
		}
		if step.then != "" {
			writes(s.t, w, step.then)
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("want Ctrl-C to be no error, got %d", code)
	}
}

// tailed tells of each line.
type tailed struct {
	part string
	came chan string
}

func (w *tailed) Write(p []byte) (int, error) {
	w.part += string(p)
	for {
		line, rest, whole := strings.Cut(w.part, "\n")
		if !whole {
			return len(p), nil
		}
		w.part = rest
		w.came <- line + "\n"
	}
}
