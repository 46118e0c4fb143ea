package oidc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/url"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
)

func TestSignInTellsWhoItIs(t *testing.T) {
	w := newWorld(t)
	got, err := w.signIn(t)
	if err != nil {
		t.Fatal(err)
	}
	want := identity.Person{
		ID: identity.NewPersonID(w.Issuer(), "somebody"), Issuer: w.Issuer(), Subject: "somebody",
		Name: "Sam Body", Email: "sam@example.test", Groups: []string{"all-staff", "vision-developers"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("person (-want +got):\n%s", diff)
	}
}

func TestProviderThatWantsTheSecretInTheBody(t *testing.T) {
	w := newWorld(t)
	w.Metadata(func(d map[string]any) { d["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"} })
	if _, err := w.signIn(t); err != nil {
		t.Fatal(err)
	}
	if got := w.Requests(oidctest.TokenPath); got != 1 {
		t.Errorf("the code must be sent once, it was sent %d times", got)
	}
}

// T-OIDC-1: every spoiled token is refused.
func TestSpoiledTokensAreRefused(t *testing.T) {
	cases := map[string]oidctest.Tamper{
		"another audience": oidctest.Set("aud", "another-client"),
		"no audience":      oidctest.Drop("aud"),
		"an audience in capitals only": func(t *oidctest.Token) {
			t.Claims["AUD"] = t.Claims["aud"]
			delete(t.Claims, "aud")
		},
		"two audiences and no azp": oidctest.Set("aud", []string{"gpu-portal", "another-client"}),
		"two audiences and another azp": func(t *oidctest.Token) {
			t.Claims["aud"] = []string{"gpu-portal", "x"}
			t.Claims["azp"] = "x"
		},
		"another azp":                 oidctest.Set("azp", "another-client"),
		"azp that is no text":         oidctest.Set("azp", []string{"gpu-portal"}),
		"another issuer":              oidctest.Set("iss", "https://evil.example"),
		"a slash after the issuer":    func(t *oidctest.Token) { t.Claims["iss"] = t.Claims["iss"].(string) + "/" },
		"no issuer":                   oidctest.Drop("iss"),
		"an expiry that is text":      oidctest.Set("exp", "tomorrow"),
		"alg none":                    oidctest.Unsigned,
		"HS256 with the public key":   oidctest.PublicKeyAsSecret,
		"PS256 with a key for RS256":  func(t *oidctest.Token) { t.Algorithm = "PS256" },
		"an algorithm we do not take": func(t *oidctest.Token) { t.Algorithm = "RS512" },
		"an unknown key id":           oidctest.UnknownKeyID,
		"a foreign key":               oidctest.ForeignKey,
		"another nonce":               oidctest.Set("nonce", "of-another-sign-in"),
		"an empty nonce":              oidctest.Set("nonce", ""),
		"no nonce":                    oidctest.Drop("nonce"),
		"a nonce in capitals": func(t *oidctest.Token) {
			t.Claims["Nonce"] = t.Claims["nonce"]
			delete(t.Claims, "nonce")
		},
		"no subject":                 oidctest.Drop("sub"),
		"an empty subject":           oidctest.Set("sub", ""),
		"a subject that is a number": oidctest.Set("sub", 7),
		"an endless subject":         oidctest.Set("sub", string(make([]byte, 256))),
		"the hash of another access": oidctest.Set("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"),
		"no ID token at all":         oidctest.Missing,
	}
	for name, tamper := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Tamper(tamper)
			_, err := w.signIn(t)
			wantRefusal(t, err, fault.Forbidden, "oidc.token_refused")
		})
	}
}

// T-CLOCK: a token that does not count at the time of its sign-in says that a clock is wrong.
func TestTokensOfAnotherTimeAreRefused(t *testing.T) {
	for name, tamper := range map[string]oidctest.Tamper{
		"expired, and more": oidctest.ExpiredSince(start, 2*time.Minute+time.Second),
		"no expiry":         oidctest.Drop("exp"),
		"valid later":       oidctest.ValidAfter(start, 2*time.Minute+time.Second),
		"issued later":      oidctest.Set("iat", start.Add(2*time.Minute+time.Second).Unix()),
		"no time of issue":  oidctest.Drop("iat"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Tamper(tamper)
			_, err := w.signIn(t)
			wantRefusal(t, err, fault.Forbidden, "oidc.clocks_apart")
		})
	}
}

func TestHonestVariantsAreTaken(t *testing.T) {
	cases := map[string]oidctest.Tamper{
		"expired two minutes ago": oidctest.ExpiredSince(start, 2*time.Minute),
		"valid in two minutes":    oidctest.ValidAfter(start, 2*time.Minute),
		"issued in two minutes":   oidctest.Set("iat", start.Add(2*time.Minute).Unix()),
		"two audiences and our azp": func(t *oidctest.Token) {
			t.Claims["aud"] = []string{"x", "gpu-portal"}
			t.Claims["azp"] = "gpu-portal"
		},
		"a list with one audience":   oidctest.Set("aud", []string{"gpu-portal"}),
		"PS256":                      func(t *oidctest.Token) { t.Algorithm = "PS256" },
		"no key id and a single key": func(t *oidctest.Token) { t.KeyID = "" },
		"no hash of the access":      oidctest.Drop("at_hash"),
	}
	for name, tamper := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Published(func(set *jose.JSONWebKeySet) { set.Keys[0].Algorithm = "" }) // good for any RSA signature
			w.Tamper(tamper)
			if _, err := w.signIn(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// Providers may sign with elliptic curves, which oidctest does not do by itself.
func TestEllipticCurveKey(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.Published(func(set *jose.JSONWebKeySet) {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: private.Public(), KeyID: "curve", Algorithm: "ES256", Use: "sig"})
	})
	w.Tamper(func(t *oidctest.Token) { t.Algorithm, t.Key, t.KeyID = "ES256", private, "curve" })
	if _, err := w.signIn(t); err != nil {
		t.Error(err)
	}
}

// T-OIDC-1: what the browser brings back is of this browser, this provider and this sign-in.
func TestSpoiledAnswersAreRefused(t *testing.T) {
	cases := map[string]struct {
		change func(*Flow, url.Values)
		id     string
	}{
		"the state of another browser": {func(_ *Flow, q url.Values) { q.Set("state", "another") }, "signin.flow_lost"},
		"no state":                     {func(_ *Flow, q url.Values) { q.Del("state") }, "signin.flow_lost"},
		"two states": {func(_ *Flow, q url.Values) { q.Add("state", q.Get("state")) },
			"signin.flow_lost"},
		"an empty state on both sides": {func(f *Flow, q url.Values) { f.State = ""; q.Set("state", "") },
			"signin.flow_lost"},
		"no flow, no state":       {func(f *Flow, q url.Values) { *f = Flow{}; q.Del("state") }, "signin.flow_lost"},
		"a flow without nonce":    {func(f *Flow, _ url.Values) { f.Nonce = "" }, "signin.flow_lost"},
		"a flow without verifier": {func(f *Flow, _ url.Values) { f.Verifier = "" }, "signin.flow_lost"},
		"a flow of eleven minutes": {func(f *Flow, _ url.Values) { f.IssuedAt = start.Add(-11 * time.Minute) },
			"signin.flow_lost"},
		"the answer of another provider": {func(_ *Flow, q url.Values) { q.Set("iss", "https://evil.example") },
			"oidc.token_refused"},
		"an empty issuer":                 {func(_ *Flow, q url.Values) { q.Set("iss", "") }, "oidc.token_refused"},
		"no issuer though it always says": {func(_ *Flow, q url.Values) { q.Del("iss") }, "oidc.token_refused"},
		"two codes":                       {func(_ *Flow, q url.Values) { q.Add("code", "x") }, "oidc.token_refused"},
		"no code":                         {func(_ *Flow, q url.Values) { q.Del("code") }, "oidc.code_refused"},
		"a made up code":                  {func(_ *Flow, q url.Values) { q.Set("code", "made-up") }, "oidc.code_refused"},
		"the verifier of another sign-in": {func(f *Flow, _ url.Values) {
			f.Verifier = "another-verifier-of-more-than-forty-three-characters"
		}, "oidc.code_refused"},
		"the nonce of another sign-in": {func(f *Flow, _ url.Values) { f.Nonce = "another" }, "oidc.token_refused"},
		"the provider says no": {func(_ *Flow, q url.Values) { q.Del("code"); q.Set("error", "access_denied") },
			"oidc.denied"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			flow, query := w.visit(t)
			c.change(&flow, query)
			_, err := w.client.Finish(t.Context(), flow, query)
			wantRefusal(t, err, fault.Forbidden, c.id)
		})
	}
}

func TestCodeWorksOnce(t *testing.T) {
	w := newWorld(t)
	flow, query := w.visit(t)
	if _, err := w.client.Finish(t.Context(), flow, query); err != nil {
		t.Fatal(err)
	}
	_, err := w.client.Finish(t.Context(), flow, query)
	wantRefusal(t, err, fault.Forbidden, "oidc.code_refused")
}

// A sign-in that came from nowhere must not make us call anybody.
func TestForgedAnswerCausesNoCall(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.Finish(t.Context(), Flow{}, url.Values{"code": {"x"}, "state": {"y"}})
	wantRefusal(t, err, fault.Forbidden, "signin.flow_lost")
	if got := w.Requests(oidctest.DiscoveryPath) + w.Requests(oidctest.TokenPath); got != 0 {
		t.Errorf("%d calls were made", got)
	}
}
