package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestExtensionsByOneClick: each button says what it adds and costs, and adds just that; one that has to be approved
// leads to the form with its length filled in. Who may not change the workload sees none.
func TestExtensionsByOneClick(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const path = "/workloads/w-train-resnet"
	doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
	var adds, costs []string
	part(doc, "extensions").Find("button, a").Each(func(_ int, s *goquery.Selection) {
		add, cost, _ := strings.Cut(textOf(s), " · ")
		adds, costs = append(adds, add), append(costs, cost)
	})
	if got := strings.Join(adds, ", "); got != "+1 h, +4 h, +1 d" {
		t.Fatalf("want three lengths, got %q", got)
	}
	for i, long := range []time.Duration{time.Hour, 4 * time.Hour, 24 * time.Hour} {
		want := fmt.Sprintf("€%.2f", w.Work("w-train-resnet").Size.PricePerHour.For(long).Float())
		if !strings.HasPrefix(costs[i], want) {
			t.Errorf("%s: want %s, got %q", adds[i], want, costs[i])
		}
	}
	form := part(doc, "extend-4h").Closest("form")
	sent := url.Values{}
	form.Find("input[type=hidden]").Each(func(_ int, s *goquery.Selection) {
		sent.Set(s.AttrOr("name", ""), s.AttrOr("value", ""))
	})
	before := w.Work("w-train-resnet").Lease.Until
	for range 2 {
		wantRedirect(t, w.Post(webtest.Anna, form.AttrOr("action", ""), sent))
	}
	if got := w.Work("w-train-resnet").Lease.Until.Sub(before); got != 4*time.Hour {
		t.Errorf("want a double click to add four hours once, got %s", got)
	}
	if got := part(read(t, w.Get(webtest.Eli, path), http.StatusOK), "extensions").Length(); got != 0 {
		t.Error("want no buttons for somebody who may only look")
	}

	w = webtest.Busy(t)
	wantRedirect(t, w.Post(webtest.Dora, "/admin/rules", url.Values{"base": {"0"}, "text": {
		"- {name: a-day, when: 'request.hours >= 24.0', outcome: approve}\n- {name: rest, when: 'true', outcome: allow}\n"}}))
	doc = read(t, w.Get(webtest.Anna, path), http.StatusOK)
	asks := part(doc, "extend-1d")
	if !asks.Is("a") || !part(doc, "extend-1h").Is("button") {
		t.Fatalf("want the long one to ask first: %s", textOf(part(doc, "extensions")))
	}
	ask := read(t, w.Get(webtest.Anna, asks.AttrOr("href", "")), http.StatusOK)
	if got := ask.Find("[data-test=extend-lease]").AttrOr("value", ""); got != "1d" {
		t.Errorf("want its length filled in, got %q", got)
	}
}
