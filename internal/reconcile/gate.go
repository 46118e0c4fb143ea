package reconcile

import (
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/drift"
)

// gate says what may be touched in a cluster: nothing until it was compared with the database; while it is held only
// what an administrator has decided; and never what was let go.
type gate struct {
	mu       sync.Mutex
	checked  bool
	held     bool
	decided  map[string]bool // while held; lasts until work goes on, for a decision goes with its difference
	released map[string]bool
}

func resourceKey(t drift.ResourceKind, key string) string { return string(t) + " " + key }

// may reports whether a workload or storage may be looked after.
func (g *gate) may(t drift.ResourceKind, key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	name := resourceKey(t, key)
	return g.checked && !g.released[name] && (!g.held || g.decided[name])
}

// open reports whether work in the cluster goes on as usual.
func (g *gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.checked && !g.held
}

func (g *gate) isHeld() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.checked && g.held
}

func (g *gate) wasChecked() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.checked
}

// set notes whether the cluster is held, and reports whether it was until now.
func (g *gate) set(held bool) (was bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was, g.checked, g.held = g.checked && g.held, true, held
	if !held {
		g.decided = nil
	}
	return was
}

// decide applies the decisions of administrators, and gives what may be looked after from now on.
func (g *gate) decide(list []drift.Difference) (fresh []drift.Difference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.released = map[string]bool{}
	if g.decided == nil {
		g.decided = map[string]bool{}
	}
	for _, d := range list {
		name := resourceKey(d.ResourceKind, d.Key)
		switch {
		case d.Decision == drift.Release:
			g.released[name] = true
		case !d.Open() && !g.decided[name]:
			g.decided[name] = true
			fresh = append(fresh, d)
		}
	}
	return fresh
}
