package oidc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/gpu-portal/gpu-portal/internal/fault"
)

// found is what the provider's document said, checked.
type found struct {
	verifier *goidc.IDTokenVerifier
	keys     *keySet
	keysURL  string
	oauth    oauth2.Config
	infoURL  string // userinfo_endpoint, "" when there is none
	endURL   string // end_session_endpoint, "" when there is none
	issParam bool   // the provider names itself when it sends people back (RFC 9207)
	at       time.Time
}

const (
	documentLife = time.Hour        // then it is read again, for endpoints do move
	firstBackoff = time.Second      // a provider that is away is asked again after this, doubled each time
	mostBackoff  = 30 * time.Second // up to this
)

// leeway is how far the provider's clock may be off, to the second.
const leeway = 2 * time.Minute

// algorithms are the signatures we take: asymmetric ones only, so that a public key is never a secret.
var algorithms = []string{goidc.RS256, goidc.ES256, goidc.PS256}

// discover gives the provider as of now: from memory while it is fresh and the provider answered last, else by asking.
// So a person hears from us that the provider is away, and not from their browser.
func (c *Client) discover(ctx context.Context) (*found, error) {
	if f := c.known(); f != nil && c.Healthy() && c.config.Now().Sub(f.at) < documentLife {
		return f, nil
	}
	if err := c.waiting(); err != nil {
		return nil, err
	}
	return c.ask(ctx)
}

// known is what was found last, nil when nothing was.
func (c *Client) known() *found {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found
}

// waiting is the last failure, while it is too early to try again.
func (c *Client) waiting() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := c.retryAt.Sub(c.config.Now()); c.lastErr != nil && left > 0 {
		return trouble(c.lastErr, left)
	}
	return nil
}

// ask fetches the document. Callers at the same time share one call, which goes on when one of them leaves.
func (c *Client) ask(ctx context.Context) (*found, error) {
	answer := c.asking.DoChan("document", func() (any, error) {
		f, err := c.fetch(context.WithoutCancel(ctx))
		return f, c.remember(f, err)
	})
	select {
	case <-ctx.Done():
		return nil, unavailable(ctx.Err(), firstBackoff)
	case a := <-answer:
		if a.Err != nil {
			return nil, a.Err
		}
		return a.Val.(*found), nil
	}
}

// remember keeps the outcome and gives the failure as a fault.
func (c *Client) remember(f *found, err error) error {
	c.health.note(err == nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.found, c.failures, c.lastErr = f, 0, nil
		return nil
	}
	wait := min(firstBackoff<<min(c.failures, 10), mostBackoff)
	c.failures++
	c.retryAt, c.lastErr = c.config.Now().Add(wait), err
	return trouble(err, wait)
}

// misfitError is a document that says something other than our settings.
type misfitError struct{ error }

func trouble(err error, after time.Duration) error {
	var f *fault.Error
	var mismatch *goidc.IssuerMismatchError
	var bad misfitError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &mismatch), errors.As(err, &bad):
		return misfit(err, after)
	}
	return unavailable(err, after)
}

// fetch reads the document and checks that it is this issuer's and that every address in it is as safe as the issuer's.
func (c *Client) fetch(ctx context.Context) (*found, error) {
	ctx, cancel := context.WithTimeout(c.calling(ctx), callTimeout)
	defer cancel()
	provider, err := goidc.NewProvider(ctx, c.config.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read the provider's document: %w", err)
	}
	var d document
	if err := provider.Claims(&d); err != nil {
		return nil, misfitError{fmt.Errorf("read the provider's document: %w", err)}
	}
	if err := d.check(c.config.Issuer); err != nil {
		return nil, misfitError{err}
	}
	f := &found{keysURL: d.Keys, infoURL: d.UserInfo, endURL: d.EndSession, issParam: d.IssParam, at: c.config.Now()}
	if old := c.known(); old != nil && old.keysURL == d.Keys {
		f.keys = old.keys
	} else {
		f.keys = &keySet{url: d.Keys, http: c.http, now: c.config.Now, note: c.health.note}
	}
	f.verifier = goidc.NewVerifier(c.config.Issuer, f.keys, &goidc.Config{
		ClientID: c.config.ClientID, SupportedSigningAlgs: algorithms,
		SkipExpiryCheck: true, // claims.check looks at every time
	})
	f.oauth = oauth2.Config{
		ClientID: c.config.ClientID, ClientSecret: c.config.ClientSecret, RedirectURL: c.config.RedirectURL,
		Scopes:   c.scopes(d),
		Endpoint: oauth2.Endpoint{AuthURL: d.Authorization, TokenURL: d.Token, AuthStyle: d.style()},
	}
	return f, nil
}

// scopes are those of the settings, with offline_access where that is wanted. "groups" is no standard scope: Dex needs
// it; Keycloak and Microsoft, which put groups into tokens otherwise, refuse the sign-in for a scope that they do not
// know.
func (c *Client) scopes(d document) []string {
	scopes := c.config.Scopes
	if len(scopes) == 0 {
		scopes = []string{goidc.ScopeOpenID, goidc.ScopeProfile, goidc.ScopeEmail}
		if len(d.Scopes) == 0 || slices.Contains(d.Scopes, "groups") {
			scopes = append(scopes, "groups")
		}
	}
	ask := c.config.Offline == OfflineAlways || c.config.Offline == OfflineIfListed &&
		slices.Contains(d.Scopes, goidc.ScopeOfflineAccess)
	if !ask || slices.Contains(scopes, goidc.ScopeOfflineAccess) {
		return scopes
	}
	return append(slices.Clone(scopes), goidc.ScopeOfflineAccess)
}

// calling gives a context that makes go-oidc and x/oauth2 use our HTTP client.
func (c *Client) calling(ctx context.Context) context.Context {
	return goidc.ClientContext(ctx, c.http)
}

// document is the part of the provider's metadata that we use (OpenID Connect Discovery 1.0 section 3).
type document struct {
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Keys          string   `json:"jwks_uri"`
	UserInfo      string   `json:"userinfo_endpoint"`
	EndSession    string   `json:"end_session_endpoint"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	Scopes        []string `json:"scopes_supported"`
	IssParam      bool     `json:"authorization_response_iss_parameter_supported"`
}

func (d document) check(issuer string) error {
	home, err := secureURL(issuer, true)
	if err != nil {
		return err
	}
	addresses := []struct {
		name, value string
		needed      bool
	}{
		{"authorization_endpoint", d.Authorization, true}, {"token_endpoint", d.Token, true}, {"jwks_uri", d.Keys, true},
		{"userinfo_endpoint", d.UserInfo, false}, {"end_session_endpoint", d.EndSession, false},
	}
	for _, a := range addresses {
		if a.value == "" && !a.needed {
			continue
		}
		if _, err := secureURL(a.value, home.Scheme == "http"); err != nil {
			return fmt.Errorf("the provider's %s: %w", a.name, err)
		}
	}
	return nil
}

// style is how the secret travels. Left to itself x/oauth2 tries both ways and sends the code twice, which looks like
// theft.
func (d document) style() oauth2.AuthStyle {
	if len(d.Methods) > 0 && !slices.Contains(d.Methods, "client_secret_basic") &&
		slices.Contains(d.Methods, "client_secret_post") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader // the default of the specification
}
