package inventory

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// oddities lists what an administrator should look at on a node, the most important first.
func oddities(n *corev1.Node, node Node) []i18n.Text {
	var odd []i18n.Text
	add := func(id string, pairs ...any) { odd = append(odd, i18n.T("inventory."+id, pairs...)) }
	if !node.Ready {
		add("not_ready")
	}
	if node.Cordoned {
		add("cordoned")
	}
	state := n.Labels["nvidia.com/mig.config.state"]
	switch state {
	case "pending", "rebooting", "failed":
		add("mig_"+state, "Config", clip(n.Labels["nvidia.com/mig.config"]))
	}
	if strings.HasSuffix(node.Model, "-MIG-INVALID") {
		add("mig_invalid")
	}
	for _, r := range node.Resources {
		held := r.Allocatable - unclamped(r)
		if r.Capacity > r.Allocatable {
			add("unhealthy", "Count", int(r.Capacity-r.Allocatable), "Resource", clip(r.Name))
		}
		if held > r.Allocatable {
			add("overcommitted", "Held", int(held), "Allocatable", int(r.Allocatable), "Resource", clip(r.Name))
		}
	}
	for _, name := range stale(n) {
		add("stale_resource", "Resource", clip(name))
	}
	if state != "pending" && state != "rebooting" { // meanwhile the device plugin is away and nothing has to agree
		for _, c := range contradictions(n) {
			add("labels_contradict", "Labels", int(c.labels), "Advertised", int(c.advertised), "Resource", clip(c.resource))
		}
	}
	return odd
}

// unclamped is Free without the floor at zero.
func unclamped(r Resource) int64 {
	free := r.Allocatable
	for _, h := range r.Holders {
		free -= h.Count
	}
	return free
}

// stale are resources that a former layout left behind with the value 0; they vanish when the kubelet starts again.
func stale(n *corev1.Node) []string {
	var names []string
	for name, q := range n.Status.Capacity {
		if accelerator(string(name)) && q.IsZero() {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

type contradiction struct {
	resource           string
	labels, advertised int64
}

// contradictions compares what GPU feature discovery wrote with what the device plugin advertises. Under the strategy "mixed" nvidia.com/gpu.count counts
// cards with and without MIG, and says nothing of the resource. Nodes of HAMi multiply their cards on purpose.
func contradictions(n *corev1.Node) []contradiction {
	if n.Annotations["hami.io/node-nvidia-register"] != "" || strings.HasSuffix(n.Labels["nvidia.com/gpu.product"], "-MIG-INVALID") {
		return nil
	}
	var prefixes []string
	for key := range maps.Keys(n.Labels) {
		prefix, isCount := strings.CutSuffix(key, ".count")
		if isCount && (strings.HasPrefix(prefix, "nvidia.com/mig-") || prefix == "nvidia.com/gpu" && n.Labels["nvidia.com/mig.strategy"] != "mixed") {
			prefixes = append(prefixes, prefix)
		}
	}
	slices.Sort(prefixes)
	var found []contradiction
	for _, prefix := range prefixes {
		wanted, ok := described(n.Labels, prefix)
		if has := advertised(n, prefix) + advertised(n, prefix+".shared"); ok && has != wanted {
			found = append(found, contradiction{resource: prefix, labels: wanted, advertised: has})
		}
	}
	return found
}

// described is count times replicas; ok is false when a label is no number.
func described(labels map[string]string, prefix string) (units int64, ok bool) {
	count, err := strconv.ParseInt(labels[prefix+".count"], 10, 32)
	if err != nil || count < 0 {
		return 0, false
	}
	replicas := int64(1)
	if text := labels[prefix+".replicas"]; text != "" {
		if replicas, err = strconv.ParseInt(text, 10, 32); err != nil || replicas < 0 {
			return 0, false
		}
	}
	return count * replicas, true
}

func advertised(n *corev1.Node, name string) int64 {
	q := n.Status.Capacity[corev1.ResourceName(name)]
	return q.Value()
}

func clip(text string) string { return text[:min(len(text), 80)] }
