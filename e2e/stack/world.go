// Package stack starts the whole world for the demo and for tests: devstack (control plane, nodes, Prometheus, sign-in)
// and the portal itself as a real process, so that it can be killed.
package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Ready is what devstack tells of itself when everything answers.
type Ready struct {
	Kubeconfig       string `json:"kubeconfig"`
	APIServer        string `json:"apiserver"`
	Prometheus       string `json:"prometheus"`
	OIDCIssuer       string `json:"oidc_issuer"`
	OIDCClientID     string `json:"oidc_client_id"`
	OIDCClientSecret string `json:"oidc_client_secret"`
	SOCKS5           string `json:"socks5"`
	Control          string `json:"control"`
	LicenseServer    string `json:"license_server"`
	AuditLog         string `json:"audit_log"`
	Users            []User `json:"users"`
	// UserTokens are theirs of the API server, by subject; its name for them is oidc:SUBJECT.
	UserTokens map[string]string `json:"user_tokens"`
}

// User is a person whom the sign-in provider knows.
type User struct {
	Sub    string   `json:"sub"`
	Name   string   `json:"name"`
	Email  string   `json:"email"`
	Groups []string `json:"groups"`
	What   string   `json:"what"`
}

// User finds a person by subject.
func (r Ready) User(sub string) (User, bool) {
	for _, u := range r.Users {
		if u.Sub == sub {
			return u, true
		}
	}
	return User{}, false
}

// ReadyVariable names the environment variable with the path of a running devstack's ready file.
const ReadyVariable = "DEVSTACK_READY"

// ReadReady reads a ready file.
func ReadReady(path string) (Ready, error) {
	var r Ready
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r)
}

// Root is the top of the source tree, found from the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "e2e", "devstack", "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("not inside the source tree of the portal")
}

// Bin is where make puts the programs.
func Bin(root, name string) string { return filepath.Join(root, ".cache", "bin", name) }

// World is a running devstack.
type World struct {
	Ready Ready
	File  string // the ready file
	cmd   *exec.Cmd
	done  chan error
}

// Options says how to start a devstack.
type Options struct {
	Root  string
	Data  string // kept from one start to the next
	Nodes int
	Out   io.Writer // its progress lines
}

// Up starts a devstack and waits until everything answers. The context ends the wait, not the devstack: Stop does.
func Up(ctx context.Context, o Options) (*World, error) {
	if err := os.MkdirAll(o.Data, 0o755); err != nil {
		return nil, err
	}
	w := &World{File: filepath.Join(o.Data, "ready.json"), done: make(chan error, 1)}
	args := []string{"up", "--bin", filepath.Join(o.Root, ".cache", "devstack", "bin"), "--data", o.Data, "--signin",
		Bin(o.Root, "signin"), "--ready-file", w.File}
	if o.Nodes > 0 {
		args = append(args, "--nodes", fmt.Sprint(o.Nodes))
	}
	w.cmd = exec.Command(Bin(o.Root, "devstack"), args...)
	w.cmd.Stdout, w.cmd.Stderr = o.Out, o.Out
	// A group of its own: Ctrl-C in the terminal reaches us only, and we stop things in order. It dies with us if we are
	// killed.
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start devstack (run `make build` first?): %w", err)
	}
	go func() { w.done <- w.cmd.Wait() }()
	return w, w.wait(ctx, time.Now())
}

// wait takes a ready file of this start only: an older one is what a killed devstack left, or belongs to one that still
// runs.
func (w *World) wait(ctx context.Context, started time.Time) error {
	for {
		if info, err := os.Stat(w.File); err == nil && info.ModTime().After(started) {
			if r, err := ReadReady(w.File); err == nil {
				w.Ready = r
				return nil
			}
		}
		select {
		case err := <-w.done:
			w.done <- err
			return fmt.Errorf("devstack ended before it was ready: %w", orUnknown(err))
		case <-ctx.Done():
			w.Stop()
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("no reason given")
	}
	return err
}

// Done says when devstack has ended by itself.
func (w *World) Done() <-chan error { return w.done }

// Stop stops everything in order and waits for it.
func (w *World) Stop() { stop(w.cmd, w.done, 60*time.Second) }

// stop asks a process to end, and kills it when it does not within the time.
func stop(cmd *exec.Cmd, done chan error, patience time.Duration) {
	if cmd == nil || cmd.Process == nil {
		return
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-done:
		done <- err
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		done <- <-done
	}
}
