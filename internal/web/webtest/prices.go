package webtest

import "github.com/gpu-portal/gpu-portal/internal/usage"

// priced is what the world has on offer, and to whom.
func (w *World) priced() usage.Known {
	known := usage.Known{Models: []string{"H100 80GB"}}
	for _, p := range w.Site.Pools {
		known.Pools = append(known.Pools, p.Name)
	}
	for _, s := range w.Site.Catalog.Sizes {
		known.Sizes = append(known.Sizes, s.Name)
	}
	for _, t := range w.Site.Directory.Tenants {
		known.Tenants = append(known.Tenants, t.Name)
	}
	return known
}
