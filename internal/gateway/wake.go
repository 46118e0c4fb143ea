package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Waker wakes sleeping endpoints. Fault: Conflict, with the workload, where there is no room; without it, for a lost
// race.
type Waker interface {
	Wake(ctx context.Context, id workload.ID) (workload.Workload, error)
}

const (
	lookEvery = 250 * time.Millisecond // whether an endpoint that calls wait for answers
	// retryWaking is what callers are told to wait who were not served; one that has no room may take long.
	retryWaking = 5
	retryNoRoom = 30
)

// wakes are the endpoints that calls wait for in this process.
type wakes struct {
	mu   sync.Mutex
	byID map[workload.ID]*wake
}

// wake looks after one endpoint while calls wait for it: however many they are, it is woken once.
type wake struct {
	held    int
	stop    context.CancelFunc
	news    chan struct{} // closed when there is something new
	refused i18n.Text     // why it cannot wake; zero while it may
}

// hold lets a call wait, and starts to look after the endpoint with the first one; false where too many wait.
func (g *Gateway) hold(id workload.ID, name string) (*wake, bool) {
	g.wakes.mu.Lock()
	defer g.wakes.mu.Unlock()
	if g.wakes.byID == nil {
		g.wakes.byID = map[workload.ID]*wake{}
	}
	k := g.wakes.byID[id]
	if k == nil {
		ctx, stop := context.WithCancel(context.Background())
		k = &wake{stop: stop, news: make(chan struct{})}
		g.wakes.byID[id] = k
		go g.lookAfter(ctx, k, name)
	}
	if k.held >= g.opts.MaxHeld {
		return nil, false
	}
	k.held++
	return k, true
}

func (g *Gateway) release(id workload.ID, k *wake) {
	g.wakes.mu.Lock()
	defer g.wakes.mu.Unlock()
	if k.held--; k.held == 0 {
		k.stop()
		delete(g.wakes.byID, id)
	}
}

// Held is how many calls wait for an endpoint to wake.
func (g *Gateway) Held() (n int) {
	g.wakes.mu.Lock()
	defer g.wakes.mu.Unlock()
	for _, k := range g.wakes.byID {
		n += k.held
	}
	return n
}

// tell hands news to all calls that wait.
func (g *Gateway) tell(k *wake, refused i18n.Text) {
	g.wakes.mu.Lock()
	defer g.wakes.mu.Unlock()
	k.refused = refused
	close(k.news)
	k.news = make(chan struct{})
}

func (g *Gateway) newsOf(k *wake) (<-chan struct{}, i18n.Text) {
	g.wakes.mu.Lock()
	defer g.wakes.mu.Unlock()
	return k.news, k.refused
}

// lookAfter wakes an endpoint and tells when it answers, or why it does not.
func (g *Gateway) lookAfter(ctx context.Context, k *wake, name string) {
	for {
		w, err := g.opts.Workloads.WorkloadByName(ctx, name)
		if err == nil && w.Asleep() {
			w, err = g.opts.Waker.Wake(ctx, w.ID)
		}
		switch {
		case ctx.Err() != nil:
			return
		case fault.Is(err, fault.Conflict):
			if w.ID != "" {
				g.tell(k, fault.As(err).Sentence)
			}
		case fault.Is(err, fault.NotFound), err == nil && (g.granted(grant{workload: &w}).open || !w.Wakes() ||
			w.State == workload.Failed):
			g.tell(k, i18n.Text{})
		case err != nil:
			g.opts.Logger.WarnContext(ctx, "cannot wake an endpoint; tried again", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

// awaken answers a call to an endpoint that does not answer now but wakes by being called: a person sees a page that
// looks again, a program is held until it answers. False where the call has been answered.
func (g *Gateway) awaken(w http.ResponseWriter, r *http.Request, p *pass, gr grant) (grant, bool) {
	wl := *gr.workload
	if wl.Kind != catalog.Endpoint || !wl.Wakes() || wl.State == workload.Failed || g.opts.Waker == nil {
		g.waiting(w, r, wl)
		return gr, false
	}
	g.loads.begin(wl.ID, g.opts.Now())
	defer func() { g.loads.end(wl.ID, g.opts.Now()) }()
	if navigates(r) {
		return gr, g.wakePage(w, r, wl)
	}
	k, ok := g.hold(wl.ID, wl.Name)
	if !ok {
		g.sayAsleep(w, r, wl, i18n.T("gateway.held_too_many", "Name", wl.Name), retryWaking)
		return gr, false
	}
	defer g.release(wl.ID, k)
	limit := time.NewTimer(g.opts.WakeWithin)
	defer limit.Stop()
	for news, _ := g.newsOf(k); ; {
		select {
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		case <-limit.C:
			g.sayAsleep(w, r, wl, i18n.T("gateway.waking_still"), retryWaking)
			return gr, false
		case <-news:
		}
		var refused i18n.Text
		if news, refused = g.newsOf(k); !refused.IsZero() {
			g.noRoom(w, r, wl, refused)
			return gr, false
		}
		next, err := g.renew(r.Context(), p, 0)
		switch {
		case err != nil:
			g.denied(w, r, wl.Name, err)
			return gr, false
		case next.open:
			return next, true
		case !next.workload.Wakes() || next.workload.State == workload.Failed:
			g.waiting(w, r, *next.workload)
			return gr, false
		}
	}
}

// wakePage wakes an endpoint for somebody with a browser; it never lets the call through: the page looks again.
func (g *Gateway) wakePage(w http.ResponseWriter, r *http.Request, wl workload.Workload) bool {
	if !wl.Asleep() {
		g.waiting(w, r, wl)
		return false
	}
	woken, err := g.opts.Waker.Wake(r.Context(), wl.ID)
	switch {
	case fault.Is(err, fault.Conflict) && woken.ID != "":
		g.noRoom(w, r, wl, fault.As(err).Sentence)
	case err != nil && !fault.Is(err, fault.Conflict):
		g.denied(w, r, wl.Name, err)
	default:
		if err != nil { // somebody else changed it at the same moment
			woken = wl
		}
		g.waiting(w, r, woken)
	}
	return false
}

func (g *Gateway) sayAsleep(w http.ResponseWriter, r *http.Request, wl workload.Workload, text i18n.Text, retry int) {
	g.say(w, r, answer{status: http.StatusServiceUnavailable, title: i18n.T("gateway.state.asleep", "Name", wl.Name),
		text: text, refresh: retry, link: g.portal + "/", linked: i18n.T("gateway.to_portal"), code: "endpoint_asleep"})
}

// noRoom says why an endpoint cannot wake.
func (g *Gateway) noRoom(w http.ResponseWriter, r *http.Request, wl workload.Workload, reason i18n.Text) {
	g.say(w, r, answer{status: http.StatusServiceUnavailable,
		title: i18n.T("gateway.no_room_to_wake", "Name", wl.Name), text: i18n.T("gateway.state.next"), reason: reason,
		refresh: retryNoRoom, link: g.portal + "/", linked: i18n.T("gateway.to_portal"), code: "endpoint_asleep"})
}
