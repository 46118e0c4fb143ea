package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// renderer fails where Kubernetes objects could not be rendered: a claim needs a size, a label a cluster.
type renderer struct{}

// Manifest names what would be created.
func (renderer) Manifest(w workload.Workload, _ tenant.Tenant) (string, error) {
	if w.Cluster == "" || w.Volume != "" && w.StorageGiB == 0 {
		return "", errors.New("this cannot be rendered")
	}
	return w.Name, nil
}

// previewed is a service whose drafts can come to anything: granted, put before an approver, refused by a rule, in the
// line for a seat, without quota, budget, name or cluster. Ada is of a tenant whose budget stops at its end, Bo of one
// that then asks an approver.
func previewed(t *testing.T, s *store.Store) (service *request.Service, ada, bo identity.Actor) {
	t.Helper()
	o, ada := Options(s, 40)
	o.Now = func() time.Time { return later(0) } // not the last hours of a month, whose budget leases hardly touch
	site := o.Site()
	site.Catalog.Sizes[0].Tenants, site.Catalog.Images[0].Tenants = nil, nil
	named := func(name string, change func(*catalog.Size)) catalog.Size {
		size := site.Catalog.Sizes[0]
		size.Name, size.Title, size.Clusters = name, name, nil
		change(&size)
		return size
	}
	site.Catalog.Sizes = append(site.Catalog.Sizes,
		named("whole", func(z *catalog.Size) { z.Accelerator.Share, z.Technology = 1, catalog.Full }),
		named("refused", func(*catalog.Size) {}), named("scarce", func(*catalog.Size) {}),
		named("none", func(*catalog.Size) {}),
		named("vgpu", func(z *catalog.Size) { z.LicensePool = "rtx" }),
		named("full-pool", func(z *catalog.Size) { z.LicensePool = "small" }))
	site.Pools = []license.Pool{{Name: "rtx", Title: "RTX", Seats: 2, OnExhaustion: license.QueueStarts},
		{Name: "small", Title: "Small", Seats: 1}}
	site.Clusters = []string{"west", "east"}
	site.Directory.Tenants = []tenant.Tenant{{Name: "vision", Quota: map[string]int{"mig-10gb": 40, "whole": 40,
		"refused": 40, "scarce": 1, "vgpu": 40, "full-pool": 40}}, {Name: "off", Disabled: true},
		{Name: "speech", Quota: map[string]int{"mig-10gb": 30, "scarce": 1, "vgpu": 3}}}
	site.Policy, _ = policy.Compile(append([]policy.Rule{{Name: "never", When: `request.size == "refused"`,
		Outcome: policy.Refuse}}, policy.Defaults()...))
	o.Site = func() request.Site { return site }
	o.Renderer, o.Budgets = renderer{}, Budgets(s, o.Now)
	o.Budgets.Tenant = func(name string) (string, bool) { return name, true }
	set(t, o.Budgets, 4000, budget.Stop)
	eve := identity.Actor{Person: Person("p-eve"), Global: []identity.Role{identity.Admin}, Via: identity.ViaSession}
	_, err := o.Budgets.Set(context.Background(), eve, "speech", budget.Draft{Unit: "EUR", Amount: 500,
		AtLimit: budget.Approval})
	must(t, err)
	ada.Tenants["off"] = []identity.Role{identity.Developer}
	bo = identity.Actor{Person: Person("p-bob"), Tenants: map[string][]identity.Role{"speech": {identity.Developer}},
		Via: identity.ViaSession}
	return request.New(o).Requests, ada, bo
}

// draftsOf makes drafts of the real and the impossible, the same ones each time.
func draftsOf(n int) []request.Draft {
	chance := rand.New(rand.NewPCG(3, 9))
	one := func(usual string, rare ...string) string {
		if chance.IntN(4) > 0 {
			return usual
		}
		return rare[chance.IntN(len(rare))]
	}
	sizes := []string{"mig-10gb", "mig-10gb", "whole", "refused", "scarce", "none", "vgpu", "full-pool"}
	var list []request.Draft
	for range n {
		d := request.Draft{Kind: catalog.Notebook, Tenant: one("vision", "off", "nobody's"),
			Name: fmt.Sprintf("name-%d", chance.IntN(60)), Size: one(sizes[chance.IntN(len(sizes))], "unknown", ""),
			Image: one("torch", "torch", "unknown"), Cluster: one("", "west", "moon"), Lease: one("1h", "2h", "500h", "soon"),
			Storage: one("10Gi", "0", "1Gi", "much"), Reason: one("because", ""),
			Volume:   one("", "own", "own", "used", "foreign", "elsewhere", "gone", "no such"),
			Replaces: workload.ID(one("", "w-own", "w-foreign", "w-none"))}
		if mount := one("", "data", "data", "no-such"); mount != "" {
			d.Mounts = []string{mount}
		}
		list = append(list, d)
	}
	return list
}

// furnish keeps what the drafts name.
func furnish(t *testing.T, s *store.Store) {
	t.Helper()
	for name, change := range map[string]func(*workload.Volume){
		"own": func(*workload.Volume) {}, "used": func(v *workload.Volume) { v.Workload = "w-own" },
		"foreign":   func(v *workload.Volume) { v.Owner = "p-bob" },
		"elsewhere": func(v *workload.Volume) { v.Cluster = "east" },
		"gone":      func(v *workload.Volume) { v.Deleted = true },
	} {
		v := workload.Volume{Name: name, Tenant: "vision", Owner: "p-ada", OwnerName: "Ada", Cluster: "west",
			Namespace: "gpu-vision", GiB: 5, CreatedAt: later(0), UpdatedAt: later(0)}
		change(&v)
		saveVolume(t, s, v)
	}
	data := workload.Volume{Name: workload.ClaimOf("vision", "data"), Tenant: "vision", Cluster: "west",
		Namespace: "gpu-vision", GiB: 5, CreatedAt: later(0), UpdatedAt: later(0), Share: share}
	saveVolume(t, s, data)
	for id, owner := range map[string]identity.PersonID{"w-own": "p-ada", "w-foreign": "p-bob"} {
		w := Workload(id)
		w.Owner, w.Volume, w.LicenseSeats, w.Request = owner, "", 0, "r-of-"+id
		saveWorkload(t, s, w)
	}
}

// sentencesOf is a field problem for comparing: its words, but for names that are drawn anew each time.
func sentencesOf(fields []fault.Field) []string {
	var list []string
	for _, f := range fields {
		list = append(list, f.Name+": "+f.Reason.ID)
	}
	return list
}

// cameTo is what became of a draft in one word for the tally, as the preview says and as the answer does.
func cameTo(p request.Preview) string {
	switch {
	case len(p.Fields) > 0:
		return "problems"
	case !p.Refused.IsZero():
		return "refused by " + p.Verdict.Rule
	case p.Verdict.Outcome == policy.Approve:
		return "pending by " + p.Verdict.Rule
	case p.Place > 0:
		return "in line by " + p.Verdict.Rule
	}
	return "approved by " + p.Verdict.Rule
}

func became(r request.Request, err error, p request.Preview) string {
	switch {
	case fault.Is(err, fault.Invalid):
		return "problems"
	case fault.Is(err, fault.Forbidden) && fault.As(err).Sentence.ID == p.Refused.ID:
		return "refused by " + p.Verdict.Rule
	case err != nil:
		return err.Error()
	case r.WaitsForSeat():
		return "in line by " + r.Decision.Rule
	}
	return string(r.State) + " by " + r.Decision.Rule
}

var previewCases = cases{
	"a preview is what sending does: the same outcome, rule and problems": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		service, ada, bo := previewed(t, s)
		furnish(t, s)
		tally := map[string]int{}
		for i, d := range draftsOf(500) {
			who := ada
			if i%5 == 0 && d.Tenant == "vision" {
				who, d.Tenant = bo, "speech"
			}
			before := got(s.LastChange(ctx))(t)
			p, err := service.Preview(ctx, who, d)
			if err != nil {
				t.Fatalf("draft %d: a preview is never trouble, got %v of %+v", i, err, d)
			}
			if now := got(s.LastChange(ctx))(t); now != before {
				t.Fatalf("draft %d: the preview wrote something", i)
			}
			r, err := service.Submit(ctx, who, d)
			if want, is := cameTo(p), became(r, err, p); want != is {
				t.Errorf("draft %d: previewed as %q, came to %q (%v): %+v", i, want, is, err, d)
			}
			var fields []fault.Field
			if fault.Is(err, fault.Invalid) {
				fields = fault.As(err).Fields
			}
			equal(t, sentencesOf(p.Fields), sentencesOf(fields))
			tally[cameTo(p)]++
			for _, f := range p.Fields {
				tally[f.Reason.ID]++
			}
		}
		for _, seen := range []string{"approved by shares-and-slices", "pending by whole-gpus", "pending by budget",
			"refused by never",
			"in line by shares-and-slices", "request.name_taken", "request.volume_unknown", "request.volume_in_use",
			"request.mount_unknown", "request.replaces_unknown", "request.cluster_unknown", "request.quota_full",
			"request.size_not_allowed", "request.no_seat", "request.reason_needed", "budget.over", "request.tenant_disabled",
			"request.tenant_unknown", "request.size_unknown", "request.lease_too_long"} {
			if tally[seen] == 0 {
				t.Errorf("no draft came to %q: %v", seen, slices.Sorted(maps.Keys(tally)))
			}
		}
	},
	"a preview counts what runs before anything was charged to the month": func(t *testing.T, s *store.Store) {
		ctx, now := context.Background(), later(0)
		o, ada := Options(s, 9)
		o.Now, o.Renderer = func() time.Time { return now }, renderer{}
		o.Budgets = Budgets(s, o.Now)
		month := usage.MonthOf(now, time.UTC)
		set(t, o.Budgets, 20*75, budget.Stop) // 20 hours of the size
		now = month.Span(time.UTC).Until.Add(-time.Hour)
		services := request.New(o)
		long, short := Draft("long"), Draft("short")
		long.Lease, long.Storage, short.Lease, short.Storage = "20h", "0", "2h", "0"
		equal(t, request.Approved, got(services.Requests.Submit(ctx, ada, long))(t).State)
		now = now.Add(2 * time.Hour)
		offers := got(services.Offers.List(ctx, ada, "vision"))(t)
		equal(t, "budget.over", offers[0].Problem.ID) // its default lease is longer than the hour that is left
		p := got(services.Requests.Preview(ctx, ada, short))(t)
		equal(t, []string{"lease: budget.over"}, sentencesOf(p.Fields))
		f := fails(t, fault.Invalid, one(services.Requests.Submit(ctx, ada, short)))
		equal(t, sentencesOf(p.Fields), sentencesOf(f.Fields))
		equal(t, false, got(s.BudgetBalance(ctx, budget.Book{Tenant: "vision", Month: month.Add(1), Unit: "EUR"}))(t).Opened)
	},
	"a preview in a cluster that is held says so": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		service, ada, _ := previewed(t, s)
		must(t, s.SaveHold(ctx, drift.Hold{Cluster: "west", Since: later(0), Cause: drift.Older}))
		p := got(service.Preview(ctx, ada, Draft("nb-1")))(t)
		equal(t, []string{"cluster: drift.held"}, sentencesOf(p.Fields))
		equal(t, false, p.StartsNow())
		f := fails(t, fault.Unavailable, one(service.Submit(ctx, ada, Draft("nb-1"))))
		equal(t, p.Fields[0].Reason, f.Sentence)
	},
	"what is posted in a dry run comes to the same balances and shares, and is refused for the same": func(t *testing.T,
		s *store.Store) {
		ctx, chance := context.Background(), rand.New(rand.NewPCG(5, 8))
		set(t, Budgets(s, func() time.Time { return later(0) }), 1000, budget.Stop)
		before := got(s.BudgetBalance(ctx, book))(t)
		refused := 0
		fails(t, fault.Forbidden, s.BudgetExclusively(ctx, func(tx budget.Tx) error {
			dry := budget.DryRun(s)
			for i := range 60 {
				amount := int64(chance.IntN(60))
				p := budget.Transaction{ID: fmt.Sprint("b-", i), Book: book, Kind: budget.Holding, At: later(i),
					Workload: fmt.Sprint("w-", chance.IntN(5)), Amounts: budget.Amounts{Left: -amount, Held: amount}}
				within := chance.IntN(2) == 0
				real, run := tx.PostBudget(ctx, p, within), dry.PostBudget(ctx, p, within)
				equal(t, fault.KindOf(real), fault.KindOf(run))
				if fault.Is(real, fault.Conflict) {
					refused++
				}
				want, is := got(tx.BudgetBalance(ctx, book))(t), got(dry.BudgetBalance(ctx, book))(t)
				equal(t, want, is)
				equal(t, got(tx.BudgetShares(ctx, book))(t), got(dry.BudgetShares(ctx, book))(t))
				equal(t, got(tx.BudgetShare(ctx, book, p.Workload))(t), got(dry.BudgetShare(ctx, book, p.Workload))(t))
			}
			return fault.New(fault.Forbidden, Event(0).Detail) // and leaves nothing
		}))
		if refused == 0 {
			t.Error("want some refused")
		}
		equal(t, before, got(s.BudgetBalance(ctx, book))(t))
	},
	"a read-only transaction sees one moment and writes nothing": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.ReadOnly(ctx, func(in request.Reader) error {
			if _, err := in.Request(ctx, "r-1"); !fault.Is(err, fault.NotFound) {
				t.Errorf("want nothing there, got %v", err)
			}
			saveRequest(t, s, Request("r-1"))
			if _, err := in.Request(ctx, "r-1"); !fault.Is(err, fault.NotFound) {
				t.Errorf("want what was saved meanwhile not to be seen, got %v", err)
			}
			return nil
		}))
		_ = got(s.Request(ctx, "r-1"))(t)
		fails(t, fault.Forbidden, s.ReadOnly(ctx, func(request.Reader) error {
			return fault.New(fault.Forbidden, Event(0).Detail)
		}))
	},
}
