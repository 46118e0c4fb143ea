package oidc

import (
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
)

// TestProfileFromUserInfo: a provider that puts profile, e-mail and groups there and not into the ID token, which is
// the default for the code flow (OpenID Connect Core section 5.4).
func TestProfileFromUserInfo(t *testing.T) {
	all := []string{"name", "email", "email_verified", "groups"}
	for name, c := range map[string]struct {
		drop                []string
		change              func(claims map[string]any)
		who, email, refusal string
		groups, calls       int
	}{
		"all in the token": {who: "Sam Body", email: "sam@example.test", groups: 2, calls: 0},
		"all there":        {drop: all, who: "Sam Body", email: "sam@example.test", groups: 2, calls: 1},
		"name there":       {drop: []string{"name"}, who: "Sam Body", email: "sam@example.test", groups: 2, calls: 1},
		"unverified there": {drop: all, change: func(m map[string]any) { m["email_verified"] = false }, who: "Sam Body",
			groups: 2, calls: 1},
		"verified in the token, the address there": {drop: []string{"email"}, change: func(m map[string]any) {
			delete(m, "email_verified")
		}, who: "Sam Body", groups: 2, calls: 1},
		"other name there": {drop: []string{"email"}, change: func(m map[string]any) { m["name"] = "Other" },
			who: "Sam Body", email: "sam@example.test", groups: 2, calls: 1},
		"other groups there": {drop: []string{"name"}, change: func(m map[string]any) { m["groups"] = []string{"admins"} },
			who: "Sam Body", email: "sam@example.test", groups: 2, calls: 1},
		"of another person": {drop: []string{"name"}, change: func(m map[string]any) { m["sub"] = "other" },
			refusal: "oidc.no_groups", calls: 1},
		"of nobody": {drop: all, change: func(m map[string]any) { delete(m, "sub") }, refusal: "oidc.no_groups", calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Tamper(oidctest.Drop(c.drop...))
			w.UserInfo(c.change)
			p, err := w.signIn(t)
			if c.refusal != "" {
				wantRefusal(t, err, fault.Forbidden, c.refusal)
			} else if err != nil || p.Name != c.who || p.Email != c.email || len(p.Groups) != c.groups {
				t.Errorf("got %q %q %q, %v", p.Name, p.Email, p.Groups, err)
			}
			if got := w.Requests(oidctest.UserInfoPath); got != c.calls {
				t.Errorf("want %d calls, got %d", c.calls, got)
			}
		})
	}
}

// TestOnlyTheProfileIsMissed: nobody is kept out because their name cannot be read.
func TestOnlyTheProfileIsMissed(t *testing.T) {
	w := newWorld(t)
	w.Tamper(oidctest.Drop("name", "email"))
	w.Fail(oidctest.Breaks, oidctest.UserInfoPath)
	if p, err := w.signIn(t); err != nil || p.Name != "somebody" || len(p.Groups) != 2 {
		t.Errorf("want to be let in by the groups in the token, got %+v, %v", p, err)
	}
}

// TestKeyReplacedUnderTheSameID is picked up by the first token that it signs, once in an interval (T-OIDC-5).
func TestKeyReplacedUnderTheSameID(t *testing.T) {
	w := newWorld(t)
	if _, err := w.signIn(t); err != nil {
		t.Fatal(err)
	}
	if err := w.ReplaceKey(); err != nil {
		t.Fatal(err)
	}
	_, err := w.signIn(t)
	wantRefusal(t, err, fault.Forbidden, "oidc.token_refused")
	if got := w.KeyFetches(); got != 1 {
		t.Errorf("inside the interval: want no fetch, got %d in all", got)
	}
	w.clock.pass(keyInterval)
	if _, err := w.signIn(t); err != nil || w.KeyFetches() != 2 {
		t.Errorf("want the new key taken at once, got %v after %d fetches", err, w.KeyFetches())
	}
	w.Tamper(oidctest.ForeignKey)
	for range 50 {
		if _, err := w.signIn(t); err == nil {
			t.Fatal("a foreign key was taken")
		}
		w.clock.pass(keyInterval / 10)
	}
	if got := w.KeyFetches(); got > 2+6 {
		t.Errorf("bad signatures over five intervals made us fetch %d times", got)
	}
}

// TestConsentIsAskedForWhereItIsNeeded: a provider that ignores offline_access without prompt=consent is found out by
// the first sign-in, which is begun anew; one that gives a refresh token without, or never, does not ask people for
// nothing.
func TestConsentIsAskedForWhereItIsNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		setting       Consent
		wants, never  bool // the provider: needs the prompt; gives no refresh token whatever is asked
		again         bool // the first sign-in is begun anew
		asked, tokens bool // in the end
	}{
		"needed":            {wants: true, again: true, asked: true, tokens: true},
		"not needed":        {tokens: true},
		"useless":           {wants: true, never: true, again: true},
		"always":            {setting: ConsentAlways, asked: true, tokens: true},
		"needed, but never": {setting: ConsentNever, wants: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(config *Config) { config.Consent = c.setting })
			w.WantConsent(c.wants)
			if c.never {
				w.NoRefreshTokens()
			}
			in, prompted, err := w.signInWith(t)
			if errors.Is(err, ErrConsentNeeded) != c.again {
				t.Fatalf("want begun anew: %v, got %v", c.again, err)
			}
			for i := 0; i < 2 && (c.again || i == 0); i++ { // the second shows what was learned
				if in, prompted, err = w.signInWith(t); err != nil {
					t.Fatal(err)
				}
			}
			if (in.RefreshToken != "") != c.tokens || prompted != c.asked {
				t.Errorf("want refresh token %v and prompt %v, got %q, %v", c.tokens, c.asked, in.RefreshToken, prompted)
			}
		})
	}
}

// signInWith is a sign-in with all that it gave, and whether the provider was told to ask for consent.
func (w *world) signInWith(t *testing.T) (SignedIn, bool, error) {
	t.Helper()
	address, flow, err := w.client.Begin(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	in, err := w.client.Finish(t.Context(), flow, w.choose(t, address))
	return in, strings.Contains(address, "prompt=consent"), err
}

// recorded is a provider's metadata, without what we never look at, and where it was read.
type recorded struct {
	Source   string         `json:"source"`
	Metadata map[string]any `json:"metadata"`
}

// TestRecordedProviders: the documents of providers that we do not run here lead through a whole sign-in, with
// endpoints that answer here.
func TestRecordedProviders(t *testing.T) {
	files, err := filepath.Glob("testdata/providers/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("no recorded providers: %v", err)
	}
	want := map[string]struct {
		scope  string
		logout bool
	}{"dex.json": {"openid profile email groups offline_access", false},
		"keycloak.json": {"openid profile email offline_access", true}}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r recorded
			if err := json.Unmarshal(text, &r); err != nil || r.Source == "" {
				t.Fatalf("%v, source %q", err, r.Source)
			}
			w := newWorld(t)
			w.Metadata(func(document map[string]any) {
				here := maps.Clone(document)
				clear(document)
				maps.Copy(document, r.Metadata)
				for name := range r.Metadata { // what it offers, at our addresses
					if strings.HasSuffix(name, "_endpoint") || name == "issuer" || name == "jwks_uri" {
						document[name] = here[name]
					}
				}
			})
			address, flow, err := w.client.Begin(t.Context(), "/")
			if err != nil {
				t.Fatal(err)
			}
			w.clock.pass(time.Second)
			in, err := w.client.Finish(t.Context(), flow, w.choose(t, address))
			if err != nil || in.Person.Subject != "somebody" || len(in.Person.Groups) != 2 || in.RefreshToken == "" {
				t.Errorf("signed in %+v, %v", in.Person, err)
			}
			expected := want[filepath.Base(file)]
			u, err := url.Parse(address)
			if err != nil || u.Query().Get("scope") != expected.scope || u.Query().Has("prompt") {
				t.Errorf("want the scopes %q and no prompt, got %s", expected.scope, address)
			}
			if got := w.client.LogoutURL(t.Context(), in.IDToken, "http://localhost:8080/") != ""; got != expected.logout {
				t.Errorf("RP-initiated logout: %v", got)
			}
			renewed, err := w.client.Renew(t.Context(), "somebody", in.RefreshToken)
			if err != nil || !slices.Equal(renewed.Groups, in.Person.Groups) {
				t.Errorf("renewed: %+v, %v", renewed, err)
			}
		})
	}
}
