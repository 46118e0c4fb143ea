// Package part starts, watches and stops the programs that the devstack consists of. A part that ends without having
// been told to is a Death; a part that was stopped or frozen on purpose is not.
package part

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Spec says how a part is started and how one sees that it is ready.
type Spec struct {
	Name string
	Path string
	Args []string
	Env  []string // added to the environment of the devstack
	// Ready is asked again and again until it answers nil.
	Ready func(ctx context.Context) error
	// ReadyWithin is the patience with Ready; StopWithin that between SIGTERM and SIGKILL.
	ReadyWithin, StopWithin time.Duration
}

// State of a part.
type State string

// The states of a part. Died means: it ended by itself.
const (
	Stopped State = "stopped"
	Running State = "running"
	Frozen  State = "frozen"
	Died    State = "died"
)

// Part is one child program.
type Part struct {
	Spec
	logDir string
	deaths chan<- Death

	op      sync.Mutex // one of start, stop, freeze, thaw at a time
	mu      sync.Mutex // guards what follows
	state   State
	cmd     *exec.Cmd
	exited  chan struct{}
	wanted  bool // it should be running
	started time.Time
}

// Death tells that a part ended without having been told to.
type Death struct {
	Name, Why, LastLines string
}

func newPart(spec Spec, logDir string, deaths chan<- Death) *Part {
	return &Part{Spec: spec, logDir: logDir, deaths: deaths, state: Stopped}
}

// State says what the part does now, since when, and as which process.
func (p *Part) State() (state State, pid int, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil && p.cmd.Process != nil && (p.state == Running || p.state == Frozen) {
		pid = p.cmd.Process.Pid
	}
	return p.state, pid, p.started
}

// Start starts the part and waits until it is ready. A part that runs already is left alone.
func (p *Part) Start(ctx context.Context) error {
	p.op.Lock()
	defer p.op.Unlock()
	if state, _, _ := p.State(); state == Running || state == Frozen {
		return nil
	}
	if err := p.launch(); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	return p.waitReady(ctx)
}

func (p *Part) launch() error {
	log, err := openLog(p.LogPath())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), p.Env...)
	// A group of its own: Ctrl-C in the terminal reaches only the devstack, which then stops the parts in order.
	// Pdeathsig: the parts do not outlive a devstack that was killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := onParentThread(cmd.Start); err != nil {
		return err
	}
	exited := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.exited, p.state, p.wanted, p.started = cmd, exited, Running, true, time.Now()
	p.mu.Unlock()
	go p.watch(cmd, exited)
	return nil
}

func (p *Part) watch(cmd *exec.Cmd, exited chan struct{}) {
	err := cmd.Wait()
	p.mu.Lock()
	unexpected := p.wanted
	p.wanted = false
	p.state = Stopped
	if unexpected {
		p.state = Died
	}
	p.mu.Unlock()
	close(exited)
	if unexpected {
		why := "ended"
		if err != nil {
			why = err.Error()
		}
		p.deaths <- Death{Name: p.Name, Why: why, LastLines: lastLines(p.LogPath(), 5)}
	}
}

func (p *Part) waitReady(ctx context.Context) error {
	if p.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.ReadyWithin)
	defer cancel()
	p.mu.Lock()
	exited := p.exited
	p.mu.Unlock()
	var last error
	for {
		attempt, done := context.WithTimeout(ctx, 2*time.Second)
		last = p.Ready(attempt)
		done()
		if last == nil {
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("%s ended while starting; its last lines:\n%s", p.Name, lastLines(p.LogPath(), 5))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s (%w); log: %s", p.Name, p.ReadyWithin, last, p.LogPath())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends the part: with SIGTERM and, when that is not enough, with SIGKILL; or with SIGKILL at once.
func (p *Part) Stop(kill bool) error {
	p.op.Lock()
	defer p.op.Unlock()
	p.mu.Lock()
	cmd, exited, state := p.cmd, p.exited, p.state
	p.wanted = false
	p.mu.Unlock()
	if state != Running && state != Frozen {
		p.setState(Stopped)
		return nil
	}
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	if err := signalGroup(cmd, sig); err != nil {
		return err
	}
	_ = signalGroup(cmd, syscall.SIGCONT) // a frozen process does not hear SIGTERM
	select {
	case <-exited:
	case <-time.After(p.StopWithin):
		_ = signalGroup(cmd, syscall.SIGKILL)
		<-exited
	}
	return nil
}

// Freeze holds the part with SIGSTOP: its ports stay open, nothing answers.
func (p *Part) Freeze() error { return p.hold(syscall.SIGSTOP, Running, Frozen) }

// Thaw lets a frozen part go on.
func (p *Part) Thaw() error { return p.hold(syscall.SIGCONT, Frozen, Running) }

func (p *Part) hold(sig syscall.Signal, from, to State) error {
	p.op.Lock()
	defer p.op.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == to {
		return nil
	}
	if p.state != from {
		return fmt.Errorf("%s is %s", p.Name, p.state)
	}
	if err := signalGroup(p.cmd, sig); err != nil {
		return err
	}
	p.state = to
	return nil
}

func (p *Part) setState(s State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
}

// LogPath is the file that receives what the part prints.
func (p *Part) LogPath() string { return filepath.Join(p.logDir, p.Name+".log") }

func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
