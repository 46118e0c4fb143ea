package oidctest

import (
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// logoutLife is what the specification proposes for a logout token at most.
const logoutLife = 2 * time.Minute

// LogoutToken writes a logout token (OpenID Connect Back-Channel Logout 1.0 section 2.4) for a person, or for one
// session of theirs when sid is not empty, after the tests' changes.
func (p *Provider) LogoutToken(subject, sid string, tampers ...Tamper) (string, error) {
	now, key := p.now(), p.keys.signing()
	token := &Token{Algorithm: string(jose.RS256), KeyID: key.KeyID, Key: key.Key, Claims: map[string]any{
		"iss": p.options.Issuer, "sub": subject, "sid": sid, "aud": p.options.ClientID, "iat": now.Unix(),
		"exp": now.Add(logoutLife).Unix(), "jti": randomText(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}}
	if sid == "" {
		delete(token.Claims, "sid")
	}
	for _, tamper := range tampers {
		tamper(token)
	}
	return token.sign()
}

// SendLogout posts a logout token as a provider does, and gives the answer with its body closed.
func SendLogout(address, token string) (*http.Response, error) {
	answer, err := http.PostForm(address, url.Values{"logout_token": {token}})
	if err != nil {
		return nil, err
	}
	return answer, answer.Body.Close()
}

// Sessions are the sid of every sign-in of a person that has a refresh token.
func (p *Provider) Sessions(subject string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, g := range p.refresh {
		if g.user == subject {
			list = append(list, g.sid)
		}
	}
	return list
}
