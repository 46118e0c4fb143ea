package request

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// Offers is the service for sizes: those that a tenant may have, at its price, with what is free of each.
type Offers struct {
	*core
	store offerStore
	fits  fits
}

type offerStore interface {
	// Queued lists the workloads that are granted and wait for a place, or have theirs since a time, of all tenants.
	Queued(ctx context.Context, placedSince time.Time) ([]SizeQueue, error)
}

// Offer is one size as a person of a tenant sees it now.
type Offer struct {
	Size       catalog.Size
	Cluster    string
	Fit        inventory.Fit
	Why        i18n.Text // why none could start now, or why that cannot be told; zero when some could
	QueueDepth int       // workloads of this size that are granted and wait for a place
	Quota      Quota
	Seats      *license.Seats
	// AdditionalSeats are those of the pool that a start takes beside those that are taken.
	AdditionalSeats int
	Place           int            // in the line for seats, where it would have to wait for one; 0 where it need not
	Verdict         policy.Verdict // for the default lease
	Problem         i18n.Text      // why it cannot be asked for now; zero when it can
}

// StartsNow reports whether a request for the default lease would run at once.
func (o Offer) StartsNow() bool {
	return o.Problem.IsZero() && o.Place == 0 && o.Verdict.Outcome == policy.Allow && o.Fit.Known &&
		o.Fit.Free > o.QueueDepth
}

// Tenants lists the teams that the actor may read.
func (s *Offers) Tenants(a identity.Actor) []tenant.Tenant {
	var visible []tenant.Tenant
	for _, t := range s.site().Directory.Tenants {
		if identity.Can(a, identity.ReadTenant, identity.Resource{Tenant: t.Name}) {
			visible = append(visible, t)
		}
	}
	return visible
}

// List gives the sizes that a tenant may see, in the order of the catalog; those that cannot be had now carry the
// reason.
func (s *Offers) List(ctx context.Context, a identity.Actor, tenantName string) ([]Offer, error) {
	l := listing{offers: s, site: s.site(), actor: a, now: s.now(), fitted: s.fits.of(ctx, s.snapshots)}
	var ok bool
	l.tenant, ok = l.site.Directory.ByName(tenantName)
	if !ok || !identity.Can(a, identity.ReadTenant, identity.Resource{Tenant: tenantName}) {
		return nil, fault.New(fault.NotFound, i18n.T("request.tenant_unknown", "Tenant", clip(tenantName)))
	}
	lines, err := s.queue.read(ctx, s.store, l.now)
	if err != nil {
		return nil, err
	}
	err = s.dryRun(ctx, l.tenant.Name, func(tx Tx) (err error) {
		l.state, err = s.read(ctx, tx, l.now, subject{kind: StartKind, tenant: l.tenant, anyPools: true})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.site.Catalog = l.site.CatalogFor(l.tenant.Name, l.now)
	var offers []Offer
	snapshots := map[string]inventory.Snapshot{} // read once for all sizes
	for i := range l.site.Catalog.Sizes {
		if !l.site.Catalog.Sizes[i].OfferedTo(l.tenant.Name) {
			continue
		}
		o := l.offer(&l.site.Catalog.Sizes[i])
		if line, waits := lines[queueKey{o.Cluster, o.Size.Name}]; waits {
			if _, read := snapshots[o.Cluster]; !read {
				snapshots[o.Cluster], _ = s.snapshots.Snapshot(ctx, o.Cluster)
			}
			o.QueueDepth = line.depth(s.holdersOf(snapshots[o.Cluster]))
		}
		offers = append(offers, o)
	}
	return offers, nil
}

// listing is a list of offers in the making: what was read once for all of its sizes.
type listing struct {
	offers *Offers
	site   Site
	tenant tenant.Tenant
	actor  identity.Actor
	now    time.Time
	state  state
	fitted func(cluster string, size *catalog.Size) room
}

// offer is one size, asked for with its default lease.
func (l listing) offer(known *catalog.Size) Offer {
	size := *known
	c := checker{offering: Offering{Clusters: l.site.Clusters}}
	w := Spec{Kind: catalog.Notebook, Tenant: l.tenant.Name, Size: size, Cluster: c.cluster("", size, catalog.Image{}),
		Lease: size.DefaultLease}
	r := l.fitted(w.Cluster, known)
	if r.isolation != "" {
		size.Isolation, w.Size.Isolation = r.isolation, r.isolation
	}
	if rule, ok := l.site.Catalog.Rule(size.Technology); ok && rule.Uncountable {
		// also of a technology that only this catalog knows
		r = room{why: i18n.T("capacity.not_counted"), isolation: r.isolation}
	}
	f := l.offers.facts(Facts{Now: l.now, Fit: r.Fit, Policy: l.site.Policy, Prices: l.site.Prices},
		subject{kind: StartKind, spec: w, tenant: l.tenant, owner: l.actor.Person.ID}, l.state)
	o := Offer{Size: size, Cluster: w.Cluster, Fit: f.Fit, Why: r.why, Quota: f.Quota, Seats: f.Seats,
		Place: f.seatPlace(w), AdditionalSeats: f.additionalSeats(w),
		Verdict: f.verdict(PolicyFacts(StartKind, w, l.actor, f, w.Lease.Std()))}
	if fields := obstacles(w, f); len(fields) > 0 {
		o.Problem = fields[0].Reason
	} else if f.Fit.Known && f.Fit.Total == 0 {
		o.Problem = i18n.T("request.size_not_present", "Size", size.Title)
	}
	return o
}

// waiting says why a spec would not start at once: what is in the way on the nodes, and who stands in front.
func (s *Offers) waiting(ctx context.Context, w Spec) (why i18n.Text, ahead int, err error) {
	lines, err := s.queue.read(ctx, s.store, s.now())
	if err != nil || w.Size.Name == "" {
		return why, 0, err
	}
	snapshot, ok := s.snapshots.Snapshot(ctx, w.Cluster)
	if ok {
		why = s.found.Why(snapshot, w.Size)
	}
	return why, lines[queueKey{w.Cluster, w.Size.Name}].depth(s.holdersOf(snapshot)), nil
}

// holdersOf are the workloads that a snapshot shows, looked up once for all who ask.
func (s *Offers) holdersOf(snapshot inventory.Snapshot) func() map[string]bool {
	return func() map[string]bool { return s.holders.Of(snapshot, nil, snapshot.Holders) }
}
