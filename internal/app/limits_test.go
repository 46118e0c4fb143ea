package app

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
	"github.com/gpu-portal/gpu-portal/internal/limit"
)

// tally asks again and again, and says how often each status came.
func tally(t *testing.T, n int, ask func() answer) map[int]int {
	t.Helper()
	got := map[int]int{}
	for range n {
		a := ask()
		got[a.status]++
		if after, err := strconv.Atoi(a.header.Get("Retry-After")); a.status == http.StatusTooManyRequests &&
			(err != nil || after < 1) {
			t.Fatalf("429 without a time to come back: %q", a.header.Get("Retry-After"))
		}
	}
	return got
}

// TestTooOftenIsRefused: what nobody does by hand is answered 429, and only for the one who does it (T-LIMIT).
func TestTooOftenIsRefused(t *testing.T) {
	w := newWorld(t, func(c *config.Config) {
		c.RateLimits = limit.Rates{limit.SignIn: {PerMinute: 1, Burst: 20}, limit.BadToken: {PerMinute: 1, Burst: 20},
			limit.Preview: {PerMinute: 1, Burst: 20}, limit.Notice: {PerMinute: 1, Burst: 3}}
	})
	token := w.token(developer)
	preview := map[string]any{"kind": "notebook", "tenant": "vision", "size": "cpu", "image": "jupyterlab", "lease": "1h"}
	for name, c := range map[string]struct {
		within, status int // as many of 60 are answered with the status
		ask            func() answer
	}{
		"sign-ins begun": {20, http.StatusOK, func() answer { return w.browser().post("/signin", url.Values{}) }},
		"sign-ins ended": {20, http.StatusForbidden, func() answer {
			return w.browser().get("/signin/callback?code=x&state=y")
		}},
		"bad tokens": {20, http.StatusUnauthorized, func() answer { return w.call(token+"x", "GET", "/api/v1/me", nil) }},
		"previews": {20, http.StatusOK, func() answer {
			return w.call(token, "POST", "/api/v1/requests/preview", preview)
		}},
	} {
		if got := tally(t, 60, c.ask); got[c.status] != c.within || got[http.StatusTooManyRequests] != 60-c.within {
			t.Errorf("%s: want %d times %d, then 429, got %v", name, c.within, c.status, got)
		}
	}
	b := w.signedIn(developer)
	got := tally(t, 10, func() answer { return b.post("/account/notifications/test", url.Values{"channel": {"mail"}}) })
	if got[http.StatusTooManyRequests] != 7 {
		t.Errorf("notifications as a test: want 3 and then 429, got %v", got)
	}
	// A good token from the same address, and another person, go on.
	if a := w.call(token, "GET", "/api/v1/me", nil); a.status != http.StatusOK {
		t.Errorf("a valid token beside bad ones: %d", a.status)
	}
	if a := w.call(w.token(other), "POST", "/api/v1/sizing", map[string]any{"work": "train"}); a.status != http.StatusOK {
		t.Errorf("another person: %d %s", a.status, a.body)
	}
}

// TestCallsOfOneTokenAreBounded: each token by itself, so that a runaway script does not lock its owner out.
func TestCallsOfOneTokenAreBounded(t *testing.T) {
	w := newWorld(t, func(c *config.Config) { c.RateLimits = limit.Rates{limit.Call: {PerMinute: 1, Burst: 50}} })
	first, second := w.token(developer), w.token(developer)
	got := tally(t, 60, func() answer { return w.call(first, "GET", "/api/v1/me", nil) })
	if got[http.StatusOK] != 50 || got[http.StatusTooManyRequests] != 10 {
		t.Errorf("want 50 and then 429, got %v", got)
	}
	if a := w.call(second, "GET", "/api/v1/me", nil); a.status != http.StatusOK {
		t.Errorf("another token: %d", a.status)
	}
	if a := w.signedIn(developer).get("/account"); a.status != http.StatusOK {
		t.Errorf("the person in the browser: %d", a.status)
	}
}

// TestBehindAProxyEachAddressCountsByItself: X-Forwarded-For of a trusted proxy is the address; of anybody else it is
// not.
func TestBehindAProxyEachAddressCountsByItself(t *testing.T) {
	rates := limit.Rates{limit.BadToken: {PerMinute: 1, Burst: 5}}
	ask := func(w *world, address string) answer {
		return w.call("gpup_none.x", "GET", "/api/v1/me", nil, "X-Forwarded-For", address)
	}
	t.Run("trusted", func(t *testing.T) {
		w := newWorld(t, func(c *config.Config) {
			c.RateLimits, c.TrustedProxies = rates,
				[]string{"127.0.0.0/8", "::1/128"}
		})
		for i := range 10 {
			if a := ask(w, fmt.Sprintf("192.0.2.%d", i)); a.status != http.StatusUnauthorized {
				t.Errorf("address %d: %d", i, a.status)
			}
		}
		if got := tally(t, 8, func() answer { return ask(w, "192.0.2.99") }); got[http.StatusTooManyRequests] != 3 {
			t.Errorf("one address: %v", got)
		}
	})
	t.Run("anybody", func(t *testing.T) {
		w := newWorld(t, func(c *config.Config) { c.RateLimits = rates })
		n := 0
		got := tally(t, 10, func() answer { n++; return ask(w, fmt.Sprintf("192.0.2.%d", n)) })
		if got[http.StatusTooManyRequests] != 5 {
			t.Errorf("a header that anybody writes must not help: %v", got)
		}
	})
}

// TestOneFlowCookieIsNoWayToTheProvider: each answer with it would make a call of the token endpoint.
func TestOneFlowCookieIsNoWayToTheProvider(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	target, _ := b.post("/signin", url.Values{}).page(t).Find("main a").Attr("href")
	back, err := oidctest.Choose(http.DefaultClient, target, developer)
	if err != nil {
		t.Fatal(err)
	}
	w.provider.Fail(oidctest.Refuses, oidctest.TokenPath)
	flow := b.cookies["__Host-gpu-portal-signin"]
	got := tally(t, 20, func() answer {
		b.cookies["__Host-gpu-portal-signin"] = flow
		return b.get(back.RequestURI())
	})
	if got[http.StatusTooManyRequests] != 15 {
		t.Errorf("want 5 and then 429, got %v", got)
	}
}

// TestOrdinaryPeopleMeetNoLimit: a busy morning with the limits as they are shipped. A hundred sign in from one address
// at once, a form is typed with a preview for each change, and a page is loaded as fast as somebody can click.
func TestOrdinaryPeopleMeetNoLimit(t *testing.T) {
	w := newWorld(t)
	for range 100 {
		if a := w.browser().post("/signin", url.Values{}); a.status != http.StatusOK {
			t.Fatalf("sign-in: %d", a.status)
		}
	}
	b := w.signedIn(developer)
	for range 150 {
		if a := b.post("/start/summary", w.form("POST /start")); a.status != http.StatusOK {
			t.Fatalf("preview: %d", a.status)
		}
	}
	for range 300 {
		if a := b.get("/account"); a.status != http.StatusOK {
			t.Fatalf("page: %d", a.status)
		}
	}
}

// TestRefusedRequestsAreFolded: three hundred in a second were three hundred rows, and rows cannot be removed.
func TestRefusedRequestsAreFolded(t *testing.T) {
	w := newWorld(t)
	token := w.token(developer)
	draft := map[string]any{"kind": "notebook", "tenant": "speech", "size": "cpu", "image": "jupyterlab", "lease": "1h"}
	for range 300 {
		if a := w.call(token, "POST", "/api/v1/requests", draft); a.status < 400 || a.status >= 500 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if n := len(w.events(audit.RequestRefused, audit.AccessRefused)); n != 1 {
		t.Errorf("at once: want one row, got %d", n)
	}
	w.clock.pass(time.Minute)
	if err := w.refusals.Flush(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	rows := w.events(audit.RequestRefused)
	if len(rows) != 2 || fmt.Sprint(rows[0].Detail.Args["Count"]) != "299" || rows[0].Actor != w.person(developer).ID {
		t.Errorf("after a minute: %d rows, %+v", len(rows), rows[0])
	}
}

// TestRefusedAccessIsRecorded: the first and how many more, by whom and from where (ASVS 16.3.2); never what does not
// exist for anybody.
func TestRefusedAccessIsRecorded(t *testing.T) {
	w := newWorld(t)
	token, foreign := w.token(developer), w.running(other, "speech")
	for range 40 {
		w.call(token, "GET", "/api/v1/workloads/"+string(foreign.ID), nil)
		w.call(token, "DELETE", "/api/v1/fleet/main/quarantine/node/n-1", nil)
		w.call(token+"x", "GET", "/api/v1/me", nil)
		w.call("", "GET", "/api/v1/me", nil)
		w.call(token, "GET", "/api/v1/nothing-here", nil)
	}
	w.signedIn(developer).get("/no-such-page")
	w.clock.pass(time.Minute)
	if err := w.server.FlushRefusals(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, e := range w.events(audit.AccessRefused) {
		detail, more := e.Detail, 1
		if e.Detail.ID == "audit.refused_more" {
			more, _ = strconv.Atoi(fmt.Sprint(e.Detail.Args["Count"]))
			detail = textOf(e.Detail.Args["Reason"])
		}
		if e.Address == "" {
			t.Errorf("no address: %+v", e)
		}
		got[fmt.Sprint(e.Actor, " ", detail.Args["Call"], " ", detail.Args["Status"])] += more
	}
	ada := string(w.person(developer).ID)
	want := map[string]int{ada + " GET /api/v1/workloads/{id} 404": 40,
		ada + " DELETE /api/v1/fleet/{cluster}/quarantine/{kind}/{name} 403": 40, " GET none 401": 40}
	for row, n := range want {
		if row == " GET none 401" {
			continue // the route of a call that nobody was let into
		}
		if got[row] != n {
			t.Errorf("%s: want %d, got %d of %v", row, n, got[row], got)
		}
	}
	bad := 0
	for row, n := range got {
		if strings.HasPrefix(row, " GET ") && strings.HasSuffix(row, " 401") {
			bad += n
		} else if want[row] == 0 {
			t.Errorf("%s: %d, and nobody was refused anything", row, n)
		}
	}
	if bad != 40 {
		t.Errorf("bad tokens: want 40, got %d of %v", bad, got)
	}
}

// TestNobodyHasSessionsWithoutEnd: the longest unused end.
func TestNobodyHasSessionsWithoutEnd(t *testing.T) {
	w := newWorld(t, func(c *config.Config) { c.Session.Most = 3 })
	var all []*browser
	for range 5 {
		b := w.browser()
		b.signIn(developer)
		all = append(all, b)
		w.clock.pass(time.Minute)
	}
	for i, b := range all {
		want := http.StatusOK
		if i < 2 {
			want = http.StatusSeeOther
		}
		if a := b.get("/account"); a.status != want {
			t.Errorf("session %d: want %d, got %d", i, want, a.status)
		}
	}
}

// TestOpenPagesAreCountedByPerson: more sessions open no more of them.
func TestOpenPagesAreCountedByPerson(t *testing.T) {
	w := newWorld(t, func(c *config.Config) { c.Session.Pages = 4 })
	open := func(b *browser) int {
		r, err := http.NewRequest(http.MethodGet, w.url+"/live?page=home", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, cookie := range b.cookies {
			r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
		}
		reply, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { reply.Body.Close() })
		return reply.StatusCode
	}
	got := map[int]int{}
	for range 3 {
		b := w.signedIn(developer)
		for range 3 {
			got[open(b)]++
		}
	}
	if got[http.StatusOK] != 4 || got[http.StatusTooManyRequests] != 5 {
		t.Errorf("want 4 open and 5 refused, got %v", got)
	}
	if status := open(w.signedIn(other)); status != http.StatusOK {
		t.Errorf("another person: %d", status)
	}
}

// endless is a body whose length nobody says.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

// TestLargeBodiesAreTooLarge: 413 for pages and API, whether the length is said or not.
func TestLargeBodiesAreTooLarge(t *testing.T) {
	w := newWorld(t)
	b, token := w.signedIn(admin), w.token(admin)
	for _, said := range []bool{true, false} {
		for _, path := range []string{"/start", "/admin/rules/check", "/api/v1/requests", "/api/v1/catalog/check"} {
			r, err := http.NewRequest(http.MethodPost, w.url+path, &endless{3 << 20})
			if err != nil {
				t.Fatal(err)
			}
			if r.ContentLength = -1; said {
				r.ContentLength = 3 << 20
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Origin", w.url)
			if strings.HasPrefix(path, "/api/") {
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer "+token)
			} else {
				r.AddCookie(&http.Cookie{Name: "__Host-gpu-portal", Value: b.session()})
			}
			reply := httptest.NewRecorder()
			w.ServeHTTP(reply, r)
			if reply.Code != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, length said: %v: want 413, got %d", path, said, reply.Code)
			}
		}
	}
}

// TestSettingsOfLimitsAreChecked: a class that is misspelt would bound nothing.
func TestSettingsOfLimitsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := config.Load("", func(string) string { return "" }, func(c *config.Config) {
		c.RateLimits = limit.Rates{"signin": {PerMinute: 1}, limit.Call: {Burst: -1}}
		c.Session.Most, c.Session.Pages = -1, -1
	})
	for _, want := range []string{`unknown class "signin"`, "rateLimits.call: burst", "session: most and pages"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
	if f := new(fault.Error); errors.As(err, &f) {
		t.Errorf("settings are no fault: %v", err)
	}
}

// textOf is a text inside another one, as it comes back from the store.
func textOf(v any) i18n.Text {
	text, _ := v.(i18n.Text)
	return text
}
