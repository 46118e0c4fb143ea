package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

// identityHeaders are names, or beginnings of names when they end with "-", under which something in front of a server
// says who the caller is or where it comes from. A server behind us may believe any of them, so no client may send one.
// Servers that turn headers into variables cannot tell "_" from "-", so names are compared with both as one.
var identityHeaders = []string{
	"authorization", "proxy-authorization", "proxy-authenticate",
	"forwarded", "x-forwarded", "x-forwarded-", "x-original-", "x-rewrite-url", "x-real-ip", "x-client-ip", "client-ip",
	"true-client-ip",
	"x-cluster-client-ip", "cf-connecting-ip", "fastly-client-ip", "x-envoy-", "x-proxyuser-ip", "x-host",
	"impersonate-", "x-remote-", "remote-", "kubeflow-", "x-auth-", "x-authenticated-", "x-webauth-", "x-user", "x-user-",
	"x-username", "x-userid",
	"x-email", "x-groups", "x-roles", "x-access-token", "x-id-token", "x-token-", "x-goog-authenticated-", "x-goog-iap-",
	"x-ms-client-principal",
	"x-ms-token-", "x-amzn-oidc-", "x-pomerium-", "x-vouch-", "x-authentik-", "x-consumer-", "x-credential-",
	"x-jupyterhub-", "gap-", "x-scope-orgid",
	// "Proxy" becomes HTTP_PROXY in CGI-like servers (httpoxy, CVE-2016-5385); the others choose files and paths behind an
	// nginx or Apache in front of an application (CVE-2025-61780).
	"proxy", "x-accel-", "x-sendfile-",
	"x-ssl-", "ssl-client-", "x-client-cert", "x-client-dn", "gpu-portal-", "x-gpu-portal-", "x-gateway-",
}

// exact and prefixes are identityHeaders in the form that is asked on every call.
var exact, prefixes = splitNames(identityHeaders)

func splitNames(names []string) (map[string]bool, []string) {
	whole, begin := map[string]bool{}, []string{}
	for _, n := range names {
		whole[n] = true
		if strings.HasSuffix(n, "-") {
			begin = append(begin, n)
		}
	}
	return whole, begin
}

// harmless are the headers that browsers send all the time, in canonical form, so that most of a call needs no closer
// look.
var harmless = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Accept-Language": true, "Cache-Control": true, "Connection": true,
	"Content-Length": true,
	"Content-Type":   true, "If-Modified-Since": true, "If-None-Match": true, "Origin": true, "Pragma": true,
	"Range": true, "Referer": true,
	"Sec-Fetch-Dest": true, "Sec-Fetch-Mode": true, "Sec-Fetch-Site": true, "Sec-Fetch-User": true,
	"Sec-Websocket-Extensions": true,
	"Sec-Websocket-Key":        true, "Sec-Websocket-Protocol": true, "Sec-Websocket-Version": true, "Upgrade": true,
	"User-Agent": true, "X-Xsrftoken": true,
}

// saysWho reports whether a header could be taken for a statement about the caller.
func saysWho(name string) bool {
	if harmless[name] {
		return false
	}
	name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	if exact[name] {
		return true
	}
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// cleanRequest takes off what a client may not tell the server behind us, and the cookies that are ours.
func cleanRequest(h http.Header) {
	for name := range h {
		if name != "Cookie" && (saysWho(name) || strings.EqualFold(strings.ReplaceAll(name, "_", "-"), "Cookie")) {
			delete(h, name)
		}
	}
	edge.DropOwn(h)
}

// wholeSite are response headers with which a server speaks for more than its answer: to the browser for the site or
// for the time after this workload, or to the proxies in front of the portal.
var wholeSite = []string{
	"Alt-Svc",         // would send browsers elsewhere for this host
	"Clear-Site-Data", // "cookies" empties the whole registrable domain, the portal perhaps included
	"Strict-Transport-Security", "Public-Key-Pins", "Public-Key-Pins-Report-Only", "Expect-Ct",
	"Nel", "Report-To", // browsers report to the address named here long after
	"X-Sendfile", "X-Lighttpd-Send-File", "X-Reproxy-Url", "Surrogate-Control",
}

// proxyWords begin the names of answers to a proxy: nginx follows X-Accel-Redirect to its own files, Envoy takes
// X-Envoy-* as its own findings.
var proxyWords = []string{"X-Accel-", "X-Envoy-"}

// cleanResponse keeps the server behind us from setting our cookies, from setting cookies for other hosts, and from
// speaking for the whole site. "X-Accel-Buffering: no" may pass: event streams need it where nginx is in front, and it
// concerns nothing but its own answer.
func cleanResponse(h http.Header) {
	for _, name := range wholeSite {
		delete(h, name)
	}
	buffering := h["X-Accel-Buffering"]
	for name := range h {
		if slices.ContainsFunc(proxyWords, func(word string) bool { return strings.HasPrefix(name, word) }) {
			delete(h, name)
		}
	}
	if len(buffering) == 1 && buffering[0] == "no" {
		h["X-Accel-Buffering"] = buffering
	}
	cookies, ok := h["Set-Cookie"]
	if !ok {
		return
	}
	kept := cookies[:0]
	for _, line := range cookies {
		if line, ok := cleanSetCookie(line); ok {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		delete(h, "Set-Cookie")
		return
	}
	h["Set-Cookie"] = kept
}

// cleanSetCookie takes the Domain attribute off; false for a cookie that may not be set. A cookie without a name is
// one: browsers send its value alone, and that could be spelt like one of ours.
func cleanSetCookie(line string) (string, bool) {
	parts := strings.Split(line, ";")
	name, _, named := strings.Cut(parts[0], "=")
	name = strings.TrimSpace(name)
	if !named || name == "" || edge.Own(name) ||
		strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return "", false
	}
	kept := parts[:1]
	for _, p := range parts[1:] {
		attribute, _, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(attribute), "domain") {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ";"), true
}

// withoutToken takes "token" out of a query: Jupyter would take it for its own secret, before the one that the gateway
// shows.
func withoutToken(query string) string {
	if !strings.Contains(query, "oken") && !strings.Contains(query, "%") {
		return query
	}
	kept := make([]string, 0, 8)
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if unescaped, err := unescape(name); err == nil && unescaped == "token" {
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, "&")
}
