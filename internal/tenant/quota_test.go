package tenant

import (
	"reflect"
	"testing"
)

func TestQuotaOf(t *testing.T) {
	open, closed := Tenant{Quota: map[string]int{"h100": 2, "cpu": 0, EverySize: 4}},
		Tenant{Quota: map[string]int{"h100": 2}}
	for _, c := range []struct {
		tenant Tenant
		size   string
		want   int
	}{{open, "h100", 2}, {open, "new", 4}, {open, "cpu", 0}, {closed, "h100", 2}, {closed, "new", 0},
		{Tenant{}, "h100", 0}, {Tenant{Quota: map[string]int{EverySize: -1}}, "x", 0}} {
		if got := c.tenant.QuotaOf(c.size); got != c.want {
			t.Errorf("%v, %s: want %d, got %d", c.tenant.Quota, c.size, c.want, got)
		}
	}
}

// TestLimitsOfACluster: a cluster's limit stands beside the one of all clusters together, and only where the quota
// names the size, or each size, there.
func TestLimitsOfACluster(t *testing.T) {
	with := Tenant{Quota: map[string]int{"h100": 4, "h100@west": 1, EverySize: 2, EverySize + "@east": 0, "cpu@east": 9,
		"a10@west": -3}}
	for _, c := range []struct {
		size, cluster string
		want          []Limit
		most          int
	}{
		{"h100", "", []Limit{{Most: 4}}, 4},
		{"h100", "main", []Limit{{Most: 4}}, 4},
		{"h100", "west", []Limit{{Most: 4}, {1, "west"}}, 1},
		{"h100", "east", []Limit{{Most: 4}, {0, "east"}}, 0},
		{"cpu", "east", []Limit{{Most: 2}, {9, "east"}}, 2},
		{"cpu", "west", []Limit{{Most: 2}}, 2},
		{"a10", "west", []Limit{{Most: 2}, {0, "west"}}, 0},
	} {
		if got := with.Limits(c.size, c.cluster); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s on %q: want %v, got %v", c.size, c.cluster, c.want, got)
		}
		if got := with.QuotaOn(c.size, c.cluster); got != c.most {
			t.Errorf("%s on %q: want at most %d, got %d", c.size, c.cluster, c.most, got)
		}
		if size, cluster := ParseQuotaKey(QuotaKey(c.size, c.cluster)); size != c.size || cluster != c.cluster {
			t.Errorf("the key of %s on %q reads as %s on %q", c.size, c.cluster, size, cluster)
		}
	}
}
