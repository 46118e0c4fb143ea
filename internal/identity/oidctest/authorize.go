package oidctest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const codeLife = time.Minute

// authorize checks what the client asks, then shows the people (GET) or signs in the chosen one (POST, or login_hint).
// What is wrong with client or redirect is told to the person; everything else goes back to the client.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		p.problem(w, http.StatusBadRequest, "The request cannot be read.")
		return
	}
	redirect, ok := p.redirectURI(r.Form)
	if !ok {
		p.problem(w, http.StatusBadRequest, "The program that sent you here is not known, or wants you sent to a host "+
			"other than this machine.")
		return
	}
	if code, text := mistake(r.Form); code != "" {
		p.sendBack(w, r, redirect, url.Values{"error": {code}, "error_description": {text}})
		return
	}
	chosen := r.Form.Get("login_hint")
	if r.Method == http.MethodPost {
		chosen = r.PostForm.Get("sub")
	}
	if user, known := p.user(chosen); known {
		p.sendBack(w, r, redirect, url.Values{"code": {p.newCode(user, r.Form)}})
		return
	}
	switch {
	case slices.Contains(strings.Fields(r.Form.Get("prompt")), "none"):
		p.sendBack(w, r, redirect, url.Values{"error": {"login_required"}})
	case r.Method == http.MethodPost:
		p.sendBack(w, r, redirect, url.Values{"error": {"access_denied"}, "error_description": {"Nobody was chosen."}})
	default:
		p.choose(w, r.Form, redirect)
	}
}

// redirectURI is where the client wants the answer, if the client is known and that is on this machine.
func (p *Provider) redirectURI(form url.Values) (*url.URL, bool) {
	if form.Get("client_id") != p.options.ClientID {
		return nil, false
	}
	return loopback(form.Get("redirect_uri"))
}

// loopback parses an absolute http or https URL on this machine: localhost, a name below it, or a loopback address.
func loopback(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.Fragment != "" {
		return nil, false
	}
	host := strings.ToLower(u.Hostname())
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return u, true
	}
	ip := net.ParseIP(host)
	return u, ip != nil && ip.IsLoopback()
}

// mistake is the OAuth error code and text for a request that cannot be answered; both empty when it can.
func mistake(form url.Values) (code, text string) {
	switch {
	case form.Get("response_type") != "code":
		return "unsupported_response_type", "Only the code flow is offered."
	case !slices.Contains(strings.Fields(form.Get("scope")), "openid"):
		return "invalid_scope", "The scope openid is missing."
	case form.Get("code_challenge_method") != "S256" || len(form.Get("code_challenge")) != 43:
		return "invalid_request", "PKCE with S256 is required."
	}
	return "", ""
}

// newCode notes who signed in and what for, and gives a code that works once.
func (p *Provider) newCode(user User, form url.Values) string {
	code := randomText()
	p.mu.Lock()
	defer p.mu.Unlock()
	offline := slices.Contains(strings.Fields(form.Get("scope")), "offline_access") &&
		!p.hooks.noRefresh &&
		(!p.hooks.consent || slices.Contains(strings.Fields(form.Get("prompt")), "consent"))
	p.codes[code] = &grant{
		user: user.Subject, redirectURI: form.Get("redirect_uri"), challenge: form.Get("code_challenge"),
		nonce: form.Get("nonce"), sid: randomText(),
		offline: offline,
		expires: p.now().Add(codeLife),
	}
	return code
}

// sendBack redirects to the client with the answer, its state and our issuer (RFC 9207).
func (p *Provider) sendBack(w http.ResponseWriter, r *http.Request, redirect *url.URL, answer url.Values) {
	target := *redirect
	query := target.Query()
	for name := range answer {
		query.Set(name, answer.Get(name))
	}
	if state := r.Form.Get("state"); state != "" {
		query.Set("state", state)
	}
	query.Set("iss", p.options.Issuer)
	p.mu.Lock()
	change := p.hooks.response
	p.mu.Unlock()
	if change != nil {
		change(query)
	}
	target.RawQuery = query.Encode()
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}

// challengeOf is the S256 challenge of a PKCE verifier (RFC 7636 section 4.2).
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func randomText() string { return rand.Text() }
