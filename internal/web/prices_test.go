package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

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
	wantText(t, doc, "price", "7.77 EUR")
	wantText(t, doc, "price", "in force")
	after := read(t, w.Get(webtest.Anna, "/start?team=vision"), http.StatusOK).Text()
	if strings.Contains(before, "7.77") || !strings.Contains(after, "7.77") {
		t.Errorf("the start page says what it costs now")
	}
	if got := w.Post(webtest.Eli, "/admin/prices", form); got.Code != http.StatusForbidden {
		t.Errorf("an auditor only reads, got %d", got.Code)
	}
	doc = read(t, w.Get(webtest.Eli, "/admin/prices"), http.StatusOK)
	wantAbsent(t, doc, "price-form")
	wantAbsent(t, doc, "price-end")

	if got := w.Post(webtest.Dora, "/admin/prices/"+w.PriceList()[0].ID+"/end", nil); got.Code != http.StatusSeeOther {
		t.Fatalf("want it ended, got %d", got.Code)
	}
	wantText(t, read(t, w.Get(webtest.Dora, "/admin/prices"), http.StatusOK), "price", "over")
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
	wantText(t, doc, "price", "to come")
	wantText(t, doc, "price-next-row", "9.00")
}

func TestAWrongPriceComesBackWithItsProblem(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	form := url.Values{"subject": {"cpu:"}, "amount": {"much <b>"}, "from": {"2020-01-01"}}
	doc := read(t, w.Post(webtest.Dora, "/admin/prices", form), http.StatusUnprocessableEntity)
	wantText(t, doc, "price-form", "at most five digits")
	wantText(t, doc, "price-form", "cannot begin in the past")
	if value, _ := part(doc, "price-amount").Attr("value"); value != "much <b>" {
		t.Errorf("what was typed comes back, got %q", value)
	}
	if len(w.PriceList()) != 0 {
		t.Error("nothing was kept")
	}
}
