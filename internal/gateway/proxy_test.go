package gateway

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// raw sends a call byte by byte, for headers that no client library would write.
func (w *world) raw(call string) *http.Response {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, strings.ReplaceAll(call, "\n", "\r\n")); err != nil {
		w.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// T-PROXY-1: nothing of ours, and nothing a client says about itself, reaches the pod.
func TestWhatIsTakenOff(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	names := []string{
		"X-Forwarded-For", "x-forwarded-for", "X_Forwarded_For", "X-FORWARDED-USER", "X-Forwarded-Email",
		"X-Forwarded-Groups", "X-Forwarded-Access-Token", "X-Forwarded-Host",
		"X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Uri", "x_forwarded_preferred_username",
		"Forwarded", "forwarded", "X-Real-Ip", "x_real_ip",
		"Impersonate-User", "impersonate-group", "Impersonate_Extra_x", "IMPERSONATE-UID", "X-Remote-User", "x-remote-group",
		"X_Remote_Extra_Y", "Remote-User", "REMOTE_USER",
		"kubeflow-userid", "Kubeflow_Userid", "KUBEFLOW-USERID", "Authorization", "authorization", "Proxy-Authorization",
		"X-Auth-Request-User", "X-Auth-Token", "X-Webauth-User",
		"X-User", "x-user-id", "X-Email", "X-Goog-Authenticated-User-Email", "X-Ms-Client-Principal", "X-Amzn-Oidc-Data",
		"X-Original-Url", "X-Rewrite-Url", "True-Client-Ip",
		"X-Jupyterhub-User", "X-Ssl-Client-Cert", "X-Envoy-External-Address", "GAP-Auth", "Gpu-Portal-Person",
		"X-Consumer-Username", "Proxy", "proxy", "X-Accel-Mapping", "X_Accel_Redirect", "X-Sendfile-Type",
	}
	call := "GET /x HTTP/1.1\nHost: nb-anna.apps.test\nConnection: close, X-Forwarded-For, Authorization\n"
	for i, n := range names {
		call += fmt.Sprintf("%s: client-said-%d\n%s: again client-said\n", n, i, n)
	}
	call += "Cookie: a=1; " + cookie + "; _xsrf=keep; __Host-gpu-portal=client-said\ncookie:  " + strings.Replace(cookie,
		"__Host", "__HOST", 1) + ";b=\"2; " + cookie + "\"\n"
	call += "X-XSRFToken: keep\nX-Api-Key: keep\nUser-Agent: keep\n\n"
	saw := sawOf(t, w.raw(call))
	secret := strings.TrimPrefix(cookie, edge.Workload+"=")
	all, _ := json.Marshal(saw)
	if strings.Contains(string(all), "client-said") || strings.Contains(string(all), secret) ||
		strings.Contains(string(all), secret[20:]) {
		t.Errorf("something got through: %s", all)
	}
	want := http.Header{
		"Authorization": {"token " + podSecret}, "X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Host": {"nb-anna.apps.test"},
		"X-Forwarded-Proto": {"http"},
		"Cookie":            {`a=1; _xsrf=keep; b="2`}, "X-Xsrftoken": {"keep"}, "X-Api-Key": {"keep"},
		"User-Agent": {"keep"},
	}
	if diff := cmp.Diff(want, saw.Header); diff != "" {
		t.Errorf("what the pod saw (-want +got):\n%s", diff)
	}
}

func TestWebSocketsAreCleanedToo(t *testing.T) {
	w := newWorld(t)
	socket := w.mustDial("nb-anna", w.signIn(annaPortal, "nb-anna")+"; _xsrf=keep", "X-Remote-User", "admin", "Origin",
		"http://nb-anna.apps.test")
	got, err := w.echo(socket, "headers")
	if err != nil {
		t.Fatal(err)
	}
	var h http.Header
	if err := json.Unmarshal([]byte(got), &h); err != nil {
		t.Fatal(err)
	}
	if h.Get("Authorization") != "token "+podSecret || h.Get("X-Remote-User") != "" || h.Get("Cookie") != "_xsrf=keep" ||
		h.Get("Origin") != "http://nb-anna.apps.test" {
		t.Errorf("want a cleaned call, got %v", h)
	}
}

func TestWebSocketBothWays(t *testing.T) {
	w := newWorld(t)
	socket, _, err := websocket.Dial(t.Context(), "ws://nb-anna.apps.test/ws", &websocket.DialOptions{
		HTTPClient: w.client, HTTPHeader: http.Header{"Cookie": {w.signIn(annaPortal, "nb-anna")}},
		Subprotocols:    []string{"v1.kernel.websocket.jupyter.org"},
		CompressionMode: websocket.CompressionContextTakeover,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.CloseNow() //nolint:errcheck // the test is over
	if p := socket.Subprotocol(); p != "v1.kernel.websocket.jupyter.org" {
		t.Errorf("want the subprotocol agreed, got %q", p)
	}
	socket.SetReadLimit(1 << 22)
	for _, message := range []string{"a", strings.Repeat("b", 1<<20), "c"} {
		if got, err := w.echo(socket, message); err != nil || got != message {
			t.Fatalf("want %d bytes back, got %d, %v", len(message), len(got), err)
		}
	}
}

// Any protocol but websocket could carry calls that nobody here has looked at (h2c smuggling).
func TestOtherUpgradesAreNotPassedOn(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	for _, upgrade := range []string{"h2c", "H2C", "websocket, h2c", "tls/1.0", "websocket\nUpgrade: h2c"} {
		saw := sawOf(t, w.raw("GET / HTTP/1.1\nHost: nb-anna.apps.test\nCookie: "+cookie+"\nConnection: Upgrade, "+
			"HTTP2-Settings\nHTTP2-Settings: AAMAAABk\nUpgrade: "+upgrade+"\n\n"))
		if saw.Header.Get("Upgrade") != "" || saw.Header.Get("Http2-Settings") != "" {
			t.Errorf("%s: got through as %v", upgrade, saw.Header)
		}
	}
}

// T-ORIGIN-3: all workloads are one site to a browser, so SameSite does not keep one's page from another's cookie.
func TestCallsMadeByOtherSites(t *testing.T) {
	w := newWorld(t)
	notebook, endpoint := w.signIn(annaPortal, "nb-anna"), w.signIn(annaPortal, "ep-anna")
	cases := map[string]struct {
		method               string
		headers              []string
		notebook, endpointOK bool
	}{
		"own page, fetch": {http.MethodPost, []string{"Origin", "http://nb-anna.apps.test", "Sec-Fetch-Site",
			"same-origin"}, true, false},
		"a link on another site": {http.MethodGet, navigation, true, true},
		"typed into the address bar": {http.MethodGet, []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate",
			"Sec-Fetch-Dest", "document"}, true, true},
		"a program": {http.MethodPost, nil, true, true},
		"another notebook, fetch": {http.MethodPost, []string{"Origin", "http://nb-jonas.apps.test", "Sec-Fetch-Site",
			"same-site"}, false, false},
		"another notebook, old browser": {http.MethodPut, []string{"Origin", "http://nb-jonas.apps.test"}, false, false},
		"null origin":                   {http.MethodDelete, []string{"Origin", "null"}, false, false},
		"the same name over https":      {http.MethodPost, []string{"Origin", "https://nb-anna.apps.test"}, false, false},
		"another port":                  {http.MethodPost, []string{"Origin", "http://nb-anna.apps.test:81"}, false, false},
		"two origins": {http.MethodPost, []string{"Origin", "http://nb-anna.apps.test", "Origin",
			"http://x.test"}, false, false},
		"a form on another site": {http.MethodPost, with(navigation, "Origin", "http://x.test"), false, false},
		"a form without origin":  {http.MethodPost, navigation, false, false},
		"a script of another notebook": {http.MethodGet, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors",
			"Sec-Fetch-Dest", "script"}, false, true},
		"a frame in another site": {http.MethodGet, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate",
			"Sec-Fetch-Dest", "iframe"}, false, true},
		"reading across origins": {http.MethodGet, []string{"Origin", "http://x.test", "Sec-Fetch-Site", "cross-site",
			"Sec-Fetch-Mode", "cors"}, false, true},
		"a websocket of another site": {http.MethodGet, []string{"Origin", "http://x.test", "Upgrade", "websocket",
			"Connection", "Upgrade"}, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for host, cookie := range map[string]string{"nb-anna": notebook, "ep-anna": endpoint} {
				want := c.notebook
				if host == "ep-anna" {
					want = c.endpointOK
				}
				res := w.call(c.method, host, "/", nil, with(c.headers, "Cookie", cookie)...)
				if ok := res.StatusCode == http.StatusOK; ok != want || !ok && res.StatusCode != http.StatusForbidden {
					t.Errorf("%s: want let through %t, got %d", host, want, res.StatusCode)
				}
			}
		})
	}
	for origin, want := range map[string]bool{"http://nb-anna.apps.test": true, "HTTP://NB-ANNA.apps.test": true,
		"http://nb-jonas.apps.test": false, "null": false, "http://portal.test": false} {
		conn, _, err := w.dial("nb-anna", notebook, "Origin", origin)
		if (err == nil) != want {
			t.Errorf("websocket from %s: want %t, got %v", origin, want, err)
		}
		if err == nil {
			_ = conn.CloseNow()
		}
	}
}

func TestCookiesThatAPodMaySet(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	for line, want := range map[string]string{
		"_xsrf=1; Path=/; expires=Thu, 01 Jan 2037 00:00:00 GMT": "_xsrf=1; Path=/; expires=Thu, 01 Jan 2037 00:00:00 GMT",
		"a=1; Domain=apps.test; Path=/":                          "a=1; Path=/",
		"a=1;DOMAIN = .apps.test;Secure":                         "a=1;Secure",
		"a=1; domain":                                            "a=1",
		"__Host-own=1; Secure; Path=/":                           "__Host-own=1; Secure; Path=/",
		edge.Workload + "=evil; Secure; Path=/":                  "",
		"__host-GPU-workload=evil; Secure; Path=/":               "",
		" " + edge.State + " = evil":                             "",
		"=" + edge.Workload + "=evil":                            "",
		edge.Workload:                                            "",
		"  =x":                                                   "",
	} {
		res := w.get("nb-anna", "/cookies?set="+url.QueryEscape(line), "Cookie", cookie)
		if got := strings.Join(res.Header["Set-Cookie"], "|"); got != want {
			t.Errorf("%q: want %q, got %q", line, want, got)
		}
	}
}

// TestAPodSpeaksForItsOwnAnswersOnly: not for the site, not for the time after it, and not to the proxies in front of
// the portal.
func TestAPodSpeaksForItsOwnAnswersOnly(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	sent := http.Header{"Clear-Site-Data": {`"cookies"`}, "Alt-Svc": {`h2="elsewhere.test:443"`},
		"Strict-Transport-Security": {"max-age=0"}, "X-Accel-Redirect": {"/internal/secret"}, "X-Accel-Limit-Rate": {"1"},
		"X-Accel-Buffering": {"yes"}, "X-Sendfile": {"/etc/passwd"}, "X-Reproxy-Url": {"http://elsewhere.test"},
		"X-Envoy-Overloaded": {"true"}, "Nel": {"{}"}, "Report-To": {"{}"}, "Surrogate-Control": {"max-age=9999"},
		"X-Kept": {"yes"}}
	res := w.get("nb-anna", "/headers?"+url.Values(sent).Encode(), "Cookie", cookie)
	for name := range sent {
		if got := res.Header.Get(name); (got != "") != (name == "X-Kept") {
			t.Errorf("%s: %q", name, got)
		}
	}
	streaming := w.get("nb-anna", "/headers?X-Accel-Buffering=no", "Cookie", cookie)
	if streaming.Header.Get("X-Accel-Buffering") != "no" {
		t.Error("an event stream behind nginx must be able to switch buffering off")
	}
}

// TestHeadersOfTheGatewaysOwnAnswers: T-HEAD for each status that the gateway gives by itself, over https and over
// http.
func TestHeadersOfTheGatewaysOwnAnswers(t *testing.T) {
	for portal, hsts := range map[string]string{"https://portal.test": edge.HSTS, portalURL: ""} {
		w := newWorld(t, func(o *Options, _ *PodsOptions) { o.PortalURL, o.MaxConnections = portal, 1 })
		for what, c := range map[string]struct {
			status  int
			method  string
			host    string
			path    string
			headers []string
		}{
			"no credential": {http.StatusUnauthorized, http.MethodGet, "nb-anna", "/", nil},
			"to the portal": {http.StatusSeeOther, http.MethodGet, "nb-anna", "/", navigation},
			"no such path":  {http.StatusNotFound, http.MethodGet, "nb-anna", "/.gpu-portal/none", navigation},
			"no such host":  {http.StatusNotFound, http.MethodGet, "a.b", "/", nil},
			"no state":      {http.StatusBadRequest, http.MethodGet, "nb-anna", callbackPath + "?code=x", navigation},
			"TRACE":         {http.StatusMethodNotAllowed, http.MethodTrace, "nb-anna", "/", nil},
			"long": {http.StatusRequestHeaderFieldsTooLarge, http.MethodGet, "nb-anna", "/",
				[]string{"X", strings.Repeat("x", 65<<10)}},
			"no cookies to forget": {http.StatusSeeOther, http.MethodGet, "nb-anna", forgetPath, navigation},
		} {
			res := w.call(c.method, c.host, c.path, nil, c.headers...)
			h := res.Header
			if res.StatusCode != c.status || h.Get("Strict-Transport-Security") != hsts ||
				h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" ||
				!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") ||
				!strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
				t.Errorf("%s, %s: %d %v", portal, what, res.StatusCode, h)
			}
		}
	}
}

// TestWorkloadsAreReachedAsThePortalIs: over https from then on, whatever the pod says of that.
func TestWorkloadsAreReachedAsThePortalIs(t *testing.T) {
	w := newWorld(t, func(o *Options, _ *PodsOptions) { o.PortalURL = "https://portal.test" })
	credential := identity.NewCredential()
	w.sessions[credential.ID] = identity.Session{ID: credential.ID, SecretHash: credential.Hash(), Person: "anna",
		Parent: annaPortal, Workload: "w-nb-anna", EndsAt: time.Now().Add(time.Hour)}
	res := w.get("nb-anna", "/headers?Strict-Transport-Security=max-age%3D0", "Cookie",
		edge.Workload+"="+credential.String())
	if got := res.Header["Strict-Transport-Security"]; res.StatusCode != http.StatusOK || len(got) != 1 ||
		got[0] != edge.HSTS {
		t.Errorf("want our policy alone, got %d %q", res.StatusCode, got)
	}
}

// TestPlantedCookiesDoNotKeepAnybodyOut: T-ORIGIN-1. Whatever stands before the real cookie, and however much of it;
// and what is more than a notebook server takes can be got rid of.
func TestPlantedCookiesDoNotKeepAnybodyOut(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	planted := edge.Workload + "=a.b; " + edge.Workload + "=nonsense; "
	if res := w.get("nb-anna", "/", "Cookie", planted+cookie); res.StatusCode != http.StatusOK {
		t.Errorf("a planted session before the real one: want the notebook, got %d", res.StatusCode)
	}
	state, location := w.toPortal("nb-anna", "/lab")
	back := strings.TrimPrefix(w.authorize(annaPortal, location), "http://nb-anna.apps.test")
	other := edge.State + "=" + identity.NewCredential().Secret + "; "
	res := w.get("nb-anna", back, with(navigation, "Cookie", other+edge.State+"="+state)...)
	if res.StatusCode != http.StatusSeeOther {
		t.Errorf("a planted state before the real one: want to be let in, got %d", res.StatusCode)
	}
	bomb := strings.Repeat("bomb="+strings.Repeat("x", 4<<10)+"; ", 100) + cookie
	res = w.get("nb-anna", "/", with(navigation, "Cookie", bomb)...)
	page := text(t, res)
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge || !strings.Contains(page, forgetPath) ||
		res.Header.Get("Clear-Site-Data") != "" {
		t.Errorf("want a page with the way out, and nothing deleted unasked, got %d %s", res.StatusCode, page)
	}
	res = w.get("nb-anna", forgetPath, with(navigation, "Cookie", bomb)...)
	if res.StatusCode != http.StatusOK || res.Header.Get("Clear-Site-Data") != `"cookies"` {
		t.Errorf("want the cookies deleted, got %d %v", res.StatusCode, res.Header)
	}
	res = w.get("nb-anna", forgetPath, with(navigation, "Cookie", cookie)...)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Clear-Site-Data") != "" {
		t.Errorf("a link cannot sign anybody out: got %d %v", res.StatusCode, res.Header)
	}
}

// ReverseProxy passes informational answers on by itself.
func TestEarlyHintsSetNoCookies(t *testing.T) {
	w := newWorld(t)
	res := w.raw("GET /hints HTTP/1.1\nHost: nb-anna.apps.test\nCookie: " + w.signIn(annaPortal, "nb-anna") + "\n\n")
	if res.StatusCode != http.StatusEarlyHints || len(res.Cookies()) != 0 {
		t.Errorf("want a hint without cookies, got %d, %v", res.StatusCode, res.Header)
	}
}

// T-SSRF: only the address that the controller observed for the workload's own pod is ever called, and never one of a
// machine's own services.
func TestAddressesThatAreNeverCalled(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	addresses := []string{
		"127.0.0.1", "127.8.8.8", "::1", "[::1]", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "fe80::1%eth0", "0x7f000001",
		"2130706433", "017700000001", "127.1", "localhost",
		"metadata.google.internal", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "224.0.0.1", "ff02::1", "255.255.255.255",
		"100.100.100.200", "fd00:ec2::254", "10.64.0.5:22",
		"10.64.0.5@evil", "", " 10.64.0.5", "10.64.0.5/x", "10.0.0.256",
	}
	for _, ip := range addresses {
		w.change("nb-anna", func(wl *workload.Workload) { wl.Observed.PodIP = ip })
		w.gw.Wake(t.Context())
		w.pass(60 * time.Millisecond) // longer than an answer holds
		if res := w.get("nb-anna", "/", "Cookie", cookie); res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: want a page that waits, got %d", ip, res.StatusCode)
		}
	}
	for _, port := range []int32{0, -1, 65536} {
		wl := notebook("x", "anna")
		wl.Image.Port = port
		if _, err := w.gw.opts.Pods.target(wl); err == nil {
			t.Errorf("want port %d refused", port)
		}
	}
	wl := notebook("x", "anna")
	wl.Cluster = "c2"
	if _, err := w.gw.opts.Pods.target(wl); err == nil {
		t.Error("want an unknown cluster refused")
	}
	if d := w.dials(); len(d) != 0 {
		t.Errorf("want no connection, got %v", d)
	}
}

func TestTheTargetIsNotTheClients(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	saw := sawOf(t, w.raw("GET http://nb-anna.apps.test/x?y HTTP/1.1\nHost: 169.254.169.254\nCookie: "+cookie+"\n\n"))
	if saw.Host != "nb-anna.apps.test" || saw.URI != "/x?y" {
		t.Errorf("want the own host, got %+v", saw)
	}
	if res := w.raw("GET http://169.254.169.254/latest HTTP/1.1\nHost: nb-anna.apps.test\nCookie: " + cookie +
		"\n\n"); res.StatusCode != http.StatusNotFound {
		t.Errorf("want another host's address refused, got %d", res.StatusCode)
	}
	if res := w.get("nb-anna", "/redirect", "Cookie", cookie); res.StatusCode != http.StatusFound {
		t.Errorf("want a redirect handed on and not followed, got %d", res.StatusCode)
	}
	if d := w.dials(); len(slices.Compact(d)) != 1 || d[0] != "10.64.0.5:8888" {
		t.Errorf("want the pod's address only, got %v", d)
	}
}

func TestPathsGoThroughAsTheyAre(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	for sent, want := range map[string]string{
		"/a%2Fb/c%20d":            "/a%2Fb/c%20d",
		"/x?y=%20&z":              "/x?y=%20&z",
		"/lab?token=stolen&a=1":   "/lab?a=1",
		"/lab?%74oken=stolen":     "/lab",
		"/lab?a=1&token":          "/lab?a=1",
		"/lab?tokens=1&mytoken=2": "/lab?tokens=1&mytoken=2",
		"//double/../dots":        "//double/../dots",
	} {
		saw := sawOf(t, w.raw("GET "+sent+" HTTP/1.1\nHost: nb-anna.apps.test\nCookie: "+cookie+"\n\n"))
		if saw.URI != want {
			t.Errorf("%s: want %s, got %s", sent, want, saw.URI)
		}
	}
}

func TestMethodsAndSizesThatAreRefused(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	for _, method := range []string{"TRACE", "TRACK", "CONNECT"} {
		target := "/"
		if method == "CONNECT" {
			target = "nb-anna.apps.test:80"
		}
		if res := w.raw(method + " " + target + " HTTP/1.1\nHost: nb-anna.apps.test\nCookie: " + cookie +
			"\n\n"); res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: want 405, got %d", method, res.StatusCode)
		}
	}
	if res := w.get("nb-anna", "/", "Cookie", cookie, "X-Long",
		strings.Repeat("x", 65<<10)); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("want 431, got %d", res.StatusCode)
	}
	if d := w.dials(); len(d) != 0 {
		t.Errorf("want no pod called, got %v", d)
	}
}

func TestBodiesAreStreamed(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	const size = 64 << 20
	saw := sawOf(t, w.call(http.MethodPut, "nb-anna", "/api/contents/big", io.LimitReader(zeros{}, size), "Cookie",
		cookie))
	if saw.Body != size {
		t.Errorf("want %d bytes, got %d", size, saw.Body)
	}
	begun := time.Now()
	res := w.get("nb-anna", "/stream", "Cookie", cookie)
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	if err != nil || line != "data: 0\n" || time.Since(begun) > 15*time.Second {
		t.Errorf("want the first event at once, got %q, %v after %s", line, err, time.Since(begun))
	}
	_ = res.Body.Close()
	slow := w.get("nb-anna", "/slow", "Cookie", cookie)
	if _, err := io.ReadFull(slow.Body, make([]byte, 4)); err != nil {
		t.Errorf("want the half that is there, got %v", err)
	}
	_ = slow.Body.Close()
	waitFor(t, "the pod's call to end with the browser's", func() bool { return w.gw.Open() == 0 })
}

// A pod may answer before it has the whole body. The server would close the body with the first piece of the answer, and
// break the answer off where the proxy still reads: one stream in 300, of bodies that had come whole.
func TestAnAnswerMayBeginBeforeTheBodyEnds(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	for _, length := range []int64{8, -1} { // -1: in chunks
		body, rest := io.Pipe()
		go func() { _, _ = io.WriteString(rest, "half") }()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://nb-anna.apps.test/early", body)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		r.Header.Set("Cookie", cookie)
		hung := time.AfterFunc(30*time.Second, func() { _ = rest.CloseWithError(errors.New("no answer yet")) })
		res, err := w.client.Do(r)
		if err != nil {
			t.Fatal("want an answer to half a body, got", err)
		}
		hung.Stop()
		_, _ = io.WriteString(rest, "more")
		_ = rest.Close()
		if got, err := io.ReadAll(res.Body); err != nil || string(got) != "halfmore" {
			t.Errorf("length %d: want both halves, got %q, %v", length, got, err)
		}
		_ = res.Body.Close()
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestPodsThatDoNotAnswer(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	res := w.get("nb-anna", "/break", with(navigation, "Cookie", cookie)...)
	if body := text(t, res); res.StatusCode != http.StatusBadGateway || !strings.Contains(body, "incomplete response") {
		t.Errorf("want 502 in plain words, got %d %s", res.StatusCode, body)
	}
	w.change("nb-anna", func(wl *workload.Workload) { wl.Observed.PodIP = "10.64.9.9" })
	w.gw.Wake(t.Context())
	w.pass(60 * time.Millisecond) // longer than an answer holds
	res = w.get("nb-anna", "/", with(navigation, "Cookie", cookie)...)
	if body := text(t, res); res.StatusCode != http.StatusBadGateway ||
		!strings.Contains(body, "“nb-anna” does not respond yet") ||
		!strings.Contains(body, `http-equiv="refresh" content="3"`) {
		t.Errorf("want a page that tries again, got %d %s", res.StatusCode, body)
	}
	res = w.get("nb-anna", "/api", "Cookie", cookie, "Accept-Language", "de")
	if body := text(t, res); res.Header.Get("Content-Type") != "application/problem+json" ||
		!strings.Contains(body, "antwortet noch nicht") || strings.Contains(body, "10.64") {
		t.Errorf("want a problem in German without inner detail, got %s", body)
	}
}

func TestPagesOfStates(t *testing.T) {
	w := newWorld(t)
	cookie := w.signIn(annaPortal, "nb-anna")
	for _, state := range workload.States() {
		if state == workload.Running || state == workload.Ended || state == workload.Succeeded { // which only jobs are
			continue
		}
		w.change("nb-anna", func(wl *workload.Workload) { wl.State = state })
		w.pass(60 * time.Millisecond) // longer than an answer holds
		for lang, word := range map[string]string{"en": "To the GPU portal", "de": "Zum GPU-Portal"} {
			res := w.get("nb-anna", "/lab", with(navigation, "Cookie", cookie, "Accept-Language", lang)...)
			body := text(t, res)
			if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, word) ||
				!strings.Contains(body, `href="`+portalURL+`/"`) ||
				!strings.Contains(body, `content="3"`) || !strings.Contains(body, `<html lang="`+lang+`">`) ||
				strings.Contains(body, "gateway.state") {
				t.Errorf("%s in %s: got %d %s", state, lang, res.StatusCode, body)
			}
			csp := res.Header.Get("Content-Security-Policy")
			if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") ||
				!strings.Contains(csp, "frame-ancestors 'none'") || res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("want a strict policy, got %s", csp)
			}
		}
	}
}

// BenchmarkProxy compares the gateway with a bare ReverseProxy, and with nginx where one is on the PATH, in the same
// run. Client, proxy and pod share the machine, so "pod" (no proxy at all) says how much of each figure is not the
// proxy's. cpu-µs/op is the processor time of all of them together: on a machine that does other work as well it is the
// figure to compare.
func BenchmarkProxy(b *testing.B) {
	body := []byte(strings.Repeat("x", 1024))
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}))
	b.Cleanup(pod.Close)
	to, _ := url.Parse(pod.URL)
	bare := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
	})
	b.Cleanup(bare.Close)
	w := newWorld(b, func(o *Options, _ *PodsOptions) {
		o.Recheck, o.Traffic = 2*time.Second, traffic.NewRecorder(traffic.RecorderOptions{})
	})
	w.pod.Close()
	w.pod = pod
	cookie := w.signIn(annaPortal, "nb-anna")
	key := w.key("a", "ep-anna", endpointkey.Limits{RequestsPerMinute: 1e9, TokensPerMinute: 1e9, Concurrency: 1000})[1]
	processes := []string{"self"}
	addresses := map[string]string{"bare": bare.Listener.Addr().String(), "gateway": w.server.Listener.Addr().String(),
		"gateway with a key": w.server.Listener.Addr().String(), "pod": pod.Listener.Addr().String()}
	if nginx, err := exec.LookPath("nginx"); err == nil {
		var pid int
		addresses["nginx"], pid = startNginx(b, nginx, pod.Listener.Addr().String())
		workers, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		processes = append(processes, strings.Fields(string(workers))...)
	}
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		address := addresses[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(8)
			call := []byte("GET /api/contents?type=file HTTP/1.1\r\nHost: nb-anna.apps.test\r\nAccept: " +
				"application/json\r\nAccept-Encoding: gzip\r\nAccept-Language: en\r\n" +
				"User-Agent: Mozilla/5.0\r\nReferer: http://nb-anna.apps.test/lab\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: " +
				"cors\r\nSec-Fetch-Dest: empty\r\nX-XSRFToken: x\r\n" +
				"Cookie: _xsrf=2|x; " + cookie + "\r\n\r\n")
			if name == "gateway with a key" { // and limits, and tokens counted
				call = []byte("POST /v1/chat/completions HTTP/1.1\r\nHost: ep-anna.apps.test\r\nAccept: application/json\r\n" +
					"Content-Type: application/json\r\nContent-Length: 2\r\nUser-Agent: OpenAI/Python\r\nAuthorization: " + key +
					"\r\n\r\n{}")
			}
			before := cpuTime(processes)
			defer func() { b.ReportMetric(float64((cpuTime(processes)-before).Microseconds())/float64(b.N), "cpu-µs/op") }()
			b.RunParallel(func(pb *testing.PB) {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					b.Error(err)
					return
				}
				defer conn.Close()
				r := bufio.NewReader(conn)
				for pb.Next() {
					if _, err := conn.Write(call); err != nil {
						b.Error(err)
						return
					}
					res, err := http.ReadResponse(r, nil)
					if err != nil || res.StatusCode != http.StatusOK {
						b.Errorf("got %v, %v", res, err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
				}
			})
		})
	}
}

// startNginx runs one as a plain reverse proxy with kept connections, as somebody would who knows it, and gives its
// address and process.
func startNginx(b *testing.B, program, pod string) (string, int) {
	b.Helper()
	dir := b.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	config := fmt.Sprintf(
		`daemon off; worker_processes auto; pid %[1]s/pid; error_log %[1]s/errors crit; events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
upstream pod { server %[2]s; keepalive 64; keepalive_requests 100000000; }
server { listen %[3]s; location / { proxy_pass http://pod; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr; } } }`,
		dir, pod, address)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", filepath.Join(dir, "errors"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // so that it stops its workers
		_ = cmd.Wait()
	})
	waitFor(b, "nginx", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return address, cmd.Process.Pid
}

// cpuTime is what processes have used of the processors, on Linux; in ticks of 10 ms there.
func cpuTime(processes []string) (sum time.Duration) {
	for _, p := range processes {
		stat, _ := os.ReadFile("/proc/" + p + "/stat")
		_, after, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(after); len(fields) > 12 {
			user, _ := strconv.Atoi(fields[11])
			system, _ := strconv.Atoi(fields[12])
			sum += time.Duration(user+system) * 10 * time.Millisecond
		}
	}
	return sum
}
