package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// The reference lists every operation once, each with a page of its own.
func TestTheReferenceOfTheAPI(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/api/docs?q=quota"), http.StatusOK)
	links := part(doc, "operation").Find("a")
	if links.Length() < 100 {
		t.Fatalf("want every operation, got %d", links.Length())
	}
	if got := doc.Find("#operation-search").AttrOr("value", ""); got != "quota" {
		t.Errorf("an address holds what is searched for, got %q", got)
	}
	links.Each(func(_ int, a *goquery.Selection) {
		read(t, w.Get(webtest.Anna, a.AttrOr("href", "")), http.StatusOK)
	})
	doc.Find(".gp-reference__groups a").Each(func(_ int, a *goquery.Selection) {
		if href := a.AttrOr("href", ""); doc.Find("#operations "+href).Length() != 1 {
			t.Errorf("%s leads nowhere", href)
		}
	})
	read(t, w.Get(webtest.Anna, "/api/docs/none"), http.StatusNotFound)
}

func TestAnOperationOfTheReference(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/api/docs/submit-request"), http.StatusOK)
	wantText(t, doc, "call", "POST", "/api/v1/requests")
	wantText(t, doc, "doc-kind", "required", "notebook, endpoint, job")
	wantText(t, doc, "doc-lease", "Maximum length: 32", "Example: 8h")
	wantText(t, doc, "doc-model", "fields of model", "contextLength")
	for id, want := range map[string]string{"#snippet-0": "curl -sS -X POST", "#snippet-1": "package main",
		"#snippet-2": "requests.post", "#answer-example": `"id"`} {
		if got := doc.Find(id).Text(); !strings.Contains(got, want) {
			t.Errorf("%s: want %s, got %.80s", id, want, got)
		}
	}
	for _, status := range []string{"401", "404", "409", "422", "429", "503"} {
		if !strings.Contains(doc.Find("#problems").Text(), status) {
			t.Errorf("%s is not explained", status)
		}
	}
	if text := doc.Find("#answer").Text(); strings.Contains(text, "required") {
		t.Error("what is answered needs nothing of the reader")
	}
}

// A visitor reads it too, and is told nothing of the site: no team, no outage, no navigation.
func TestAVisitorReadsTheReference(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, path := range []string{"/api/docs", "/api/docs/submit-request"} {
		doc := read(t, w.Get(webtest.Visitor, path), http.StatusOK)
		if href := part(doc, "sign-in").AttrOr("href", ""); !strings.HasPrefix(href, "/signin?return=%2Fapi%2Fdocs") {
			t.Errorf("%s: want a way in that comes back, got %q", path, href)
		}
		if doc.Find(".gp-nav, .gp-team, .gp-strip, [data-test=user-menu], [data-test=start]").Length() > 0 {
			t.Errorf("%s shows a visitor the site", path)
		}
		doc.Find("main a[href]").Each(func(_ int, a *goquery.Selection) {
			if href := a.AttrOr("href", ""); !strings.HasPrefix(href, "/api/") && !strings.HasPrefix(href, "#") {
				t.Errorf("%s leads a visitor to %s, which asks to sign in", path, href)
			}
		})
	}
}
