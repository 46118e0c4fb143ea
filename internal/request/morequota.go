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
)

// QuotaKind asks that a tenant may hold more of a size.
const QuotaKind Kind = "more-quota"

// mostQuota of one size that can be asked for.
const mostQuota = 100_000

// QuotaDraft is an ask for more quota as it was typed.
type QuotaDraft struct {
	Tenant string
	Size   string
	Amount int // how many of the size the tenant may hold then
	Reason string
	Key    string // idempotency key
}

// Raise is a quota that an approval raises.
type Raise struct {
	Tenant string
	Size   string
	To     int
	By     identity.Actor // who approved
	Note   i18n.Text
	At     time.Time
}

// AskQuota asks for more of a size than the tenant may hold. Administrators decide, or whom a rule names that speaks of
// "more-quota".
func (s *Service) AskQuota(ctx context.Context, a identity.Actor, d QuotaDraft) (Request, error) {
	if err := identity.Known(a); err != nil {
		return Request{}, err
	}
	if len(d.Key) > maxKey {
		return Request{}, keyTooLong()
	}
	sent := sentQuota(d)
	if r, found, err := asked(ctx, s.Store, a, sent); found || err != nil {
		return r, s.refused(ctx, a, Draft{Tenant: d.Tenant}, err)
	}
	w, t, err := s.checkQuota(a, d)
	if err != nil {
		return Request{}, s.refused(ctx, a, Draft{Tenant: d.Tenant}, err)
	}
	q := subject{kind: QuotaKind, spec: w, tenant: t, asker: a.Person.ID}
	before := s.before(ctx, t, w)
	var r Request
	err = s.exclusively(ctx, t.Name, func(tx Tx) error {
		again, found, err := asked(ctx, tx, a, sent)
		if found || err != nil {
			r = again
			return err
		}
		f, err := s.gather(ctx, tx, before, q)
		if err != nil {
			return err
		}
		out, err := SubmitQuota(w, a, f)
		if err != nil {
			return err
		}
		sent.mark(&out.Request)
		r, err = s.save(ctx, tx, out)
		return err
	})
	return r, s.refused(ctx, a, Draft{Tenant: d.Tenant}, err)
}

func (s *Service) checkQuota(a identity.Actor, d QuotaDraft) (Spec, tenant.Tenant, error) {
	site := s.Site()
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

// SubmitQuota puts an ask for more quota before those who decide it. It is never granted at once: a rule that allows a
// start says nothing of how many there may be.
func SubmitQuota(w Spec, a identity.Actor, f Facts) (Outcome, error) {
	name, steps, err := quotaSteps(w, a, f)
	if err != nil {
		return Outcome{}, err
	}
	r := Request{ID: f.ID, Kind: QuotaKind, Asker: a.Person.ID, AskerName: a.Person.Name, Spec: w, State: Pending,
		CreatedAt: f.Now, ExpiresAt: f.Now.Add(TTL)}
	r.Decision = Decision{Rule: name, Sentence: i18n.T("policy.approve", "By", policy.Who(steps)), Steps: steps,
		Needs: policy.FirstRole(steps), Since: f.Now}
	return Outcome{Request: r, Events: []audit.Event{event(r, a, audit.RequestSubmitted, f.Now, quotaWords(w))}}, nil
}

func quotaWords(w Spec) i18n.Text {
	return i18n.T("request.quota_asked", "Size", w.Size.Title, "Amount", w.Amount)
}

// quotaSteps are administrators, unless a rule that speaks of more quota names others or refuses. Rules are usually
// written about starts, and one that was must not give quota away.
func quotaSteps(w Spec, a identity.Actor, f Facts) (rule string, steps []policy.Step, err error) {
	v := f.Policy.Decide(PolicyFacts(QuotaKind, w, a, f, 0))
	about := slices.ContainsFunc(f.Policy.Rules(), func(r policy.Rule) bool {
		return r.Name == v.Rule && strings.Contains(r.When, string(QuotaKind))
	})
	switch {
	case about && v.Outcome == policy.Refuse:
		return "", nil, fault.New(fault.Forbidden, v.Sentence)
	case about && v.Outcome == policy.Approve:
		return v.Rule, v.Steps, nil
	}
	return string(QuotaKind), policy.OneOf(identity.Admin), nil
}

// grantQuota carries out an approval. Where the tenant may hold as many already, nothing is left to raise.
func grantQuota(r Request, a identity.Actor, f Facts, approved audit.Event) Outcome {
	out := Outcome{Request: r, Events: []audit.Event{approved}}
	if f.Quota.Limit >= r.Spec.Amount {
		return out
	}
	out.Raise = &Raise{Tenant: r.Spec.Tenant, Size: r.Spec.Size.Name, To: r.Spec.Amount, By: a, Note: quotaWords(r.Spec),
		At: f.Now}
	raised := event(r, a, audit.QuotaRaised, f.Now, i18n.T("request.quota_raised", "Size", r.Spec.Size.Title, "Before",
		f.Quota.Limit, "Amount", r.Spec.Amount))
	raised.Changes = audit.Changed("quota."+r.Spec.Size.Name, f.Quota.Limit, r.Spec.Amount)
	out.Events = append(out.Events, raised)
	return out
}
