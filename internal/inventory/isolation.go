package inventory

import (
	"maps"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/hardware"
)

// guard is a row of the table: what the labels must say, all of it, for a level to be believed. What a row does not see
// confirmed, or sees contradicted, makes the level unknown: it is never rounded up.
type guard struct {
	unit  Unit
	why   string
	level catalog.Isolation
	holds func(f sharing) bool
}

// sharing is what a node says about how one resource is shared out.
type sharing struct {
	n        Node
	resource string
	kind     Kind
	prefix   string // of the labels that describe the resource: "nvidia.com/gpu"
	product  Product
	strategy string // sharing-strategy
	replicas int64  // -1: not said
	mps      bool   // mps.capable
	vgpu     string // vgpu.present
	renamed  bool   // the resource is called *.shared
}

var guards = []guard{
	{Card, "the only pod on a card of its own", catalog.IsolationHard, sharing.alone},
	{Card, "cards without partitions of their own accord", catalog.IsolationHard, sharing.gaudi},
	{Card, "the only partition of its card", catalog.IsolationHard, sharing.spx},
	{Slice, "memory and compute of its own, kept by the card", catalog.IsolationHard, sharing.slice},
	{VirtualCard, "a slice of a card in a virtual machine", catalog.IsolationHard,
		func(f sharing) bool { return f.virtual(true) }},
	{VirtualCard, "frame buffer of its own, turns at computing", catalog.IsolationMemory,
		func(f sharing) bool { return f.virtual(false) }},
	{Share, "the MPS daemon caps memory and threads", catalog.IsolationMemory,
		func(f sharing) bool { return f.shared("mps") && f.mps && f.kind.Profile == "" }},
	{Share, "turns on the whole device, memory is nobody's", catalog.IsolationNone,
		func(f sharing) bool { return f.shared("time-slicing") && !f.mps }},
	{Share, "HAMi's library caps memory in containers that use it", catalog.IsolationMemory, sharing.hami},
}

// Isolation says what keeps the pods apart that hold one resource of a node, from its labels alone. Contradictions, a
// layout that is being changed and everything that is not in the table are unknown.
func Isolation(n Node, resource string) catalog.Isolation {
	f := sharingOf(n, resource)
	if f.troubled() {
		return catalog.IsolationUnknown
	}
	for _, g := range guards {
		if g.unit == f.kind.Unit && g.holds(f) {
			return g.level
		}
	}
	return catalog.IsolationUnknown
}

// Confirms reports whether a node's labels agree with the isolation that a catalog says one of its resources has.
// What the labels do not speak of, as those of older versions of GPU feature discovery, is taken as the catalog has
// it; what they say otherwise counts against it.
func Confirms(n Node, resource string, level catalog.Isolation) bool {
	prefix := strings.TrimSuffix(resource, ".shared")
	labels := map[string]string{prefix + ".sharing-strategy": "none", prefix + ".replicas": "1",
		"nvidia.com/vgpu.present": "false", "nvidia.com/mig.capable": "true"}
	if profile, ok := strings.CutPrefix(prefix, "nvidia.com/mig-"); ok {
		labels["nvidia.com/mig.strategy"], labels[prefix+".product"] = "mixed", n.Labels["nvidia.com/gpu.product"]+"-MIG-"+
			profile
	}
	maps.Copy(labels, n.Labels)
	n.Labels = labels
	order := []catalog.Isolation{catalog.IsolationUnknown, catalog.IsolationNone, catalog.IsolationMemory,
		catalog.IsolationHard}
	return slices.Index(order, Isolation(n, resource)) >= slices.Index(order, level)
}

func sharingOf(n Node, resource string) sharing {
	f := sharing{n: n, resource: resource, kind: KindOf(n, resource), prefix: strings.TrimSuffix(resource, ".shared"),
		product: ParseProduct(n.Labels["nvidia.com/gpu.product"]), mps: n.Labels["nvidia.com/mps.capable"] == "true",
		vgpu:    n.Labels["nvidia.com/vgpu.present"],
		renamed: strings.HasSuffix(resource, ".shared")}
	f.strategy, f.replicas = n.Labels[f.prefix+".sharing-strategy"], count(n.Labels, f.prefix+".replicas")
	if f.ofMIG() {
		f.product = ParseProduct(n.Labels[f.prefix+".product"])
	}
	return f
}

func (f sharing) nvidia() bool { return strings.HasPrefix(f.resource, "nvidia.com/") }
func (f sharing) ofMIG() bool  { return strings.HasPrefix(f.resource, "nvidia.com/mig-") }

// troubled reports whether the node's labels cannot be believed at all.
func (f sharing) troubled() bool {
	l := f.n.Labels
	state := l["nvidia.com/mig.config.state"]
	cards, _ := cutsOf(f.n)
	return f.nvidia() && (cards.twice() || f.n.ownScheduler()) || f.nvidia() &&
		(len(contradictionsOf(f.n, f.prefix)) > 0 || state != "" && state != "success" ||
			ParseProduct(l["nvidia.com/gpu.product"]).Invalid || published(f.n) || len(rivals(f.n)) > 1 ||
			strings.HasPrefix(l["nvidia.com/gpu.workload.config"], "vm-"))
}

// alone: a whole card that nobody shares, by every label that could say otherwise.
func (f sharing) alone() bool {
	return f.resource == "nvidia.com/gpu" && f.unshared() && f.product.Card != "" && f.vgpu == "false" && !f.namedVirtual()
}

// unshared: neither replicas nor a strategy. Under the strategy "mixed" a row that describes cards with slices has 0
// replicas.
func (f sharing) unshared() bool {
	cut := f.n.Labels["nvidia.com/mig.strategy"] == "mixed" && !f.ofMIG()
	return (f.replicas == 1 || f.replicas == 0 && cut) && f.strategy == "none" && !f.product.Shared && !f.renamed &&
		f.n.System == "" && !f.mps
}

func (f sharing) namedVirtual() bool {
	is, _ := hardware.VGPUType(f.product.Card)
	return is
}

func (f sharing) gaudi() bool { return strings.HasPrefix(f.resource, "habana.ai/") }

// spx: cards that are one partition, and whose memory is one as well. Other modes share memory channels in ways that
// labels do not tell.
func (f sharing) spx() bool {
	mode := amdMode(f.n.Labels)
	return mode == "spx_nps1" && (f.resource == "amd.com/gpu" || f.resource == "amd.com/spx_nps1")
}

// slice: NVIDIA's MIG, with strategy, profile and sharing all saying the same.
func (f sharing) slice() bool {
	l := f.n.Labels
	if !f.nvidia() || !f.unshared() || l["nvidia.com/mig.capable"] != "true" || f.vgpu != "false" {
		return false
	}
	if f.ofMIG() {
		return l["nvidia.com/mig.strategy"] == "mixed" && f.product.Profile == f.kind.Profile
	}
	return l["nvidia.com/mig.strategy"] == "single" && f.product.Profile != ""
}

// virtual: the product is named like a vGPU type, and the virtual machine says that it has one.
func (f sharing) virtual(mig bool) bool {
	is, backed := hardware.VGPUType(f.product.Card)
	return is && backed == mig && f.vgpu == "true" && f.unshared()
}

// shared: replicas, strategy and exactly one of the two marks agree.
func (f sharing) shared(strategy string) bool {
	return f.strategy == strategy && f.replicas > 1 && f.renamed != f.product.Shared && f.n.System == "" &&
		!(f.namedVirtual() != (f.vgpu == "true"))
}

func (f sharing) hami() bool {
	return f.n.System == HAMi && f.resource == "nvidia.com/gpu" && f.strategy == "" && f.replicas < 0 &&
		!f.product.Shared && f.product.Profile == "" && !f.mps && f.vgpu != "true"
}

// IsolationOfDevice says the same of a device that a DRA driver publishes on a node. Devices that several claims may
// take are unknown: how they are shared is in the claims' configuration, which others write.
func IsolationOfDevice(n Node, d Device) catalog.Isolation {
	k := KindOfDevice(d)
	switch {
	case d.Multiple || d.Gone || published(n) || len(rivals(n)) > 1:
		return catalog.IsolationUnknown
	case k.Unit == Card && k.Profile == "" && d.text("parentUUID") == "":
		return catalog.IsolationHard
	case k.Unit == Slice && d.Driver == "gpu.nvidia.com" && k.Profile != "":
		return catalog.IsolationHard
	}
	return catalog.IsolationUnknown
}
