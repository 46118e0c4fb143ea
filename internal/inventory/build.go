package inventory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Build makes the snapshot of a cluster from its nodes and pods. Ours gives the portal's workload id of a pod, "" for a foreign one: a label alone does not
// prove it. Pods that have ended or have no node hold nothing; pods that are being deleted still do. Labels that sizes select on are kept whatever they
// are called when they are named in keep.
func Build(cluster string, now time.Time, nodes []*corev1.Node, pods []*corev1.Pod, ours func(*corev1.Pod) string, keep ...string) Snapshot {
	byNode := make(map[string][]*corev1.Pod, len(nodes))
	for _, p := range pods {
		if p.Spec.NodeName != "" && !ended(p) {
			byNode[p.Spec.NodeName] = append(byNode[p.Spec.NodeName], p)
		}
	}
	s := Snapshot{Cluster: cluster, TakenAt: now, Nodes: make([]Node, len(nodes))}
	for i, n := range nodes {
		s.Nodes[i] = BuildNode(n, byNode[n.Name], ours, keep...)
	}
	slices.SortFunc(s.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// BuildNode is Build for one node and the pods bound to it, for a caller that keeps the others.
func BuildNode(n *corev1.Node, pods []*corev1.Pod, ours func(*corev1.Pod) string, keep ...string) Node {
	node := Node{
		Name: n.Name, Ready: ready(n), Cordoned: n.Spec.Unschedulable, Model: model(n.Labels), Labels: relevant(n.Labels, keep), Taints: taints(n),
		CPU: Amount{Allocatable: n.Status.Allocatable.Cpu().MilliValue()}, Memory: Amount{Allocatable: n.Status.Allocatable.Memory().Value()},
	}
	held := map[string][]Holder{}
	for _, p := range pods {
		if ended(p) {
			continue
		}
		u := usageOf(p)
		node.CPU.Requested += u.milliCPU
		node.Memory.Requested += u.bytes
		for name, count := range u.devices {
			if count > 0 {
				held[name] = append(held[name], Holder{Namespace: p.Namespace, Pod: p.Name, Workload: ours(p), Count: count})
			}
		}
	}
	node.Resources = resources(n, held)
	node.Odd = oddities(n, node)
	return node
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// models are the labels in which the vendors' discovery writes what card a node has; the first that is there counts.
var models = []string{
	"nvidia.com/gpu.product", "amd.com/gpu.product-name", "habana.ai/hpu.product", "gpu.intel.com/product", "cloud.google.com/gke-accelerator",
}

func model(labels map[string]string) string {
	for _, key := range models {
		if m := labels[key]; m != "" {
			return m
		}
	}
	return ""
}

// taints keeps those that keep pods away; PreferNoSchedule does not.
func taints(n *corev1.Node) []Taint {
	var list []Taint
	for _, t := range n.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute {
			list = append(list, Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
	}
	return list
}

// resources lists what the node advertises, and what pods hold that it does not advertise any more.
func resources(n *corev1.Node, held map[string][]Holder) []Resource {
	var list []Resource
	for name, capacity := range n.Status.Capacity {
		if !accelerator(string(name)) {
			continue
		}
		allocatable := n.Status.Allocatable[name]
		r := Resource{Name: string(name), Capacity: capacity.Value(), Allocatable: allocatable.Value(), Holders: held[string(name)]}
		delete(held, string(name))
		if r.Capacity > 0 || r.Allocatable > 0 || len(r.Holders) > 0 {
			list = append(list, r)
		}
	}
	for name, holders := range held {
		list = append(list, Resource{Name: name, Holders: holders})
	}
	for _, r := range list {
		slices.SortFunc(r.Holders, func(a, b Holder) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod))
		})
	}
	slices.SortFunc(list, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	return list
}
