package oidctest

import (
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// hooks are the faults that a test has injected.
type hooks struct {
	tampers   []Tamper
	metadata  func(document map[string]any)
	userInfo  func(claims map[string]any)
	published func(set *jose.JSONWebKeySet)
	response  func(query url.Values)
	noRefresh bool
	consent   bool // offline_access needs it
	failure   Failure
	failPaths []string
}

// Tamper changes the next ID tokens, in the order given; without arguments they are left as they are.
func (p *Provider) Tamper(tampers ...Tamper) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks.tampers = tampers
}

// Metadata changes the discovery document from now on; nil resets it.
func (p *Provider) Metadata(change func(document map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks.metadata = change
}

// UserInfo changes what the userinfo endpoint tells from now on; nil resets it.
func (p *Provider) UserInfo(change func(claims map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks.userInfo = change
}

// Published changes the published keys from now on, such as to add a thousand; nil resets them.
func (p *Provider) Published(change func(set *jose.JSONWebKeySet)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks.published = change
}

// Response changes the parameters with which people are sent back to the client; nil resets them.
func (p *Provider) Response(change func(query url.Values)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks.response = change
}

// RotateKeys draws a new signing key. The old one stays published when keepOld is set.
func (p *Provider) RotateKeys(keepOld bool) error { return p.keys.rotate(keepOld) }

// ReplaceKey draws a new signing key under the same key id.
func (p *Provider) ReplaceKey() error { return p.keys.replace() }

// WantConsent makes the provider ignore offline_access without prompt=consent, as OpenID Connect Core section 11 has
// it.
func (p *Provider) WantConsent(want bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks.consent = want
}

// NoRefreshTokens makes the provider give none, whatever is asked.
func (p *Provider) NoRefreshTokens() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks.noRefresh = true
}

// Requests counts what was asked for below this path (one of the Path constants) since the start.
func (p *Provider) Requests(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[path]
}

// KeyFetches counts how often the keys were fetched.
func (p *Provider) KeyFetches() int { return p.Requests(KeysPath) }

// Failure is a way in which the provider is down.
type Failure int

// The ways: not at all; the connection closes without an answer; no answer until the caller gives up; status 500.
const (
	Works Failure = iota
	Refuses
	Hangs
	Breaks
)

// Fail makes the provider fail from now on, at these paths or, without any, at all. Fail(Works) ends that.
func (p *Provider) Fail(failure Failure, paths ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks.failure, p.hooks.failPaths = failure, paths
}

func (h hooks) failureFor(path string) Failure {
	if len(h.failPaths) > 0 && !slices.Contains(h.failPaths, path) {
		return Works
	}
	return h.failure
}

// answer fails the request; false when nothing is to fail.
func (f Failure) answer(w http.ResponseWriter, r *http.Request) bool {
	switch f {
	case Refuses:
		panic(http.ErrAbortHandler) // net/http closes the connection and logs nothing
	case Hangs:
		_, _ = io.Copy(io.Discard, r.Body) // net/http notices that the caller has left once the body is read
		<-r.Context().Done()
	case Breaks:
		http.Error(w, "the provider is broken", http.StatusInternalServerError)
	default:
		return false
	}
	return true
}
