package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// sshPortal answers as a portal with a few workloads. The server in their pods says a greeting, and sends back in
// capitals what it gets; bye ends it.
type sshPortal struct {
	users []string // of images with an SSH server
	end   string   // what the portal says at the end, in place of the server
}

func (p sshPortal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	workloads := map[string]map[string]any{
		"w-train": {"id": "w-train", "name": "train", "image": "with-ssh", "state": "running", "kind": "notebook",
			"ssh": map[string]any{"port": 2222, "user": "jovyan"}, "ports": map[string]any{"board": 6006, "off": 6007}},
		"w-night": {"id": "w-night", "name": "night", "image": "with-ssh", "state": "stopped", "kind": "notebook",
			"ssh": map[string]any{"port": 2222, "user": "jovyan"}},
		"w-plain": {"id": "w-plain", "name": "plain", "image": "jupyterlab", "state": "running", "kind": "notebook"}}
	send := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	id, _ := strings.CutPrefix(r.URL.Path, "/api/v1/workloads/")
	switch {
	case r.Header.Get("Authorization") != "Bearer gpup_dora":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"title":"Not signed in","status":401,"detail":"This token is not valid any more."}`)
	case r.URL.Path == "/api/v1/workloads":
		items := []any{}
		for _, name := range []string{"w-night", "w-plain", "w-train"} {
			items = append(items, workloads[name])
		}
		send(map[string]any{"items": items, "next": ""})
	case r.URL.Path == "/api/v1/images":
		items := []any{map[string]any{"name": "jupyterlab", "kind": "notebook"}}
		for _, user := range p.users {
			items = append(items, map[string]any{"name": "with-" + user, "kind": "notebook",
				"ssh": map[string]any{"port": 2222, "user": user}})
		}
		send(map[string]any{"items": items, "next": ""})
	case workloads[id] != nil:
		send(workloads[id])
	case id == "w-train/tunnel" && (p.end == "off" || r.URL.Query().Get("port") == "off"):
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"title":"Forbidden","status":403,"detail":"Tunnels to workloads are disabled here."}`)
	case id == "w-train/tunnel":
		p.tunnel(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (p sshPortal) tunnel(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	greeting := "SSH-2.0-test\r\n"
	if port := r.URL.Query().Get("port"); port != "" {
		greeting = port + " "
	}
	_ = conn.Write(r.Context(), websocket.MessageBinary, []byte(greeting))
	if p.end != "" {
		_ = conn.Write(r.Context(), websocket.MessageText, []byte(`{"end":"`+p.end+`"}`))
		_ = conn.Close(websocket.StatusNormalClosure, "")
		return
	}
	for {
		_, m, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		_ = conn.Write(r.Context(), websocket.MessageBinary, bytes.ToUpper(m))
		if bytes.HasSuffix(m, []byte("bye")) {
			_ = conn.Close(websocket.StatusNormalClosure, "")
			return
		}
	}
}

// calls runs a command with an input that stays open, as ssh's does. ssh itself is not started: what it would have got
// comes back.
func (p sshPortal) calls(t *testing.T, token, typed string, args ...string) (s screen, ssh []string) {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	in, hold := io.Pipe()
	t.Cleanup(func() { _ = hold.Close() })
	go func() { _, _ = io.WriteString(hold, typed) }()
	var out, said bytes.Buffer
	env := map[string]string{"GPUCTL_URL": server.URL, "GPUCTL_TOKEN": token}
	c := &cli{in: in, out: &out, err: &said, zone: time.UTC, getenv: func(name string) string { return env[name] },
		home: func() (string, error) { return t.TempDir(), nil }, interactive: func() bool { return false },
		program: func(_ context.Context, args []string) error {
			ssh = args
			return quiet{7}
		}}
	code := c.run(t.Context(), args)
	return screen{code, out.String(), said.String()}, ssh
}

// TestTheProxyPassesBytes until the server closes the connection, and says what the portal says where that ends it.
func TestTheProxyPassesBytes(t *testing.T) {
	for _, name := range []string{"train", "train.gpu", "w-train"} {
		s, _ := sshPortal{}.calls(t, "gpup_dora", "hello bye", "proxy", name)
		if s.code != done || s.out != "SSH-2.0-test\r\nHELLO BYE" || s.err != "" {
			t.Errorf("%s: want the bytes and nothing else, got %d %q %q", name, s.code, s.out, s.err)
		}
	}
	s, _ := sshPortal{end: "It ended because the workload stopped."}.calls(t, "gpup_dora", "", "proxy", "train")
	if s.code != failed || s.out != "SSH-2.0-test\r\n" || !strings.Contains(s.err, "the workload stopped") {
		t.Errorf("want the portal's words, got %d %q %q", s.code, s.out, s.err)
	}
}

func TestNoWayToAWorkloadIsSaid(t *testing.T) {
	for _, command := range []string{"ssh", "proxy"} {
		for name, is := range map[string]struct {
			token string
			code  int
			words string
		}{"plain": {"gpup_dora", conflict, "jupyterlab of plain has no SSH server"},
			"night":  {"gpup_dora", conflict, "night is not running: it is stopped."},
			"nobody": {"gpup_dora", denied, `No workload "nobody"`},
			"train":  {"gpup_old", signIn, "This token is not valid any more."}} {
			s, ssh := sshPortal{}.calls(t, is.token, "", command, name)
			if s.code != is.code || !strings.Contains(s.err, is.words) || ssh != nil {
				t.Errorf("%s %s: want %d %q, got %d %q", command, name, is.code, is.words, s.code, s.err)
			}
		}
	}
	if s, _ := (sshPortal{end: "off"}).calls(t, "gpup_dora", "", "proxy", "train"); s.code != denied ||
		!strings.Contains(s.err, "Tunnels to workloads are disabled here.") {
		t.Errorf("want it said that there are none, got %d %q", s.code, s.err)
	}
}

// TestSSHIsCalled with the image's user and the way through the portal; its exit code is that of the command.
func TestSSHIsCalled(t *testing.T) {
	s, ssh := sshPortal{}.calls(t, "gpup_dora", "", "ssh", "train", "--", "nvidia-smi", "-L")
	self, err := os.Executable()
	must(t, err)
	if s.code != 7 || s.err != "" || len(ssh) < 2 || !strings.HasPrefix(ssh[1], "ProxyCommand ") ||
		!strings.Contains(ssh[1], self) || !strings.HasSuffix(ssh[1], " proxy w-train") {
		t.Errorf("want ssh to come through gpuctl, got %d %q %q", s.code, s.err, ssh)
	}
	if rest := ssh[len(ssh)-5:]; !slices.Equal(rest, []string{"-l", "jovyan", "train.gpu", "nvidia-smi", "-L"}) {
		t.Errorf("want user, host and command, got %q", rest)
	}
	if _, ssh = (sshPortal{}).calls(t, "gpup_dora", "", "ssh", "-l", "ada", "train"); !slices.Contains(ssh, "ada") {
		t.Errorf("want another user, got %q", ssh)
	}
	if s, _ = (sshPortal{}).calls(t, "gpup_dora", "", "ssh", "train", "nvidia-smi"); s.code != wrong {
		t.Errorf("want a command without -- refused, got %d %q", s.code, s.err)
	}
}

func TestLinesForSSH(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	all := fmt.Sprintf("Host *.gpu\n  ProxyCommand %s proxy %%h\n%%s  StrictHostKeyChecking no\n"+
		"  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n", self)
	s, _ := sshPortal{users: []string{"jovyan"}}.calls(t, "gpup_dora", "", "ssh-config")
	if want := strings.Replace(all, "%s", "  User jovyan\n", 1); s.code != done || s.out != want {
		t.Errorf("want\n%s, got %d\n%s %s", want, s.code, s.out, s.err)
	}
	s, _ = sshPortal{users: []string{"jovyan", "rstudio"}}.calls(t, "gpup_dora", "", "ssh-config")
	want := "# Images have different users: print this again for new workloads.\n" +
		"Host night.gpu\n  User jovyan\nHost train.gpu\n  User jovyan\n" + strings.Replace(all, "%s", "", 1)
	if s.code != done || s.out != want {
		t.Errorf("want\n%s, got %d\n%s %s", want, s.code, s.out, s.err)
	}
}
