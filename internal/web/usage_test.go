package web_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestUsageOfAMonth(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/usage"), http.StatusOK)
	// 3 h of a small slice at 0.55, 23 h 22 min of a larger one at 1.65, an hour without a GPU at 0.06
	wantText(t, doc, "usage-cost", "€40.27")
	wantText(t, doc, "usage-cost", "unknown")
	if got := textOf(part(doc, "usage-kind").First()); !strings.Contains(got, "MIG 1g.10gb") ||
		!strings.Contains(got, "3.0 h") || !strings.Contains(got, "€1.65") {
		t.Errorf("the smaller slice by itself, got %q", got)
	}
	if n := part(doc, "usage-kind").Length(); n != 2 {
		t.Errorf("two types of slice and no sum of them, got %d rows", n)
	}
	if n := part(doc, "usage-row").Length(); n != 3 {
		t.Errorf("want her three workloads, got %d", n)
	}
	first := textOf(part(doc, "usage-row").First())
	if !strings.Contains(first, "llm-chat") || !strings.Contains(first, "€38.56") || !strings.Contains(first, "96") {
		t.Errorf("the dearest comes first with its share, got %q", first)
	}
	wantText(t, doc, "usage-sum", "€40.27")
	wantAbsent(t, doc, "scope-all")
}

// TestUsageBeforeTheFirstRecordedHour: what metrics tell now stands in, with the time since when, and is not unknown.
func TestUsageBeforeTheFirstRecordedHour(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Unrecorded()
	doc := read(t, w.Get(webtest.Dora, "/usage?by=workload"), http.StatusOK)
	wantText(t, doc, "usage-mean", "58 %", "Live, since 11:11 UTC")
	wantText(t, doc, "usage-row", "58 %", "live, since 11:11 UTC")
	w = webtest.Busy(t) // a statement of everybody stands for some seconds
	w.Unrecorded()
	w.Tail[0].From = w.Tail[0].From.AddDate(0, -1, 0)
	wantText(t, read(t, w.Get(webtest.Dora, "/usage?by=workload"), http.StatusOK), "usage-cost", "unknown")
}

func TestUsageIsNarrowedByRights(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	rows := func(doc string) bool { return strings.Contains(doc, "asr-train") }
	if rows(w.Get(webtest.Anna, "/usage?scope=all").Body.String()) ||
		rows(w.Get(webtest.Anna, "/usage/export?scope=all&format=csv").Body.String()) {
		t.Error("a developer reads of another team")
	}
	doc := read(t, w.Get(webtest.Ben, "/usage?scope=team&by=person"), http.StatusOK)
	if got := textOf(part(doc, "usage")); !strings.Contains(got, "Anna Albers") || !strings.Contains(got, "Ben Brandt") ||
		strings.Contains(got, "Olaf") {
		t.Errorf("want the people of his team, got %q", got)
	}
	if !rows(w.Get(webtest.Eli, "/usage?scope=all&by=workload").Body.String()) {
		t.Error("an auditor reads everything")
	}
}

func TestUsageTellsUnknownTime(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	i := w.Metered("w-old-notes")[0]
	i.UnknownUntil = i.Until.Add(30 * time.Minute)
	w.Meter("w-old-notes", i)
	doc := read(t, w.Get(webtest.Anna, "/usage"), http.StatusOK)
	wantText(t, doc, "usage-cost", "€40.27")
	wantText(t, doc, "usage-unknown", "0.5 h")
	wantText(t, doc, "unknown", "0.5 h unknown, not charged")
}

func TestUsageMonths(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, strange := range []string{"", "?month=2031-01", "?month=x&by=y&scope=z", "?month=2026-11"} {
		doc := read(t, w.Get(webtest.Anna, "/usage"+strange), http.StatusOK)
		if got := textOf(doc.Find(`[data-test^="month-"][aria-current]`)); got != "November 2026" {
			t.Errorf("%q: want this month, got %q", strange, got)
		}
		wantAbsent(t, doc, "month-2026-12")
	}
	doc := read(t, w.Get(webtest.Anna, "/usage?month=2026-09"), http.StatusOK)
	wantText(t, doc, "empty", "No usage this month")
	wantText(t, doc, "month-2026-10", "October 2026")
	wider, _ := doc.Find("[data-test=usage-wider]").Attr("href")
	if want := "/usage?month=2026-09&scope=team"; wider != want {
		t.Errorf("want an empty statement to lead to that of the teams, %s, got %q", want, wider)
	}
	wantAbsent(t, read(t, w.Get(webtest.Anna, wider), http.StatusOK), "usage-wider")
}

func TestUsageTable(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	work := w.Work("w-old-notes")
	work.OwnerName = "=HYPERLINK(1)"
	w.PutWork(work)
	answer := w.Get(webtest.Anna, "/usage/export?format=csv")
	if got := answer.Header().Get("Content-Disposition"); !strings.Contains(got, `filename="usage-2026-11-mine.csv"`) {
		t.Errorf("a file with a name, got %q", got)
	}
	rows, err := csv.NewReader(answer.Body).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("want a head and three lines, got %d, %v", len(rows), err)
	}
	for _, row := range rows {
		if strings.HasPrefix(row[2], "=") {
			t.Errorf("a formula got through: %q", row[2])
		}
	}
}

func TestUsageInFocus(t *testing.T) {
	t.Parallel()
	answer := webtest.Busy(t).Get(webtest.Ben, "/usage/export?format=focus&scope=team")
	if got := answer.Header().Get("Content-Disposition"); !strings.Contains(got, `filename="focus-1.4-2026-11-team.csv"`) {
		t.Errorf("the file names the version, got %q", got)
	}
	rows, err := csv.NewReader(answer.Body).ReadAll()
	if err != nil || len(rows) != 5 || rows[0][0] != "BilledCost" {
		t.Fatalf("want a head and the four workloads of the team, got %v, %v", rows, err)
	}
}

func TestUsageOfStorage(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	if file := w.Get(webtest.Anna, "/usage/export?format=focus").Body.String(); strings.Contains(file, "Storage") {
		t.Errorf("want nothing of what has no price, got %s", file)
	}
	w.PutPrices(usage.Price{ID: "p-1", Kind: usage.PriceStorage, Rate: 73_000, From: webtest.Now.Add(-100 * time.Hour)})
	doc := read(t, w.Get(webtest.Anna, "/usage"), http.StatusOK)
	row := doc.Find("[data-test=usage-row]:has(a[href='/storage'])").First()
	gib := 0
	for _, v := range w.AllVolumes() {
		if v.Owner == webtest.Anna.ID {
			gib += v.GiB
		}
	}
	if got := textOf(row); !strings.Contains(got, "GiB-months") || !strings.Contains(got, "Storage") {
		t.Errorf("want her storage in its own unit, got %q", got)
	}
	// a hundred hours at ten cents a GiB
	wantText(t, doc, "usage-kinds", fmt.Sprintf("€%d.%02d", gib*10/100, gib*10%100))
	if file := w.Get(webtest.Anna, "/usage/export?format=focus").Body.String(); !strings.Contains(file,
		"Other (Storage)") {
		t.Errorf("want storage among the charges, got %s", file)
	}
}

// TestUsageTellsIdleMoney: what is known to have done nothing has its cost; what nobody measured is unknown, and never
// nothing.
func TestUsageTellsIdleMoney(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/usage"), http.StatusOK)
	wantText(t, doc, "usage-cost", "unknown")
	for _, cell := range []string{"mean", "idle"} {
		if got := textOf(part(doc, cell).First()); got != "unknown" {
			t.Errorf("want nothing made up in %s, got %q", cell, got)
		}
	}
	held := 3 * time.Hour
	w.Busied(map[workload.ID]usage.EngineUse{"w-train-resnet": {Measured: held, Busy: held / 10, Idle: 2 * time.Hour}})
	doc = read(t, w.Get(webtest.Anna, "/usage"), http.StatusOK)
	wantText(t, doc, "usage-idle", "€1.10")
	if href := part(doc, "usage-idle").Find("a").AttrOr("href", ""); href != "/usage/advice?scope=mine" {
		t.Errorf("want what would cost less in this scope, got %q", href)
	}
	wantText(t, doc, "usage-mean", "Mean utilization 10")
	row := doc.Find("[data-test=usage-row]:contains(train-resnet)")
	if got := textOf(row.Find("[data-test=idle]")); got != "€1.10" {
		t.Errorf("two hours of it at 0.55 were idle, got %q", got)
	}
	if got := textOf(row.Find("[data-test=mean]")); !strings.HasPrefix(got, "10") || strings.Contains(got, "measured") {
		t.Errorf("all of it was measured, got %q", got)
	}
	if got := textOf(doc.Find("[data-test=usage-row]:contains(llm-chat) [data-test=idle]")); got != "unknown" {
		t.Errorf("of the other one nobody knows, got %q", got)
	}
	file := w.Get(webtest.Anna, "/usage/export?format=csv").Body.String()
	if !strings.Contains(file, ",3.000000,10.00,2.000000,1.10") {
		t.Errorf("want it in the table, got %s", file)
	}
}

// TestUsageOfSeats: a license seat that has a price is a charge of its own, beside the GPU that it went with.
func TestUsageOfSeats(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	before := w.Get(webtest.Ben, "/usage?by=workload").Body.String()
	if strings.Contains(before, "seat hours") {
		t.Error("what has no price is no line")
	}
	w.PutPrices(usage.Price{ID: "p-1", Kind: usage.PriceSeat, Subject: "nvidia-vws", Rate: 730 * 200_000,
		From: webtest.Now.Add(-100 * time.Hour)})
	doc := read(t, w.Get(webtest.Ben, "/usage?by=workload"), http.StatusOK)
	kind := doc.Find("[data-test=usage-kind]:contains('NVIDIA vWS')")
	if got := textOf(kind); !strings.Contains(got, "0.5 seat hours") || !strings.Contains(got, "€1.00") {
		t.Errorf("half an hour of one seat at two euros, got %q", got)
	}
	row := textOf(doc.Find("[data-test=usage-row]:contains(render-farm)"))
	if !strings.Contains(row, "0.5 seat hours") || !strings.Contains(row, "vGPU") {
		t.Errorf("want the workload by its name, its GPU and its seat, got %q", row)
	}
	if got := textOf(read(t, w.Get(webtest.Ben, "/usage?by=size"),
		http.StatusOK).Find("[data-test=usage-row]:contains('License seats NVIDIA vWS')")); !strings.Contains(got, "€1.00") {
		t.Errorf("want the seats by themselves, got %q", got)
	}
	if file := w.Get(webtest.Ben, "/usage/export?format=focus").Body.String(); !strings.Contains(file, "License seats") {
		t.Errorf("want the seats among the charges, got %s", file)
	}
}

// TestPriceBeforeStart: the total names the GPU, the storage and the seat.
func TestPriceBeforeStart(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.PutPrices(usage.Price{ID: "p-1", Kind: usage.PriceSeat, Subject: "nvidia-vws", Rate: 730 * 200_000,
		From: webtest.Now.Add(-100 * time.Hour)},
		usage.Price{ID: "p-2", Kind: usage.PriceStorage, Rate: 73_000, From: webtest.Now.Add(-100 * time.Hour)})
	got := textOf(part(read(t, w.Get(webtest.Ben, "/start?size=vgpu-12q&lease=2h&storage=50"), http.StatusOK),
		"cost-note"))
	for _, want := range []string{"License seats: €4.00", "Storage: €0.10", "GPU and machine: €"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in the price before the start, got %q", want, got)
		}
	}
}

// TestCostPerDay: the days of the chart add up to the statement, by each grouping, and the days to come are empty.
func TestCostPerDay(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, by := range []string{"workload", "person", "team", "size"} {
		doc := read(t, w.Get(webtest.Anna, "/usage?by="+by), http.StatusOK)
		chart := part(doc, "daily-EUR")
		var held []string
		days := chart.Find("[data-column]")
		for _, c := range days.EachIter() {
			if words := c.AttrOr("data-column", ""); !strings.Contains(words, "€0.00") &&
				!strings.Contains(words, "upcoming") {
				held = append(held, words)
			}
		}
		if days.Length() != 30 || len(held) != 2 || !strings.HasPrefix(held[0], "20 Nov · €18.7") {
			t.Errorf("by %s: want 30 days, two of them with cost, got %d: %q", by, days.Length(), held)
		}
		if rows := chart.Find("table tbody tr").Length(); rows != 21 {
			t.Errorf("by %s: want the 21 days so far in the table, got %d", by, rows)
		}
		wantText(t, doc, "usage-expected", "€91.")
		wantAbsent(t, read(t, w.Get(webtest.Anna, "/usage?month=2026-10&by="+by), http.StatusOK), "usage-expected")
	}
}

// TestTopSpendersAndUseByTheHour: who reads the costs of others is told who costs the most; the use of the fleet is for
// those who answer for it, beside the month that is running.
func TestTopSpendersAndUseByTheHour(t *testing.T) {
	t.Parallel()
	w := webtest.Mixed(t)
	all := read(t, w.Get(webtest.Dora, "/usage"), http.StatusOK)
	if first := textOf(part(all, "spender-person").First()); !strings.Contains(first, "Anna Albers") ||
		!strings.Contains(first, "€40.27") || !strings.Contains(first, "91 %") {
		t.Errorf("want the dearest person first with cost and share, got %q", first)
	}
	if first := textOf(part(all, "spender-workload").First()); !strings.Contains(first, "llm-chat") ||
		!strings.Contains(first, "€38.56") {
		t.Errorf("want the dearest workload first, got %q", first)
	}
	if n := part(all, "heat-row").Length(); n != 6 {
		t.Errorf("want a row for each type of GPU, got %d", n)
	}
	wantText(t, all, "heat-mean", "50 %")
	wantText(t, all, "heat-numbers", "–")
	wantAbsent(t, all, "heat-waiting")

	team := read(t, w.Get(webtest.Ben, "/usage?scope=team"), http.StatusOK)
	wantText(t, team, "spender-person", "Anna Albers")
	wantAbsent(t, team, "usage-heat")
	mine := read(t, w.Get(webtest.Anna, "/usage"), http.StatusOK)
	wantAbsent(t, mine, "usage-spenders")
	wantAbsent(t, mine, "usage-heat")
	wantAbsent(t, read(t, w.Get(webtest.Dora, "/usage?month=2026-10"), http.StatusOK), "usage-heat")

	w.RangesErr = fmt.Errorf("no answer")
	wantText(t, read(t, w.Get(webtest.Dora, "/usage"), http.StatusOK), "heat-away", "could not be read")
}

// TestACostStandsBesideTheBudget of the reader's team while the month lasts: their own as a part of it.
func TestACostStandsBesideTheBudget(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Busied(map[workload.ID]usage.EngineUse{"w-train-resnet": {Measured: 3 * time.Hour, Busy: time.Hour}})
	draft := budget.Draft{Unit: "EUR", Amount: 100_000, AtLimit: budget.Approval}
	if _, err := w.BudgetService.Set(t.Context(), w.Actor(webtest.Dora), "vision", draft); err != nil {
		t.Fatal(err)
	}
	mine := read(t, w.Get(webtest.Anna, "/usage"), http.StatusOK)
	wantText(t, mine, "usage-cost", "of your team's €1,000.00 budget")
	if to := part(mine, "usage-cost").Find("a").AttrOr("href", ""); to != "/admin/budgets/vision" {
		t.Errorf("want the way to the budget, got %q", to)
	}
	wantText(t, read(t, w.Get(webtest.Ben, "/usage?scope=team"), http.StatusOK), "usage-cost", "of the €1,000.00 budget")
	if got := textOf(part(read(t, w.Get(webtest.Dora, "/usage?scope=all"), http.StatusOK), "usage-cost")); strings.
		Contains(got, "budget") {
		t.Errorf("everybody's cost is of no one budget, got %q", got)
	}
}
