package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// TestStories renders every story in each language and theme and asks what the page's policy and a screen reader need.
func TestStories(t *testing.T) {
	slugs := map[string]bool{}
	for _, st := range story.All() {
		if slugs[st.Slug()] {
			t.Errorf("two stories are called %s", st.Slug())
		}
		slugs[st.Slug()] = true
		if st.Page && testing.Short() { // hundreds of whole pages: make test reads them
			continue
		}
		for _, lang := range []string{"en", "de"} {
			t.Run(st.Slug()+"/"+lang, func(t *testing.T) {
				s := story.Setting{Localizer: bundle.For(lang), Theme: "dark"}
				var page bytes.Buffer
				if err := st.Render(s).Render(ui.WithLocalizer(context.Background(), s.Localizer), &page); err != nil {
					t.Fatal(err)
				}
				doc, err := goquery.NewDocumentFromReader(&page)
				if err != nil {
					t.Fatal(err)
				}
				checkPolicy(t, doc)
				checkIDs(t, doc, st.Page)
				checkNames(t, doc)
			})
		}
	}
}

func checkPolicy(t *testing.T, doc *goquery.Document) {
	t.Helper()
	doc.Find("[style], style").Each(func(_ int, e *goquery.Selection) {
		t.Errorf("%s carries style", goquery.NodeName(e))
	})
	doc.Find("script:not([src])").Each(func(_ int, e *goquery.Selection) { t.Error("an inline script") })
	doc.Find("*").Each(func(_ int, e *goquery.Selection) {
		for _, a := range e.Nodes[0].Attr {
			if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Key, "hx-on") || strings.HasPrefix(a.Val, "javascript:") ||
				strings.HasPrefix(a.Val, "js:") {
				t.Errorf("%s has %s=%q", goquery.NodeName(e), a.Key, a.Val)
			}
		}
	})
}

// checkIDs asks that ids are unique and, on a whole page, that every reference finds one.
func checkIDs(t *testing.T, doc *goquery.Document, page bool) {
	t.Helper()
	ids := map[string]bool{}
	doc.Find("[id]").Each(func(_ int, e *goquery.Selection) {
		id, _ := e.Attr("id")
		if id == "" || ids[id] {
			t.Errorf("id %q is empty or there twice", id)
		}
		ids[id] = true
	})
	for _, attr := range []string{"for", "aria-describedby", "aria-labelledby", "aria-controls", "list", "data-copy-from",
		"commandfor", "popovertarget"} {
		doc.Find("[" + attr + "]").Each(func(_ int, e *goquery.Selection) {
			value, _ := e.Attr(attr)
			for _, id := range strings.Fields(value) {
				if !ids[id] && (page || attr != "commandfor") {
					t.Errorf("%s=%q points nowhere", attr, id)
				}
			}
		})
	}
}

// checkNames asks that controls and pictures say what they are.
func checkNames(t *testing.T, doc *goquery.Document) {
	t.Helper()
	doc.Find("button, a[href], summary").Each(func(_ int, e *goquery.Selection) {
		if e.AttrOr("aria-label", "") == "" && strings.TrimSpace(e.Text()) == "" {
			html, _ := goquery.OuterHtml(e)
			t.Errorf("no name: %s", html)
		}
	})
	doc.Find("svg").Each(func(_ int, e *goquery.Selection) {
		if e.AttrOr("aria-hidden", "") != "true" && e.AttrOr("aria-label", "") == "" &&
			e.Closest("[aria-hidden=true], [role=img]").Length() == 0 {
			html, _ := goquery.OuterHtml(e)
			t.Errorf("a picture without words: %s", html)
		}
	})
	doc.Find("input:not([type=hidden]), select, textarea").Each(func(_ int, e *goquery.Selection) {
		if doc.Find("label[for='"+e.AttrOr("id", "-")+"']").Length() == 0 {
			t.Errorf("field %s has no label", e.AttrOr("name", "?"))
		}
	})
	doc.Find("table").Each(func(_ int, e *goquery.Selection) {
		if strings.TrimSpace(e.Find("caption").Text()) == "" || e.Find("th:not([scope])").Length() > 0 {
			t.Error("a table without caption or scope")
		}
	})
}

func TestHandler(t *testing.T) {
	cases := map[string]struct {
		url    string
		status int
	}{
		"an area":               {"/area/ui", 200},
		"a story":               {"/story/ui/buttons?lang=de&theme=dark", 200},
		"a whole page":          {"/story/layout/page", 200},
		"no such area":          {"/area/none", 404},
		"no such story":         {"/story/ui/none", 404},
		"the favicon":           {"/favicon.ico", 200},
		"the start leads to ui": {"/", 303},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.url, nil))
			if c.status != w.Code {
				t.Errorf("want %d, got %d", c.status, w.Code)
			}
		})
	}
}
