package e2e

import (
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// asks notes a call of a page; one to another machine is a fault.
func (p *person) asks(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" { // data:, blob:, about:
		return
	}
	p.mu.Lock()
	p.asked[u.Scheme+"://"+u.Host] = true
	p.mu.Unlock()
	host := u.Hostname()
	if host != "localhost" && !strings.HasSuffix(host, ".localhost") && !net.ParseIP(host).IsLoopback() {
		p.fault("a page calls " + address)
	}
}

func (p *person) origins() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.asked))
}

// TestPagesAskNobodyElse: a site without the Internet. The main pages of each role, from the sign-in on, call the
// portal and the sign-in provider, and nobody else.
func TestPagesAskNobodyElse(t *testing.T) {
	provider, err := url.Parse(world.OIDCIssuer)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{portal.URL, provider.Scheme + "://" + provider.Host}
	slices.Sort(want)
	for who, paths := range map[string][]string{
		"dana": {"/", "/start", "/start/size", "/requests", "/storage", "/fleet", "/fleet/use", "/licenses", "/usage",
			"/team/vision", "/account", "/nowhere"},
		"otto":   {"/", "/team/vision"},
		"audrey": {"/", "/usage", "/fleet", "/audit"},
		"ada":    {"/", "/approvals", "/approvals/delegations"},
		"pat": {"/platform", "/fleet/health", "/usage/demand", "/usage/reconciliation", "/admin/sizes", "/admin/images",
			"/admin/metrics", "/admin/rules", "/admin/idle", "/admin/tenants", "/admin/people", "/admin/prices",
			"/admin/notifications", "/admin/budgets", "/audit"},
	} {
		t.Run(who, func(t *testing.T) {
			delete(sessions, sessionOf(who)) // the way through the provider is a part of this
			p := signIn(t, who, look{})
			p.expecting("404")
			for _, path := range paths {
				p.open(path)
				p.sees("h1")
				p.do(p.page.WaitForLoadState(playwright.PageWaitForLoadStateOptions{State: playwright.LoadStateLoad}))
			}
			if got := p.origins(); !slices.Equal(want, got) {
				t.Errorf("want calls to %v alone, got %v", want, got)
			}
		})
	}
}

// TestAPageThatCallsOutsideIsCaught, or the stories would show nothing.
func TestAPageThatCallsOutsideIsCaught(t *testing.T) {
	p := visit(t, look{})
	p.who = "a visitor"
	p.expecting("outside.invalid")
	p.expecting("Failed to load resource")
	p.do(p.page.SetContent(`<link rel="stylesheet" href="https://outside.invalid/font.css"><h1>Outside</h1>`))
	p.sees("h1")
	if got := p.origins(); !slices.Contains(got, "https://outside.invalid") {
		t.Errorf("nobody noticed: %v", got)
	}
	q := &person{asked: map[string]bool{}}
	for _, address := range []string{"https://outside.invalid/a.png", "http://10.0.0.1/",
		"https://localhost.example.org/"} {
		if q.asks(address); len(q.faults) == 0 {
			t.Errorf("%s is let through", address)
		}
		q.faults = nil
	}
	for _, address := range []string{"data:text/plain,a", "http://localhost:8080/", "http://nb.localhost:8080/",
		"http://127.0.0.1:1/", "about:blank"} {
		if q.asks(address); len(q.faults) > 0 {
			t.Errorf("%s is not let through", address)
		}
	}
}
