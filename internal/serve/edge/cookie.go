// Package edge holds what portal and gateway share towards browsers: the names of their cookies, how these are set,
// read and removed from calls that are passed on (Cookie, Values, KeepOwn, DropOwn), and the HSTS header.
package edge

import (
	"net/http"
	"strings"
	"time"
)

// Prefix begins the name of every cookie of portal and gateway. __Host- binds a cookie to its host, path / and a secure
// channel, which browsers take http://localhost for too, so that no sibling host can set one (RFC 6265bis, section
// 4.1.3.2). The gateway passes no cookie with this prefix on to a workload, and none back.
const Prefix = "__Host-gpu-"

// The cookies, by host: the first eight are the portal's, the others a workload's.
const (
	Session  = Prefix + "portal"
	SignIn   = Prefix + "portal-signin" // one sign-in under way
	Flash    = Prefix + "portal-flash"  // what the page after a redirect says, by name
	Language = Prefix + "portal-lang"
	Theme    = Prefix + "portal-theme"
	Team     = Prefix + "portal-team"
	Nav      = Prefix + "portal-nav"  // which parts of the navigation are folded
	Keys     = Prefix + "portal-keys" // "off": no shortcuts that are a single character

	Workload = Prefix + "workload"
	State    = Prefix + "gateway-state" // ties the way through the portal to one browser
)

// HSTS is the transport policy of every answer when the portal is https (ASVS 3.4.1).
const HSTS = "max-age=31536000; includeSubDomains"

// Cookie is one for this host alone, which no script reads. A life of 0 ends with the browser's session, a negative one
// deletes the cookie.
func Cookie(name, value string, life time.Duration) *http.Cookie {
	age := int(life / time.Second)
	if life < 0 {
		age = -1
	}
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode}
}

// mostValues bounds how many cookies of one name are looked at, since a look may cost a query. A browser sends one;
// others come from a site that found a way around the prefix.
const mostValues = 64

// Values are the different values that came under a name, in the order of the header. The first is not more credible
// than the others: browsers sort by length of path.
func Values(r *http.Request, name string) []string {
	var values []string
	seen := map[string]bool{}
	for _, c := range r.CookiesNamed(name) {
		if !seen[c.Value] && len(values) < mostValues {
			seen[c.Value], values = true, append(values, c.Value)
		}
	}
	return values
}

// Value is the first of Values, for settings of which nothing depends; "" for none.
func Value(r *http.Request, name string) string {
	if values := Values(r, name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// ThemeOf is the theme that the reader chose; "" for what their system says.
func ThemeOf(r *http.Request) string {
	if theme := Value(r, Theme); theme == "dark" || theme == "light" {
		return theme
	}
	return ""
}

// Own reports whether a cookie is the portal's or the gateway's. Browsers compare the prefix without case.
func Own(name string) bool {
	name = strings.TrimSpace(name)
	return len(name) >= len(Prefix) && strings.EqualFold(name[:len(Prefix)], Prefix)
}

// KeepOwn takes all other cookies out of a call's header: they are of other sites under the same domain, and there may
// be very many.
func KeepOwn(h http.Header) { keep(h, Own) }

// DropOwn takes the portal's and the gateway's cookies out of a call's header, as written otherwise.
func DropOwn(h http.Header) { keep(h, func(name string) bool { return !Own(name) }) }

func keep(h http.Header, wanted func(name string) bool) {
	lines, ok := h["Cookie"]
	if !ok {
		return
	}
	kept := make([]string, 0, 8)
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ";") {
			part = strings.TrimSpace(part)
			if name, _, _ := strings.Cut(part, "="); part != "" && wanted(name) {
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
