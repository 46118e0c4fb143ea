package gateway

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// watch makes sure that somebody looks after open connections: it runs while there are passes and ends by itself, so
// that nobody can forget to start it. With the defaults a connection is closed at most 4 s after access ended: an
// answer may be 2 s old when it is looked at.
func (g *Gateway) watch() {
	g.watcher.Lock()
	defer g.watcher.Unlock()
	if g.watched {
		return
	}
	g.watched = true
	go func() {
		ticker := time.NewTicker(g.opts.Recheck)
		defer ticker.Stop()
		for range ticker.C {
			g.sweep(context.Background(), g.opts.Recheck)
			if g.traffic.due(g.opts.Now()) || g.passes.empty() {
				g.Flush(context.Background())
			}
			if g.unwatched() {
				return
			}
		}
	}()
}

// unwatched ends the watch when there is nothing left to look after, and nothing to write down.
func (g *Gateway) unwatched() bool {
	g.watcher.Lock()
	defer g.watcher.Unlock()
	g.watched = !g.passes.empty() || g.traffic.unwritten()
	return !g.watched
}

// Wake asks again about every open connection at once; the app calls it when a session, a share or a workload has
// changed.
func (g *Gateway) Wake(ctx context.Context) { g.sweep(ctx, 0) }

// sweep rechecks every pass with open connections and forgets the others when they are out of date.
func (g *Gateway) sweep(ctx context.Context, allowed time.Duration) {
	now := g.opts.Now()
	var group errgroup.Group
	group.SetLimit(16)
	for _, p := range g.passes.busy(func(p *pass) bool { return p.age(now) > 5*g.opts.Recheck }) {
		group.Go(func() error {
			g.recheck(ctx, p, allowed)
			return nil
		})
	}
	_ = group.Wait()
	g.shared.forget()
}

// recheck closes the connections of a pass that opens its workload no more, or opens another pod now.
func (g *Gateway) recheck(ctx context.Context, p *pass, allowed time.Duration) {
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	gr, err := g.renew(ctx, p, allowed)
	over := err != nil && (definite(err) || p.age(g.opts.Now()) > g.opts.Grace)
	if err != nil && !definite(err) {
		g.opts.Logger.WarnContext(ctx, "cannot ask whether open connections may stay", "workload", p.claim.name, "closed",
			over, "error", err.Error())
	}
	for _, e := range g.passes.exchangesOf(p) {
		if over || err == nil && !g.stays(gr, e) {
			e.end()
		}
	}
}

// lastWords is how long a call may go on that was under way when its replica was seen no more: as long as a pod has to
// stop.
const lastWords = 30 * time.Second

// stays reports whether a call may go on to where it goes. A replica that is being taken away answers what it was asked
// before, and so does the last one of an endpoint that falls asleep.
func (g *Gateway) stays(gr grant, e *exchange) bool {
	w, t := gr.workload, e.grant.target
	if w.Kind != catalog.Endpoint {
		return gr.open && gr.target == t
	}
	port := w.AsRevision(t.revision).Image.Port
	there := slices.ContainsFunc(w.Observed.Pods, func(r workload.Replica) bool {
		ip, err := netip.ParseAddr(r.IP)
		return r.Pod == t.pod && err == nil && net.JoinHostPort(ip.Unmap().String(), strconv.Itoa(int(port))) == t.address
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	switch now := g.opts.Now(); {
	case w.Desired != workload.WantRunning:
		return false
	case there || gr.open && gr.target == t:
		e.goneAt = time.Time{}
	case e.goneAt.IsZero():
		e.goneAt = now
	default:
		return now.Sub(e.goneAt) < lastWords
	}
	return true
}

// Close ends every open connection; the app calls it when it stops, since a server that shuts down does not know of
// websockets.
func (g *Gateway) Close() {
	g.passes.mu.Lock()
	var open []*exchange
	for _, p := range g.passes.byKey {
		for e := range p.exchanges {
			open = append(open, e)
		}
	}
	g.passes.mu.Unlock()
	for _, e := range open {
		e.end()
	}
	g.Flush(context.Background())
}

func (ps *passes) empty() bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return len(ps.byKey) == 0
}

// Open says how many connections are open now.
func (g *Gateway) Open() int {
	g.passes.mu.Lock()
	defer g.passes.mu.Unlock()
	n := 0
	for _, count := range g.passes.holding {
		n += count
	}
	return n
}
