package request

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestWhatARequestCosts: with all that is charged, once each. Rules and approvers are told the same.
func TestWhatARequestCosts(t *testing.T) {
	now := time.Unix(1000, 0)
	f := Facts{Now: now, Seats: &license.Seats{Pool: license.Pool{Name: "vws"}}, Prices: usage.PriceList{
		{ID: "p-1", Kind: usage.PriceSeat, Subject: "vws", Rate: 730 * 100 * 1000}, // 1.00 an hour
		{ID: "p-2", Kind: usage.PriceStorage, Rate: 730 * 1000},                    // 0.01 a GiB and hour
	}}
	spec := Spec{Kind: catalog.Notebook, Tenant: "vision", Lease: catalog.Duration(2 * time.Hour), StorageGiB: 100,
		Image: catalog.Image{Name: "torch", Home: "/home/jovyan"},
		Size:  catalog.Size{Name: "vgpu", LicensePool: "vws", PricePerHour: usage.Money{Minor: 50, Currency: "EUR"}}}
	change := func(fn func(w *Spec)) Spec { w := spec; fn(&w); return w }
	running := f
	running.Extends = &workload.Workload{LicenseSeats: 3}
	for name, c := range map[string]struct {
		facts Facts
		kind  Kind
		spec  Spec
		want  int64
	}{
		"size, seat and new storage":            {f, StartKind, spec, 100 + 200 + 200},
		"storage that is kept already":          {f, StartKind, change(func(w *Spec) { w.Volume = "kept" }), 100 + 200},
		"an image that keeps nothing":           {f, StartKind, change(func(w *Spec) { w.Image.Home = "" }), 100 + 200},
		"a longer lease":                        {running, ExtendKind, spec, 100 + 600},
		"a resume":                              {running, ResumeKind, spec, 100 + 600},
		"more quota costs nothing":              {f, QuotaKind, spec, 0},
		"a size that takes no seat":             {Facts{Now: now, Prices: f.Prices}, StartKind, spec, 100 + 200},
		"neither seats nor storage have prices": {Facts{Now: now, Seats: f.Seats}, StartKind, spec, 100},
	} {
		if got := c.facts.estimate(c.kind, c.spec); got != (usage.Money{Minor: c.want, Currency: "EUR"}) {
			t.Errorf("%s: want %d, got %+v", name, c.want, got)
		}
		if got := PolicyFacts(c.kind, c.spec, identity.Actor{}, c.facts, c.spec.Lease.Std()).Cost; got != float64(
			c.want)/100 {
			t.Errorf("%s: want the rules told %d, got %v", name, c.want, got)
		}
	}
}
