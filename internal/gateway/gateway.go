package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Workloads finds the workload of a host name. Fault: NotFound.
type Workloads interface {
	WorkloadByName(ctx context.Context, name string) (workload.Workload, error)
	// Workload finds an endpoint of a key.
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
}

// Sessions keeps codes and sessions, by hash only.
type Sessions interface {
	// SaveCode keeps a one-time code until it is taken or expires. Fault: Unauthenticated when the portal session is over.
	SaveCode(ctx context.Context, hash, portalSession, workloadID string, expires time.Time) error
	// TakeCode gives a code back once, and only before it expires. Fault: NotFound for any other.
	TakeCode(ctx context.Context, hash string, now time.Time) (portalSession, workloadID string, err error)
	// CreateSession fails with Unauthenticated when the session it hangs on is over.
	CreateSession(ctx context.Context, s identity.Session) error
	// Session gives a session that has not been ended. Fault: NotFound.
	Session(ctx context.Context, id string) (identity.Session, error)
	EndSession(ctx context.Context, id string) error
}

// Actors gives a person's current roles. Fault: NotFound.
type Actors interface {
	Actor(ctx context.Context, id identity.PersonID) (identity.Actor, error)
}

// Secrets gives a workload's own token, which opens its server to the gateway and to nobody else.
type Secrets interface {
	Token(w workload.Workload) string
}

// Options is what a Gateway needs. The zero durations and limits are replaced by the defaults named beside them.
type Options struct {
	PortalURL  string // how browsers reach the portal: "https://gpu.example.org"
	AppsDomain string // "apps.example.org"; may carry a port of its own, else the portal's is used. Scheme as the portal's
	// for programs outside the company network, in the same form; "": none can call
	ExternalDomain string

	Workloads Workloads
	Sessions  Sessions
	Actors    Actors
	Keys      Keys
	Windows   Windows  // nil: no other replica counts the calls of keys
	Traffic   Recorder // nil: nothing is counted
	Waker     Waker    // nil: nothing sleeps
	Loads     Loads    // for ReportLoads
	Visits    Visits   // for ReportVisits
	ID        string   // of this process, for ReportLoads
	Pods      *Pods
	Bundle    *i18n.Bundle
	Logger    *slog.Logger
	Now       func() time.Time

	ClientAddress func(*http.Request) string // default: the peer. The edge knows which proxies it trusts
	// 12 h; never longer than the portal session, which open notebooks do not keep from idling out
	SessionFor     time.Duration
	Idle           time.Duration // portal sessions unused for longer are over; 0: the store decides
	Recheck        time.Duration // 2 s: how long an answer to "may they?" holds
	Grace          time.Duration // 30 s: how long open connections outlive a database that does not answer
	MaxConnections int           // 200 at once for a person and workload
	MaxHeaderBytes int           // 64 KiB
	WakeWithin     time.Duration // 60 s: how long a call waits for an endpoint to wake
	MaxHeld        int           // 100 calls at once that wait for one
}

// Gateway is the handler of the apps domain.
type Gateway struct {
	opts    Options
	portal  string // scheme://host[:port], no slash at the end
	scheme  string
	domain  string                 // without port
	port    string                 // ":8080" or ""
	outside site                   // for programs outside the company network
	pages   *httputil.ReverseProxy // of notebooks
	streams *httputil.ReverseProxy // of endpoints
	passes  passes
	shared  sharedWorkloads
	traffic keyCounts
	writing sync.Mutex // held by the one Flush that writes
	loads   loads
	wakes   wakes
	visits  visits
	models  modelLists
	watcher sync.Mutex // held by whoever starts or ends the watch
	watched bool
}

// New checks the options. An error names the one that is wrong.
func New(opts Options) (*Gateway, error) {
	u, err := url.Parse(opts.PortalURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("gateway: %q is no address of a portal", opts.PortalURL)
	}
	g := &Gateway{portal: u.Scheme + "://" + u.Host, scheme: u.Scheme, passes: newPasses(), models: newModelLists()}
	apps := siteOf(opts.AppsDomain, u.Port())
	g.domain, g.port, g.outside = apps.domain, apps.port, siteOf(opts.ExternalDomain, u.Port())
	if strings.ContainsAny(g.outside.domain, "/:@ ") || g.outside.domain == g.domain {
		return nil, fmt.Errorf("gateway: %q cannot be the external domain beside %s", opts.ExternalDomain, g.domain)
	}
	if g.domain == "" || strings.ContainsAny(g.domain, "/:@ ") || strings.EqualFold(u.Hostname(), g.domain) &&
		g.domain != "localhost" {
		return nil, fmt.Errorf("gateway: %q cannot be the apps domain of %s", opts.AppsDomain, g.portal)
	}
	if opts.Workloads == nil || opts.Sessions == nil || opts.Actors == nil || opts.Keys == nil || opts.Pods == nil {
		return nil, errors.New("gateway: Workloads, Sessions, Actors, Keys and Pods are needed")
	}
	g.opts = withDefaults(opts)
	g.pages, g.streams = g.newProxy(pageBuffer), g.newProxy(streamBuffer)
	return g, nil
}

// site is a domain whose hosts are endpoints.
type site struct {
	domain string // without port; "" for none
	port   string // ":8080" or ""
}

func siteOf(domain, port string) site {
	s := site{domain: strings.ToLower(domain)}
	if host, own, err := net.SplitHostPort(domain); err == nil {
		s.domain, port = strings.ToLower(host), own
	}
	if port != "" {
		s.port = ":" + port
	}
	return s
}

// name reads the workload's name out of a Host header; ok is false for anything but one label below the domain.
func (s site) name(host string) (name string, ok bool) {
	name, ok = strings.CutSuffix(strings.ToLower(bare(host)), "."+s.domain)
	return name, ok && isLabel(name) && s.domain != ""
}

func withDefaults(o Options) Options {
	orDuration := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	orInt := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	orDuration(&o.SessionFor, 12*time.Hour)
	orDuration(&o.Recheck, 2*time.Second)
	orDuration(&o.Grace, 30*time.Second)
	orDuration(&o.WakeWithin, time.Minute)
	orInt(&o.MaxHeld, 100)
	orInt(&o.MaxConnections, 200)
	orInt(&o.MaxHeaderBytes, 64<<10)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Bundle == nil {
		o.Bundle = i18n.MustLoad()
	}
	if o.ClientAddress == nil {
		o.ClientAddress = peer
	}
	return o
}

func peer(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// Serves reports whether a Host header belongs to the apps domain, so that the edge can tell its two sites apart.
func (g *Gateway) Serves(host string) bool {
	host = strings.ToLower(bare(host))
	if g.external(host) {
		return true
	}
	return strings.HasSuffix(host, "."+g.domain) && g.scheme+"://"+host+g.port != g.portal
}

// external reports whether a Host header belongs to the domain for programs outside the company network.
func (g *Gateway) external(host string) bool {
	return g.outside.domain != "" && strings.HasSuffix(strings.ToLower(bare(host)), "."+g.outside.domain)
}

// URL is where a workload answers, without a slash at the end.
func (g *Gateway) URL(name string) string { return g.scheme + "://" + name + "." + g.domain + g.port }

// workloadName reads the workload's name out of a Host header.
func (g *Gateway) workloadName(host string) (name string, ok bool) {
	return site{domain: g.domain, port: g.port}.name(host)
}

// bare takes the port off a Host header.
func bare(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i]
	}
	return host
}

// isLabel reports whether text is a DNS label, the only form that names of workloads have.
func isLabel(text string) bool {
	if len(text) == 0 || len(text) > 63 || text[0] == '-' || text[len(text)-1] == '-' {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// ServeHTTP answers one call to a workload's host, and logs it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, r := g.begin(w, r)
	defer c.handled()
	g.serve(c, r)
}

func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	if g.external(r.Host) {
		g.serveOutside(w, r)
		return
	}
	name, ok := g.workloadName(r.Host)
	switch {
	case !ok:
		g.notFound(w, r)
	case r.Method == http.MethodConnect || r.Method == http.MethodTrace || r.Method == "TRACK":
		// TRACE would show the browser what the gateway adds for the pod.
		g.refuse(w, r, http.StatusMethodNotAllowed, i18n.T("gateway.method"))
	case headerBytes(r) > g.opts.MaxHeaderBytes:
		g.tooLarge(w, r)
	case r.URL.RawQuery != "" && keyInQuery(r.URL.RawQuery):
		g.badKey(w, r, http.StatusBadRequest, "key_in_query", i18n.T("gateway.key_in_query"))
	case r.URL.Path == callbackPath:
		g.callback(w, r, name)
	case r.URL.Path == forgetPath && navigates(r): // there is nothing to delete any more
		g.redirect(w, g.URL(name)+"/")
	case strings.HasPrefix(r.URL.Path, ownPaths):
		g.notFound(w, r)
	case name == workload.ModelsHost:
		g.route(w, r)
	default:
		g.pass(w, r, name)
	}
}

// pass lets a call through to the pod, if it may.
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request, name string) {
	claims, err := g.claimsOf(r, name)
	if err != nil {
		g.denied(w, r, name, err)
		return
	}
	c, p, grant, err := g.admitAny(r.Context(), claims)
	if err != nil {
		g.denied(w, r, name, err)
		return
	}
	r = admitted(r, grant)
	m := g.measured(grant)
	callOf(r.Context()).atEnd(func() { g.record(callOf(r.Context()), m) })
	if c.byCookie() && foreign(r, grant.workload.Kind, g.URL(name)) {
		g.refuse(w, r, http.StatusForbidden, i18n.T("gateway.foreign"))
		return
	}
	if !grant.open {
		if grant, ok := g.awaken(w, r, p, grant); ok {
			g.pipe(w, r, p, grant, m)
		}
		return
	}
	g.pipe(w, r, p, grant, m)
}

// revisionHeader names the version of an endpoint that a call is for, and the one that answered.
const revisionHeader = "X-Revision"

// toVersion chooses anew for each call where it goes while two versions are beside each other: the one that it names,
// where that is ready, else by the part that a canary takes.
func (g *Gateway) toVersion(r *http.Request, gr grant) grant {
	if gr.workload.Revisions.Rollout == nil || !gr.open {
		return gr
	}
	named, err := strconv.Atoi(r.Header.Get(revisionHeader))
	if err != nil {
		named = 0
	}
	if to, err := g.opts.Pods.targetOf(*gr.workload, named); err == nil {
		gr.target = to
	}
	return gr
}

// pipe lets a call through to the pod, unless there are too many.
func (g *Gateway) pipe(w http.ResponseWriter, r *http.Request, p *pass, grant grant, m *measure) {
	e := newExchange(w, r, g.toVersion(r, grant), m)
	defer e.cancel()
	if m != nil {
		m.source.Revision = max(traffic.FirstRevision, e.grant.target.revision)
	}
	most := g.connections(grant)
	p, ok := g.passes.enter(p, e, most)
	if !ok {
		g.tooMany(w, r, grant, most)
		return
	}
	g.watch()
	c := callOf(r.Context())
	c.atEnd(func() {
		e.finish()
		g.passes.leave(p, e)
	})
	if grant.key != nil {
		if !g.admitKey(w, r, e) {
			return
		}
		c.atEnd(func() {
			now := g.opts.Now()
			g.traffic.end(grant, m.counter, now, func(k *counted) { g.agree(c.context, grant.key, k, now) })
		})
	}
	proxy := g.pages
	if grant.workload.Kind == catalog.Endpoint {
		proxy = g.streams
		g.loads.begin(grant.workload.ID, g.opts.Now())
		c.atEnd(func() { g.loads.end(grant.workload.ID, g.opts.Now()) })
	}
	// Pods answer while the proxy is still at the call's body, be it only to see its end. Without this the server closes
	// that body with the first piece of the answer, the proxy's read fails, and with it the answer breaks off.
	_ = http.NewResponseController(w).EnableFullDuplex() // a writer that has none to enable needs none
	proxy.ServeHTTP(e.writer(), r.WithContext(e.context()))
}

// tooMany tells whoever has too many calls under way.
func (g *Gateway) tooMany(w http.ResponseWriter, r *http.Request, gr grant, most int) {
	if gr.key == nil {
		g.refuse(w, r, http.StatusTooManyRequests, i18n.T("gateway.too_many", "Limit", most))
		return
	}
	g.traffic.refused(gr, g.opts.Now())
	g.setLimits(w.Header(), gr.key)
	g.tooMuch(w, r, "concurrency", time.Second, i18n.T("gateway.over_concurrency", "Limit", most))
}

func headerBytes(r *http.Request) int {
	n := len(r.RequestURI)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + 4
		}
	}
	return n
}
