package capacity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// selectsNode reports whether node labels meet the selector and the affinity of a placement.
func selectsNode(place catalog.Placement, labels map[string]string) bool {
	return selects(place.NodeSelector, labels) &&
		!slices.ContainsFunc(place.NodeMatch, func(m catalog.NodeMatch) bool { return !matches(m, labels) })
}

func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if has, ok := labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// matches follows the node affinity of Kubernetes: NotIn holds for a node without the label, Gt and Lt compare whole
// numbers and hold for nothing else.
func matches(m catalog.NodeMatch, labels map[string]string) bool {
	value, has := labels[m.Key]
	switch m.Operator {
	case "In":
		return has && slices.Contains(m.Values, value)
	case "NotIn":
		return !has || !slices.Contains(m.Values, value)
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	case "Gt":
		order, ok := compareNumbers(value, m.Values)
		return ok && order > 0
	case "Lt":
		order, ok := compareNumbers(value, m.Values)
		return ok && order < 0
	}
	return false
}

func compareNumbers(label string, bounds []string) (order int, ok bool) {
	if len(bounds) != 1 {
		return 0, false
	}
	a, err := strconv.ParseInt(label, 10, 64)
	b, err2 := strconv.ParseInt(bounds[0], 10, 64)
	switch {
	case err != nil || err2 != nil:
		return 0, false
	case a < b:
		return -1, true
	case a > b:
		return 1, true
	}
	return 0, true
}

// tolerates reports whether every taint is tolerated.
func tolerates(tolerations []catalog.Toleration, taints []inventory.Taint) bool {
	return !slices.ContainsFunc(taints, func(t inventory.Taint) bool { return !tolerated(t, tolerations) })
}

func tolerated(taint inventory.Taint, tolerations []catalog.Toleration) bool {
	for _, t := range tolerations {
		if t.Key == taint.Key && (t.Effect == "" || t.Effect == taint.Effect) &&
			(t.Operator != "Equal" || t.Value == taint.Value) {
			return true
		}
	}
	return false
}

// transientTaints are set by Kubernetes and autoscalers for the state that a node is in, not for whom it is reserved.
var transientTaints = []string{"node.kubernetes.io/", "node.cloudprovider.kubernetes.io/",
	"ToBeDeletedByClusterAutoscaler",
	"DeletionCandidateOfClusterAutoscaler", "karpenter.sh/disrupted"}

// persistentTaints are the taints that reserve a node.
func persistentTaints(taints []inventory.Taint) []inventory.Taint {
	var kept []inventory.Taint
	for _, t := range taints {
		if !slices.ContainsFunc(transientTaints, func(p string) bool { return strings.HasPrefix(t.Key, p) }) {
			kept = append(kept, t)
		}
	}
	return kept
}

// nodeResource is a resource of a node by name. Huge pages have one holder for all that is requested.
func nodeResource(node *inventory.Node, name string) inventory.Resource {
	for i := range node.Resources {
		if node.Resources[i].Name == name {
			return node.Resources[i]
		}
	}
	if pages, ok := node.HugePages[name]; ok {
		return inventory.Resource{Name: name, Capacity: pages.Allocatable, Allocatable: pages.Allocatable,
			Holders: []inventory.Holder{{Count: pages.Requested}}}
	}
	return inventory.Resource{}
}
