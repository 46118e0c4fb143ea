package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestAQuotaIsATable: what is held stands beside the limit, and a wrong limit keeps its problem beside it.
func TestAQuotaIsATable(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Dora, "/admin/tenants/edit?name=speech"), http.StatusOK)
	row := part(doc, "limit-h100").Closest("tr")
	if got := textOf(In(row, "used")); got != "1 of 1" {
		t.Errorf("want one H100 held, got %q", got)
	}
	if value, _ := part(doc, "limit-h100").Attr("value"); value != "1" {
		t.Errorf("want its limit, got %q", value)
	}
	// a number in grey inside an empty field was taken for its value
	if _, grey := part(doc, "limit-vgpu-12q").Attr("placeholder"); grey {
		t.Error("want an empty field to be empty")
	}
	if got := textOf(part(doc, "limit-vgpu-12q").Closest("tr")); !strings.Contains(got, "(blocked)") ||
		!strings.Contains(got, "All other sizes") {
		t.Errorf("want what counts without an entry beside the field, got %q", got)
	}
	if got := textOf(In(row, "limit-source")); got != "from configuration" {
		t.Errorf("want where the limit comes from, got %q", got)
	}
	if got := textOf(doc.Find("#quota-limits tbody tr").Last()); !strings.Contains(got, "All other sizes") {
		t.Errorf("want what applies to the rest last, got %q", got)
	}
	if save := part(doc, "tenant-form").AttrOr("data-marks-changes", ""); save == "" || doc.Find("#"+save).Length() != 1 {
		t.Errorf("want the button that a script turns off until something is changed, got %q", save)
	}
	form := url.Values{"name": {"speech"}, "base": {"0"}, "quota.h100": {"many"}, "quota.cpu": {"2"}}
	doc = read(t, w.Post(webtest.Dora, "/admin/tenants/edit", form), http.StatusUnprocessableEntity)
	if _, off := part(doc, "tenant-form").Attr("data-marks-changes"); off {
		t.Error("what came back can be saved once it is right")
	}
	wantText(t, doc, "form-errors", "“h100”")
	if text := textOf(doc.Find(`[id="quota.h100-error"]`)); text == "" {
		t.Error("the problem is not beside its field")
	}
	form.Set("quota.h100", "3")
	form.Set("quota.*", "1")
	form.Set("turn", "text")
	doc = read(t, w.Post(webtest.Dora, "/admin/tenants/edit", form), http.StatusOK)
	if got := part(doc, "quota").Text(); got != "*: 1\ncpu: 2\nh100: 3" {
		t.Errorf("want the table as text, got %q", got)
	}
	form = url.Values{"name": {"speech"}, "base": {"0"}, "quota": {"cpu: 7"}, "turn": {"table"}}
	doc = read(t, w.Post(webtest.Dora, "/admin/tenants/edit", form), http.StatusOK)
	if value, _ := part(doc, "limit-cpu").Attr("value"); value != "7" {
		t.Errorf("want the text as a table, got %q", value)
	}
}

// TestAQuotaSaysWhomItStops: what is over it at once, and which of those who wait could not be approved.
func TestAQuotaSaysWhomItStops(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	form := url.Values{"name": {"speech"}, "base": {"0"}, "quota.h100": {"1"}, "quota.cpu": {"3"}}
	doc := read(t, w.Post(webtest.Dora, "/admin/tenants/check", form), http.StatusOK)
	wantText(t, doc, "changes", "CPU only", "2", "3")
	wantText(t, doc, "previewed", "CPU only: 2 → 3", "1 of one undecided request") // above the form
	wantText(t, doc, "blocked", "1 of one undecided request")
	wantText(t, doc, "preview", "Olaf")
	form.Set("quota.h100", "2")
	doc = read(t, w.Post(webtest.Dora, "/admin/tenants/check", form), http.StatusOK)
	wantText(t, doc, "blocked", "0 of one undecided request")
	wantRedirect(t, w.Post(webtest.Dora, "/admin/tenants/edit", form))
	if e, err := w.Tenants.Entry(w.Actor(webtest.Dora), "speech"); err != nil || e.QuotaOf("h100") != 2 ||
		e.QuotaOf("cpu") != 3 {
		t.Errorf("want the limits saved, got %v %v", e.Quota, err)
	}
	doc = read(t, w.Get(webtest.Dora, "/admin/tenants/edit?name=speech"), http.StatusOK)
	if got := textOf(In(part(doc, "limit-cpu").Closest("tr"), "limit-source")); got != "override; configuration: 2" {
		t.Errorf("want it told apart from a limit of the configuration, got %q", got)
	}
}
