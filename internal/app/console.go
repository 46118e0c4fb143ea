package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/console"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/clusteruser"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// openShiftConsole answers the plugin of the OpenShift console; zero where the settings name no address for it.
type openShiftConsole struct {
	reviewer *console.Reviewer
	handler  *console.Handler
}

// newConsole needs the edge, whose pages the console shows.
func (a *App) newConsole(version string, bundle *i18n.Bundle) error {
	c := a.config.Console
	if c.Listen == "" || !a.config.Has(config.RoleWeb) {
		return nil
	}
	for _, k := range a.config.Clusters {
		if k.Name != c.Cluster {
			continue
		}
		rc, err := restConfig(k)
		if err != nil {
			return fmt.Errorf("console: clusters %s: %w", k.Name, err)
		}
		a.console.reviewer = console.NewReviewer(rc, a.now)
	}
	who := clusteruser.Identity{Issuer: a.config.OIDC.Issuer, From: c.UserFrom, Prefix: c.UserPrefix, Is: c.UserIs}
	var err error
	a.console.handler, err = console.New(console.Options{Plugin: c.Plugin, Version: version, URL: a.config.URL,
		Pages: a.server, Bundle: bundle, Review: a.console.reviewer.Review, Decides: a.requests.Approvals.Decides,
		Workloads: a.workloadsIn, Person: func(ctx context.Context, u clusteruser.User) (identity.Actor, error) {
			return a.consoleUser(ctx, who, u)
		}})
	return err
}

// consoleUser is the caller whom the console's token stands for. Their groups have to be as fresh as for an API token.
func (a *App) consoleUser(ctx context.Context, who clusteruser.Identity, u clusteruser.User) (identity.Actor, error) {
	p, err := who.Person(ctx, a.store, u)
	if err == nil && !p.Disabled {
		p, err = a.renewals.Owner(ctx, p)
	}
	switch {
	case err != nil:
		return identity.Actor{}, err
	case p.Disabled:
		return identity.Actor{}, fault.New(fault.NotFound, i18n.T("signin.disabled"))
	case !a.config.Tokens.Limits().Standing(p, a.now()):
		return identity.Actor{}, fault.New(fault.Unauthenticated, i18n.T("problem.token_standing"))
	}
	return a.actor(p, identity.ViaConsole), nil
}

// workloadsIn counts the workloads of the team with this namespace that somebody may see; 0 for a namespace of no team.
func (a *App) workloadsIn(ctx context.Context, actor identity.Actor, namespace string) (int, error) {
	for _, t := range a.siteNow().Directory.Tenants {
		if t.NamespaceName() != namespace || !identity.Can(actor, identity.ReadTenant, identity.Resource{Tenant: t.Name}) {
			continue
		}
		list, _, err := a.workloads.List(ctx, actor, false, workload.Filter{Tenants: []string{t.Name}})
		return len(list), err
	}
	return 0, nil
}

// serveConsole answers the console's proxy until the context ends.
func (a *App) serveConsole(ctx context.Context) error {
	if a.console.handler == nil {
		return nil
	}
	c := a.config.Console
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("console.listen: %w", err)
	}
	a.log.InfoContext(ctx, "the console's plugin is there", "listen", listener.Addr().String())
	server := &http.Server{Handler: a.console.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if c.CertFile != "" {
		pair := &keyPair{cert: c.CertFile, key: c.KeyFile}
		if _, err := pair.current(nil); err != nil {
			return fmt.Errorf("console.certFile: %w", err)
		}
		listener = tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.current,
			NextProtos: []string{"h2", "http/1.1"}})
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// keyPair is a certificate with its key, read again when the file of the certificate is another: OpenShift renews those
// of services.
type keyPair struct {
	cert, key string

	mu     sync.Mutex
	pair   *tls.Certificate
	newest time.Time
}

func (p *keyPair) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Stat(p.cert)
	if err == nil && (p.pair == nil || !info.ModTime().Equal(p.newest)) {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(p.cert, p.key); err == nil {
			p.pair, p.newest = &pair, info.ModTime()
		}
	}
	if p.pair != nil { // a renewal that is half written keeps the previous one
		return p.pair, nil
	}
	return nil, err
}
