package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Loads takes a gateway's load reports of endpoints.
type Loads interface {
	SaveEndpointLoads(ctx context.Context, r autoscale.Report) error
	// EndGateway says that a gateway reports no more.
	EndGateway(ctx context.Context, gateway string) error
}

// loadWindow is the time that concurrency and requests per second are the mean of.
const loadWindow = 3 * autoscale.ReportEvery

// loads counts the requests of each endpoint in this process.
type loads struct {
	mu   sync.Mutex
	byID map[workload.ID]*load
}

type load struct {
	open  int
	last  time.Time // begin or end of the newest request
	now   loadMark
	marks []loadMark // of the window, oldest first
}

// loadMark is what had been counted up to a moment.
type loadMark struct {
	at       time.Time
	busy     time.Duration // of all requests together
	requests int
}

func (l *loads) of(id workload.ID, now time.Time) *load {
	if l.byID == nil {
		l.byID = map[workload.ID]*load{}
	}
	one := l.byID[id]
	if one == nil {
		one = &load{now: loadMark{at: now}, marks: []loadMark{{at: now}}}
		l.byID[id] = one
	}
	one.now.busy += time.Duration(one.open) * max(0, now.Sub(one.now.at))
	one.now.at, one.last = now, now
	return one
}

// begin counts a request until end is called.
func (l *loads) begin(id workload.ID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.of(id, now)
	one.open++
	one.now.requests++
}

func (l *loads) end(id workload.ID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(id, now).open--
}

// report is the load of the window. What had none is told once more, and forgotten.
func (l *loads) report(now time.Time) (list []autoscale.EndpointLoad) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, one := range l.byID {
		last := one.last
		is := l.of(id, now).now
		one.last = last
		one.marks = append(one.marks, is)
		for len(one.marks) > 2 && !one.marks[1].at.After(now.Add(-loadWindow)) {
			one.marks = one.marks[1:]
		}
		first := one.marks[0]
		e := autoscale.EndpointLoad{Workload: string(id), UnderWay: one.open, LastRequest: last}
		if span := is.at.Sub(first.at); span > 0 {
			e.Concurrency = (is.busy - first.busy).Seconds() / span.Seconds()
			e.PerSecond = float64(is.requests-first.requests) / span.Seconds()
		}
		list = append(list, e)
		if one.open == 0 && e.Concurrency == 0 && e.PerSecond == 0 && now.Sub(last) > loadWindow {
			delete(l.byID, id)
		}
	}
	return list
}

// EndReports says that this gateway passes nothing on any more.
func (g *Gateway) EndReports(ctx context.Context) error {
	if err := g.ReportLoads(ctx); err != nil {
		return err
	}
	return g.opts.Loads.EndGateway(ctx, g.opts.ID)
}

// ReportLoads tells what was measured of endpoints; the app calls it every autoscale.ReportEvery.
func (g *Gateway) ReportLoads(ctx context.Context) error {
	now := g.opts.Now()
	return g.opts.Loads.SaveEndpointLoads(ctx, autoscale.Report{Gateway: g.opts.ID, At: now,
		Endpoints: g.loads.report(now)})
}
