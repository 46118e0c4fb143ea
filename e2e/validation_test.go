package e2e

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// TestAFormSaysWhatIsWrongWhileOneTypes: an administrator types a wrong value and reads beside the field what is wrong,
// mends it and reads that nothing is; a field that nobody came to is not called wrong. One request goes out for each
// pause, none while nothing changed, and nothing is saved. A text marks the line.
func TestAFormSaysWhatIsWrongWhileOneTypes(t *testing.T) {
	p := signIn(t, "pat", look{Width: 1366})
	var asked atomic.Int32
	p.page.OnRequest(func(r playwright.Request) {
		if strings.Contains(r.URL(), "validate=1") {
			asked.Add(1)
		}
	})
	p.open("/admin/sizes/form?list=sizes")
	p.do(p.at("#name").PressSequentially("Not A Name", playwright.LocatorPressSequentiallyOptions{}))
	p.sees("[id=name-error]")
	p.do(p.assert.Locator(p.at("#name")).ToHaveAttribute("aria-invalid", "true"))
	p.do(p.assert.Locator(p.at("[id=cpu-error]")).ToHaveCount(0))
	p.accessible()
	p.shot("wrong")
	p.fill("#name", "a-name")
	p.do(p.assert.Locator(p.at("[id=name-error]")).ToHaveCount(0))
	p.fill("[id=cpu]", "lots")
	p.reads("[id=cpu-error]", "lots")
	p.do(p.assert.Locator(p.at("#entry-validation")).ToContainText("lots"))

	p.open("/admin/sizes/form?list=sizes&name=cpu")
	asked.Store(0)
	p.fill("[id=memory]", "some")
	p.sees("[id=memory-error]")
	if n := asked.Load(); n != 1 {
		t.Errorf("want one request for one pause, got %d", n)
	}
	p.fill("[id=memory]", "4Gi")
	p.reads("#entry-validation", "No problems found")
	p.shot("fine")
	n := asked.Load()
	p.do(p.at("[id=memory]").Blur()) // a change that changes nothing
	p.presses("Tab")
	_, err := p.page.Evaluate("() => new Promise(done => setTimeout(done, 1200))")
	p.do(err)
	if more := asked.Load() - n; more != 0 {
		t.Errorf("nothing changed and %d requests went out", more)
	}

	p.open("/admin/sizes/edit")
	text, err := p.at("#text").InputValue()
	p.do(err)
	p.fill("#text", "sizess:\n"+text)
	p.sees("#catalog-validation a[data-line='1']")
	p.sees(".gp-lines__gutter span.gp-lines__marked")
	p.accessible()
	p.shot("text")
	p.click("#catalog-validation a[data-line='1']")
	p.do(p.assert.Locator(p.at("#text")).ToBeFocused())
	p.fill("#text", text)
	p.reads("#catalog-validation", "No problems found")
	p.do(p.assert.Locator(p.at(".gp-lines__marked")).ToHaveCount(0))
	p.open("/admin/sizes")
	p.do(p.assert.Locator(p.at("main")).Not().ToContainText("a-name"))
}
