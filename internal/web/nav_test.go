package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// entries are the current ones of the navigation and of the reader's own menu.
func entries(doc *goquery.Document) []string {
	current := doc.Find(".gp-nav [aria-current=page], .gp-user__links [aria-current=true]")
	return current.Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("data-test", "?") })
}

// Every page in every state names one entry that its reader has, and the switch stands on the side of that entry.
func TestEveryPageHasItsEntry(t *testing.T) {
	leftToMakeTest(t)
	t.Parallel()
	for _, s := range webtest.Scenes() {
		t.Run(s.Area+"/"+s.Name, func(t *testing.T) {
			doc, err := s.Read()
			if err != nil {
				t.Fatal(err)
			}
			want := 1
			if s.Area == "search" || s.Area == "help" { // from the masthead
				want = 0
			}
			if strings.HasPrefix(s.Path, embed.Path+"?") { // in another site's page
				want = 0
			}
			if list := entries(doc); len(list) != want {
				t.Errorf("want %d current entries, got %q", want, list)
			}
			if doc.Find(".gp-side-switch").Length() > 0 && doc.Find(".gp-side-switch [aria-current]").Length() != 1 {
				t.Error("the switch is on no side, or on both")
			}
		})
	}
}

func TestTheEntryOfAPage(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, c := range []struct {
		who        identity.Person
		path, want string
		platform   bool // which side
	}{
		{webtest.Anna, "/storage/datasets-kept/delete", "nav-storage", false},
		{webtest.Anna, "/fleet/use", "nav-fleet", false}, {webtest.Dora, "/fleet/use", "nav-fleet-use", true},
		{webtest.Anna, "/licenses", "nav-fleet", false}, {webtest.Dora, "/licenses", "nav-licenses", true},
		{webtest.Dora, "/fleet", "nav-fleet", false}, {webtest.Dora, "/fleet/health", "nav-health", true},
		{webtest.Dora, "/usage", "nav-usage-all", true}, {webtest.Dora, "/usage?scope=mine", "nav-usage", false},
		{webtest.Anna, "/usage/advice", "nav-usage", false}, {webtest.Dora, "/usage/advice", "nav-usage-all", true},
		{webtest.Dora, "/usage/demand", "nav-demand", true}, {webtest.Dora, "/team/vision", "nav-tenants", true},
		{webtest.Ben, "/team/vision/images", "nav-team", false},
		{webtest.Anna, "/admin/budgets/vision", "nav-team", false},
		{webtest.Dora, "/admin/budgets/vision", "nav-budgets", true},
		{webtest.Carla, "/approvals", "nav-requests", false},
		{webtest.Carla, "/approvals/delegations", "nav-requests", false},
		{webtest.Carla, "/", "nav-requests", false}, {webtest.Anna, "/", "nav-home", false},
		{webtest.Dora, "/admin/rules/edit", "nav-rules", true}, {webtest.Anna, "/start", "nav-home", false},
		{webtest.Anna, "/account", "nav-account", false},
	} {
		doc := read(t, w.Get(c.who, c.path), http.StatusOK)
		if list := entries(doc); !slices.Equal(list, []string{c.want}) {
			t.Errorf("%s of %s: want %s, got %q", c.path, c.who.Name, c.want, list)
		}
		if got := doc.Find(`[data-test="side-platform"][aria-current]`).Length() == 1; got != c.platform {
			t.Errorf("%s of %s: want the platform's side to be %v", c.path, c.who.Name, c.platform)
		}
	}
}

// Those who answer for nothing have no other side, and see no entry of it.
func TestADeveloperHasOneSide(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/"), http.StatusOK)
	wantAbsent(t, doc, "side-user", "side-platform", "nav-rules", "nav-people", "nav-audit")
	if n := doc.Find(".gp-nav .gp-nav__link[data-test]").Length(); n != 6 {
		t.Errorf("want six entries, got %d", n)
	}
}

// Nothing stands in the navigation twice, on neither side.
func TestNoEntryTwice(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	seen := map[string]bool{}
	for _, path := range []string{"/", "/admin/rules"} {
		read(t, w.Get(webtest.Dora, path), http.StatusOK).Find(".gp-nav .gp-nav__link[data-test]").
			Each(func(_ int, s *goquery.Selection) {
				if href := s.AttrOr("href", ""); seen[href] {
					t.Errorf("%s is there twice", href)
				} else {
					seen[href] = true
				}
			})
	}
	if len(seen) < 20 {
		t.Errorf("want both sides, got %d entries", len(seen))
	}
}

// byAddress are the routes that no page links to: answers to scripts, and files.
var byAddress = []string{"/live", "/search/results", "/fleet/use/chunk", "/fleet/use/changes",
	"/start/summary", "/start/form", "/workloads/:id/logs/follow", "/workloads/:id/terminal/socket",
	"/workloads/:id/files/download", "/workloads/:id/files/archive",
	"/workloads/:id/join",   // of a link that the owner sends
	"/workloads/:id/resume"} // follows the button where an approval is needed

// Every page is reached from the front page by links: of the navigation, of tabs, or in the text.
func TestEveryPageIsReached(t *testing.T) {
	leftToMakeTest(t)
	t.Parallel()
	patterns := map[string]*regexp.Regexp{}
	for _, r := range webtest.Empty(t).Web.Routes() {
		if r.Method == http.MethodGet && !slices.Contains(byAddress, r.Path) {
			patterns[r.Path] = regexp.MustCompile("^" + regexp.MustCompile(`:[a-z]+`).ReplaceAllString(r.Path, `[^/]+`) + "$")
		}
	}
	reached := map[string]bool{}
	for i, from := range crawled(t) {
		most := 1 // page: what is linked there in other states
		if i < 3 {
			most = 500
		}
		for path := range crawl(t, from, most) {
			for route, pattern := range patterns {
				// an address with a parameter may look like one without
				if _, plain := patterns[path]; pattern.MatchString(path) && (route == path || !plain) {
					reached[route] = true
				}
			}
		}
	}
	for route := range patterns {
		if !reached[route] {
			t.Errorf("no link leads to %s", route)
		}
	}
}

// crawled are three readers from the front page on, and pages in states that link to more.
func crawled(t *testing.T) (list []webtest.Scene) {
	busy := webtest.Busy(t)
	for _, p := range []identity.Person{webtest.Anna, webtest.Ben, webtest.Dora} {
		list = append(list, webtest.Scene{Person: p, Path: "/", World: func(webtest.Scope) *webtest.World { return busy }})
	}
	list = append(list, webtest.Scene{Person: webtest.Anna, Path: "/workloads/w-ranker", World: webtest.Scaled})
	for _, s := range webtest.Scenes() {
		if s.Form == nil && slices.Contains([]string{"differences", "sizes", "storage", "team", "fleet"}, s.Area) {
			list = append(list, s)
		}
	}
	return list
}

// crawl follows every link once for each path, as far as a person gets within so many pages.
func crawl(t *testing.T, from webtest.Scene, most int) map[string]bool {
	t.Helper()
	w, found, waiting := from.World(t), map[string]bool{}, []string{from.Path}
	for read := 0; len(waiting) > 0 && read < most; read++ {
		answer := w.Get(from.Person, waiting[0])
		waiting = waiting[1:]
		if answer.Code != http.StatusOK || !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
			continue
		}
		doc, err := goquery.NewDocumentFromReader(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		doc.Find("a[href], form[method=get], [formaction]").Each(func(_ int, s *goquery.Selection) {
			link := s.AttrOr("href", s.AttrOr("action", s.AttrOr("formaction", "")))
			u, err := url.Parse(link)
			if err == nil && !found[u.Path] && strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "/static/") {
				found[u.Path] = true
				waiting = append(waiting, link)
			}
		})
	}
	found["/"] = true
	return found
}

// What somebody folds stays folded on the next page, except around the page itself.
func TestFoldingIsRemembered(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	get := func(path string, cookie *http.Cookie) *goquery.Document {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		if cookie != nil {
			r.AddCookie(cookie)
		}
		return read(t, w.Do(webtest.Dora, "en", r), http.StatusOK)
	}
	open := func(doc *goquery.Document, id string) bool {
		_, open := doc.Find(`[data-nav-part="` + id + `"]`).Attr("open")
		return open
	}
	if doc := get("/admin/rules", nil); !open(doc, "catalog") || open(doc, "system") {
		t.Error("at first all groups but the last are open")
	}
	if !open(get("/audit", nil), "system") {
		t.Error("the group of the page is open")
	}
	answer := w.Post(webtest.Dora, "/settings/nav", url.Values{"part": {"catalog"}, "fold": {"1"}, "back": {"/audit"}})
	if to := wantRedirect(t, answer); to != "/audit" {
		t.Errorf("want back to /audit, got %s", to)
	}
	cookie := answer.Result().Cookies()[0]
	if doc := get("/admin/rules", cookie); open(doc, "catalog") || open(doc, "system") || !open(doc, "policies") {
		t.Error("what was folded stays folded, and nothing else is")
	}
	bar := &http.Cookie{Name: edge.Nav, Value: "bar.nonsense"}
	if doc := get("/admin/rules", bar); !doc.Find("body").HasClass("gp-body--nav-folded") || !open(doc, "system") {
		t.Error("the navigation as a whole stays folded")
	}
	if got := w.Post(webtest.Dora, "/settings/nav", url.Values{"part": {"nonsense"}}).Code; got != http.StatusNotFound {
		t.Errorf("an unknown part: want 404, got %d", got)
	}
}

// Who chooses an entry of the navigation reads the same words at the top of the page.
func TestAPageHasTheNameOfItsEntry(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for who, start := range map[*identity.Person]string{&webtest.Anna: "/", &webtest.Dora: "/platform"} {
		links := read(t, w.Get(*who, start), http.StatusOK).Find(".gp-nav__link[href]:has(.gp-nav__label)")
		if links.Length() < 6 {
			t.Fatalf("%s: want the entries of a side, got %d", who.Name, links.Length())
		}
		links.Each(func(_ int, s *goquery.Selection) {
			href, label := s.AttrOr("href", ""), textOf(s.Find(".gp-nav__label"))
			if !strings.HasPrefix(s.AttrOr("data-test", ""), "nav-") {
				return // help, which the menu of a narrow screen has too
			}
			title := textOf(read(t, w.Get(*who, href), http.StatusOK).Find("h1"))
			if title != label {
				t.Errorf("%s, %s: the entry is %q, the page %q", who.Name, href, label, title)
			}
		})
	}
}
