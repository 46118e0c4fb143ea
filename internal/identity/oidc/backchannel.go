package oidc

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

const (
	logoutEvent    = "http://schemas.openid.net/event/backchannel-logout"
	maxLogoutToken = 16 << 10
)

// BackChannelLogout reads a logout token (OpenID Connect Back-Channel Logout 1.0 section 2.6). A token that must not
// end anything is a Forbidden fault with the cause for the log; Unavailable when the provider's keys cannot be had.
// Whether the token came before is the caller's to know.
func (c *Client) BackChannelLogout(ctx context.Context, raw string) (identity.ProviderLogout, error) {
	if raw == "" || len(raw) > maxLogoutToken {
		return identity.ProviderLogout{}, refused("oidc.logout_refused", errors.New("no token, or one that is too long"))
	}
	f := c.known()
	if f == nil {
		var err error
		if f, err = c.discover(ctx); err != nil {
			return identity.ProviderLogout{}, err
		}
	}
	_, all, err := c.verified(ctx, f, raw)
	if err == nil {
		err = all.isLogout()
	}
	if err != nil {
		return identity.ProviderLogout{}, asFault(err, "oidc.logout_refused")
	}
	l := identity.ProviderLogout{Session: all.text("sid"), ID: all.text("jti")}
	expires, _ := all.when("exp") // verified has seen it
	l.Until = expires.Add(leeway)
	if all["sub"] != nil {
		l.Person = identity.NewPersonID(c.config.Issuer, all.text("sub"))
	}
	return l, nil
}

// isLogout looks at what makes a logout token of a token: it says whose, which event, and is no ID token.
func (c claims) isLogout() error {
	var events map[string]map[string]json.RawMessage
	switch {
	case c["nonce"] != nil:
		return errors.New("it has a nonce, as ID tokens have")
	case json.Unmarshal(c["events"], &events) != nil || events[logoutEvent] == nil:
		return errors.New("it is about no logout")
	case c.text("jti") == "" || len(c.text("jti")) > 255:
		return errors.New("it has no usable id")
	case c["sub"] == nil && c.text("sid") == "":
		return errors.New("it names neither a person nor a session")
	case c["sid"] != nil && (c.text("sid") == "" || len(c.text("sid")) > 255):
		return errors.New("it has no usable session")
	case c["sub"] != nil:
		return c.subject()
	}
	return nil
}
