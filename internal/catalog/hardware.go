package catalog

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// hardware asks whether the card has what the size says of it. Cards that are not in the tables are believed.
func (k *checker) hardware(at string, s Size) {
	a := s.Accelerator
	profile := a.Profile
	if s.Technology == TimeSlicing {
		profile = strings.TrimSuffix(strings.TrimPrefix(a.Resource, "nvidia.com/mig-"), ".shared")
	}
	switch {
	case s.Technology == VGPU || s.LicenseKind() == license.SharedVGPU:
		k.vgpu(at, a)
	case (s.Technology == MIG || s.Technology == TimeSlicing || s.Technology == DRA) && migProfile.MatchString(profile):
		k.slice(at, a.Model, profile)
		for _, selector := range s.Placement.selectors() {
			product, _, _ := strings.Cut(selector[productLabel], "-MIG-")
			k.slice(at, strings.TrimSuffix(product, "-SHARED"), profile)
		}
	}
}

func (k *checker) slice(at, card, profile string) {
	if name := hardware.Uncut(card); name != "" {
		k.at(at+".profile", "a %s cannot be cut into slices", name)
		return
	}
	fits, known := hardware.CardsOf(card)
	if known && !slices.ContainsFunc(fits, func(c hardware.Card) bool { return c.Has(profile) }) {
		var names []string
		for _, c := range fits {
			names = append(names, strings.Join(c.ProfileNames(), ", "))
		}
		k.at(at+".profile", "%s has no slice %s; it has %s", card, profile, strings.Join(names, ", or "))
	}
}

// otherVGPU are the series that are not in the table.
var otherVGPU = regexp.MustCompile(`^[A-Za-z0-9-]+-[0-9]+[AB][0-9]?$`)

func (k *checker) vgpu(at string, a Accelerator) {
	if a.Profile == "" || otherVGPU.MatchString(a.Profile) {
		return
	}
	v, ok := hardware.ParseListedVGPU(a.Profile)
	if !ok {
		k.at(at+".profile", "%q is not a vGPU type such as L40S-24Q or H100-1-10C", a.Profile)
		return
	}
	types, known := hardware.TypesOf(v.Board)
	if !known {
		return
	}
	if !slices.Contains(types, strings.TrimPrefix(a.Profile, v.Board+"-")) {
		k.at(at+".profile", "there is no vGPU type %s; for %s there are -%s", a.Profile, v.Board, strings.Join(types, ", -"))
	}
	if other := hardware.OtherCard(a.Model, v.Board); other != "" {
		k.at(at+".profile", "%s is a type of another card than %s", a.Profile, other)
	}
}
