package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/news"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestTheTourIsOfferedUntilItEnds: only the empty home offers it, until somebody has taken or left it; the help menu
// keeps it. Every stop of home and of the start is on the page.
func TestTheTourIsOfferedUntilItEnds(t *testing.T) {
	t.Parallel()
	w := webtest.Empty(t)
	doc := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
	if got := part(doc, "tour-offer").AttrOr("href", ""); got != "/?tour=1" {
		t.Errorf("the offer leads to %q", got)
	}
	for _, path := range []string{"/", "/start"} {
		page := read(t, w.Get(webtest.Anna, path), http.StatusOK)
		stops := page.Find("#gp-tour [data-tour-step]")
		if stops.Length() < 3 {
			t.Errorf("%s: want stops, got %d", path, stops.Length())
		}
		stops.Each(func(_ int, stop *goquery.Selection) {
			if target := stop.AttrOr("data-tour-step", ""); page.Find(target).Length() == 0 {
				t.Errorf("%s has no %s", path, target)
			}
		})
	}
	to := doc.Find("#gp-tour").AttrOr("data-tour-to", "")
	if answer := w.Post(webtest.Anna, to, url.Values{"mark": {"tour"}}); answer.Code != http.StatusSeeOther {
		t.Fatalf("want it kept, got %d", answer.Code)
	}
	after := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
	wantAbsent(t, after, "tour-offer")
	if In(part(after, "help"), "help-tour").Length() != 1 {
		t.Error("want it in the help menu")
	}
	if In(read(t, w.Get(webtest.Ben, "/"), http.StatusOK).Selection, "tour-offer").Length() != 1 {
		t.Error("it is somebody else who has not taken it")
	}
}

// TestWhatIsNewIsMarkedUntilItIsRead: by the page itself or by the menu's entry, for this person alone.
func TestWhatIsNewIsMarkedUntilItIsRead(t *testing.T) {
	t.Parallel()
	for name, reads := range map[string]func(*webtest.World){
		"the page": func(w *webtest.World) { read(t, w.Get(webtest.Anna, "/help/new"), http.StatusOK) },
		"dismissed": func(w *webtest.World) {
			w.Post(webtest.Anna, "/settings/acknowledged", url.Values{"mark": {news.Mark()}})
		},
	} {
		w := webtest.Empty(t)
		doc := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
		wantText(t, doc, "help-new", "What's new", "New")
		wantText(t, doc, "help-new-read", "as read")
		if In(doc.Selection, "menu-mark").Length() != 1 {
			t.Errorf("%s: want a mark on the menu", name)
		}
		reads(w)
		after := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
		wantAbsent(t, after, "menu-mark", "help-new-read")
		wantText(t, after, "help-new", "What's new")
		if In(read(t, w.Get(webtest.Ben, "/"), http.StatusOK).Selection, "menu-mark").Length() != 1 {
			t.Errorf("%s: somebody else has not read it", name)
		}
	}
}

// TestWhatIsNewLeadsToItsPages: each entry that a reader sees names a page that they may open.
func TestWhatIsNewLeadsToItsPages(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	count := map[string]int{}
	for _, who := range []struct {
		person string
		get    func(string) *goquery.Document
	}{
		{"Anna", func(path string) *goquery.Document { return read(t, w.Get(webtest.Anna, path), http.StatusOK) }},
		{"Dora", func(path string) *goquery.Document { return read(t, w.Get(webtest.Dora, path), http.StatusOK) }},
	} {
		who.get("/help/new").Find("[data-test=release] h3 a").Each(func(_ int, a *goquery.Selection) {
			count[who.person]++
			who.get(a.AttrOr("href", ""))
		})
	}
	if count["Anna"] == 0 || count["Dora"] <= count["Anna"] {
		t.Errorf("want the platform's entries for an administrator alone, got %v", count)
	}
}
