package capacity

import (
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// requirements is what one workload of a size takes.
type requirements struct {
	resources map[string]int64 // extended resources, each above 0; none for CPU only
	milliCPU  int64
	bytes     int64
	claim     *claim // nil without one

	uncountable bool     // nodes do not say how much of it they have
	any         []string // of an uncountable one: patterns of what a node must advertise one of; none: anything
}

// requirementsOf is not ok for a size of which nothing can be told: its quantities are unreadable, it takes nothing
// that nodes advertise, or its claim names a class or has an expression that is not known here.
func requirementsOf(size catalog.Size) (requirements, bool) {
	cpu, err := resource.ParseQuantity(size.CPU)
	memory, err2 := resource.ParseQuantity(size.Memory)
	n := requirements{milliCPU: cpu.MilliValue(), bytes: memory.Value(), resources: map[string]int64{}}
	if err != nil || err2 != nil || n.milliCPU <= 0 || n.bytes <= 0 {
		return n, false
	}
	if rule, ok := catalog.Rule(size.Technology); ok && rule.Uncountable {
		n.uncountable, n.any = true, rule.Resources
		return n, true
	}
	ok := n.add(size.Accelerator, int64(size.Devices()))
	return n, ok && (size.CPUOnly() || n.claim != nil || len(n.resources) > 0)
}

func (n *requirements) add(a catalog.Accelerator, devices int64) (ok bool) {
	if a.Resource != "" {
		n.resources[a.Resource] = devices
	}
	for name, text := range a.Extra {
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Value() <= 0 {
			return false
		}
		n.resources[name] += q.Value()
	}
	if a.Claim == nil {
		return true
	}
	n.claim, ok = claimOf(a.Claim)
	return ok
}

// advertised reports whether the node has all that is counted, or something of an uncountable system.
func (n requirements) advertised(node *inventory.Node) bool {
	for name := range n.resources {
		if nodeResource(node, name).Present() <= 0 {
			return false
		}
	}
	return len(n.any) == 0 || slices.ContainsFunc(node.Resources, func(r inventory.Resource) bool {
		return r.Present() > 0 && slices.ContainsFunc(n.any,
			func(pattern string) bool { ok, _ := path.Match(pattern, r.Name); return ok })
	})
}
