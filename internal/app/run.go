package app

import (
	"cmp"
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
	"github.com/gpu-portal/gpu-portal/internal/trace"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Run starts a portal and serves until the context ends. Work in hand is finished first, within the grace time.
func Run(ctx context.Context, c config.Config, version string, out io.Writer) error {
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelInfo}))
	traces, stop, err := trace.Send(ctx, c.TracesEndpoint, version)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if err := stop(last); err != nil {
			log.Warn("the last traces could not be sent", "error", err)
		}
	}()
	a, err := New(ctx, c, version, log, WithTraces(traces))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen on %s: is another program using the port? %w", c.Listen, err), a.store.Close())
	}
	log.Info("the portal is there", "url", c.URL, "listen", listener.Addr().String(), "version", version, "roles", c.Roles)
	err = a.Serve(ctx, listener)
	return errors.Join(err, a.store.Close())
}

// grace is how long calls in hand may take after the signal to stop.
const grace = 10 * time.Second

// Serve answers on the listener and runs hub, metrics and controller until the context ends.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	server := &http.Server{Handler: a.server, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
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
		a.stopping.Store(true) // open pages notice within seconds; calls in hand may finish
		stopping, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if err := server.Shutdown(stopping); err != nil {
			return server.Close()
		}
		return nil
	})
	group.Go(func() error { return a.serveMetrics(ctx) })
	group.Go(func() error { return a.hub.Run(ctx) })
	group.Go(func() error { return a.closeDoors(ctx) })
	group.Go(func() error { return a.followCatalog(ctx) })
	group.Go(func() error { return a.followLicenses(ctx) })
	group.Go(func() error { return a.followRules(ctx) })
	group.Go(func() error { return a.followTenants(ctx) })
	group.Go(func() error { return a.followStandIns(ctx) })
	group.Go(func() error { return a.followMarks(ctx) })
	group.Go(func() error { return a.followDrift(ctx) })
	group.Go(func() error { return a.followPrices(ctx) })
	for _, p := range a.clusters.metrics {
		group.Go(func() error { return p.Run(ctx) })
	}
	if a.config.Has(config.RoleController) {
		group.Go(func() error { return a.lead(ctx) })
		group.Go(func() error { return a.tell(ctx) })
	}
	group.Go(func() error { return a.sweep(ctx) })
	group.Go(func() error { return a.closeSheets(ctx) })
	group.Go(func() error { return a.countRefusals(ctx) })
	if a.config.Has(config.RoleWeb) {
		group.Go(func() error { return a.watchProvider(ctx) })
		group.Go(func() error { return a.collector.Run(ctx) })
	}
	return group.Wait()
}

// lead runs the controller while this process is the leader: at once on SQLite, and on PostgreSQL when no other replica
// is.
func (a *App) lead(ctx context.Context) error {
	for ctx.Err() == nil {
		release, ok, lost := a.store.Lead(ctx)
		if ok {
			a.log.Info("this process carries out wishes now")
			a.meters.leads.Store(true)
			a.reign(a.store.Fenced(ctx), lost)
			a.meters.leads.Store(false)
			release()
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
	return nil
}

func (a *App) reign(ctx context.Context, lost <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-lost:
			a.log.Warn("another process leads now")
			cancel()
		case <-ctx.Done():
		}
	}()
	var asking sync.WaitGroup
	asking.Go(func() { a.agents.run(ctx) })
	asking.Go(func() { _ = a.licenses.Run(ctx, cmp.Or(a.config.LicenseEvery.Std(), askLicensesEvery), askLicensesFor) })
	asking.Go(func() { _ = a.recorder.Run(ctx) })
	asking.Go(func() { a.tellMonths(ctx) })
	defer func() {
		cancel()
		asking.Wait()
	}()
	if err := a.controller.Run(ctx); err != nil {
		a.log.Error("the controller stopped", "error", err)
	}
}

// sweep forgets what is over: sessions, codes, old outbox rows.
func (a *App) sweep(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(10 * time.Minute):
		}
		if err := a.store.PurgeOld(ctx, a.now()); err != nil && ctx.Err() == nil {
			a.log.Warn("could not forget what is over", "error", err)
		}
	}
}

// closeSheets keeps the sums of the meter, so that statements are quick. Every replica may do so.
func (a *App) closeSheets(ctx context.Context) error {
	for {
		if err := a.store.MeterStorage(ctx, a.now()); err != nil && ctx.Err() == nil {
			a.log.Warn("could not begin to meter storage", "error", err)
		}
		if err := usage.CloseSheets(ctx, a.store, zone(a.config), a.now()); err != nil && ctx.Err() == nil {
			a.log.Warn("could not write down the sums of the meter", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(10 * time.Minute):
		}
	}
}

// tellMonths sends the statements of the last month to those who are not told yet. It looks only after a while, so that
// what happened while no portal ran is metered first.
func (a *App) tellMonths(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Minute):
		}
		if len(a.drift.Holds()) > 0 {
			continue
		}
		if err := a.monthly.Tell(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("the statements of the last month could not be sent", "error", err)
		}
	}
}

// countRefusals writes down once a minute how many sign-ins were refused, and what is left at the end.
func (a *App) countRefusals(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
			defer cancel()
			return a.server.FlushRefusals(last, true)
		case <-time.After(time.Minute):
		}
		if err := a.server.FlushRefusals(ctx, false); err != nil && ctx.Err() == nil {
			a.log.Warn("could not record how many sign-ins were refused", "error", err)
		}
	}
}

// closeDoors ends open connections to workloads as soon as a session or token has ended, instead of at the gateway's
// next look.
func (a *App) closeDoors(ctx context.Context) error {
	ended := a.hub.Follow(func(c live.Change) bool { return c.Topic == "session" })
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
			a.log.Debug("the sign-in provider does not answer", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(30 * time.Second):
		}
	}
}
