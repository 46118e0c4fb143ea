package inventory

import (
	"maps"
	"slices"
	"strings"
)

// noise are labels that nothing selects on and that a node may carry by the hundred: CPU and kernel features of node
// feature discovery, driver versions and deployment switches of the GPU operator, twins under older names.
var noise = []string{
	"feature.node.kubernetes.io/cpu-", "feature.node.kubernetes.io/kernel-", "feature.node.kubernetes.io/usb-",
	"feature.node.kubernetes.io/system-",
	"feature.node.kubernetes.io/memory-", "feature.node.kubernetes.io/storage-", "nfd.node.kubernetes.io/",
	"nvidia.com/gfd.timestamp", "nvidia.com/cuda.", "nvidia.com/gpu.deploy.", "nvidia.com/gpu-driver-upgrade-",
	"nvidia.com/gpu.engines.",
	"beta.kubernetes.io/", "failure-domain.beta.kubernetes.io/", "topology.ebs.csi.aws.com/", "topology.gke.io/",
}

// mostLabels bounds what one node can put into a snapshot.
const mostLabels = 96

// relevant keeps the labels that sizes may select on: everything but noise, and in any case those in keep.
func relevant(labels map[string]string, keep []string) map[string]string {
	kept := make(map[string]string, min(len(labels), mostLabels))
	for _, key := range keep {
		if value, ok := labels[key]; ok {
			kept[clean(key, longestKey)] = clean(value, longestValue)
		}
	}
	if len(labels) <= mostLabels {
		for key, value := range labels {
			if !noisy(key) {
				kept[clean(key, longestKey)] = clean(value, longestValue)
			}
		}
		return kept
	}
	for _, key := range slices.SortedFunc(maps.Keys(labels), vendorsFirst) {
		if len(kept) >= mostLabels {
			break
		}
		if !noisy(key) {
			kept[clean(key, longestKey)] = clean(labels[key], longestValue)
		}
	}
	return kept
}

func noisy(key string) bool {
	for _, prefix := range noise {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// vendorsFirst sorts labels of accelerators before all others, so that a cut never takes them.
func vendorsFirst(a, b string) int {
	if x, y := accelerator(a), accelerator(b); x != y {
		if x {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}
