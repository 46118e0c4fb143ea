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

// subject is what a decision is about.
type subject struct {
	kind     Kind
	spec     Spec // as it would be granted
	tenant   tenant.Tenant
	asker    identity.PersonID // whose use so far the rules see; "" where they saw it when it was asked
	owner    identity.PersonID // who would hold it; the asker where empty
	own      ID                // of the request itself, which does not stand in front of itself in the line for seats
	target   workload.ID       // what is extended or resumed
	name     bool              // the name must be free
	anyPools bool              // seats are read of every pool, not only for the size of the spec
}

// subject is what a request is about as it would be granted, perhaps with less than was asked.
func (r Request) subject(less Reduction, t tenant.Tenant) subject {
	q := subject{kind: r.Kind, spec: r.Spec, tenant: t, owner: r.Asker, own: r.ID}
	if less.Size.Name != "" {
		q.spec.Size = less.Size
	}
	if less.Lease > 0 {
		q.spec.Lease = less.Lease
	}
	if r.Kind == ExtendKind || r.Kind == ResumeKind || r.Kind == ReachKind {
		q.target = r.Workload
	}
	return q
}

// specOf is what is asked for about a workload that is there already.
func specOf(w workload.Workload, lease catalog.Duration, reason string) Spec {
	return Spec{Kind: w.Kind, Tenant: w.Tenant, Name: w.Name, Size: w.Size, Image: w.Image, Cluster: w.Cluster,
		Lease: lease, Reason: reason, Workload: w.ID,
		Replicas: replicasOf(w), Model: w.Model}
}

// replicasOf are those that a workload goes on with.
func replicasOf(w workload.Workload) workload.Range {
	if w.Replicas.Most() == 1 {
		return workload.Range{}
	}
	return workload.Range{Min: w.Replicas.Want(), Max: w.Replicas.Most()}
}

// before are the facts that need no transaction: ids, and what is as old as the snapshot of the cluster or as the
// configuration in any case.
func (c *core) before(ctx context.Context, t tenant.Tenant, spec Spec) Facts {
	site := c.site()
	f := Facts{
		Now: c.now(), ID: ID(c.newID("r-")), Workload: workload.ID(c.newID("w-")), Suffix: c.newID("")[:4],
		Namespace: t.NamespaceName(), Fit: c.fit(ctx, spec.Cluster, spec.Size), Policy: site.Policy, Prices: site.Prices,
		ImageGone: site.imageGone(t.Name, spec.Image), Avoid: site.avoid(spec),
	}
	if spec.Outside {
		f.Beside = ID(c.newID("r-"))
	}
	return f
}

// gather completes the facts for a subject. Every decision, preview and offer comes through here, so that none of them
// looks at less than another.
func (c *core) gather(ctx context.Context, in Reader, f Facts, q subject) (Facts, error) {
	s, err := c.read(ctx, in, f.Now, q)
	if err != nil {
		return f, err
	}
	return c.facts(f, q, s), nil
}

// state is what is read for a subject. A list of offers reads it once for all of its sizes.
type state struct {
	target    *workload.Workload // what is extended or resumed; nil for none
	holdings  []workload.Holding
	checkouts []license.Checkout
	line      []Waiting
	history   AskerHistory
	nameTaken bool
	budget    budget.Status
	share     budget.Share // what the target has of the budget already
	metered   budget.Claim // of the target, with its meter
}

func (c *core) read(ctx context.Context, in Reader, now time.Time, q subject) (s state, err error) {
	if q.target != "" {
		w, err := in.Workload(ctx, q.target)
		if err != nil {
			return s, err
		}
		s.target = &w
	}
	if s.holdings, err = in.Holdings(ctx, q.tenant.Name); err != nil {
		return s, err
	}
	if q.anyPools || q.spec.Size.LicensePool != "" {
		if s.line, err = in.SeatLine(ctx); err != nil {
			return s, err
		}
		if s.checkouts, err = in.Checkouts(ctx); err != nil {
			return s, err
		}
	}
	if q.asker != "" {
		if s.history, err = in.AskerHistory(ctx, q.asker, now.Add(-HistoryDays*24*time.Hour)); err != nil {
			return s, err
		}
	}
	if q.name {
		if s.nameTaken, err = in.NameTaken(ctx, q.spec.Name); err != nil {
			return s, err
		}
	}
	return s, c.readBudget(ctx, in, q, &s)
}

// readBudget reads what a subject is charged to; what takes nothing of a budget is not looked up in one.
func (c *core) readBudget(ctx context.Context, in Reader, q subject, s *state) (err error) {
	if c.budgets == nil || q.kind.free() {
		return nil
	}
	if s.budget, err = c.budgets.Status(ctx, in, q.tenant.Name); err != nil || !s.budget.Set() || q.target == "" {
		return err
	}
	if s.metered, err = in.BudgetClaim(ctx, string(q.target)); err != nil {
		return err
	}
	s.share, err = c.budgets.ShareOf(ctx, in, s.budget, string(q.target))
	return err
}

// facts is what follows from what was read.
func (c *core) facts(f Facts, q subject, s state) Facts {
	f.Owner, f.Extends = cmp.Or(q.owner, q.asker), s.target
	f.Quota = QuotaOf(q.tenant, q.spec.Size.Name, q.spec.Cluster, s.holdings)
	f.Seats = c.seats(q.spec.Size, s.checkouts)
	f.SeatLine = queueLength(s.line, f.Seats, q.own)
	f.History, f.NameTaken = s.history, s.nameTaken
	if s.budget.Set() {
		claim := grantedClaim(q.kind, q.spec, f)
		claim.Intervals, claim.Sharers = s.metered.Intervals, s.metered.Sharers
		f.Budget = s.budget.Ask(claim, s.share)
	}
	return f
}
