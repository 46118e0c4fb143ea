package fleetmap

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// Map is the GPUs of one cluster.
type Map struct {
	Cluster    string
	TakenAt    time.Time // of the inventory
	MeasuredAt time.Time // when Prometheus answered; zero for never
	Nodes      []Node    // by name
	Groups     []Group   // those with the most cards first
	Parts      int       // of all cards
	Cards      int
	Structure  uint64 // the same for maps whose nodes, cards and parts are the same
}

// Group is nodes of one model that hand out their GPUs alike.
type Group struct {
	ID    string
	Model string         // as labels spell it; "" where nobody says
	Unit  inventory.Unit // what is handed out
	Pool  string         // of nodes, where a label names one
	Nodes []int          // places in Map.Nodes
	Cards int
	Parts int
}

// Node is one machine, or a pool of devices that several machines reach.
type Node struct {
	Name        string
	Model       string
	Ready       bool
	Cordoned    bool
	Quarantined bool
	Warnings    int
	Measured    bool // Prometheus speaks of it
	Attached    bool // a pool, and no machine
	Cards       []Card
}

// Usable reports whether new pods may come to it.
func (n *Node) Usable() bool { return n.Ready && !n.Cordoned && !n.Quarantined }

// Card is one physical GPU, or a virtual one.
type Card struct {
	UUID, Model string
	Quarantined bool
	Unhealthy   bool         // the driver has lost it, or the device plugin has taken away as many of its node
	Level       health.Level // Unknown where nobody has looked, or the caller may not know
	Whole       int          // of how many units it is; parts have so many together, or fewer
	First       int          // place of its first part in a Paint
	Parts       []Part
}

// Part is what can be held of a card: all of it, a slice, or a share.
type Part struct {
	Profile  string // of a slice
	Instance string // number of a slice, as the exporter knows it
	Share    bool   // others use the same card or slice
	Size     int    // in units of its card
	Gap      bool   // not cut: nothing that could be held
	Use      gpumetrics.Reading
	Memory   gpumetrics.Reading
	Total    gpumetrics.Reading
	Pods     []gpumetrics.Pod // that hold it
	// its node has more holders than are known by card: this one of them may be on another card
	Assumed bool
}

// Held reports whether a pod holds it.
func (p *Part) Held() bool { return len(p.Pods) > 0 }

// Sources are what a Map is joined from.
type Sources struct {
	Inventory inventory.Snapshot
	Fleet     *gpumetrics.Fleet                  // nil: Prometheus has not answered
	Levels    map[string]map[string]health.Level // of cards, by node and UUID; nil: the caller may not know
}

// Join makes the map.
func Join(s Sources) *Map {
	m := &Map{Cluster: s.Inventory.Cluster, TakenAt: s.Inventory.TakenAt}
	measured := map[string]*gpumetrics.Node{}
	if s.Fleet != nil {
		m.MeasuredAt = s.Fleet.At
		for i := range s.Fleet.Nodes {
			measured[s.Fleet.Nodes[i].Name] = &s.Fleet.Nodes[i]
		}
	}
	groups, slicing := map[groupKey]int{}, slicesOf{}
	add := func(n Node, key groupKey) {
		if len(n.Cards) == 0 {
			return
		}
		at, ok := groups[key]
		if !ok {
			at, groups[key] = len(m.Groups), len(m.Groups)
			m.Groups = append(m.Groups, Group{ID: key.id(), Model: key.model, Unit: key.unit, Pool: key.pool})
		}
		g := &m.Groups[at]
		g.Nodes, g.Cards = append(g.Nodes, len(m.Nodes)), g.Cards+len(n.Cards)
		for i := range n.Cards {
			g.Parts += len(n.Cards[i].Parts)
		}
		m.Nodes = append(m.Nodes, n)
	}
	nodes := slices.Clone(s.Inventory.Nodes)
	slices.SortFunc(nodes, func(a, b inventory.Node) int { return natural(a.Name, b.Name) })
	for i := range nodes {
		n := &nodes[i]
		unit := unitOf(n)
		add(slicing.join(n, unit, measured[n.Name], s.Levels[n.Name]), groupKey{modelOf(n), unit, poolOf(n)})
		delete(measured, n.Name)
	}
	for _, a := range s.Inventory.Attached {
		n := Node{Name: a.Pool, Ready: true, Attached: true, Cards: slicing.deviceCards(a.Devices)}
		if len(n.Cards) > 0 {
			n.Model = inventory.KindOfDevice(a.Devices[0]).Model
		}
		add(n, groupKey{n.Model, inventory.Card, ""})
	}
	if s.Fleet != nil {
		for i := range s.Fleet.Nodes { // that the API server does not know: cards which no series places
			if f := &s.Fleet.Nodes[i]; measured[f.Name] != nil && len(f.Cards) > 0 {
				add(Node{Name: f.Name, Ready: true, Measured: true, Model: f.Cards[0].Model, Cards: slicing.measuredCards(f, nil)},
					groupKey{f.Cards[0].Model, inventory.Card, ""})
			}
		}
	}
	slices.SortStableFunc(m.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Cards, a.Cards), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Unit, b.Unit),
			cmp.Compare(a.Pool, b.Pool))
	})
	m.number()
	return m
}

type groupKey struct {
	model string
	unit  inventory.Unit
	pool  string
}

func (k groupKey) id() string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(k.model + "\x00" + string(k.unit) + "\x00" + k.pool))
	return "g" + strconv.FormatUint(uint64(sum.Sum32()), 36)
}

// number gives every part its place in a Paint, and sums up the structure.
func (m *Map) number() {
	sum := fnv.New64a()
	var number [8]byte
	for i := range m.Nodes {
		_, _ = sum.Write([]byte(m.Nodes[i].Name))
		for j := range m.Nodes[i].Cards {
			c := &m.Nodes[i].Cards[j]
			c.First = m.Parts
			m.Parts += len(c.Parts)
			m.Cards++
			for _, p := range c.Parts {
				binary.LittleEndian.PutUint64(number[:], uint64(p.Size)<<16|uint64(c.Whole))
				_, _ = sum.Write(append(number[:], p.Profile...))
			}
		}
	}
	m.Structure = sum.Sum64()
}

// Group is the one with an id.
func (m *Map) Group(id string) (Group, bool) {
	i := slices.IndexFunc(m.Groups, func(g Group) bool { return g.ID == id })
	if i < 0 {
		return Group{}, false
	}
	return m.Groups[i], true
}

// Node is the one with a name.
func (m *Map) Node(name string) (*Node, bool) {
	i := slices.IndexFunc(m.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return nil, false
	}
	return &m.Nodes[i], true
}

// natural compares names so that node-9 comes before node-10.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		i, j := digits(x), digits(y)
		if i > 0 && j > 0 {
			p, q := strings.TrimLeft(x[:i], "0"), strings.TrimLeft(y[:j], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[i:], y[j:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digits is how many a text begins with.
func digits(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}
