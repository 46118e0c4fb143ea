package oidc

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
)

// finished is a sign-in of somebody.
func (w *world) finished(t *testing.T) SignedIn {
	t.Helper()
	flow, query := w.visit(t)
	in, err := w.client.Finish(t.Context(), flow, query)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func manyGroups(n int) []string {
	groups := make([]string, n)
	for i := range groups {
		groups[i] = fmt.Sprintf("group-%04d", i)
	}
	return groups
}

// TestGroupsAreReadAgain: what the provider says of the groups after the sign-in, in the token or beside it (T-OIDC-3).
func TestGroupsAreReadAgain(t *testing.T) {
	cases := map[string]struct {
		groups  []string
		tampers []oidctest.Tamper
	}{
		"none":                                 {groups: []string{}},
		"one":                                  {groups: []string{"vision-developers"}},
		"two thousand":                         {groups: manyGroups(2000)},
		"one named like a role":                {groups: []string{"admin", "role:admin"}},
		"too many for the token":               {groups: manyGroups(300), tampers: []oidctest.Tamper{oidctest.GroupsOverage}},
		"never in the token":                   {groups: []string{"a"}, tampers: []oidctest.Tamper{oidctest.Drop("groups")}},
		"no ID token the second time":          {groups: []string{"a"}, tampers: []oidctest.Tamper{oidctest.Missing}},
		"no nonce the second time, as allowed": {groups: []string{"a"}, tampers: []oidctest.Tamper{oidctest.Drop("nonce")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := w.finished(t)
			if in.RefreshToken == "" || !in.ExpiresAt.Equal(start.Add(time.Hour)) {
				t.Fatalf("want a refresh token and the token's end, got %q and %s", in.RefreshToken, in.ExpiresAt)
			}
			w.SetGroups("somebody", c.groups...)
			w.Tamper(c.tampers...)
			got, err := w.client.Renew(t.Context(), "somebody", in.RefreshToken)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.groups, got.Groups); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if got.RefreshToken == "" || got.RefreshToken == in.RefreshToken {
				t.Error("the provider rotates: want another refresh token")
			}
			if _, err := w.client.Renew(t.Context(), "somebody", got.RefreshToken); err != nil {
				t.Errorf("the rotated token: %v", err)
			}
		})
	}
}

// TestRenewalsThatAreRefused: an answer without groups is a refusal, never "no groups" (T-OIDC-3), and one that cannot
// be trusted neither.
func TestRenewalsThatAreRefused(t *testing.T) {
	cases := map[string]struct {
		spoil    func(w *world)
		kind     fault.Kind
		id       string
		disabled bool
	}{
		"no groups anywhere": {spoil: func(w *world) { w.Tamper(oidctest.Drop("groups")); w.UserInfo(drop("groups")) },
			id: "oidc.renewal_no_groups"},
		"overage, and the other place does not know either": {spoil: func(w *world) {
			w.Tamper(oidctest.GroupsOverage)
			w.UserInfo(drop("groups"))
		}, id: "oidc.renewal_no_groups"},
		"groups are null": {spoil: func(w *world) { w.Tamper(oidctest.Set("groups", nil)) },
			id: "oidc.renewal_no_groups"},
		"groups are a number": {spoil: func(w *world) { w.Tamper(oidctest.Set("groups", 7)) },
			id: "oidc.renewal_no_groups"},
		"2,001 groups": {spoil: func(w *world) { w.SetGroups("somebody", manyGroups(2001)...) },
			id: "oidc.renewal_no_groups"},
		"userinfo of another person": {spoil: func(w *world) { w.Tamper(oidctest.Missing); w.UserInfo(set("sub", "eve")) },
			id: "oidc.renewal_no_groups"},
		"token of another person": {spoil: func(w *world) { w.Tamper(oidctest.Set("sub", "eve")) },
			id: "oidc.renewal_refused"},
		"token of another issuer": {spoil: func(w *world) { w.Tamper(oidctest.Set("iss", "https://evil.example")) },
			id: "oidc.renewal_refused"},
		"token for another audience": {spoil: func(w *world) { w.Tamper(oidctest.Set("aud", "eve")) },
			id: "oidc.renewal_refused"},
		"token signed by another": {spoil: func(w *world) {
			oidctest.ForeignKey(&oidctest.Token{})
			w.Tamper(oidctest.ForeignKey)
		}, id: "oidc.renewal_refused"},
		"unsigned token":      {spoil: func(w *world) { w.Tamper(oidctest.Unsigned) }, id: "oidc.renewal_refused"},
		"sign-in ended there": {spoil: func(w *world) { w.EndSignIns() }, id: "oidc.renewal_refused"},
		"person removed":      {spoil: func(w *world) { w.RemoveUser("somebody") }, id: "oidc.renewal_refused"},
		"person disabled": {spoil: func(w *world) { w.DisableUser("somebody", true) }, id: "oidc.account_off",
			disabled: true},
		"provider breaks": {spoil: func(w *world) { w.Fail(oidctest.Breaks) }, kind: fault.Unavailable,
			id: "oidc.unavailable"},
		"provider refuses connections": {spoil: func(w *world) { w.Fail(oidctest.Refuses) }, kind: fault.Unavailable,
			id: "oidc.unavailable"},
		"provider hangs": {spoil: func(w *world) { w.Fail(oidctest.Hangs) }, kind: fault.Unavailable,
			id: "oidc.unavailable"},
		"userinfo hangs": {spoil: func(w *world) {
			w.Tamper(oidctest.Missing)
			w.Fail(oidctest.Hangs, oidctest.UserInfoPath)
		}, kind: fault.Unavailable, id: "oidc.unavailable"},
		"our secret is no longer good": {spoil: func(w *world) { w.client.known().oauth.ClientSecret = "old" },
			kind: fault.Unavailable, id: "oidc.misfit"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := w.finished(t)
			c.spoil(w)
			got, err := w.client.Renew(t.Context(), "somebody", in.RefreshToken)
			if c.kind == "" {
				c.kind = fault.Forbidden
			}
			wantRefusal(t, err, c.kind, c.id)
			if errors.Is(err, ErrDisabled) != c.disabled {
				t.Errorf("want disabled %v: %v", c.disabled, err)
			}
			if got.Groups != nil || got.RefreshToken != "" {
				t.Errorf("a refusal still gave %v", got)
			}
			if strings.Contains(err.Error(), in.RefreshToken) {
				t.Error("the refresh token is in the error")
			}
		})
	}
}

func drop(claim string) func(map[string]any) { return func(all map[string]any) { delete(all, claim) } }
func set(claim string, value any) func(map[string]any) {
	return func(all map[string]any) { all[claim] = value }
}

func TestOfflineAccessIsAskedForWhereItIsWanted(t *testing.T) {
	unlisted := func(d map[string]any) { d["scopes_supported"] = []string{"openid"} }
	cases := map[string]struct {
		offline  Offline
		metadata func(map[string]any)
		want     bool
	}{
		"listed": {"", nil, true}, "not listed": {"", unlisted, false}, "always": {OfflineAlways, unlisted, true},
		"never": {OfflineNever, nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(config *Config) { config.Offline = c.offline })
			w.Metadata(c.metadata)
			if got := w.finished(t).RefreshToken != ""; got != c.want {
				t.Errorf("want a refresh token %v, got %v", c.want, got)
			}
		})
	}
	if _, err := New(Config{Issuer: "https://id.example", ClientID: "x", RedirectURL: redirectURL,
		Offline: "yes"}); err == nil || !strings.Contains(err.Error(), "offline access") {
		t.Errorf("want an unknown way refused, got %v", err)
	}
}

func TestSealedRefreshTokens(t *testing.T) {
	key, other := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	sealed, err := SealToken(key, "s-1", "a refresh token")
	if err != nil || strings.Contains(sealed, "refresh") {
		t.Fatalf("got %q, %v", sealed, err)
	}
	if got, err := OpenToken(key, "s-1", sealed); err != nil || got != "a refresh token" {
		t.Errorf("got %q, %v", got, err)
	}
	again, _ := SealToken(key, "s-1", "a refresh token")
	if again == sealed {
		t.Error("sealed twice, the same text")
	}
	flow, _ := Seal(key, Flow{State: "s"})
	for name, try := range map[string]func() (string, error){
		"another key":     func() (string, error) { return OpenToken(other, "s-1", sealed) },
		"another session": func() (string, error) { return OpenToken(key, "s-2", sealed) },
		"changed":         func() (string, error) { return OpenToken(key, "s-1", strings.Repeat("A", 4)+sealed[4:]) },
		"a sealed flow":   func() (string, error) { return OpenToken(key, "", flow) },
		"nothing":         func() (string, error) { return OpenToken(key, "s-1", "") },
		"a short key":     func() (string, error) { return OpenToken(key[:8], "s-1", sealed) },
	} {
		if got, err := try(); err == nil || got != "" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if none, err := SealToken(key, "s-1", ""); none != "" || err != nil {
		t.Errorf("no token: got %q, %v", none, err)
	}
}

// TestRefreshTokensOutliveTheDemoProvider: everything on the machine may start again, and nobody has to sign in for
// that.
func TestRefreshTokensOutliveTheDemoProvider(t *testing.T) {
	keys, err := oidctest.LoadKeys(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{clock: &clock{at: start}}
	begin := func(keys *oidctest.Keys) {
		w.Provider = oidctest.Start(t, oidctest.Options{Users: []oidctest.User{oidctest.Somebody("a")}, Now: w.clock.now,
			Keys: keys})
		w.client = w.newClient(t)
	}
	begin(keys)
	in := w.finished(t)
	begin(keys)
	if got, err := w.client.Renew(t.Context(), "somebody", in.RefreshToken); err != nil || len(got.Groups) != 1 {
		t.Errorf("after a restart: got %v, %v", got.Groups, err)
	}
	_, err = w.client.Renew(t.Context(), "somebody", in.RefreshToken)
	wantRefusal(t, err, fault.Forbidden, "oidc.renewal_refused")
	_, err = w.client.Renew(t.Context(), "somebody", in.RefreshToken[:len(in.RefreshToken)-4]+"AAAA")
	wantRefusal(t, err, fault.Forbidden, "oidc.renewal_refused")
	begin(nil) // other keys
	_, err = w.client.Renew(t.Context(), "somebody", in.RefreshToken)
	wantRefusal(t, err, fault.Forbidden, "oidc.renewal_refused")
}
