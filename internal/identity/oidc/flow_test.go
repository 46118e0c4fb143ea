package oidc

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
)

func someFlow() Flow {
	return Flow{State: "state", Nonce: "nonce", Verifier: "verifier", ReturnTo: "/workloads?a=b", IssuedAt: start}
}

var key = bytes.Repeat([]byte("k"), 32)

func TestSealedFlowOpens(t *testing.T) {
	sealed, err := Seal(key, someFlow())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Open(key, sealed, start.Add(9*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someFlow(), got); diff != "" {
		t.Errorf("flow (-want +got):\n%s", diff)
	}
	again, _ := Seal(key, someFlow())
	if again == sealed {
		t.Error("sealing twice gave the same text")
	}
	if strings.Contains(sealed, "verifier") {
		t.Error("the verifier can be read")
	}
}

func TestLongestFlowFitsIntoACookie(t *testing.T) {
	w := newWorld(t)
	for letter, written := range map[string]int{"a": 1, "&": 1, "<": 3, "ü": 6} { // the length once it is percent-encoded
		_, flow, err := w.client.Begin(t.Context(), "/"+strings.Repeat(letter, (maxPath-1)/written))
		if err != nil {
			t.Fatal(err)
		}
		if len(flow.ReturnTo) < maxPath-10 {
			t.Errorf("%q: the test means to use the space, got %d", letter, len(flow.ReturnTo))
		}
		sealed, err := Seal(key, flow)
		if err != nil || len(sealed) > maxSealed {
			t.Errorf("%q: %d bytes, %v", letter, len(sealed), err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	sealed, err := Seal(key, someFlow())
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		key    []byte
		sealed string
		now    time.Time
	}{
		"after ten minutes":    {key, sealed, start.Add(10*time.Minute + time.Second)},
		"before it was sealed": {key, sealed, start.Add(-3 * time.Minute)},
		"another key":          {bytes.Repeat([]byte("x"), 32), sealed, start},
		"nothing":              {key, "", start},
		"half of it":           {key, sealed[:len(sealed)/2], start},
		"one letter changed":   {key, "A" + "B" + sealed[2:], start},
		"no base64":            {key, "%%%", start},
		"endless":              {key, strings.Repeat("A", 5000), start},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Open(c.key, c.sealed, c.now)
			wantRefusal(t, err, fault.Forbidden, "signin.flow_lost")
		})
	}
	if _, err := Seal(key[:31], someFlow()); err == nil {
		t.Error("a short key was taken")
	}
	if _, err := Open(nil, sealed, start); err == nil {
		t.Error("no key was taken")
	}
}

func FuzzOpen(f *testing.F) {
	sealed, _ := Seal(key, someFlow())
	for _, seed := range []string{"", "A", sealed, sealed + "A", strings.ToLower(sealed)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Open(key, text, start)
		if err == nil && text != sealed && cmp.Diff(got, someFlow()) != "" {
			t.Errorf("%q opened to %+v", text, got)
		}
	})
}

func TestBeginAsksForWhatIsNeeded(t *testing.T) {
	w := newWorld(t)
	address, flow, err := w.client.Begin(t.Context(), "//evil.example")
	if err != nil {
		t.Fatal(err)
	}
	if flow.ReturnTo != "/" {
		t.Errorf("return to %q", flow.ReturnTo)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name := range u.Query() {
		got[name] = u.Query().Get(name)
	}
	if len(got["code_challenge"]) != 43 || len(flow.State) < 22 || len(flow.Nonce) < 22 ||
		strings.Contains(address, flow.Verifier) {
		t.Errorf("too little is secret in %s", address)
	}
	delete(got, "code_challenge")
	want := map[string]string{
		"client_id": "gpu-portal", "redirect_uri": redirectURL, "response_type": "code",
		"scope": "openid profile email groups offline_access",
		"state": flow.State, "nonce": flow.Nonce, "code_challenge_method": "S256",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	_, other, err := w.client.Begin(t.Context(), "/")
	if err != nil || other.State == flow.State || other.Nonce == flow.Nonce || other.Verifier == flow.Verifier {
		t.Errorf("two sign-ins share a secret: %v", err)
	}
}

func TestLogout(t *testing.T) {
	w := newWorld(t)
	flow, query := w.visit(t)
	in, err := w.client.Finish(t.Context(), flow, query)
	if err != nil {
		t.Fatal(err)
	}
	raw := in.IDToken
	address := w.client.LogoutURL(t.Context(), raw, "http://localhost:8080/signin")
	u, err := url.Parse(address)
	if err != nil || u.Query().Get("id_token_hint") != raw ||
		u.Query().Get("post_logout_redirect_uri") != "http://localhost:8080/signin" {
		t.Fatalf("got %s, %v", address, err)
	}
	back, err := oidctest.Choose(w.client.http, address, "")
	if err != nil || back.String() != "http://localhost:8080/signin" {
		t.Errorf("sent to %v, %v", back, err)
	}
	if got := w.SignedOut(); len(got) != 1 || got[0] == "" {
		t.Errorf("sessions ended at the provider: %q", got)
	}
	// API tokens go on: the provider is still asked for their owner.
	if _, err := w.client.Renew(t.Context(), in.Person.Subject, in.RefreshToken); err != nil {
		t.Errorf("offline_access outlives the logout: %v", err)
	}
	if long := w.client.LogoutURL(t.Context(), strings.Repeat("x", 100_000), "http://localhost:8080/signin"); len(
		long) > 8000 {
		t.Errorf("an address of %d bytes", len(long))
	}
}

func TestLogoutWithoutProvider(t *testing.T) {
	w := newWorld(t)
	w.Metadata(func(d map[string]any) { delete(d, "end_session_endpoint") })
	if got := w.client.LogoutURL(t.Context(), "x", "http://localhost:8080/"); got != "" {
		t.Errorf("got %q", got)
	}
	away := newWorld(t)
	away.Fail(oidctest.Refuses)
	if got := away.client.LogoutURL(t.Context(), "x", "http://localhost:8080/"); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	good := Config{Issuer: "https://login.corp.example/realms/a", ClientID: "c", ClientSecret: "s",
		RedirectURL: "https://portal.corp.example/signin/callback"}
	cases := map[string]func(*Config){
		"no issuer":                 func(c *Config) { c.Issuer = "" },
		"an issuer over http":       func(c *Config) { c.Issuer = "http://login.corp.example" },
		"http that looks like here": func(c *Config) { c.Issuer = "http://localhost.corp.example" },
		"an issuer with a query":    func(c *Config) { c.Issuer += "?a=b" },
		"an issuer with a password": func(c *Config) { c.Issuer = "https://a:b@login.corp.example" },
		"an issuer of another kind": func(c *Config) { c.Issuer = "ftp://login.corp.example" },
		"no client id":              func(c *Config) { c.ClientID = "" },
		"no redirect":               func(c *Config) { c.RedirectURL = "" },
		"a redirect over http":      func(c *Config) { c.RedirectURL = "http://portal.corp.example/" },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			c := good
			change(&c)
			if _, err := New(c); err == nil {
				t.Error("it was taken")
			}
		})
	}
	for _, issuer := range []string{good.Issuer, "http://localhost:1", "http://signin.localhost:1/a", "http://127.0.0.1:1",
		"http://[::1]:1"} {
		c := good
		c.Issuer = issuer
		if _, err := New(c); err != nil {
			t.Errorf("%s: %v", issuer, err)
		}
	}
}
