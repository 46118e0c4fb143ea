package oidc

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
)

// T-IDP-1: while the provider is away a sign-in fails closed with a clear sentence, and works again when it is back.
func TestProviderIsAway(t *testing.T) {
	for name, failure := range map[string]oidctest.Failure{"it refuses": oidctest.Refuses, "it hangs": oidctest.Hangs,
		"it is broken": oidctest.Breaks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if !w.client.Healthy() {
				t.Error("it is called away before anybody asked")
			}
			w.Fail(failure)
			_, _, err := w.client.Begin(t.Context(), "/")
			wantRefusal(t, err, fault.Unavailable, "oidc.unavailable")
			if got := w.client.Since(); !got.Equal(start) {
				t.Errorf("away since %s, want %s", got, start)
			}
			for range 60 { // an hour
				w.clock.pass(time.Minute)
				if _, _, err := w.client.Begin(t.Context(), "/"); !fault.Is(err, fault.Unavailable) {
					t.Fatalf("want it unavailable, got %v", err)
				}
				if failure == oidctest.Hangs {
					break
				}
			}
			if got := w.client.Since(); !got.Equal(start) {
				t.Errorf("away since %s, want the first failure", got)
			}
			w.Fail(oidctest.Works)
			w.clock.pass(time.Minute)
			if _, err := w.signIn(t); err != nil {
				t.Errorf("it is back, yet %v", err)
			}
			if !w.client.Healthy() {
				t.Error("it is back and still called away")
			}
		})
	}
}

func TestProviderGoesAwayInTheMiddle(t *testing.T) {
	for _, path := range []string{oidctest.TokenPath, oidctest.KeysPath} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t)
			flow, query := w.visit(t)
			w.Fail(oidctest.Breaks, path)
			_, err := w.client.Finish(t.Context(), flow, query)
			wantRefusal(t, err, fault.Unavailable, "oidc.unavailable")
			if w.client.Healthy() {
				t.Error("nobody noticed")
			}
			w.Fail(oidctest.Works)
			w.clock.pass(time.Minute)
			if _, err := w.signIn(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// A provider that is away is not asked by every visitor, and the pause grows.
func TestBackoff(t *testing.T) {
	w := newWorld(t)
	w.Fail(oidctest.Breaks)
	for range 600 { // one visitor a second, ten minutes
		_, _, err := w.client.Begin(t.Context(), "/")
		if f := fault.As(err); f.Kind != fault.Unavailable || f.RetryAfter < time.Second || f.RetryAfter > mostBackoff {
			t.Fatalf("got %v, again after %s", err, f.RetryAfter)
		}
		w.clock.pass(time.Second)
	}
	if got := w.Requests(oidctest.DiscoveryPath); got > 26 {
		t.Errorf("it was asked %d times in ten minutes", got)
	}
}

// Since is read on every page: it must not wait for a provider that hangs. Nor may one visitor wait for another's call
// to end.
func TestNobodyWaitsForAHangingProvider(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.HTTPClient = nil })
	w.Fail(oidctest.Hangs)
	first, leave := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, _, err := w.client.Begin(first, "/"); done <- err }()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := w.client.Begin(short, "/"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("want it unavailable, got %v", err)
	}
	_ = w.client.Since()
	leave()
	if err := <-done; !fault.Is(err, fault.Unavailable) {
		t.Errorf("want it unavailable, got %v", err)
	}
}

func TestProbeFindsAnOutageThatNobodyMet(t *testing.T) {
	w := newWorld(t)
	if _, err := w.signIn(t); err != nil {
		t.Fatal(err)
	}
	w.Fail(oidctest.Refuses)
	if err := w.client.Probe(t.Context()); !fault.Is(err, fault.Unavailable) || w.client.Healthy() {
		t.Errorf("got %v", err)
	}
	w.Fail(oidctest.Works)
	if err := w.client.Probe(t.Context()); err != nil || !w.client.Healthy() {
		t.Errorf("got %v", err)
	}
}

func TestWrongCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	c, err := New(Config{Issuer: server.URL, ClientID: "c", RedirectURL: redirectURL})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Begin(t.Context(), "/")
	wantRefusal(t, err, fault.Unavailable, "oidc.unavailable")
	if !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the log should tell of the certificate: %v", err)
	}
}

// T-OIDC-1: a document that is not this issuer's, or that leads to unsafe places, stops the sign-in before it begins.
func TestSpoiledDocuments(t *testing.T) {
	set := func(name string, value any) func(map[string]any) {
		return func(d map[string]any) { d[name] = value }
	}
	cases := map[string]func(map[string]any){
		"another issuer":               set("issuer", "https://evil.example"),
		"a slash after the issuer":     func(d map[string]any) { d["issuer"] = d["issuer"].(string) + "/" },
		"tokens over http":             set("token_endpoint", "http://evil.example/token"),
		"keys over http":               set("jwks_uri", "http://evil.example/keys"),
		"authorization over http":      set("authorization_endpoint", "http://evil.example/"),
		"a script for authorization":   set("authorization_endpoint", "javascript:alert(1)"),
		"userinfo over http":           set("userinfo_endpoint", "http://evil.example/me"),
		"logout over http":             set("end_session_endpoint", "http://evil.example/out"),
		"a password in an address":     set("token_endpoint", "https://a:b@corp.example/token"),
		"no keys":                      set("jwks_uri", ""),
		"no place for tokens":          set("token_endpoint", ""),
		"a place that is not a text":   set("end_session_endpoint", 7),
		"a file":                       set("jwks_uri", "file:///etc/passwd"),
		"an address without a host":    set("jwks_uri", "https:///keys"),
		"a fragment in an address":     set("authorization_endpoint", "https://corp.example/#a"),
		"a name that looks like local": set("token_endpoint", "http://localhost.evil.example/token"),
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Metadata(change)
			_, _, err := w.client.Begin(t.Context(), "/")
			wantRefusal(t, err, fault.Unavailable, "oidc.misfit")
			if w.client.Healthy() {
				t.Error("nobody can sign in, and yet it is called healthy")
			}
		})
	}
}

func TestAnswersAreBoundedAndRedirectsNotFollowed(t *testing.T) {
	evil := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { evil++ }))
	t.Cleanup(other.Close)
	for name, answer := range map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"an endless document": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"issuer":"%s"}`, strings.Repeat("x", maxAnswer))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			c, err := New(Config{Issuer: server.URL, ClientID: "c", RedirectURL: redirectURL})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = c.Begin(t.Context(), "/")
			wantRefusal(t, err, fault.Unavailable, "oidc.unavailable")
			if len(err.Error()) > 1000 {
				t.Errorf("the log line has %d bytes", len(err.Error()))
			}
		})
	}
	if evil != 0 {
		t.Error("the redirect was followed")
	}
}

func TestWrongSecretIsAMatterOfSettings(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.ClientSecret = "wrong" })
	_, err := w.signIn(t)
	wantRefusal(t, err, fault.Unavailable, "oidc.misfit")
}

// T-OIDC-5: keys change, and sign-ins go on.
func TestRotatedKeys(t *testing.T) {
	for _, keepOld := range []bool{true, false} {
		w := newWorld(t)
		if _, err := w.signIn(t); err != nil {
			t.Fatal(err)
		}
		w.clock.pass(keyInterval)
		if err := w.RotateKeys(keepOld); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := w.signIn(t); err != nil {
				t.Fatalf("old key kept: %v: %v", keepOld, err)
			}
		}
		if got := w.KeyFetches(); got != 2 {
			t.Errorf("old key kept: %v: %d fetches, want 2", keepOld, got)
		}
	}
}

func TestAThousandKeys(t *testing.T) {
	w := newWorld(t)
	w.Published(func(set *jose.JSONWebKeySet) {
		for i := range 1000 {
			key := set.Keys[0]
			key.KeyID = fmt.Sprintf("other-%d", i)
			set.Keys = append(set.Keys, key)
		}
	})
	if _, err := w.signIn(t); err != nil {
		t.Fatal(err)
	}
	w.Tamper(func(t *oidctest.Token) { t.KeyID = "" })
	_, err := w.signIn(t)
	wantRefusal(t, err, fault.Forbidden, "oidc.token_refused")
}

// T-OIDC-5: a flood of unknown key ids causes one fetch in an interval, and honest sign-ins go on beside it.
func TestUnknownKeyFlood(t *testing.T) {
	w := newWorld(t)
	if _, err := w.signIn(t); err != nil {
		t.Fatal(err)
	}
	const intervals = 4
	for range intervals {
		w.clock.pass(keyInterval)
		w.Tamper(oidctest.UnknownKeyID)
		var all sync.WaitGroup
		for range 10 {
			flow, query := w.visit(t)
			all.Go(func() {
				_, err := w.client.Finish(t.Context(), flow, query)
				if !fault.Is(err, fault.Forbidden) {
					t.Errorf("got %v", err)
				}
			})
		}
		all.Wait()
		w.Tamper()
		if _, err := w.signIn(t); err != nil {
			t.Error(err)
		}
	}
	if got, most := w.KeyFetches(), 1+intervals; got > most {
		t.Errorf("%d fetches, want at most %d", got, most)
	}
}

// A key that the provider withdrew is not trusted for longer than an hour.
func TestWithdrawnKey(t *testing.T) {
	w := newWorld(t)
	if _, err := w.signIn(t); err != nil {
		t.Fatal(err)
	}
	w.Published(func(set *jose.JSONWebKeySet) { set.Keys = nil })
	w.clock.pass(keyLife)
	_, err := w.signIn(t)
	wantRefusal(t, err, fault.Forbidden, "oidc.token_refused")
}

func TestKeysThatMustNotSign(t *testing.T) {
	cases := map[string]string{
		"a secret":           `{"kty":"oct","k":"c2VjcmV0","kid":"a"}`,
		"for encryption":     `{"kty":"RSA","use":"enc","n":"AQAB","e":"AQAB"}`,
		"a short RSA key":    `{"kty":"RSA","n":"sXchDaQebHnPiGvyDOAT4saGEUetSyo9MKLOoWFsueri23bOdgWp4Dy1WlUzewbgBHod5pcM9H95GQRV3JDXboIRROSBigeC5yjU1hGzHHyXss8UDprecbAYxknTcQkhslANGRUZmdTOQ5qTRsLAt6BTYuyvVRdhS8exSZEy_c4gs_7svlJJQ4H9_NxsiIoLwAEk7-Q3UXERGYw_75IDrGA84-lA_-Ct4eTlXHBIY2EaV7t7LjJaynVJCpkv4LKjTTAumiGUIuQhrNhZLuF_RJLqHpM2kgWFLU7-VTdL1VbC2tejvcI2BlMkEpk1BzBZI0KQB0GaDWFLN-aEAw3v","e":"AQAB"}`,
		"of an unknown kind": `{"kty":"NEW"}`,
		"no key":             `7`,
	}
	for name, raw := range cases {
		if _, ok := usable([]byte(raw)); ok {
			t.Errorf("%s was taken", name)
		}
	}
}
