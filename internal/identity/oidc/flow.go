package oidc

import (
	"context"
	"crypto/rand"
	"encoding/base64"
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
	return f.oauth.AuthCodeURL(flow.State, goidc.Nonce(flow.Nonce), oauth2.S256ChallengeOption(flow.Verifier)), flow, nil
}

func random() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b[:])
}
