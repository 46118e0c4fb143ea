package app

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/serve"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

// wantHeaders are those of ASVS 3.4, on every answer.
func wantHeaders(t *testing.T, what string, h http.Header) {
	t.Helper()
	csp := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'",
		"form-action 'self'"} {
		if !strings.Contains(csp, part) {
			t.Errorf("%s: the policy lacks %s: %q", what, part, csp)
		}
	}
	if strings.Contains(csp, "unsafe") {
		t.Errorf("%s: the policy allows what is unsafe: %q", what, csp)
	}
	if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" ||
		h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("%s: nosniff %q, referrer policy %q", what, h.Get("X-Content-Type-Options"), h.Get("Referrer-Policy"))
	}
	if len(h.Values("Content-Security-Policy")) != 1 || h.Get("Server") != "" || h.Get("X-Powered-By") != "" {
		t.Errorf("%s: one policy and no boasting, got %v", what, h)
	}
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials"} {
		if h.Get(name) != "" {
			t.Errorf("%s: %s: %s", what, name, h.Get(name))
		}
	}
}

// TestHeaders crawls every route as nobody and as an admin, with things that exist and that do not (T-HEAD).
func TestHeaders(t *testing.T) {
	w := newWorld(t)
	token := w.token(admin)
	look := func(what string, a answer) {
		if strings.HasPrefix(what, "GET "+embed.Path+" ") || what == "GET "+embed.Path {
			// the one page that other sites may frame
			if got := a.header.Get("Content-Security-Policy"); got != embeddedCSP {
				t.Errorf("%s: %q", what, got)
			}
		} else {
			wantHeaders(t, what, a.header)
		}
		if got := a.header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: want no-store, got %q", what, got)
		}
	}
	for _, route := range w.routes() {
		_, pattern, _ := strings.Cut(route, " ")
		look(route+" as nobody", w.ask(route, w.fillMissing(pattern), w.browser(), ""))
		look(route+" for nothing", w.ask(route, w.fillMissing(pattern), w.signedIn(admin), token))
		look(route, w.ask(route, w.fill(pattern, developer, "vision"), w.signedIn(admin), token))
	}
	for what, path := range map[string]string{"no page": "/none", "no operation": "/api/v1/none",
		"an odd path": "/api/v1//me", "no file": "/static/none.css", "the document": "/api/v1/openapi.json",
		"a stream": "/live?page=home"} {
		a := w.signedIn(developer).get(path)
		wantHeaders(t, what, a.header)
		if strings.HasSuffix(path, ".css") && a.status != http.StatusNotFound {
			t.Errorf("%s: %d", what, a.status)
		}
	}
	wantHeaders(t, "too large", w.call(token, http.MethodPost, "/api/v1/requests", strings.Repeat("x", 2<<20)).header)
	page := w.signedIn(developer).get("/").page(t)
	style, _ := page.Find("link[rel=stylesheet]").Attr("href")
	a := w.browser().get(style)
	if got := a.header.Get("Cross-Origin-Resource-Policy"); got != "cross-origin" {
		t.Errorf("a style is for panels in a sandbox, too: %q", got)
	}
	a.header.Set("Cross-Origin-Resource-Policy", "same-origin") // the rest is as everywhere
	wantHeaders(t, "a file", a.header)
	script, _ := page.Find("script[src]").Attr("src")
	wantHeaders(t, "a script", w.browser().get(script).header)
	if a.status != http.StatusOK || !strings.Contains(a.header.Get("Cache-Control"), "immutable") {
		t.Errorf("a file under its content hash is kept: %d %q", a.status, a.header.Get("Cache-Control"))
	}
}

// TestPlantedCookiesDoNotKeepAnybodyOut: a sibling host cannot end a session with 400 KiB of cookies, nor with a
// session of its own before the real one, nor speak through our notices (T-ORIGIN-1).
func TestPlantedCookiesDoNotKeepAnybodyOut(t *testing.T) {
	w := newWorld(t)
	session := w.signedIn(developer).session()
	for name, c := range map[string]struct{ before, after string }{
		"another session before": {edge.Session + "=AAAA.BBBB; ", ""},
		"nonsense around":        {edge.Session + "=; " + edge.Session + "=%00; ", "; " + edge.Session + "=x"},
		"100 cookies of 4 KiB":   {strings.Repeat("bomb="+strings.Repeat("x", 4000)+"; ", 100), ""},
	} {
		b := w.browser()
		b.headers["Cookie"] = c.before + edge.Session + "=" + session + c.after
		if got := b.get("/storage"); got.status != http.StatusOK {
			t.Errorf("%s: want the page, got %d", name, got.status)
		}
	}
	b := w.browser()
	b.headers["Cookie"] = "flash=approved; theme=dark; lang=de; team=vision; " + edge.Session + "=" + session
	page := b.get("/storage").page(t)
	if page.Find("[data-test=flash]").Length() != 0 || page.Find("html").AttrOr("lang", "") != "en" {
		t.Error("cookies that any host could set say something on the page")
	}
	in, planted := w.browser(), w.browser()
	target := in.wayToProvider()
	planted.wayToProvider()
	in.headers["Cookie"] = edge.SignIn + "=" + planted.cookies[edge.SignIn].Value + "; " + edge.SignIn + "=" +
		in.cookies[edge.SignIn].Value
	if got := in.comeBack(target, developer); got.status != http.StatusSeeOther || in.session() == "" {
		t.Errorf("a planted sign-in before the real one: got %d %s", got.status, got.body)
	}
}

func TestHTTPSOnlyFromThenOn(t *testing.T) {
	w := newWorld(t, func(c *config.Config) { c.URL, c.AppsDomain = "https://gpu.example.org", "work.example.org" })
	for _, path := range []string{"/healthz", "/none", "/api/v1/me"} {
		if got := w.browser().get(path).header.Get("Strict-Transport-Security"); !strings.Contains(got, "max-age=31536000") ||
			!strings.Contains(got, "includeSubDomains") {
			t.Errorf("%s: %q", path, got)
		}
	}
	if !strings.Contains(w.log.String(), "siblings under example.org") {
		t.Error("want to be warned at the start that portal and workloads are siblings (T-ORIGIN-2)")
	}
}

// foreign is how calls look that another site makes a browser send.
var foreign = map[string]map[string]string{
	"a foreign origin":                   {"Origin": "https://evil.example", "Sec-Fetch-Site": ""},
	"a foreign origin, newer browser":    {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
	"a null origin":                      {"Origin": "null", "Sec-Fetch-Site": ""},
	"a sibling host":                     {"Origin": "http://nb.localhost", "Sec-Fetch-Site": "same-site"},
	"the portal's host on another port":  {"Origin": "http://localhost:1", "Sec-Fetch-Site": "same-site"},
	"no origin, but cross-site":          {"Origin": "", "Sec-Fetch-Site": "cross-site"},
	"nothing that says where it is from": {"Origin": "", "Sec-Fetch-Site": ""},
	"a host that looks like ours":        {"Origin": "http://localhost.evil.example", "Sec-Fetch-Site": ""},
}

// TestForeignCallsChangeNothing: T-CSRF. The workload, the request and the storage are the developer's own, and the
// session is real.
func TestForeignCallsChangeNothing(t *testing.T) {
	w := newWorld(t)
	for _, route := range w.routes() {
		method, pattern, _ := strings.Cut(route, " ")
		if method == http.MethodGet || pattern == serve.BackChannelPath { // see TestOnlyItsSignatureCounts
			continue
		}
		path := w.fill(pattern, developer, "vision")
		before := w.changes()
		b := w.signedIn(developer)
		if strings.HasPrefix(pattern, "/approvals/") {
			b = w.signedIn(approver)
		}
		for name, headers := range foreign {
			b.headers = headers
			if got := b.do(method, path, w.form(route)); got.status != http.StatusForbidden {
				t.Errorf("%s with %s: want 403, got %d", route, name, got.status)
			}
		}
		if b.session() == "" || w.changes() != before {
			t.Errorf("%s: something changed: %d events more", route, w.changes()-before)
		}
	}
	// The refusal is told in the reader's language. Refusals once came before the language was known, and each loaded all
	// messages anew.
	b := w.browser()
	b.headers = map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site",
		"Accept-Language": "de"}
	if got := b.post("/signout", url.Values{}); got.header.Get("Content-Language") != "de" ||
		!strings.Contains(got.body, "Aufruf") {
		t.Errorf("want a German refusal, got %s", got.body)
	}
	// Programs with a token are not browsers.
	item := w.running(developer, "vision")
	if got := w.call(w.token(developer), http.MethodPost, "/api/v1/workloads/"+string(item.ID)+"/stop", nil, "Origin",
		"https://evil.example"); got.status != http.StatusOK {
		t.Errorf("a token: want 200, got %d", got.status)
	}
	// Behind a proxy that puts another Host into the call, the portal's own origin is still its own.
	r := httptest.NewRequest(http.MethodPost, "http://10.0.0.1:8080/settings/theme", strings.NewReader("theme=dark"))
	r.Header.Set("Origin", w.url)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: edge.Session, Value: w.signedIn(developer).session()})
	got := httptest.NewRecorder()
	w.ServeHTTP(got, r)
	if got.Code != http.StatusSeeOther {
		t.Errorf("another Host: want 303, got %d", got.Code)
	}
}

// changes is how many events are on record, beside those that say that a call was refused.
func (w *world) changes() int { return len(w.events()) - len(w.events(audit.AccessRefused)) }

// TestReadingChangesNothing: no GET moves anything.
func TestReadingChangesNothing(t *testing.T) {
	w := newWorld(t)
	token := w.token(owner)
	before := map[string]int{}
	for _, route := range w.routes() {
		method, pattern, _ := strings.Cut(route, " ")
		if pattern == "/signin/callback" { // a refused sign-in goes on record
			continue
		}
		path := w.fill(pattern, developer, "vision")
		before[route] = w.changes()
		if method == http.MethodGet {
			w.ask(route, path, w.signedIn(owner), token)
		} else if !strings.HasPrefix(pattern, "/api/") {
			w.signedIn(owner).get(path + "?" + w.form(route).Encode())
		}
		if after := w.changes(); after != before[route] {
			t.Errorf("GET for %s left %d events", route, after-before[route])
		}
	}
}

// TestForwardedHeaders: who and from where is never taken from a header, unless a trusted proxy sent it (T-HDR).
func TestForwardedHeaders(t *testing.T) {
	headers := []string{"X-Forwarded-For", "203.0.113.7, 198.51.100.9", "X-Real-Ip", "203.0.113.8", "Forwarded",
		"for=203.0.113.9", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "https",
		"X-Forwarded-User", "admin", "X-Remote-User", "admin", "X-Forwarded-Groups", "admins", "kubeflow-userid", "admin",
		"Impersonate-User", "admin", "X-Auth-Request-Email", "adam@example.org"}
	cases := map[string]struct {
		trusted []string
		want    string
	}{
		"nobody is trusted":       {nil, "127.0.0.1"},
		"somebody else is":        {[]string{"10.0.0.0/8"}, "127.0.0.1"},
		"the proxy is":            {[]string{"127.0.0.0/8"}, "198.51.100.9"},
		"so is the one before it": {[]string{"127.0.0.0/8", "198.51.100.0/24"}, "203.0.113.7"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(cfg *config.Config) { cfg.TrustedProxies = c.trusted })
			if got := w.call("", http.MethodGet, "/api/v1/me", nil, headers...).status; got != http.StatusUnauthorized {
				t.Errorf("a header let somebody in: %d", got)
			}
			a := w.call(w.token(developer), http.MethodPost, "/api/v1/requests", map[string]any{"kind": "notebook",
				"tenant": "vision", "size": "cpu", "image": "jupyterlab"}, headers...)
			if a.status != http.StatusCreated {
				t.Fatal(a.body)
			}
			if got := w.events("request.submitted")[0].Address; got != c.want {
				t.Errorf("want the address %s on record, got %s", c.want, got)
			}
			b := w.browser()
			b.headers = map[string]string{"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
			for _, path := range []string{"/storage", "/signin"} {
				got := b.get(path)
				if strings.Contains(got.header.Get("Location")+got.body, "evil.example") {
					t.Errorf("%s: the header came back", path)
				}
			}
			if left := b.post("/signin", url.Values{}); strings.Contains(left.body, "evil.example") {
				t.Error("sign-in: the header came back")
			}
		})
	}
}

// TestOddHosts: a Host header is no reason to fail, to show more, or to be repeated.
func TestOddHosts(t *testing.T) {
	w := newWorld(t)
	for _, host := range []string{"evil.example", "localhost.", "LOCALHOST", "localhost:99999", "127.0.0.1", "[::1]:80",
		"..", "x.localhost.evil.example", "-.localhost", "a.b.localhost", strings.Repeat("a", 300) + ".localhost"} {
		raw, err := net.Dial("tcp", w.url[len("http://"):])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(raw, "GET /storage HTTP/1.1\r\nHost: %s\r\nAccept: text/html\r\nConnection: close\r\n\r\n", host)
		reply, err := http.ReadResponse(bufio.NewReader(raw), nil)
		if err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		a := read(t, reply)
		_ = raw.Close()
		if a.status < 300 || a.status >= 500 {
			t.Errorf("%s: %d", host, a.status)
		}
		if to := a.header.Get("Location"); strings.Contains(to, "evil") || strings.Contains(a.body, "evil") {
			t.Errorf("%s came back: %s %s", host, to, a.body)
		}
	}
}

// TestLimits: what is too much is refused, with a reason, and without harm to others (T-LIMIT).
func TestLimits(t *testing.T) {
	w := newWorld(t)
	token := w.token(developer)
	deep := strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000)
	for name, c := range map[string]struct {
		method, path string
		body         any
	}{
		"two MiB":          {http.MethodPost, "/api/v1/requests", `{"reason":"` + strings.Repeat("x", 2<<20) + `"}`},
		"100 KiB":          {http.MethodPost, "/api/v1/requests", `{"reason":"` + strings.Repeat("x", 100<<10) + `"}`},
		"deep JSON":        {http.MethodPost, "/api/v1/requests", deep},
		"no JSON":          {http.MethodPost, "/api/v1/requests", "{"},
		"a list":           {http.MethodPost, "/api/v1/requests", "[]"},
		"nothing":          {http.MethodPost, "/api/v1/requests", nil},
		"limit 1e9":        {http.MethodGet, "/api/v1/requests?limit=1e9", nil},
		"limit 1000000000": {http.MethodGet, "/api/v1/workloads?limit=1000000000", nil},
		"limit -1":         {http.MethodGet, "/api/v1/requests?limit=-1", nil},
		"a false cursor":   {http.MethodGet, "/api/v1/requests?cursor=%27%20OR%201=1", nil},
		"a long tenant":    {http.MethodGet, "/api/v1/requests?tenant=" + strings.Repeat("a", 5000), nil},
	} {
		a := w.call(token, c.method, c.path, c.body)
		want := http.StatusUnprocessableEntity
		if text, is := c.body.(string); is && len(text) > 64<<10 {
			want = http.StatusRequestEntityTooLarge
		}
		if a.status != want || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: want a problem with %d, got %d %s", name, want, a.status, a.body)
		}
	}
	if got := w.signedIn(developer).post("/start",
		url.Values{"reason": {strings.Repeat("x", 2<<20)}}).status; got != http.StatusRequestEntityTooLarge {
		t.Errorf("a page: want 413, got %d", got)
	}
}

// TestStreamsAreCounted: one person cannot hold any number of streams, and the places come back.
func TestStreamsAreCounted(t *testing.T) {
	w := newWorld(t)
	session := w.signedIn(developer).session()
	open := func() *http.Response {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/live?page=home", nil)
		r.AddCookie(&http.Cookie{Name: edge.Session, Value: session})
		reply, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	n := map[int]int{}
	var streams []*http.Response
	for range 100 {
		reply := open()
		n[reply.StatusCode]++
		streams = append(streams, reply)
	}
	if n[200] != 64 || n[429] != 36 {
		t.Errorf("want 64 streams and 36 refusals, got %v", n)
	}
	if got := w.signedIn(other).get("/live?page=home").status; got != http.StatusOK {
		t.Errorf("another person: %d", got)
	}
	for _, s := range streams {
		_ = s.Body.Close()
	}
	again := w.signedIn(developer)
	w.until("the places come back", func() bool { return again.get("/live?page=home").status == http.StatusOK })
}
