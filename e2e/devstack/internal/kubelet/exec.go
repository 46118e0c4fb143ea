package kubelet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// Shells are the commands that run in containers, by pod UID.
type Shells struct {
	disks string // a directory for each pod
	mu    sync.Mutex
	open  map[string]map[*shell]context.CancelFunc
}

// NewShells has none. What containers write lies below the directory disks.
func NewShells(disks string) *Shells {
	return &Shells{disks: disks, open: map[string]map[*shell]context.CancelFunc{}}
}

// Forget ends what runs in a pod that is gone, and removes what it wrote.
func (s *Shells) Forget(uid string) {
	defer func() { _ = os.RemoveAll(s.root(uid)) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range s.open[uid] {
		end()
	}
	delete(s.open, uid)
}

// Open is how many commands run in a pod.
func (s *Shells) Open(uid string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open[uid])
}

func (s *Shells) enter(uid string, one *shell, end context.CancelFunc) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[uid] == nil {
		s.open[uid] = map[*shell]context.CancelFunc{}
	}
	s.open[uid][one] = end
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open[uid], one)
		if len(s.open[uid]) == 0 {
			delete(s.open, uid)
		}
	}
}

// Times of a kubelet: streamingConnectionIdleTimeout, and DefaultStreamCreationTimeout of its streaming server.
const (
	idleTimeout    = 4 * time.Hour
	creationWithin = 30 * time.Second
)

// protocols are those that a kubelet speaks with the API server.
var protocols = []string{"v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"}

// exec runs a command in a container that runs.
func exec(cluster *world.Cluster, shells *Shells, w http.ResponseWriter, r *http.Request) {
	pod, ok := podOf(cluster, w, r)
	if !ok {
		return
	}
	container := r.PathValue("container")
	if s := statusOf(pod, container); s == nil || s.State.Running == nil {
		http.Error(w, fmt.Sprintf("container not found (%q)", container), http.StatusInternalServerError)
		return
	}
	streams, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, executor{shells, pod}, pod.Name, string(pod.UID), container,
		r.Form["command"], streams, idleTimeout, creationWithin, protocols)
}

type executor struct {
	shells *Shells
	pod    *corev1.Pod
}

// ExecInContainer runs a fake of a shell; of another program the container runtime says that there is none.
func (e executor) ExecInContainer(ctx context.Context, _, uid, container string, command []string, in io.Reader, out,
	errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if len(command) == 0 || !strings.HasSuffix(command[0], "sh") {
		return fmt.Errorf("OCI runtime exec failed: exec: %q: executable file not found in $PATH", command)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	s := &shell{out: out, errs: errs, tty: tty, env: envOf(e.pod, container)}
	if errs == nil {
		s.errs = out
	}
	defer e.shells.enter(uid, s, end)()
	if len(command) > 4 && command[1] == "-c" {
		return e.script(ctx, container, command, in, out, s.errs)
	}
	go s.follow(ctx, resize)
	done := make(chan error, 1)
	go func() { done <- s.run(command[1:], in) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done(): // 128 and SIGKILL
		return exit(137)
	}
}

// root is the root directory of a pod's containers.
func (s *Shells) root(uid string) string { return filepath.Join(s.disks, filepath.Base(uid)) }

// script runs sh -c SCRIPT NAME ARGUMENT... with the shell of this machine. An argument that is an absolute path is one
// below the directory of the pod, which has a place for each mount of the container: so it sees its own files, and what
// a volume keeps goes with the pod.
func (e executor) script(ctx context.Context, container string, command []string, in io.Reader, out,
	errs io.Writer) error {
	root := e.shells.root(string(e.pod.UID))
	places := []string{"/tmp"}
	for _, c := range e.pod.Spec.Containers {
		for _, m := range c.VolumeMounts {
			if c.Name == container {
				places = append(places, m.MountPath)
			}
		}
	}
	for _, at := range places {
		if err := os.MkdirAll(filepath.Join(root, at), 0o755); err != nil {
			return err
		}
	}
	arguments := slices.Clone(command[1:])
	for i := 3; i < len(arguments); i++ {
		if strings.HasPrefix(arguments[i], "/") {
			arguments[i] = filepath.Join(root, arguments[i])
		}
	}
	cmd := osexec.CommandContext(ctx, "/bin/sh", arguments...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = root, in, out, errs
	cmd.WaitDelay = time.Second // of a client that leaves its end of the input open
	err := cmd.Run()
	var ended *osexec.ExitError
	if errors.As(err, &ended) {
		return exit(ended.ExitCode())
	}
	return err
}

func envOf(pod *corev1.Pod, container string) []string {
	env := []string{"HOSTNAME=" + pod.Name}
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			for _, v := range c.Env {
				env = append(env, v.Name+"="+v.Value)
			}
		}
	}
	return env
}

// shell is what answers: echo, env, exit, stty size, and two to be a burden: fill N writes N bytes, bytes every byte
// that there is.
type shell struct {
	out, errs io.Writer
	tty       bool
	env       []string

	mu   sync.Mutex
	size remotecommand.TerminalSize
}

func exit(code int) error {
	if code == 0 {
		return nil
	}
	return utilexec.CodeExitError{Err: errors.New("exit status " + strconv.Itoa(code)), Code: code}
}

func (s *shell) follow(ctx context.Context, resize <-chan remotecommand.TerminalSize) {
	for {
		select {
		case <-ctx.Done():
			return
		case size, more := <-resize:
			if !more {
				return
			}
			s.mu.Lock()
			s.size = size
			s.mu.Unlock()
		}
	}
}

// run is sh, or sh -c LINE; a line that ends in another shell (exec sh) is as that shell.
func (s *shell) run(arguments []string, in io.Reader) error {
	if len(arguments) == 2 && arguments[0] == "-c" && !strings.HasSuffix(arguments[1], "exec sh") {
		code, _ := s.do(arguments[1])
		return exit(code)
	}
	if in == nil {
		return nil
	}
	keys, line := bufio.NewReader(in), ""
	s.prompt()
	for {
		k, _, err := keys.ReadRune()
		switch {
		case err != nil, k == 4 && line == "": // Ctrl-D
			return nil
		case k == 3: // Ctrl-C
			line = ""
			s.write("^C\n")
			s.prompt()
		case k == '\r' || k == '\n':
			s.echo("\n")
			code, over := s.do(line)
			if over {
				return exit(code)
			}
			line = ""
			s.prompt()
		case k == 127: // backspace
			if line != "" {
				line = line[:len(line)-1]
				s.echo("\b \b")
			}
		default:
			line += string(k)
			s.echo(string(k))
		}
	}
}

func (s *shell) prompt() { s.echo("$ ") }

// echo is what the line discipline of a terminal sends back.
func (s *shell) echo(text string) {
	if s.tty {
		s.write(text)
	}
}

func (s *shell) write(text string) { s.writeTo(s.out, text) }

func (s *shell) writeTo(stream io.Writer, text string) {
	if s.tty {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	_, _ = io.WriteString(stream, text)
}

func (s *shell) do(line string) (code int, over bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	number, _ := strconv.Atoi(rest)
	switch word {
	case "":
	case "echo":
		s.write(rest + "\n")
	case "env":
		s.write(strings.Join(s.env, "\n") + "\n")
	case "stty":
		s.mu.Lock()
		size := s.size
		s.mu.Unlock()
		s.write(fmt.Sprintf("%d %d\n", size.Height, size.Width))
	case "fill":
		for chunk := strings.Repeat("0123456789abcde\n", 256); number > 0; number -= len(chunk) {
			if _, err := io.WriteString(s.out, chunk[:min(number, len(chunk))]); err != nil {
				return 1, true
			}
		}
	case "bytes":
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		_, _ = s.out.Write(all)
	case "exit":
		return number, true
	default:
		s.writeTo(s.errs, "sh: "+word+": not found\n")
		return 127, false
	}
	return 0, false
}
