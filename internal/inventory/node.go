package inventory

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// buildNode makes the value of one node from what is known of it, of its pods and of the devices that DRA drivers
// publish for it.
func buildNode(n *corev1.Node, pods map[string]*podState, found devicesOfNode, keep []string) Node {
	node := Node{
		Name: clean(n.Name, longestName), Ready: ready(n), Cordoned: n.Spec.Unschedulable, Model: model(n.Labels),
		Labels: relevant(n.Labels, keep), Taints: taints(n),
		System: system(n), Devices: found.devices, Counters: found.counters, HugePages: pagesOf(n),
		CPU:    Amount{Allocatable: n.Status.Allocatable.Cpu().MilliValue()},
		Memory: Amount{Allocatable: n.Status.Allocatable.Memory().Value()},
	}
	if node.Model == "" {
		node.Model = modelOfDevices(node.Devices)
	}
	held := map[string][]Holder{}
	for _, p := range pods {
		node.CPU.Requested += p.use.milliCPU
		node.Memory.Requested += p.use.bytes
		for name, count := range p.use.devices {
			if hugePages(name) {
				if pages, ok := node.HugePages[name]; ok {
					pages.Requested += count
					node.HugePages[name] = pages
				}
			} else if count > 0 {
				held[name] = append(held[name], p.holder(count))
			}
		}
	}
	node.Outside = outsiders(n, pods, held)
	node.Resources = resources(n, held)
	for i, r := range node.Resources {
		node.Resources[i].LeftOver = leftOver(node, r)
	}
	node.Cards = cardsOf(n, node)
	for i, r := range node.Resources {
		node.Resources[i].NotForPods = KindOf(node, r.Name).Unit == VMDevice
	}
	withhold(&node)
	if node.ownScheduler() {
		withholdAll(&node)
	}
	node.Warnings = warnings(n, node, found)
	if len(node.Resources)+len(node.Devices) > 0 || node.Model != "" {
		node.Addresses, node.Exporters = addresses(n), exporters(pods)
	}
	return node
}

// leftOver: after a MIG layout was changed the kubelet lists the former profiles with their old capacity and nothing
// allocatable until it starts again, while device plugin and GPU feature discovery speak of the new layout only. Under
// the strategy "mixed", replicas 0 says the same of whole cards: all are cut.
func leftOver(n Node, r Resource) bool {
	l, name := n.Labels, strings.TrimSuffix(r.Name, ".shared")
	state, product := l["nvidia.com/mig.config.state"], ParseProduct(l["nvidia.com/gpu.product"])
	if r.Capacity == 0 || r.Allocatable > 0 || product.Card == "" || product.Invalid || state != "" && state != "success" {
		return false
	}
	switch {
	case strings.HasPrefix(name, "nvidia.com/mig-"):
		return l["nvidia.com/mig.strategy"] != "" && !hasLabelsOf(l, name)
	case name == "nvidia.com/gpu":
		return l["nvidia.com/mig.strategy"] == "mixed" && l["nvidia.com/gpu.replicas"] == "0"
	}
	return false
}

// hasLabelsOf reports whether labels speak of a resource.
func hasLabelsOf(labels map[string]string, resource string) bool {
	for key := range labels {
		if strings.HasPrefix(key, resource+".") {
			return true
		}
	}
	return false
}

// pagesOf is nil on a node that reserves none, as nearly every node.
func pagesOf(n *corev1.Node) map[string]Amount {
	var pages map[string]Amount
	for name, q := range n.Status.Allocatable {
		if hugePages(string(name)) && q.Value() > 0 {
			if pages == nil {
				pages = map[string]Amount{}
			}
			pages[clean(string(name), longestKey)] = Amount{Allocatable: q.Value()}
		}
	}
	return pages
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
	"nvidia.com/gpu.product", "amd.com/gpu.product-name", "beta.amd.com/gpu.product-name", "habana.ai/hpu.product",
	"gpu.intel.com/product",
	"cloud.google.com/gke-accelerator",
}

func model(labels map[string]string) string {
	for _, key := range models {
		if m := labels[key]; m != "" {
			return clean(m, longestValue)
		}
	}
	return ""
}

// system tells who shares out the cards. HAMi's register also comes from its plugins for other vendors:
// hami.io/node-<vendor>-register.
func system(n *corev1.Node) System {
	if n.Annotations[hamiRegister] != "" {
		return HAMi
	}
	return ""
}

const hamiRegister = "hami.io/node-nvidia-register"

// taints keeps those that keep pods away; PreferNoSchedule does not.
func taints(n *corev1.Node) []Taint {
	var list []Taint
	for _, t := range n.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute {
			list = append(list, Taint{Key: clean(t.Key, longestKey), Value: clean(t.Value, longestValue),
				Effect: string(t.Effect)})
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
		r := Resource{Name: clean(string(name), longestKey), Capacity: max(0, capacity.Value()),
			Allocatable: max(0, allocatable.Value()), Holders: held[string(name)]}
		delete(held, string(name))
		if r.Capacity > 0 || r.Allocatable > 0 || len(r.Holders) > 0 {
			list = append(list, r)
		}
	}
	for name, holders := range held {
		list = append(list, Resource{Name: clean(name, longestKey), Holders: holders})
	}
	for _, r := range list {
		slices.SortFunc(r.Holders, byPod)
	}
	slices.SortFunc(list, func(a, b Resource) int {
		// two names may become one when they are cleaned
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Capacity, b.Capacity))
	})
	return list[:min(len(list), mostNamed)]
}

func byPod(a, b Holder) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod))
}
