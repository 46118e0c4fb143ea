package catalog

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// making says what a technology asks of a size, so that the size lands where its words say and nowhere else.
type making struct {
	isolation []Isolation
	single    bool // a pod gets one; asking for more gives nothing, or fails
	profile   bool // the share has a name
	// mistake says what is wrong with resource and selector, "" when they agree with the technology.
	mistake func(a Accelerator, selector map[string]string) string
}

// technologies is the table. Sources: resource and label names of NVIDIA's device plugin and GPU feature discovery v0.20.
var technologies = map[Technology]making{
	// Whole cards are alone in their memory; nvidia.com/gpu is also what slices, vGPUs and replicas are called, so the product must be selected.
	Full: {isolation: []Isolation{IsolationHard}, mistake: func(a Accelerator, selector map[string]string) string {
		product := selector[productLabel]
		switch {
		case strings.HasPrefix(a.Resource, "nvidia.com/mig-") || strings.HasSuffix(a.Resource, ".shared"):
			return "a whole card is not called " + a.Resource
		case strings.HasSuffix(product, "-SHARED") || strings.Contains(product, "-MIG-") || selector[vgpuLabel] == "true":
			return "the selector chooses nodes whose cards are shared"
		case a.Resource == "nvidia.com/gpu" && len(selector) == 0:
			return "slices, vGPUs and replicas are called nvidia.com/gpu as well: select the product, " + productLabel
		}
		return ""
	}},
	MIG: {isolation: []Isolation{IsolationHard}, single: true, profile: true, mistake: func(a Accelerator, selector map[string]string) string {
		spelled := strings.ReplaceAll(a.Profile, "+", ".")
		switch {
		case !migProfile.MatchString(a.Profile):
			return "the profile is written as nvidia-smi does: 1g.10gb, 1g.10gb+me"
		case strings.HasSuffix(a.Resource, ".shared"):
			return "a slice that is shared again is of the technology time-slicing"
		case a.Resource == "nvidia.com/gpu" && strings.HasSuffix(selector[productLabel], "-MIG-"+spelled):
			return "" // strategy single: the product label carries the profile
		case a.Resource == "nvidia.com/gpu":
			return "under the strategy single the selector needs " + productLabel + " ending in -MIG-" + spelled
		case a.Resource != "nvidia.com/mig-"+spelled:
			return "profile " + a.Profile + " is the resource nvidia.com/mig-" + spelled
		}
		return ""
	}},
	// A vGPU's memory is its own, its compute is shared with the other virtual machines unless it is backed by MIG.
	VGPU: {isolation: []Isolation{IsolationMemory, IsolationHard}, profile: true, mistake: func(a Accelerator, selector map[string]string) string {
		switch {
		case a.Resource != "nvidia.com/gpu":
			return "a vGPU in a node is the resource nvidia.com/gpu"
		case selector[vgpuLabel] != "true":
			return `the selector needs ` + vgpuLabel + `: "true"`
		}
		return ""
	}},
	TimeSlicing: {isolation: []Isolation{IsolationNone}, single: true, mistake: func(a Accelerator, selector map[string]string) string {
		return sharedMistake(a, selector, "time-slicing")
	}},
	MPS: {isolation: []Isolation{IsolationMemory, IsolationNone}, single: true, mistake: func(a Accelerator, selector map[string]string) string {
		if strings.HasPrefix(a.Resource, "nvidia.com/mig-") {
			return "MPS does not work on MIG slices"
		}
		return sharedMistake(a, selector, "mps")
	}},
	DRA: {mistake: func(Accelerator, map[string]string) string {
		return "claims of dynamic resource allocation cannot be rendered yet"
	}},
	CPUOnly: {isolation: []Isolation{IsolationHard, IsolationNone, IsolationUnknown}},
}

const (
	productLabel = "nvidia.com/gpu.product"
	vgpuLabel    = "nvidia.com/vgpu.present"
)

var migProfile = regexp.MustCompile(`^[1-9]g\.[1-9][0-9]{0,2}gb([+-][a-z0-9]+(\.[a-z0-9]+)*)?$`)

// sharedMistake: replicas are called nvidia.com/<what>.shared, or as the card is where they are not renamed; then the product ends in -SHARED. Time-slicing
// and MPS look alike but for one label.
func sharedMistake(a Accelerator, selector map[string]string, strategy string) string {
	if !strings.HasSuffix(a.Resource, ".shared") && !strings.HasSuffix(selector[productLabel], "-SHARED") {
		return "a shared card is a resource ending in .shared, or needs a selector on " + productLabel + " ending in -SHARED"
	}
	for key, value := range selector {
		if strings.HasSuffix(key, ".sharing-strategy") && value == strategy {
			return ""
		}
	}
	return "the selector needs nvidia.com/gpu.sharing-strategy: " + strategy + ", for time-slicing and MPS use the same names"
}

func (k *checker) technology(at string, s Size) {
	m, known := technologies[s.Technology]
	if !known {
		k.at(at+".technology", "%q is none of full, mig, vgpu, time-slicing, mps, dra, cpu", s.Technology)
		return
	}
	switch {
	case !slices.Contains([]Isolation{IsolationHard, IsolationMemory, IsolationNone, IsolationUnknown}, s.Isolation):
		k.at(at+".isolation", "%q is none of hard, memory, none, unknown", s.Isolation)
	case s.Technology != DRA && s.Isolation != IsolationUnknown && !slices.Contains(m.isolation, s.Isolation):
		k.at(at+".isolation", "%s does not give the isolation %q", s.Technology, s.Isolation)
	}
	if m.mistake != nil {
		if mistake := m.mistake(s.Accelerator, s.Placement.NodeSelector); mistake != "" {
			k.at(at+".technology", "%s: %s", s.Technology, mistake)
		}
	}
}

func (k *checker) accelerator(at string, s Size) {
	a, m := s.Accelerator, technologies[s.Technology]
	if s.Technology == CPUOnly {
		if !a.IsZero() {
			k.at(at, "a size of the technology cpu has no accelerator")
		}
		return
	}
	if !strings.Contains(a.Resource, "/") || len(validation.IsQualifiedName(a.Resource)) > 0 || strings.Contains(a.Resource, "kubernetes.io/") {
		k.at(at+".resource", "%q is not an extended resource such as nvidia.com/gpu", a.Resource)
	}
	if a.Vendor != "" && !strings.Contains(a.Resource, a.Vendor) {
		k.at(at+".vendor", "the resource %s is not of %s", a.Resource, a.Vendor)
	}
	if strings.TrimSpace(a.Model) == "" {
		k.at(at+".model", "people need to know which card it is")
	}
	if m.profile && a.Profile == "" {
		k.at(at+".profile", "%s needs the name of the share", s.Technology)
	}
	if s.Technology == Full && a.Profile != "" {
		k.at(at+".profile", "a whole card has no profile")
	}
	k.amounts(at, s, m)
}

// amounts: the zero Count is one. Shares below a card say how much of it; whole cards count as 1 or more, by which rules tell them from shares.
func (k *checker) amounts(at string, s Size, m making) {
	a := s.Accelerator
	switch {
	case a.Count < 0 || a.Count > 1024 || a.Count == 0 && k.lines[at+".count"] > 0:
		k.at(at+".count", "%d is not a number of devices: 1 and up", a.Count)
	case m.single && a.Count > 1:
		k.at(at+".count", "a workload gets one of %s; more of it would not be more", s.Technology)
	}
	switch {
	case s.Technology == Full && a.Share < 1:
		k.at(at+".share", "a whole card is a share of 1")
	case s.Technology != Full && (a.Share <= 0 || a.Share > 1):
		k.at(at+".share", "a share of one card lies above 0 and is at most 1")
	}
	if a.MemoryGiB <= 0 {
		k.at(at+".memoryGiB", "how much GPU memory it has is what people choose by; a number above 0 is needed")
	}
}
