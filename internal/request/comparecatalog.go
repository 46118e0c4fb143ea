package request

import (
	"context"
	"reflect"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// CatalogComparison is what another catalog would have meant for the starts of the last days, at the prices that it
// says itself.
type CatalogComparison struct {
	Seen    int  // starts of the last days of a size or an image that differs
	Capped  bool // there were more than are looked at
	Refused []Obstructed
	// Was and Now are what those that could still be asked for cost for their whole leases.
	Was, Now usage.Money
	Running  int // workloads that hold a size that differs: they go on with what they have, at its price
}

// Obstructed is a start that could not be asked for any more, and why.
type Obstructed struct {
	Compared
	Why i18n.Text
}

// Catalog tries another catalog on the starts of the last days.
func (s *Comparisons) Catalog(ctx context.Context, a identity.Actor, then catalog.Catalog) (CatalogComparison, error) {
	var c CatalogComparison
	if err := identity.Known(a); err != nil {
		return c, err
	}
	if !identity.Can(a, identity.ChangeOffer, identity.Resource{}) {
		return c, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	site := s.site()
	differs := func(w Spec) bool {
		was, _ := site.Catalog.Size(w.Size.Name)
		now, _ := then.Size(w.Size.Name)
		wasImage, _ := site.Catalog.Image(w.Image.Name)
		nowImage, _ := then.Image(w.Image.Name)
		return !reflect.DeepEqual(was, now) || !reflect.DeepEqual(wasImage, nowImage)
	}
	capped, err := s.each(ctx, Filter{Since: s.since()}, func(r Request) {
		if r.Kind == StartKind && differs(r.Spec) {
			c.count(site, then, r)
		}
	})
	if err != nil {
		return c, err
	}
	c.Capped = capped
	_, err = s.each(ctx, Filter{Holding: true}, func(r Request) {
		if differs(r.Spec) {
			c.Running++
		}
	})
	return c, err
}

func (c *CatalogComparison) count(site Site, then catalog.Catalog, r Request) {
	before := site
	after := site
	after.Catalog = then
	c.Seen++
	if why := again(before, r.Spec); len(why) > 0 {
		return // it could not be asked for today
	}
	if why := again(after, r.Spec); len(why) > 0 {
		c.Refused = append(c.Refused, Obstructed{r.compared(), why[0].Reason})
		return
	}
	was, now := r.Spec, r.Spec
	was.Size, _ = site.Catalog.Size(r.Spec.Size.Name)
	now.Size, _ = then.Size(r.Spec.Size.Name)
	c.Was, c.Now = c.Was.Add(was.price()), c.Now.Add(now.price())
}

// again is what is wrong with asking for the same once more.
func again(site Site, w Spec) []fault.Field {
	c := checker{offering: Offering{Catalog: site.Catalog, Tenant: tenant.Tenant{Name: w.Tenant}, Clusters: site.Clusters,
		Limits: site.Limits}}
	size := c.size(w.Size.Name)
	if !w.Image.OfTeam() && !w.Image.IsCustom() {
		c.image("image", w.Image.Name, w.Kind)
	}
	if size.Name != "" {
		c.lease(w.Lease.String(), size)
	}
	return c.fields
}
