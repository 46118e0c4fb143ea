package tenant

import "testing"

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
