package oidctest

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"time"
)

const tokenLife = time.Hour

// token trades a code with its PKCE verifier, or a refresh token, for tokens (RFC 6749 sections 4.1.3 and 6).
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		tokenError(w, http.StatusBadRequest, "invalid_request")
		return
	}
	if !p.clientProved(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="token"`)
		tokenError(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	var g *grant
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		g = p.redeem(r.PostForm)
	case "refresh_token":
		g = p.renew(r.PostForm.Get("refresh_token"))
	default:
		tokenError(w, http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	if g == nil {
		tokenError(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	if p.isDisabled(g.user) {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "User disabled"})
		return
	}
	user, known := p.user(g.user)
	if !known {
		tokenError(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	p.answerTokens(w, user, g)
}

func tokenError(w http.ResponseWriter, status int, code string) {
	writeJSON(w, status, map[string]string{"error": code})
}

// clientProved checks id and secret from the header (client_secret_basic, form-encoded as RFC 6749 section 2.3.1 says)
// or from the body (client_secret_post).
func (p *Provider) clientProved(r *http.Request) bool {
	id, secret, basic := r.BasicAuth()
	if basic {
		var errID, errSecret error
		id, errID = url.QueryUnescape(id)
		secret, errSecret = url.QueryUnescape(secret)
		if errID != nil || errSecret != nil {
			return false
		}
	} else {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	return equal(id, p.options.ClientID) && equal(secret, p.options.ClientSecret)
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// redeem takes a code once. A second time is theft: it gives nothing and revokes what the first time gave.
func (p *Provider) redeem(form url.Values) *grant {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.codes[form.Get("code")]
	if g == nil {
		return nil
	}
	if g.used {
		for _, token := range g.tokens {
			delete(p.access, token)
			delete(p.refresh, token)
		}
		return nil
	}
	if p.now().After(g.expires) || g.redirectURI != form.Get("redirect_uri") ||
		!equal(challengeOf(form.Get("code_verifier")), g.challenge) {
		return nil
	}
	g.used = true
	return g
}

// renew takes a refresh token once. One that this process did not give may be of the process before, when the keys
// outlive it.
func (p *Provider) renew(token string) *grant {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.refresh[token]
	if g == nil && !p.given[token] {
		g = p.keys.openGrant(token)
	}
	delete(p.refresh, token)
	p.given[token] = true
	return g
}

func (p *Provider) answerTokens(w http.ResponseWriter, user User, g *grant) {
	access, refresh := randomText(), ""
	p.mu.Lock()
	p.access[access] = g
	g.tokens = append(g.tokens, access)
	if g.offline {
		refresh = p.keys.sealGrant(g)
		p.refresh[refresh], p.given[refresh] = g, true
		g.tokens = append(g.tokens, refresh)
	}
	p.mu.Unlock()
	idToken, err := p.idToken(user, g, access)
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "server_error",
			"error_description": err.Error()})
		return
	}
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(tokenLife.Seconds())}
	if idToken != "" {
		answer["id_token"] = idToken
	}
	if refresh != "" {
		answer["refresh_token"] = refresh
	}
	writeJSON(w, http.StatusOK, answer)
}
