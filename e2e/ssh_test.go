package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// sshPort is that of the image's SSH server, in the pod.
const sshPort = 2222

// TestSSHIntoAWorkload: Dana's public key is a secret of hers; the real ssh gets from gpuctl through the portal to a
// real OpenSSH server in the place of the pod's, which reads the key from what the portal has mounted. Nobody else gets
// there, and the connection ends with the workload.
func TestSSHIntoAWorkload(t *testing.T) {
	catalogAsItWas(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	images := str(as(t, "pat").ok(http.StatusOK, http.MethodGet, "/catalog", nil)["text"])
	const anchor = "  openPath: /tree\n"
	if strings.Count(images, anchor) != 1 {
		t.Fatal("want the classic notebook in the catalog")
	}
	saved(t, "pat", "", strings.Replace(images, anchor, fmt.Sprintf("%s  ssh: {port: %d, user: %q}\n", anchor, sshPort,
		me.Username), 1))

	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	makeKey(t, key)
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	dana, shell := as(t, "dana"), newShell(t).signedIn("dana")
	made := dana.ok(http.StatusCreated, http.MethodPost, "/secrets", map[string]any{"name": "ssh", "kind": "file",
		"values": map[string]string{"file": "authorized_keys", "content": string(public)}})
	w := dana.running("mig-1g.10gb", map[string]any{"image": "jupyter-notebook", "name": "by-ssh",
		"secrets": []string{"ssh"}})
	t.Cleanup(func() { dana.call(http.MethodDelete, "/secrets/"+str(made["id"]), nil) })
	keys := filepath.Join(dir, "authorized_keys")
	if err := os.WriteFile(keys, mountedFile(t, w, "/secrets/ssh/authorized_keys"), 0o600); err != nil {
		t.Fatal(err)
	}
	route := fmt.Sprintf("/routes?pod=%s/%s&port=%d", w["namespace"], w["pod"], sshPort)
	control(t, http.MethodPut, fmt.Sprintf("%s&to=127.0.0.1:%d", route, startSSHD(t, dir, keys)))
	t.Cleanup(func() { control(t, http.MethodDelete, route) })

	page := "/workloads/" + str(w["id"])
	p := signIn(t, "dana", look{})
	p.open(page + "/connect")
	p.reads("[data-test=connect-ssh]", "gpuctl ssh by-ssh")
	p.accessible()
	p.shot("connect")

	options := []string{"-F", "none", "-i", key, "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"}
	shell.shows("hello from by-ssh\n", append(append([]string{"ssh", "by-ssh", "--"}, options...), "echo", "hello",
		"from", "by-ssh")...)
	if code, _, _ := shell.run(append(append([]string{"ssh", "by-ssh", "--"}, options...), "exit", "7")...); code != 7 {
		t.Errorf("want the exit code of the command, got %d", code)
	}
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, []byte(shell.shows("Host *.gpu", "ssh-config")), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := append([]string{"-F", config}, options[2:]...)
	shell.copiesBytes(append(plain, "by-ssh.gpu", "sha256sum; head -c 3000000 /dev/zero"))

	othersHaveNoTunnel(t, dir, key)

	stay := shell.program(context.Background(), "ssh", append(plain, "by-ssh.gpu", "echo ready; exec sleep 600")...)
	out := &tailed{came: make(chan string, 10)}
	var said bytes.Buffer
	stay.Stdout, stay.Stderr = out, &said
	if err := stay.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stay.Process.Kill() })
	select {
	case <-out.came:
	case <-time.After(2 * time.Minute):
		t.Fatalf("the session does not begin: %s", said.String())
	}
	dana.ok(http.StatusOK, http.MethodPost, page+"/stop", nil)
	ended := make(chan error, 1)
	go func() { ended <- stay.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("want ssh to say that its connection is gone")
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the connection outlives the workload")
	}
	dana.reaches(str(w["id"]), "stopped")
	shell.says(5, "by-ssh is not running", "ssh", "by-ssh")
	p.open(page + "/history")
	p.reads("[data-test=workload-history]", "opened a tunnel")
	p.reads("[data-test=workload-history]", "Port 2222, open for")
	p.reads("[data-test=workload-history]", "because the workload stopped")
}

// program is another program than gpuctl, which finds gpuctl's sign-in.
func (s shell) program(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = s.command(ctx).Env
	return cmd
}

// says insists on an exit code and on words for people.
func (s shell) says(code int, words string, args ...string) {
	s.t.Helper()
	if got, out, said := s.run(args...); got != code || !strings.Contains(said, words) {
		s.t.Errorf("gpuctl %s: want %d %q, got %d %s %s", strings.Join(args, " "), code, words, got, out, said)
	}
}

// copiesBytes runs ssh with a command that answers with the digest of what it gets, and three million zeros.
func (s shell) copiesBytes(args []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	sent := make([]byte, 3_000_000)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(sent)
	cmd := s.program(ctx, "ssh", args...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(sent), &out, &said
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("ssh: %v %s", err, said.String())
	}
	line, zeros, _ := strings.Cut(out.String(), "\n")
	if want := fmt.Sprintf("%x", sha256.Sum256(sent)); !strings.HasPrefix(line, want) || zeros != strings.Repeat("\x00",
		3_000_000) {
		s.t.Errorf("want %s and three million zeros, got %q and %d bytes", want, line, len(zeros))
	}
}

// othersHaveNoTunnel: neither with the key nor with a token does anybody else get there.
func othersHaveNoTunnel(t *testing.T, dir, key string) {
	t.Helper()
	newShell(t).signedIn("devi").says(4, "has not shared it with you", "proxy", "by-ssh")
	newShell(t).signedIn("nora").says(4, "No workload", "proxy", "by-ssh")
	newShell(t).says(3, "Not signed in", "proxy", "by-ssh")
	another := filepath.Join(dir, "another")
	makeKey(t, another)
	code, out, said := newShell(t).signedIn("dana").run("ssh", "by-ssh", "--", "-F", "none", "-i", another, "-o",
		"IdentitiesOnly=yes", "-o", "BatchMode=yes", "true")
	if code != 255 || !strings.Contains(said, "Permission denied") {
		t.Errorf("want the server to refuse another key than %s, got %d %s %s", key, code, out, said)
	}
}

func makeKey(t *testing.T, file string) {
	t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "story", "-f",
		file).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
}

// mountedFile is what a file of the pod holds that comes from a Secret.
func mountedFile(t *testing.T, w map[string]any, path string) []byte {
	t.Helper()
	pod := podOf(t, w)
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		below, under := strings.CutPrefix(path, m.MountPath+"/")
		for _, v := range pod.Spec.Volumes {
			if !under || v.Name != m.Name || v.Secret == nil {
				continue
			}
			for _, item := range v.Secret.Items {
				if item.Path != below {
					continue
				}
				secret, err := kube(t).CoreV1().Secrets(pod.Namespace).Get(context.Background(), v.Secret.SecretName,
					metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return secret.Data[item.Key]
			}
		}
	}
	t.Fatalf("no Secret is mounted at %s", path)
	return nil
}

// startSSHD runs OpenSSH's server on loopback, with a host key of its own and these keys of people, and gives its port.
func startSSHD(t *testing.T, dir, keys string) int {
	t.Helper()
	program, err := exec.LookPath("/usr/sbin/sshd") // it insists on an absolute path
	if err != nil {
		t.Fatalf("%v (make needs installs it)", err)
	}
	if os.Getuid() == 0 { // where its service would make it
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	host, port := filepath.Join(dir, "host"), freePort()
	makeKey(t, host)
	config := filepath.Join(dir, "sshd_config")
	text := fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\n"+
		"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nStrictModes no\n",
		port, host, keys)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-D", "-e", "-f", config)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Logf("sshd: %v", err)
		}
		if t.Failed() {
			t.Logf("sshd: %s", log.String())
		}
	})
	waittest.For(t, "the SSH server", func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return port
}
