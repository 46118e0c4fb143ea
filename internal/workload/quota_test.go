package workload

import (
	"math/rand/v2"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

func TestQuotaOfACluster(t *testing.T) {
	held := []Holding{{Tenant: "vision", Size: "h100", Cluster: "main", Count: 2},
		{Tenant: "vision", Size: "h100", Cluster: "west", Count: 1},
		{Tenant: "vision", Size: "cpu", Cluster: "west", Count: 7},
		{Tenant: "speech", Size: "h100", Cluster: "west", Count: 5}, {LicensePool: "rtx", Count: 3}}
	for name, c := range map[string]struct {
		limits []tenant.Limit
		want   Quota
	}{
		"of all clusters":            {[]tenant.Limit{{Most: 4}}, Quota{3, 4, ""}},
		"the cluster has less left":  {[]tenant.Limit{{Most: 9}, {Most: 1, Cluster: "west"}}, Quota{1, 1, "west"}},
		"all clusters together do":   {[]tenant.Limit{{Most: 4}, {Most: 9, Cluster: "west"}}, Quota{3, 4, ""}},
		"the same is left":           {[]tenant.Limit{{Most: 4}, {Most: 2, Cluster: "west"}}, Quota{3, 4, ""}},
		"nothing is held there":      {[]tenant.Limit{{Most: 9}, {Most: 0, Cluster: "east"}}, Quota{0, 0, "east"}},
		"more is held than they may": {[]tenant.Limit{{Most: 2}, {Most: 0, Cluster: "main"}}, Quota{2, 0, "main"}},
	} {
		if got := QuotaOf("vision", "h100", c.limits, held); got != c.want {
			t.Errorf("%s: want %+v, got %+v", name, c.want, got)
		}
	}
}

// TestAQuotaHoldsEveryLimit: what is granted one by one where the quota has room breaks no limit, and what is refused
// would break one.
func TestAQuotaHoldsEveryLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 8))
	for range 300 {
		team := tenant.Tenant{Name: "vision", Quota: map[string]int{"h100": r.IntN(6), "h100@main": r.IntN(5)}}
		if r.IntN(2) == 0 {
			team.Quota["*@west"] = r.IntN(4)
		}
		held := map[string]int{}
		for range 20 {
			cluster := []string{"main", "west", "east"}[r.IntN(3)]
			var holdings []Holding
			for name, n := range held {
				holdings = append(holdings, Holding{Tenant: "vision", Size: "h100", Cluster: name, Count: n})
			}
			q := QuotaOf("vision", "h100", team.Limits("h100", cluster), holdings)
			held[cluster]++
			if within := within(team, held); within == q.Lacks(1) {
				t.Fatalf("quota %v, held then %v: within its limits %t, and the quota says %+v", team.Quota, held, within, q)
			}
			if q.Lacks(1) {
				held[cluster]--
			}
		}
	}
}

func within(team tenant.Tenant, held map[string]int) bool {
	all := 0
	for cluster, n := range held {
		all += n
		most, listed := team.Quota["h100@"+cluster]
		if !listed {
			most, listed = team.Quota["*@"+cluster]
		}
		if listed && n > most {
			return false
		}
	}
	return all <= team.Quota["h100"]
}
