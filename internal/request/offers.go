package request

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Offer is one size as a person of a tenant sees it now.
type Offer struct {
	Size       catalog.Size
	Cluster    string
	Fit        inventory.Fit
	Why        i18n.Text // why none could start now, or why that cannot be told; zero when some could
	QueueAhead int       // workloads of this size that are granted and wait for a place
	Quota      Quota
	Seats      *license.Seats
	// MoreSeats are those of the pool that a start takes beside those that are taken.
	MoreSeats int
	Place     int            // in the line for seats, where it would have to wait for one; 0 where it need not
	Verdict   policy.Verdict // for the default lease
	Problem   i18n.Text      // why it cannot be asked for now; zero when it can
}

// StartsNow reports whether a request for the default lease would run at once.
func (o Offer) StartsNow() bool {
	return o.Problem.IsZero() && o.Place == 0 && o.Verdict.Outcome == policy.Allow && o.Fit.Known && o.Fit.Free > o.QueueAhead
}

// Offers lists the sizes that a tenant may see, in the order of the catalog; those that cannot be had now carry the
// reason.
func (s *Service) Offers(ctx context.Context, a identity.Actor, tenantName string) ([]Offer, error) {
	site := s.Site()
	t, ok := site.Directory.ByName(tenantName)
	if !ok || !identity.Can(a, identity.ReadTenant, identity.Resource{Tenant: tenantName}) {
		return nil, fault.New(fault.NotFound, i18n.T("request.tenant_unknown", "Tenant", clip(tenantName)))
	}
	holdings, err := s.Store.Holdings(ctx, t.Name)
	if err != nil {
		return nil, err
	}
	lines, err := s.queue.read(ctx, s.Store, s.Now())
	if err != nil {
		return nil, err
	}
	standing, err := s.standing(ctx, t.Name)
	if err != nil {
		return nil, err
	}
	c := counts{holdings: holdings}
	if c.line, err = s.Store.SeatLine(ctx); err != nil {
		return nil, err
	}
	if c.takings, err = s.Store.Takings(ctx); err != nil {
		return nil, err
	}
	site.Catalog = site.CatalogFor(t.Name, s.Now())
	var offers []Offer
	fitted := s.fits.of(ctx, s.Snapshots)
	for i := range site.Catalog.Sizes {
		if site.Catalog.Sizes[i].OfferedTo(t.Name) {
			o := s.offer(site, a, t, &site.Catalog.Sizes[i], c, standing, fitted)
			if l, waits := lines[place{o.Cluster, o.Size.Name}]; waits {
				snapshot, _ := s.Snapshots.Snapshot(ctx, o.Cluster)
				o.QueueAhead = l.ahead(snapshot)
			}
			offers = append(offers, o)
		}
	}
	return offers, nil
}

func (s *Service) offer(site Site, a identity.Actor, t tenant.Tenant, known *catalog.Size, held counts,
	standing budget.Standing, fitted func(string, *catalog.Size) room) Offer {
	size := *known
	c := checker{offering: Offering{Clusters: site.Clusters}}
	w := Spec{Kind: catalog.Notebook, Tenant: t.Name, Size: size, Cluster: c.cluster("", size), Lease: size.DefaultLease}
	r := fitted(w.Cluster, known)
	if r.isolation != "" {
		size.Isolation, w.Size.Isolation = r.isolation, r.isolation
	}
	if rule, ok := site.Catalog.Rule(size.Technology); ok && rule.Uncountable {
		// also of a technology that only this catalog knows
		r = room{why: i18n.T("capacity.not_counted"), isolation: r.isolation}
	}
	f := s.counted(Facts{Now: s.Now(), Fit: r.Fit, Policy: site.Policy, Prices: site.Prices},
		subject{kind: StartKind, spec: w, tenant: t, owner: a.Person.ID}, held)
	o := Offer{Size: size, Cluster: w.Cluster, Fit: f.Fit, Why: r.why, Quota: f.Quota, Seats: f.Seats}
	o.Place = f.seatPlace(w)
	o.MoreSeats = f.more(w)
	f.Budget = standing.Ask(startClaim(w, f), budget.Share{})
	o.Verdict = f.verdict(PolicyFacts(StartKind, w, a, f, w.Lease.Std()))
	if fields := obstacles(w, f); len(fields) > 0 {
		o.Problem = fields[0].Reason
	} else if f.Fit.Known && f.Fit.Total == 0 {
		o.Problem = i18n.T("request.size_not_present", "Size", size.Title)
	}
	return o
}

// Preview is what would happen if the draft were sent now. Nothing is written.
type Preview struct {
	Spec       Spec
	Fields     []fault.Field  // what must be changed first
	Verdict    policy.Verdict // meaningful without Fields
	Price      usage.Money    // of the size, for the whole lease
	Extras     usage.Ahead    // what is charged beside it
	Until      time.Time
	Fit        inventory.Fit
	Why        i18n.Text // why none could start now; zero when some could
	QueueAhead int       // workloads of this size that are granted and wait for a place
	Quota      Quota
	Seats      *license.Seats
	// MoreSeats are those of the pool that it takes beside those that are taken.
	MoreSeats    int
	Place        int         // in the line for seats, where it would have to wait for one; 0 where it need not
	Budget       budget.Ask  // what it takes of the team's budget
	Refused      i18n.Text   // the rule's sentence when it refuses
	Alternatives Alternative // a size that would start now, when this one would not; zero for none
	Manifest     string      // YAML of what would be created
}

// StartsNow reports whether sending would start it at once.
func (p Preview) StartsNow() bool {
	return len(p.Fields) == 0 && p.Place == 0 && p.Refused.IsZero() && p.Verdict.Outcome == policy.Allow && p.Fit.Known &&
		p.Fit.Free > p.QueueAhead
}

// Preview is Submit in a transaction that writes nothing: the same facts, problems and verdict, with the exact objects.
// Only trouble with the store or the rendering is an error.
func (s *Service) Preview(ctx context.Context, a identity.Actor, d Draft) (Preview, error) {
	if err := identity.Known(a); err != nil {
		return Preview{}, err
	}
	prepared := s.prepare(ctx, a, d)
	prepared.facts.Suffix = "xxxx" // drawn when it is sent
	c, err := s.considerOnly(ctx, a, prepared)
	if err != nil || !prepared.known {
		return Preview{Spec: c.spec, Fields: c.fields}, err
	}
	f := c.facts
	p := Preview{Spec: c.spec, Fields: c.fields, Fit: f.Fit, Quota: f.Quota, Seats: f.Seats,
		MoreSeats: f.more(c.spec), Place: f.seatPlace(c.spec),
		Budget: f.Budget, Price: c.spec.Size.PricePerHour.For(c.spec.Lease.Std()), Extras: f.Extras(StartKind, c.spec),
		Until: f.Now.Add(c.spec.Lease.Std())}
	if p.Why, p.QueueAhead, err = s.waiting(ctx, c.spec); err != nil {
		return p, err
	}
	if c.spec.Size.Name == "" || c.spec.Image.Name == "" {
		return p, nil
	}
	p.Verdict = f.verdict(PolicyFacts(StartKind, c.spec, a, f, c.spec.Lease.Std()))
	if p.Verdict.Outcome == policy.Refuse {
		p.Refused = p.Verdict.Sentence
	}
	if !p.StartsNow() {
		p.Alternatives, _ = s.StartsInstead(ctx, a, prepared.tenant.Name, c.spec.Size)
	}
	if w, ok := c.planned(a, len(prepared.fields) == 0 && complete(c)); ok {
		p.Manifest, err = s.Renderer.Manifest(w, prepared.tenant)
	}
	return p, err
}

// complete reports whether everything that the draft names was found.
func complete(c considered) bool {
	return !slices.ContainsFunc(c.fields, func(f fault.Field) bool {
		return slices.Contains([]string{"cluster", "volume", "mounts", "replaces"}, f.Name)
	})
}

// NeedsReason reports whether nothing is missing but what the approver will read.
func (p Preview) NeedsReason() bool {
	return len(p.Fields) == 1 && p.Fields[0].Name == "reason" && p.Fields[0].Reason.ID == "request.reason_needed"
}

func fieldsOf(err error) []fault.Field {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Fields
	}
	return nil
}

// Tenants lists the teams that the actor may read.
func (s *Service) Tenants(a identity.Actor) []tenant.Tenant {
	var visible []tenant.Tenant
	for _, t := range s.Site().Directory.Tenants {
		if identity.Can(a, identity.ReadTenant, identity.Resource{Tenant: t.Name}) {
			visible = append(visible, t)
		}
	}
	return visible
}

// Quotas is what a tenant holds and may hold, by size, in the order of the catalog.
func (s *Service) Quotas(ctx context.Context, t tenant.Tenant) (map[string]Quota, error) {
	holdings, err := s.Store.Holdings(ctx, t.Name)
	if err != nil {
		return nil, err
	}
	quotas := map[string]Quota{}
	for _, size := range s.Site().Catalog.Sizes {
		if q := QuotaOf(t, size.Name, holdings); q.Limit > 0 || q.Used > 0 {
			quotas[size.Name] = q
		}
	}
	return quotas, nil
}

// Seats is every license pool and its use.
func (s *Service) Seats(ctx context.Context) ([]license.Seats, error) {
	takings, err := s.Store.Takings(ctx)
	return license.Count(s.Site().Pools, takings), err
}
