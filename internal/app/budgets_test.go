package app

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/api"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const eurUnit budget.Unit = "EUR"

// answered is what a call answered, read strictly enough to see a missing status.
func answered[T any](t *testing.T, a answer, status int) (v T) {
	t.Helper()
	if a.status != status {
		t.Fatalf("want %d, got %d %s", status, a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBudgetsByProgram: a budget is set, spent, given back and taken away over the API, the lines add up to the
// balance, and a start that does not fit is refused.
func TestBudgetsByProgram(t *testing.T) {
	w := newWorld(t)
	if end := w.budgets.Month().Span(w.budgets.Zone).Until; end.Sub(w.clock.now()) < 24*time.Hour {
		w.clock.pass(end.Sub(w.clock.now())) // so that everything is in one month
	}
	boss, dev := w.token(admin), w.token(developer)
	const path = "/api/v1/budgets/vision"
	none := answered[api.Budget](t, w.call(dev, http.MethodGet, path, nil), http.StatusOK)
	if none.Set || none.Version != 0 || none.Balance != nil {
		t.Fatalf("want no budget, got %+v", none)
	}
	put := func(body map[string]any) answer { return w.call(boss, http.MethodPut, path, body) }
	set := answered[api.Budget](t, put(map[string]any{"unit": "EUR", "amount": "0.5", "atLimit": "stop"}), http.StatusOK)
	if !set.Set || set.Amount != "0.50" || set.Balance.Left != "0.50" || set.Balance.Platform != "-0.50" ||
		set.Month != w.budgets.Month().String() {
		t.Fatalf("want it set, got %+v", set)
	}
	for name, wrong := range map[string]struct {
		body   map[string]any
		status int
	}{
		"an amount that is none": {map[string]any{"unit": "EUR", "amount": "1e3", "atLimit": "stop", "version": set.Version},
			http.StatusUnprocessableEntity},
		"a foreign currency": {map[string]any{"unit": "XAU", "amount": "1", "atLimit": "stop", "version": set.Version},
			http.StatusUnprocessableEntity},
		"an unknown limit": {map[string]any{"unit": "EUR", "amount": "1", "atLimit": "shrug", "version": set.Version},
			http.StatusUnprocessableEntity},
		"an old version": {map[string]any{"unit": "EUR", "amount": "1", "atLimit": "stop"}, http.StatusConflict},
	} {
		if a := put(wrong.body); a.status != wrong.status {
			t.Errorf("%s: want %d, got %d %s", name, wrong.status, a.status, a.body)
		}
	}

	// Ten hours at six cents are more than there is; eight are not.
	ask := func(name, lease string) map[string]any {
		return map[string]any{"kind": "notebook", "tenant": "vision", "size": "cpu", "image": "jupyterlab", "lease": lease,
			"name": name}
	}
	if a := w.call(dev, http.MethodPost, "/api/v1/requests",
		ask("dear", "10h")); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "0.50") {
		t.Errorf("want the start refused with what is left, got %d %s", a.status, a.body)
	}
	if a := w.call(dev, http.MethodPost, "/api/v1/requests", ask("fits", "8h")); a.status != http.StatusCreated {
		t.Fatalf("want it to start, got %d %s", a.status, a.body)
	}
	items, _, err := w.store.Workloads(t.Context(), workload.Filter{Tenants: []string{"vision"}})
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	id, from := string(items[0].ID), w.clock.now()
	placed := usage.Interval{Workload: id, Tenant: "vision", Size: "cpu", PerHour: items[0].Size.PricePerHour, From: from}
	if err := w.store.SaveObserved(t.Context(), items[0], nil, &placed); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(2 * time.Hour)
	boss, dev = w.token(admin), w.token(developer) // those from before are over
	if err := w.budgets.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	given := answered[api.BudgetLine](t, w.call(boss, http.MethodPost, path+"/refunds",
		map[string]any{"workload": id, "from": from, "until": from.Add(time.Hour), "note": "a broken card"}), http.StatusOK)
	if given.Kind != "refunded" || given.Note != "a broken card" || given.Amounts.Left != "0.06" {
		t.Errorf("want an hour given back, got %+v", given)
	}
	if a := w.call(boss, http.MethodPost, path+"/refunds", map[string]any{"workload": id, "from": from,
		"until": from.Add(time.Hour)}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("want a reason asked for, got %d %s", a.status, a.body)
	}

	balance := answered[api.Budget](t, w.call(dev, http.MethodGet, path, nil), http.StatusOK).Balance
	lines := answered[api.List[api.BudgetLine]](t, w.call(dev, http.MethodGet, path+"/lines", nil), http.StatusOK).Items
	if !slices.ContainsFunc(lines, func(l api.BudgetLine) bool {
		return l.ID == given.ID && l.Kind == given.Kind && l.At.Equal(given.At)
	}) {
		t.Errorf("want the answer to name the line that was written, got %s of %s\n%+v", given.ID, given.At, lines)
	}
	var left, all int64
	for _, l := range lines {
		sum := int64(0)
		for i, text := range []string{l.Amounts.Left, l.Amounts.Held, l.Amounts.Spent, l.Amounts.Refunded,
			l.Amounts.Platform} {
			n := cents(t, text)
			if sum += n; i == 0 {
				left += n
			}
		}
		all += max(sum, -sum)
	}
	if len(lines) < 4 || all != 0 || left != cents(t, balance.Left) {
		t.Errorf("want lines that sum to zero and to the balance %+v, got %+v", balance, lines)
	}
	for query, status := range map[string]int{"?month=2026-13": http.StatusUnprocessableEntity,
		"?month=2020-01": http.StatusOK, "?limit=100000": http.StatusUnprocessableEntity} {
		if a := w.call(dev, http.MethodGet, path+"/lines"+query, nil); a.status != status {
			t.Errorf("%s: want %d, got %d %s", query, status, a.status, a.body)
		}
	}

	listed := answered[api.List[api.Budget]](t, w.call(boss, http.MethodGet, "/api/v1/budgets", nil), http.StatusOK).Items
	if len(listed) != 1 || listed[0].Tenant != "vision" || listed[0].Used < 50 {
		t.Errorf("want the one budget with its use, got %+v", listed)
	}
	if a := w.call(boss, http.MethodDelete, path, nil); a.status != http.StatusConflict {
		t.Errorf("want the version asked for, got %d %s", a.status, a.body)
	}
	if gone := answered[api.Budget](t, w.call(boss, http.MethodDelete, path+"?version=1", nil), http.StatusOK); gone.Set {
		t.Errorf("want it gone, got %+v", gone)
	}
}

// cents reads an amount of money as the API writes it.
func cents(t *testing.T, text string) int64 {
	t.Helper()
	minus, negative := strings.CutPrefix(text, "-")
	n, ok := eurUnit.Parse(minus)
	if !ok {
		t.Fatalf("%q is no amount", text)
	}
	if negative {
		return -n
	}
	return n
}

// TestAResumeBeyondTheBudget: what is stopped goes on only when an approver agrees that it takes more than the team's
// budget has; the refusal leads to where that is asked.
func TestAResumeBeyondTheBudget(t *testing.T) {
	w := newWorld(t)
	item := w.running(developer, "vision")
	dev := w.token(developer)
	start, ask := "/api/v1/workloads/"+string(item.ID)+"/start", "/api/v1/workloads/"+string(item.ID)+"/resume"
	if _, err := w.workloads.Stop(t.Context(), w.actorOf(developer), item.ID); err != nil {
		t.Fatal(err)
	}
	gone, err := w.store.Workload(t.Context(), item.ID)
	if err != nil {
		t.Fatal(err)
	}
	gone.State = workload.Stopped
	if err := w.store.SaveObserved(t.Context(), gone, nil, nil); err != nil {
		t.Fatal(err)
	}
	set := answered[api.Budget](t, w.call(w.token(admin), http.MethodPut, "/api/v1/budgets/vision",
		map[string]any{"unit": "EUR", "amount": "0.01", "atLimit": "stop"}), http.StatusOK)
	if a := w.call(dev, http.MethodPost, start, nil); a.status != http.StatusConflict || strings.Contains(a.body, ask) {
		t.Errorf("want a hard stop to lead nowhere, got %d %s", a.status, a.body)
	}
	if a := w.call(dev, http.MethodPost, ask, map[string]any{
		"reason": "the last epoch"}); a.status != http.StatusConflict {
		t.Errorf("want a hard stop to be asked about in vain, got %d %s", a.status, a.body)
	}
	answered[api.Budget](t, w.call(w.token(admin), http.MethodPut, "/api/v1/budgets/vision",
		map[string]any{"unit": "EUR", "amount": "0.01", "atLimit": "approval", "version": set.Version}), http.StatusOK)
	if a := w.call(dev, http.MethodPost, start, nil); a.status != http.StatusConflict || !strings.Contains(a.body, ask) {
		t.Errorf("want the refusal to say where to ask, got %d %s", a.status, a.body)
	}
	page := "/workloads/" + string(item.ID)
	b := w.signedIn(developer)
	if got := b.post(page+"/start", nil); got.status != http.StatusSeeOther || got.header.Get("Location") != page+
		"/resume" {
		t.Errorf("want the page that asks, got %d %s", got.status, got.header.Get("Location"))
	}
	if got := b.get(page + "/resume"); got.status != http.StatusOK ||
		!strings.Contains(got.body, "an approver has to agree") {
		t.Errorf("want the reason on the page, got %d %s", got.status, got.page(t).Find("main").Text())
	}
	if a := w.call(dev, http.MethodPost, ask, map[string]any{"reason": ""}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("want a reason asked for, got %d %s", a.status, a.body)
	}
	asked := answered[api.Request](t, w.call(dev, http.MethodPost, ask, map[string]any{"reason": "the last epoch"}),
		http.StatusOK)
	again := answered[api.Request](t, w.call(dev, http.MethodPost, ask,
		map[string]any{"reason": "the last epoch, please"}), http.StatusOK)
	if asked.Kind != "resume" || asked.State != "pending" || again.ID != asked.ID {
		t.Errorf("want one request that waits, got %+v and %+v", asked, again)
	}
	yes := "/api/v1/requests/" + asked.ID + "/approve"
	if a := w.call(dev, http.MethodPost, yes, map[string]any{"seen": asked.Version}); a.status != http.StatusForbidden {
		t.Errorf("want somebody else to decide, got %d %s", a.status, a.body)
	}
	answer := map[string]any{"note": "go on", "seen": asked.Version}
	if a := w.call(w.token(approver), http.MethodPost, yes, answer); a.status != http.StatusOK {
		t.Fatalf("want it approved, got %d %s", a.status, a.body)
	}
	now, err := w.store.Workload(t.Context(), item.ID)
	if err != nil || now.Desired != workload.WantRunning || now.Lease != gone.Lease {
		t.Errorf("want it to go on with the lease that it has, got %+v %v", now, err)
	}
	st, err := w.budgets.Of(t.Context(), w.actorOf(developer), "vision")
	if err != nil || st.Balance.Held <= 1 || st.Balance.Left >= 0 {
		t.Errorf("want what was agreed to held beyond the budget, got %+v %v", st.Balance, err)
	}
}
