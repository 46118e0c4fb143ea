package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// FindingKind is the kind of a mismatch.
type FindingKind string

// The kinds of finding.
const (
	Unoffered FindingKind = "unoffered"  // nodes have it, no size chooses it
	NeverRuns FindingKind = "never-runs" // a size asks for it, no node has it
	Unserved  FindingKind = "unserved"   // an image names a ServingRuntime that no cluster has as it needs it
)

// Finding is one mismatch between the catalog and the nodes.
type Finding struct {
	Kind     FindingKind `json:"kind"`
	Cluster  string      `json:"cluster"`            // "" for a size that is offered everywhere and runs nowhere
	Size     string      `json:"size,omitempty"`     // never-runs: its name
	Image    string      `json:"image,omitempty"`    // unserved: its name
	Resource string      `json:"resource,omitempty"` // extended resource, driver of claimed devices, or ServingRuntime
	Model    string      `json:"model,omitempty"`    // display name of the card: "H100 80GB HBM3"
	Count    int64       `json:"count"`              // unoffered: how many the nodes can give out
	Reason   i18n.Text   `json:"reason"`
	// unoffered: a size that would offer them; nil where Reason says why none can be written
	Proposal *catalog.Size `json:"proposal,omitempty"`
}

// Compare holds the catalog against what clusters have. A hidden size counts as an offer: an administrator has taken
// it back on purpose. Devices that only virtual machines can take are no finding, and neither is a node that is being
// changed.
func Compare(c catalog.Catalog, snapshots []inventory.Snapshot) []Finding {
	var findings []Finding
	for i := range snapshots {
		findings = append(findings, unoffered(c, &snapshots[i])...)
	}
	name(c, findings)
	return slices.Concat(findings, neverRuns(c, snapshots), unserved(c, snapshots))
}

// group is everything that one size would offer: the same card, cut and placed alike.
type group struct {
	cluster string
	unit    unit
	count   int64
	taints  []inventory.Taint
	room    room
}

func unoffered(c catalog.Catalog, s *inventory.Snapshot) []Finding {
	groups := map[string]*group{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if reserved(n) {
			continue
		}
		for _, o := range offerable(n) {
			if !offers(c, s.Cluster, n, o) {
				gather(groups, s.Cluster, n, o)
			}
		}
	}
	var findings []Finding
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		findings = append(findings, groups[key].finding(c))
	}
	return findings
}

// reserved: nodes of the control plane are nobody's to offer, whatever they have.
func reserved(n *inventory.Node) bool {
	return slices.ContainsFunc(n.Taints, func(t inventory.Taint) bool {
		return t.Key == "node-role.kubernetes.io/control-plane" || t.Key == "node-role.kubernetes.io/master"
	})
}

// offer is some of one unit on one node.
type offer struct {
	unit   unit
	count  int64
	device *inventory.Device // of a DRA driver; nil for an extended resource
	part   bool              // of a card that is an offer as well
}

func offerable(n *inventory.Node) []offer {
	var list []offer
	for _, r := range n.Resources {
		if r.Allocatable <= 0 {
			continue
		}
		if u, ok := unitOf(n, r); ok {
			list = append(list, offer{unit: u, count: r.Allocatable})
		}
	}
	for i := range n.Devices {
		if u, ok := deviceUnit(&n.Devices[i]); ok {
			list = append(list, offer{unit: u, count: 1, device: &n.Devices[i], part: len(n.Devices[i].Consumes) > 0 &&
				u.share < 1})
		}
	}
	return list
}

// offers reports whether some size chooses it on this node.
func offers(c catalog.Catalog, cluster string, n *inventory.Node, o offer) bool {
	return slices.ContainsFunc(c.Sizes, func(s catalog.Size) bool {
		return s.OfferedOn(cluster) && selectsNode(s.Placement, n.Labels) &&
			tolerates(s.Placement.Tolerations, persistentTaints(n.Taints)) && takes(s, o)
	})
}

func takes(s catalog.Size, o offer) bool {
	a := s.Accelerator
	switch {
	case o.device != nil:
		return a.Claim != nil && claims(*a.Claim, o.device)
	case a.Resource == "" && len(a.Extra) == 0 && a.Claim == nil && !s.CPUOnly():
		// An annotation that another scheduler reads: it gives out what is on the nodes that were set aside for it.
		return len(s.Placement.NodeSelector)+len(s.Placement.NodeMatch) > 0
	}
	_, extra := a.Extra[o.unit.resource]
	return a.Resource == o.unit.resource || extra
}

// claims reports whether some request of a claim would take the device.
func claims(c catalog.Claim, d *inventory.Device) bool {
	ready, ok := claimOf(&c)
	if !ok {
		return false
	}
	return slices.ContainsFunc(ready.requests, func(r deviceRequest) bool {
		return slices.ContainsFunc(r.options, func(o option) bool { yes, err := o.matches(d); return yes && err == nil })
	})
}

func gather(groups map[string]*group, cluster string, n *inventory.Node, o offer) {
	u := o.unit
	// fmt sorts maps by key
	key := fmt.Sprint(cluster, "|", u.resource, "|", u.model, "|", u.technology, "|", u.profile, "|", u.problem.ID, "|",
		u.selector)
	g := groups[key]
	if g == nil {
		g = &group{cluster: cluster, unit: u}
		groups[key] = g
	}
	g.count += o.count
	for _, t := range persistentTaints(n.Taints) {
		if !slices.Contains(g.taints, t) {
			g.taints = append(g.taints, t)
		}
	}
	g.room = g.room.atMost(roomOf(n, u.share))
}

func (g *group) finding(c catalog.Catalog) Finding {
	f := Finding{Kind: Unoffered, Cluster: g.cluster, Resource: g.unit.resource, Model: g.unit.model, Count: g.count,
		Reason: g.unit.problem}
	if !f.Reason.IsZero() {
		return f
	}
	f.Reason = i18n.T("capacity.unoffered", "Count", int(g.count), "Resource", g.unit.resource)
	f.Proposal = propose(c, g)
	if f.Proposal == nil {
		f.Reason = i18n.T("capacity.no_room", "Resource", g.unit.resource)
	}
	return f
}

// name gives each proposal a name that neither the catalog nor another proposal has. The same unit in two clusters is
// two sizes: each names its own.
func name(c catalog.Catalog, findings []Finding) {
	taken := map[string]bool{}
	for _, s := range c.Sizes {
		taken[s.Name] = true
	}
	for _, f := range findings {
		if f.Proposal == nil {
			continue
		}
		f.Proposal.Name = free(f.Proposal.Name, f.Model, taken)
		taken[f.Proposal.Name] = true
	}
}

func free(name, model string, taken map[string]bool) string {
	if !taken[name] {
		return name
	}
	if longer := slug(name + "-" + model); !strings.HasSuffix(name, slug(model)) && !taken[longer] {
		return longer
	}
	for i := 2; ; i++ {
		if next := fmt.Sprintf("%.58s-%d", name, i); !taken[next] {
			return next
		}
	}
}

// room is the CPU and memory that stand beside one unit.
type room struct{ milliCPU, bytes int64 }

// atMost is the smaller of both; the zero room says nothing yet.
func (r room) atMost(o room) room {
	if r == (room{}) {
		return o
	}
	return room{min(r.milliCPU, o.milliCPU), min(r.bytes, o.bytes)}
}

// spare is the part of a node that sizes leave to what else runs on it.
const spare = 0.1

// roomOf divides what the node has by its cards, so that all of a node can be taken. Cards are counted by the shares
// that the node advertises: sixteen slices of a seventh, eight of two and eight of three are eight cards.
func roomOf(n *inventory.Node, share float64) room {
	cards := 0.0
	for _, o := range offerable(n) {
		if !o.part {
			cards += float64(o.count) * o.unit.share
		}
	}
	if cards <= 0 {
		return room{}
	}
	part := min(1, share/cards) * (1 - spare)
	return room{int64(float64(n.CPU.Allocatable) * part), int64(float64(n.Memory.Allocatable) * part)}
}

// byOrder sorts taints, so that the same nodes give the same size.
func byOrder(a, b inventory.Taint) int {
	return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Effect, b.Effect), strings.Compare(a.Value, b.Value))
}
