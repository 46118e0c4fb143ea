package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// looks are the ways people have their browsers; every page is looked at in each, and in the light one also in the
// dark. German words are the longest, so the narrowest window is German.
var looks = map[string]look{
	"light":         {},
	"narrow-german": {Width: 360, Language: "de-DE"},
	"chinese":       {Width: 390, Language: "zh-CN"},
	"korean":        {Width: 390, Language: "ko-KR"},
}

// TestEveryPageInEveryLook opens each page as somebody who may: no violation of WCAG 2.2 AA (in the dark only contrast
// can be another), no script error, no breach of the content security policy, nothing wider than the window, which only
// a narrow one can show. Pictures go to .shots/.
func TestEveryPageInEveryLook(t *testing.T) {
	dana := as(t, "dana")
	running := dana.running("mig-1g.10gb", map[string]any{"name": "vision-training"})
	stopped := dana.running("cpu", map[string]any{"name": "notes"})
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+str(stopped["id"])+"/stop", nil)
	dana.reaches(str(stopped["id"]), "stopped")
	pending := dana.start("h100", map[string]any{"name": "paper-run", "reason": "Fine-tuning for the paper; needs a " +
		"whole card for two days."})
	t.Cleanup(func() { dana.call(http.MethodPost, "/requests/"+str(pending["id"])+"/withdraw", nil) })
	dana.until("/workloads/"+str(running["id"])+"/metrics", "measured", waitForMetrics, hasDevices)
	w, r := "/workloads/"+str(running["id"]), "/requests/"+str(pending["id"])
	pages := map[string][]string{
		"dana": {"/", "/start", "/start?all=1", w, w + "/objects", w + "/history", w + "/metrics", w + "/extend",
			w + "/delete", "/requests",
			r, r + "/edit", "/storage", "/fleet", "/fleet/use", "/fleet/use/holders", "/licenses", "/usage",
			"/start/size", "/team", "/team/vision", "/team/vision/settings", "/team/vision/quota?size=h100", "/account",
			"/account/notifications", "/api/docs", "/api/docs/submit-request", "/nowhere"},
		"otto": {"/team/vision"},
		"ada":  {"/approvals", "/approvals/" + str(pending["id"]), "/approvals/delegations", "/"},
		"pat": {"/platform", "/fleet", "/fleet/use", "/fleet/use/holders", "/fleet/health",
			"/fleet/health/quarantine?cluster=main&kind=node&name=cpu-01",
			"/licenses",
			"/usage", "/usage/demand", "/usage/reconciliation", "/usage/advice", "/admin/sizes", "/admin/images",
			"/admin/sizes/edit", "/admin/sizes/form?list=sizes&name=cpu", "/admin/sizes/form?list=images",
			"/admin/metrics", "/admin/rules", "/admin/rules/edit", "/admin/rules/rule", "/admin/idle", "/admin/tenants",
			"/admin/tenants/edit",
			"/admin/tenants/edit?name=vision", "/admin/people", "/admin/prices", "/admin/notifications", "/admin/budgets",
			"/admin/budgets/vision", "/audit"},
	}
	for name, l := range looks {
		t.Run(name, func(t *testing.T) {
			for who, paths := range pages {
				p := signIn(t, who, l)
				p.expecting("404")
				for _, path := range paths {
					p.open(path)
					p.sees("h1")
					p.unfolded()
					picture := who + strings.NewReplacer("/", "_", "?", "_", str(running["id"]), "W", str(pending["id"]), "R").
						Replace(path)
					p.fitsTheWindow()
					p.shot(name + "-" + picture)
					if l.Width == 0 {
						p.accessible()
						p.inTheDark(func() { p.contrasts(); p.shot("dark-" + picture) })
					}
				}
			}
		})
	}
}

// unfolded opens the first line of a page's record, so that what it holds is looked at too.
func (p *person) unfolded() {
	p.t.Helper()
	_, err := p.page.Evaluate(`document.querySelector('[data-test=event-more]')?.setAttribute('open', '')`)
	p.do(err)
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
			p.inTheDark(func() { p.contrasts(); p.shot(name + "-dark") })
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
