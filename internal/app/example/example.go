// Package example fills the empty database of a demo: Seed replays a month of work of three teams through the real
// services, with a clock of its own (engine.go), so that statements, budgets and the audit log fit together.
package example

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/app"
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/usage/recorder"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// days is how far the example data goes back.
const days = 30

// ErrNotEmpty says that a database holds requests already, which example data must not be mixed with.
var ErrNotEmpty = errors.New("the database holds requests already: example data is for an empty one")

// Seed puts a month of example data into an empty database, for a demo: three teams with quota, budget and
// prices, whose people ask, are refused, approved, run and stop. Everything goes through the services, with a clock in
// the past and no chance in it, so that the same moment gives the same month; only what the cluster would have said is
// made up. Whoever takes part is called an example and cannot sign in. Nothing of it runs or is left on a cluster; a
// few requests of the last day wait for an answer. ErrNotEmpty when anybody has asked for anything before.
func Seed(ctx context.Context, c config.Config, log *slog.Logger, now time.Time) error {
	e := &example{people: map[string][]identity.Actor{}, now: now.Add(-(days + 1) * 24 * time.Hour),
		chance: rand.New(rand.NewPCG(4, 2026)), metrics: metrics{seed: 5}}
	c.Roles = []string{config.RoleWeb} // nothing of a cluster is wanted
	c.TenantNamespaces = nil           // no namespace is made, so the site's names do not bind the examples
	portal, err := app.New(ctx, c, "example", log, app.WithClock(e.clock), app.WithIDs(e.id))
	if err != nil {
		return err
	}
	e.app = portal.Services()
	return errors.Join(e.run(ctx, now), e.app.Store.Close())
}

func (e *example) clock() time.Time { return e.now }

// example plays a month. Steps wait in the order of their time.
type example struct {
	app    app.Services
	now    time.Time
	chance *rand.Rand
	made   int
	steps  []step
	admin  identity.Actor
	people map[string][]identity.Actor // by team

	metrics metrics
	engines *recorder.Recorder
}

type step struct {
	at time.Time
	do func(ctx context.Context) error
}

func (e *example) id(prefix string) string {
	e.made++
	return fmt.Sprintf("%s%04dexample", prefix, e.made) // the first four are what tells names apart
}

func (e *example) later(after time.Duration, do func(context.Context) error) {
	e.at(e.now.Add(after), do)
}

func (e *example) at(at time.Time, do func(context.Context) error) {
	i, _ := slices.BinarySearchFunc(e.steps, at, func(s step, at time.Time) int {
		if s.at.After(at) {
			return 1
		}
		return -1 // what is due at the same time goes in the order in which it came
	})
	e.steps = slices.Insert(e.steps, i, step{at, do})
}

func (e *example) run(ctx context.Context, until time.Time) error {
	switch list, _, err := e.app.Store.Requests(ctx, request.Filter{Limit: 1}); {
	case err != nil:
		return err
	case len(list) > 0:
		return ErrNotEmpty
	}
	first := until.UTC().Truncate(24*time.Hour).AddDate(0, 0, -days)
	e.now, e.engines = first, e.recorder()
	if err := e.found(ctx); err != nil {
		return err
	}
	for _, t := range e.app.Tenants.Directory().Tenants {
		if t.Disabled {
			continue
		}
		if err := e.plan(ctx, t, first); err != nil {
			return err
		}
	}
	for at := first.Add(time.Hour); at.Before(until); at = at.Add(12 * time.Hour) {
		e.at(at, e.jobs)
	}
	e.last(until)
	e.at(until, e.jobs)
	for len(e.steps) > 0 {
		next := e.steps[0]
		e.steps = e.steps[1:]
		if e.now = next.at; e.now.After(until) {
			return fmt.Errorf("the example reaches into the future: %s", e.now)
		}
		if err := next.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// found makes a third team, prices, and a budget for each team.
func (e *example) found(ctx context.Context) error {
	admin, err := e.person(ctx, "admin", "Alma (administrator, example)", e.app.Config.Platform[identity.Admin])
	if err != nil {
		return err
	}
	e.admin = admin
	quota := map[string]int{}
	for _, t := range e.app.Tenants.Directory().Tenants {
		for size, n := range t.Quota {
			quota[size] = min(max(quota[size], n), 2)
		}
	}
	if names := slices.Sorted(maps.Keys(quota)); len(names) > 1 {
		delete(quota, names[len(names)-1]) // what they ask for in vain
	}
	_, err = e.app.Tenants.Save(ctx, admin, tenant.Draft{Name: "robotics", New: true, Title: "Robotics", Quota: quota,
		Note:   "Example data",
		Groups: map[identity.Role][]string{identity.Developer: {"gpu-robotics-developers"}}})
	if err != nil {
		return err
	}
	for i, t := range e.app.Tenants.Directory().Tenants {
		if t.Disabled {
			continue
		}
		d := budget.Draft{Unit: budget.Unit(e.app.Config.Currency), Amount: []int64{140_000, 25_000, 15_000}[i%3],
			AtLimit: []budget.Limit{budget.Approval, budget.Stop, budget.Stop}[i%3]}
		if _, err := e.app.Budgets.Set(ctx, admin, t.Name, d); err != nil {
			return fmt.Errorf("budget of %s: %w", t.Name, err)
		}
	}
	for _, d := range []usage.PriceDraft{{Kind: string(usage.PriceCPU), Amount: "0.02"},
		{Kind: string(usage.PriceMemory), Amount: "0.003"}} {
		if _, err := e.app.Prices.Add(ctx, admin, d); err != nil {
			return fmt.Errorf("price: %w", err)
		}
	}
	return nil
}

// jobs are what the controller does from time to time.
func (e *example) jobs(ctx context.Context) error {
	return errors.Join(e.engines.Record(ctx), e.app.Approvals.ExpireDue(ctx), e.app.Budgets.Settle(ctx))
}

// last leaves something in the inbox.
func (e *example) last(until time.Time) {
	for i, t := range e.app.Tenants.Directory().Tenants {
		if who := e.people[t.Name]; len(who) > 0 {
			e.at(until.Add(-time.Duration(3+5*i)*time.Hour),
				func(ctx context.Context) error { return e.leave(ctx, who[i%len(who)], t) })
		}
	}
}

// leave asks for the largest size that needs a word, and nobody answers.
func (e *example) leave(ctx context.Context, who identity.Actor, t tenant.Tenant) error {
	for _, size := range slices.Backward(e.sizes(t)) {
		if size.Accelerator.Share < 1 {
			continue
		}
		_, err := e.app.Requests.Submit(ctx, who, e.draft(t.Name, size, "8h",
			"Example: the last run before the deadline"))
		if fault.Is(err, fault.Invalid) || fault.Is(err, fault.Forbidden) {
			continue
		}
		return err
	}
	return nil
}

// examplePeople are colleagues, three in each team; nobody can sign in as them.
var examplePeople = []string{"Mira", "Jonas", "Lena", "Emil", "Aylin", "Theo", "Nele", "Karim", "Ida"}

// plan lets the people of a team ask on each working day.
func (e *example) plan(ctx context.Context, t tenant.Tenant, first time.Time) error {
	people := make([]identity.Actor, 3)
	for i := range people {
		name := examplePeople[(3*len(e.people)+i)%len(examplePeople)]
		p, err := e.person(ctx, t.Name+"-"+name, name+" (example)", t.Groups[identity.Developer])
		if err != nil {
			return err
		}
		people[i] = p
	}
	e.people[t.Name] = people
	sizes := e.sizes(t)
	if len(sizes) == 0 {
		return nil
	}
	for day := range days - 2 {
		date := first.AddDate(0, 0, day)
		if date.Weekday() == time.Saturday || date.Weekday() == time.Sunday {
			continue
		}
		if missing := e.without(t); len(missing) > 0 && day%5 == 2 {
			size := missing[day/5%len(missing)]
			e.at(date.Add(9*time.Hour), func(ctx context.Context) error { return e.ask(ctx, people[0], t.Name, size, "8h") })
		}
		for range 1 + e.chance.IntN(3) {
			who, size := people[e.chance.IntN(len(people))], sizes[e.chance.IntN(len(sizes))]
			lease := []string{"4h", "8h", "8h", "1d"}[e.chance.IntN(4)]
			at := date.Add(8*time.Hour + time.Duration(e.chance.IntN(480))*time.Minute)
			e.at(at, func(ctx context.Context) error { return e.ask(ctx, who, t.Name, size, lease) })
		}
	}
	return nil
}

// sizes are those of which a team has quota.
func (e *example) sizes(t tenant.Tenant) []catalog.Size {
	return e.offered(t, func(s catalog.Size) bool { return t.QuotaOf(s.Name) > 0 })
}

// without are those of which it has none: asking for them is what unmet demand is made of.
func (e *example) without(t tenant.Tenant) []catalog.Size {
	return e.offered(t, func(s catalog.Size) bool { return t.QuotaOf(s.Name) == 0 })
}

func (e *example) offered(t tenant.Tenant, which func(catalog.Size) bool) []catalog.Size {
	var list []catalog.Size
	for _, s := range e.app.Catalog.Catalog().Sizes {
		if !s.Hidden && s.OfferedTo(t.Name) && slices.ContainsFunc(e.app.Clusters, s.OfferedOn) && which(s) {
			list = append(list, s)
		}
	}
	return list
}

func (e *example) person(ctx context.Context, subject, name string, groups []string) (identity.Actor, error) {
	issuer := e.app.Config.OIDC.Issuer
	p := identity.Person{ID: identity.NewPersonID(issuer, "example-"+subject), Issuer: issuer, Subject: "example-" +
		subject, Name: name, Groups: groups, SeenAt: e.now}
	return e.app.Actor(p, identity.ViaSession), e.app.Store.SavePerson(ctx, p)
}

// image is the first one for notebooks that a team may use.
func (e *example) image(team string) string {
	for _, i := range e.app.Catalog.Catalog().Images {
		if i.Kind == catalog.Notebook && i.OfferedTo(team) {
			return i.Name
		}
	}
	return ""
}

func (e *example) draft(team string, size catalog.Size, lease, reason string) request.Draft {
	return request.Draft{Kind: catalog.Notebook, Tenant: team, Size: size.Name, Image: e.image(team), Lease: lease,
		Storage: "0", Reason: reason}
}

// ask submits; a refusal is part of the story.
func (e *example) ask(ctx context.Context, who identity.Actor, team string, size catalog.Size, lease string) error {
	r, err := e.app.Requests.Submit(ctx, who, e.draft(team, size, lease, "Example: compare two models"))
	switch kind := fault.KindOf(err); {
	case err != nil && (kind == fault.Invalid || kind == fault.Forbidden || kind == fault.Conflict):
		return nil
	case err != nil:
		return err
	case r.State == request.Approved:
		e.starts(who, r)
		return nil
	}
	e.later(time.Duration(10+e.chance.IntN(120))*time.Minute,
		func(ctx context.Context) error { return e.answer(ctx, who, r) })
	return nil
}

// answer decides most requests in favour; some are taken back before, and to some nobody answers.
func (e *example) answer(ctx context.Context, who identity.Actor, r request.Request) error {
	luck := e.chance.IntN(12)
	switch luck {
	case 11:
		return nil
	case 0:
		_, err := e.app.Requests.Withdraw(ctx, who, r.ID)
		return err
	}
	approver, err := e.person(ctx, "approver", "Paula (approver, example)", e.app.Config.Platform[identity.Approver])
	if err != nil {
		return err
	}
	if luck < 4 {
		_, err = e.app.Approvals.Reject(ctx, approver, r, "A slice is enough for this.")
		return err
	}
	r, err = e.app.Approvals.Approve(ctx, approver, r, "")
	switch kind := fault.KindOf(err); {
	case err != nil && (kind == fault.Conflict || kind == fault.Forbidden):
		// the quota is used up meanwhile, or a rule asks for others
		return nil
	case err != nil:
		return err
	case r.State == request.Approved:
		e.starts(who, r)
	}
	return nil
}

// starts lets a workload find a node, run for a part of its lease, and go.
func (e *example) starts(who identity.Actor, r request.Request) {
	runs := time.Duration(float64(r.Spec.Lease.Std()) * (0.4 + 0.5*e.chance.Float64())).Truncate(time.Minute)
	node := fmt.Sprintf("example-node-%d", 1+e.chance.IntN(4))
	present := func(ready bool) func(context.Context) error {
		return func(ctx context.Context) error {
			return e.observe(ctx, r.Workload, workload.Observation{PodPresent: true, Pod: r.Spec.Name + "-0", Node: node,
				Ready: ready})
		}
	}
	e.later(time.Minute, present(false))
	e.later(3*time.Minute, present(true))
	e.later(3*time.Minute, func(ctx context.Context) error { return e.works(ctx, r.Workload, runs) })
	e.later(3*time.Minute+runs, present(true)) // seen shortly before the end: what nobody saw nobody pays for
	gone := func(ctx context.Context) error { return e.observe(ctx, r.Workload, workload.Observation{}) }
	if e.chance.IntN(3) == 0 { // stopped, and deleted later
		e.later(4*time.Minute+runs, func(ctx context.Context) error {
			_, err := e.app.Workloads.Stop(ctx, who, r.Workload)
			return err
		})
		e.later(5*time.Minute+runs, gone)
		runs += time.Hour
	}
	e.later(4*time.Minute+runs, func(ctx context.Context) error {
		_, err := e.app.Workloads.Delete(ctx, who, r.Workload, true)
		return err
	})
	e.later(5*time.Minute+runs, gone)
}

// works lets a workload do something with its GPU, so that metrics have samples of it.
func (e *example) works(ctx context.Context, id workload.ID, lasts time.Duration) error {
	w, err := e.app.Store.Workload(ctx, id)
	if err != nil {
		return err
	}
	e.metrics.ran(exampleRun{namespace: w.Namespace, pod: w.Observed.Pod, devices: w.Size.Devices(), from: e.now,
		until: e.now.Add(lasts)})
	return nil
}

// observe is what the controller would write of the cluster.
func (e *example) observe(ctx context.Context, id workload.ID, o workload.Observation) error {
	w, err := e.app.Store.Workload(ctx, id)
	if err != nil {
		return err
	}
	open, err := e.app.Store.OpenInterval(ctx, id)
	if err != nil {
		return err
	}
	o.At, o.Generation = e.now, w.Generation
	after, events := workload.Advance(w, o, e.now)
	held := usage.Allocation{Workload: string(id), Tenant: w.Tenant, Size: w.Size.Name, PerHour: w.Size.PricePerHour,
		Prices: e.app.Prices.List(), SKU: w.Size.SKU(),
		Seats: e.app.LicenseSeats(after), Placed: o.Placed() > 0, SeenAt: w.Observed.At}
	return e.app.Store.SaveObserved(ctx, after, append([]audit.Event{}, events...), usage.Meter(open, held, e.now))
}
