package oidctest

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// TB is what Start needs of a *testing.T; so that this package does not import testing into a program.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Start runs a provider on a free loopback port until the test ends. Issuer, client and keys that are left out are
// chosen.
func Start(t TB, options Options) *Provider {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	if options.Issuer == "" {
		options.Issuer = "http://" + listener.Addr().String()
	}
	if options.ClientID == "" {
		options.ClientID, options.ClientSecret = "gpu-portal", "a secret: with /odd+ characters%"
	}
	if options.Keys == nil {
		options.Keys = &Keys{set: []jose.JSONWebKey{testKey()}}
	}
	p, err := New(options)
	if err != nil {
		t.Fatalf("start the provider: %v", err)
	}
	server := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with the test
	t.Cleanup(func() { _ = server.Close() })
	return p
}

// testKey is drawn once a process: drawing RSA keys is slow, and providers in tests differ by issuer.
var testKey = sync.OnceValue(mustKey)

func mustKey() jose.JSONWebKey {
	key, err := newKey()
	if err != nil {
		panic(err) // the machine has no randomness
	}
	return key
}

// Somebody is one plain user with these groups, for tests that do not care who it is.
func Somebody(groups ...string) User {
	return User{Subject: "somebody", Name: "Sam Body", Email: "sam@example.test", Groups: slices.Clone(groups),
		What: "somebody"}
}

// Choose does what a browser does with the address that a client made: it goes there, chooses the person, and gives
// back the address to which the provider sends it. It fails when the provider does not send it back.
func Choose(client *http.Client, authorizeURL, subject string) (*url.URL, error) {
	target, err := url.Parse(authorizeURL)
	if err != nil {
		return nil, err
	}
	query := target.Query()
	query.Set("login_hint", subject)
	target.RawQuery = query.Encode()
	still := *client
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	reply, err := still.Get(target.String())
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusSeeOther {
		return nil, fmt.Errorf("the provider answered %s", reply.Status)
	}
	back, err := reply.Location()
	return back, err
}
