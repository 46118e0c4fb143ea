package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestExtensionsByOneClick: each button says what it adds and costs, and adds just that; one that has to be approved
// leads to the form with its length filled in. Who may not change the workload sees none.
func TestExtensionsByOneClick(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const path = "/workloads/w-train-resnet"
	doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
	var adds, costs []string
	part(doc, "extensions").Find("button, a").Each(func(_ int, s *goquery.Selection) {
		add, cost, _ := strings.Cut(textOf(s), " · ")
		adds, costs = append(adds, add), append(costs, cost)
	})
	if got := strings.Join(adds, ", "); got != "+1 h, +4 h, +1 d" {
		t.Fatalf("want three lengths, got %q", got)
	}
	for i, long := range []time.Duration{time.Hour, 4 * time.Hour, 24 * time.Hour} {
		want := fmt.Sprintf("€%.2f", w.Work("w-train-resnet").Size.PricePerHour.For(long).Float())
		if !strings.HasPrefix(costs[i], want) {
			t.Errorf("%s: want %s, got %q", adds[i], want, costs[i])
		}
	}
	form := part(doc, "extend-4h").Closest("form")
	sent := url.Values{}
	form.Find("input[type=hidden]").Each(func(_ int, s *goquery.Selection) {
		sent.Set(s.AttrOr("name", ""), s.AttrOr("value", ""))
	})
	before := w.Work("w-train-resnet").Lease.Until
	for range 2 {
		wantRedirect(t, w.Post(webtest.Anna, form.AttrOr("action", ""), sent))
	}
	if got := w.Work("w-train-resnet").Lease.Until.Sub(before); got != 4*time.Hour {
		t.Errorf("want a double click to add four hours once, got %s", got)
	}
	if got := part(read(t, w.Get(webtest.Eli, path), http.StatusOK), "extensions").Length(); got != 0 {
		t.Error("want no buttons for somebody who may only look")
	}

	w = webtest.Busy(t)
	wantRedirect(t, w.Post(webtest.Dora, "/admin/rules", url.Values{"base": {"0"}, "text": {
		"- {name: a-day, when: 'request.hours >= 24.0', outcome: approve}\n- {name: rest, when: 'true', outcome: allow}\n"}}))
	doc = read(t, w.Get(webtest.Anna, path), http.StatusOK)
	asks := part(doc, "extend-1d")
	if !asks.Is("a") || !part(doc, "extend-1h").Is("button") {
		t.Fatalf("want the long one to ask first: %s", textOf(part(doc, "extensions")))
	}
	ask := read(t, w.Get(webtest.Anna, asks.AttrOr("href", "")), http.StatusOK)
	if got := ask.Find("[data-test=extend-lease]").AttrOr("value", ""); got != "1d" {
		t.Errorf("want its length filled in, got %q", got)
	}
}

// TestAnExtensionCanBeUndone: for as long as a decision can, by a button beside the words that it was granted; lease
// and budget are as before, and the record says so. Afterwards, and where an approver agreed, there is no button.
func TestAnExtensionCanBeUndone(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Site.Undo = 10 * time.Second
	d := budget.Draft{Unit: "EUR", Amount: 1_000_000, AtLimit: budget.Stop}
	if _, err := w.BudgetService.Set(t.Context(), w.Actor(webtest.Dora), "vision", d); err != nil {
		t.Fatal(err)
	}
	left := func() int64 {
		if err := w.BudgetService.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		st, err := w.BudgetService.Of(t.Context(), w.Actor(webtest.Dora), "vision")
		if err != nil {
			t.Fatal(err)
		}
		return st.Balance.Left
	}
	const path = "/workloads/w-train-resnet"
	before, had := w.Work("w-train-resnet"), left()
	doc := told(t, w, webtest.Anna, path+"/extend", url.Values{"lease": {"4h"}})
	wantText(t, doc, "flash", "Extended.")
	if doc.Find("[data-toast]").AttrOr("data-toast-for", "") != "10" {
		t.Error("want the button to go when it comes too late")
	}
	if got := left(); got >= had {
		t.Errorf("want the budget to hold more, %d of %d is left", got, had)
	}
	undo := part(doc, "flash-undo").Closest("form").AttrOr("action", "")
	if got := w.Post(webtest.Olaf, undo, nil).Code; got != http.StatusNotFound {
		t.Errorf("somebody else's: want 404, got %d", got)
	}
	if got := w.Post(webtest.Dora, undo, nil).Code; got != http.StatusForbidden {
		t.Errorf("who did not ask: want 403, got %d", got)
	}
	for range 2 { // a double click
		wantText(t, undone(t, w, webtest.Anna, doc), "flash", "The lease ends as before.")
	}
	after := w.Work("w-train-resnet")
	if !after.Lease.Until.Equal(before.Lease.Until) || !after.WarnedAt.Equal(before.WarnedAt) || left() != had {
		t.Errorf("want everything as before, got %v and %d of %d", after.Lease, left(), had)
	}
	var kinds []string
	for _, e := range w.Record() {
		if e.Actor == webtest.Anna.ID && e.Workload == string(before.ID) && e.At.Equal(w.Clock) {
			kinds = append(kinds, string(e.Kind))
		}
	}
	if got := strings.Join(kinds, " "); !strings.HasSuffix(got, "request.undone workload.extended") {
		t.Errorf("the record: %s", got)
	}

	doc = extended(t, w, path)
	w.Clock = w.Clock.Add(10 * time.Second)
	late := w.Post(webtest.Anna, part(doc, "flash-undo").Closest("form").AttrOr("action", ""), nil)
	if late.Code != http.StatusConflict || !strings.Contains(late.Body.String(), "The undo period is over") {
		t.Errorf("too late: want 409, got %d", late.Code)
	}
	w.Site.Undo = 0
	wantAbsent(t, extended(t, w, path), "flash-undo")
}

// extended extends by another hour.
func extended(t *testing.T, w *webtest.World, path string) *goquery.Document {
	t.Helper()
	return told(t, w, webtest.Anna, path+"/extend", url.Values{"lease": {"1h"}})
}
