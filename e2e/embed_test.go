package e2e

import (
	"encoding/base64"
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

// others is a web server that browsers know by several names, each a site of its own. Its pages hold an iframe with the
// address that they are asked to show, as these products hold it:
//   - /grafana: a text panel in HTML mode as Grafana 13 sanitizes it, in a sandbox without scripts
//     (packages/grafana-data/src/text/sanitize.ts)
//   - /raw: the same with disable_sanitize_html, which leaves the iframe as it was written
//   - /backstage: a card of the iframe plugin, under Backstage's own policy with the frame-src of docs/admins.md
//   - /strict: the same without frame-src
var others = sync.OnceValue(func() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address := r.URL.Query().Get("show")
		policy, attributes, frames := "", "", ""
		switch r.URL.Path {
		case "/grafana":
			attributes = "sandbox credentialless referrerpolicy=no-referrer"
		case "/backstage":
			frames = "frame-src 'self' " + portal.URL + ";"
			fallthrough
		case "/strict":
			attributes = `title="GPUs"`
			policy = "default-src 'self'; base-uri 'self'; font-src 'self' https: data:; frame-ancestors 'self'; " +
				"img-src 'self' data:; object-src 'none'; script-src 'self' 'unsafe-eval'; script-src-attr 'none'; " +
				"style-src 'self' https: 'unsafe-inline';" + frames
		}
		if policy != "" {
			w.Header().Set("Content-Security-Policy", policy)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!doctype html><title>Dashboard</title><link rel="icon" href="data:,"><h1>Dashboard</h1>`+
			`<div class="markdown-html"><iframe src="%s" width="900" height="600" %s></iframe></div>`,
			html.EscapeString(address), attributes)
	}))
})

// otherSite is the origin of one of them; the portal allows pages of "grafana" and "backstage" to show its panels.
func otherSite(name string) string {
	return strings.Replace(others().URL, "127.0.0.1", name+".localhost", 1)
}

// framed opens a page of another site ("grafana/raw") with an address in an iframe, and gives the frame.
func (p *person) framed(page, address string) playwright.FrameLocator {
	p.t.Helper()
	site, path, _ := strings.Cut(page, "/")
	_, err := p.page.Goto(otherSite(site) + "/" + path + "?show=" + url.QueryEscape(address))
	p.do(err)
	return p.page.FrameLocator("iframe")
}

// widened says something else in a token, with the signature that it had.
func widened(t *testing.T, token, from, to string) string {
	t.Helper()
	said, signature, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(said)
	if err != nil || !strings.Contains(string(text), from) {
		t.Fatalf("%v: %s", err, text)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), from, to, 1))) + "." + signature
}

// TestAPanelInAPageOfAnotherSite: a member embeds the GPU use of a workload; a text panel of Grafana, sanitized or
// not, and a card of Backstage show it to somebody who is not signed in, and it updates itself in all of them; another
// site's page, a wider, altered, ended or revoked address show nothing. No cookie is asked for or set.
func TestAPanelInAPageOfAnotherSite(t *testing.T) {
	dana := as(t, "dana")
	item := dana.running("mig-1g.10gb", map[string]any{})
	maker := signIn(t, "dana", look{})
	maker.open("/workloads/" + str(item["id"]))
	maker.click("[data-test=more] > summary")
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
	shows := func(v *person, page string) playwright.FrameLocator {
		frame := v.framed(page, address)
		v.do(v.assert.Locator(frame.Locator("[data-test=embed-title]")).ToContainText(str(item["name"])))
		v.do(v.assert.Locator(frame.Locator("[data-test=state]")).ToHaveText("Running"))
		v.do(v.assert.Locator(frame.Locator("[data-test=workload-gpu]")).ToBeVisible())
		v.do(v.assert.Locator(frame.Locator("html")).ToHaveClass("pf-v6-theme-dark"))
		styled := frame.Locator("body.gp-embed") // by a file of the portal: no margin of the browser's own
		v.do(v.assert.Locator(styled).ToHaveCSS("margin-top", "0px"))
		return frame
	}
	shows(viewer, "grafana/raw")
	frame := shows(viewer, "backstage/backstage")
	viewer.shot("embedded-panel")
	boxed := visit(t, look{})
	boxed.expecting("console:") // fonts of the portal are not for a page without an origin
	sandboxed := shows(boxed, "grafana/grafana")
	boxed.shot("embedded-panel-sandbox")

	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+str(item["id"])+"/stop", nil)
	viewer.do(viewer.assert.Locator(frame.Locator("[data-test=state]")).Not().ToHaveText("Running"))
	boxed.do(boxed.assert.Locator(sandboxed.Locator("[data-test=state]")).Not().ToHaveText("Running"))

	viewer.expecting("console:") // the browser says of each refusal why
	for _, page := range []string{"elsewhere/raw", "elsewhere/grafana", "backstage/strict"} {
		foreign := viewer.framed(page, address)
		viewer.do(viewer.assert.Locator(foreign.Locator("[data-test=embed-title]")).ToHaveCount(0))
		for _, f := range viewer.page.Frames() {
			if text, err := f.Content(); err == nil && strings.Contains(text, "gp-embed") {
				t.Errorf("%s shows the panel: %s", page, f.URL())
			}
		}
	}
	token := func(change func(token string) string) string {
		before, signed, _ := strings.Cut(address, "token=")
		return before + "token=" + change(signed)
	}
	for what, wrong := range map[string]string{
		"another panel":  token(func(s string) string { return widened(t, s, `"p":"workload"`, `"p":"fleet"`) }),
		"a later end":    token(func(s string) string { return widened(t, s, `"u":1`, `"u":9`) }),
		"another letter": token(func(s string) string { return s[:len(s)-2] + "AA" }),
	} {
		refused := viewer.framed("grafana/raw", wrong)
		viewer.do(viewer.assert.Locator(refused.Locator("[data-test=embed-problem]")).
			ToHaveText("This address is not valid."))
		if wrong == address {
			t.Errorf("%s is the address itself", what)
		}
	}

	maker.click("[data-test=embed-manage]")
	maker.click("[data-test=embed-revoke]")
	maker.click("[data-test=embed-revoke-confirm]")
	maker.sees("[data-test=embeds] [data-test=empty]")
	revoked := viewer.framed("grafana/raw", address)
	viewer.do(viewer.assert.Locator(revoked.Locator("[data-test=embed-problem]")).
		ToHaveText("This panel is no longer shared."))
	cookies, err := viewer.context.Cookies()
	viewer.do(err)
	if len(asked)+len(answered)+len(cookies) > 0 {
		t.Errorf("cookies went by: to %v, from %v, kept %v", asked, answered, cookies)
	}
}
