package main

import (
	"context"
	"io"
	"net"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

var listening = regexp.MustCompile(`(127\.0\.0\.1:\d+) leads to (\w+) \((\d+)\) of train\n`)

// TestForwardLeadsToThePorts of a workload, with as many connections as come, until somebody presses Ctrl-C.
func TestForwardLeadsToThePorts(t *testing.T) {
	server := httptest.NewServer(sshPortal{})
	t.Cleanup(server.Close)
	env := map[string]string{"GPUCTL_URL": server.URL, "GPUCTL_TOKEN": "gpup_dora"}
	var out, said written
	c := &cli{in: strings.NewReader(""), out: &out, err: &said, zone: time.UTC,
		getenv: func(name string) string { return env[name] }, home: func() (string, error) { return t.TempDir(), nil },
		interactive: func() bool { return false }}
	ctx, interrupt := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() { code <- c.run(ctx, []string{"forward", "train", "0:board", "0:6007", "0:ssh"}) }()
	waittest.For(t, "three ports", func() bool { return strings.Count(out.String(), "\n") == 3 })
	at := map[string]string{}
	for _, m := range listening.FindAllStringSubmatch(out.String(), -1) {
		at[m[2]+" "+m[3]] = m[1]
	}
	dial := func(name string) net.Conn {
		conn, err := net.Dial("tcp", at[name])
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	first, second := dial("board 6006"), dial("board 6006")
	for _, conn := range []net.Conn{second, first} {
		_, err := io.WriteString(conn, "hello bye")
		must(t, err)
		if got, err := io.ReadAll(conn); err != nil || string(got) != "board HELLO BYE" {
			t.Errorf("want the bytes of the port and an end, got %q %v", got, err)
		}
	}
	if got, err := io.ReadAll(dial("off 6007")); len(got) != 0 || err != nil {
		t.Errorf("want a refused connection closed, got %q %v", got, err)
	}
	waittest.For(t, "the portal's words", func() bool {
		return strings.Contains(said.String(), "Tunnels to workloads are disabled")
	})
	stays := dial("ssh 2222")
	if _, err := io.ReadFull(stays, make([]byte, 4)); err != nil {
		t.Errorf("want others let in still, got %v", err)
	}
	interrupt()
	if got := <-code; got != broken {
		t.Errorf("want the exit code of Ctrl-C, got %d %s", got, said.String())
	}
	if _, err := io.Copy(io.Discard, stays); err != nil {
		t.Logf("the connection is reset: %v", err)
	}
	if conn, err := net.Dial("tcp", at["board 6006"]); err == nil {
		_ = conn.Close()
		t.Error("want nobody to listen any more")
	}
}

func TestWhatCannotBeForwardedIsSaid(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = taken.Close() }()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	for _, is := range []struct {
		workload, port string
		code           int
		words          string
	}{{"plain", "board", conflict, "jupyterlab of plain defines no ports"},
		{"train", "grpc", conflict, `no port "grpc". It has: board, off, ssh.`},
		{"train", "8888", conflict, `no port "8888"`},
		{"train", "x:board", wrong, `"x" is not a local port`},
		{"train", "65536:board", wrong, `"65536" is not a local port`},
		{"train", port + ":board", failed, "Cannot listen on local port " + port},
		{"night", "ssh", conflict, "night is not running: it is stopped."},
		{"nobody", "ssh", denied, `No workload "nobody"`}} {
		s, _ := sshPortal{}.calls(t, "gpup_dora", "", "forward", is.workload, is.port)
		if s.code != is.code || !strings.Contains(s.err, is.words) {
			t.Errorf("%s %s: want %d %q, got %d %q", is.workload, is.port, is.code, is.words, s.code, s.err)
		}
	}
}
