package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// looks are the ways people have their browsers; every page is looked at in each.
var looks = map[string]look{
	"light":  {},
	"dark":   {Dark: true},
	"narrow": {Width: 360},
	"german": {Language: "de-DE"},
}

// TestEveryPageInEveryLook opens each page as somebody who may, in light, dark, narrow and German: no violation of WCAG 2.2 AA, no script error, no breach
// of the content security policy, nothing wider than the window. Pictures go to .shots/.
func TestEveryPageInEveryLook(t *testing.T) {
	dana := as(t, "dana")
	running := dana.running("mig-1g.10gb", map[string]any{"name": "vision-training"})
	stopped := dana.running("cpu", map[string]any{"name": "notes"})
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+str(stopped["id"])+"/stop", nil)
	dana.reaches(str(stopped["id"]), "stopped")
	pending := dana.start("h100", map[string]any{"name": "paper-run", "reason": "Fine-tuning for the paper; needs a whole card for two days."})
	t.Cleanup(func() { dana.call(http.MethodPost, "/requests/"+str(pending["id"])+"/withdraw", nil) })
	dana.until("/workloads/"+str(running["id"])+"/metrics", "measured", waitForMetrics, hasDevices)
	w, r := "/workloads/"+str(running["id"]), "/requests/"+str(pending["id"])
	pages := map[string][]string{
		"dana": {"/", "/start", w, w + "/objects", w + "/history", w + "/extend", w + "/delete", "/requests", r, "/storage", "/fleet", "/licences", "/usage", "/start/size", "/team", "/account", "/nowhere"},
		"ada":  {"/approvals", "/approvals/" + str(pending["id"]), "/"},
		"pat":  {"/fleet", "/licences", "/usage", "/admin/sizes", "/admin/images", "/admin/sizes/edit", "/admin/metrics", "/admin/rules", "/admin/rules/edit", "/audit"},
	}
	for name, l := range looks {
		t.Run(name, func(t *testing.T) {
			for who, paths := range pages {
				p := signIn(t, who, l)
				p.expecting("404")
				for _, path := range paths {
					p.open(path)
					p.sees("h1")
					p.accessible()
					p.fitsTheWindow()
					p.shot(name + "-" + who + strings.NewReplacer("/", "_", str(running["id"]), "W", str(pending["id"]), "R").Replace(path))
				}
			}
		})
	}
}

// TestTheSignInPageInEveryLook: the first thing anybody sees.
func TestTheSignInPageInEveryLook(t *testing.T) {
	for name, l := range looks {
		t.Run(name, func(t *testing.T) {
			p := visit(t, l)
			p.who = "a visitor"
			p.open("/signin")
			p.sees("[data-test=sign-in]")
			p.accessible()
			p.fitsTheWindow()
			p.shot(name)
		})
	}
}

// fitsTheWindow fails when the page must be scrolled sideways.
func (p *person) fitsTheWindow() {
	p.t.Helper()
	over, err := p.page.Evaluate(`document.documentElement.scrollWidth - document.documentElement.clientWidth`)
	p.do(err)
	if n, ok := over.(int); ok && n > 0 {
		p.t.Errorf("%s is %d pixels wider than the window", p.page.URL(), n)
	}
}
