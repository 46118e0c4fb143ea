package inventory

import "strings"

// Product is what GPU feature discovery packs into one label value: the card, the profile of its slices under the
// strategy "single", and whether it is shared. Source: k8s-device-plugin v0.20.0, internal/lm/resource.go.
type Product struct {
	Card    string // "NVIDIA-H100-80GB-HBM3"
	Profile string // "1g.10gb"; "" for whole cards
	Invalid bool   // the cards are cut in ways that the strategy "single" cannot say
	Shared  bool   // several pods get the same device
}

// ParseProduct takes the value of nvidia.com/gpu.product apart. Other vendors' values have no suffixes and come back
// as they are.
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
