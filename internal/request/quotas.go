package request

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// QuotaKind asks that a tenant may hold more of a size.
const QuotaKind Kind = "more-quota"

// mostQuota of one size that can be asked for.
const mostQuota = 100_000

// QuotaDraft is a request for more quota as typed, unchecked.
type QuotaDraft struct {
	Tenant string
	Size   string
	Amount int // how many of the size the tenant may hold then
	Reason string
	Key    string // idempotency key
}

// Raise is the change of a tenant's quota that an approval makes.
type Raise struct {
	Tenant string
	Size   string
	To     int
	By     identity.Actor // who approved
	Note   i18n.Text
	At     time.Time
}

// Quotas is the service for quota: what a tenant holds of each size and may hold, and requests for more.
type Quotas struct {
	*core
	store quotaStore
}

type quotaStore interface {
	// Holdings counts what a tenant holds.
	Holdings(ctx context.Context, tenant string) ([]workload.Holding, error)
}

// Ask asks for more of a size than the tenant may hold. Administrators decide, or whom a rule names that speaks of
// "more-quota".
func (s *Quotas) Ask(ctx context.Context, a identity.Actor, d QuotaDraft) (Request, error) {
	sent := quotaKey(d)
	if r, found, err := s.earlier(ctx, a, d.Tenant, sent); found || err != nil {
		return r, err
	}
	w, t, err := s.check(a, d)
	if err != nil {
		return Request{}, s.recordRefusal(ctx, a, d.Tenant, "", err)
	}
	q := subject{kind: QuotaKind, spec: w, tenant: t, asker: a.Person.ID}
	return s.ask(ctx, a, sent, q, func(f Facts) (Outcome, error) { return SubmitQuota(w, a, f) })
}

// Of is what a tenant holds and may hold, by size; on one cluster by tenant.QuotaKey, where the quota names the size
// there or something of it is held under a limit of the cluster.
func (s *Quotas) Of(ctx context.Context, t tenant.Tenant) (map[string]Quota, error) {
	holdings, err := s.store.Holdings(ctx, t.Name)
	if err != nil {
		return nil, err
	}
	quotas := map[string]Quota{}
	for _, size := range s.site().Catalog.Sizes {
		if q := QuotaOf(t, size.Name, "", holdings); q.Limit > 0 || q.Used > 0 {
			quotas[size.Name] = q
		}
		for _, cluster := range s.site().Clusters {
			key := tenant.QuotaKey(size.Name, cluster)
			_, named := t.Quota[key]
			for _, l := range t.Limits(size.Name, cluster)[1:] {
				q := workload.QuotaOf(t.Name, size.Name, []tenant.Limit{l}, holdings)
				if named || q.Used > 0 {
					quotas[key] = q
				}
			}
		}
	}
	return quotas, nil
}

func (s *Quotas) check(a identity.Actor, d QuotaDraft) (Spec, tenant.Tenant, error) {
	site := s.site()
	t, ok := site.Directory.ByName(d.Tenant)
	if !ok || !identity.Can(a, identity.SubmitRequest, identity.Resource{Tenant: d.Tenant}) {
		return Spec{}, t, fault.New(fault.NotFound, i18n.T("tenant.not_found"))
	}
	c := checker{offering: Offering{Catalog: site.Catalog, Tenant: t, Clusters: site.Clusters, Limits: site.Limits}}
	w := Spec{Tenant: t.Name, Size: c.size(d.Size), Amount: d.Amount, Reason: c.reason(d.Reason)}
	w.Name = w.Size.Name + ": " + strconv.Itoa(w.Amount) // no workload is ever called that
	if w.Reason == "" {
		c.problem("reason", i18n.T("request.reason_needed"))
	}
	if limit := t.QuotaOf(w.Size.Name); d.Amount <= limit || d.Amount > mostQuota {
		c.problem("amount", i18n.T("request.quota_amount", "Limit", limit, "Most", mostQuota))
	}
	if t.Disabled {
		c.problem("tenant", i18n.T("request.tenant_disabled", "Tenant", t.Display()))
	}
	return w, t, fault.InvalidFields(c.fields)
}

// SubmitQuota makes a request for more quota. It always needs an approval: a rule that allows a start does not say how
// many there may be.
func SubmitQuota(w Spec, a identity.Actor, f Facts) (Outcome, error) {
	name, steps, err := ownSteps(QuotaKind, w, a, f)
	if err != nil {
		return Outcome{}, err
	}
	r := Request{ID: f.ID, Kind: QuotaKind, Asker: a.Person.ID, AskerName: a.Person.Name, Spec: w, State: Pending,
		CreatedAt: f.Now, ExpiresAt: f.Now.Add(TTL)}
	r.Decision = Decision{Rule: name, Sentence: i18n.T("policy.approve", "By", policy.Who(steps)), Steps: steps,
		Since: f.Now}
	return Outcome{Request: r, Events: []audit.Event{event(r, a, audit.RequestSubmitted, f.Now, quotaWords(w))}}, nil
}

func quotaWords(w Spec) i18n.Text {
	return i18n.T("request.quota_asked", "Size", w.Size.Called(), "Amount", w.Amount)
}

// ownSteps are administrators, unless a rule that names this kind of request names others or refuses. Rules are usually
// written about starts, and one that was must not give anything else away.
func ownSteps(kind Kind, w Spec, a identity.Actor, f Facts) (rule string, steps []policy.Step, err error) {
	v := f.Policy.Decide(PolicyFacts(kind, w, a, f, 0))
	about := slices.ContainsFunc(f.Policy.Rules(), func(r policy.Rule) bool {
		return r.Name == v.Rule && strings.Contains(r.When, string(kind))
	})
	switch {
	case about && v.Outcome == policy.Refuse:
		return "", nil, fault.New(fault.Forbidden, v.Sentence)
	case about && v.Outcome == policy.Approve:
		return v.Rule, v.Steps, nil
	}
	return string(kind), policy.OneOf(identity.Admin), nil
}

// grantQuota carries out an approval. Where the tenant may hold as many already, nothing is left to raise.
func grantQuota(r Request, a identity.Actor, f Facts, approved audit.Event) Outcome {
	out := Outcome{Request: r, Events: []audit.Event{approved}}
	if f.Quota.Limit >= r.Spec.Amount {
		return out
	}
	out.Raise = &Raise{Tenant: r.Spec.Tenant, Size: r.Spec.Size.Name, To: r.Spec.Amount, By: a, Note: quotaWords(r.Spec),
		At: f.Now}
	raised := event(r, a, audit.QuotaRaised, f.Now, i18n.T("request.quota_raised", "Size", r.Spec.Size.Called(), "Before",
		f.Quota.Limit, "Amount", r.Spec.Amount))
	raised.Changes = audit.Changed("quota."+r.Spec.Size.Name, f.Quota.Limit, r.Spec.Amount)
	out.Events = append(out.Events, raised)
	return out
}
