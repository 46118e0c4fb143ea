package catalog

import (
	"regexp"

	"github.com/gpu-portal/gpu-portal/internal/license"
)

// migBacked are vGPU types with the compute slices before the memory: A100-4-20C, H100XM-1-10CME.
var migBacked = regexp.MustCompile(`-[1-7]-[0-9]+[ABCQ](ME|GFX)?$`)

// LicenseKind is how the size comes to its GPU, as far as licenses care.
func (s Size) LicenseKind() license.DeviceKind {
	a := s.Accelerator
	switch {
	case s.Technology == VGPU && migBacked.MatchString(a.Profile):
		return license.MIGBackedVGPU
	case s.Technology == VGPU:
		return license.TimeSlicedVGPU
	case a.Share >= 1:
		return license.WholeCard
	default:
		return license.PartOfCard
	}
}

// Seats is how many seats of the pool a workload of this size takes; 0 where it names none.
func (s Size) Seats(p license.Pool) int {
	if s.LicensePool == "" {
		return 0
	}
	return p.Takes(s.LicenseKind(), s.Devices())
}
