package main

import (
	"debug/elf"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestTheImageIsOneProgram: the last stage of the Dockerfile begins with nothing and runs no command, as nobody. What it
// copies is all that there is.
func TestTheImageIsOneProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	stages := regexp.MustCompile(`(?m)^FROM `).Split(string(text), -1)
	last := stages[len(stages)-1]
	if !strings.HasPrefix(last, "scratch AS portal\n") || strings.Contains(last, "\nRUN ") {
		t.Errorf("the last stage is not made of nothing:\n%s", last)
	}
	for _, stage := range stages[len(stages)-2:] {
		if !strings.Contains(stage, "\nUSER 65532:65532\n") {
			t.Errorf("runs as somebody else:\n%s", stage)
		}
	}
	if copied := regexp.MustCompile(`(?m)^COPY --from=\S+ \S+ (\S+)$`).FindAllStringSubmatch(last, -1); len(copied) != 2 ||
		copied[0][1] != "/etc/ssl/certs/" || copied[1][1] != "/usr/bin/portal" {
		t.Errorf("want certificates and the program copied, got %v", copied)
	}
}

// TestThePortalNeedsNothingElse runs the program, built as the Dockerfile builds it, in a root directory that holds
// nothing but it: no shell, no libc, no time zones, nothing that could be written but /tmp and /data, as user 65532.
func TestThePortalNeedsNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the portal")
	}
	if os.Getuid() != 0 {
		t.Skip("not run: only root may change the root directory")
	}
	root := t.TempDir()
	for _, dir := range []string{"usr/bin", "etc/gpu-portal", "tmp", "data"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(root, "usr/bin/portal")
	build := exec.Command("go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	binary, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) > 0 || binary.Section(".interp") != nil {
		t.Fatalf("it is not static: %v %v", libraries, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	settings := "listen: " + address + "\nurl: http://" + strings.Replace(address, "127.0.0.1", "localhost", 1) +
		"\ndatabase: sqlite:/data/portal.db\ntimeZone: Europe/Berlin\noidc: {issuer: \"http://127.0.0.1:9\"}\n" +
		"clusters: [{name: main, kubeconfig: /etc/gpu-portal/kubeconfig}]\n"
	kubeconfig := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:9\"}}]\n" +
		"contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\nusers: [{name: u, user: {}}]\n"
	for name, text := range map[string]string{"portal.yaml": settings, "kubeconfig": kubeconfig} {
		if err := os.WriteFile(filepath.Join(root, "etc/gpu-portal", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"tmp", "data"} {
		if err := os.Chown(filepath.Join(root, dir), 65532, 65532); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	run := exec.Command("/usr/bin/portal", "serve", "--config", "/etc/gpu-portal/portal.yaml")
	run.Path, run.Dir, run.Env, run.Stdout, run.Stderr = "/usr/bin/portal", "/", []string{}, &said, &said
	run.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() {
		_ = run.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			t.Errorf("%v\n%s", err, &said)
		}
	})
	waittest.Until(t, "the portal", func() error {
		answer, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	})
}
