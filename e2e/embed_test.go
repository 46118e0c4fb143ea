package e2e

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// others is a web server that browsers know by several names, each a site of its own. A page of it shows what it is
// asked to in an iframe, as a text panel of a dashboard does, and says what the frame sent it.
var others = sync.OnceValue(func() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!doctype html><title>Dashboard</title><link rel="icon" href="data:,"><h1>Dashboard</h1>`+
			`<iframe src="%s" width="900" height="600"></iframe>`, html.EscapeString(r.URL.Query().Get("show")))
	}))
})

// otherSite is the origin of one of them; the portal allows pages of "grafana" to show its panels.
func otherSite(name string) string {
	return strings.Replace(others().URL, "127.0.0.1", name+".localhost", 1)
}

// framed opens a page of another site with an address in an iframe, and gives the frame.
func (p *person) framed(site, address string) playwright.FrameLocator {
	p.t.Helper()
	_, err := p.page.Goto(otherSite(site) + "/?show=" + url.QueryEscape(address))
	p.do(err)
	return p.page.FrameLocator("iframe")
}

// TestAPanelInAPageOfAnotherSite: a member embeds the GPU use of a workload; a page of the allowed site shows it to
// somebody who is not signed in, and it updates itself; another site's page, and an altered or revoked address, show
// nothing. No cookie is asked for or set.
func TestAPanelInAPageOfAnotherSite(t *testing.T) {
	dana := as(t, "dana")
	item := dana.running("mig-1g.10gb", map[string]any{})
	maker := signIn(t, "dana", look{})
	maker.open("/workloads/" + str(item["id"]))
	maker.click("[data-test=embed]")
	maker.accessible()
	_, err := maker.at("[data-test=embed-theme]").SelectOption(playwright.SelectOptionValues{Values: &[]string{"dark"}})
	maker.do(err)
	maker.click("[data-test=embed-create]")
	address, err := maker.at("[data-test=embed-address] code").TextContent()
	maker.do(err)
	maker.reads("#embed-snippet", "<iframe src=\""+html.EscapeString(address)+"\"")

	viewer := visit(t, look{})
	var asked, answered []string
	viewer.context.OnRequest(func(r playwright.Request) {
		if strings.HasPrefix(r.URL(), portal.URL) && r.Headers()["cookie"] != "" {
			asked = append(asked, r.URL())
		}
	})
	viewer.context.OnResponse(func(r playwright.Response) {
		if strings.HasPrefix(r.URL(), portal.URL) && r.Headers()["set-cookie"] != "" {
			answered = append(answered, r.URL())
		}
	})
	frame := viewer.framed("grafana", address)
	viewer.do(viewer.assert.Locator(frame.Locator("[data-test=embed-title]")).ToContainText(str(item["name"])))
	viewer.do(viewer.assert.Locator(frame.Locator("[data-test=state]")).ToHaveText("Running"))
	viewer.do(viewer.assert.Locator(frame.Locator("[data-test=workload-gpu]")).ToBeVisible())
	viewer.do(viewer.assert.Locator(frame.Locator("html")).ToHaveClass("pf-v6-theme-dark"))
	viewer.shot("embedded-panel")

	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+str(item["id"])+"/stop", nil)
	viewer.do(viewer.assert.Locator(frame.Locator("[data-test=state]")).Not().ToHaveText("Running"))

	viewer.expecting("console:") // the browser says of each refusal why
	foreign := viewer.framed("elsewhere", address)
	viewer.do(viewer.assert.Locator(foreign.Locator("[data-test=embed-title]")).ToHaveCount(0))
	for _, f := range viewer.page.Frames() {
		if text, err := f.Content(); err == nil && strings.Contains(text, "gp-embed") {
			t.Errorf("another site shows the panel: %s", f.URL())
		}
	}
	altered := viewer.framed("grafana", address[:len(address)-2]+"AA")
	viewer.do(viewer.assert.Locator(altered.Locator("[data-test=embed-problem]")).
		ToHaveText("This address is not valid."))

	maker.click("[data-test=embed-manage]")
	maker.click("[data-test=embed-revoke]")
	maker.click("[data-test=embed-revoke-confirm]")
	maker.sees("[data-test=embeds] [data-test=empty]")
	revoked := viewer.framed("grafana", address)
	viewer.do(viewer.assert.Locator(revoked.Locator("[data-test=embed-problem]")).
		ToHaveText("This panel is no longer shared."))
	cookies, err := viewer.context.Cookies()
	viewer.do(err)
	if len(asked)+len(answered)+len(cookies) > 0 {
		t.Errorf("cookies went by: to %v, from %v, kept %v", asked, answered, cookies)
	}
}
