package gateway

import (
	"net/http"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// foreign reports whether a call with a cookie was made by a page of another site. All hosts of the apps domain are one
// site to a browser, so SameSite keeps none of them from another's cookie: only the origin tells. Coming here by a link
// is fine; everything else a notebook gets must be made by its own pages. Endpoints decide on reading across origins
// themselves (CORS), but changes and websockets by cookie are theirs alone too. Callers that are no browsers send
// neither Origin nor Sec-Fetch-Site and are let through, as http.CrossOriginProtection does.
func foreign(r *http.Request, kind catalog.WorkloadKind, own string) bool {
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	if kind == catalog.Endpoint && safe && !upgrades(r) {
		return false
	}
	for _, origin := range r.Header["Origin"] {
		if !strings.EqualFold(origin, own) {
			return true
		}
	}
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "same-origin" && site != "none" && !followsLink(r) {
			return true
		}
	}
	return false
}

// followsLink reports whether a browser's main window is going to this page; a frame inside another site's page is not
// that.
func followsLink(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !upgrades(r) &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// navigates reports whether a person's browser asks for a page, so that a page is the right answer. Pages lead to
// the portal, so callers from outside get none.
func navigates(r *http.Request) bool {
	if r.Method != http.MethodGet || upgrades(r) || fromOutside(r.Context()) {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

func upgrades(r *http.Request) bool { return len(r.Header["Upgrade"]) > 0 }
