package part

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Group is all parts of one devstack in the order in which they start.
type Group struct {
	logDir string
	parts  []*Part
	deaths chan Death
}

// NewGroup has no parts yet; what they print goes to files in logDir.
func NewGroup(logDir string) *Group {
	return &Group{logDir: logDir, deaths: make(chan Death, 32)}
}

// Add puts a part at the end of the order. It does not start it.
func (g *Group) Add(spec Spec) *Part {
	p := newPart(spec, g.logDir, g.deaths)
	g.parts = append(g.parts, p)
	return p
}

// Deaths tells of parts that ended by themselves.
func (g *Group) Deaths() <-chan Death { return g.deaths }

// Parts are all parts in the order of their start.
func (g *Group) Parts() []*Part { return slices.Clone(g.parts) }

// Find finds a part by its name; kube- may be left out.
func (g *Group) Find(name string) (*Part, error) {
	for _, p := range g.parts {
		if p.Name == name || strings.TrimPrefix(p.Name, "kube-") == name {
			return p, nil
		}
	}
	var names []string
	for _, p := range g.parts {
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("no part %q; there are %s", name, strings.Join(names, ", "))
}

// Start starts all parts, one after the other.
func (g *Group) Start(ctx context.Context) error {
	for _, p := range g.parts {
		if err := p.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops all parts in reverse order and says which could not be stopped.
func (g *Group) Stop() error {
	var failed []string
	for _, p := range slices.Backward(g.parts) {
		if err := p.Stop(false); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", p.Name, err))
		}
	}
	if failed != nil {
		return fmt.Errorf("stop: %s", strings.Join(failed, "; "))
	}
	return nil
}
