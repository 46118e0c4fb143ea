package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// attachedPools gathers the devices that no single node owns, grouped by who reaches them.
func (b *Builder) attachedPools() []Attached {
	for key := range b.loose {
		if list := b.attachedPool(key); len(list) > 0 {
			b.attached[key] = list
		} else {
			delete(b.attached, key)
		}
	}
	clear(b.loose)
	var all []Attached
	for _, key := range slices.SortedFunc(maps.Keys(b.attached), poolKey.compare) {
		all = append(all, b.attached[key]...)
	}
	return all
}

func (b *Builder) attachedPool(key poolKey) []Attached {
	view, pool := b.dra.view(key), b.dra.pools[key]
	if pool == nil {
		return nil
	}
	groups := map[string]*Attached{}
	for _, p := range view.devices {
		if p.node != "" || !view.usable() && len(pool.held[p.device.Name]) == 0 {
			continue
		}
		reach := "all"
		if !p.all {
			reach = p.selector.String()
		}
		g := groups[reach]
		if g == nil {
			g = &Attached{Driver: p.device.Driver, Pool: p.device.Pool, AllNodes: p.all}
			if !p.all {
				g.Nodes = b.nodesThat(p.selector)
			}
			groups[reach] = g
		}
		g.Devices = append(g.Devices, b.hold(p.device, pool.held[p.device.Name]))
	}
	var list []Attached
	for _, reach := range slices.Sorted(maps.Keys(groups)) {
		g := groups[reach]
		g.Devices, g.Counters = g.Devices[:min(len(g.Devices), mostDevices)], view.counters
		list = append(list, *g)
	}
	return b.withTrouble(list, key, view, pool)
}

// withTrouble says what is wrong with a pool that belongs to no single node. Without a group of its own it gets one,
// for somebody has to look.
func (b *Builder) withTrouble(list []Attached, key poolKey, view *poolView, pool *poolState) []Attached {
	var gone []Device
	if home := b.nodes[soleNode(view, key)]; home == nil || home.node == nil {
		gone = b.goneFrom(key, view, pool)
	}
	var warnings []i18n.Text
	if len(view.nodes) == 0 && len(pool.slices) > 0 {
		warnings = poolTrouble(clean(key.driver, longestName), view)
	}
	if len(gone) == 0 && len(warnings) == 0 {
		return list
	}
	if len(list) == 0 {
		list = []Attached{{Driver: clean(key.driver, longestName), Pool: clean(key.name, longestName)}}
	}
	list[0].Devices = append(list[0].Devices, gone...)
	if len(gone) > 0 {
		warnings = append(warnings, i18n.T("inventory.device_gone", "Count", len(gone), "Driver", clip(key.driver)))
	}
	list[0].Warnings = warnings
	return list
}

func poolTrouble(driver string, v *poolView) []i18n.Text {
	switch {
	case !v.complete():
		return []i18n.Text{i18n.T("inventory.pool_incomplete", "Driver", clip(driver), "Found", int(v.found), "Expected",
			int(v.expected))}
	case v.twice != "":
		return []i18n.Text{i18n.T("inventory.pool_invalid", "Driver", clip(driver), "Device", clip(v.twice))}
	}
	return nil
}

// nodesThat lists the nodes that a selector names, in order.
func (b *Builder) nodesThat(selector *corev1.NodeSelector) []string {
	var names []string
	for name, s := range b.nodes {
		if s.node != nil && selects(selector, s.node) {
			names = append(names, clean(name, longestName))
		}
	}
	slices.Sort(names)
	return names
}

// selects follows the scheduler: one term must hold, in a term everything; a term that asks nothing holds for nobody.
func selects(selector *corev1.NodeSelector, n *corev1.Node) bool {
	if selector == nil {
		return false
	}
	return slices.ContainsFunc(selector.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		if len(t.MatchExpressions) == 0 && len(t.MatchFields) == 0 {
			return false
		}
		for _, r := range t.MatchExpressions {
			if value, there := n.Labels[r.Key]; !holds(r, value, there) {
				return false
			}
		}
		for _, r := range t.MatchFields {
			if !holds(r, n.Name, r.Key == "metadata.name") {
				return false
			}
		}
		return true
	})
}

func holds(r corev1.NodeSelectorRequirement, value string, there bool) bool {
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return there && slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpNotIn:
		return !there || !slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpExists:
		return there
	case corev1.NodeSelectorOpDoesNotExist:
		return !there
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		return there && len(r.Values) == 1 && beyond(value, r.Values[0], r.Operator)
	}
	return false
}

func beyond(value, bound string, op corev1.NodeSelectorOperator) bool {
	a, errA := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	b, errB := strconv.ParseInt(bound, 10, 64)
	sign := cmp.Compare(a, b)
	return errA == nil && errB == nil && (op == corev1.NodeSelectorOpGt && sign > 0 || op == corev1.NodeSelectorOpLt &&
		sign < 0)
}
