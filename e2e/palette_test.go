package e2e

import (
	"regexp"
	"testing"
)

// TestTheCommandPalette: a developer opens it by key over any page, finds a page, an action and nothing of the
// administrators, with the keyboard alone; focus goes back to where it was.
func TestTheCommandPalette(t *testing.T) {
	p := signIn(t, "dana", look{Width: 1366})
	p.open("/storage")
	p.do(p.at("[data-test=nav-team]").Focus())
	p.presses("Control+k")
	p.sees("#gp-palette[open] [role=option]")
	p.accessible()
	p.shot("opened")
	p.fill("[data-test=palette-input]", "capac")
	p.do(p.assert.Locator(p.at("#gp-palette [role=option][aria-selected=true]")).ToContainText("Capacity"))
	p.do(p.assert.Locator(p.at("[data-test=palette-input]")).ToHaveAttribute("aria-activedescendant",
		regexp.MustCompile("gp-option-")))
	// what was found before is dim while more is looked for
	p.do(p.assert.Locator(p.at("#gp-palette")).Not().ToHaveAttribute("aria-busy", "true"))
	p.accessible()
	p.fill("[data-test=palette-input]", "start a")
	p.do(p.assert.Locator(p.at("#gp-palette [data-test=do-notebook][aria-selected=true]")).ToBeVisible())
	p.presses("ArrowDown")
	p.do(p.assert.Locator(p.at("#gp-palette [data-test=do-endpoint][aria-selected=true]")).ToBeVisible())
	p.shot("typed")
	p.fill("[data-test=palette-input]", "approval rules")
	p.sees("[data-test=palette-none]")
	p.accessible()
	p.presses("Escape")
	p.do(p.assert.Locator(p.at("#gp-palette")).ToBeHidden())
	p.do(p.assert.Locator(p.at("[data-test=nav-team]")).ToBeFocused())
	// Enter right after typing takes what was typed, and not what was listed before
	p.presses("Control+k")
	p.fill("[data-test=palette-input]", "capacity")
	p.presses("Enter")
	p.sees("[data-test=nav-fleet][aria-current=page]")
	p.click("[data-test=search-open]")
	p.fill("[data-test=palette-input]", "dark theme")
	p.presses("Enter")
	p.sees("html.pf-v6-theme-dark")
}

// TestTheSearchOfATelephone: the palette fills 390 pixels, in German, and an administrator finds people.
func TestTheSearchOfATelephone(t *testing.T) {
	p := signIn(t, "pat", look{Width: 390, Language: "de-DE", Dark: true})
	p.open("/")
	p.fitsTheWindow()
	p.click("[data-test=search-open]")
	p.fill("[data-test=palette-input]", "dana")
	p.sees("#gp-palette [data-test=hit-person]")
	p.accessible()
	p.shot("palette")
	box, err := p.at("#gp-palette").BoundingBox()
	p.do(err)
	if box.X != 0 || box.Width != 390 {
		t.Errorf("want the whole width, got %+v", box)
	}
	p.click("#gp-palette [data-test=hit-person]")
	p.reads("h1", "Dana")
}

// TestTheSearchWithoutScripts: the button leads to a page that finds the same.
func TestTheSearchWithoutScripts(t *testing.T) {
	p := signIn(t, "dana", look{NoScript: true})
	p.open("/storage")
	p.click("[data-test=search-open]")
	p.fill("main [data-test=search]", "notebook")
	p.click("main .gp-filter__buttons button")
	p.sees("main [data-test=do-notebook]")
	p.shot("page")
	p.click("main [data-test=do-notebook]")
	p.do(p.assert.Page(p.page).ToHaveURL(regexp.MustCompile("/start")))
}

// TestTheShortcutsOfAPage: ? lists them, g and a letter go to a page, a field keeps its letters, and they can be
// switched off.
func TestTheShortcutsOfAPage(t *testing.T) {
	p := signIn(t, "ada", look{Width: 1366})
	p.open("/requests")
	p.presses("?")
	p.sees("#gp-shortcuts[open] [data-go=h]")
	p.do(p.assert.Locator(p.at("[data-test=keys-page]")).ToBeHidden())
	p.accessible()
	p.shot("sheet")
	p.presses("Escape")
	p.presses("g")
	p.presses("s")
	p.sees("[data-test=nav-storage][aria-current=page]")
	p.presses("Control+k")
	p.sees("#gp-palette[open]")
	p.do(p.at("[data-test=palette-input]").PressSequentially("gh?"))
	p.do(p.assert.Locator(p.at("[data-test=palette-input]")).ToHaveValue("gh?"))
	p.do(p.assert.Locator(p.at("#gp-shortcuts")).ToBeHidden())
	p.presses("Escape")
	p.do(p.assert.Locator(p.at("#gp-palette")).ToBeHidden())
	p.presses("?")
	p.click("[data-test=keys-off]")
	p.sees("body[data-keys-off]")
	p.presses("?")
	p.presses("g")
	p.presses("h")
	p.presses("Control+k")
	p.sees("#gp-palette[open]") // the keys before did nothing: the page is the same, and only the palette is open
	p.sees("[data-test=nav-storage][aria-current=page]")
	p.do(p.assert.Locator(p.at("#gp-shortcuts")).ToBeHidden())
	p.presses("Escape")
	p.click("[data-test=help] summary")
	p.click("[data-test=nav-shortcuts]")
	p.sees("[data-test=keys-on]")
	p.click("[data-test=keys-on]")
	p.sees("body:not([data-keys-off])")
}

// TestTheUserGuideInThePortal: the help menu leads to the guide, whose links stay in the portal, in every look.
func TestTheUserGuideInThePortal(t *testing.T) {
	for name, l := range map[string]look{"wide": {Width: 1366}, "narrow-dark-german": {Width: 390, Dark: true,
		Language: "de-DE"}} {
		p := signIn(t, "dana", l)
		if l.Width == 390 {
			p.open("/help")
			p.fitsTheWindow()
			p.accessible()
			p.click("[data-test=documents] a")
		} else {
			p.open("/storage")
			p.click("[data-test=help] summary")
			p.shot("menu")
			p.click("[data-test=help-users]")
		}
		p.sees("[data-test=manual] h2")
		p.fitsTheWindow()
		p.accessible()
		p.shot(name)
		p.open("/help/configuration")
		p.sees("[data-test=manual] table")
		p.fitsTheWindow()
		p.accessible()
	}
}
