package e2e

import (
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// licencePatience is for what the portal looks at once a minute, on a busy machine.
const licencePatience = 6 * time.Minute

// comes is for what a page shows only after such a look; pages change by themselves.
func (p *person) comes(selector, text string) {
	p.t.Helper()
	eventually(p.t, selector+" with "+text, licencePatience, func() bool {
		n, err := p.at(selector).Filter(playwright.LocatorFilterOptions{HasText: text}).Count()
		return err == nil && n > 0
	})
}

// TestPhysicalLayout: where each slice sits on its card, and what still fits, as the node's agent tells.
func TestPhysicalLayout(t *testing.T) {
	p := signIn(t, "ada", look{})
	p.open("/fleet?q=h100-mig-01")
	p.comes("[data-test=layout]", "Physical layout of 8 cards")
	p.click("[data-test=layout] summary")
	p.reads("[data-test=layout]", "3g.40gb at ")
	p.accessible()
	p.shot("fleet-layout")
}
