package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// errSignIn says that the caller has shown nothing that opens this host.
var errSignIn = errors.New("gateway: not signed in to this workload")

// claim is what a call shows to get in: the cookie of this host, or a key of the endpoint. A call by Try comes with the
// portal's own session.
type claim struct {
	name    string // of the workload, from the host name
	cookie  identity.Credential
	bearer  string // the whole key; "" for a cookie
	key     identity.Credential
	session string // of the portal, whose secret the portal has checked; "" for a call from outside
	person  identity.PersonID
	outside bool // it came by the external domain
}

// id tells claims apart in memory without holding a secret.
func (c claim) id() string {
	if c.bearer != "" && c.outside {
		return "o " + identity.HashSecret(c.bearer) + " " + c.name
	}
	if c.bearer != "" {
		return "k " + identity.HashSecret(c.bearer) + " " + c.name
	}
	if c.session != "" {
		return "p " + c.session + " " + c.name
	}
	return "s " + c.cookie.ID + " " + c.name
}

func (c claim) byCookie() bool { return c.bearer == "" && c.session == "" }

// claimsOf reads the claims of a call; there is one, unless somebody found a way to plant cookies. A key goes before a
// cookie: the program that sends it means it. An error is a no to what was sent as a key.
func (g *Gateway) claimsOf(r *http.Request, name string) ([]claim, error) {
	if c, ok := r.Context().Value(trialKey{}).(claim); ok {
		return []claim{c}, nil
	}
	bearer, key, err := bearerOf(r)
	if err != nil {
		return nil, err
	}
	outside := fromOutside(r.Context())
	if bearer != "" {
		return []claim{{name: name, bearer: bearer, key: key, outside: outside}}, nil
	}
	if outside {
		return nil, errKey
	}
	var claims []claim
	for _, value := range edge.Values(r, edge.Workload) {
		if credential, ok := identity.ParseCredential(value); ok {
			claims = append(claims, claim{name: name, cookie: credential})
		}
	}
	return claims, nil
}

// grant is what a good claim opens.
type grant struct {
	person identity.PersonID
	key    *endpointkey.Key // by which the call was let in; nil for a person
	// workload is shared by all that open it, and not changed.
	workload *workload.Workload
	open     bool // it runs; else there is only a page about its state to see
	target   target
}

// served is the workload as the version is that the call goes to.
func (gr grant) served() *workload.Workload {
	if gr.target.revision == gr.workload.Revision() {
		return gr.workload
	}
	w := gr.workload.AsRevision(gr.target.revision)
	return &w
}

// check asks everything anew: is the session alive, and the portal session that it hangs on, and may the person still
// open the workload?
func (g *Gateway) check(ctx context.Context, c claim) (grant, error) {
	if c.bearer != "" {
		return g.checkKey(ctx, c)
	}
	actor, only, err := g.actorOf(ctx, c)
	if err != nil {
		return grant{}, err
	}
	w, err := g.opts.Workloads.WorkloadByName(ctx, c.name)
	switch {
	case fault.Is(err, fault.NotFound):
		// The cookie of one workload shown at another host tells nothing about whether that other one exists.
		return grant{}, errSignIn
	case err != nil:
		return grant{}, err
	case c.session == "" && only != string(w.ID):
		return grant{}, errSignIn
	case !identity.Can(actor, identity.OpenWorkload, w.ResourceAt(g.opts.Now())) || !w.Answers():
		return grant{}, notFoundFault()
	}
	return g.granted(grant{person: actor.Person.ID, workload: g.shared.one(&w)}), nil
}

// granted adds where the workload answers, when it does.
func (g *Gateway) granted(gr grant) grant {
	if w := gr.workload; w.Desired == workload.WantRunning && w.CanOpen() {
		var err error
		gr.target, err = g.opts.Pods.target(*w)
		gr.open = err == nil
	}
	return gr
}

// actorOf gives the person behind a cookie, and the id of the only workload that it opens.
func (g *Gateway) actorOf(ctx context.Context, c claim) (identity.Actor, string, error) {
	if c.session != "" {
		if _, err := g.portalSession(ctx, c.session, c.person); err != nil {
			return identity.Actor{}, "", err
		}
		actor, err := g.activeActor(ctx, c.person)
		return actor, "", err
	}
	s, err := g.opts.Sessions.Session(ctx, c.cookie.ID)
	if err != nil {
		return identity.Actor{}, "", orSignIn(err)
	}
	now := g.opts.Now()
	if !c.cookie.Matches(s.SecretHash) || s.Parent == "" || s.Workload == "" || !now.Before(s.EndsAt) {
		return identity.Actor{}, "", errSignIn
	}
	if _, err := g.portalSession(ctx, s.Parent, s.Person); err != nil {
		return identity.Actor{}, "", err
	}
	actor, err := g.activeActor(ctx, s.Person)
	return actor, s.Workload, err
}

func (g *Gateway) activeActor(ctx context.Context, id identity.PersonID) (identity.Actor, error) {
	actor, err := g.opts.Actors.Actor(ctx, id)
	if err == nil && actor.Person.Disabled {
		err = errSignIn
	}
	return actor, orSignIn(err)
}

// portalSession gives the portal session that a gateway session hangs on, while it is alive.
func (g *Gateway) portalSession(ctx context.Context, id string, person identity.PersonID) (identity.Session, error) {
	s, err := g.opts.Sessions.Session(ctx, id)
	if err != nil {
		return s, orSignIn(err)
	}
	now := g.opts.Now()
	idle := g.opts.Idle > 0 && !now.Before(s.SeenAt.Add(g.opts.Idle))
	if s.Parent != "" || s.Person != person || !now.Before(s.EndsAt) || idle {
		return s, errSignIn
	}
	return s, nil
}

// orSignIn turns "no such session or person" into errSignIn and leaves trouble of the database as it is.
func orSignIn(err error) error {
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Forbidden) {
		return errSignIn
	}
	return err
}

// definite reports whether an error of check is an answer (no) rather than trouble in getting one.
func definite(err error) bool {
	return errors.Is(err, errSignIn) || errors.Is(err, errKey) || errors.Is(err, errKeyExpired) ||
		fault.Is(err, fault.NotFound)
}

// pass is one claim that was good at least once, with the answer last given and the connections open on it.
type pass struct {
	claim claim
	key   string
	hash  string // of the cookie's secret, for a claim by cookie

	checking sync.Mutex // one check at a time; guards grant
	grant    grant
	goodAt   atomic.Int64 // unix nanoseconds of the last check, if it said yes; 0 after a no

	exchanges map[*exchange]struct{} // guarded by passes.mu
}

// passes are the claims in use. What is forgotten here is asked again; nothing is lost.
type passes struct {
	mu      *sync.Mutex
	byKey   map[string]*pass
	holding map[holder]int
	came    map[holder]struct{} // people who made a call since the last report of visits
}

// holder is whom open connections are counted for.
type holder struct {
	person   identity.PersonID
	key      string
	workload workload.ID
}

func newPasses() passes {
	return passes{mu: &sync.Mutex{}, byKey: map[string]*pass{}, holding: map[holder]int{},
		came: map[holder]struct{}{}}
}

func (ps *passes) find(key string) *pass {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.byKey[key]
}

// keep adds a pass unless another call was faster.
func (ps *passes) keep(p *pass) *pass {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if old, ok := ps.byKey[p.key]; ok {
		return old
	}
	ps.byKey[p.key] = p
	return p
}

// enter writes an open connection down, at the pass that the sweep knows: p may have been forgotten in between, or
// replaced. False when the person has too many to this workload.
func (ps *passes) enter(p *pass, e *exchange, limit int) (*pass, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.holding[e.holder] >= limit {
		return p, false
	}
	if known, ok := ps.byKey[p.key]; ok {
		p = known
	} else {
		ps.byKey[p.key] = p
	}
	ps.holding[e.holder]++
	if e.holder.person != "" {
		ps.came[e.holder] = struct{}{}
	}
	p.exchanges[e] = struct{}{}
	return p, true
}

func (ps *passes) leave(p *pass, e *exchange) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(p.exchanges, e)
	if ps.holding[e.holder]--; ps.holding[e.holder] <= 0 {
		delete(ps.holding, e.holder)
	}
}

func (ps *passes) exchangesOf(p *pass) []*exchange {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	out := make([]*exchange, 0, len(p.exchanges))
	for e := range p.exchanges {
		out = append(out, e)
	}
	return out
}

// busy gives the passes with open connections and forgets those that have none and are out of date.
func (ps *passes) busy(outdated func(*pass) bool) (busy []*pass) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for key, p := range ps.byKey {
		switch {
		case len(p.exchanges) > 0:
			busy = append(busy, p)
		case outdated(p):
			delete(ps.byKey, key)
		}
	}
	return busy
}

// admitAny gives the first claim that admit does not turn away.
func (g *Gateway) admitAny(ctx context.Context, claims []claim) (claim, *pass, grant, error) {
	for _, c := range claims {
		if p, gr, err := g.admit(ctx, c); !errors.Is(err, errSignIn) {
			return c, p, gr, err
		}
	}
	return claim{}, nil, grant{}, errSignIn
}

// admit answers whether a claim opens the workload. An answer holds for Recheck; a "no" is never kept.
func (g *Gateway) admit(ctx context.Context, c claim) (*pass, grant, error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	key := c.id()
	if p := g.passes.find(key); p != nil {
		if c.byCookie() && !c.cookie.Matches(p.hash) {
			return nil, grant{}, errSignIn
		}
		gr, err := g.renew(ctx, p, g.opts.Recheck)
		return p, gr, err
	}
	gr, err := g.check(ctx, c)
	if err != nil {
		return nil, grant{}, err
	}
	p := &pass{claim: c, key: key, grant: gr, exchanges: map[*exchange]struct{}{}}
	p.goodAt.Store(g.opts.Now().UnixNano())
	if c.byCookie() {
		p.hash = c.cookie.Hash()
	}
	return g.passes.keep(p), gr, nil
}

// renew gives the answer that holds, asking again when it is older than allowed.
func (g *Gateway) renew(ctx context.Context, p *pass, allowed time.Duration) (grant, error) {
	p.checking.Lock()
	defer p.checking.Unlock()
	now := g.opts.Now()
	if age := p.age(now); age >= 0 && age < allowed {
		return p.grant, nil
	}
	gr, err := g.check(ctx, p.claim)
	switch {
	case err == nil:
		p.grant = gr
		p.goodAt.Store(now.UnixNano())
	case definite(err):
		p.goodAt.Store(0)
	}
	return gr, err
}

// age is how long ago the last good check was.
func (p *pass) age(now time.Time) time.Duration { return now.Sub(time.Unix(0, p.goodAt.Load())) }
