package oidc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/gpu-portal/gpu-portal/internal/fault"
)

// Renewed is what the provider says of somebody who signed in earlier.
type Renewed struct {
	Groups       []string
	IDToken      string // "" when none came
	RefreshToken string // for the next time; the one before is worth nothing any more at many providers
}

// ErrDisabled is the cause of a refusal when the provider says that the account is switched off, and not only that this
// sign-in is over.
var ErrDisabled = errors.New("the account is switched off at the provider")

// Renew trades a refresh token for the groups of its person as of now. A Forbidden fault is final: the provider has
// ended the sign-in (with the cause ErrDisabled: shut the person out), or its answer cannot be trusted, or does not
// tell the groups. Unavailable when the provider is away or does not fit our settings.
func (c *Client) Renew(ctx context.Context, subject, refreshToken string) (Renewed, error) {
	f, err := c.discover(ctx)
	if err != nil {
		return Renewed{}, err
	}
	token, err := c.refresh(ctx, f, refreshToken)
	if err != nil {
		return Renewed{}, err
	}
	raw, _ := token.Extra("id_token").(string)
	var known claims
	if raw != "" { // a provider may leave it out here (OpenID Connect Core section 12.2)
		if known, err = c.verify(ctx, f, raw, token); err != nil {
			return Renewed{}, asRenewal(err)
		}
		// The nonce bound the first answer to a browser; this one came for a token that nobody else has. Whose it is must not
		// change.
		if known.text("sub") != subject {
			return Renewed{}, refused("oidc.renewal_refused", errors.New("the renewed token is another person's"))
		}
	}
	told, err := c.personal(ctx, f, known, subject, token, true)
	if err != nil {
		return Renewed{}, asFault(err, "oidc.renewal_no_groups")
	}
	groups, err := groupsOf(told[c.config.GroupsClaim])
	if err != nil {
		return Renewed{}, asFault(err, "oidc.renewal_no_groups")
	}
	return Renewed{Groups: groups, IDToken: raw, RefreshToken: token.RefreshToken}, nil
}

// refresh asks the token endpoint (RFC 6749 section 6). The library keeps the refresh token when no other comes.
func (c *Client) refresh(ctx context.Context, f *found, refreshToken string) (*oauth2.Token, error) {
	call, cancel := context.WithTimeout(c.calling(ctx), callTimeout)
	defer cancel()
	token, err := f.oauth.TokenSource(call, &oauth2.Token{RefreshToken: refreshToken}).Token()
	if err == nil {
		c.health.note(true)
		return token, nil
	}
	reason, answered := rejected(err)
	if !lookedAway(ctx) {
		c.health.note(answered)
	}
	cause := fmt.Errorf("renew a sign-in: %w", err)
	switch {
	case !answered:
		return nil, unavailable(cause, firstBackoff)
	case !slices.Contains(final, reason):
		return nil, misfit(cause, mostBackoff)
	case disabled(err):
		return nil, refused("oidc.account_off", fmt.Errorf("%w: %w", ErrDisabled, short(cause)))
	}
	return nil, refused("oidc.renewal_refused", short(cause))
}

// final are the answers after which only the person can go on, by signing in: RFC 6749 section 5.2, and OpenID Connect
// Core section 3.1.2.6, which Microsoft sends here too.
var final = []string{"invalid_grant", "interaction_required", "login_required", "consent_required", "access_denied"}

// switchedOff are words of providers for an account that was disabled; OAuth has no code of its own for that, and an
// invalid_grant alone may only mean that nobody used the sign-in for a while. Keycloak: TokenManager.java ("User
// disabled"); Microsoft: AADSTS50057, https://learn.microsoft.com/entra/identity-platform/reference-error-codes.
var switchedOff = []string{"user disabled", "aadsts50057"}

func disabled(err error) bool {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return false
	}
	text := strings.ToLower(answer.ErrorDescription)
	return slices.ContainsFunc(switchedOff, func(words string) bool { return strings.HasPrefix(text, words) })
}

// asRenewal gives a refusal of verify the sentence for somebody who is signed in.
func asRenewal(err error) error {
	f := asFault(err, "oidc.renewal_refused")
	if fault.Is(f, fault.Forbidden) {
		return refused("oidc.renewal_refused", errors.Unwrap(f))
	}
	return f
}
