package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// SignedIn is what a sign-in gave.
type SignedIn struct {
	Person       identity.Person
	IDToken      string    // for LogoutURL
	RefreshToken string    // for Renew; "" when the provider gave none
	ExpiresAt    time.Time // how long the provider stands by it, unless asked again
	Session      string    // sid: the provider's own session, which a logout token may name; "" when it has no name
}

// Finish turns the provider's answer, as the browser brought it in its query, into a person and what the provider gave
// with them. Every refusal is a Forbidden fault with the cause for the log; Unavailable when the provider is away.
func (c *Client) Finish(ctx context.Context, flow Flow, query url.Values) (SignedIn, error) {
	if err := ofThisBrowser(flow, query, c.config.Now()); err != nil {
		return SignedIn{}, err
	}
	f := c.known() // it may be back: what was known is good enough to ask
	if f == nil {
		var err error
		if f, err = c.discover(ctx); err != nil {
			return SignedIn{}, err
		}
	}
	if err := c.checkAnswer(f, query); err != nil {
		return SignedIn{}, err
	}
	token, err := c.trade(ctx, f, flow, query.Get("code"))
	if err != nil {
		return SignedIn{}, err
	}
	raw, _ := token.Extra("id_token").(string)
	known, err := c.verify(ctx, f, raw, token)
	if err != nil {
		return SignedIn{}, err
	}
	if err := known.bound(flow); err != nil {
		return SignedIn{}, refused("oidc.token_refused", err)
	}
	if err := c.learnConsent(f, flow, token); err != nil {
		return SignedIn{}, err
	}
	p, err := c.person(ctx, f, known, token)
	if err != nil {
		return SignedIn{}, err
	}
	expires, _ := known.when("exp") // verify has seen it
	return SignedIn{Person: p, IDToken: raw, RefreshToken: token.RefreshToken, ExpiresAt: expires,
		Session: known.text("sid")}, nil
}

// ofThisBrowser compares the state: an empty one matches nothing, and one that comes twice neither. No call is made
// before.
func ofThisBrowser(flow Flow, query url.Values, now time.Time) error {
	states := query["state"]
	switch {
	case flow.State == "" || flow.Nonce == "" || flow.Verifier == "":
		return flowLost(errors.New("no sign-in is under way"))
	case len(states) != 1 || subtle.ConstantTimeCompare([]byte(states[0]), []byte(flow.State)) != 1:
		return flowLost(errors.New("the state is another browser's, or missing"))
	case !flow.current(now):
		return flowLost(errors.New("the sign-in took too long"))
	}
	return nil
}

// checkAnswer looks at the rest of what the browser brought back: the issuer that we asked (RFC 9207), no error, one
// code.
func (c *Client) checkAnswer(f *found, query url.Values) error {
	for _, name := range []string{"iss", "code", "error"} {
		if len(query[name]) > 1 {
			return refused("oidc.token_refused", fmt.Errorf("%s came %d times", name, len(query[name])))
		}
	}
	if query.Has("iss") && query.Get("iss") != c.config.Issuer {
		return refused("oidc.token_refused", short(fmt.Errorf("the answer is of another issuer: %q", query.Get("iss"))))
	}
	if f.issParam && !query.Has("iss") {
		return refused("oidc.token_refused", errors.New("the answer names no issuer, though this provider does"))
	}
	if reason := query.Get("error"); reason != "" {
		return refused("oidc.denied", short(fmt.Errorf("the provider says %q: %q", reason, query.Get("error_description"))))
	}
	if query.Get("code") == "" {
		return refused("oidc.code_refused", errors.New("no code came"))
	}
	return nil
}

// trade gives code and PKCE verifier for tokens.
func (c *Client) trade(ctx context.Context, f *found, flow Flow, code string) (*oauth2.Token, error) {
	call, cancel := context.WithTimeout(c.calling(ctx), callTimeout)
	defer cancel()
	token, err := f.oauth.Exchange(call, code, oauth2.VerifierOption(flow.Verifier))
	if err == nil {
		c.health.note(true)
		return token, nil
	}
	reason, answered := rejected(err)
	if !lookedAway(ctx) {
		c.health.note(answered)
	}
	switch {
	case !answered:
		return nil, unavailable(fmt.Errorf("trade the code: %w", err), firstBackoff)
	case reason == "invalid_client" || reason == "unauthorized_client":
		return nil, misfit(fmt.Errorf("trade the code: %w", err), mostBackoff)
	}
	return nil, refused("oidc.code_refused", short(fmt.Errorf("trade the code: %w", err)))
}

// verify gives the claims of an ID token (OpenID Connect Core section 3.1.3.7).
func (c *Client) verify(ctx context.Context, f *found, raw string, token *oauth2.Token) (claims, error) {
	if raw == "" {
		return nil, refused("oidc.token_refused", errors.New("no ID token came"))
	}
	idToken, all, err := c.verified(ctx, f, raw)
	if errors.As(err, new(anotherTime)) {
		return nil, refused("oidc.clocks_apart", err)
	}
	if err == nil {
		err = all.subject()
	}
	if err == nil && idToken.AccessTokenHash != "" {
		err = idToken.VerifyAccessToken(token.AccessToken)
	}
	if err != nil {
		return nil, asFault(err, "oidc.token_refused")
	}
	return all, nil
}

// verified gives the claims of a token that is the provider's, for us and of now. Unavailable when its keys cannot be
// had; the fault of any other error is the caller's to name.
func (c *Client) verified(ctx context.Context, f *found, raw string) (*goidc.IDToken, claims, error) {
	if err := f.keys.prepare(ctx, raw); err != nil {
		return nil, nil, unavailable(err, keyInterval)
	}
	token, err := f.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, nil, short(err)
	}
	var all claims
	if err := token.Claims(&all); err != nil {
		return nil, nil, short(err)
	}
	switch err := all.check(c.config, c.config.Now()); {
	case errors.As(err, new(anotherTime)):
		return nil, nil, err
	case err != nil:
		return nil, nil, short(err)
	}
	return token, all, nil
}
