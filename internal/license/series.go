package license

import "slices"

// Series is the letter in the name of a vGPU type: A40-12Q, H100XM-1-10CME. It decides which product licenses it.
type Series string

// The series.
const (
	SeriesA Series = "A" // applications
	SeriesB Series = "B" // desktops
	SeriesC Series = "C" // compute
	SeriesQ Series = "Q" // workstations
)

// AllSeries lists every vGPU series, A to Q.
func AllSeries() []Series { return []Series{SeriesA, SeriesB, SeriesC, SeriesQ} }

// licensed is which product licenses which series: Virtual GPU Client Licensing User Guide 16.0, table "Required NVIDIA
// vGPU Software License" (docs.nvidia.com/vgpu/16.0/grid-licensing-user-guide): A vApps, B vPC or vWS, Q vWS. C was of
// vCS until vGPU 15 (same guide, 12.0) and is of NVIDIA AI Enterprise since (docs.nvidia.com/ai-enterprise, vGPU for
// Compute). Until vGPU 15 vWS licensed C as well: a site that still does says so in the pool's series.
var licensed = map[Product][]Series{VApps: {SeriesA}, VPC: {SeriesB}, VWS: {SeriesQ, SeriesB}, VCS: {SeriesC},
	NVAIE: {SeriesC}}

// Licenses are the series that the pool licenses; nil where that is not known, as of a site's own pool.
func (p Pool) Licenses() []Series {
	if len(p.Series) > 0 {
		return p.Series
	}
	if p.Product == "" {
		p.Product = ProductOf(p.Feature)
	}
	return licensed[p.Product]
}

// Fits reports whether the pool licenses a vGPU of the series. What nobody knows is not refused.
func (p Pool) Fits(s Series) bool {
	list := p.Licenses()
	return s == "" || len(list) == 0 || slices.Contains(list, s)
}

// ProductsOf are the products that license a series, in the order of lists.
func ProductsOf(s Series) []Product {
	var list []Product
	for _, p := range Products() {
		if slices.Contains(licensed[p], s) {
			list = append(list, p)
		}
	}
	return list
}

// Name is the display name of the product.
func (p Product) Name() string {
	names := map[Product]string{VCS: "Virtual Compute Server", VWS: "RTX Virtual Workstation", VPC: "Virtual PC",
		VApps: "Virtual Applications", NVAIE: "NVIDIA AI Enterprise"}
	if name, found := names[p]; found {
		return name
	}
	return string(p)
}
