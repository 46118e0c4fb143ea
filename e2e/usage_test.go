package e2e

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/app/example"
	"github.com/gpu-portal/gpu-portal/internal/config"
)

// TestUsageOfWhatOneHolds: somebody holds a slice, and reads on a page what it costs; a colleague of another team does
// not.
func TestUsageOfWhatOneHolds(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", map[string]any{"name": "costs-something"})
	id := str(w["id"])
	t.Cleanup(func() { dana.remove(id) })
	statement := dana.until("/usage", "metered", 3*time.Minute, func(b map[string]any) bool {
		lines, _ := b["lines"].([]any)
		for _, l := range lines {
			if line := l.(map[string]any); line["workload"] == id && line["heldSeconds"].(float64) > 0 {
				return true
			}
		}
		return false
	})
	if statement["final"] != false {
		t.Errorf("this month is not over, got %v", statement["final"])
	}

	p := signIn(t, "dana", look{})
	p.open("/")
	p.click("[data-test=nav-usage]")
	p.open("/usage?usage-sort=name") // by cost what other stories held may fill the first page
	p.reads("[data-test=usage]", "costs-something")
	p.reads("[data-test=usage-kinds]", "MIG 1g.10gb")
	p.reads("[data-test=usage-cost]", "€")
	p.accessible()
	p.shot("usage")
	p.click("[data-test=by-size]")
	p.reads("[data-test=usage]", "MIG slice 10 GB")
	for test, want := range map[string]string{"export-csv": "usage-", "export-focus": "focus-1.4-"} {
		p.click("[data-test=export] summary")
		file, err := p.page.ExpectDownload(func() error { return p.at("[data-test=" + test + "]").Click() },
			playwright.PageExpectDownloadOptions{})
		p.do(err)
		if !strings.HasPrefix(file.SuggestedFilename(), want) {
			t.Errorf("want a file that begins with %s, got %s", want, file.SuggestedFilename())
		}
	}
	p.noFaults()

	if answer := as(t, "dana").call(http.MethodGet, "/usage?scope=all", nil); answer.Status != http.StatusNotFound {
		t.Errorf("everybody's statement is not hers, got %d", answer.Status)
	}
}

// TestPricesAndWhatRuns: an administrator puts a price of a later day on the list, reads what runs will cost from then
// on, and takes it off again.
func TestPricesAndWhatRuns(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", map[string]any{"name": "costs-more-soon"})
	t.Cleanup(func() { dana.remove(str(w["id"])) })

	p := signIn(t, "pat", look{})
	p.open("/")
	p.click("[data-test=side-platform]")
	p.click("[data-test=nav-prices]")
	p.sees("[data-test=prices]")
	if n, _ := p.at("[data-test=to-price]").Count(); n > 0 { // without a list the form stands open
		p.click("[data-test=to-price]")
	}
	_, err := p.at("[data-test=price-what]").SelectOption(
		playwright.SelectOptionValues{Values: playwright.StringSlice("size:mig-1g.10gb")})
	p.do(err)
	p.fill("[data-test=price-amount]", "7.77")
	p.fill("[data-test=price-from]", time.Now().AddDate(0, 0, 40).Format(time.DateOnly))
	p.click("[data-test=price-add]")
	row := "[data-test=price]:has-text('7.77')"
	p.reads(row, "scheduled")
	p.reads("[data-test=prices-next]", "7.77")
	p.accessible()
	p.shot("prices")
	p.click(row + " [data-test=more] > summary")
	p.click(row + " [data-test=price-end]")
	p.reads(row, "ended")
	p.noFaults()

	if answer := dana.call(http.MethodGet, "/prices", nil); answer.Status != http.StatusNotFound {
		t.Errorf("the list is for administrators, got %d", answer.Status)
	}
}

// TestWhereTheHoursOfTheFleetWent: an administrator reads where the hours of the real cards went, by model and by day;
// others have no such page.
func TestWhereTheHoursOfTheFleetWent(t *testing.T) {
	pat := as(t, "pat")
	pat.until("/usage/reconciliation", "counted", 5*time.Minute, func(b map[string]any) bool {
		charged, _ := b["charged"].([]any)
		for _, c := range charged {
			day := c.(map[string]any)
			at := func(name string) float64 { return day[name].(float64) }
			if diff := at("charged") + at("notKnown") - at("notSeen") + at("rest") - at("held"); diff > 1e-6 || diff < -1e-6 {
				t.Fatalf("held is not charged and the reasons: %v", day)
			}
		}
		days, _ := b["items"].([]any)
		physical := 0.0
		for _, d := range days {
			day := d.(map[string]any)
			at := func(name string) float64 { return day[name].(float64) }
			sum := at("heldPortal") + at("heldOthers") + at("free") + at("broken") + at("unknown") + at("difference")
			if diff := sum - at("physical"); diff > 1e-6 || diff < -1e-6 {
				t.Fatalf("the parts make %v of %v", sum, day)
			}
			physical += at("physical")
		}
		return physical > 0
	})

	p := signIn(t, "pat", look{})
	p.open("/usage")
	p.click("[data-test=nav-reconciliation]")
	p.sees("[data-test=reconciliation-whole]")
	p.sees("[data-test=reconciliation-day]")
	p.sees("[data-test=reconciliation-matched-total]")
	p.accessible()
	p.fitsTheWindow()
	p.shot("reconciliation")
	p.click("[data-test=reconciliation-model] a")
	p.sees("[data-test=reconciliation-only]")
	file, err := p.page.ExpectDownload(func() error { return p.at("[data-test=export-csv]").Click() })
	p.do(err)
	if !strings.HasPrefix(file.SuggestedFilename(), "fleet-") {
		t.Errorf("want a file that begins with fleet-, got %s", file.SuggestedFilename())
	}
	p.noFaults()

	if answer := as(t, "dana").call(http.MethodGet, "/usage/reconciliation", nil); answer.Status != http.StatusNotFound {
		t.Errorf("the hours of the fleet are for administrators, got %d", answer.Status)
	}
}

// TestStorageCosts: storage has a price, its owner reads what it costs, and it goes on while the workload is stopped.
func TestStorageCosts(t *testing.T) {
	pat, dana := as(t, "pat"), as(t, "dana")
	w := dana.running("mig-1g.10gb", map[string]any{"name": "keeps-files", "storage": "10Gi"})
	t.Cleanup(func() { dana.remove(str(w["id"])) })
	added := pat.call(http.MethodPost, "/prices", map[string]any{"kind": "storage", "tenant": "vision", "amount": "1000"})
	if added.Status >= http.StatusBadRequest {
		t.Fatalf("add a price: %d %s", added.Status, added.Raw)
	}
	t.Cleanup(func() { pat.call(http.MethodPost, "/prices/"+str(added.Body["id"])+"/end", nil) })
	cost := 0.0
	dearer := func(b map[string]any) bool {
		lines, _ := b["lines"].([]any)
		for _, l := range lines {
			line := l.(map[string]any)
			if line["volume"] != "keeps-files-home" {
				continue
			}
			if now, err := strconv.ParseFloat(str(line["cost"].(map[string]any)["amount"]), 64); err == nil && now > cost {
				cost = now
				return line["gib"].(float64) == 10
			}
		}
		return false
	}
	dana.until("/usage", "charged for storage", 3*time.Minute, dearer)
	if answer := dana.call(http.MethodPost, "/workloads/"+str(w["id"])+"/stop",
		nil); answer.Status >= http.StatusBadRequest {
		t.Fatalf("stop: %d %s", answer.Status, answer.Raw)
	}
	dana.reaches(str(w["id"]), "stopped")
	dana.until("/usage", "charged while it is stopped", 3*time.Minute, dearer)

	p := signIn(t, "dana", look{})
	p.open("/usage")
	p.reads("[data-test=usage]", "GiB-months")
	p.reads("[data-test=usage-kinds]", "Storage")
	p.accessible()
	p.shot("usage-storage")
	p.noFaults()
}

// TestWhatIdleGPUsCost: an auditor reads how busy the GPUs of a month were and what the idle ones cost; the page and
// the API say the same. The portal is one of its own with a month of examples.
func TestWhatIdleGPUsCost(t *testing.T) {
	own := ownPortal(t, "idle-money", func(o *stack.PortalOptions) {
		o.Prepare = func(ctx context.Context, file string) error {
			c, err := config.Load(file, func(string) string { return "" }, func(*config.Config) {})
			if err != nil {
				return err
			}
			return example.Seed(ctx, c, slog.New(slog.DiscardHandler), time.Now())
		}
	})
	shared := portal
	portal = own
	t.Cleanup(func() { portal = shared })

	month := time.Now().UTC().AddDate(0, 0, -12).Format("2006-01") // most of the thirty days before today, or a good part
	statement := as(t, "audrey").ok(http.StatusOK, http.MethodGet, "/usage?scope=all&month="+month, nil)
	idle, _ := statement["idleCost"].([]any)
	mean, known := statement["meanUse"].(float64)
	if len(idle) != 1 || !known || mean <= 5 || mean >= 95 {
		t.Fatalf("want GPUs of which some idle, got %v and %v", statement["meanUse"], statement["idleCost"])
	}
	idles := str(idle[0].(map[string]any)["amount"])
	cost := str(statement["cost"].([]any)[0].(map[string]any)["amount"])
	daily := as(t, "audrey").ok(http.StatusOK, http.MethodGet, "/usage/daily?scope=all&by=team&month="+month, nil)
	if sum := costOfDays(t, daily); math.Abs(sum-amount(t, cost)) > 0.001 {
		t.Errorf("want days that add up to %s, got %.2f", cost, sum)
	}
	for name, l := range map[string]look{"wide": {}, "dark": {Dark: true}, "narrow": {Width: 360, Language: "de-DE"},
		"german": {Language: "de-DE"}} {
		p := signIn(t, "audrey", l)
		p.open("/usage?scope=all&month=" + month)
		p.sees("[data-test=usage-mean]")
		if said := digits(p.text("[data-test=usage-idle]")); !strings.Contains(said, digits(idles)) {
			t.Errorf("%s: want %s, got %q", name, idles, said)
		}
		if said := p.text("[data-test=usage-mean]"); !strings.Contains(said, strconv.Itoa(int(math.Round(mean)))) {
			t.Errorf("%s: want %.1f per cent, got %q", name, mean, said)
		}
		p.do(p.at("[data-columns] [data-column]").Nth(20).Hover())
		p.reads("[data-chart-value]", " · ")
		p.accessible()
		p.fitsTheWindow()
		p.shot(name)
		p.noFaults()
	}
}

// costOfDays adds up what days of a month cost, and checks that the groups of each make up the day.
func costOfDays(t *testing.T, daily map[string]any) (sum float64) {
	t.Helper()
	for _, d := range daily["days"].([]any) {
		day := d.(map[string]any)
		cost := amount(t, day["cost"].(map[string]any)["amount"])
		for _, g := range day["groups"].([]any) {
			cost -= amount(t, g.(map[string]any)["cost"].(map[string]any)["amount"])
		}
		if math.Abs(cost) > 0.001 {
			t.Errorf("want groups that make up their day, got %v", day)
		}
		sum += amount(t, day["cost"].(map[string]any)["amount"])
	}
	return sum
}

// digits leaves the digits of a text alone: "€1,234.50" and "1.234,50 €" are the same.
func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}
