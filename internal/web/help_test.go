package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// The help menu leads to the documents, to what the site has set, and names the version.
func TestTheHelpMenu(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
	wantAbsent(t, doc, "help-admins")
	for test, href := range map[string]string{"help-users": "/help/users", "help-all": "/help", "nav-api": "/api/docs",
		"help-status": "https://status.example.org", "help-contact": "mailto:gpu-help@example.org"} {
		if got := doc.Find("[data-test=help] [data-test="+test+"]").AttrOr("href", ""); got != href {
			t.Errorf("%s: want %s, got %q", test, href, got)
		}
	}
	if said := doc.Find("[data-test=help]").Text(); !strings.Contains(said, "Version test") {
		t.Errorf("want the version, got %q", said)
	}
	dora := read(t, w.Get(webtest.Dora, "/"), http.StatusOK)
	if dora.Find("[data-test=help] [data-test=help-admins]").Length() != 1 {
		t.Error("want an administrator's guide for those who see the platform")
	}
}

// A document is a page of the portal with a table of contents; one that is not there is no page.
func TestTheUserGuide(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/help/users"), http.StatusOK)
	if doc.Find("h1").Length() != 1 || doc.Find("[data-test=manual] h2").Length() < 3 {
		t.Error("want one title and sections")
	}
	doc.Find(".gp-manual__contents a").Each(func(_ int, a *goquery.Selection) {
		if href := a.AttrOr("href", ""); doc.Find("[data-test=manual] "+href).Length() != 1 {
			t.Errorf("%s leads nowhere", href)
		}
	})
	read(t, w.Get(webtest.Anna, "/help/none"), http.StatusNotFound)
	wantText(t, read(t, w.Get(webtest.Anna, "/help"), http.StatusOK), "version", "test")
}

// Sections of documents are found, those for administrators by them alone.
func TestThePaletteFindsDocuments(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, href := range found(t, w, webtest.Anna, "configuration") {
		if strings.HasPrefix(href, "/help/configuration") {
			t.Errorf("a developer finds %s", href)
		}
	}
	for text, want := range map[string]string{"glossary": "/help/glossary", "configuration": "/help/configuration"} {
		if hits := strings.Join(found(t, w, webtest.Dora, text), " "); !strings.Contains(hits, want) {
			t.Errorf("want %s, got %s", want, hits)
		}
	}
}
