package inventory

import (
	"regexp"
	"strings"
)

// Product is what GPU feature discovery packs into one label value: the card, the profile of its slices under the
// strategy "single", and marks. Source: k8s-device-plugin v0.20.0, internal/lm/resource.go.
type Product struct {
	Card    string // "NVIDIA-H100-80GB-HBM3"
	Profile string // "1g.10gb"; "" for whole cards
	Invalid bool   // the cards are cut in ways that the strategy "single" cannot say
	Shared  bool   // several pods get the same device
}

// ParseProduct takes the value of nvidia.com/gpu.product apart. Other vendors' values have no marks and come back as
// they are.
func ParseProduct(value string) Product {
	var p Product
	p.Card, p.Shared = strings.CutSuffix(value, "-SHARED")
	if i := strings.LastIndex(p.Card, "-MIG-"); i > 0 {
		p.Card, p.Profile = p.Card[:i], p.Card[i+len("-MIG-"):]
	}
	if p.Profile == "INVALID" {
		p.Profile, p.Invalid = "", true
	}
	return p
}

// Names of vGPU types end in frame buffer and series, with the compute slices before them when they are backed by MIG:
// A40-12Q, H100XM-1-10CME. Source: Virtual GPU Client Licensing User Guide; checked against the 710 types of GPU
// operator v26.7.0.
var (
	timeSlicedVGPU = regexp.MustCompile(`[-_ ][0-9]+[ABCQ](ME|GFX)?$`)
	migBackedVGPU  = regexp.MustCompile(`[-_ ][1-7]-[0-9]+[ABCQ](ME|GFX)?$`)
)

// vgpuType reports whether a product or resource is named like a vGPU type, and whether MIG backs that type.
func vgpuType(name string) (is, mig bool) {
	mig = migBackedVGPU.MatchString(name)
	return mig || timeSlicedVGPU.MatchString(name), mig
}
