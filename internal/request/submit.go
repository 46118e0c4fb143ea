package request

import (
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
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
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Facts are what Submit and Decide see: gathered in the transaction that serialises grants, so that two people cannot
// be promised the same last slice.
type Facts struct {
	Now       time.Time
	ID        ID          // for a new request
	Beside    ID          // for one more that is made with it
	Workload  workload.ID // for a new workload
	Namespace string
	Suffix    string // random, four characters, for a name that was not given
	Quota     Quota
	Seats     *license.Seats    // of the size's pool; nil when the size takes none
	Owner     identity.PersonID // who would hold the workload
	SeatLine  int               // requests that wait for seats of the pool already
	Avoid     []string          // nodes that lack a license
	Fit       inventory.Fit
	NameTaken bool
	ImageGone i18n.Text          // why the image starts nothing new any more; zero where it does
	Extends   *workload.Workload // the workload that a request is about; nil for a start
	History   AskerHistory       // of the asker
	Budget    budget.Ask         // what this takes of the team's budget
	Prices    usage.PriceList
	Policy    *policy.Policy
}

// AskerHistory is what a person was granted in the last days, for rules that limit it.
type AskerHistory struct {
	Requests int
	Minor    int64 // what they were estimated at, in the currency's minor unit
}

// HistoryDays is how far back the rules and the preview of a change see.
const HistoryDays = 30

// Quota is how much of a size a tenant holds and may hold.
type Quota = workload.Quota

// QuotaOf counts what a tenant holds of a size; with a cluster it is the quota that leaves the least there.
func QuotaOf(t tenant.Tenant, size, cluster string, holdings []workload.Holding) Quota {
	return workload.QuotaOf(t.Name, size, t.Limits(size, cluster), holdings)
}

// Outcome is what a submission or a decision leads to: the request, the workload that is to be saved with it (nil for
// none), and what the audit records.
type Outcome struct {
	Request  Request
	Workload *workload.Workload
	Raise    *Raise   // a quota that is raised with it; nil for none
	Beside   *Request // a request that is made with it; nil for none
	Events   []audit.Event
}

// Submit decides a checked spec. The error is Invalid with the field and what can be changed when it cannot be granted
// at all. Where rules, quota, seats or budget refuse it, it is a Refusal with the facts that were looked at.
func Submit(w Spec, a identity.Actor, f Facts) (Outcome, error) {
	if w.Name == "" {
		w.Name = defaultName(w.Kind, a.Person, f.Suffix)
	}
	seen := PolicyFacts(StartKind, w, a, f, w.Lease.Std())
	r := Request{
		ID: f.ID, Kind: StartKind, Asker: a.Person.ID, AskerName: a.Person.Name, Spec: w, State: Pending,
		Estimate: f.estimate(StartKind, w), EstimateMost: f.estimateMost(w), CreatedAt: f.Now, ExpiresAt: f.Now.Add(TTL),
	}
	if fields := obstacles(w, f); len(fields) > 0 {
		if len(shortages(w, f)) > 0 || len(overBudget(f.Budget)) > 0 {
			return Outcome{}, refuse(r, seen, fault.InvalidFields(fields))
		}
		return Outcome{}, fault.InvalidFields(fields)
	}
	return conclude(r, seen, a, f)
}

// conclude puts a new request to the rules and applies what they say.
func conclude(r Request, seen policy.Facts, a identity.Actor, f Facts) (Outcome, error) {
	if f.Budget.Stops() {
		return Outcome{}, refuse(r, seen, fault.InvalidFields(overBudget(f.Budget)))
	}
	v := f.verdict(seen)
	r.Decision = Decision{Rule: v.Rule, Sentence: v.Sentence, Facts: &seen}
	switch v.Outcome {
	case policy.Refuse:
		return Outcome{}, refuse(r, seen, fault.New(fault.Forbidden, v.Sentence))
	case policy.Approve:
		if r.Spec.Reason == "" {
			return Outcome{}, fault.InvalidFields([]fault.Field{{Name: "reason", Reason: i18n.T("request.reason_needed")}})
		}
		r.Decision.Steps, r.Decision.Since = v.Steps, f.Now
		return Outcome{Request: r, Events: []audit.Event{event(r, a, audit.RequestSubmitted, f.Now, v.Sentence)}}, nil
	}
	submitted := event(r, a, audit.RequestSubmitted, f.Now, v.Sentence)
	if r.Kind == StartKind && f.seatsMissing(r.Spec) {
		out := queued(r, a, f)
		out.Events = append([]audit.Event{submitted}, out.Events...)
		return out, nil
	}
	out, err := grant(r, a, f)
	out.Events = append([]audit.Event{submitted}, out.Events...)
	return out, err
}

// verdict is what rules and budget say.
func (f Facts) verdict(seen policy.Facts) policy.Verdict {
	return budgeted(f.Policy.Decide(seen), f.Budget)
}

// SubmitExtension decides the request to keep a workload for longer.
func SubmitExtension(w workload.Workload, more catalog.Duration, reason string, a identity.Actor,
	f Facts) (Outcome, error) {
	spec := specOf(w, more, reason)
	f.Extends = &w
	whole := extendedUntil(w, more, f.Now).Sub(w.Lease.From)
	spec.LeaseBefore = catalog.Duration((whole - more.Std()).Round(time.Minute))
	if !w.CanExtend() {
		return Outcome{}, fault.New(fault.Conflict, i18n.T("workload.gone"))
	}
	if limit := w.Size.MaxLease.Std(); limit > 0 && whole > limit {
		return Outcome{}, fault.InvalidFields([]fault.Field{{Name: "lease", Reason: i18n.T("request.extension_too_long",
			"Most", w.Size.MaxLease.String())}})
	}
	seen := PolicyFacts(ExtendKind, spec, a, f, whole)
	r := Request{
		ID: f.ID, Kind: ExtendKind, Asker: a.Person.ID, AskerName: a.Person.Name, Spec: spec, State: Pending, Workload: w.ID,
		Estimate: f.estimate(ExtendKind, spec), CreatedAt: f.Now, ExpiresAt: f.Now.Add(TTL),
	}
	return conclude(r, seen, a, f)
}

// extendedUntil counts from the end of the lease, or from now where that has passed.
func extendedUntil(w workload.Workload, more catalog.Duration, now time.Time) time.Time {
	from := w.Lease.Until
	if from.Before(now) {
		from = now
	}
	return from.Add(more.Std())
}

// Withdraw ends a pending request on behalf of its asker.
func Withdraw(r Request, a identity.Actor, now time.Time) (Outcome, error) {
	if r.State == Withdrawn {
		return Outcome{Request: r}, nil
	}
	if err := open(r, now); err != nil {
		return Outcome{}, err
	}
	r.State, r.DecidedAt, r.Decision.Seat, r.Decision.Deferred = Withdrawn, now, nil, nil
	r.Decision.Sentence = i18n.T("request.withdrawn_by", "Name", a.Person.Name)
	return Outcome{Request: r, Events: []audit.Event{event(r, a, audit.RequestWithdrawn, now, i18n.Text{})}}, nil
}

// Expire ends a request that nobody decided in time; the outcome is empty when it is not due. What was answered in time
// does not expire before the answer takes effect.
func Expire(r Request, now time.Time) Outcome {
	if r.State != Pending || r.Decision.Deferred != nil || now.Before(r.ExpiresAt) {
		return Outcome{}
	}
	r.State, r.DecidedAt = Expired, now
	r.Decision.Sentence = i18n.T("request.expired")
	if r.Decision.Seat != nil {
		r.Decision.Sentence, r.Decision.Seat = i18n.T("request.expired_waiting", "Pool", r.Decision.Seat.Title), nil
	}
	return Outcome{Request: r, Events: []audit.Event{event(r, identity.System(), audit.RequestExpired, now, i18n.Text{})}}
}

// Escalate says that a step has escalated; no events where it has not. The request stays as it is, and so do the pages
// on which it is read.
func Escalate(r Request, now time.Time) Outcome {
	at, then := r.Escalates()
	if len(then) == 0 || now.Before(at) || r.Decision.Deferred != nil || open(r, now) != nil {
		return Outcome{}
	}
	return Outcome{Request: r, Events: []audit.Event{event(r, identity.System(), audit.RequestEscalated, now,
		policy.WhoOf(then, false))}}
}

func open(r Request, now time.Time) error {
	if r.State != Pending {
		return fault.New(fault.Conflict, i18n.T("request.already_decided", "State", i18n.T("request.state."+string(r.State))))
	}
	if !now.Before(r.ExpiresAt) {
		return fault.New(fault.Conflict, i18n.T("request.expired"))
	}
	return nil
}

// grant carries out an approval: a start becomes a workload, an extension moves the end of the lease. The record says
// who approved, a person or a rule, and that the portal did the rest on behalf of the asker.
func grant(r Request, a identity.Actor, f Facts) (Outcome, error) {
	r.State, r.DecidedAt = Approved, f.Now
	approved := approval(r, a, f.Now)
	switch r.Kind {
	case QuotaKind:
		return grantQuota(r, a, f, approved), nil
	case ExtendKind:
		until := extendedUntil(*f.Extends, r.Spec.Lease, f.Now)
		w, events, err := workload.Extend(*f.Extends, until, identity.System(), f.Now)
		r.Decision.Extended = &Extended{Before: f.Extends.Lease.Until, After: until, Warned: f.Extends.WarnedAt}
		return Outcome{Request: r, Workload: &w, Events: carriedOut(r, approved, events...)}, err
	case ResumeKind:
		return grantResume(r, f, approved)
	case ReachKind:
		return grantReach(r, f, approved)
	}
	w := newWorkload(r, f)
	r.Workload = w.ID
	created := event(r, identity.System(), audit.WorkloadCreated, f.Now, r.Decision.Sentence)
	out := Outcome{Request: r, Workload: &w, Events: carriedOut(r, approved, created)}
	return out.withReach(f), nil
}

// approval is the event of a decision: by the person who gave the last approval, else by the rule.
func approval(r Request, a identity.Actor, now time.Time) audit.Event {
	e := event(r, a, audit.RequestApproved, now, i18n.Literal(r.Decision.Note))
	if r.Decision.By != "" {
		return e
	}
	rule := audit.ByRule(r.Decision.Rule, r.asker(), audit.RequestAutoApproved, now)
	rule.Tenant, rule.Request, rule.Workload, rule.Detail = e.Tenant, e.Request, e.Workload, e.Detail
	return rule
}

// carriedOut is what the portal did after an approval, on behalf of the asker.
func carriedOut(r Request, approved audit.Event, done ...audit.Event) []audit.Event {
	events := []audit.Event{approved}
	for _, e := range done {
		e.Request, e.Rule = string(r.ID), r.Decision.Rule
		events = append(events, e.For(r.asker()))
	}
	return events
}

// asker is who the record names; only id and name are kept with a request.
func (r Request) asker() identity.Person { return identity.Person{ID: r.Asker, Name: r.AskerName} }

func newWorkload(r Request, f Facts) workload.Workload {
	w := workload.Workload{
		ID: f.Workload, Name: r.Spec.Name, Kind: r.Spec.Kind, Tenant: r.Spec.Tenant, Owner: r.Asker, OwnerName: r.AskerName,
		Size:  r.Spec.Size,
		Image: r.Spec.Image, Cluster: r.Spec.Cluster, Namespace: f.Namespace, StorageGiB: r.Spec.StorageGiB,
		Volume:  r.Spec.Volume,
		Desired: workload.WantRunning, Generation: 1, State: workload.Queued, Reason: i18n.T("workload.being_created"),
		Lease: workload.Lease{From: f.Now, Until: f.Now.Add(r.Spec.Lease.Std())}, Request: string(r.ID), CreatedAt: f.Now,
		UpdatedAt:  f.Now,
		AvoidNodes: f.Avoid, Mounts: r.Spec.Mounts, Job: r.Spec.Job, Model: r.Spec.Model,
		Secrets: r.Spec.Secrets, Git: r.Spec.Git,
	}
	var pool license.Pool
	if f.Seats != nil {
		pool = f.Seats.Pool
	}
	w.LicenseSeats = w.Size.Seats(pool)
	if w.Kind == catalog.Endpoint || r.Spec.Replicas.Most() > 1 {
		w.Replicas = workload.NewReplicas(r.Spec.Replicas, r.Spec.Scaling)
	}
	if s := r.Spec.Schedule; s != nil {
		w.Schedule = workload.Schedule{Mode: s.Mode, Hours: s.Hours, Since: f.Now.UTC()}
	}
	w.Observed.Steps = []workload.Step{{Name: workload.StepDecided, At: f.Now}}
	if w.Volume == "" && w.StorageGiB > 0 && w.Image.Home != "" {
		w.Volume = w.Name + "-home"
	}
	return w
}

// obstacles are the reasons why a spec cannot be granted now, each with what can be changed.
func obstacles(w Spec, f Facts) []fault.Field {
	fields := append(shortages(w, f), overBudget(f.Budget)...)
	if f.NameTaken {
		fields = append(fields, fault.Field{Name: "name", Reason: i18n.T("request.name_taken", "Name", w.Name)})
	}
	if w.Cluster == "" && w.Size.Name != "" {
		fields = append(fields, fault.Field{Name: "size", Reason: i18n.T("request.size_nowhere", "Size", w.Size.Called())})
	}
	return fields
}

func shortages(w Spec, f Facts) []fault.Field {
	switch {
	case f.Quota.Limit == 0:
		return []fault.Field{{Name: "size", Reason: i18n.T("request.size_not_allowed", "Size", f.Quota.Names(w.Size))}}
	case quotaLacks(w, f.Quota):
		return []fault.Field{quotaShort(w, f.Quota)}
	case f.seatRefused(w):
		return []fault.Field{{Name: "size", Reason: i18n.T("request.no_seat", "Pool", f.Seats.Pool.Title, "Seats",
			f.Seats.Pool.Seats)}}
	}
	return nil
}

// PolicyFacts is what the rules see of a spec: of an endpoint with as many replicas as its owner may set, for nobody is
// asked again when they are.
func PolicyFacts(kind Kind, w Spec, a identity.Actor, f Facts, whole time.Duration) policy.Facts {
	all := w
	all.Lease = catalog.Duration(whole)
	facts := policy.Facts{
		Kind: string(kind), Workload: string(w.Kind), Tenant: w.Tenant, Person: a.Person.Email, Groups: a.Person.Groups,
		Size:       w.Size.Name,
		Technology: string(w.Size.Technology), Isolation: string(w.Size.Isolation), Share: w.Size.Accelerator.Share,
		Hours:     whole.Hours(),
		Cost:      f.estimate(kind, all.atMost()).Float(),
		QuotaUsed: int64(f.Quota.Used), QuotaLimit: int64(f.Quota.Limit),
		QuotaLeft: int64(max(0, f.Quota.Limit-f.Quota.Used)), Free: int64(f.Fit.Free),
		Hour: int64(f.Now.UTC().Hour()), Weekday: int64(f.Now.UTC().Weekday()), PastRequests: int64(f.History.Requests),
		PastCost: usage.Money{Minor: f.History.Minor, Currency: w.Size.PricePerHour.Currency}.Float(),
	}
	if !f.Fit.Known {
		facts.Free = -1
	}
	if w.Size.Accelerator.Share >= 1 {
		facts.GPUs = float64(w.Size.Devices() * w.Replicas.Most())
	}
	facts.BudgetSet, facts.BudgetLeft, facts.BudgetCost = f.Budget.Set(), f.Budget.LeftShare(), f.Budget.CostShare()
	facts.SeatsLeft, facts.SeatsTotal = -1, -1
	if f.Seats != nil && kind == StartKind { // a longer lease keeps the seats it has
		facts.SeatPool, facts.SeatsTaken, facts.SeatsWaiting = f.Seats.Pool.Name, int64(f.seatCount(w)), int64(f.SeatLine)
		if !f.Seats.Pool.Unknown {
			facts.SeatsLeft, facts.SeatsTotal = int64(f.Seats.Free()), int64(f.Seats.Pool.Seats)
		}
	}
	facts.Model, facts.CustomImage = modelFacts(w), w.Image.IsCustom()
	facts.ReplicasMin, facts.ReplicasMax = int64(w.Replicas.Lowest()), int64(w.Replicas.Most())
	for _, role := range a.Tenants[w.Tenant] {
		facts.Roles = append(facts.Roles, string(role))
	}
	return facts
}

func defaultName(kind catalog.WorkloadKind, p identity.Person, suffix string) string {
	prefix := "nb"
	switch kind {
	case catalog.Endpoint:
		prefix = "ep"
	case catalog.Job:
		prefix = "job"
	}
	short := Slug(p.Short())
	if len(short) > MaxName-9 {
		short = strings.TrimRight(short[:MaxName-9], "-")
	}
	if short == "" {
		return prefix + "-" + suffix
	}
	return prefix + "-" + short + "-" + suffix
}

func event(r Request, a identity.Actor, kind audit.Kind, at time.Time, detail i18n.Text) audit.Event {
	e := audit.By(a, kind, at)
	e.Tenant, e.Request, e.Workload, e.Rule, e.Detail = r.Spec.Tenant, string(r.ID), string(r.Workload), r.Decision.Rule,
		detail
	if kind == audit.RequestSubmitted && r.Kind == StartKind && r.Spec.Image.IsCustom() {
		e.Changes = audit.Changed("image", "", r.Spec.Image.Reference)
	}
	return e
}
