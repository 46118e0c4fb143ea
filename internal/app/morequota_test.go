package app

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

// small is a portal where team vision may hold one notebook without a GPU.
func small(c *config.Config) {
	c.Tenants[0].Quota = map[string]int{"cpu": 1}
}

var oneMore = url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"}, "image": {"jupyterlab"},
	"lease": {"1h"}}

// TestMoreQuota goes the whole way: the quota is full, somebody asks for more, an administrator says yes, and the start
// works.
func TestMoreQuota(t *testing.T) {
	w := newWorld(t, small)
	dora, boss := w.signedIn(developer), w.signedIn(admin)
	if a := dora.post("/start", oneMore); a.status != http.StatusSeeOther {
		t.Fatalf("the first: %d", a.status)
	}
	full := dora.post("/start", oneMore)
	link, offered := full.page(t).Find("[data-test=more-quota]").Attr("href")
	if full.status != http.StatusUnprocessableEntity || !offered {
		t.Fatalf("the second: %d, and a way to more quota: %v", full.status, offered)
	}
	if v, _ := dora.get(link).page(t).Find("[name=amount]").Attr("value"); v != "2" {
		t.Errorf("want one more than there are, got %q", v)
	}
	path, _, _ := strings.Cut(link, "?")
	for name, form := range map[string]url.Values{"no reason": {"size": {"cpu"}, "amount": {"2"}},
		"no more": {"size": {"cpu"}, "amount": {"1"}, "reason": {"x"}}, "no number": {"size": {"cpu"}, "amount": {"x"},
			"reason": {"x"}}, "no such size": {"size": {"none"}, "amount": {"2"}, "reason": {"x"}}} {
		if a := dora.post(path, form); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	asked := dora.post(path, url.Values{"size": {"cpu"}, "amount": {"2"}, "reason": {"two models"}})
	id := strings.TrimPrefix(asked.header.Get("Location"), "/requests/")
	if asked.status != http.StatusSeeOther || id == "" {
		t.Fatalf("%d %s", asked.status, asked.body)
	}
	if a := w.signedIn(approver).post("/approvals/"+id+"/approve", url.Values{"seen": {"1"}}); a.status < 400 {
		t.Errorf("an approver of workloads gives quota away: %d", a.status)
	}
	if a := boss.get("/approvals/" + id); a.status != http.StatusOK || !strings.Contains(a.body, "more quota: 2") {
		t.Errorf("the administrator does not see what is asked for: %d", a.status)
	}
	if a := boss.post("/approvals/"+id+"/approve", url.Values{"seen": {"1"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := dora.post("/start", oneMore); a.status != http.StatusSeeOther {
		t.Errorf("the quota is not there: %d", a.status)
	}
	if a := dora.post("/start", oneMore); a.status != http.StatusUnprocessableEntity {
		t.Errorf("more than was granted: %d", a.status)
	}
	if got := w.events(audit.QuotaRaised); len(got) != 1 || got[0].Tenant != "vision" || got[0].Request != id ||
		got[0].ActorName != "Adam Admin" {
		t.Errorf("want one event that says so, got %v", got)
	} else if want := []audit.Change{{Field: "quota.cpu", Old: "1", New: "2"}}; !slices.Equal(got[0].Changes, want) {
		t.Errorf("want %v, got %v", want, got[0].Changes)
	}
}

// TestAStepThatEscalatesIsToldOfOnce: it is on record once for each step, and goes to those who are reached only then;
// the open page of an approver stays good.
func TestAStepThatEscalatesIsToldOfOnce(t *testing.T) {
	w := newWorld(t, func(c *config.Config) {
		c.Rules = []policy.Rule{{Name: "owners", When: "true", Outcome: policy.Approve,
			Steps: []policy.Step{{From: []identity.Approvers{{Role: identity.Owner}}, After: catalog.Duration(time.Hour),
				Then: []identity.Approvers{{Role: identity.Admin}}}}}}
	})
	r, err := w.requests.Requests.Submit(t.Context(), w.actorOf(developer),
		request.Draft{Kind: "notebook", Tenant: "vision",
			Size: "cpu", Image: "jupyterlab", Lease: "8h", Reason: "for the paper"})
	if err != nil || r.State != request.Pending {
		t.Fatal(r.State, err)
	}
	saved, err := w.store.Request(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 1, 1} {
		if err := w.requests.Approvals.ExpireDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.events(audit.RequestEscalated); len(got) != want || want > 0 && got[0].Request != string(r.ID) {
			t.Errorf("round %d: want %d events, got %v", i, want, got)
		}
		w.clock.pass(61 * time.Minute)
	}
	now, err := w.store.Request(t.Context(), r.ID)
	if err != nil || now.Version != saved.Version {
		t.Errorf("want the request as it was, at version %d, got %d %v", saved.Version, now.Version, err)
	}
	if request.Reached(now, w.actorOf(owner), w.clock.now()) || !request.Reached(now, w.actorOf(admin), w.clock.now()) ||
		request.Reached(now, w.actorOf(admin), r.CreatedAt) {
		t.Error("want the administrator alone to be reached by it")
	}
}

// TestQuotaIsGivenByThoseWhomARuleNamesForIt, and a rule that is about starts allows none.
func TestQuotaIsGivenByThoseWhomARuleNamesForIt(t *testing.T) {
	w := newWorld(t, small, func(c *config.Config) {
		c.Rules = []policy.Rule{{Name: "quota", When: `request.kind == "more-quota" && request.size == "cpu"`,
			Outcome: policy.Approve, By: "approver"},
			{Name: "never", When: `request.kind == "more-quota" && request.size == "h100"`, Outcome: policy.Refuse,
				Sentence: "Buy one."}, {Name: "all", When: "true", Outcome: policy.Allow}}
	})
	ask := func(size string) (request.Request, error) {
		return w.requests.Quotas.Ask(t.Context(), w.actorOf(developer), request.QuotaDraft{Tenant: "vision", Size: size,
			Amount: 5, Reason: "x"})
	}
	if _, err := ask("h100"); !fault.Is(err, fault.Forbidden) ||
		!reflect.DeepEqual(fault.As(err).Sentence, i18n.Literal("Buy one.")) {
		t.Errorf("want the rule's refusal, got %v", err)
	}
	other, err := ask("mig-1g.10gb")
	if err != nil || other.State != request.Pending {
		t.Fatalf("a rule for starts gave quota: %s %v", other.State, err)
	}
	if _, err := w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), other, ""); !fault.Is(err,
		fault.Forbidden) {
		t.Errorf("want it to be an administrator's, got %v", err)
	}
	r, err := ask("cpu")
	if err != nil {
		t.Fatal(err)
	}
	if r, err = w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), r, ""); err != nil ||
		r.State != request.Approved {
		t.Errorf("want the rule's approver to do, got %s %v", r.State, err)
	}
	if limit := w.tenants.Directory().Tenants[0].QuotaOf("cpu"); limit != 5 {
		t.Errorf("want 5, got %d", limit)
	}
}

// TestTwoApprovalsOfQuotaAtOnce raise it once each, and neither undoes the other (T-QUOTA, T-APPR).
func TestTwoApprovalsOfQuotaAtOnce(t *testing.T) {
	w := newWorld(t, small)
	var asked []request.Request
	for _, d := range []request.QuotaDraft{{Tenant: "vision", Size: "cpu", Amount: 9, Reason: "x"},
		{Tenant: "vision", Size: "cpu", Amount: 4, Reason: "x"}, {Tenant: "vision", Size: "h100", Amount: 2, Reason: "x"}} {
		r, err := w.requests.Quotas.Ask(t.Context(), w.actorOf(developer), d)
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, r, r)
	}
	errs := make([]error, len(asked))
	var group sync.WaitGroup
	for i, r := range asked {
		group.Go(func() { _, errs[i] = w.requests.Approvals.Approve(t.Context(), w.actorOf(admin), r, "") })
	}
	group.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
	}
	team := w.tenants.Directory().Tenants[0]
	if won != 3 || team.QuotaOf("cpu") != 9 || team.QuotaOf("h100") != 2 {
		t.Errorf("want 3 approvals, 9 and 2, got %d, %v", won, team.Quota)
	}
}
