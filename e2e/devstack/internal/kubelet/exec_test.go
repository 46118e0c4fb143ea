package kubelet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
)

// executorOf is the client of the API server's side, for a path and parameters as a kubelet has them.
func executorOf(t *testing.T, server *httptest.Server, path string) remotecommand.Executor {
	t.Helper()
	at, err := url.Parse(server.URL + "/exec/red/" + path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := remotecommand.NewSPDYExecutor(&rest.Config{Host: server.URL}, "POST", at)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sizes are those of a window, then none.
type sizes []remotecommand.TerminalSize

func (s *sizes) Next() *remotecommand.TerminalSize {
	if len(*s) == 0 {
		return nil
	}
	next := (*s)[0]
	*s = (*s)[1:]
	return &next
}

func reads(t *testing.T, from io.Reader, until string) string {
	t.Helper()
	var got strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(got.String(), until); {
		n, err := from.Read(one)
		got.Write(one[:n])
		if err != nil {
			t.Fatalf("want %q, got %q, then %v", until, got.String(), err)
		}
	}
	return got.String()
}

// TestTerminal: keys are echoed, commands answered, the size of the window is known, and the exit code comes back.
func TestTerminal(t *testing.T) {
	server, _, _ := start(t)
	keys, typed := io.Pipe()
	out, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		command := "?command=sh&command=-c&command=export+A%3Db%3B+exec+sh"
		err := executorOf(t, server, "runs/main"+command+"&input=1&output=1&tty=1").StreamWithContext(t.Context(),
			remotecommand.StreamOptions{Stdin: keys, Stdout: write, Tty: true,
				TerminalSizeQueue: &sizes{{Width: 101, Height: 33}}})
		write.CloseWithError(io.EOF)
		done <- err
	}()
	reads(t, out, "$ ")
	ask := func(line, want string) {
		t.Helper()
		if _, err := io.WriteString(typed, line+"\r"); err != nil {
			t.Fatal(err)
		}
		if got := reads(t, out, "$ "); got != line+"\r\n"+want+"$ " {
			t.Errorf("%s: %q", line, got)
		}
	}
	ask("echo hello  world", "hello  world\r\n")
	ask("env", "HOSTNAME=runs\r\n")
	ask("nope", "sh: nope: not found\r\n")
	for got := ""; got != "stty size\r\n33 101\r\n$ "; { // the size comes in a stream of its own
		if _, err := io.WriteString(typed, "stty size\r"); err != nil {
			t.Fatal(err)
		}
		got = reads(t, out, "$ ")
	}
	if _, err := io.WriteString(typed, "exit 3\r"); err != nil {
		t.Fatal(err)
	}
	if got := reads(t, out, "\n"); got != "exit 3\r\n" {
		t.Errorf("%q", got)
	}
	var code utilexec.CodeExitError
	if err := <-done; !errors.As(err, &code) || code.Code != 3 {
		t.Errorf("ended with %v", err)
	}
}

// TestScript: a script with arguments runs on the pod's own directory, with its input and its exit code.
func TestScript(t *testing.T) {
	server, _, _ := start(t)
	run := func(in io.Reader, line ...string) (string, error) {
		q := url.Values{"command": append([]string{"sh", "-c"}, line...), "output": {"1"}}
		if in != nil {
			q.Set("input", "1")
		}
		var out bytes.Buffer
		err := executorOf(t, server, "runs/main?"+q.Encode()).StreamWithContext(t.Context(),
			remotecommand.StreamOptions{Stdin: in, Stdout: &out})
		return out.String(), err
	}
	if out, err := run(strings.NewReader("kept"), `cat > "$1"`, "sh", "/tmp/a b"); out != "" || err != nil {
		t.Fatalf("%q, %v", out, err)
	}
	if out, err := run(nil, `cat "$1"; exit "$2"`, "sh", "/tmp/a b", "7"); out != "kept" ||
		err == nil || !strings.Contains(err.Error(), "exit code 7") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := run(nil, `[ -e "$1" ] || echo none`, "sh", "/etc/passwd"); out != "none\n" || err != nil {
		t.Errorf("it sees the files of this machine: %q, %v", out, err)
	}
}

// TestCommand: without a terminal nothing is echoed; what is no command, or no container that runs, is refused.
func TestCommand(t *testing.T) {
	server, _, _ := start(t)
	run := func(path string) (string, error) {
		var out bytes.Buffer
		err := executorOf(t, server, path).StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out})
		return out.String(), err
	}
	if out, err := run("runs/main?command=sh&command=-c&command=echo+hi&output=1"); out != "hi\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := run("runs/main?command=sh&command=-c&command=fill+100000&output=1"); len(out) != 100000 || err != nil {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if out, err := run("runs/main?command=sh&command=-c&command=bytes&output=1"); len(out) != 256 || err != nil {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	for path, want := range map[string]string{
		"runs/main?command=vi&output=1":    "executable file not found",
		"runs/other?command=sh&output=1":   `container not found ("other")`,
		"crashes/main?command=sh&output=1": `container not found ("main")`,
		"nobody/main?command=sh&output=1":  "pod does not exist",
		"runs/main?command=sh":             "at least 1 of stdin, stdout, stderr",
	} {
		if _, err := run(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", path, want, err)
		}
	}
}

// TestPodGoes: what runs in it ends as a killed program does.
func TestPodGoes(t *testing.T) {
	shells := NewShells(t.TempDir())
	server, _, cluster := startWith(t, shells)
	uid := string(cluster.Pod("red", "runs").UID)
	out, write := io.Pipe()
	keys, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- executorOf(t, server, "runs/main?command=sh&input=1&output=1&tty=1").StreamWithContext(ctx,
			remotecommand.StreamOptions{Stdin: keys, Stdout: write, Tty: true})
	}()
	reads(t, out, "$ ")
	if n := shells.Open(uid); n != 1 {
		t.Errorf("%d commands run", n)
	}
	shells.Forget(uid)
	var code utilexec.CodeExitError
	if err := <-done; !errors.As(err, &code) || code.Code != 137 {
		t.Errorf("ended with %v", err)
	}
}
