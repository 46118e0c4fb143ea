package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// TestUsageOfWhatOneHolds: somebody holds a slice, and reads on a page what it costs; a colleague of another team does not.
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
	p.reads("[data-test=usage]", "costs-something")
	p.reads("[data-test=usage-kinds]", "MIG 1g.10gb")
	p.reads("[data-test=usage-cost]", "€")
	p.accessible()
	p.shot("usage")
	p.click("[data-test=by-size]")
	p.reads("[data-test=usage]", "MIG slice 10 GB")
	for test, want := range map[string]string{"export-csv": "usage-", "export-focus": "focus-1.4-"} {
		file, err := p.page.ExpectDownload(func() error { return p.at("[data-test=" + test + "]").Click() }, playwright.PageExpectDownloadOptions{})
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

// TestPricesAndWhatRuns: an administrator puts a price of a later day on the list, reads what runs will cost from then on, and takes it off again.
func TestPricesAndWhatRuns(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", map[string]any{"name": "costs-more-soon"})
	t.Cleanup(func() { dana.remove(str(w["id"])) })

	p := signIn(t, "pat", look{})
	p.open("/")
	p.click("[data-test=nav-prices]")
	_, err := p.at("[data-test=price-what]").SelectOption(playwright.SelectOptionValues{Values: playwright.StringSlice("size:mig-1g.10gb")})
	p.do(err)
	p.fill("[data-test=price-amount]", "7.77")
	p.fill("[data-test=price-from]", time.Now().AddDate(0, 0, 40).Format(time.DateOnly))
	p.click("[data-test=price-add]")
	row := "[data-test=price]:has-text('7.77')"
	p.reads(row, "to come")
	p.reads("[data-test=prices-next]", "7.77")
	p.accessible()
	p.shot("prices")
	p.click(row + " [data-test=price-end] button")
	p.reads(row, "over")
	p.noFaults()

	if answer := dana.call(http.MethodGet, "/prices", nil); answer.Status != http.StatusNotFound {
		t.Errorf("the list is for administrators, got %d", answer.Status)
	}
}
