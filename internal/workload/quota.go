package workload

import (
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// Quota is how much of a size a tenant holds and may hold.
type Quota struct {
	Used    int
	Limit   int
	Cluster string // where it is counted; "" for all clusters together
}

// Full reports whether nothing more can be granted.
func (q Quota) Full() bool { return q.Used >= q.Limit }

// Lacks reports whether so many more are beyond the limit.
func (q Quota) Lacks(more int) bool { return q.Used+more > q.Limit }

// Names is what the quota counts, for people: a size, on its cluster where it counts one alone.
func (q Quota) Names(size catalog.Size) any {
	if q.Cluster == "" {
		return size.Called()
	}
	return i18n.T("workload.size_on", "Size", size.Called(), "Cluster", q.Cluster)
}

// QuotaOf counts what a tenant holds of a size, and gives the quota that leaves it the least: of all clusters together
// where both leave the same.
func QuotaOf(name, size string, limits []tenant.Limit, holdings []Holding) Quota {
	var least Quota
	for i, l := range limits {
		q := Quota{Limit: l.Most, Cluster: l.Cluster}
		for _, h := range holdings {
			if h.Tenant == name && h.Size == size && (l.Cluster == "" || h.Cluster == l.Cluster) {
				q.Used += h.Count
			}
		}
		if i == 0 || q.Limit-q.Used < least.Limit-least.Used {
			least = q
		}
	}
	return least
}
