package web_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// The overview says what the pages say that it leads to, and each number leads to a page that is there.
func TestPlatformOverview(t *testing.T) {
	t.Parallel()
	w := webtest.Ill(t)
	doc := read(t, w.Get(webtest.Dora, "/platform"), http.StatusOK)
	wantText(t, doc, "allocated", "17 %")
	wantText(t, doc, "platform-fleet", "1.7 of 10 GPUs", "allocated but idle", "1 node cordoned")
	wantText(t, doc, "queue-count", "1")
	wantText(t, doc, "platform-queue", "sweep-lr", "Anna Albers", "12 min")
	wantText(t, doc, "item-nodes", "1", "node, 4 GPUs unavailable", "See nodes")
	if href := part(doc, "item-nodes").AttrOr("href", ""); href != "/fleet?state=trouble" {
		t.Errorf("want the way to the nodes, got %q", href)
	}
	wantText(t, doc, "item-approvals", "2", "requests, oldest 50 min")
	wantText(t, doc, "item-budgets", "No team has a budget")
	one := webtest.Busy(t)
	if _, err := one.BudgetService.Set(t.Context(), one.Actor(webtest.Dora), "vision",
		budget.Draft{Unit: "EUR", Amount: 1000_00, AtLimit: budget.Approval}); err != nil {
		t.Fatal(err)
	}
	wantText(t, read(t, one.Get(webtest.Dora, "/platform"), http.StatusOK), "item-budgets", "0", "Vision ", "%")
	wantText(t, doc, "item-licenses", "3", "of 4 seats")
	wantText(t, doc, "platform-changes", "Dora Dahl quarantined hardware")
	bad := 0
	health := read(t, w.Get(webtest.Dora, "/fleet/health"), http.StatusOK)
	for _, tile := range []string{"tile-danger", "tile-warning", "tile-quarantined"} {
		n, err := strconv.Atoi(strings.TrimSpace(part(health, tile).Find(".gp-tile__value").Text()))
		if err != nil {
			t.Fatalf("%s: %v", tile, err)
		}
		bad += n
	}
	wantText(t, doc, "item-health", strconv.Itoa(bad))
	first := doc.Find(".gp-overview__item").First()
	if first.AttrOr("data-test", "") != "item-health" || !first.HasClass("gp-overview__item--danger") {
		t.Error("what is worst comes first")
	}
	if got := part(doc, "platform-attention").NextAllFiltered("[data-test=platform-fleet]").Length(); got != 1 {
		t.Error("what is broken comes before how much is in use")
	}
	calm := read(t, webtest.Empty(t).Get(webtest.Dora, "/platform"), http.StatusOK)
	if got := part(calm, "platform-fleet").NextAllFiltered("[data-test=platform-attention]").Length(); got != 1 {
		t.Error("how much is in use comes first where nothing is broken")
	}
	doc.Find(".gp-overview a[href]").Each(func(_ int, s *goquery.Selection) {
		if code := w.Get(webtest.Dora, s.AttrOr("href", "")).Code; code != http.StatusOK {
			t.Errorf("%s: want a page, got %d", s.AttrOr("href", ""), code)
		}
	})
}

// TestPlatformOverviewDrawsTheMonth: a column for each day of the month, and those so far come to the month's cost.
func TestPlatformOverviewDrawsTheMonth(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Ill(t).Get(webtest.Dora, "/platform"), http.StatusOK)
	rows := part(doc, "platform-days").Find("tbody tr")
	days := part(doc, "platform-days").Find(".gp-chart__times--columns > span").Length()
	if rows.Length() != 21 || days != 30 {
		t.Fatalf("want the 21 days up to now and room for the 30 of November, got %d and %d", rows.Length(), days)
	}
	var sum float64
	rows.Each(func(_ int, s *goquery.Selection) {
		if n, err := strconv.ParseFloat(strings.TrimPrefix(textOf(s.Find("td").Last()), "€"), 64); err == nil {
			sum += n
		}
	})
	if got := textOf(part(doc, "month-cost")); got != fmt.Sprintf("€%.2f", sum) || sum == 0 {
		t.Errorf("want the days to come to the month's %s, got %.2f", got, sum)
	}
	wantAbsent(t, read(t, webtest.Empty(t).Get(webtest.Dora, "/platform"), http.StatusOK), "platform-days")
}

func TestPlatformOverviewIsForThoseWhoSeeAll(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, p := range []identity.Person{webtest.Anna, webtest.Ben, webtest.Carla, webtest.Nemo} {
		if code := w.Get(p, "/platform").Code; code != http.StatusNotFound {
			t.Errorf("%s: want 404, got %d", p.Name, code)
		}
	}
	read(t, w.Get(webtest.Eli, "/platform"), http.StatusOK)
	wantText(t, read(t, w.Get(webtest.Dora, "/"), http.StatusOK), "empty", "Platform overview")
}

// What is not known is called unknown, and never nought.
func TestPlatformOverviewSaysWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Fleets, w.Used, w.Readings = nil, nil, webtest.Readings{}
	doc := read(t, w.Get(webtest.Dora, "/platform"), http.StatusOK)
	wantText(t, doc, "no-metrics", "No GPU metrics yet")
	wantText(t, doc, "check-metrics", "Check GPU metrics")
	if got := textOf(part(doc, "item-health")); !strings.Contains(got, "1 broken") || strings.Contains(got, "1 1") {
		t.Errorf("want the figure once, got %q", got)
	}
	wantText(t, doc, "idle-day", "unknown")
	wantText(t, doc, "month-idle", "unknown")
	if href, _ := part(doc, "month-note").Find("a").Attr("href"); href != "/admin/metrics" {
		t.Errorf("want the way to where that is mended, got %q", href)
	}
	wantText(t, doc, "part-unknown", "1.7")
	w = webtest.Empty(t)
	doc = read(t, w.Get(webtest.Dora, "/platform"), http.StatusOK)
	wantText(t, doc, "platform-fleet", "No cluster data yet")
	wantText(t, doc, "platform-queue", "No workload is waiting for a GPU")
	wantText(t, doc, "platform-attention", "Nothing needs attention")
	if _, hidden := part(doc, "platform-changes").Attr("hidden"); !hidden {
		t.Error("want no card without a change")
	}
}

// TestPlatformOverviewCountsIdleMoneyAsTheUsagePage: the month's figures once were unknown here and known there.
func TestPlatformOverviewCountsIdleMoneyAsTheUsagePage(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Busied(map[workload.ID]usage.EngineUse{"w-train-resnet": {Measured: 3 * time.Hour, Busy: time.Hour,
		Idle: 90 * time.Minute}, "w-llm-chat": {Measured: 20 * time.Hour, Busy: 14 * time.Hour, Idle: 2 * time.Hour}})
	month := read(t, w.Get(webtest.Dora, "/usage?scope=all"), http.StatusOK)
	doc := read(t, w.Get(webtest.Dora, "/platform"), http.StatusOK)
	idle := textOf(part(doc, "month-idle"))
	if !strings.HasPrefix(idle, "€") {
		t.Errorf("want an amount, got %q", idle)
	}
	wantText(t, month, "usage-idle", idle)
	wantText(t, month, "usage-mean", textOf(part(doc, "month-mean")))
	if part(doc, "month-note").Find("a").Length() != 0 {
		t.Error("want no way to mend what is not broken")
	}
}
