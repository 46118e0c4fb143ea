package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
)

// TestTheTwoSidesOfTheNavigation: an administrator changes from using GPUs to answering for them, folds a group and the
// whole navigation, and finds both as they were left on the next page.
func TestTheTwoSidesOfTheNavigation(t *testing.T) {
	p := signIn(t, "pat", look{Width: 1366})
	p.open("/fleet")
	p.do(p.assert.Locator(p.at("[data-test=side-user]")).ToHaveAttribute("aria-current", "true"))
	p.click("[data-test=side-platform]")
	p.do(p.assert.Locator(p.at("[data-test=side-platform]")).ToHaveAttribute("aria-current", "true"))
	p.sees("[data-test=nav-sizes]")
	p.accessible()
	p.remembers(func() { p.click("[data-test=nav-group-catalog]") })
	p.open("/admin/rules")
	p.do(p.assert.Locator(p.at("[data-test=nav-sizes]")).ToBeHidden())
	p.sees("[data-test=nav-rules][aria-current=page]")
	p.remembers(func() { p.click("[data-test=nav-fold]") })
	p.do(p.assert.Locator(p.at("#gp-nav")).ToBeHidden())
	p.open("/admin/idle")
	p.do(p.assert.Locator(p.at("#gp-nav")).ToBeHidden())
	p.accessible()
	p.shot("folded")
	p.remembers(func() { p.click("[data-test=nav-fold]") })
	p.sees("[data-test=nav-idle][aria-current=page]")
}

// remembers does what the server has to remember, and waits until it has.
func (p *person) remembers(what func()) {
	p.t.Helper()
	_, err := p.page.ExpectResponse("**/settings/nav", func() error { what(); return nil },
		playwright.PageExpectResponseOptions{Timeout: playwright.Float(patience)})
	p.do(err)
}

// TestTheNavigationOfATelephone: with 390 pixels the switch stands in the menu.
func TestTheNavigationOfATelephone(t *testing.T) {
	p := signIn(t, "pat", look{Width: 390, Language: "de-DE", Dark: true})
	p.open("/")
	p.fitsTheWindow()
	p.click(".gp-masthead__toggle")
	p.accessible()
	p.shot("menu")
	p.click("[data-test=side-narrow-platform]")
	p.fitsTheWindow()
	p.click(".gp-masthead__toggle")
	p.sees("[data-test=nav-rules]")
	p.accessible()
	p.shot("menu-platform")
}

// TestTheNavigationWithoutScripts: groups open and the navigation folds all the same.
func TestTheNavigationWithoutScripts(t *testing.T) {
	p := signIn(t, "pat", look{NoScript: true})
	p.open("/admin/rules")
	p.click("[data-test=nav-group-system]")
	p.sees("[data-test=nav-audit]")
	p.click("[data-test=nav-fold]")
	p.do(p.assert.Locator(p.at("#gp-nav")).ToBeHidden())
	p.sees("[data-test=side-platform][aria-current]")
}

// TestThePlatformOverview: an administrator sees the fleet in numbers, each of which leads on, in every look.
func TestThePlatformOverview(t *testing.T) {
	p := signIn(t, "pat", look{Width: 1366})
	p.open("/")
	p.click("[data-test=side-platform]")
	p.sees("[data-test=platform-fleet] [data-test=fleet-now]")
	p.sees("[data-test=nav-platform][aria-current=page]")
	p.accessible()
	p.shot("overview")
	p.click("[data-test=item-health]")
	p.sees("[data-test=nav-health][aria-current=page]")
	for name, l := range map[string]look{"dark-narrow-german": {Dark: true, Width: 390, Language: "de-DE"},
		"no-scripts": {NoScript: true}} {
		q := signIn(t, "pat", l)
		q.open("/platform")
		q.sees("[data-test=platform-attention]")
		q.fitsTheWindow()
		if !l.NoScript {
			q.accessible()
		}
		q.shot(name)
	}
}
