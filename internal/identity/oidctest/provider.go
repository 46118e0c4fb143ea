package oidctest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// User is one person that the provider knows. What says in a few words who that is, for the page.
type User struct {
	Subject string   `json:"sub"`
	Name    string   `json:"name"`
	Email   string   `json:"email"`
	Groups  []string `json:"groups"`
	What    string   `json:"what"`
}

// Options are what a provider needs. Keys and Now may be left out.
type Options struct {
	Issuer       string // as clients name it; its path is where the endpoints hang
	ClientID     string
	ClientSecret string
	Users        []User
	Keys         *Keys
	Now          func() time.Time
}

// Provider is an http.Handler with all endpoints of an OpenID Connect provider.
type Provider struct {
	options Options
	keys    *Keys
	handler http.Handler
	path    string // of the issuer, without a slash at the end

	mu       sync.Mutex
	users    []User
	disabled map[string]bool // by subject
	codes    map[string]*grant
	access   map[string]*grant
	refresh  map[string]*grant
	given    map[string]bool // refresh tokens ever, of this process
	ended    []string        // sid of every sign-out
	requests map[string]int
	hooks    hooks
}

// grant is one sign-in: what was asked, who it was, and the code and tokens that came from it.
type grant struct {
	user        string
	redirectURI string
	challenge   string
	nonce       string
	sid         string
	offline     bool
	expires     time.Time // of the code
	used        bool
	tokens      []string // access and refresh tokens, revoked when the code comes a second time
}

// New makes a provider. It fails when the issuer is no URL, when the client has no id or secret, or when a user has no
// subject.
func New(options Options) (*Provider, error) {
	issuer, err := url.Parse(options.Issuer)
	if err != nil || issuer.Host == "" {
		return nil, fmt.Errorf("issuer %q is not a URL with a host", options.Issuer)
	}
	if options.ClientID == "" || options.ClientSecret == "" {
		return nil, errors.New("client id and client secret are both needed")
	}
	seen := map[string]bool{}
	for _, u := range options.Users {
		if u.Subject == "" || seen[u.Subject] {
			return nil, fmt.Errorf("user %q: the subject %q is empty or there twice", u.Name, u.Subject)
		}
		seen[u.Subject] = true
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Keys == nil {
		if options.Keys, err = NewKeys(); err != nil {
			return nil, err
		}
	}
	p := &Provider{
		options: options, keys: options.Keys, path: strings.TrimSuffix(issuer.Path, "/"),
		users:    slices.Clone(options.Users),
		disabled: map[string]bool{}, codes: map[string]*grant{}, access: map[string]*grant{}, refresh: map[string]*grant{},
		given: map[string]bool{}, requests: map[string]int{},
	}
	p.handler = p.routes()
	return p, nil
}

// The endpoints, below the path of the issuer.
const (
	DiscoveryPath = "/.well-known/openid-configuration"
	AuthorizePath = "/authorize"
	TokenPath     = "/token"
	UserInfoPath  = "/userinfo"
	KeysPath      = "/keys"
	LogoutPath    = "/logout"
	stylePath     = "/style.css"
)

func (p *Provider) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+p.path+"/{$}", p.home)
	mux.HandleFunc("GET "+p.path+DiscoveryPath, p.discovery)
	mux.HandleFunc("GET "+p.path+AuthorizePath, p.authorize)
	mux.HandleFunc("POST "+p.path+AuthorizePath, p.authorize)
	mux.HandleFunc("POST "+p.path+TokenPath, p.token)
	mux.HandleFunc("GET "+p.path+UserInfoPath, p.userInfo)
	mux.HandleFunc("POST "+p.path+UserInfoPath, p.userInfo)
	mux.HandleFunc("GET "+p.path+KeysPath, p.publicKeys)
	mux.HandleFunc("GET "+p.path+LogoutPath, p.logout)
	mux.HandleFunc("POST "+p.path+LogoutPath, p.logout)
	mux.HandleFunc("GET "+p.path+stylePath, p.style)
	return mux
}

// ServeHTTP counts the request, fails if a test said so, and answers.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, p.path)
	p.mu.Lock()
	p.requests[path]++
	failure := p.hooks.failureFor(path)
	p.mu.Unlock()
	if failure.answer(w, r) {
		return
	}
	p.handler.ServeHTTP(w, r)
}

// Issuer is the name of this provider in tokens.
func (p *Provider) Issuer() string { return p.options.Issuer }

// ClientID is the one client that the provider knows.
func (p *Provider) ClientID() string { return p.options.ClientID }

// ClientSecret is the secret of that client.
func (p *Provider) ClientSecret() string { return p.options.ClientSecret }

func (p *Provider) endpoint(path string) string {
	return strings.TrimSuffix(p.options.Issuer, "/") + path
}

func (p *Provider) now() time.Time { return p.options.Now() }
