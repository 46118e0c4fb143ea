package web_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// ofServe are the patterns of routes that internal/serve handles, as they are part of signing in.
var ofServe = []*regexp.Regexp{regexp.MustCompile("^/signout$"), regexp.MustCompile("^/admin/people/[^/]+/see$")}

// TestEveryFormHasARoute: where a form or one of its buttons is sent to is a route with that method.
func TestEveryFormHasARoute(t *testing.T) {
	leftToMakeTest(t)
	t.Parallel()
	routes := map[string][]*regexp.Regexp{http.MethodPost: slices.Clone(ofServe)}
	for _, r := range webtest.Empty(t).Web.Routes() {
		pattern := "^" + regexp.MustCompile(`:[a-z]+`).ReplaceAllString(r.Path, `[^/]+`) + "$"
		routes[r.Method] = append(routes[r.Method], regexp.MustCompile(pattern))
	}
	forms := 0
	for _, s := range webtest.Scenes() {
		doc, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		doc.Find("form[action], [formaction]").Each(func(_ int, e *goquery.Selection) {
			forms++
			method := strings.ToUpper(e.AttrOr("formmethod", e.AttrOr("method", e.Closest("form").AttrOr("method", "get"))))
			path, _, _ := strings.Cut(e.AttrOr("formaction", e.AttrOr("action", "")), "?")
			if path != "" && !slices.ContainsFunc(routes[method], func(p *regexp.Regexp) bool { return p.MatchString(path) }) {
				t.Errorf("%s/%s: no route for %s %s", s.Area, s.Name, method, path)
			}
		})
	}
	if forms < 500 {
		t.Errorf("want hundreds of forms looked at, got %d", forms)
	}
}
