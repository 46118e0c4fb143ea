package oidc

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Flow is one sign-in under way. It binds the provider's answer to the browser that began.
type Flow struct {
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"`
	ReturnTo string    `json:"r"`
	IssuedAt time.Time `json:"t"`
	Consent  bool      `json:"c,omitempty"` // asked with prompt=consent
}

// flowLife is how long somebody may take at the provider.
const flowLife = 10 * time.Minute

// current reports whether the flow is neither too old nor from the future.
func (f Flow) current(now time.Time) bool {
	age := now.Sub(f.IssuedAt)
	return age <= flowLife && age >= -leeway
}

// Begin starts a sign-in: the provider's address to send the browser to, and the Flow to keep in it. Unavailable when
// the provider cannot be reached, or does not say what our settings say.
func (c *Client) Begin(ctx context.Context, returnTo string) (string, Flow, error) {
	f, err := c.discover(ctx)
	if err != nil {
		return "", Flow{}, err
	}
	flow := Flow{State: random(), Nonce: random(), Verifier: oauth2.GenerateVerifier(), ReturnTo: LocalPath(returnTo),
		IssuedAt: c.config.Now()}
	options := []oauth2.AuthCodeOption{goidc.Nonce(flow.Nonce), oauth2.S256ChallengeOption(flow.Verifier)}
	if flow.Consent = c.asksConsent(f); flow.Consent {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent"))
	}
	return f.oauth.AuthCodeURL(flow.State, options...), flow, nil
}

// consent is what sign-ins have shown of the provider since the start.
type consent int

const (
	consentUnknown consent = iota
	consentNeeded          // no refresh token came without
	consentUseless         // nor with it
)

// ErrConsentNeeded is the cause of a Forbidden fault: the sign-in was good, but brought no refresh token because the
// provider wants to ask the person first. The next Begin makes it ask.
var ErrConsentNeeded = errors.New("the provider gives a refresh token only with prompt=consent")

func (f *found) asksOffline() bool { return slices.Contains(f.oauth.Scopes, goidc.ScopeOfflineAccess) }

func (c *Client) asksConsent(f *found) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return f.asksOffline() && (c.config.Consent == ConsentAlways ||
		c.config.Consent == ConsentIfNeeded && c.consent == consentNeeded)
}

// learnConsent notes what a sign-in shows, and fails with ErrConsentNeeded when it is worth another try.
func (c *Client) learnConsent(f *found, flow Flow, token *oauth2.Token) error {
	if c.config.Consent != ConsentIfNeeded || !f.asksOffline() || token.RefreshToken != "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if flow.Consent {
		c.consent = consentUseless
		return nil
	}
	if c.consent == consentUseless {
		return nil
	}
	c.consent = consentNeeded
	return refused("oidc.consent_needed", ErrConsentNeeded)
}

func random() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b[:])
}
