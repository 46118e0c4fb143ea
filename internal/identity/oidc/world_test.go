package oidc

import (
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
)

const redirectURL = "http://localhost:8080/signin/callback"

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// clock is the time of provider and client alike.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// world is a provider that knows somebody, and a client of it.
type world struct {
	*oidctest.Provider
	client *Client
	clock  *clock
}

func newWorld(t *testing.T, changes ...func(*Config)) *world {
	t.Helper()
	w := &world{clock: &clock{at: start}}
	w.Provider = oidctest.Start(t, oidctest.Options{Users: []oidctest.User{oidctest.Somebody("vision-developers",
		"all-staff")}, Now: w.clock.now})
	w.client = w.newClient(t, changes...)
	return w
}

func (w *world) newClient(t *testing.T, changes ...func(*Config)) *Client {
	t.Helper()
	config := Config{Issuer: w.Issuer(), ClientID: w.ClientID(), ClientSecret: w.ClientSecret(), RedirectURL: redirectURL,
		Now:        w.clock.now,
		HTTPClient: &http.Client{Timeout: 4 * time.Second}}
	for _, change := range changes {
		change(&config)
	}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// visit begins a sign-in and chooses somebody at the provider: the flow, and what the browser brings back.
func (w *world) visit(t *testing.T) (Flow, url.Values) {
	t.Helper()
	address, flow, err := w.client.Begin(t.Context(), "/workloads")
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	return flow, w.choose(t, address)
}

// choose is somebody at the provider.
func (w *world) choose(t *testing.T, address string) url.Values {
	t.Helper()
	back, err := oidctest.Choose(http.DefaultClient, address, "somebody")
	if err != nil {
		t.Fatalf("choose: %v", err)
	}
	return back.Query()
}

func (w *world) signIn(t *testing.T) (identity.Person, error) {
	t.Helper()
	flow, query := w.visit(t)
	in, err := w.client.Finish(t.Context(), flow, query)
	if err != nil && (in.Person.ID != "" || in.IDToken != "" || in.RefreshToken != "") {
		t.Errorf("a refused sign-in still gave %q", in.Person.ID)
	}
	return in.Person, err
}

// wantRefusal asks for a fault with this sentence and a cause for the log.
func wantRefusal(t *testing.T, err error, kind fault.Kind, id string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("want the refusal %s, got %v", id, err)
	}
	if f.Kind != kind || f.Sentence.ID != id {
		t.Errorf("want %s %s, got %v", kind, id, err)
	}
	if f.Cause == nil {
		t.Errorf("%s has no cause for the log", f.Sentence.ID)
	}
}
