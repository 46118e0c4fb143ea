package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
)

// tlsProvider is the sign-in provider behind https, which can show a wrong certificate.
type tlsProvider struct {
	*oidctest.Provider
	server *httptest.Server
	client *http.Client
	wrong  atomic.Bool
}

// newTLSWorld is a portal with such a provider. No call to it takes longer than two seconds.
func newTLSWorld(t *testing.T, change func(*config.Config)) (*world, *tlsProvider) {
	t.Helper()
	var w *world
	p := &tlsProvider{server: httptest.NewUnstartedServer(nil)}
	issuer := "https://" + p.server.Listener.Addr().String()
	var err error
	p.Provider, err = oidctest.New(oidctest.Options{Issuer: issuer, ClientID: "gpu-portal", ClientSecret: "secret",
		Users: everybody, Now: func() time.Time { return w.clock.now() }})
	if err != nil {
		t.Fatal(err)
	}
	evil := selfSigned(t)
	p.server.Config.Handler, p.server.Config.ErrorLog = p, log.New(io.Discard, "", 0)
	p.server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if p.wrong.Load() {
			return &tls.Config{Certificates: []tls.Certificate{evil}}, nil
		}
		return nil, nil
	}}
	p.server.StartTLS()
	t.Cleanup(p.server.Close)
	p.client = p.server.Client()
	p.client.Timeout = 2 * time.Second
	w = newWorldWith(t, []Option{WithProviderClient(p.client)}, func(c *config.Config) {
		c.OIDC.Issuer, c.OIDC.ClientID, c.OIDC.ClientSecret = issuer, "gpu-portal", "secret"
		change(c)
	})
	w.provider, w.chooser = p.Provider, p.client
	return w, p
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"evil.example"},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// impersonated shows the wrong certificate to whoever connects from now on.
func (p *tlsProvider) impersonated(is bool) {
	p.wrong.Store(is)
	p.client.CloseIdleConnections()
	p.server.CloseClientConnections()
}

// TestAnHourWithoutTheProvider: T-IDP-1. While the provider refuses, hangs, breaks, or somebody else answers in its
// place, sessions go on with what was told last until their limit and no longer, nobody new is let in and is told why,
// and what changes there meanwhile widens nothing.
func TestAnHourWithoutTheProvider(t *testing.T) {
	outages := map[string]func(p *tlsProvider, down bool){
		"refuses":           func(p *tlsProvider, down bool) { p.Fail(failureIf(down, oidctest.Refuses)) },
		"hangs":             func(p *tlsProvider, down bool) { p.Fail(failureIf(down, oidctest.Hangs)) },
		"breaks":            func(p *tlsProvider, down bool) { p.Fail(failureIf(down, oidctest.Breaks)) },
		"wrong certificate": func(p *tlsProvider, down bool) { p.impersonated(down) },
	}
	limits := map[string]struct {
		absolute time.Duration
		after    int // status once the limit is reached
		healed   int // and when the provider is back
	}{
		"groups too old": {7 * 24 * time.Hour, http.StatusServiceUnavailable, http.StatusOK},
		"absolute limit": {time.Hour, http.StatusSeeOther, http.StatusSeeOther},
	}
	for outage, set := range outages {
		for limit, c := range limits {
			t.Run(outage+", "+limit, func(t *testing.T) {
				w, p := newTLSWorld(t, func(s *config.Config) { s.Session.Absolute = catalog.Duration(c.absolute) })
				b := w.browser()
				if in := b.signIn(developer); in.status != http.StatusSeeOther {
					t.Fatalf("signing in: %d %s", in.status, in.body)
				}
				set(p, true)
				p.SetGroups(developer, "vision-devs", "speech-devs", "admins")
				for range 5 {
					w.clock.pass(10 * time.Minute)
					if got := b.get("/storage").status; got != http.StatusOK {
						t.Fatalf("%s into it: want the page, got %d", w.clock.on, got)
					}
					w.wantRights("vision")
					w.wantNobodyLetIn()
				}
				w.clock.pass(10 * time.Minute)
				if got := b.get("/storage").status; got != c.after {
					t.Errorf("at the limit: want %d, got %d", c.after, got)
				}
				w.wantRights("vision")
				set(p, false)
				w.clock.pass(time.Minute)
				if got := b.get("/storage").status; got != c.healed {
					t.Errorf("back again: want %d, got %d", c.healed, got)
				}
				if in := w.browser().signIn(other); in.status != http.StatusSeeOther {
					t.Errorf("back again: want people let in, got %d", in.status)
				}
			})
		}
	}
}

func failureIf(down bool, f oidctest.Failure) oidctest.Failure {
	if down {
		return f
	}
	return oidctest.Works
}

// wantRights asks for the developer's teams as the portal has them, and for no role beyond.
func (w *world) wantRights(teams string) {
	w.t.Helper()
	person, err := w.store.Person(w.t.Context(), w.person(developer).ID)
	if err != nil {
		w.t.Fatal(err)
	}
	if a := w.actor(person, identity.ViaSession); strings.Join(a.TenantNames(), " ") != teams || len(a.Global) > 0 {
		w.t.Errorf("want the team %s alone, got %v %v", teams, a.TenantNames(), a.Global)
	}
}

// wantNobodyLetIn asks for a page that says why, and for no session. A call that hangs has not failed yet: until then
// people are sent to the provider.
func (w *world) wantNobodyLetIn() {
	w.t.Helper()
	var in answer
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		b := w.browser()
		in = b.post("/signin", url.Values{"return": {"/storage"}})
		if b.session() != "" {
			w.t.Fatalf("somebody is let in: %d %s", in.status, in.body)
		}
		if in.status == http.StatusServiceUnavailable {
			break
		}
	}
	if !strings.Contains(in.body, "The sign-in provider does not respond") {
		w.t.Errorf("a new sign-in: want the plain sentence, got %d %s", in.status, in.body)
	}
}
