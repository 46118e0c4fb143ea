package oidctest

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// logout ends a sign-in at the request of the client (OpenID Connect RP-Initiated Logout 1.0): it forgets the access
// tokens of the session named in id_token_hint, expired or not, and sends the browser back if that is on this machine.
// Refresh tokens of offline_access outlive it (OpenID Connect Back-Channel Logout 1.0, section 2.7).
func (p *Provider) logout(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		p.problem(w, http.StatusBadRequest, "The request cannot be read.")
		return
	}
	hint := r.Form.Get("id_token_hint")
	if hint != "" {
		sid, ok := p.sessionOf(hint)
		if !ok {
			p.problem(w, http.StatusBadRequest, "The ID token was not written by this provider.")
			return
		}
		p.end(sid)
	}
	back := r.Form.Get("post_logout_redirect_uri")
	known := hint != "" || r.Form.Get("client_id") == p.options.ClientID
	target, ok := loopback(back)
	if back == "" || !known || !ok {
		p.say(w, http.StatusOK, "You are signed out", "You can close this window.")
		return
	}
	if state := r.Form.Get("state"); state != "" {
		query := target.Query()
		query.Set("state", state)
		target.RawQuery = query.Encode()
	}
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}

// sessionOf is the sid of an ID token that one of our keys has signed.
func (p *Provider) sessionOf(idToken string) (string, bool) {
	signed, err := jose.ParseSigned(idToken, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return "", false
	}
	for _, key := range p.keys.published().Keys {
		payload, err := signed.Verify(key)
		if err != nil {
			continue
		}
		var claims struct {
			Session string `json:"sid"`
		}
		err = json.Unmarshal(payload, &claims)
		return claims.Session, err == nil
	}
	return "", false
}

func (p *Provider) end(sid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = append(p.ended, sid)
	for token, g := range p.access {
		if g.sid == sid {
			delete(p.access, token)
		}
	}
}

// SignedOut lists the sid of every session that ended at the request of the client, in order.
func (p *Provider) SignedOut() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ended)
}
