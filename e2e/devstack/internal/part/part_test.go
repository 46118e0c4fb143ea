package part

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func shell(name, script string) Spec {
	return Spec{Name: name, Path: "/bin/sh", Args: []string{"-c", script}, ReadyWithin: time.Minute,
		StopWithin: 500 * time.Millisecond}
}

func state(p *Part) State {
	s, _, _ := p.State()
	return s
}

func TestStopIsNoDeath(t *testing.T) {
	g := NewGroup(t.TempDir())
	p := g.Add(shell("calm", "exec sleep 100"))
	stubborn := g.Add(shell("stubborn", "trap '' TERM; while :; do sleep 0.1; done"))
	if err := g.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := p.Freeze(); err != nil || state(p) != Frozen {
		t.Fatalf("want it frozen, got %s, %v", state(p), err)
	}
	if err := g.Stop(); err != nil || state(p) != Stopped || state(stubborn) != Stopped {
		t.Fatalf("want both stopped, got %s, %s, %v", state(p), state(stubborn), err)
	}
	select {
	case d := <-g.Deaths():
		t.Errorf("want no death, got %v", d)
	case <-time.After(50 * time.Millisecond):
	}
	if err := p.Start(context.Background()); err != nil || state(p) != Running {
		t.Errorf("want it to run again, got %s, %v", state(p), err)
	}
	_ = g.Stop()
}

func TestDeathTellsItsLastWords(t *testing.T) {
	g := NewGroup(t.TempDir())
	p := g.Add(shell("dying", "echo one; echo two >&2; exit 3"))
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	d := <-g.Deaths()
	if d.Name != "dying" || !strings.Contains(d.Why, "3") || !strings.Contains(d.LastLines, "two") {
		t.Errorf("want the code and the last lines, got %+v", d)
	}
	if state(p) != Died {
		t.Errorf("want it dead, got %s", state(p))
	}
}

func TestReadyIsWaitedFor(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "flag")
	spec := shell("slow", "sleep 0.3; touch "+flag+"; exec sleep 100")
	spec.Ready = func(context.Context) error { _, err := os.Stat(flag); return err }
	g := NewGroup(t.TempDir())
	p := g.Add(spec)
	defer g.Stop()
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(flag); err != nil {
		t.Errorf("want the part ready, got %v", err)
	}
	never := shell("never", "exit 1")
	never.Ready = func(context.Context) error { return errors.New("no") }
	if err := g.Add(never).Start(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "ended while starting") {
		t.Errorf("want to be told that it ended, got %v", err)
	}
}

func TestFind(t *testing.T) {
	g := NewGroup(t.TempDir())
	g.Add(Spec{Name: "kube-apiserver"})
	if p, err := g.Find("apiserver"); err != nil || p.Name != "kube-apiserver" {
		t.Errorf("want the API server by its short name, got %v", err)
	}
	if _, err := g.Find("nothing"); err == nil || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("want to be told what there is, got %v", err)
	}
}
