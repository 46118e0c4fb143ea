package webtest

import (
	"maps"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// EverySize is a busy world whose catalog has a size of every technology, as long as that of a large site.
func EverySize(s Scope) *World {
	w := Busy(s)
	every := catalog.EveryRow()
	every.Images = w.Site.Catalog.Images
	w.Site.Catalog = every
	w.Site.Directory.Tenants[0].Quota = map[string]int{tenant.EverySize: 4}
	return w
}

// twoClusters has a second cluster, of which a team may hold less.
func twoClusters(s Scope) *World {
	w := Busy(s)
	w.Site.Clusters = append(slices.Clone(w.Site.Clusters), "edge")
	_, err := w.Tenants.Save(bg, w.Actor(Dora), tenant.Draft{Name: "vision", Title: "Vision",
		Quota: map[string]int{tenant.QuotaKey("h100", "edge"): 1, tenant.QuotaKey(tenant.EverySize, "edge"): 2}})
	check(err)
	w.Site.Directory.Tenants = slices.Clone(w.Site.Directory.Tenants)
	quota := maps.Clone(w.Site.Directory.Tenants[0].Quota)
	quota[tenant.QuotaKey("h100", "edge")] = 1
	w.Site.Directory.Tenants[0].Quota = quota
	return w
}

// twoSizes offers what a small site has.
func twoSizes(s Scope) *World {
	w := Busy(s)
	w.Site.Catalog.Sizes = slices.DeleteFunc(slices.Clone(w.Site.Catalog.Sizes), func(s catalog.Size) bool {
		return s.Name != "cpu" && s.Name != "h100"
	})
	return w
}

// allTaken has no GPU left.
func allTaken(s Scope) *World {
	w := Busy(s)
	known := w.Inventory("local")
	for i := range known.Nodes {
		for j, r := range known.Nodes[i].Resources {
			known.Nodes[i].Resources[j].Holders = []inventory.Holder{{Namespace: "other", Pod: "p", Count: r.Allocatable}}
		}
	}
	w.PutInventory(known)
	return w
}

// noQuota has one whole card for the team, which a workload holds, and no slice.
func noQuota(s Scope) *World {
	w := Busy(s)
	w.Site.Directory.Tenants[0].Quota = map[string]int{"cpu": 4, "h100": 1, "mig-1g.10gb": 1}
	return w
}

// allRefused has a rule that allows nothing.
func allRefused(s Scope) *World {
	w := Busy(s)
	rules, problems := policy.Compile([]policy.Rule{{Name: "closed-in-december", When: "true", Outcome: policy.Refuse,
		Sentence: "The cluster is closed until 2 January."}})
	if problems != nil {
		panic(problems)
	}
	w.Rules = policy.NewService(policy.Options{Store: w.Store, Initial: rules, Now: func() time.Time { return w.Clock }})
	return w
}
