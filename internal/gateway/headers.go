package gateway

import (
	"net/http"
	"strings"
)

// ownCookies begins the name of every cookie of the gateway; notebooks neither see nor set one. Browsers compare these
// prefixes without case.
const ownCookies = "__host-gpu-"

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
func cleanRequest(h http.Header, portalCookies []string) {
	for name := range h {
		if name != "Cookie" && (saysWho(name) || strings.EqualFold(strings.ReplaceAll(name, "_", "-"), "Cookie")) {
			delete(h, name)
		}
	}
	cookies, ok := h["Cookie"]
	if !ok {
		return
	}
	kept := make([]string, 0, 8)
	for _, line := range cookies {
		for part := range strings.SplitSeq(line, ";") {
			part = strings.TrimSpace(part)
			name, _, _ := strings.Cut(part, "=")
			if part != "" && !ours(name, portalCookies) {
				kept = append(kept, part)
			}
		}
	}
	if len(kept) == 0 {
		delete(h, "Cookie")
		return
	}
	h["Cookie"] = []string{strings.Join(kept, "; ")}
}

func ours(cookie string, portalCookies []string) bool {
	cookie = strings.TrimSpace(cookie)
	if len(cookie) >= len(ownCookies) && strings.EqualFold(cookie[:len(ownCookies)], ownCookies) {
		return true
	}
	for _, name := range portalCookies {
		if strings.EqualFold(cookie, name) {
			return true
		}
	}
	return false
}

// cleanResponse keeps the server behind us from setting our cookies, from setting cookies for other hosts, and from
// speaking for the whole site.
func cleanResponse(h http.Header) {
	delete(h, "Alt-Svc")         // would send browsers elsewhere for this host
	delete(h, "Clear-Site-Data") // "cookies" empties the whole registrable domain, the portal perhaps included
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
	if !named || name == "" || ours(name, nil) ||
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
