package e2e

import (
	"regexp"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// TestTheGuidedTourByKeyboard: a newcomer opens the tour from the help menu, goes on, back and out with the keyboard
// alone. Each step has the focus in turn and breaks no rule of WCAG 2.2 AA; leaving puts the focus back to the help
// menu, the tour is not offered again by itself, and is found there once more.
func TestTheGuidedTourByKeyboard(t *testing.T) {
	p := signIn(t, "dana", look{Width: 1366})
	p.open("/")
	p.opensTour()
	count := p.at("#gp-tour [data-tour-step]:not([hidden]) .gp-tour__count")
	title := p.at("#gp-tour [data-tour-step]:not([hidden]) h2")
	p.do(p.assert.Locator(title).ToBeFocused())
	p.do(p.assert.Locator(count).ToContainText("1"))
	first, err := title.TextContent()
	p.do(err)
	p.do(p.assert.Locator(p.at("[data-test=tour-back]")).ToBeHidden())
	p.accessible()

	p.do(p.at("[data-test=tour-next]").Focus())
	p.presses("Enter")
	p.do(p.assert.Locator(title).Not().ToHaveText(first))
	p.do(p.assert.Locator(title).ToBeFocused())
	p.accessible()
	p.shot("second")
	p.presses("ArrowRight")
	p.do(p.assert.Locator(count).ToContainText("3"))
	p.presses("ArrowLeft")
	p.do(p.at("[data-test=tour-back]").Focus())
	p.presses("Enter")
	p.do(p.assert.Locator(title).ToHaveText(first))
	p.do(p.assert.Locator(title).ToBeFocused())

	p.presses("Escape")
	p.do(p.assert.Locator(p.at("#gp-tour")).ToBeHidden())
	p.do(p.assert.Locator(p.at(".gp-masthead__help summary")).ToBeFocused())
	p.open("/")
	p.sees("h1")
	p.do(p.assert.Locator(p.at("#gp-tour")).ToBeHidden())
	p.opensTour()
	p.do(p.assert.Locator(title).ToHaveText(first))
	p.presses("Escape")
}

// opensTour goes to the help menu and takes the tour, without a mouse.
func (p *person) opensTour() {
	p.t.Helper()
	p.do(p.at(".gp-masthead__help summary").Focus())
	p.presses("Enter")
	p.sees("[data-test=help] [data-test=help-tour]")
	for range 6 { // where the tour stands in the menu
		p.presses("Tab")
		if on, err := p.at("[data-test=help-tour]:focus").Count(); err == nil && on == 1 {
			break
		}
	}
	p.do(p.assert.Locator(p.at("[data-test=help] [data-test=help-tour]")).ToBeFocused())
	p.presses("Enter")
	p.sees("#gp-tour[open]")
	p.do(p.assert.Page(p.page).Not().ToHaveURL(regexp.MustCompile("tour=1"), playwright.PageAssertionsToHaveURLOptions{}))
}
