package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/license/nls"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

// Diagnose looks at all that a portal with these settings would stand on. It starts nothing, and changes nothing: a
// database is neither made nor migrated. images: registries are called too.
func Diagnose(ctx context.Context, c config.Config, version string, images bool) doctor.Facts {
	o := diagnosis(c, doctor.Process{Name: processName(), Version: version, Roles: c.Roles}, firstNamespace(c))
	o.Database = func(ctx context.Context) (doctor.Database, error) { return lookIntoDatabase(ctx, c) }
	_, err := secretKeyOf(c)
	for _, problem := range []error{err, siteProblem(c)} {
		if problem != nil {
			o.Problems = append(o.Problems, strings.Split(problem.Error(), "\n")...)
		}
	}
	for i, k := range c.Clusters {
		if k.Prometheus != "" {
			o.Clusters[i].Poll = func(ctx context.Context) (gpumetrics.Report, error) { return pollOnce(ctx, c, k) }
		}
	}
	for _, s := range c.LicenseServers {
		server, err := nls.New(s)
		o.Licenses = append(o.Licenses, licenseQuestion(s.Name, server, err))
	}
	if images {
		if first, err := initialCatalog(c); err == nil {
			o.Registries = first.Registries()
		}
	}
	return doctor.Gather(ctx, o)
}

// diagnosis is what does not depend on whether a portal runs here.
func diagnosis(c config.Config, p doctor.Process, namespace string) doctor.Options {
	o := doctor.Options{Process: p, Warnings: c.Warnings(), Secrets: c.Secrets()}
	if c.Has(config.RoleWeb) {
		o.PortalURL = c.URL
		o.Provider = doctor.ProviderOptions{Issuer: c.OIDC.Issuer, Scopes: c.OIDC.Scopes, GroupsClaim: c.OIDC.GroupsClaim,
			NoAdmins: len(c.Platform[identity.Admin]) == 0, Client: &http.Client{Timeout: 10 * time.Second}}
	}
	if c.Has(config.RoleWeb) || c.Has(config.RoleGateway) {
		o.AppsURL = appAddress(c, doctor.RandomName())
	}
	for _, k := range c.Clusters {
		one := doctor.ClusterOptions{Name: k.Name, Rights: rightsToAsk(c, k, namespace),
			Nodes: c.Has(config.RoleController), Volumes: c.Has(config.RoleController),
			KServe: k.Access.KServe, JobSet: k.Access.JobSet, LeaderWorkerSet: k.Access.LeaderWorkerSet,
			KEDA:         k.Access.KEDA,
			Snapshots:    k.Access.Snapshots,
			ModelGateway: k.ModelGateway.Needs(kube.InferencePoolKind), Kuadrant: k.ModelGateway.Kind == kube.GatewayKuadrant,
			EnvoyAIGateway: k.ModelGateway.Kind == kube.GatewayEnvoyAI}
		kept, err := c.LogStoreOf(k)
		if err == nil && kept != nil && c.Has(config.RoleWeb) {
			one.LogStore = doctor.LogStoreOptions{Name: kept.Name(), Check: func(ctx context.Context) error {
				return kept.Check(ctx, time.Now())
			}}
		}
		if one.Config, err = restConfig(k); err != nil {
			one.Err = err.Error()
		}
		for _, class := range append([]string{k.StorageClass}, classNames(k)...) {
			if class != "" && !slices.Contains(one.Storage, class) {
				one.Storage = append(one.Storage, class)
			}
		}
		o.Clusters = append(o.Clusters, one)
	}
	return o
}

func classNames(k config.Cluster) []string {
	names := make([]string, len(k.SharedStorage))
	for i, class := range k.SharedStorage {
		names[i] = class.Name
	}
	return names
}

// rightsToAsk are those of reconcile.RightsFor that this process needs, with what it can do without.
func rightsToAsk(c config.Config, k config.Cluster, namespace string) []doctor.Rights {
	r := reconcile.RightsFor(k.Rights())
	var all []doctor.Rights
	if c.Has(config.RoleController) {
		all = append(all, doctor.Rights{Role: "cluster", Rules: r.Cluster})
	}
	if len(r.Runtimes) > 0 && c.Has(config.RoleController) {
		all = append(all, doctor.Rights{Role: "runtimes", Optional: true, Rules: r.Runtimes})
	}
	if namespace != "" && c.Has(config.RoleController) {
		all = append(all, doctor.Rights{Role: "tenant", Namespace: namespace, Rules: r.Tenant})
	}
	if namespace != "" && k.PodAccess == "apiserver" && (c.Has(config.RoleController) || c.Has(config.RoleGateway)) {
		all = append(all, doctor.Rights{Role: "proxy", Namespace: namespace, Rules: r.Proxy})
	}
	if namespace != "" && c.Has(config.RoleWeb) {
		all = append(all, doctor.Rights{Role: "logs", Namespace: namespace, Optional: true, Rules: r.Logs})
	}
	if namespace != "" && c.Has(config.RoleWeb) && c.Terminal.Enabled {
		all = append(all, doctor.Rights{Role: "terminal", Namespace: namespace, Optional: true, Rules: r.Terminal})
	}
	if k.Agents.Namespace != "" && k.PodAccess == "apiserver" && c.Has(config.RoleController) {
		all = append(all, doctor.Rights{Role: "agents", Namespace: k.Agents.Namespace, Optional: true, Rules: r.Agents})
	}
	return all
}

func firstNamespace(c config.Config) string {
	if len(c.Tenants) == 0 {
		return ""
	}
	return c.Tenants[0].NamespaceName()
}

func processName() string {
	name, err := os.Hostname()
	if err != nil {
		return "portal"
	}
	return name
}

// secretKeyOf is secretKey without making one: a database that is not there yet has none.
func secretKeyOf(c config.Config) ([]byte, error) {
	if c.SecretKeyFile == "" {
		return nil, nil
	}
	return secretKey(c)
}

func siteProblem(c config.Config) error {
	_, site := newSite(c)
	_, first := initialCatalog(c)
	return errors.Join(site, first)
}

func lookIntoDatabase(ctx context.Context, c config.Config) (doctor.Database, error) {
	if path, embedded := strings.CutPrefix(c.Database, "sqlite:"); embedded && path != ":memory:" {
		if _, err := os.Stat(strings.TrimPrefix(path, "//")); errors.Is(err, fs.ErrNotExist) {
			return doctor.Database{Absent: true}, nil
		}
	}
	st, err := store.Open(ctx, c.Database, store.Options{Connections: 2})
	if errors.Is(err, store.ErrInUse) {
		return doctor.Database{InUse: true}, nil
	}
	if err != nil {
		return doctor.Database{}, err
	}
	d, err := describeDatabase(ctx, st, time.Now)
	return d, errors.Join(err, st.Close())
}

func describeDatabase(ctx context.Context, st *store.Store, now func() time.Time) (doctor.Database, error) {
	s, err := st.Server(ctx)
	if err != nil {
		return doctor.Database{}, err
	}
	d := doctor.Database{Engine: s.Engine, Version: s.Version, ReadOnly: s.ReadOnly, Unsafe: s.Unsafe,
		Encoding: s.Encoding, Most: s.Connections}
	if d.Have, d.Want, err = st.SchemaVersion(ctx); err != nil {
		return d, err
	}
	began := now()
	theirs, err := st.Clock(ctx)
	d.Skew = theirs.Sub(began)
	return d, err
}

func pollOnce(ctx context.Context, c config.Config, k config.Cluster) (gpumetrics.Report, error) {
	p, err := newPoller(k, gpumetrics.Config{Recent: c.Health.ErrorWindow(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return gpumetrics.Report{}, err
	}
	err = p.Poll(ctx)
	return p.Report(), err
}

func licenseQuestion(name string, s license.Source, err error) doctor.LicenseOptions {
	return doctor.LicenseOptions{Name: name, Features: func(ctx context.Context) (int, error) {
		if err != nil {
			return 0, err
		}
		a, err := s.Fetch(ctx)
		return len(a.Features), err
	}}
}

// gather looks at what this portal stands on, with the connections that it has.
func (a *App) gather(ctx context.Context) doctor.Facts {
	o := diagnosis(a.config, a.process, a.firstSpace())
	o.Now, o.Provider.Client = a.now, cmp.Or(a.toProvider, o.Provider.Client)
	o.Database = func(ctx context.Context) (doctor.Database, error) { return describeDatabase(ctx, a.store, a.now) }
	for i, k := range a.config.Clusters {
		if p := a.clusters.metrics[k.Name]; p != nil {
			o.Clusters[i].Poll = func(context.Context) (gpumetrics.Report, error) { return p.Report(), p.Status().Err }
		}
	}
	for _, s := range a.sources {
		o.Licenses = append(o.Licenses, licenseQuestion(s.Name(), s, nil))
	}
	return doctor.Gather(ctx, o)
}

// firstSpace is the namespace of a team, to ask for rights there; "" where there is no team.
func (a *App) firstSpace() (namespace string) {
	for _, t := range a.tenants.Directory().Tenants {
		if namespace = t.NamespaceName(); !t.Disabled {
			break
		}
	}
	return namespace
}

func (a *App) newDoctor(version string) *doctor.Service {
	a.process = doctor.Process{Name: processName(), Version: version, Roles: a.config.Roles, Started: a.now().UTC()}
	return doctor.NewService(doctor.ServiceOptions{Store: a.store, Process: a.process, ID: newID("p-"), Gather: a.gather,
		Heartbeat: a.heartbeat, Levels: a.levels, Now: a.now, Logger: a.log, Settings: a.config.Masked,
		Secrets: a.config.Secrets})
}

func (a *App) heartbeat() doctor.Heartbeat {
	h := doctor.Heartbeat{Leads: a.meters.leads.Load()}
	if h.Leads && a.controller != nil {
		h.Reconcile = a.controller.Waiting()
	}
	for _, c := range a.watchdog.Checks() {
		if c.Hung {
			h.Hung = append(h.Hung, c.Name)
		}
	}
	return h
}

// followSystem looks now and then, and when another process is asked to.
func (a *App) followSystem(ctx context.Context) error {
	changed, done := a.publish(ctx, live.TopicSystem)
	defer done()
	return a.doctor.Run(ctx, changed)
}
