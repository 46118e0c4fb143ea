package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// found are the addresses of what the palette offers for a text, the best first.
func found(t *testing.T, w *webtest.World, who identity.Person, text string) []string {
	t.Helper()
	doc := read(t, w.Get(who, "/search/results?"+url.Values{"q": {text}}.Encode()), http.StatusOK)
	return doc.Find("[role=option]").Map(func(_ int, s *goquery.Selection) string {
		return s.AttrOr("href", s.AttrOr("formaction", ""))
	})
}

// Each kind of thing is found by those who may see it.
func TestThePaletteFindsWhatOneMaySee(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, c := range []struct {
		who        identity.Person
		text, want string
	}{
		{webtest.Anna, "train-res", "/workloads/w-train-resnet"}, {webtest.Anna, "TRAIN anna", "/workloads/w-train-resnet"},
		{webtest.Anna, "r-anna1", "/requests/r-anna1"}, {webtest.Anna, "notebook", "/start?kind=notebook"},
		{webtest.Anna, "jupyter", "/start?kind=notebook"}, {webtest.Anna, "quota", "/team/vision/quota"},
		{webtest.Anna, "token", "/account"}, {webtest.Anna, "sign out", "/signout"},
		{webtest.Anna, "dark", "/settings/theme"},
		{webtest.Anna, "storage", "/storage"}, {webtest.Anna, "vision", "/team/vision"},
		{webtest.Anna, "gpu-01", "/fleet?q=gpu-01"}, {webtest.Anna, "h100", "/start?size=h100"},
		{webtest.Carla, "r-anna1", "/requests/r-anna1"}, {webtest.Carla, "approvals", "/approvals"},
		{webtest.Dora, "rules", "/admin/rules"}, {webtest.Dora, "h100", "/admin/sizes#size-h100"},
		{webtest.Dora, "speech", "/team/speech"}, {webtest.Dora, "train-res", "/workloads/w-train-resnet"},
		{webtest.Dora, "anna@", "/admin/people/" + string(webtest.Anna.ID)},
		{webtest.Dora, "edit sizes", "/admin/sizes/edit"}, {webtest.Eli, "people", "/admin/people"},
	} {
		if got := found(t, w, c.who, c.text); !slices.Contains(got, c.want) {
			t.Errorf("%s, %q: want %s, got %q", c.who.Name, c.text, c.want, got)
		}
	}
}

// What the pages keep from somebody the palette keeps from them too, on the page of the search as well.
func TestThePaletteKeepsRights(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Add(w.Workload("whisper-eval", webtest.Olaf, "cpu"))
	w.Ask("r-whisper", webtest.Olaf, "speech", "h100", "3d", "For speech.", 0)
	for text, never := range map[string]string{"whisper": "/workloads/", "r-whisper": "/requests/", "olaf": "/",
		"speech": "/team/speech", "rules": "/admin/rules", "people": "/admin/people", "anna": "/admin/people/",
		"audit": "/audit", "overview": "/platform", "sizes": "/admin/", "quarantine": "/fleet/health", "team": "/admin/"} {
		for _, who := range []identity.Person{webtest.Anna, webtest.Nemo} {
			doc := read(t, w.Get(who, "/search?"+url.Values{"q": {text}}.Encode()), http.StatusOK)
			hits := slices.Concat(found(t, w, who, text), doc.Find(".gp-found a").Map(
				func(_ int, s *goquery.Selection) string { return s.AttrOr("href", "") }))
			for _, href := range hits {
				if strings.HasPrefix(href, never) {
					t.Errorf("%s, %q: finds %s", who.Name, text, href)
				}
			}
		}
	}
	for _, who := range []identity.Person{webtest.Nemo, webtest.Eli} {
		if got := found(t, w, who, "start a notebook"); len(got) != 0 {
			t.Errorf("%s: want no start, got %q", who.Name, got)
		}
	}
	acts := slices.DeleteFunc(found(t, w, webtest.Eli, "edit"),
		func(href string) bool { return strings.HasPrefix(href, "/help/") }) // "SSH and editors" is something to read
	if len(acts) != 0 {
		t.Errorf("an auditor: want nothing to edit, got %q", acts)
	}
	if hits := found(t, w, webtest.Olaf, "whisper"); len(hits) != 2 {
		t.Errorf("want Olaf's workload and request, got %q", hits)
	}
}

// A title that is what was typed comes first, and there are few of each kind.
func TestThePaletteRanks(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, name := range []string{"usage-a", "my-usage", "usage", "usage-b", "usage-c", "usage-d", "usage-e"} {
		w.Add(w.Workload(name, webtest.Anna, "cpu"))
	}
	got := found(t, w, webtest.Anna, "usage")
	if len(got) == 0 || got[0] != "/usage" && got[0] != "/workloads/w-usage" {
		t.Errorf("want the exact title first, got %q", got)
	}
	workloads := slices.DeleteFunc(slices.Clone(got), func(h string) bool { return !strings.HasPrefix(h, "/workloads/") })
	if len(workloads) != 5 || workloads[0] != "/workloads/w-usage" {
		t.Errorf("want five workloads, the exact name first, got %q", workloads)
	}
}

// Without a word there are the pages and actions; one letter asks no database; nothing found says so.
func TestThePaletteWithLittleToGoBy(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	got := found(t, w, webtest.Anna, "")
	if !slices.Contains(got, "/storage") || !slices.Contains(got, "/start?kind=notebook") ||
		slices.Contains(got, "/platform") {
		t.Errorf("want the pages and actions of a developer, got %q", got)
	}
	for _, href := range found(t, w, webtest.Anna, "t") {
		if strings.HasPrefix(href, "/workloads/") {
			t.Errorf("one letter finds %s", href)
		}
	}
	doc := read(t, w.Get(webtest.Anna, "/search/results?q=%00%FFzzz<b>"), http.StatusOK)
	wantText(t, doc, "nothing-found", "zzz<b>")
	if doc.Find("[role=option]").Length() != 0 {
		t.Error("want no option")
	}
	read(t, w.Get(webtest.Anna, "/search?q="+strings.Repeat("a+b+", 200)), http.StatusOK)
}

// The search button is a link to the page, so that it works without scripts; options name what they belong to.
func TestTheSearchWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/storage"), http.StatusOK)
	if href := doc.Find("[data-test=search-open]").AttrOr("href", ""); href != "/search" {
		t.Errorf("want a link to the search, got %q", href)
	}
	if box := doc.Find("#gp-palette [role=combobox]"); box.AttrOr("aria-controls", "") != "gp-palette-list" ||
		box.AttrOr("aria-expanded", "") != "false" {
		t.Error("want a combobox of the list, closed")
	}
	page := read(t, w.Get(webtest.Anna, "/search?q=train"), http.StatusOK)
	if v := page.Find("input[name=q]#search").AttrOr("value", ""); v != "train" {
		t.Errorf("want the query in the field, got %q", v)
	}
	if n := page.Find("main [data-test=hit-workload]").Length(); n == 0 {
		t.Error("want results as links")
	}
	if got := textOf(page.Find("main [data-test=hit-workload] [data-test=state]").First()); got != "Running" {
		t.Errorf("want its state by itself, got %q", got)
	}
	part := read(t, w.Get(webtest.Anna, "/search/results?q=train"), http.StatusOK)
	part.Find("[role=group]").Each(func(_ int, g *goquery.Selection) {
		if id := g.AttrOr("aria-labelledby", ""); id == "" || g.Find("#"+id).Length() != 1 {
			t.Error("a group has no name")
		}
	})
}

// Single-key shortcuts can be switched off (WCAG 2.1.4); the sheet lists what leads where.
func TestShortcutsCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
	if doc.Find("#gp-shortcuts a[data-go]").Length() != 7 || doc.Find(`#gp-shortcuts a[data-go="a"]`).Length() != 0 {
		t.Errorf("want a developer's seven places, got %d", doc.Find("#gp-shortcuts a[data-go]").Length())
	}
	if n := read(t, w.Get(webtest.Dora, "/"), http.StatusOK).Find(`#gp-shortcuts a[data-go="p"]`).Length(); n != 1 {
		t.Error("want the platform among an administrator's places")
	}
	answer := w.Post(webtest.Anna, "/settings/keys", url.Values{"keys": {"off"}, "back": {"/storage"}})
	if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != "/storage" {
		t.Fatalf("want the way back, got %d %q", answer.Code, answer.Header().Get("Location"))
	}
	r := newGet("/storage")
	for _, c := range answer.Result().Cookies() {
		r.AddCookie(c)
	}
	off := read(t, w.Do(webtest.Anna, "en", r), http.StatusOK)
	if off.Find("body[data-keys-off]").Length() != 1 || off.Find("#gp-shortcuts [data-go]").Length() != 0 ||
		off.Find("[data-test=keys-on]").Length() != 1 {
		t.Error("want the page to know that they are off, and a way to switch them on")
	}
}

func newGet(path string) *http.Request {
	r, err := http.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		panic(err)
	}
	return r
}

// The page has a few of each kind with the way to the rest of it, and back to all.
func TestTheSearchPageHasAFewOfEachKind(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Dora, "/search?q=a"), http.StatusOK)
	if n := doc.Find("[data-test=found-page] li").Length(); n != 3 {
		t.Errorf("want three pages, got %d", n)
	}
	wantText(t, doc, "search-short", "at least 2 letters")
	two := read(t, w.Get(webtest.Dora, "/search?q=an"), http.StatusOK)
	wantAbsent(t, two, "search-short")
	wantText(t, two, "found-person", "Anna Albers")
	if marked := two.Find("[data-test=found-person] .gp-found__detail mark").First().Text(); marked != "an" {
		t.Errorf("want what was typed marked in the address as well, got %q", marked)
	}
	// two letters inside a word are no answer
	wantAbsent(t, two, "do-quarantine", "hit-demand")
	wantText(t, two, "found-page", "Usage and cost")
	if n := two.Find("[data-test=found-page] .gp-found__detail mark").Length(); n != 0 {
		t.Errorf("nothing of Organization is an answer, got %d marked", n)
	}
	if text := textOf(part(two, "found-person")); strings.Contains(text, "Ben Brandt") {
		t.Errorf("Brandt does not begin with it, got %q", text)
	}
	wantText(t, read(t, w.Get(webtest.Dora, "/search?q=rand"), http.StatusOK), "found-person", "Ben Brandt")
	more := part(doc, "more-page")
	wantText(t, doc, "more-page", "more")
	doc = read(t, w.Get(webtest.Dora, more.AttrOr("href", "")), http.StatusOK)
	if n := doc.Find("[data-test=found-page] li").Length(); n <= 3 {
		t.Errorf("want all pages, got %d", n)
	}
	wantAbsent(t, doc, "found-action", "more-page")
	if href := part(doc, "all-kinds").AttrOr("href", ""); href != "/search?q=a" {
		t.Errorf("want the way back, got %q", href)
	}
	wantAbsent(t, read(t, w.Get(webtest.Dora, "/search?q=a&kind=nonsense"), http.StatusOK), "all-kinds")
	if n := read(t, w.Get(webtest.Dora, "/search"), http.StatusOK).Find("[data-test=found-page] li").Length(); n <= 10 {
		t.Errorf("without a word want a map of the site, got %d pages", n)
	}
}
