package oidc

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Config is the provider and how it knows us.
type Config struct {
	Issuer       string // exactly as the provider writes it, with or without a slash at the end
	ClientID     string
	ClientSecret string
	RedirectURL  string   // where the provider sends people back to
	GroupsClaim  string   // default groups
	Scopes       []string // default openid, profile, email, and groups where the provider does not say that it has none
	Offline      Offline  // default OfflineIfListed
	Consent      Consent  // default ConsentIfNeeded
	// AcceptUnverifiedEmail shows, and writes to, addresses that the provider says nothing about. Some never say
	// (Microsoft), or say it as text (Amazon). An address that it calls unverified is never taken.
	AcceptUnverifiedEmail bool
	HTTPClient            *http.Client // default one that gives up after 10 seconds
	Now                   func() time.Time
}

// Offline says whether to ask for a refresh token with the scope offline_access (OpenID Connect Core section 11). Some
// providers give one without (Keycloak), some never do (Google).
type Offline string

// The ways: when the provider's document lists the scope; always; never.
const (
	OfflineIfListed Offline = "auto"
	OfflineAlways   Offline = "always"
	OfflineNever    Offline = "never"
)

// Consent says whether to send prompt=consent beside offline_access. Without it a provider must ignore the scope,
// unless it has other reasons to grant it (OpenID Connect Core section 11): the certified npm oidc-provider does ignore
// it; Keycloak, Dex and Microsoft give a refresh token all the same, and Microsoft's answer to the prompt is a page
// that many people cannot get past (admin consent). So it is sent where the provider turns out to need it.
type Consent string

// The ways: when a sign-in that asked for offline_access brought no refresh token; with every one; never.
const (
	ConsentIfNeeded Consent = "auto"
	ConsentAlways   Consent = "always"
	ConsentNever    Consent = "never"
)

// Client is the portal as the provider's client. It is safe for use by many goroutines.
type Client struct {
	config Config
	http   *http.Client
	health health
	asking singleflight.Group

	mu       sync.Mutex
	found    *found
	consent  consent
	failures int       // tries to find the provider since it last worked
	retryAt  time.Time // not before
	lastErr  error
}

// callTimeout bounds one call to the provider.
const callTimeout = 10 * time.Second

// New checks the settings and names every problem; it does not call the provider.
func New(c Config) (*Client, error) {
	if err := c.problems(); err != nil {
		return nil, err
	}
	if c.GroupsClaim == "" {
		c.GroupsClaim = "groups"
	}
	if c.Offline == "" {
		c.Offline = OfflineIfListed
	}
	if c.Consent == "" {
		c.Consent = ConsentIfNeeded
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Client{config: c, http: bounded(c.HTTPClient), health: health{now: c.Now}}, nil
}

func (c Config) problems() error {
	var all []error
	if issuer, err := secureURL(c.Issuer, true); err != nil {
		all = append(all, fmt.Errorf("issuer: %w", err))
	} else if issuer.RawQuery != "" || issuer.ForceQuery {
		all = append(all, fmt.Errorf("issuer: %q must have no query", c.Issuer))
	}
	if _, err := secureURL(c.RedirectURL, true); err != nil {
		all = append(all, fmt.Errorf("redirect URL: %w", err))
	}
	if c.ClientID == "" {
		all = append(all, errors.New("client id: it is missing"))
	}
	if !slices.Contains([]Offline{"", OfflineIfListed, OfflineAlways, OfflineNever}, c.Offline) {
		all = append(all, fmt.Errorf("offline access: %q is none of auto, always, never", c.Offline))
	}
	if !slices.Contains([]Consent{"", ConsentIfNeeded, ConsentAlways, ConsentNever}, c.Consent) {
		all = append(all, fmt.Errorf("consent: %q is none of auto, always, never", c.Consent))
	}
	return errors.Join(all...)
}

// secureURL parses an https address. Plain http is for this machine only, and only where the caller allows it.
func secureURL(text string, plainHere bool) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not an address", text)
	}
	if u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, fmt.Errorf("%q is not a plain address with a host", text)
	}
	if u.Scheme == "https" || u.Scheme == "http" && plainHere && loopback(u.Hostname()) {
		return u, nil
	}
	return nil, fmt.Errorf("%q must be https; only a provider on this machine may do without", text)
}

func loopback(host string) bool {
	host = strings.ToLower(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
