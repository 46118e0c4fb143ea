package gpumetrics

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
)

// Fleet is what every device of a cluster does, by node and card. One is made for each poll, for all who look; nobody
// changes it.
type Fleet struct {
	At    time.Time // when Prometheus answered
	Nodes []Node    // in the order of their names
}

// Node is one machine; "" is that of cards which no series places.
type Node struct {
	Name  string
	Cards []CardUse
}

// CardUse is one physical card: one cell, or one for each of its slices.
type CardUse struct {
	UUID, Model string
	Cells       []Cell
}

// Cell is a card that is not cut, or a slice.
type Cell struct {
	Instance, Profile string
	Part              float64 // of its card's compute, for a slice whose profile says it; otherwise 1
	Engine            Reading
	Memory, Total     Reading
	Pods              []Pod // that hold it, as far as the exporter names them
}

// Pod names a pod.
type Pod struct{ Namespace, Name string }

// Held reports whether a pod is known to hold the device.
func (c Cell) Held() bool { return len(c.Pods) > 0 }

// Fleet is what is known of all devices now; nil before the first answer. It never waits, and is the same value until
// the next poll.
func (p *Poller) Fleet() *Fleet {
	p.mu.Lock()
	s := p.samples
	p.mu.Unlock()
	switch {
	case s == nil:
		return nil
	case p.cfg.Now().Sub(s.at) > p.cfg.KeepFor:
		return s.silent()
	}
	return s.fleet()
}

// prepare makes the views of a sample set that are worked out only when somebody looks.
func (s *sampleSet) prepare() {
	s.fleet = sync.OnceValue(func() *Fleet { return s.newFleet(func(r Reading) Reading { return r }) })
	s.silent = sync.OnceValue(func() *Fleet { return s.newFleet(func(r Reading) Reading { return r.without(NoAnswer) }) })
}

func (s *sampleSet) newFleet(seen func(Reading) Reading) *Fleet {
	all := make([]*device, 0, len(s.devices))
	for _, d := range s.devices {
		if !d.synthetic && !(d.Instance == "" && s.partitioned[d.UUID]) { // of a cut card the slices are told
			all = append(all, d)
		}
	}
	slices.SortFunc(all, inOrder)
	f := &Fleet{At: s.at}
	for _, d := range all {
		if n := len(f.Nodes); n == 0 || f.Nodes[n-1].Name != d.Node {
			f.Nodes = append(f.Nodes, Node{Name: d.Node})
		}
		n := &f.Nodes[len(f.Nodes)-1]
		if c := len(n.Cards); c == 0 || n.Cards[c-1].UUID != d.UUID {
			n.Cards = append(n.Cards, CardUse{UUID: d.UUID, Model: d.Model})
		}
		c := &n.Cards[len(n.Cards)-1]
		c.Cells = append(c.Cells, s.cell(d, seen))
	}
	return f
}

func (s *sampleSet) cell(d *device, seen func(Reading) Reading) Cell {
	now := s.of(d, podKey{})
	c := Cell{Instance: d.Instance, Profile: d.Profile, Part: 1, Engine: seen(now.Engine), Memory: seen(now.MemoryUsed),
		Total: seen(now.MemoryTotal)}
	if d.Instance != "" {
		c.Part = cmp.Or(s.sliceOf(d), 1/float64(hardware.SlicesOf(d.Model)))
	}
	for _, p := range d.pods {
		c.Pods = append(c.Pods, Pod{p.pod.namespace, p.pod.pod})
	}
	return c
}
