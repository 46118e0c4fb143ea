// Package capacity answers what fits where: how many workloads of a size could start now on an inventory. Pure.
package capacity

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// Fit counts how many of a size exist on nodes that may take it, and how many could start now. It looks at what the scheduler
// looks at: node selector, taints, cordons, readiness, free devices, CPU and memory.
//
// A node whose CPU or memory ends before its devices do has as many as CPU and memory allow: what cannot start does not exist for a person.
func Fit(s inventory.Snapshot, size catalog.Size) inventory.Fit {
	need, ok := needOf(size)
	if !ok {
		return inventory.Fit{}
	}
	fit := inventory.Fit{Known: true}
	if s.Cluster != "" && !size.OfferedOn(s.Cluster) {
		return fit
	}
	for i := range s.Nodes {
		total, free := fitNode(&s.Nodes[i], need, size.Placement)
		fit.Total += total
		fit.Free += free
	}
	return fit
}

// need is what one workload of a size takes.
type need struct {
	resource string // "" for CPU only
	devices  int64
	milliCPU int64
	bytes    int64
}

// needOf is not ok for a size that no number can be told of: its quantities are unreadable, or its devices are claims, which a snapshot does not show.
func needOf(size catalog.Size) (need, bool) {
	cpu, err := resource.ParseQuantity(size.CPU)
	memory, err2 := resource.ParseQuantity(size.Memory)
	n := need{resource: size.Accelerator.Resource, devices: int64(size.Devices()), milliCPU: cpu.MilliValue(), bytes: memory.Value()}
	known := err == nil && err2 == nil && n.milliCPU > 0 && n.bytes > 0 && (n.resource != "" || size.Technology == catalog.CPUOnly)
	return n, known
}

func fitNode(node *inventory.Node, n need, place catalog.Placement) (total, free int) {
	if !node.Ready || node.Cordoned || !selects(place.NodeSelector, node.Labels) || !tolerates(place.Tolerations, node.Taints) {
		return 0, 0
	}
	all := min(node.CPU.Allocatable/n.milliCPU, node.Memory.Allocatable/n.bytes)
	now := min(node.CPU.Free()/n.milliCPU, node.Memory.Free()/n.bytes)
	if n.resource != "" {
		devices := find(node.Resources, n.resource)
		all, now = min(all, devices.Allocatable/n.devices), min(now, devices.Free()/n.devices)
	}
	return int(max(0, all)), int(max(0, now))
}

func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if has, ok := labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// tolerates: each taint must be borne by some toleration.
func tolerates(tolerations []catalog.Toleration, taints []inventory.Taint) bool {
	for _, taint := range taints {
		if !borne(taint, tolerations) {
			return false
		}
	}
	return true
}

func borne(taint inventory.Taint, tolerations []catalog.Toleration) bool {
	for _, t := range tolerations {
		if t.Key == taint.Key && (t.Effect == "" || t.Effect == taint.Effect) && (t.Operator != "Equal" || t.Value == taint.Value) {
			return true
		}
	}
	return false
}

func find(resources []inventory.Resource, name string) inventory.Resource {
	for i := range resources {
		if resources[i].Name == name {
			return resources[i]
		}
	}
	return inventory.Resource{}
}
