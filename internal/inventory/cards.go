package inventory

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
)

// cardsOf counts the physical cards of a node where they can be told. The rows are asked in turn; one that knows
// nothing passes.
func cardsOf(n *corev1.Node, node Node) Cards {
	for _, ask := range []func(*corev1.Node, Node) (int64, bool){cardsOfDevices, cardsOfHAMi, cardsOfNVIDIA, cardsOfAMD,
		cardsOfOthers} {
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

// cardsOfNVIDIA believes nvidia.com/gpu.count where it counts cards: not in virtual machines, and not under the
// strategy "single", where it counts slices.
func cardsOfNVIDIA(_ *corev1.Node, node Node) (int64, bool) {
	product := ParseProduct(node.Labels["nvidia.com/gpu.product"])
	virtual, _ := hardware.VGPUType(product.Card)
	if product.Card == "" || product.Profile != "" || product.Invalid || virtual ||
		node.Labels["nvidia.com/vgpu.present"] == "true" {
		return 0, false
	}
	cards := count(node.Labels, "nvidia.com/gpu.count")
	return cards, cards > 0
}

// cardsOfAMD takes devices for cards where the labels say that no card is partitioned. Cards before MI300 cannot be,
// and have no such label.
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

// Bounds of what an agent may say of a node. No server has more cards, and no card can be cut into more.
const (
	mostCards  = 64
	mostSlices = 32
	mostXIDs   = 32 // kinds of fault
)

// tidy takes what an agent said and leaves out what cannot be: a slice that lies outside of its card or on another one
// makes the whole cut of that card unknown, for a picture of half of it would show room that is not there.
func tidy(said []PhysicalCard) []PhysicalCard {
	var list []PhysicalCard
	for _, c := range said[:min(len(said), mostCards)] {
		c.UUID, c.Model, c.Bus = clean(c.UUID, longestValue), clean(c.Model, longestValue), clean(c.Bus, longestValue)
		c.Slices, c.Fits = slices.Clone(c.Slices), slices.Clone(c.Fits)
		if c.Errors != nil && len(c.Errors.XIDs) > mostXIDs {
			few := *c.Errors
			few.XIDs, c.Errors = few.XIDs[:mostXIDs], &few
		}
		slices.SortFunc(c.Slices, func(a, b Placement) int { return cmp.Compare(a.Start, b.Start) })
		if !c.sound() {
			c.Axis, c.Slices, c.Fits = 0, nil, nil
		}
		for i, p := range c.Slices {
			c.Slices[i].UUID, c.Slices[i].Profile = clean(p.UUID, longestValue), clean(p.Profile, longestValue)
		}
		for i, f := range c.Fits {
			c.Fits[i].Profile = clean(f.Profile, longestValue)
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b PhysicalCard) int { return cmp.Compare(a.Index, b.Index) })
	return list
}

// sound reports whether the slices, in order of their starts, lie on the card one beside the other, and what is said to
// fit lies beside them.
func (c PhysicalCard) sound() bool {
	if c.Axis < 0 || c.Axis > mostSlices || len(c.Slices) > c.Axis || len(c.Fits) > mostNamed {
		return false
	}
	end := 0
	for _, p := range c.Slices {
		if p.Start < end || p.Size < 1 || p.Size > c.Axis || p.Start > c.Axis-p.Size {
			return false
		}
		end = p.Start + p.Size
	}
	for _, f := range c.Fits {
		if f.Size < 1 || f.Size > c.Axis || len(f.Starts) > c.Axis {
			return false
		}
		for _, start := range f.Starts {
			if start < 0 || start > c.Axis-f.Size || slices.ContainsFunc(c.Slices,
				func(p Placement) bool { return start < p.Start+p.Size && p.Start < start+f.Size }) {
				return false
			}
		}
	}
	return true
}
