package e2e

import (
	"regexp"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// session takes the cookies of a person away, as the end of a session does, and gives them back.
func (p *person) session() (cookies []playwright.OptionalCookie) {
	p.t.Helper()
	all, err := p.page.Context().Cookies()
	p.do(err)
	for _, c := range all {
		cookies = append(cookies, c.ToOptionalCookie())
	}
	p.do(p.page.Context().ClearCookies())
	return cookies
}

// TestAnEndedSessionKeepsTheStartForm: the answer to a change once took the place of the form, and what was typed was
// lost. Now a dialog offers to sign in again, and the form is filled as it was.
func TestAnEndedSessionKeepsTheStartForm(t *testing.T) {
	p := signIn(t, "dana", look{})
	p.open("/start?kind=notebook&tenant=vision&size=mig-1g.10gb")
	p.advanced()
	_, err := p.page.ExpectResponse(regexp.MustCompile("/start/summary"), func() error {
		p.fill("[name=name]", "typed")
		return nil
	}, playwright.PageExpectResponseOptions{Timeout: playwright.Float(patience)})
	p.do(err)
	p.reads("[data-test=summary]", "Starts now")
	p.shows("mig-3g.40gb")
	// typed and not asked about yet; on a slow machine a pause in typing would be over before the press
	_, err = p.page.Evaluate(`() => {
		const name = document.querySelector('[name=name]')
		name.value = 'typed-before-the-end'
		addEventListener('pointerdown', () => name.dispatchEvent(new Event('change', {bubbles: true})), {once: true})
	}`)
	p.do(err)
	back := p.session()
	p.expecting("401")
	// a press as long as a person's: the name's field is left, and its answer is there, before the button is let go
	press := playwright.LocatorClickOptions{Delay: playwright.Float(300)}
	p.do(p.at("[data-test='size-mig-3g.40gb']").Click(press))
	p.sees("[data-test=session-ended]")
	p.accessible()
	p.shot("ended")
	if typed, err := p.at("[name=name]").InputValue(); err != nil || typed != "typed-before-the-end" {
		t.Errorf("want the form untouched, got %q, %v", typed, err)
	}
	p.do(p.page.Context().AddCookies(back)) // somebody signs in again, in this tab or another
	p.click("[data-test=sign-in-again]")
	p.keptForm("typed-before-the-end", "mig-3g.40gb", "MIG slice 40 GB")

	back = p.session()
	p.click("[data-test=send]")
	p.reads("main", "Your entries are filled in when you are back")
	p.shot("sign-in-again")
	p.do(p.page.Context().AddCookies(back))
	p.open("/start")
	p.keptForm("typed-before-the-end", "mig-3g.40gb", "MIG slice 40 GB")
}

// keptForm waits until the start form has what was typed, and the summary speaks of it.
func (p *person) keptForm(name, size, sizeTitle string) {
	p.t.Helper()
	p.do(p.assert.Locator(p.at("[name=name]")).ToHaveValue(name))
	p.do(p.assert.Locator(p.at("[data-test='size-" + size + "']")).ToBeChecked())
	p.reads("[data-test=summary]", sizeTitle)
}
