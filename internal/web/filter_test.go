package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// notFilters are forms that ask for a page and narrow no list.
var notFilters = []string{"/start/size", "/fleet/use"}

// TestEveryFilterSaysThatNothingMatches: every list of every page that is narrowed by a form says that nothing matches,
// and leads back to all of it. Lists that scripts narrow bring the words with them.
func TestEveryFilterSaysThatNothingMatches(t *testing.T) {
	leftToMakeTest(t)
	t.Parallel()
	seen, tried := map[string]bool{}, []string{}
	for _, s := range webtest.Scenes() {
		if s.Form != nil {
			continue
		}
		doc, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		doc.Find("main form[method=get]").Each(func(_ int, form *goquery.Selection) {
			action := form.AttrOr("action", "")
			id := s.Area + " " + s.Person.Name + " " + action + " " + form.AttrOr("aria-label", "")
			if seen[id] || slices.Contains(notFilters, action) {
				return
			}
			seen[id] = true
			tried = append(tried, action)
			if table := form.AttrOr("data-filter-table", ""); table != "" {
				none := doc.Find("[data-filter-none='" + table + "']")
				if none.Find("[data-filter-clear]").Length() != 1 || doc.Find("table#"+table).Length() != 1 {
					t.Errorf("%s, %s: no words for when nothing matches", s.Area, s.Name)
				}
			}
			for _, q := range narrowest(form) {
				wantNoMatch(t, s, action, q)
			}
		})
	}
	for _, action := range []string{"/", "/requests", "/approvals", "/audit", "/admin/people", "/admin/notifications",
		"/fleet", "/fleet/health", "/storage", "/search", "/team/vision", "/approvals/delegations", "/admin/sizes"} {
		if !slices.Contains(tried, action) {
			t.Errorf("no filter was found on %s", action)
		}
	}
}

// narrowest are choices of a form that leave nothing: a text that is nowhere; where there is no field for one, each
// option, of which some leave nothing.
func narrowest(form *goquery.Selection) []url.Values {
	rest := url.Values{}
	form.Find("input[type=hidden]").Each(func(_ int, i *goquery.Selection) {
		rest.Set(i.AttrOr("name", ""), i.AttrOr("value", ""))
	})
	with := func(name, value string) url.Values {
		q := url.Values{name: {value}}
		for n, v := range rest {
			q[n] = v
		}
		return q
	}
	if text := form.Find("input[type=search]").First(); text.Length() == 1 {
		return []url.Values{with(text.AttrOr("name", ""), "zzz-nowhere")}
	}
	var all []url.Values
	form.Find("select").Each(func(_ int, f *goquery.Selection) {
		f.Find("option").Each(func(_ int, o *goquery.Selection) {
			if v := o.AttrOr("value", ""); v != "" {
				all = append(all, with(f.AttrOr("name", ""), v))
			}
		})
	})
	return all
}

// wantNoMatch asks for the list as it is narrowed: with no row it says so beside a link that clears the filter.
func wantNoMatch(t *testing.T, s webtest.Scene, action string, q url.Values) {
	t.Helper()
	s.Path = action + "?" + q.Encode()
	answer, err := s.Render("en", "")
	if err != nil {
		t.Fatal(err)
	}
	doc := read(t, answer, http.StatusOK)
	main := doc.Find("main")
	if main.Find("form[data-filter-table], [data-test=log-why]").Length() > 0 { // the script says so; nothing to filter
		return
	}
	clear := main.Find("[data-test=clear-filter]:not([data-filter-clear])")
	said := main.Find("[data-test=none-match], [data-test=empty], [data-test=not-found], [data-test=nothing-found], " +
		"[data-test=delegation-nobody], [data-test=log-words]")
	if clear.Length() == 0 && (said.Length() > 0 || main.Find("input[type=search]").Length() > 0) {
		t.Errorf("%s, %s: %s says %q and offers no way back to all", s.Area, s.Name, s.Path, textOf(said))
	}
	clear.Each(func(_ int, c *goquery.Selection) {
		if to := c.AttrOr("href", ""); !strings.HasPrefix(to, "/") || strings.Contains(to, "nowhere") {
			t.Errorf("%s, %s: the filter is cleared by %q", s.Area, s.Name, to)
		}
	})
}
