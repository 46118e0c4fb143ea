package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// counting counts what a person does with a pointer on a page of the portal, and whether the page had to be scrolled
// for it. The counts are kept for the tab, because most clicks lead to another page. A click that the driver takes
// back, since something moved between its aim and the click, ends at the window and is not counted.
const counting = `(() => {
	const add = (key) => sessionStorage.setItem(key, 1 + Number(sessionStorage.getItem(key) ?? 0))
	document.addEventListener('pointerdown', (e) => {
		if (!e.isTrusted) return
		add('test-clicks')
		const at = e.target.closest('[data-test]')?.dataset.test ?? e.target.outerHTML.slice(0, 120)
		sessionStorage.setItem('test-hits', (sessionStorage.getItem('test-hits') ?? '') + ' ' + at)
	}, true)
	addEventListener('scroll', (e) => {
		const to = e.target === document ? document.scrollingElement : e.target
		if (to.scrollTop > 0) add('test-scrolls')
	}, true)
})()`

// counts begins to count what a person does from here on, on a small laptop.
func (p *person) counts() {
	p.t.Helper()
	p.do(p.page.SetViewportSize(1366, 768))
	p.do(p.context.AddInitScript(playwright.Script{Content: playwright.String(counting)}))
}

// path is one thing that people come for, from the page on which they begin.
type path struct {
	name   string
	clicks int // at most, on pages of the portal
	walk   func(p *person)
}

// walks goes a path and insists that it takes no more clicks than it may, and no scrolling. The seconds are for the
// reader of the log: they are those of this machine.
func (p *person) walks(from string, w path) {
	p.t.Helper()
	p.open(from)
	_, err := p.page.Evaluate(`() => {
		for (const key of ['test-clicks', 'test-hits', 'test-scrolls']) sessionStorage.removeItem(key) }`)
	p.do(err)
	began := time.Now()
	w.walk(p)
	took := time.Since(began)
	clicks, scrolls := p.counted("test-clicks"), p.counted("test-scrolls")
	p.t.Logf("%-40s %d clicks, %.1f s", w.name, clicks, took.Seconds())
	if clicks > w.clicks {
		hits, err := p.page.Evaluate(`() => sessionStorage.getItem('test-hits')`)
		p.do(err)
		p.t.Errorf("%s: want at most %d clicks, got %d, on%v", w.name, w.clicks, clicks, hits)
	}
	if scrolls > 0 {
		p.shot("scrolled")
		p.t.Errorf("%s: want nothing to be scrolled for", w.name)
	}
}

func (p *person) counted(key string) int {
	p.t.Helper()
	n, err := p.page.Evaluate(fmt.Sprintf(`() => Number(sessionStorage.getItem(%q) ?? 0)`, key))
	p.do(err)
	return n.(int)
}

// TestTenPathsInClicks: what people come for takes few clicks and no scrolling at 1366×768. Counted are clicks on the
// portal's pages; choosing who one is at the sign-in provider is the provider's.
func TestTenPathsInClicks(t *testing.T) {
	devi := visit(t, look{})
	devi.who = "devi"
	devi.counts()
	devi.walks("/", path{"sign in to an open notebook", 4, func(p *person) {
		p.click("[data-test=sign-in]")
		user, _ := world.User("devi")
		p.do(p.page.GetByRole("button", playwright.PageGetByRoleOptions{Name: user.Name}).First().Click())
		p.click("[data-test=start]")
		p.click("[data-test=send]")
		p.reads("[data-test=workload-head] [data-test=state]", "Running")
		id := p.workloadAt()
		t.Cleanup(func() { as(t, "devi").remove(id) })
		notebook := p.popup(func() error { return p.at("[data-test=open]").First().Click() })
		p.do(p.assert.Locator(notebook.Locator("body")).Not().ToBeEmpty())
		p.do(notebook.Close())
	}})
	work := "/workloads/" + devi.workloadAt()
	devi.walks("/", path{"the same once more", 1, func(p *person) {
		p.click("[data-test=repeat]")
		p.sees("[data-test=workload-head]")
		id := p.workloadAt()
		t.Cleanup(func() { as(t, "devi").remove(id) })
	}})
	devi.walks("/", path{"four hours more", 2, func(p *person) {
		p.click("[data-test=workload-row] a[href='" + work + "']")
		p.click("[data-test=extend-4h]")
		p.sees("[data-test=flash]")
	}})
	devi.walks(work, path{"stop", 2, func(p *person) {
		p.stops()
		p.reads("[data-test=workload-head] [data-test=state]", "Stopped")
	}})
	devi.walks(work, path{"start what is stopped", 1, func(p *person) {
		p.click("[data-test=resume]")
		p.reads("[data-test=workload-head] [data-test=state]", "Running")
	}})
	devi.walks("/", path{"a model endpoint", 3, func(p *person) {
		p.click("[data-test=start]")
		p.do(p.at("input[name=kind][value=endpoint]").Click())
		p.do(p.assert.Locator(p.at("input[name=kind][value=endpoint]")).ToBeChecked())
		// who looks at the price waits for it; a button that moves meanwhile makes the test's browser scroll
		p.do(p.assert.Locator(p.at("[data-test=bar]")).Not().ToHaveAttribute("aria-busy", "true"))
		p.click("[data-test=send]")
		p.sees("[data-test=workload-head]")
		id := p.workloadAt()
		t.Cleanup(func() { as(t, "devi").remove(id) })
	}})

	var request string
	devi.walks("/start?size=h100", path{"ask for a whole GPU", 2, func(p *person) {
		p.do(p.at("textarea[name=reason]").Click())
		p.do(p.page.Keyboard().Type("Fine-tuning for the paper"))
		p.click("[data-test=send]")
		p.sees("[data-test=request-verdict]")
		request = p.page.URL()[strings.LastIndex(p.page.URL(), "/")+1:]
	}})
	ada := signIn(t, "ada", look{})
	ada.counts()
	ada.walks("/", path{"approve a request", 2, func(p *person) {
		p.click("a[href^='/approvals']")
		p.click("[data-test=approve]")
		p.sees("[data-test=undo-notice]")
	}})
	becomes(t, request, "approved")

	second := asked(t, "8h")
	ada.walks("/approvals", path{"reject a request with the keyboard", 0, func(p *person) {
		p.sees("[data-test=inbox-row] a[href='/approvals/" + second + "']")
		p.presses("j")
		p.sees("[data-test=inbox-row][aria-current=true]:focus")
		p.presses("r")
		p.sees("[data-test=undo-notice]")
	}})
	ada.walks("/", path{"find a page", 0, func(p *person) {
		p.presses("Control+k")
		p.sees("#gp-palette[open] [role=option]")
		p.do(p.page.Keyboard().Type("capac"))
		p.do(p.assert.Locator(p.at("#gp-palette [role=option][aria-selected=true]")).ToContainText("Capacity"))
		p.presses("Enter")
		p.do(p.page.WaitForURL("**/fleet**"))
	}})
}
