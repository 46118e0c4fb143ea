package capacity

import (
	"maps"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// neverRuns finds sizes that no node could take even when it is empty. A size that is offered everywhere is a finding
// when it runs nowhere; one that names clusters, for each of them. A cluster without nodes says nothing: its picture is
// still being taken.
func neverRuns(c catalog.Catalog, snapshots []inventory.Snapshot) []Finding {
	var findings []Finding
	for _, size := range c.Sizes {
		if size.Hidden {
			continue
		}
		nearest, seen, runs := Finding{}, 0, false
		for i := range snapshots {
			s := &snapshots[i]
			if len(s.Nodes) == 0 || !size.OfferedOn(s.Cluster) {
				continue
			}
			seen++
			reason := neverReason(s, size)
			if reason.IsZero() {
				runs = true
				continue
			}
			f := Finding{Kind: NeverRuns, Cluster: s.Cluster, Size: size.Name, Resource: resourceOf(size),
				Model: size.Accelerator.Model, Reason: reason}
			if len(size.Clusters) > 0 {
				findings = append(findings, f)
			}
			nearest = f
		}
		if len(size.Clusters) == 0 && seen > 0 && !runs {
			if seen > 1 {
				nearest.Cluster = ""
			}
			findings = append(findings, nearest)
		}
	}
	return findings
}

// NeverFits reports whether no node of a cluster could take one of a size even when it is empty, also of technologies
// that nodes do not count. A cluster without nodes says nothing.
func NeverFits(s inventory.Snapshot, size catalog.Size) bool {
	return len(s.Nodes) > 0 && !neverReason(&s, size).IsZero()
}

func resourceOf(size catalog.Size) string {
	if size.Accelerator.Resource != "" {
		return size.Accelerator.Resource
	}
	if c := size.Accelerator.Claim; c != nil && len(c.Requests) > 0 {
		r := c.Requests[0]
		if len(r.FirstAvailable) > 0 {
			r = r.FirstAvailable[0]
		}
		return r.DeviceClass
	}
	return strings.Join(slices.Sorted(maps.Keys(size.Accelerator.Extra)), ", ")
}

// neverReason filters nodes through the predicates, as kube-scheduler does, and gives the reason of the one that leaves
// none; zero where a node passes all. Readiness and cordons are temporary and no predicates here.
func neverReason(s *inventory.Snapshot, size catalog.Size) i18n.Text {
	n, ok := requirementsOf(size)
	if !ok {
		return i18n.Text{} // nothing can be told of it
	}
	nodes := make([]*inventory.Node, 0, len(s.Nodes))
	for i := range s.Nodes {
		if reconfiguring(&s.Nodes[i]) && selectsNode(size.Placement, s.Nodes[i].Labels) {
			return i18n.Text{} // its devices are away for a while
		}
		nodes = append(nodes, &s.Nodes[i])
	}
	for _, predicate := range predicates {
		passed := slices.DeleteFunc(slices.Clone(nodes),
			func(node *inventory.Node) bool { return !predicate.passes(node, n, size) })
		if len(passed) == 0 {
			return predicate.reason(nodes, n, size)
		}
		nodes = passed
	}
	return i18n.Text{}
}

// changing: the MIG manager takes the devices of a node away while it cuts the cards anew.
func reconfiguring(n *inventory.Node) bool {
	state := n.Labels["nvidia.com/mig.config.state"]
	return state == "pending" || state == "rebooting"
}

// predicates are asked in the order in which their reasons help: hardware first, then what chooses nodes, then how much
// of it.
var predicates = []struct {
	passes func(*inventory.Node, requirements, catalog.Size) bool
	reason func([]*inventory.Node, requirements, catalog.Size) i18n.Text
}{
	{hasAll, func(nodes []*inventory.Node, n requirements, _ catalog.Size) i18n.Text {
		return i18n.T("capacity.no_resource", "Resource", missing(nodes, n))
	}},
	{func(node *inventory.Node, _ requirements, s catalog.Size) bool {
		return selectsNode(s.Placement, node.Labels)
	}, wrongLabels},
	{func(node *inventory.Node, _ requirements, s catalog.Size) bool {
		return tolerates(s.Placement.Tolerations, persistentTaints(node.Taints))
	}, untolerated},
	{func(node *inventory.Node, n requirements, _ catalog.Size) bool { return sufficient(node, n) }, insufficient},
	{func(node *inventory.Node, n requirements, _ catalog.Size) bool {
		return node.CPU.Allocatable >= n.milliCPU
	},
		func([]*inventory.Node, requirements, catalog.Size) i18n.Text {
			return i18n.T("capacity.little_cpu")
		}},
	{func(node *inventory.Node, n requirements, _ catalog.Size) bool {
		return node.Memory.Allocatable >= n.bytes
	},
		func([]*inventory.Node, requirements, catalog.Size) i18n.Text {
			return i18n.T("capacity.little_memory")
		}},
	{allocates, func([]*inventory.Node, requirements, catalog.Size) i18n.Text { return i18n.T("capacity.no_device") }},
}

// allocates: the node's devices meet the claim at least once when nobody holds them.
func allocates(node *inventory.Node, n requirements, _ catalog.Size) bool {
	if n.claim == nil {
		return true
	}
	a, ok := allocatorFor(node, n.claim)
	return ok && a.count(true, 1) > 0
}

func hasAll(node *inventory.Node, n requirements, _ catalog.Size) bool { return n.advertised(node) }

// missing is the resource that no node has; where each is somewhere, all of them: no node has them together.
func missing(nodes []*inventory.Node, n requirements) string {
	names := slices.Sorted(maps.Keys(n.resources))
	if len(names) == 0 {
		return strings.Join(n.any, ", ")
	}
	for _, name := range names {
		if !slices.ContainsFunc(nodes, func(node *inventory.Node) bool { return nodeResource(node, name).Present() > 0 }) {
			return name
		}
	}
	return strings.Join(names, " + ")
}

// wrongLabels names the first label of the node that is nearest to being chosen.
func wrongLabels(nodes []*inventory.Node, _ requirements, s catalog.Size) i18n.Text {
	nearest := slices.MinFunc(nodes, func(a, b *inventory.Node) int {
		return len(differing(a.Labels, s.Placement)) - len(differing(b.Labels, s.Placement))
	})
	d := differing(nearest.Labels, s.Placement)[0]
	if d.has == "" {
		return i18n.T("capacity.label_absent", "Label", d.key, "Want", d.want)
	}
	return i18n.T("capacity.label_differs", "Label", d.key, "Want", d.want, "Has", d.has)
}

type difference struct{ key, want, has string }

func differing(labels map[string]string, p catalog.Placement) []difference {
	var list []difference
	for _, key := range slices.Sorted(maps.Keys(p.NodeSelector)) {
		if has, ok := labels[key]; !ok || has != p.NodeSelector[key] {
			list = append(list, difference{key, p.NodeSelector[key], has})
		}
	}
	for _, m := range p.NodeMatch {
		if !matches(m, labels) {
			list = append(list, difference{m.Key, strings.TrimSpace(m.Operator + " " + strings.Join(m.Values, ", ")),
				labels[m.Key]})
		}
	}
	return list
}

func untolerated(nodes []*inventory.Node, _ requirements, s catalog.Size) i18n.Text {
	for _, node := range nodes {
		for _, t := range persistentTaints(node.Taints) {
			if !tolerated(t, s.Placement.Tolerations) {
				return i18n.T("capacity.taint", "Taint", strings.TrimSuffix(t.Key+"="+t.Value, "=")+":"+t.Effect)
			}
		}
	}
	return i18n.Text{}
}

func sufficient(node *inventory.Node, n requirements) bool {
	for name, count := range n.resources {
		if nodeResource(node, name).Present() < count {
			return false
		}
	}
	return true
}

func insufficient(nodes []*inventory.Node, n requirements, _ catalog.Size) i18n.Text {
	for _, name := range slices.Sorted(maps.Keys(n.resources)) {
		most := int64(0)
		for _, node := range nodes {
			most = max(most, nodeResource(node, name).Present())
		}
		if most < n.resources[name] {
			return i18n.T("capacity.too_few", "Resource", name, "Want", n.resources[name], "Has", most)
		}
	}
	return i18n.T("capacity.too_few_together")
}
