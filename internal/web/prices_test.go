package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestAPriceIsAddedAndCounts(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	read(t, w.Get(webtest.Anna, "/admin/prices"), http.StatusNotFound)
	doc := read(t, w.Get(webtest.Dora, "/admin/prices"), http.StatusOK)
	wantText(t, doc, "empty", "catalog")

	before := textOf(part(read(t, w.Get(webtest.Anna, "/start?team=vision"), http.StatusOK), "size-mig-1g.10gb"))
	form := url.Values{"subject": {"size:mig-1g.10gb"}, "tenant": {"vision"}, "amount": {"7.77"}}
	if got := w.Post(webtest.Dora, "/admin/prices", form); got.Code != http.StatusSeeOther {
		t.Fatalf("want it added, got %d", got.Code)
	}
	doc = read(t, w.Get(webtest.Dora, "/admin/prices"), http.StatusOK)
	wantText(t, doc, "price", "€7.77/h")
	wantText(t, doc, "price", "in force")
	after := read(t, w.Get(webtest.Anna, "/start?team=vision"), http.StatusOK).Text()
	if strings.Contains(before, "7.77") || !strings.Contains(after, "7.77") {
		t.Errorf("the start page says what it costs now")
	}
	if got := w.Post(webtest.Eli, "/admin/prices", form); got.Code != http.StatusForbidden {
		t.Errorf("an auditor only reads, got %d", got.Code)
	}
	doc = read(t, w.Get(webtest.Eli, "/admin/prices"), http.StatusOK)
	wantText(t, doc, "prices-effective", "MIG slice 10 GB", "/h")
	if first := part(doc, "prices").Find("section").First(); first.AttrOr("data-test", "") != "prices-effective" {
		t.Error("want what each size costs now before the list that makes it")
	}
	wantAbsent(t, doc, "prices-ended")
	wantAbsent(t, doc, "price-form")
	wantAbsent(t, doc, "price-end")

	if got := w.Post(webtest.Dora, "/admin/prices/"+w.PriceList()[0].ID+"/end", nil); got.Code != http.StatusSeeOther {
		t.Fatalf("want it ended, got %d", got.Code)
	}
	doc = read(t, w.Get(webtest.Dora, "/admin/prices"), http.StatusOK)
	wantText(t, doc, "price", "ended")
	fold := part(doc, "prices-ended")
	if In(fold, "price").Length() != 1 || !strings.Contains(textOf(fold), "1 ended price") {
		t.Errorf("want what is over folded, got %q", textOf(fold))
	}
	if got := w.Post(webtest.Dora, "/admin/prices", url.Values{"subject": {"size:mig-1g.10gb"}, "tenant": {"vision"},
		"amount": {"8"}}); got.Code != http.StatusSeeOther {
		t.Fatalf("want it added, got %d", got.Code)
	}
	var changes []audit.Change
	for _, e := range w.Record() {
		if e.Kind == audit.PriceAdded || e.Kind == audit.PriceEnded {
			changes = append(changes, e.Changes...)
		}
	}
	want := []audit.Change{{Field: "size.mig-1g.10gb", New: "7.77"}, {Field: "size.mig-1g.10gb.until",
		New: webtest.Now.UTC().Format(time.RFC3339)}, {Field: "size.mig-1g.10gb", New: "8.00"}}
	if !slices.Equal(want, changes) {
		t.Errorf("want the record to say %v, got %v", want, changes)
	}
}

func TestAPriceToComeSaysWhatRunsWillCost(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.PutPrices(usage.Price{ID: "p-1", Kind: usage.PriceSize, Subject: "mig-1g.10gb", Rate: 900_000,
		From: webtest.Now.Add(48 * time.Hour), At: webtest.Now, AuthorName: "Root"})
	doc := read(t, w.Get(webtest.Dora, "/admin/prices"), http.StatusOK)
	wantText(t, doc, "price", "scheduled")
	wantText(t, doc, "price-next-row", "9.00", "catalog price", "price of the size")
	row := part(doc, "price-effective-row").FilterFunction(func(_ int, s *goquery.Selection) bool {
		return strings.Contains(textOf(s), "MIG slice 10 GB")
	})
	if got := textOf(row); !strings.Contains(got, "€9.00/h from 23 Nov 2026, 12:00 UTC") {
		t.Errorf("want what comes beside what holds, got %q", got)
	}
	address, _, _ := strings.Cut(In(row, "price-change").AttrOr("href", ""), "#")
	change := read(t, w.Get(webtest.Dora, address), http.StatusOK)
	if chosen := part(change, "price-what").Find("[selected]").AttrOr("value", ""); chosen != "size:mig-1g.10gb" {
		t.Errorf("want the form of this size, got %q", chosen)
	}
	if _, open := part(change, "price-enter").Attr("open"); !open {
		t.Error("want the form open without scripts too")
	}
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/admin/prices"), http.StatusOK), "price-change")
}

func TestAWrongPriceComesBackWithItsProblem(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	form := url.Values{"subject": {"cpu:"}, "amount": {"much <b>"}, "from": {"2020-01-01"}}
	doc := read(t, w.Post(webtest.Dora, "/admin/prices", form), http.StatusUnprocessableEntity)
	wantText(t, doc, "price-form", "at most five decimal places")
	wantText(t, doc, "price-form", "cannot start in the past")
	if value, _ := part(doc, "price-amount").Attr("value"); value != "much <b>" {
		t.Errorf("what was typed comes back, got %q", value)
	}
	if len(w.PriceList()) != 0 {
		t.Error("nothing was kept")
	}
}

// Prices are typed in the form or as text, and what they would change is seen before anything is written.
func TestPricesAreTriedBeforeTheyAreAdded(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	form := url.Values{"subject": {"size:mig-1g.10gb"}, "tenant": {"vision"}, "amount": {"7.77"}}
	doc := read(t, w.Post(webtest.Dora, "/admin/prices/check", form), http.StatusOK)
	wantText(t, doc, "changes", "€7.77/h")
	wantText(t, doc, "price-impact", "would change in price", "instead of")
	wantText(t, doc, "price-impact-row", "7.77")
	if len(w.PriceList()) != 0 {
		t.Fatal("a preview wrote")
	}
	form.Set("turn", "text")
	doc = read(t, w.Post(webtest.Dora, "/admin/prices/check", form), http.StatusOK)
	text := strings.TrimPrefix(part(doc, "text").Text(), "\n")
	if want := "- kind: size\n  subject: mig-1g.10gb\n  tenant: vision\n  amount: \"7.77\"\n"; text != want {
		t.Errorf("want %q, got %q", want, text)
	}
	doc = read(t, w.Post(webtest.Dora, "/admin/prices/check", url.Values{"text": {text}, "turn": {"form"}}), http.StatusOK)
	if value := part(doc, "price-amount").AttrOr("value", ""); value != "7.77" {
		t.Errorf("want the form filled, got %q", value)
	}
	wrong := url.Values{"text": {text + "- kind: cpu\n  amount: much\n"}}
	doc = read(t, w.Post(webtest.Dora, "/admin/prices", wrong), http.StatusUnprocessableEntity)
	wantText(t, doc, "problem", "Line 6", "an amount")
	if got := part(doc, "text").AttrOr("data-marked", ""); got != "6" || len(w.PriceList()) != 0 {
		t.Errorf("want line 6 marked and nothing kept, got %q and %d", got, len(w.PriceList()))
	}
	two := url.Values{"text": {text + "- kind: cpu\n  amount: \"0.01\"\n  from: 2999-01-01\n"}}
	doc = read(t, w.Post(webtest.Dora, "/admin/prices/check", two), http.StatusOK)
	if n := part(doc, "changes").Find("li").Length(); n != 2 {
		t.Errorf("want both, got %d", n)
	}
	wantRedirect(t, w.Post(webtest.Dora, "/admin/prices", two))
	if n := len(w.PriceList()); n != 2 {
		t.Errorf("want two prices, got %d", n)
	}
	if got := w.Post(webtest.Eli, "/admin/prices/check", two).Code; got != http.StatusForbidden {
		t.Errorf("an auditor only reads, got %d", got)
	}
}
