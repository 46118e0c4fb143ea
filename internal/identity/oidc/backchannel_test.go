package oidc

import (
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
)

// TestLogoutTokensAreRead: of one session, of all of a person's, and of a session alone.
func TestLogoutTokensAreRead(t *testing.T) {
	w := newWorld(t)
	person := identity.NewPersonID(w.Issuer(), "somebody")
	for name, c := range map[string]struct {
		sid     string
		tampers []oidctest.Tamper
		want    identity.ProviderLogout
	}{
		"a session of a person": {"s-1", nil, identity.ProviderLogout{Person: person, Session: "s-1"}},
		"a person":              {"", nil, identity.ProviderLogout{Person: person}},
		"a session":             {"s-1", []oidctest.Tamper{oidctest.Drop("sub")}, identity.ProviderLogout{Session: "s-1"}},
		"the event says more": {"", []oidctest.Tamper{oidctest.Set("events",
			map[string]any{logoutEvent: map[string]any{"x": 1}, "other": map[string]any{}})},
			identity.ProviderLogout{Person: person}},
		"audience is a list": {"", []oidctest.Tamper{oidctest.Set("aud", []string{"gpu-portal"})},
			identity.ProviderLogout{Person: person}},
		"half a minute too early": {"", []oidctest.Tamper{oidctest.Set("iat", start.Add(30*time.Second).Unix())},
			identity.ProviderLogout{Person: person}},
	} {
		token, err := w.LogoutToken("somebody", c.sid, c.tampers...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.client.BackChannelLogout(t.Context(), token)
		if err != nil || got.Person != c.want.Person || got.Session != c.want.Session || got.ID == "" ||
			!got.Until.After(start.Add(2*time.Minute)) {
			t.Errorf("%s: want %+v, got %+v, %v", name, c.want, got, err)
		}
	}
}

// TestLogoutTokensThatEndNothing: each rule of Back-Channel Logout 1.0 section 2.6.
func TestLogoutTokensThatEndNothing(t *testing.T) {
	w := newWorld(t)
	flow, query := w.visit(t)
	in, err := w.client.Finish(t.Context(), flow, query)
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{"nothing": "", "no token": "x.y.z", "endless": strings.Repeat("a", maxLogoutToken+1),
		"an ID token": in.IDToken}
	for name, tamper := range map[string]oidctest.Tamper{
		"another issuer":        oidctest.Set("iss", "https://evil.example"),
		"another audience":      oidctest.Set("aud", "somebody-else"),
		"expired":               oidctest.ExpiredSince(start, 3*time.Minute),
		"never expires":         oidctest.Drop("exp"),
		"no time of issue":      oidctest.Drop("iat"),
		"issued in the future":  oidctest.Set("iat", start.Add(5*time.Minute).Unix()),
		"no id":                 oidctest.Drop("jti"),
		"a nonce":               oidctest.Set("nonce", "n"),
		"an empty nonce":        oidctest.Set("nonce", ""),
		"no event":              oidctest.Drop("events"),
		"another event":         oidctest.Set("events", map[string]any{"http://example.org/event": map[string]any{}}),
		"the event as text":     oidctest.Set("events", logoutEvent),
		"the event as a list":   oidctest.Set("events", []string{logoutEvent}),
		"the event without {}":  oidctest.Set("events", map[string]any{logoutEvent: "yes"}),
		"neither sub nor sid":   oidctest.Drop("sub", "sid"),
		"an empty subject":      oidctest.Set("sub", ""),
		"an empty session":      oidctest.Set("sid", ""),
		"a session of no text":  oidctest.Set("sid", 7),
		"no signature":          oidctest.Unsigned,
		"a MAC":                 oidctest.PublicKeyAsSecret,
		"signed by another key": oidctest.ForeignKey,
		"an unknown key":        oidctest.UnknownKeyID,
	} {
		token, err := w.LogoutToken("somebody", "s-1", tamper)
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = token
	}
	for name, token := range tokens {
		l, err := w.client.BackChannelLogout(t.Context(), token)
		if !fault.Is(err, fault.Forbidden) || l != (identity.ProviderLogout{}) {
			t.Errorf("%s: want a refusal, got %+v, %v", name, l, err)
		}
	}
	if got := w.KeyFetches(); got != 1 {
		t.Errorf("bad tokens made us fetch keys %d times", got)
	}
}

// TestLogoutWhileTheKeysCannotBeHad is no refusal of the token.
func TestLogoutWhileTheKeysCannotBeHad(t *testing.T) {
	w := newWorld(t)
	token, err := w.LogoutToken("somebody", "")
	if err != nil {
		t.Fatal(err)
	}
	w.Fail(oidctest.Breaks, oidctest.KeysPath)
	_, err = w.client.BackChannelLogout(t.Context(), token)
	wantRefusal(t, err, fault.Unavailable, "oidc.unavailable")
}
