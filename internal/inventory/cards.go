package inventory

import (
	"encoding/json"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// cardsOf counts the physical cards of a node where they can be told. The rows are asked in turn; one that knows nothing passes.
func cardsOf(n *corev1.Node, node Node) Cards {
	for _, ask := range []func(*corev1.Node, Node) (int64, bool){cardsOfDevices, cardsOfHAMi, cardsOfNVIDIA, cardsOfAMD, cardsOfOthers} {
		if cards, ok := ask(n, node); ok {
			return Cards{Count: cards, Known: true}
		}
	}
	return Cards{}
}

// cardsOfDevices counts whole cards and the parents of slices, each once.
func cardsOfDevices(_ *corev1.Node, node Node) (int64, bool) {
	cards := map[string]bool{}
	for _, d := range node.Devices {
		uuid := d.text("parentUUID")
		if unit := KindOfDevice(d).Unit; unit == Card || unit == Share || unit == VMDevice {
			uuid = d.text("uuid")
		}
		if uuid != "" {
			cards[uuid] = true
		}
	}
	return int64(len(cards)), len(cards) > 0
}

// cardsOfHAMi reads the register of cards: a JSON list, or in older releases texts that end with a colon each.
func cardsOfHAMi(n *corev1.Node, node Node) (int64, bool) {
	text := n.Annotations[hamiRegister]
	if node.System != HAMi || len(text) > 1<<20 {
		return 0, false
	}
	var list []json.RawMessage
	if strings.HasPrefix(text, "[") {
		err := json.Unmarshal([]byte(text), &list)
		return int64(len(list)), err == nil && len(list) > 0
	}
	cards := int64(strings.Count(text, ":"))
	return cards, cards > 0
}

// cardsOfNVIDIA believes nvidia.com/gpu.count where it counts cards: not in virtual machines, and not under the strategy "single", where it counts slices.
func cardsOfNVIDIA(_ *corev1.Node, node Node) (int64, bool) {
	product := ParseProduct(node.Labels["nvidia.com/gpu.product"])
	virtual, _ := vgpuType(product.Card)
	if product.Card == "" || product.Profile != "" || product.Invalid || virtual || node.Labels["nvidia.com/vgpu.present"] == "true" {
		return 0, false
	}
	cards := count(node.Labels, "nvidia.com/gpu.count")
	return cards, cards > 0
}

// cardsOfAMD takes devices for cards where the labels say that no card is partitioned. Cards before MI300 cannot be, and have no such label.
func cardsOfAMD(_ *corev1.Node, node Node) (int64, bool) {
	mode := amdMode(node.Labels)
	whole := strings.HasPrefix(mode, "spx") || mode == "" && node.Model != "" && !strings.Contains(node.Model, "MI3")
	cards := node.capacity("amd.com/gpu")
	return cards, whole && cards > 0
}

func cardsOfOthers(_ *corev1.Node, node Node) (int64, bool) {
	for _, key := range []string{"gpu.intel.com/device.count", "cloud.google.com/gke-accelerator-count"} {
		if cards := count(node.Labels, key); cards > 0 {
			return cards, true
		}
	}
	for _, r := range node.Resources {
		for _, pattern := range []string{"habana.ai/gaudi*", "aliyun.com/gpu-count"} {
			if ok, _ := path.Match(pattern, r.Name); ok && r.Capacity > 0 {
				return r.Capacity, true
			}
		}
	}
	if core := node.capacity("tencent.com/vcuda-core"); core >= 100 {
		return core / 100, true // hundredths of cards
	}
	return 0, false
}
