package request

import (
	"cmp"
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Reader is what facts are gathered from: one transaction, of a decision or read-only. Faults as in Store.
type Reader interface {
	Request(ctx context.Context, id ID) (Request, error)
	RequestByKey(ctx context.Context, asker identity.PersonID, key string) (Request, error)
	// AskerHistory is what somebody was granted since a time.
	AskerHistory(ctx context.Context, asker identity.PersonID, since time.Time) (AskerHistory, error)
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
	Volume(ctx context.Context, name string) (workload.Volume, error)
	// Holdings counts what a tenant holds, and the seats that all others hold; "" for seats alone.
	Holdings(ctx context.Context, tenant string) ([]workload.Holding, error)
	// Takings are the workloads that hold license seats, oldest first.
	Takings(ctx context.Context) ([]license.Taking, error)
	// SeatLine lists the pending requests that wait for seats, in the order in which they go on.
	SeatLine(ctx context.Context) ([]Waiting, error)
	// NameTaken says whether a living workload, its kept storage or a pending request has the name.
	NameTaken(ctx context.Context, name string) (bool, error)
	budget.Reader
}

// subject is what a decision is about.
type subject struct {
	kind   Kind
	spec   Spec // as it would be granted
	tenant tenant.Tenant
	asker  identity.PersonID // whose use so far the rules see; "" where they saw it when it was asked
	owner  identity.PersonID // who would hold it; the asker where empty
	own    ID                // of the request itself, which does not stand in front of itself in the line for seats
	target workload.ID       // what is extended or resumed
	name   bool              // the name must be free
}

// claim is what the subject takes of the tenant's budget.
func (q subject) claim(f Facts) budget.Claim { return grantedClaim(q.kind, q.spec, f) }

// before are the facts that need no transaction: ids, and what is as old as the snapshot of the cluster or as the
// configuration in any case.
func (s *Service) before(ctx context.Context, t tenant.Tenant, spec Spec) Facts {
	site := s.Site()
	return Facts{
		Now: s.Now(), ID: ID(s.NewID("r-")), Workload: workload.ID(s.NewID("w-")), Suffix: s.NewID("")[:4],
		Namespace: t.NamespaceName(), Fit: s.fit(ctx, spec.Cluster, spec.Size), Policy: site.Policy, Prices: site.Prices,
		ImageRetired: site.retired(t.Name, spec.Image), Avoid: site.avoid(spec),
	}
}

// gather completes the facts for a subject. Every decision and every preview comes through here, so that none of them
// looks at less than another.
func (s *Service) gather(ctx context.Context, in Reader, f Facts, q subject) (Facts, error) {
	if q.target != "" {
		w, err := in.Workload(ctx, q.target)
		if err != nil {
			return f, err
		}
		f.Extends = &w
	}
	f, err := s.gatherCounts(ctx, in, f, q)
	if err != nil {
		return f, err
	}
	if q.asker != "" {
		if f.History, err = in.AskerHistory(ctx, q.asker, f.Now.Add(-HistoryDays*24*time.Hour)); err != nil {
			return f, err
		}
	}
	if q.name {
		if f.NameTaken, err = in.NameTaken(ctx, q.spec.Name); err != nil {
			return f, err
		}
	}
	if q.kind != QuotaKind { // more quota takes nothing of a budget
		f.Budget, err = s.would(ctx, in, q.claim(f))
	}
	return f, err
}

// gatherCounts reads holdings and, for a size that takes seats, the line for them.
func (s *Service) gatherCounts(ctx context.Context, in Reader, f Facts, q subject) (Facts, error) {
	holdings, err := in.Holdings(ctx, q.tenant.Name)
	if err != nil {
		return f, err
	}
	c := counts{holdings: holdings}
	if q.spec.Size.LicensePool != "" {
		if c.line, err = in.SeatLine(ctx); err != nil {
			return f, err
		}
		if c.takings, err = in.Takings(ctx); err != nil {
			return f, err
		}
	}
	return s.counted(f, q, c), nil
}

// counts are what all sizes of a list of offers are counted against.
type counts struct {
	holdings []workload.Holding
	takings  []license.Taking
	line     []Waiting
}

// counted is what follows from holdings, takings and line, which a list of offers reads once for all sizes.
func (s *Service) counted(f Facts, q subject, c counts) Facts {
	f.Owner = cmp.Or(q.owner, q.asker)
	f.Quota = QuotaOf(q.tenant, q.spec.Size.Name, c.holdings)
	f.Seats = s.seats(q.spec.Size, c.takings)
	f.SeatLine = inLine(c.line, f.Seats, q.own)
	return f
}

// exclusively runs a decision about a tenant's request: its month of the budget is open then, so that what runs already
// counts.
func (s *Service) exclusively(ctx context.Context, tenant string, fn func(Tx) error) error {
	defer s.queue.forget()
	return s.Store.DecideExclusively(ctx, func(tx Tx) error {
		if s.Budgets != nil {
			if err := s.Budgets.Open(ctx, tx, tenant); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// specOf is what is asked for about a workload that is there already.
func specOf(w workload.Workload, lease catalog.Duration, reason string) Spec {
	return Spec{Kind: w.Kind, Tenant: w.Tenant, Name: w.Name, Size: w.Size, Image: w.Image, Cluster: w.Cluster,
		Lease: lease, Reason: reason, Workload: w.ID}
}
