package request

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// QuotaComparison is what another quota would have meant for a team's starts of the last days, each looked at with what
// the team held then, and what it holds now over it.
type QuotaComparison struct {
	Seen    int       // starts of the last days, those that were refused among them
	Unknown int       // of them, those from before facts were kept
	Capped  bool      // there were more than are looked at
	Refused []Request // that would have been refused
	Allowed []Request // that were refused for the quota and would not have been
	Running int       // workloads that hold something now
	Over    []Over    // sizes of which the team holds more than it then may
}

// Over is one size of which a team holds too many.
type Over struct {
	Size    string // its title
	Holds   int
	Limit   int
	Started []Request // the last ones over the limit, newest first; what runs goes on
}

// CompareQuota says what another quota would mean for a team. It writes nothing.
func (s *Service) CompareQuota(ctx context.Context, a identity.Actor, name string,
	quota map[string]int) (QuotaComparison, error) {
	var c QuotaComparison
	if err := identity.Known(a); err != nil {
		return c, err
	}
	switch {
	case !identity.Can(a, identity.ReadTenants, identity.Resource{}):
		return c, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, identity.ChangeTenants, identity.Resource{}):
		return c, fault.New(fault.Forbidden, i18n.T("tenant.admins_only"))
	}
	if _, ok := s.Site().Directory.ByName(name); !ok {
		return c, fault.New(fault.NotFound, i18n.T("tenant.not_found"))
	}
	then := tenant.Tenant{Name: name, Quota: quota}
	limit := func(r Request) int { return then.QuotaOf(r.Spec.Size.Name) }
	capped, err := s.each(ctx, Filter{Since: s.Now().Add(-HistoryDays * 24 * time.Hour), Tenants: []string{name}},
		func(r Request) {
			if r.Kind != StartKind {
				return
			}
			c.Seen++
			switch f := r.Decision.Facts; {
			case f == nil:
				c.Unknown++
			case f.QuotaUsed >= int64(limit(r)):
				c.Refused = append(c.Refused, r)
			}
		})
	if err != nil {
		return c, err
	}
	cappedToo, err := s.eachRefusal(ctx, func(r Request) {
		if r.Kind != StartKind || r.Spec.Tenant != name {
			return
		}
		c.Seen++
		if f := r.Decision.Facts; f != nil && f.QuotaUsed >= f.QuotaLimit && f.QuotaUsed < int64(limit(r)) {
			c.Allowed = append(c.Allowed, r)
		}
	})
	if err != nil {
		return c, err
	}
	c.Capped = capped || cappedToo
	held := map[string][]Request{}
	_, err = s.each(ctx, Filter{Holding: true, Tenants: []string{name}}, func(r Request) {
		c.Running++
		held[r.Spec.Size.Name] = append(held[r.Spec.Size.Name], r)
	})
	for _, list := range held {
		if most := limit(list[0]); len(list) > most {
			c.Over = append(c.Over, Over{Size: list[0].Spec.Size.Title, Holds: len(list), Limit: most,
				Started: list[:len(list)-most]})
		}
	}
	slices.SortFunc(c.Over, func(a, b Over) int { return strings.Compare(a.Size, b.Size) })
	return c, err
}
