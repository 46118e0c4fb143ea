package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
)

// advanced opens the fields that most people leave as they are.
func (p *person) advanced() {
	p.t.Helper()
	if open, err := p.at("[data-test=advanced][open]").Count(); err == nil && open == 0 {
		p.click("[data-test=advanced] > summary")
	}
}

// shows makes sure that a size can be chosen: in a tile, else in the table of all sizes.
func (p *person) shows(size string) {
	p.t.Helper()
	if n, err := p.at("[data-test='size-" + size + "']").Count(); err == nil && n == 0 {
		p.click("[data-test=compare] > summary")
	}
	p.sees("[data-test='size-" + size + "']")
}

// picks chooses a size.
func (p *person) picks(size string) {
	p.t.Helper()
	p.shows(size)
	p.do(p.at("[data-test='size-" + size + "']").Click())
	p.do(p.assert.Locator(p.at("[data-test='size-" + size + "']")).ToBeChecked())
}

// seenWithoutScrolling insists that something is in the window as the page was opened.
func (p *person) seenWithoutScrolling(selector string) {
	p.t.Helper()
	seen, err := p.at(selector).First().Evaluate(`e => { const r = e.getBoundingClientRect();
		return scrollY === 0 && r.height > 0 && r.top >= 0 && r.bottom <= innerHeight && r.right <= innerWidth }`, nil)
	p.do(err)
	if seen != true {
		p.shot("not-in-view")
		p.t.Errorf("want %s in the window without scrolling", selector)
	}
}

// TestTheStartPageIsOneScreen: on a small laptop somebody new chooses a time and starts, with two clicks and without
// scrolling; on a telephone the button is in view too.
func TestTheStartPageIsOneScreen(t *testing.T) {
	p := signIn(t, "dana", look{})
	p.do(p.page.SetViewportSize(390, 844))
	p.open("/start?tenant=vision&kind=notebook&size=mig-1g.10gb")
	p.seenWithoutScrolling("[data-test=send]")
	p.accessible()
	p.fitsTheWindow()
	p.do(p.page.SetViewportSize(1366, 768))
	p.open("/start?tenant=vision&kind=notebook&size=mig-1g.10gb")
	for _, s := range []string{"[data-test=kind]", "[data-test='size-mig-1g.10gb']", "[data-test=preset-4h]",
		"[data-test=total]", "[data-test=verdict]", "[data-test=send]"} {
		p.seenWithoutScrolling(s)
	}
	p.click("[data-test=preset-4h]")
	p.reads("[data-test=bar-what]", "4 h")
	p.click("[data-test=send]")
	p.sees("[data-test=workload-head]")
	id := p.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })

	p.open("/")
	p.click("[data-test=repeat]")
	p.sees("[data-test=workload-head]")
	again := p.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(again) })
	if again == id {
		t.Error("want a second workload")
	}
}

// TestTheTableOfSizes: it is sorted, and what is chosen in it stands for its class in the tiles.
func TestTheTableOfSizes(t *testing.T) {
	p := signIn(t, "dana", look{})
	p.open("/start?tenant=vision&kind=notebook&size=cpu")
	p.click("[data-test=compare] > summary")
	p.sees("[data-test=size-table]")
	p.accessible()
	p.shot("all")
	p.picks("mig-3g.40gb")
	p.reads("[data-test=bar-what]", "MIG slice 40 GB")
	p.click("[data-test=size-table] th:has-text('Price') button")
	p.click("[data-test=size-table] th:has-text('Price') button")
	p.do(p.assert.Locator(p.at("[data-test=size-table] th:has-text('Price')")).ToHaveAttribute("aria-sort", "descending"))
	p.click("[data-test=fewer]")
	p.reads("[data-test=size-tile]:has(:checked)", "40 GiB")
}

// TestASummaryThatIsNotTrueSaysSo: it once kept the old size's "Starts now" and price while the reply took long, and
// for good where the server was away.
func TestASummaryThatIsNotTrueSaysSo(t *testing.T) {
	p := signIn(t, "dana", look{})
	p.open("/start?tenant=vision&kind=notebook&size=mig-1g.10gb")
	p.reads("[data-test=bar-what]", "MIG slice 10 GB")
	asked := make(chan playwright.Route, 1)
	p.do(p.page.Route("**/start/form", func(r playwright.Route) { asked <- r }))
	p.expecting("ERR_FAILED")
	p.expecting("Failed to fetch")
	p.do(p.at("[data-test=size-cpu]").Click())
	held := <-asked
	p.do(p.assert.Locator(p.at("[data-test=bar]")).ToHaveAttribute("aria-busy", "true"))
	p.do(p.assert.Locator(p.at("[data-test=send]")).ToBeDisabled())
	p.do(held.Abort("failed"))
	p.reads("[data-test=summary-failed]:visible", "Could not update")
	p.do(p.assert.Locator(p.at("[data-test=send]")).ToBeDisabled())
	p.do(p.assert.Locator(p.at("[data-test=size-cpu]")).ToBeChecked())
	p.accessible()
	p.shot("failed-to-update")
	p.do(p.page.Unroute("**/start/form"))
	p.click("[data-test=retry]")
	p.reads("[data-test=bar-what]", "CPU only")
	p.do(p.assert.Locator(p.at("[data-test=summary-failed]")).ToBeHidden())
	p.do(p.assert.Locator(p.at("[data-test=send]")).ToBeEnabled())
}

// TestADraftSurvivesAReload: also with a size that only the table of all sizes has; a start throws it away.
func TestADraftSurvivesAReload(t *testing.T) {
	p := signIn(t, "dana", look{})
	p.open("/start?tenant=vision&kind=notebook&size=cpu")
	p.picks("h100")
	p.fill("[name=reason]", "half of a sentence")
	p.advanced()
	p.fill("[name=name]", "a-draft")
	_, err := p.page.Reload()
	p.do(err)
	p.keptForm("a-draft", "h100", "Whole H100")
	p.do(p.assert.Locator(p.at("textarea[name=reason]")).ToHaveValue("half of a sentence"))
	p.open("/start?tenant=vision&kind=notebook&size=cpu")
	p.do(p.assert.Locator(p.at("[data-test=size-cpu]")).ToBeChecked())
	if typed, err := p.at("[name=name]").InputValue(); err != nil || typed != "" {
		t.Errorf("want a link to the form to begin anew, got %q, %v", typed, err)
	}
}
