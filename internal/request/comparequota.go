package request

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// QuotaComparison is what another quota would have meant for a team's starts of the last days, each looked at with what
// the team held then, and what it holds now over it.
type QuotaComparison struct {
	Seen     int           // starts of the last days, those that were refused among them
	Capped   bool          // there were more than are looked at
	Refused  []Compared    // that would have been refused
	Allowed  []Compared    // that were refused for the quota and would not have been
	Running  int           // workloads that hold something now
	Excesses []QuotaExcess // by name of the size
	Waiting  int           // starts that nobody decided yet
	Blocked  []Compared    // those of them that could not be approved, each looked at with what the team holds now
}

// QuotaExcess is a size of which a tenant holds more than its quota.
type QuotaExcess struct {
	Size    catalog.Size
	Cluster string // where it is counted; "" for all clusters together
	Holds   int
	Limit   int
	Started []Compared // the last ones over the limit, newest first; what runs goes on
}

// Quota says what another quota, by size, would mean for a team.
func (s *Comparisons) Quota(ctx context.Context, a identity.Actor, name string,
	quota map[string]int) (QuotaComparison, error) {
	var c QuotaComparison
	if err := s.mayCompareQuota(a, name); err != nil {
		return c, err
	}
	then := tenant.Tenant{Name: name, Quota: quota}
	capped, err := s.each(ctx, Filter{Since: s.since(), Tenants: []string{name}}, func(r Request) { c.count(then, r) })
	if err != nil {
		return c, err
	}
	cappedToo, err := s.eachRefusal(ctx, func(r Refused) { c.countRefused(then, r) })
	if err != nil {
		return c, err
	}
	c.Capped = capped || cappedToo
	held := map[string][]Compared{}
	_, err = s.each(ctx, Filter{Holding: true, Tenants: []string{name}}, func(r Request) {
		c.Running++
		held[r.Spec.Size.Name] = append(held[r.Spec.Size.Name], r.compared())
	})
	if err != nil {
		return c, err
	}
	holdings, err := s.store.Holdings(ctx, name)
	if err != nil {
		return c, err
	}
	c.Excesses = quotaExcesses(then, held, holdings)
	_, err = s.each(ctx, Filter{States: []State{Pending}, Tenants: []string{name}}, func(r Request) {
		c.countWaiting(then, r, holdings)
	})
	return c, err
}

func (s *Comparisons) mayCompareQuota(a identity.Actor, name string) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	switch _, known := s.site().Directory.ByName(name); {
	case !identity.Can(a, identity.ReadTenants, identity.Resource{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, identity.ChangeTenants, identity.Resource{}):
		return fault.New(fault.Forbidden, i18n.T("tenant.admins_only"))
	case !known:
		return fault.New(fault.NotFound, i18n.T("tenant.not_found"))
	}
	return nil
}

func (c *QuotaComparison) count(then tenant.Tenant, r Request) {
	if r.Kind != StartKind {
		return
	}
	c.Seen++
	// what was held then is kept for the limit that left the least, and compared with the lower one of now
	limit := int64(then.QuotaOn(r.Spec.Size.Name, r.Spec.Cluster))
	if f := r.Decision.Facts; f.QuotaUsed+int64(r.Spec.Replicas.Least()) > limit {
		c.Refused = append(c.Refused, r.compared())
	}
}

func (c *QuotaComparison) countWaiting(then tenant.Tenant, r Request, holdings []workload.Holding) {
	if r.Kind != StartKind {
		return
	}
	c.Waiting++
	if QuotaOf(then, r.Spec.Size.Name, r.Spec.Cluster, holdings).Lacks(r.Spec.Replicas.Least()) {
		c.Blocked = append(c.Blocked, r.compared())
	}
}

func (c *QuotaComparison) countRefused(then tenant.Tenant, r Refused) {
	if r.Kind != StartKind || r.Spec.Tenant != then.Name {
		return
	}
	c.Seen++
	after := r.Facts.QuotaUsed + int64(r.Spec.Replicas.Least())
	if after > r.Facts.QuotaLimit && after <= int64(then.QuotaOn(r.Spec.Size.Name, r.Spec.Cluster)) {
		c.Allowed = append(c.Allowed, r.compared())
	}
}

// quotaExcesses are the sizes above the quota that a tenant then has, with what it holds, newest first.
func quotaExcesses(then tenant.Tenant, held map[string][]Compared, holdings []workload.Holding) (list []QuotaExcess) {
	for size, of := range held {
		clusters := []string{""}
		for _, r := range of {
			if !slices.Contains(clusters, r.Spec.Cluster) {
				clusters = append(clusters, r.Spec.Cluster)
			}
		}
		for _, cluster := range clusters {
			if e, over := quotaExcess(then, size, cluster, of, holdings); over {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, func(a, b QuotaExcess) int {
		return cmp.Or(strings.Compare(a.Size.Name, b.Size.Name), strings.Compare(a.Cluster, b.Cluster))
	})
	return list
}

// quotaExcess looks at the limit of a size on all clusters together, or at that of one cluster alone.
func quotaExcess(then tenant.Tenant, size, cluster string, of []Compared, holdings []workload.Holding) (QuotaExcess,
	bool) {
	limits := then.Limits(size, cluster)
	last := limits[len(limits)-1]
	q := workload.QuotaOf(then.Name, size, []tenant.Limit{last}, holdings)
	if last.Cluster != cluster || q.Used <= q.Limit {
		return QuotaExcess{}, false
	}
	e := QuotaExcess{Size: of[0].Spec.Size, Cluster: cluster, Holds: q.Used, Limit: q.Limit}
	for over := q.Used - q.Limit; over > 0 && len(of) > 0; of = of[1:] {
		if cluster == "" || of[0].Spec.Cluster == cluster {
			e.Started = append(e.Started, of[0])
			over -= of[0].Spec.Replicas.Least()
		}
	}
	return e, true
}
