package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Service is the real service over a store, see Options.
func Service(s *store.Store, quota int) (*request.Service, identity.Actor) {
	o, ada := Options(s, quota)
	return request.New(o).Requests, ada
}

// Options are those of services over a store, for a site with one tenant "vision" that may hold so many of the size
// "mig-10gb", and one person in it.
func Options(s *store.Store, quota int) (request.Options, identity.Actor) {
	rules, _ := policy.Compile(policy.Defaults())
	size, image := Size("mig-10gb"), Workload("w").Image
	size.LicensePool, size.Hidden, image.Hidden = "", false, false
	site := request.Site{
		Catalog:   catalog.Catalog{Sizes: []catalog.Size{size}, Images: []catalog.Image{image}},
		Directory: tenant.Directory{Tenants: []tenant.Tenant{{Name: "vision", Quota: map[string]int{size.Name: quota}}}},
		Policy:    rules, Clusters: []string{"west"}, Limits: request.DefaultLimits(),
	}
	var ids atomic.Int64
	o := request.Options{Store: s, Snapshots: s, Site: func() request.Site { return site }, Now: time.Now,
		NewID: func(prefix string) string { n := ids.Add(1); return fmt.Sprintf("%s%04d%08d", prefix, n%10_000, n) }}
	ada := identity.Actor{Person: Person("p-ada"), Tenants: map[string][]identity.Role{"vision": {identity.Developer}},
		Via: identity.ViaSession}
	return o, ada
}

// Draft is a draft that the Service grants at once.
func Draft(name string) request.Draft {
	return request.Draft{Kind: catalog.Notebook, Tenant: "vision", Name: name, Size: "mig-10gb", Image: "torch",
		Lease: "1h", Storage: "10Gi"}
}

// Volumes is the real service over a store, for a team "vision" that may have so many GiB of the class "nfs" in all,
// and one of its owners.
func Volumes(s *store.Store, teamGiB int) (*workload.Service, identity.Actor) {
	offered := []workload.Offered{{Cluster: "west", Class: workload.Class{Name: "nfs", Access: workload.ManyNodes,
		TeamGiB: teamGiB}}}
	service := &workload.Service{Store: s, Now: time.Now, Grace: time.Hour, Sharing: func() workload.Sharing {
		return workload.Sharing{Offered: offered, MostGiB: 1000, Namespace: func(team string) (string, bool) {
			return "gpu-" + team, team == "vision"
		}}
	}}
	return service, identity.Actor{Person: Person("p-ada"),
		Tenants: map[string][]identity.Role{"vision": {identity.Owner}}, Via: identity.ViaSession}
}

// Asking are the services with one rule, by which an approver decides everything; eve is one.
func Asking(s *store.Store, quota int) (services request.Services, ada, eve identity.Actor) {
	o, ada := Options(s, quota)
	site := o.Site()
	site.Policy, _ = policy.Compile([]policy.Rule{{Name: "ask", When: "true", Outcome: policy.Approve}})
	o.Site = func() request.Site { return site }
	eve = identity.Actor{Person: Person("p-eve"), Global: []identity.Role{identity.Approver}, Via: identity.ViaSession}
	return request.New(o), ada, eve
}

var raceCases = cases{
	"answers carry the version that is stored, and an approval of another one is a conflict": func(t *testing.T,
		s *store.Store) {
		service, ada, eve := Asking(s, 10)
		ctx := context.Background()
		d := Draft("seen")
		d.Reason = "because"
		asked := got(service.Requests.Submit(ctx, ada, d))(t)
		stored := func() int64 { return got(s.Request(ctx, asked.ID))(t).Version }
		equal(t, stored(), asked.Version)
		edited := got(service.Requests.Edit(ctx, ada, asked.ID, request.Edited{Lease: "2h"}))(t)
		equal(t, stored(), edited.Version)
		f := fails(t, fault.Invalid, one(service.Approvals.Answer(ctx, eve, asked.ID,
			request.DecisionInput{Verb: request.ApproveVerb})))
		equal(t, "seen", f.Fields[0].Name)
		fails(t, fault.Invalid, one(service.Approvals.Answer(ctx, eve, asked.ID,
			request.DecisionInput{Verb: request.RejectVerb, Seen: -1})))
		fails(t, fault.Conflict, one(service.Approvals.Approve(ctx, eve, asked, "")))
		fails(t, fault.Conflict, one(service.Approvals.Reject(ctx, eve, asked, "")))
		granted := got(service.Approvals.Approve(ctx, eve, edited, ""))(t)
		equal(t, stored(), granted.Version)
		equal(t, request.Approved, granted.State)
	},
	"an edit that races an approval 1,000 times: nothing is granted that the approver did not see": func(t *testing.T,
		s *store.Store) {
		const workers, rounds = 8, 125
		service, ada, eve := Asking(s, workers*rounds)
		var wrong, approvals, edits atomic.Int32
		race := func(name string) error {
			d := Draft(name)
			d.Reason = "because"
			asked, err := service.Requests.Submit(context.Background(), ada, d)
			if err != nil {
				return err
			}
			var both sync.WaitGroup
			both.Go(func() { _, _ = service.Requests.Edit(context.Background(), ada, asked.ID, request.Edited{Lease: "2h"}) })
			both.Go(func() { _, _ = service.Approvals.Approve(context.Background(), eve, asked, "") })
			both.Wait()
			now, err := s.Request(context.Background(), asked.ID)
			switch {
			case now.State == request.Approved && now.Spec.Lease != asked.Spec.Lease:
				wrong.Add(1)
			case now.State == request.Approved:
				approvals.Add(1)
			case now.Spec.Lease != asked.Spec.Lease:
				edits.Add(1)
			}
			return err
		}
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() {
				for round := range rounds {
					if err := race(fmt.Sprintf("race-%d-%d", worker, round)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		equal(t, int32(0), wrong.Load())
		equal(t, int32(workers*rounds), approvals.Load()+edits.Load())
		if approvals.Load() == 0 || edits.Load() == 0 {
			t.Errorf("want each to win sometimes, got %d approvals and %d edits", approvals.Load(), edits.Load())
		}
	},
	"of many who want the last money of a month for storage, by a new volume or a larger one, one gets it": func(
		t *testing.T, s *store.Store) {
		service, ada := Volumes(s, 1000)
		// the meter of storage goes by the clock of the database
		ctx, now := context.Background(), func() time.Time { return time.Now().UTC() }
		prices := usage.PriceList{{ID: "p-1", Kind: usage.PriceStorage, Rate: 1e9, From: now().Add(-time.Hour),
			At: now().Add(-time.Hour)}}
		service.Now, service.Budgets = now, Budgets(s, now)
		service.Budgets.Prices = func() usage.PriceList { return prices }
		month := usage.MonthOf(now(), time.UTC).Span(time.UTC)
		ten := prices.Storage([]usage.StorageInterval{{Volume: "v", Tenant: "vision", GiB: 10, From: now()}}, month,
			"EUR")[0].Cost().Minor
		set(t, service.Budgets, ten*5/2, budget.Approval) // enough for ten GiB twice
		draft := workload.ShareDraft{Team: "vision", Name: "data", Cluster: "west", Class: "nfs", GiB: 10}
		_, err := service.ShareVolume(ctx, ada, draft)
		must(t, err)
		var served atomic.Int32
		var group sync.WaitGroup
		for i := range 10 {
			tell := func(err error) {
				switch {
				case err == nil:
					served.Add(1)
				case !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict):
					t.Errorf("want it, or a sentence that says why not, got %v", err)
				}
			}
			group.Go(func() {
				d := draft
				d.Name = fmt.Sprint("more-", i)
				_, err := service.ShareVolume(ctx, ada, d)
				tell(err)
			})
			group.Go(func() {
				_, err := service.ExpandVolume(ctx, ada, workload.Expansion{Team: "vision", Name: "data", From: 10, GiB: 20})
				tell(err)
			})
		}
		group.Wait()
		equal(t, int32(1), served.Load())
		gib := 0
		for _, v := range got(s.Volumes(ctx, workload.VolumeFilter{Tenants: []string{"vision"}}))(t) {
			gib += v.GiB
		}
		equal(t, 20, gib)
		balance := got(s.BudgetBalance(ctx, budget.Book{Tenant: "vision", Month: usage.MonthOf(now(), time.UTC),
			Unit: "EUR"}))(t)
		if balance.Left < 0 || balance.Held+balance.Spent <= ten {
			t.Errorf("want twenty GiB put aside, got %+v", balance)
		}
	},
	"of many who want the last of what a team may store at once, by a new volume or a larger one, one gets it": func(
		t *testing.T, s *store.Store) {
		service, ada := Volumes(s, 100)
		ctx := context.Background()
		draft := workload.ShareDraft{Team: "vision", Name: "data", Cluster: "west", Class: "nfs", GiB: 90}
		_, err := service.ShareVolume(ctx, ada, draft)
		must(t, err)
		var served atomic.Int32
		var group sync.WaitGroup
		tell := func(err error) {
			switch {
			case err == nil:
				served.Add(1)
			case !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict):
				t.Errorf("want it, or a sentence that says why not, got %v", err)
			}
		}
		for i := range 10 {
			group.Go(func() {
				d := draft
				d.Name, d.GiB = fmt.Sprint("more-", i), 10
				_, err := service.ShareVolume(ctx, ada, d)
				tell(err)
			})
			group.Go(func() {
				_, err := service.ExpandVolume(ctx, ada, workload.Expansion{Team: "vision", Name: "data", From: 90, GiB: 100})
				tell(err)
			})
		}
		group.Wait()
		equal(t, int32(1), served.Load())
		sum := 0
		for _, v := range got(s.Volumes(ctx, workload.VolumeFilter{Shared: true}))(t) {
			sum += v.GiB
		}
		equal(t, 100, sum)
	},
	"of two owners who make the same volume larger at once the second is told what it is now": func(t *testing.T,
		s *store.Store) {
		service, ada := Volumes(s, 0)
		ctx := context.Background()
		_, err := service.ShareVolume(ctx, ada, workload.ShareDraft{Team: "vision", Name: "data", Cluster: "west",
			Class: "nfs", GiB: 10})
		must(t, err)
		var group sync.WaitGroup
		var lost atomic.Int32
		for i := range 2 {
			group.Go(func() {
				_, err := service.ExpandVolume(ctx, ada, workload.Expansion{Team: "vision", Name: "data", From: 10, GiB: 20 + i})
				if fault.Is(err, fault.Conflict) && fault.As(err).Sentence.ID == "volume.grown_meanwhile" {
					lost.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		equal(t, int32(1), lost.Load())
	},
	"of 200 who ask for the last 7 at once, exactly 7 get one": func(t *testing.T, s *store.Store) {
		const people, slots = 200, 7
		service, ada := Service(s, slots)
		ctx := context.Background()
		var granted atomic.Int32
		var group sync.WaitGroup
		for i := range people {
			group.Go(func() {
				r, err := service.Submit(ctx, ada, Draft(fmt.Sprint("nb-", i)))
				switch {
				case err == nil && r.State == request.Approved:
					granted.Add(1)
				case !fault.Is(err, fault.Invalid):
					t.Errorf("want a grant or a full quota, got %s, %v", r.State, err)
				}
			})
		}
		group.Wait()
		equal(t, int32(slots), granted.Load())
		equal(t, slots, countHeld(t, s))
		equal(t, slots, len(got(s.Volumes(ctx, workload.VolumeFilter{}))(t)))
		for kind, want := range map[audit.Kind]int{audit.RequestRefused: people - slots, audit.RequestAutoApproved: slots,
			audit.WorkloadCreated: slots} {
			events, _, err := s.Events(ctx, audit.Filter{Kinds: []audit.Kind{kind}, Limit: 500})
			must(t, err)
			equal(t, want, len(events))
		}
	},
	"of two who take one name at once, one gets it": func(t *testing.T, s *store.Store) {
		service, ada := Service(s, 100)
		var granted atomic.Int32
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				if _, err := service.Submit(context.Background(), ada, Draft("same")); err == nil {
					granted.Add(1)
				} else {
					fails(t, fault.Invalid, err)
				}
			})
		}
		group.Wait()
		equal(t, int32(1), granted.Load())
	},
	"a request that is sent many times at once with one key is made once": func(t *testing.T, s *store.Store) {
		service, ada := Service(s, 100)
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				d := Draft("")
				d.Key = "k"
				if _, err := service.Submit(context.Background(), ada, d); err != nil {
					fails(t, fault.Conflict, err)
				}
			})
		}
		group.Wait()
		equal(t, 1, countHeld(t, s))
	},
	"of many who change one version, one wins and no change is lost": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		saveWorkload(t, s, Workload("w-1"))
		var won atomic.Int64
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 10 {
					w := got(s.Workload(ctx, "w-1"))(t)
					w.Generation++
					if err := s.SaveObserved(ctx, w, nil, nil); err == nil {
						won.Add(1)
					} else {
						fails(t, fault.Conflict, err)
					}
				}
			})
		}
		group.Wait()
		w := got(s.Workload(ctx, "w-1"))(t)
		equal(t, won.Load(), w.Generation-3)
		equal(t, won.Load(), w.Version-1)
	},
	"of many who open one meter, one opens it": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		saveWorkload(t, s, Workload("w-1"))
		w := got(s.Workload(ctx, "w-1"))(t)
		var won atomic.Int64
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() {
				if err := s.SaveObserved(ctx, w, nil, interval(i+1, 0)); err == nil {
					won.Add(1)
				}
			})
		}
		group.Wait()
		equal(t, int64(1), won.Load())
		equal(t, 1, len(got(s.Intervals(ctx, []workload.ID{"w-1"}))(t)["w-1"]))
	},
	"grants, observations and reads go on beside each other": func(t *testing.T, s *store.Store) {
		service, ada := Service(s, 100)
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		for i := range 10 {
			_ = got(service.Submit(ctx, ada, Draft(fmt.Sprint("nb-", i))))(t)
		}
		living := got(s.Living(ctx))(t)
		var group sync.WaitGroup
		for i, w := range living {
			group.Go(func() {
				for range 5 {
					must(t, s.SaveObserved(ctx, w, []audit.Event{Event(i)}, nil))
					w.Version++
				}
			})
			group.Go(func() { _ = got(service.Submit(ctx, ada, Draft(fmt.Sprint("more-", i))))(t) })
			group.Go(func() { _ = got(s.Living(ctx))(t) })
		}
		group.Wait()
		equal(t, 20, countHeld(t, s))
	},
}

// words are texts that have broken other programs.
var words = map[string]string{
	"right to left": "שלום עולם \u202bمرحبا\u202c", "four bytes": "𝔊𝔓𝔘 🦄👩‍💻", "combining": "e\u0301 o\u0308",
	"quotes": `'"` + "`" +
		`; DROP TABLE workloads; -- \' \\ %s %_ $1 ? :name @p`,
	"lines": "a\r\nb\tc\x1b[31m\x7f", "blank": "   ", "noncharacter": "\uffff\ufffd\u2028",
	"markup": "<script>&amp;</script>{{.}}",
}

var textCases = cases{
	"every text that can be kept comes back as it was": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		i := 0
		for name, text := range words {
			i++
			w, r, e := Workload(fmt.Sprint("w-", i)), Request(fmt.Sprint("r-", i)), Event(i)
			w.Name, w.OwnerName, w.Observed.Detail, w.Reason = text, text, text, i18n.Literal(text)
			r.Spec.Reason, r.AskerName, r.Key = text, text, text
			e.ActorName, e.Detail, e.Workload = text, i18n.Literal(text), string(w.ID)
			must(t, s.SaveObserved(ctx, w, []audit.Event{e}, nil))
			saveRequest(t, s, r)
			w.Version, r.Version = 1, 1
			t.Log(name)
			equal(t, w, got(s.WorkloadByName(ctx, text))(t))
			equal(t, r, got(s.RequestByKey(ctx, "p-ada", text))(t))
			equal(t, i18n.Literal(text), got(s.History(ctx, w.ID, 1))(t)[0].Detail)
		}
	},
	"text that no database can keep is refused as a person's mistake, and leaves nothing": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		for _, text := range []string{"a\x00b", "\xff\xfe", "\xed\xa0\x80"} {
			w := Workload("w-1")
			w.OwnerName = text
			fails(t, fault.Invalid, s.SaveObserved(ctx, w, nil, nil))
			fails(t, fault.Invalid, s.SaveObserved(ctx, Workload("w-1"), []audit.Event{{Rule: text}}, nil))
			r := Request("r-1")
			r.Key = text
			fails(t, fault.Invalid, decide(s, func(tx request.Tx) error { return keep(tx, r) }))
			p := Person("p-ada")
			p.Name = text
			fails(t, fault.Invalid, s.SavePerson(ctx, p))
			_, err := s.PutSetting(ctx, text, "v")
			fails(t, fault.Invalid, err)
		}
		equal(t, 0, len(got(s.Living(ctx))(t)))
	},
	"names that cannot be are names of nothing": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		for _, text := range []string{"a\x00b", "\xff"} {
			_, err := s.WorkloadByName(ctx, text)
			fails(t, fault.NotFound, err)
			_, err = s.Session(ctx, text)
			fails(t, fault.NotFound, err)
			_, err = s.Token(ctx, text)
			fails(t, fault.NotFound, err)
			_, _, err = s.TakeCode(ctx, text, later(0))
			fails(t, fault.NotFound, err)
			fails(t, fault.NotFound, s.RevokeToken(ctx, "p-ada", text, Event(0)))
		}
	},
	"a document may hold what a text may not": func(t *testing.T, s *store.Store) {
		w := Workload("w-1")
		w.Observed.Detail = "a\x00b"
		saveWorkload(t, s, w)
		equal(t, w.Observed.Detail, got(s.Workload(context.Background(), "w-1"))(t).Observed.Detail)
	},
	"a megabyte comes back": func(t *testing.T, s *store.Store) {
		big := strings.Repeat("größe 🦄 ", 100_000)
		w := Workload("w-1")
		w.Observed.Detail = big
		w.StorageGiB, w.Generation = 1<<31, 1<<60
		must(t, s.SaveObserved(context.Background(), w, []audit.Event{{At: later(0), Workload: "w-1", ActorName: big}}, nil))
		w.Version = 1
		equal(t, w, got(s.Workload(context.Background(), "w-1"))(t))
		equal(t, big, got(s.History(context.Background(), "w-1", 1))(t)[0].ActorName)
	},
}

// countHeld is how many workloads of vision hold a size.
func countHeld(t *testing.T, s *store.Store) (n int) {
	t.Helper()
	for _, h := range got(s.Holdings(context.Background(), "vision"))(t) {
		n += h.Count
	}
	return n
}
