package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// editors are the forms that are looked at while somebody fills them in: the page, the id of its form, what to type
// that is wrong, and where that is said.
var editors = map[string]struct {
	page, form   string
	wrong        url.Values
	field, line  string
	wrongAgainst string // words of the problem
}{
	"a size": {page: "/admin/sizes/form?list=sizes&name=h100", form: "entry", wrong: url.Values{"cpu": {"lots"}},
		field: "cpu", wrongAgainst: "lots"},
	"an image": {page: "/admin/sizes/form?list=images&name=jupyterlab", form: "entry",
		wrong: url.Values{"reference": {"not an image"}}, field: "reference"},
	"the catalog as text": {page: "/admin/sizes/edit", form: "catalog",
		wrong: url.Values{"text": {"sizes:\n- name: a\n  cpuu: 1\nimages: []\n"}}, line: "3", wrongAgainst: "cpuu"},
	"the rules as text": {page: "/admin/rules/edit", form: "rules-form",
		wrong: url.Values{"text": {"- name: a\n  when: request.nothing\n  outcome: allow\n"}}, line: "2"},
	"a rule": {page: "/admin/rules/rule", form: "rule-form", wrong: url.Values{"name": {"mine"},
		"fact-0": {"request.hours"}, "op-0": {"<"}, "value-0": {"many"}}, field: "value-0"},
	"a team": {page: "/admin/tenants/edit?name=vision", form: "tenant-form",
		wrong: url.Values{"quota.h100": {"many"}}, field: "quota.h100"},
	"a new team": {page: "/admin/tenants/edit", form: "tenant-form", wrong: url.Values{"name": {"No Name!"}},
		field: "name"},
	"idle settings": {page: "/admin/idle", form: "idle-form", wrong: url.Values{"for-0": {"all"}, "action-0": {"stop"},
		"after-0": {"4h"}, "keepAlive-0": {"soon"}}, field: "keepAlive-0"},
	"idle settings as text": {page: "/admin/idle", form: "idle-form", wrong: url.Values{"text": {"all:\n  action: stop\n" +
		"  after: soon\n"}}, line: "3"},
	"idle settings as text, by the rules of the form": {page: "/admin/idle", form: "idle-form",
		wrong: url.Values{"text": {"sizes:\n  none: {action: \"off\"}\n"}}, line: "2"},
	"a price": {page: "/admin/prices", form: "price-form", wrong: url.Values{"amount": {"much"}}, field: "amount"},
	"prices as text": {page: "/admin/prices", form: "price-form", wrong: url.Values{"text": {"- kind: cpu\n  amount: 1\n" +
		"- kind: size\n  subject: none\n  amount: 2\n"}}, line: "4"},
	"a price as text": {page: "/admin/prices", form: "price-form", wrong: url.Values{"text": {"- kind: cpu\n" +
		"  amount: much\n"}}, line: "2"},
	"a notification address": {page: "/account/notifications", form: "address-form",
		wrong: url.Values{"url": {"nowhere"}}, field: "address-url"},
}

// A form that somebody fills in is told what is wrong by the same rules as when it is sent, in a part of a page, and
// whatever it holds and whichever button it names: nothing is written.
func TestFormsAreLookedAtWhileTheyAreFilledIn(t *testing.T) {
	t.Parallel()
	for name, e := range editors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := webtest.Busy(t)
			doc := read(t, w.Get(webtest.Dora, e.page), http.StatusOK)
			at := doc.Find("form#"+e.form).AttrOr("hx-post", "")
			if !strings.HasSuffix(at, "?validate=1") || doc.Find("#"+e.form+" #"+e.form+"-validation").Length() != 1 {
				t.Fatalf("the form is not looked at: %q", at)
			}
			before := len(w.Record())
			form := formOf(doc, e.form)
			for field, values := range e.wrong {
				form[field] = values
			}
			form.Set("action", "save")
			said := read(t, w.Post(webtest.Dora, at, form), http.StatusOK)
			if said.Find("h1, form").Length() > 0 {
				t.Error("want a part, not a page")
			}
			problems := part(said, "validation-problem")
			found := problems.FilterFunction(func(_ int, p *goquery.Selection) bool {
				return p.AttrOr("data-problem-of", "") == e.field && p.AttrOr("data-problem-line", "") == e.line &&
					strings.Contains(p.Text(), e.wrongAgainst)
			})
			if found.Length() == 0 {
				html, _ := said.Html()
				t.Errorf("want a problem of %q on line %q, got %s", e.field, e.line, html)
			}
			if e.field != "" { // the text has none
				if doc.Find(`[id="`+e.field+`"]`).Length() != 1 {
					t.Errorf("there is no field %s to stand beside", e.field)
				}
				if said.Find(`[data-error-for="`+e.field+`"]`).Length() == 0 {
					t.Errorf("nothing stands beside %s", e.field)
				}
			}
			if after := len(w.Record()); before != after {
				t.Errorf("%d events were written", after-before)
			}
			if got := w.Post(webtest.Anna, at, form).Code; !strings.HasPrefix(e.page, "/account") &&
				got != http.StatusNotFound {
				t.Errorf("for a developer there is no such page, got %d", got)
			}
		})
	}
}

// What can be saved is not, while somebody types.
func TestALookSavesNothing(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	right := map[string]url.Values{
		"/admin/sizes/edit":                {"text": {string(catalog.DefaultYAML()) + "# mine\n"}, "base": {"0"}},
		"/admin/rules/check":               {"text": {"- name: a\n  when: \"true\"\n  outcome: allow\n"}, "base": {"0"}},
		"/admin/tenants/edit":              {"name": {"fresh"}, "groups.owner": {"gpu-fresh"}},
		"/admin/idle/preview":              idleForm(nil),
		"/admin/prices/check":              {"subject": {"cpu:"}, "amount": {"1"}},
		"/account/notifications/addresses": {"channel": {"webhook"}, "url": {"https://hooks.example.org/x"}},
	}
	size := formOf(read(t, w.Get(webtest.Dora, formPath+"?list=sizes&name=h100"), http.StatusOK), "entry")
	size.Set("pricePerHour", "9")
	right[formPath] = size
	before := len(w.Record())
	for path, form := range right {
		form.Set("action", "save")
		said := read(t, w.Post(webtest.Dora, path+"?validate=1", form), http.StatusOK)
		if text := textOf(part(said, "validation")); text != "No problems found" {
			t.Errorf("%s: want it fine, got %q", path, text)
		}
	}
	if after := len(w.Record()); before != after {
		t.Errorf("%d events were written", after-before)
	}
}
