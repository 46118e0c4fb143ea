package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestTrafficInFiguresChartsAndWords(t *testing.T) {
	t.Parallel()
	w := webtest.Called(t)
	doc := read(t, w.Get(webtest.Anna, endpointPage+"/traffic"), http.StatusOK)
	wantText(t, doc, "traffic-requests", "Requests", "per second")
	wantText(t, doc, "traffic-errors", "%", "server errors", "others")
	if text := textOf(part(doc, "traffic-errors")); strings.Contains(text, "client errors") {
		t.Errorf("want the server's errors alone, got %q", text)
	}
	wantText(t, doc, "chart-errors", "server errors", "client errors", "over a limit")
	wantText(t, doc, "traffic-first", "Time to first token", "ms", "95 % within")
	wantText(t, doc, "traffic-tokens", "prompt", "completion")
	wantText(t, doc, "traffic-cost", "€", "in this time")
	wantText(t, doc, "chart-ready", "last 1 of 1")
	wantText(t, doc, "chart-requests", "/s")
	wantText(t, doc, "chart-tokens", "/s")
	for _, chart := range []string{"requests", "errors", "p50", "p95", "tokens", "queue", "ready"} {
		if line, _ := part(doc, "chart-"+chart).Find(".gp-spark__line").Attr("d"); !strings.HasPrefix(line, "M") {
			t.Errorf("want a line for %s, got %q", chart, line)
		}
	}
	if rows := part(doc, "metrics-row"); rows.Length() != 59 || rows.First().Find("td").Length() != 7 {
		t.Errorf("want the seven charts as a table with a row for each minute, got %d rows of %d", rows.Length(),
			rows.First().Find("td").Length())
	}
	var rows []string
	part(doc, "consumer").Each(func(_ int, s *goquery.Selection) { rows = append(rows, textOf(s)) })
	for i, want := range [][]string{{"nightly summaries", "gpk_eeeeeeee", "over a limit"},
		{"search index", "gpk_cccccccc"}, {"laptop that was lost", "gpk_dddddddd, revoked"},
		{webtest.Ben.Name, "in the browser"}} {
		if i >= len(rows) {
			t.Fatalf("want four consumers, got %q", rows)
		}
		for _, words := range want {
			if !strings.Contains(rows[i], words) {
				t.Errorf("consumer %d: want %q, got %q", i, words, rows[i])
			}
		}
	}
	wantText(t, doc, "traffic-consumers", "responses reported no tokens")
	wantText(t, doc, "traffic-revisions", "Version 1", "Version 2")
	if current := doc.Find("[data-test=range-1h]").AttrOr("aria-current", ""); current != "true" ||
		doc.Find("[data-test^=range-]").Length() != 4 {
		t.Error("want four ranges, the first of them marked")
	}
	day := read(t, w.Get(webtest.Anna, endpointPage+"/traffic?range=24h"), http.StatusOK)
	wantText(t, day, "traffic-requests", "per second") // the unit of the chart, however few they are on average
	if n := part(day, "metrics-row").Length(); n != 95 && n != 96 {
		t.Errorf("want a row for each quarter of an hour, got %d", n)
	}
}

func TestAnEndpointThatNobodyCalls(t *testing.T) {
	t.Parallel()
	w := webtest.Keyed(t)
	doc := read(t, w.Get(webtest.Anna, endpointPage+"/traffic"), http.StatusOK)
	wantText(t, doc, "traffic-none", "No calls in this time", "Try it")
	wantAbsent(t, doc, "traffic-requests", "chart-requests", "traffic-consumers", "metrics-table")
	if got := w.Get(webtest.Olaf, endpointPage+"/traffic").Code; got != http.StatusNotFound {
		t.Errorf("want nothing for who may not see it, got %d", got)
	}
	if got := w.Get(webtest.Anna, "/workloads/w-train-resnet/traffic").Code; got != http.StatusConflict {
		t.Errorf("want a notebook to have none, got %d", got)
	}
}
