package oidctest

import (
	"net/http"
	"strings"
)

// userInfo answers for an access token (OpenID Connect Core section 5.3) with what is known of the person now.
func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	g, change := p.access[token], p.hooks.userInfo
	p.mu.Unlock()
	if !bearer || g == nil {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		tokenError(w, http.StatusUnauthorized, "invalid_token")
		return
	}
	user, known := p.user(g.user)
	if !known {
		tokenError(w, http.StatusUnauthorized, "invalid_token")
		return
	}
	claims := map[string]any{"sub": user.Subject}
	addPersonal(claims, user)
	if change != nil {
		change(claims)
	}
	writeJSON(w, http.StatusOK, claims)
}
