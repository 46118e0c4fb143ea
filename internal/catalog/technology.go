package catalog

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
)

// making says what a technology asks of a size, so that the size lands where its words say and nowhere else.
type making struct {
	isolation []Isolation
	single    bool // a pod gets one; asking for more gives nothing, or fails
	profile   bool // the share has a name
	whole     bool // cards, not shares of one
	claim     bool // a claim, not a resource
	// mistake says what is wrong with resource and selector, "" when they agree with the technology.
	mistake func(a Accelerator, selector map[string]string) string
}

var isolations = []Isolation{IsolationHard, IsolationMemory, IsolationNone, IsolationUnknown}

// Isolations lists every isolation, the strongest first.
func Isolations() []Isolation { return slices.Clone(isolations) }

// technologies is the table of those that need more than a list of names; the others are in technologies.yaml. Sources:
// resource and label names of NVIDIA's device plugin and GPU feature discovery v0.20.
var technologies = map[Technology]making{
	Full: {isolation: []Isolation{IsolationHard}, whole: true, mistake: wholeMistake},
	// A card handed into a virtual machine whole. Inside, it looks as it does on bare metal; only the site knows which
	// nodes are such machines.
	Passthrough: {isolation: []Isolation{IsolationHard}, whole: true,
		mistake: func(a Accelerator, selector map[string]string) string {
			if mistake := wholeMistake(a, selector); mistake != "" {
				return mistake
			}
			if _, product := selector[productLabel]; len(selector) == 0 || product && len(selector) == 1 {
				return "a card that is passed through looks like any other: select the label by which such nodes are told apart"
			}
			return ""
		}},
	MIG: {isolation: []Isolation{IsolationHard}, single: true, profile: true,
		mistake: func(a Accelerator, selector map[string]string) string {
			spelled := strings.ReplaceAll(a.Profile, "+", ".")
			switch {
			case !migProfile.MatchString(a.Profile):
				return "the profile is written as nvidia-smi does: 1g.10gb, 1g.10gb+me"
			case strings.HasSuffix(a.Resource, ".shared") || strings.HasSuffix(selector[productLabel], "-SHARED"):
				return "a slice that is shared again is of the technology time-slicing"
			case a.Resource == "nvidia.com/gpu" && strings.HasSuffix(selector[productLabel], "-MIG-"+spelled):
				return "" // strategy single: the product label carries the profile
			case a.Resource == "nvidia.com/gpu":
				return "under the strategy single the selector needs " + productLabel + " ending in -MIG-" + spelled
			case a.Resource != "nvidia.com/mig-"+spelled:
				return "profile " + a.Profile + " is the resource nvidia.com/mig-" + spelled
			case strings.Contains(selector[productLabel], "-MIG-"):
				return "under the strategy mixed the product is that of the card, without -MIG-"
			}
			return ""
		}},
	// A vGPU's memory is its own, its compute is shared with the other virtual machines unless it is backed by MIG.
	VGPU: {isolation: []Isolation{IsolationMemory, IsolationHard}, profile: true,
		mistake: func(a Accelerator, selector map[string]string) string {
			product, selected := selector[productLabel]
			switch {
			case a.Resource != "nvidia.com/gpu":
				return "a vGPU in a node is the resource nvidia.com/gpu"
			case selector[vgpuLabel] != "true":
				return `the selector needs ` + vgpuLabel + `: "true"`
			case selected && !strings.HasSuffix(product, "-"+a.Profile):
				return "inside the virtual machine the product ends in the type, -" + a.Profile
			}
			return ""
		}},
	// Cards, MIG slices and vGPUs: of a vGPU the size has the type as its profile, by which its license is counted.
	TimeSlicing: {isolation: []Isolation{IsolationNone}, single: true,
		mistake: func(a Accelerator, selector map[string]string) string {
			if mistake := sharedVGPUMistake(a, selector); mistake != "" {
				return mistake
			}
			return sharedMistake(a, selector, "time-slicing")
		}},
	// Two sources differ: NVIDIA's MIG user guide lets CUDA MPS run inside a slice, and its DRA driver offers that behind
	// a gate; the device plugin refuses MPS for MIG devices (README v0.20). This technology is the device plugin's.
	MPS: {isolation: []Isolation{IsolationMemory, IsolationNone}, single: true,
		mistake: func(a Accelerator, selector map[string]string) string {
			if strings.HasPrefix(a.Resource, "nvidia.com/mig-") || strings.Contains(selector[productLabel], "-MIG-") {
				return "the device plugin does not offer MPS on MIG slices"
			}
			return sharedMistake(a, selector, "mps")
		}},
	// What a claim gives depends on the class and on what the administrator set behind it.
	DRA:     {isolation: isolations, claim: true},
	CPUOnly: {isolation: []Isolation{IsolationHard, IsolationNone, IsolationUnknown}},
}

const (
	productLabel = "nvidia.com/gpu.product"
	vgpuLabel    = "nvidia.com/vgpu.present"
)

var migProfile = regexp.MustCompile(`^[1-9]g\.[1-9][0-9]{0,2}gb([+-][a-z0-9]+(\.[a-z0-9]+)*)?$`)

// wholeMistake: whole cards are alone in their memory; nvidia.com/gpu is also what slices, vGPUs and replicas are
// called, so the product must be selected.
func wholeMistake(a Accelerator, selector map[string]string) string {
	product := selector[productLabel]
	switch {
	case strings.HasPrefix(a.Resource, "nvidia.com/mig-") || strings.HasSuffix(a.Resource, ".shared") ||
		strings.HasSuffix(a.Resource, "_monitoring"):
		return "a whole card is not called " + a.Resource
	case strings.HasSuffix(product, "-SHARED") || strings.Contains(product, "-MIG-") || selector[vgpuLabel] == "true":
		return "the selector chooses nodes whose cards are shared"
	case a.Resource == "nvidia.com/gpu" && len(selector) == 0:
		return "slices, vGPUs and replicas are called nvidia.com/gpu as well: select the product, " + productLabel
	}
	return ""
}

// shareOf names a technology that shares cards under a name of its own: such a resource is no whole card.
func shareOf(resource string) (Technology, bool) {
	if _, card := ownerOf(resource); card {
		return "", false
	}
	for _, r := range brought() {
		if matchesAny(r.Resources, resource) {
			return r.Name, true
		}
	}
	return "", false
}

// sharedMistake: replicas are called nvidia.com/<what>.shared, or as the card is where they are not renamed; then the
// product ends in -SHARED. Time-slicing and MPS look alike but for one label.
func sharedMistake(a Accelerator, selector map[string]string, strategy string) string {
	renamed, marked := strings.HasSuffix(a.Resource, ".shared"), strings.HasSuffix(selector[productLabel], "-SHARED")
	spelled := strings.ReplaceAll(a.Profile, "+", ".")
	switch {
	case !renamed && !marked:
		return "a shared card is a resource ending in .shared, or needs a selector on " + productLabel + " ending in -SHARED"
	case renamed && marked:
		return "no node has both: the product ends in -SHARED only where the resource is not renamed"
	case renamed && !strings.HasPrefix(a.Resource, "nvidia.com/mig-") && a.Resource != "nvidia.com/gpu.shared":
		return "the device plugin shares nvidia.com/gpu.shared and nvidia.com/mig-<profile>.shared"
	case migProfile.MatchString(a.Profile) && renamed && a.Resource != "nvidia.com/mig-"+spelled+".shared":
		return "profile " + a.Profile + ", shared and renamed, is the resource nvidia.com/mig-" + spelled + ".shared"
	}
	for key, value := range selector {
		if strings.HasSuffix(key, ".sharing-strategy") && value == strategy {
			return ""
		}
	}
	return "the selector needs nvidia.com/gpu.sharing-strategy: " + strategy +
		", for time-slicing and MPS use the same names"
}

// sharedVGPUMistake: a node whose vGPUs are shared by time-slicing says that it has vGPUs, and its product ends in the
// type, before -SHARED where replicas are not renamed (GPU feature discovery v0.20).
func sharedVGPUMistake(a Accelerator, selector map[string]string) string {
	virtual, _ := hardware.VGPUType(a.Profile)
	product, selected := selector[productLabel]
	switch {
	case !virtual && selector[vgpuLabel] == "true":
		return "turns on a vGPU need the type of the vGPU as the profile, such as A40-12Q"
	case !virtual:
		return ""
	case strings.HasPrefix(a.Resource, "nvidia.com/mig-"):
		return "turns on a vGPU are the resource nvidia.com/gpu.shared, or nvidia.com/gpu"
	case selector[vgpuLabel] != "true":
		return `the selector needs ` + vgpuLabel + `: "true"`
	case selected && !strings.HasSuffix(strings.TrimSuffix(product, "-SHARED"), "-"+a.Profile):
		return "inside the virtual machine the product ends in the type, -" + a.Profile
	}
	return ""
}

// selectors is what the labels of a chosen node may look like: the selector, once for each value that the conditions
// leave to a label. Beyond 64 the rest is not looked at: the conditions of a size that is meant to be read do not get
// there.
func (p Placement) selectors() []map[string]string {
	all := []map[string]string{p.NodeSelector}
	for _, m := range p.NodeMatch {
		if m.Operator != "In" || len(m.Values) == 0 || len(all)*len(m.Values) > 64 {
			continue
		}
		var next []map[string]string
		for _, selector := range all {
			for _, value := range m.Values {
				wider := maps.Clone(selector)
				if wider == nil {
					wider = map[string]string{}
				}
				if _, set := wider[m.Key]; !set {
					wider[m.Key] = value
				}
				next = append(next, wider)
			}
		}
		all = next
	}
	return all
}

func (k *checker) technology(at string, s Size) {
	m, ours := technologies[s.Technology]
	rule, data := ruleIn(slices.Concat(k.own, brought()), s.Technology)
	switch {
	case ours:
	case data:
		m = making{isolation: rule.Isolation, single: rule.Single}
		k.ruled(at, s, rule)
	default:
		k.at(at+".technology", "%q is none of %s; a catalog may add its own under technologies", s.Technology, k.names())
		return
	}
	switch {
	case !slices.Contains(isolations, s.Isolation):
		k.at(at+".isolation", "%q is none of hard, memory, none, unknown", s.Isolation)
	case s.Isolation != IsolationUnknown && !slices.Contains(m.isolation, s.Isolation):
		k.at(at+".isolation", "%s does not give the isolation %q", s.Technology, s.Isolation)
	case s.Technology == VGPU && s.Isolation == IsolationHard && !hardware.OwnSlice(s.Accelerator.Profile):
		k.at(at+".isolation", "%s takes turns with others in its compute: hard is only a vGPU that has a MIG slice to itself",
			s.Accelerator.Profile)
	}
	if m.mistake != nil {
		for _, selector := range s.Placement.selectors() {
			if mistake := m.mistake(s.Accelerator, selector); mistake != "" {
				k.at(at+".technology", "%s: %s", s.Technology, mistake)
			}
		}
	}
	if other, shares := shareOf(s.Accelerator.Resource); m.whole && shares {
		k.at(at+".technology", "%s: %s is how %s shares cards", s.Technology, s.Accelerator.Resource, other)
	}
	k.accelerator(at+".accelerator", s, m, data)
}

func (k *checker) accelerator(at string, s Size, m making, data bool) {
	a := s.Accelerator
	if s.Technology == CPUOnly {
		if !a.IsZero() {
			k.at(at, "a size of the technology cpu has no accelerator")
		}
		return
	}
	switch {
	case m.claim:
		k.claimed(at, a)
	case a.Claim != nil:
		k.at(at+".claim", "%s does not claim devices; the technology dra does", s.Technology)
	case data && a.Resource == "": // annotations, or ruled has said it
	case !isExtended(a.Resource):
		k.at(at+".resource", "%q is not an extended resource such as nvidia.com/gpu", a.Resource)
	}
	k.extra(at, s, data)
	k.vendor(at, a)
	if strings.TrimSpace(a.Model) == "" {
		k.at(at+".model", "people need to know which card it is")
	}
	if m.profile && a.Profile == "" {
		k.at(at+".profile", "%s needs the name of the share", s.Technology)
	}
	if m.whole && a.Profile != "" {
		k.at(at+".profile", "a whole card has no profile")
	}
	k.amounts(at, s, m)
	k.hardware(at, s)
}

// amounts: the zero Count is one. Shares below a card say how much of it; whole cards count as 1 or more, by which
// rules tell them from shares.
func (k *checker) amounts(at string, s Size, m making) {
	a := s.Accelerator
	switch {
	case m.claim && k.lines[at+".count"] > 0:
		k.at(at+".count", "how many devices a claim takes stands in its requests")
	case a.Count < 0 || a.Count > 1024 || a.Count == 0 && k.lines[at+".count"] > 0:
		k.at(at+".count", "%d is not a number of devices: 1 and up", a.Count)
	case m.single && a.Count > 1:
		// The device plugin refuses a second replica under failRequestsGreaterThanOne, and gives no more turns without it; of
		// slices CUDA uses the first only.
		k.at(at+".count", "a workload gets one of %s; more of it would not be more", s.Technology)
	}
	switch {
	case m.whole && a.Share < 1:
		k.at(at+".share", "a whole card is a share of 1")
	case !m.whole && (a.Share <= 0 || a.Share > 1):
		k.at(at+".share", "a share of one card lies above 0 and is at most 1")
	}
	if a.MemoryGiB <= 0 {
		k.at(at+".memoryGiB", "how much GPU memory it has is what people choose by; a number above 0 is needed")
	}
}

// OwnReadings reports whether what a device of this technology is measured to do is its holder's own: a card, or a part
// with its own memory and counters. Of all others one value may stand for several pods.
func (t Technology) OwnReadings() bool {
	return slices.Contains([]Technology{Full, Passthrough, MIG, VGPU, DRA}, t)
}
