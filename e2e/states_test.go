package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
)

// held keeps calls to an address from being answered until they are let go.
func (p *person) held(address string) chan<- bool {
	p.t.Helper()
	let := make(chan bool)
	p.do(p.page.Route(address, func(r playwright.Route) {
		<-let
		_ = r.Continue()
	}))
	return let
}

// TestWhatWasDoneIsSaidOverThePage: what was done stands over the page and moves nothing; it offers the way back, stays
// until it is closed, and gives the focus to the page. One that asks nothing goes by itself. Without scripts it stands
// above the content.
func TestWhatWasDoneIsSaidOverThePage(t *testing.T) {
	p := signIn(t, "pat", look{Width: 1366})
	p.open("/approvals/delegations?find=otto")
	p.click("[data-test=delegation-create]")
	p.sees("[data-test=flash][role=status]")
	p.reads("#gp-say", "Delegate added")
	p.accessible()
	p.shot("toast")
	p.click("[data-test=flash-undo]")
	p.reads("[data-test=flash]", "Ended")
	p.click("[data-test=toast-close]")
	p.do(p.assert.Locator(p.at("[data-test=flash]")).ToHaveCount(0))
	p.do(p.assert.Locator(p.at("#content")).ToBeFocused())

	p.open("/account/notifications")
	p.click("[data-test=notices-save]")
	p.sees("[data-test=flash]")
	p.do(p.assert.Locator(p.at("[data-test=flash]")).ToHaveCount(0)) // by itself

	q := signIn(t, "pat", look{NoScript: true})
	q.open("/account/notifications")
	q.click("[data-test=notices-save]")
	q.sees("[data-test=flash]")
	q.do(q.assert.Locator(q.at("[data-test=toast-close]")).ToBeHidden())
	q.shot("no-script")
}

// TestWhatTakesLongHoldsItsPlace: a card of the map and the palette, when the portal is slow.
func TestWhatTakesLongHoldsItsPlace(t *testing.T) {
	p := signIn(t, "pat", look{Width: 1366})
	p.open("/fleet/use")
	p.sees("[data-test=map-card]")
	let := p.held("**/fleet/use/node?*")
	p.click("[data-test=map-card]")
	p.sees("[data-test=map-drawer] .gp-skeleton")
	_, err := p.page.Evaluate(`() => {
		Math.random = () => 0; // a page that follows the map asks at once
		document.querySelector('[data-map-version]').dataset.mapVersion += ' later';
		document.dispatchEvent(new CustomEvent('gp:changed'));
		return new Promise((done) => setTimeout(done)); // behind the map's own timer
	}`)
	p.do(err)
	p.sees("[data-test=map-drawer] .gp-skeleton")
	p.accessible()
	p.shot("drawer")
	let <- true
	p.sees("[data-test=map-drawer] [data-test=gpu]")
	p.do(p.assert.Locator(p.at("[data-test=map-drawer] .gp-skeleton")).ToHaveCount(0))

	let = p.held("**/search/results*")
	p.presses("Control+k")
	p.sees("[data-test=palette-wait] .gp-skeleton")
	p.shot("palette")
	let <- true
	p.sees("#gp-palette [role=option]")
	p.do(p.assert.Locator(p.at("[data-test=palette-wait]")).ToBeHidden())
}

// TestAListThatIsFilteredHereSaysThatNothingMatches: a table that the page has as a whole gives its place to the words,
// and comes back with one press.
func TestAListThatIsFilteredHereSaysThatNothingMatches(t *testing.T) {
	p := signIn(t, "pat", look{Width: 1366})
	p.open("/admin/images")
	p.sees("#entries tbody tr")
	p.fill("#entries-filter", "zzz")
	p.sees("[data-filter-none=entries] [data-test=none-match]")
	p.do(p.assert.Locator(p.at("#entries")).ToBeHidden())
	p.accessible()
	p.shot("none")
	p.click("[data-filter-none=entries] [data-test=clear-filter]")
	p.sees("#entries tbody tr")
	p.do(p.assert.Locator(p.at("[data-test=none-match]")).ToBeHidden())
	p.do(p.assert.Locator(p.at("#entries-filter")).ToBeFocused())
}
