package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// LicenseKind is how the size comes to its GPU, as far as licenses care.
func (s Size) LicenseKind() license.DeviceKind {
	a := s.Accelerator
	virtual, backed := hardware.VGPUType(a.Profile)
	switch {
	case s.Technology == TimeSlicing && virtual:
		return license.SharedVGPU
	case s.Technology == VGPU && backed:
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

// Checkout is what a workload of this size would take of its pool.
func (s Size) Checkout(p license.Pool, owner string) license.Checkout {
	t := license.Checkout{Pool: s.LicensePool, Seats: s.Seats(p), Owner: owner, Device: s.LicenseKind()}
	if t.Device == license.SharedVGPU {
		t.VGPU = s.Accelerator.Profile
	}
	return t
}

// Series is the series of the vGPU that the size has, or has turns on; "" where it is none.
func (s Size) Series() license.Series {
	if s.Technology != VGPU && s.LicenseKind() != license.SharedVGPU {
		return ""
	}
	return license.Series(hardware.SeriesOf(s.Accelerator.Profile))
}

// Mismatch is a size whose license pool does not license its vGPU.
type Mismatch struct {
	Size   Size
	Series license.Series
	Pool   license.Pool
	Line   int    // in the text; 0 where it was not read from one
	Path   string // "sizes[2].licensePool"
}

// Mismatches are the sizes whose pool does not license the series of their vGPU: the driver would get no license, and
// the vGPU would be slowed down. They are refused when a catalog is saved; of one that is there they are told.
func (c Catalog) Mismatches(pools []license.Pool) []Mismatch {
	var list []Mismatch
	for i, s := range c.Sizes {
		at := slices.IndexFunc(pools, func(p license.Pool) bool { return p.Name == s.LicensePool })
		if series := s.Series(); at >= 0 && !pools[at].Fits(series) {
			list = append(list, Mismatch{Size: s, Series: series, Pool: pools[at],
				Path: fmt.Sprintf("sizes[%d].licensePool", i)})
		}
	}
	return list
}

// Problem is the mismatch as what is wrong with a text.
func (m Mismatch) Problem() Problem {
	return Problem{Line: m.Line, Path: m.Path, Text: m.Sentence(),
		Message: fmt.Sprintf("the pool %s does not license vGPUs of the series %s", m.Pool.Name, m.Series)}
}

// Same reports whether it is the same pair of size and pool.
func (m Mismatch) Same(o Mismatch) bool {
	return m.Size.Name == o.Size.Name && m.Series == o.Series && m.Pool.Name == o.Pool.Name
}

// Sentence says it to people, with what would license the series.
func (m Mismatch) Sentence() i18n.Text {
	var products []string
	for _, p := range license.ProductsOf(m.Series) {
		products = append(products, p.Name())
	}
	return i18n.T("offer.license_mismatch", "Size", m.Size.Called(), "Type", m.Size.Accelerator.Profile, "Series",
		string(m.Series), "Pool", cmp.Or(m.Pool.Title, m.Pool.Name), "Products", strings.Join(products, ", "))
}
