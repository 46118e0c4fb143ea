package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/trace"
)

// Run starts a portal and serves until the context ends. Work in hand is finished first, within the grace time.
func Run(ctx context.Context, c config.Config, version string, out io.Writer) error {
	return runAt(ctx, c, version, out, &door{})
}

// runAt is Run on a door that may stand open already.
func runAt(ctx context.Context, c config.Config, version string, out io.Writer, door *door) error {
	level := new(slog.LevelVar) // set in New, from the settings and the database
	log := logging.New(out, c.Log.Format, level)
	traces, stop, err := trace.Send(ctx, c.TracesEndpoint, version)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if err := stop(last); err != nil {
			log.WarnContext(ctx, "the last traces could not be sent", "error", err)
		}
	}()
	defer door.close()
	for again := true; again && err == nil; {
		again, err = runOnce(ctx, c, version, log, door, WithTraces(traces), WithLogLevel(level))
	}
	return err
}

// runOnce serves until the context ends, or until the clusters are others than when it began; then again is true.
func runOnce(ctx context.Context, c config.Config, version string, log *slog.Logger, d *door,
	options ...Option) (again bool, err error) {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	a, err := New(serving, c, version, log, append(options, WithRewire(stop))...)
	if err != nil {
		return false, err
	}
	listener, err := d.open(c.Listen)
	if err != nil {
		return false, errors.Join(err, a.store.Close())
	}
	log.InfoContext(ctx, "the portal is there", "url", c.URL, "listen", listener.Addr().String(), "version",
		version, "roles", c.Roles)
	err = a.Serve(serving, listener)
	return ctx.Err() == nil && serving.Err() != nil, errors.Join(err, a.store.Close())
}

// door is the address that the portal listens on. While the process is put together anew, the kernel keeps who comes
// waiting: each time the portal accepts on a copy, and the first one stays open.
type door struct{ first *net.TCPListener }

func (d *door) open(address string) (net.Listener, error) {
	if d.first == nil {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: is another program using the port? %w", address, err)
		}
		d.first = l.(*net.TCPListener)
	}
	file, err := d.first.File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return net.FileListener(file)
}

func (d *door) close() {
	if d.first != nil {
		_ = d.first.Close()
	}
}

// maxHeader lets in all that a browser may hold for one domain (180 cookies of 4 KiB in Chromium, which any sibling
// host can fill): a smaller limit would keep people out until they delete them. What is not ours is dropped unread.
const maxHeader = 1 << 20

// grace is how long calls in hand may take after the signal to stop.
const grace = 10 * time.Second

// Serve answers on the listener and runs hub, metrics and controller until the context ends.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	server := &http.Server{Handler: a.server, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)}
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		a.gateway.Close()
		a.logs.Close()
		stopping, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		a.terminals.Close(stopping)
		a.tunnels.Close(stopping)
		a.stopping.Store(true) // open pages notice within seconds; calls in hand may finish
		err := server.Shutdown(stopping)
		if err != nil {
			err = server.Close()
		}
		return errors.Join(err, a.flushTraffic(context.WithoutCancel(ctx)))
	})
	group.Go(func() error { return a.serveMetrics(ctx) })
	group.Go(func() error { return a.serveConsole(ctx) })
	group.Go(func() error { return a.hub.Run(ctx) })
	group.Go(func() error { return a.closeDoors(ctx) })
	group.Go(func() error { return a.followClusters(ctx) })
	group.Go(func() error { return a.followCatalog(ctx) })
	group.Go(func() error { return a.followLicenses(ctx) })
	group.Go(func() error { return a.followRules(ctx) })
	group.Go(func() error { return a.followLogLevel(ctx) })
	group.Go(func() error { return a.followSystem(ctx) })
	group.Go(func() error { return a.followTenants(ctx) })
	group.Go(func() error { return a.followDelegations(ctx) })
	group.Go(func() error { return a.followQuarantine(ctx) })
	group.Go(func() error { return a.followDrift(ctx) })
	group.Go(func() error { return a.followPrices(ctx) })
	for _, p := range a.clusters.metrics {
		group.Go(func() error { return p.Run(ctx) })
	}
	if a.config.Has(config.RoleGateway) {
		group.Go(func() error { return a.reportLoads(ctx) })
	}
	if a.config.Has(config.RoleController) {
		group.Go(func() error { return a.campaign(ctx) })
		group.Go(func() error { return a.notifyLoop(ctx) })
	}
	group.Go(func() error { return a.countTraffic(ctx) })
	group.Go(func() error { return a.countRefusals(ctx) })
	if a.config.Has(config.RoleWeb) {
		group.Go(func() error { return a.watchProvider(ctx) })
		group.Go(func() error { return a.collector.Run(ctx) })
		group.Go(func() error { return a.uses.Run(ctx) })
	}
	return group.Wait()
}

// Bounds of leading.
const (
	electEvery  = 2 * time.Second
	electWithin = time.Minute      // of one try: a statement has 30 s
	leaveWithin = 20 * time.Second // for the loops, once the lead is lost
)

// campaign runs controller and jobs while this process is the leader: at once on SQLite, and on PostgreSQL when no
// other replica is.
func (a *App) campaign(ctx context.Context) error {
	for {
		try := a.watchdog.Begin(ctx, "leader election", electWithin)
		release, ok, lost := a.store.Lead(ctx)
		try.End()
		if ok {
			left := a.runAsLeader(a.store.Fenced(ctx), lost)
			release()
			if !left { // /healthz says which loops hang; this process must not lead beside them
				a.log.ErrorContext(ctx, "loops of the controller do not end: this process does not lead again until it is "+
					"restarted")
				<-ctx.Done()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(electEvery):
		}
	}
}

// runAsLeader leads until the lead is lost or the context ends. It reports whether every loop has ended.
func (a *App) runAsLeader(ctx context.Context, lost <-chan struct{}) bool {
	a.log.InfoContext(ctx, "this process leads now: it runs controller and jobs")
	a.meters.leads.Store(true)
	defer a.meters.leads.Store(false)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var loops sync.WaitGroup
	loops.Go(func() { a.runner.Run(ctx) })
	loops.Go(func() {
		if err := a.controller.Run(ctx); err != nil {
			a.log.ErrorContext(ctx, "the controller stopped", "error", err)
		}
	})
	ended := make(chan struct{})
	go func() { defer close(ended); loops.Wait() }()
	select {
	case <-lost:
		a.log.WarnContext(ctx, "this process does not lead any more")
	case <-ctx.Done():
	}
	cancel()
	select {
	case <-ended:
		return true
	case <-time.After(leaveWithin):
		return false
	}
}

// countRefusals writes down once a minute how many sign-ins, calls and requests were refused, and what is left at the
// end.
func (a *App) countRefusals(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
			defer cancel()
			return errors.Join(a.server.FlushRefusals(last, true), a.refusals.Flush(last, true))
		case <-time.After(time.Minute):
		}
		err := errors.Join(a.server.FlushRefusals(ctx, false), a.refusals.Flush(ctx, false))
		if err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "could not record how many calls were refused", "error", err)
		}
	}
}

// closeDoors ends open connections to workloads as soon as a session or token has ended, instead of at the gateway's
// next look.
func (a *App) closeDoors(ctx context.Context) error {
	ended := a.hub.Follow(func(c live.Change) bool { return c.Topic == live.TopicSession })
	defer ended.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ended.C:
			a.gateway.Wake(ctx)
		}
	}
}

// watchProvider looks whether people could sign in, so that the strip on the pages tells before somebody tries.
func (a *App) watchProvider(ctx context.Context) error {
	for {
		if err := a.provider.Probe(ctx); err != nil && ctx.Err() == nil {
			a.log.DebugContext(ctx, "the sign-in provider does not answer", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(30 * time.Second):
		}
	}
}
