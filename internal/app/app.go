package app

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/agentreport"
	"github.com/gpu-portal/gpu-portal/internal/api"
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/autoscale/scaler"
	"github.com/gpu-portal/gpu-portal/internal/branding"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/gateway"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidc"
	"github.com/gpu-portal/gpu-portal/internal/identity/renewal"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/license/nls"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reference"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/serve"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
	"github.com/gpu-portal/gpu-portal/internal/trace"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/tunnel"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/usage/recorder"
	"github.com/gpu-portal/gpu-portal/internal/web"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/static"
	"github.com/gpu-portal/gpu-portal/views/layout"
)

// App is a portal that is put together but not started.
type App struct {
	config        config.Config
	log           *slog.Logger
	logLevel      *slog.LevelVar
	levels        *logging.Levels
	store         *store.Store
	hub           *live.Hub
	standing      *live.Standing
	site          request.Site // without the catalog, which is the offer's
	initial       offer.Initial
	offer         *offer.Service
	licenses      *license.Service
	sources       []license.Source
	agents        agents
	rules         *policy.Service
	tenants       *tenant.Service
	delegations   *delegation.Service
	accounts      *accounts.Service
	embeds        *embed.Service
	clusters      clusters
	console       openShiftConsole
	secrets       secrets
	keyring       secret.Keyring
	secretService *secret.Service
	added         *cluster.Service // clusters that are added in the portal
	mark          string           // of those that this process works with
	rewire        func()           // called when they are others; nil: they are taken up at the next start
	requests      request.Services
	workloads     *workload.Service
	keys          *endpointkey.Service
	traffic       *traffic.Service
	counts        *traffic.Recorder
	logs          *podlogs.Service
	terminals     *terminal.Service
	tunnels       *tunnel.Service
	usage         *usage.Service
	monthly       *usage.StatementMail
	budgets       *budget.Service
	prices        *usage.Prices
	fleet         *usage.Fleet
	forecasts     *forecast.Service
	quarantine    *health.Service
	drift         *drift.Service
	doctor        *doctor.Service
	process       doctor.Process
	advice        *advice.Service
	collector     *advice.Collector
	idle          *idle.Service
	recorder      *recorder.Recorder
	uses          *recorder.Live
	scaler        *scaler.Scaler
	runner        *jobs.Runner
	watchdog      *jobs.Watchdog
	pods          *gateway.Pods
	gateway       *gateway.Gateway
	controller    *reconcile.Controller
	provider      *oidc.Client
	renewals      *renewal.Service
	notify        *notify.Service
	server        *serve.Server
	pages         *web.Web // nil without the web role
	meters        *meters
	traces        trace.Provider
	now           func() time.Time
	newID         func(prefix string) string
	toProvider    *http.Client // for calls to the sign-in provider; nil: the usual one
	stopping      atomic.Bool
	limits        *limit.Limiter
	refusals      *audit.Aggregator // requests that are refused again and again
	onSQL         func(ctx context.Context, sql string)
}

// Option changes what a portal takes from the machine.
type Option func(*App)

// WithClock gives another time than the machine's to sessions, tokens, services and the sign-in.
func WithClock(now func() time.Time) Option { return func(a *App) { a.now = now } }

// WithIDs gives other ids than random ones, each with its prefix.
func WithIDs(newID func(prefix string) string) Option { return func(a *App) { a.newID = newID } }

// WithSQL has each statement told, with the context of the call that it is made for.
func WithSQL(on func(ctx context.Context, sql string)) Option { return func(a *App) { a.onSQL = on } }

// WithProviderClient has the sign-in provider called by another client than the usual one.
func WithProviderClient(client *http.Client) Option { return func(a *App) { a.toProvider = client } }

// WithLogLevel hands over the level of the logger, which administrators can change.
func WithLogLevel(level *slog.LevelVar) Option { return func(a *App) { a.logLevel = level } }

// WithRewire has a function called once when the clusters that this process works with are others than those that the
// portal knows now: the process is to be put together anew.
func WithRewire(fn func()) Option { return func(a *App) { a.rewire = fn } }

// WithTraces has calls, decisions and what follows from them traced.
func WithTraces(p trace.Provider) Option { return func(a *App) { a.traces = p } }

// microseconds is a clock that ticks as finely as the database keeps times: what an answer says is what is kept. Its
// readings still measure durations when the machine's clock is set meanwhile.
func microseconds(now func() time.Time) func() time.Time {
	return func() time.Time {
		t := now()
		return t.Add(-time.Duration(t.Nanosecond() % int(time.Microsecond)))
	}
}

// New puts a portal together. It needs the database and nothing else to answer. What is wrong with the settings is one
// error, one problem a line.
func New(ctx context.Context, c config.Config, version string, log *slog.Logger, options ...Option) (*App, error) {
	a := &App{config: c, log: log, now: time.Now, newID: newID, meters: newMeters(version),
		logLevel: new(slog.LevelVar)}
	for _, option := range options {
		option(a)
	}
	a.now = microseconds(a.now)
	if err := a.outside(); err != nil {
		return nil, err
	}
	key, err := secretKey(c)
	if err != nil {
		return nil, err
	}
	a.secrets = secrets{key: key}
	if a.keyring, err = keyring(c, key); err != nil {
		return nil, err
	}
	for _, warning := range c.Warnings() {
		log.WarnContext(ctx, warning)
	}
	if a.store, err = openStore(ctx, c, store.Options{Now: a.now, Log: log, OnSQL: a.onSQL}); err != nil {
		return nil, err
	}
	if err := a.assemble(ctx, version, key); err != nil {
		return nil, errors.Join(err, a.store.Close())
	}
	for name, pool := range a.store.Pools() {
		a.meters.registry.MustRegister(collectors.NewDBStatsCollector(pool, name))
	}
	a.meters.registry.MustRegister(gauges{app: a})
	return a, nil
}

// assemble makes what stands on the database, the parts that others stand on first.
func (a *App) assemble(ctx context.Context, version string, key []byte) (err error) {
	c := a.config
	if err := a.takeUpClusters(ctx); err != nil {
		return err
	}
	if a.pods, err = gateway.NewPods(gateway.PodsOptions{Clusters: a.clusters.reach, Secrets: a.secrets}); err != nil {
		return err
	}
	a.watchdog = jobs.NewWatchdog(a.store.Renew, a.store.RenewEvery())
	a.renewals = a.newRenewals(key)
	a.limits = limit.New(c.RateLimits, a.now)
	a.refusals = audit.NewAggregator(a.now, func(ctx context.Context, events ...audit.Event) error {
		return a.store.Append(ctx, events...)
	})
	a.hub = live.NewHub(a.store, 500*time.Millisecond)
	a.standing = live.NewStanding(a.hub)
	a.store.OnCommit(a.hub.Wake)
	a.store.OnEvents(a.meters.count)
	a.store.OnLateWrite(a.meters.late.Inc)
	a.levels = logging.NewLevels(logging.Options{Store: a.store, Level: a.logLevel, Configured: a.config.Log.Level,
		Now: a.now, Logger: a.log})
	a.services()
	a.doctor = a.newDoctor(version)
	if err := a.takeUp(ctx); err != nil {
		return err
	}
	if err := a.edge(version, key); err != nil {
		return err
	}
	if c.Has(config.RoleController) {
		a.controller = a.newController()
		a.scaler = a.newScaler()
		a.runner = a.newRunner()
	}
	return nil
}

// takeUp reads what administrators have saved last.
func (a *App) takeUp(ctx context.Context) error {
	for _, refresh := range []func(context.Context) error{a.levels.Refresh, a.tenants.Refresh, a.takeUpCatalog,
		a.prices.Refresh, a.licenses.Refresh, a.rules.Refresh, a.delegations.Refresh, a.quarantine.Refresh,
		a.drift.Refresh} {
		if err := refresh(ctx); err != nil {
			return err
		}
	}
	return nil
}

// outside prepares what the settings name outside of the portal: catalog, clusters, sign-in provider. It calls none
// of them.
func (a *App) outside() error {
	c := a.config
	var site, first, clusters, agents, provider error
	var servers []error
	for _, s := range c.LicenseServers {
		server, err := nls.New(s)
		if err != nil {
			servers = append(servers, fmt.Errorf("licenseServers %s: %w", s.Name, err))
			continue
		}
		a.sources = append(a.sources, server)
	}
	a.site, site = newSite(c)
	a.initial, first = initialCatalog(c)
	a.clusters, clusters = connect(c, a.log, a.freshMetrics, a.namespaces, a.nodeIndex)
	a.agents, agents = newAgents(c, agentreport.Options{Now: a.now, Logger: a.log}, a.freshAgents)
	a.provider, provider = oidc.New(oidc.Config{Issuer: c.OIDC.Issuer, ClientID: c.OIDC.ClientID,
		ClientSecret: secretOf(c), RedirectURL: c.URL + "/signin/callback",
		GroupsClaim: c.OIDC.GroupsClaim, Offline: oidc.Offline(c.OIDC.OfflineAccess), Consent: oidc.Consent(c.OIDC.Consent),
		Scopes:                c.OIDC.Scopes,
		HTTPClient:            a.toProvider,
		AcceptUnverifiedEmail: c.OIDC.AcceptUnverifiedEmail, Now: a.now})
	if provider != nil {
		provider = fmt.Errorf("oidc: %w", provider)
	}
	return errors.Join(site, first, clusters, agents, errors.Join(servers...), provider)
}

// nodeIndex is what the inventory of a cluster tells of which node a series is of.
func (a *App) nodeIndex(cluster string) gpumetrics.NodeIndex {
	s, _ := a.store.Snapshot(context.Background(), cluster)
	return health.NodeIndex(s)
}

// namespaces are the teams' own, on every cluster.
func (a *App) namespaces() []string {
	teams := a.tenants.Directory().Tenants
	names := make([]string, len(teams))
	for i, t := range teams {
		names[i] = t.NamespaceName()
	}
	return names
}

// ServeHTTP answers as the portal and as its gateway.
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.server.ServeHTTP(w, r) }

// siteNow is what the services decide by, with the catalog and the rules that count now.
func (a *App) siteNow() request.Site {
	site := a.site
	site.Catalog, site.Policy, site.Directory = a.offer.Catalog(), a.rules.Policy(), a.tenants.Directory()
	site.Pools, site.Unlicensed = a.licenses.Pools(), a.licenses.Unlicensed()
	site.Prices, site.Undo = a.prices.List(), a.config.Approvals.UndoPeriod()
	return site
}

func (a *App) freshMetrics() {
	if a.hub != nil {
		a.hub.Publish(live.Change{Topic: live.TopicMetrics})
	}
}

// freshAgents passes on that the agents of a cluster say something new: a license went, or a card was cut anew.
func (a *App) freshAgents(cluster string) {
	a.controller.TakeStock(cluster)
	a.licenses.TriggerPoll()
}

func (a *App) services() {
	a.offer = offer.New(offer.Options{Store: a.store, Snapshots: a.store, Clusters: a.site.Clusters, Initial: a.initial,
		Now: a.now, Logger: a.log})
	a.licenses = license.New(license.Options{Store: a.store, Changes: a.store, Pools: a.site.Pools, Sources: a.sources,
		Virtual: a.virtual, Seen: a.devicesSeen, VGPUs: a.vgpus, Now: a.now, NewID: a.newID, Logger: a.log})
	a.rules = policy.NewService(policy.Options{Store: a.store, Initial: a.site.Policy, Now: a.now, Logger: a.log})
	a.tenants = tenant.NewService(tenant.Options{Store: a.store, Initial: a.site.Directory, Known: a.sizeKnown,
		Clusters:            func() []string { return a.site.Clusters },
		Holidays:            a.config.Schedule.Holidays,
		OwnersNameApprovers: a.config.OwnersNameApprovers, Refusals: a.refusals, Catalog: a.offer.Catalog,
		Resolve: a.resolveImage, ImageUsers: slices.ContainsFunc(a.config.Clusters, notOpenShift),
		Taken: a.teamsTaken, Now: a.now, Logger: a.log})
	a.budgets = &budget.Service{Store: a.store, Zone: zone(a.config), Now: a.now, NewID: a.newID, Tenant: a.team,
		Money: a.currency, Prices: func() usage.PriceList { return a.prices.List() }}
	a.requests = request.New(request.Options{Store: a.store, Refusals: a.refusals, Budgets: a.budgets, Site: a.siteNow,
		Snapshots: a.store, Renderer: a, PinImage: a.tenants.PinImage,
		Raised: a.tenants.Refresh, People: a.store, Actor: a.actor, Now: a.now, NewID: a.newID})
	a.delegations = delegation.New(delegation.Options{Store: a.store, Actor: a.actor,
		Decides: a.requests.Approvals.Decides,
		Now:     a.now,
		NewID:   a.newID, Logger: a.log})
	a.accounts = &accounts.Service{Store: a.store, Actor: a.actor, Limits: a.config.Tokens.Limits(),
		Idle: a.config.Session.Idle.Std(), Now: a.now}
	a.workloads = &workload.Service{Store: a.store, Changes: a.store, Budgets: a.budgets,
		Prices: func() usage.PriceList { return a.prices.List() }, Limits: limits{a.siteNow}, Now: a.now,
		Retention: a.config.Storage.RetentionRules(), Grace: a.config.Storage.Grace.Std(), Sizes: a.size,
		Avoid:     func(cluster string) []string { return a.licenses.Unlicensed()[cluster] },
		SeatQueue: seatQueue{a.requests.Seats},
		Sharing:   a.sharing, Colleagues: tenant.Colleagues{Store: a.store,
			Actor: func(p identity.Person) identity.Actor { return a.actor(p, identity.ViaSession) }},
		Schedules: a.tenants.ScheduleOf, MayStart: a.mayStart, TeamSecrets: a.teamSecrets}
	a.secretService = a.newSecrets()
	a.embeds = embed.New(embed.Options{Store: a.store, Workloads: a.workloads, Team: a.teamTitle, Actor: a.actor,
		Owner: a.renewals.Owner, Limits: a.config.Tokens.Limits(), Origins: a.config.Embed.AllowedOrigins,
		MaxLife: a.config.Embed.MaxLifetime.Std(), URL: a.config.URL, Key: derive(a.secrets.key, "embed address"),
		Now: a.now, NewID: a.newID})
	a.traffic = &traffic.Service{Store: a.store, Meters: a.workloads.Meters, Now: a.now}
	a.counts = traffic.NewRecorder(traffic.RecorderOptions{Store: a.store, Process: newID("g-"), Now: a.now,
		Logger: a.log})
	a.keys = &endpointkey.Service{Store: a.store, MaxLife: a.config.Tokens.MaxKeyLifetime.Std(), Now: a.now}
	a.logs = podlogs.New(podlogs.Options{Workloads: a.workloads, Clusters: a.clusters.logs, Token: a.secrets.Token,
		Hidden: a.secretService.Hidden, Stores: a.clusters.stores, Namesakes: a.store.Namesakes,
		Alive: a.sessionAlive, Now: a.now})
	a.terminals = terminal.New(terminal.Options{Workloads: a.workloads, Record: a.store, Visits: a.store,
		Clusters: a.clusters.terminals, Rules: terminalRules(a.config.Terminal), Alive: a.sessionAlive,
		Ended: a.meters.terminalEnded, Now: a.now, Logger: a.log})
	a.tunnels = tunnel.New(tunnel.Options{Workloads: a.workloads, Pods: a.pods, Record: a.store, Visits: a.store,
		Rules: tunnelRules(a.config.Tunnel), Alive: a.sessionAlive, Ended: a.meters.tunnelEnded, Now: a.now,
		Logger: a.log})
	a.fleet = &usage.Fleet{Store: a.store, Zone: zone(a.config), Now: a.now,
		Clusters: func() []string { return a.site.Clusters }}
	a.forecasts = forecast.New(forecast.Options{Store: a.store, Snapshots: a.store, Seats: a.requests.Seats.Pools,
		Now: a.now})
	a.prices = usage.NewPrices(usage.PricesOptions{Store: a.store, Known: a.priced, Zone: zone(a.config),
		Currency: a.config.Currency, Now: a.now, NewID: a.newID, Logger: a.log})
	a.usage = &usage.Service{Store: a.store, Changes: a.store, Demand: a.store, Fleet: a.fleet, Prices: a.prices,
		Zone: zone(a.config),
		Now:  a.now, Focus: a.focusSite()}
	a.monthly = &usage.StatementMail{Store: a.store, Statements: a.usage,
		Technology: func(name string) i18n.Text { return a.offer.Catalog().TechnologyWord(catalog.Technology(name)) }}
	a.advise()
	a.watchIdle()
	a.quarantine = a.newQuarantine()
	a.drift = a.newDrift()
}

func terminalRules(t config.Terminal) terminal.Rules {
	return terminal.Rules{Enabled: t.Enabled, Tenants: t.Tenants, Files: t.Files, FileBytes: int64(t.FileGiB) << 30,
		Limits: session.Limits{Idle: t.Idle.Std(), Longest: t.Longest.Std(), Most: t.Most, PerPerson: t.PerPerson}}
}

func tunnelRules(t config.Tunnel) tunnel.Rules {
	return tunnel.Rules{Enabled: t.Enabled, MaxBytes: int64(t.MaxGiB) << 30, Limits: session.Limits{Idle: t.Idle.Std(),
		Longest: t.Longest.Std(), Most: t.Most, PerPerson: t.PerPerson}}
}

// newID draws an id that nobody can guess and that is safe in names: lower case letters and digits.
func newID(prefix string) string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return prefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// Manifest writes what would be created for a workload, with its secret left out.
func (a *App) Manifest(w workload.Workload, t tenant.Tenant) (string, error) {
	site := a.clusters.sites[w.Cluster]
	objects, err := kube.Objects(kube.Input{Workload: w, Tenant: t, Site: site, Token: "unused",
		LoadToken: "unused", Secrets: kube.Unmounted(w)})
	if err != nil {
		return "", err
	}
	return kube.Manifest(objects)
}

// teamsTaken is called when teams are others than before.
func (a *App) teamsTaken() {
	a.standing.Forget()
	if a.controller != nil {
		a.controller.Revise()
	}
}

func (a *App) newController() *reconcile.Controller {
	changes := a.hub.Follow(func(c live.Change) bool {
		return c.Topic == live.TopicWorkload || c.Topic == live.TopicVolume || c.Topic == live.TopicDifference
	})
	return reconcile.New(reconcile.Options{
		Store: a.store, Clusters: a.clusters.controlled, Changes: changes, Token: a.secrets.Token,
		LoadToken: a.secrets.LoadToken, Secrets: a.secretService.Values, KeyLimits: a.store.KeyLimits,
		Prober: a.pods, Logger: a.log, Now: a.now, Metrics: a.meters.registry, Traces: a.traces,
		Shared: a.workloads, Forecasts: a.forecasts, Warnings: a.config.Lease.WarningTimes(), Trusted: a.clocks().Trusted,
		Watchdog: a.watchdog,
		Site: func() reconcile.Site {
			return reconcile.Site{Catalog: a.offer.InUse(), Directory: a.tenants.Directory()}
		},
		Prices:     a.prices.List,
		Seats:      a.seats,
		Fleet:      a.fleet,
		Cards:      a.agents.cards,
		Quarantine: a.quarantine.Quarantined,
		KubeSite:   func(cluster string) kube.Site { return a.clusters.sites[cluster] },
	})
}

// actor says what a person is now, by the groups last told and the teams in effect.
func (a *App) actor(p identity.Person, via identity.Via) identity.Actor {
	return a.tenants.Directory().Actor(p, via)
}

// mayStart is a Conflict where the owner of a workload is shut out, or has left the team that pays.
func (a *App) mayStart(ctx context.Context, w workload.Workload) error {
	p, err := a.store.Person(ctx, w.Owner)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err != nil || p.Disabled || !identity.Can(a.actor(p, identity.ViaSession), identity.SubmitRequest,
		identity.Resource{Tenant: w.Tenant}) {
		return fault.New(fault.Conflict, i18n.T("schedule.owner_gone", "Name", w.OwnerName))
	}
	return nil
}

func (a *App) size(name string) (catalog.Size, bool) { return a.offer.Catalog().Size(name) }

func (a *App) teamTitle(name string) (string, bool) {
	t, ok := a.tenants.Directory().ByName(name)
	return t.Display(), ok
}

func (a *App) sizeKnown(name string) bool {
	_, ok := a.size(name)
	return ok
}

func (a *App) edge(version string, key []byte) error {
	c := a.config
	bundle, err := i18n.Load()
	if err != nil {
		return err
	}
	if a.gateway, err = a.newGateway(bundle); err != nil {
		return err
	}
	if a.notify, err = a.newNotify(bundle, key); err != nil {
		return err
	}
	options := serve.Options{
		URL: c.URL, TrustedProxies: networks(c.TrustedProxies), Idle: c.Session.Idle.Std(),
		Absolute: c.Session.Absolute.Std(), MostSessions: c.Session.Most, Limits: a.limits, Store: a.store,
		Provider: a.provider, Renewals: a.renewals, Tokens: a.tokens(), Actor: a.actor, Delegators: a.delegations.For,
		Pages: edgePages{provider: c.OIDC.Name, framed: a.framed}, Bundle: bundle,
		Key: derive(key, "sign-in cookie"), Now: a.now, Logger: a.log, Alive: a.watchdog.Checks,
		Ready: a.store.Ping,
		Parts: a.parts, Metrics: a.meters.registry, Traces: a.traces,
	}
	brand, err := c.Branding.Load()
	if err != nil {
		return err
	}
	look := layout.Brand{Logo: brand.Logo(), Style: brand.Style()}
	options.Context = func(ctx context.Context) context.Context { return layout.WithBrand(ctx, look) }
	options.IsWorkload = a.gateway.Serves
	if c.Has(config.RoleGateway) {
		options.Gateway = a.meters.passed(a.gateway)
	}
	routes, mounts := a.surface(version, bundle)
	if c.Has(config.RoleGateway) {
		// Envoy asks with the method of the call
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			routes = append(routes, serve.Route{Method: method, Path: endpointkey.AnswerPath, Public: true,
				OwnCredential: true, Handler: echo.WrapHandler(http.HandlerFunc(a.gateway.CheckKey))})
		}
	}
	if c.Has(config.RoleWeb) {
		routes = append(routes, serve.Route{Method: http.MethodGet, Path: autoscale.LoadPath, Public: true,
			OwnCredential: true, Handler: echo.WrapHandler(a.loadHandler())})
	}
	routes = append(routes, serve.Route{Method: http.MethodGet, Path: branding.Prefix + ":file", Public: true,
		Handler: echo.WrapHandler(brand)})
	if a.server, err = serve.New(options, routes, mounts); err != nil {
		return err
	}
	return a.newConsole(version, bundle)
}

// surface is everything that is mounted: pages, API, static files. A process without the web role answers only for
// itself and the gateway.
func (a *App) surface(version string, bundle *i18n.Bundle) ([]serve.Route, map[string]http.Handler) {
	mounts := map[string]http.Handler{"/static/": static.Handler(), "/favicon.ico": static.Favicon()}
	if !a.config.Has(config.RoleWeb) {
		return nil, mounts
	}
	surface := api.New(api.Deps{Requests: a.requests.Requests, Approvals: a.requests.Approvals,
		Offers: a.requests.Offers,
		Quotas: a.requests.Quotas, Seats: a.requests.Seats, Comparisons: a.requests.Comparisons, Site: a.siteNow,
		Snapshots: a.store, Budgets: a.budgets, Rules: a.rules, Tenants: a.tenants,
		Delegations: a.delegations, Accounts: a.accounts, Embeds: a.embeds, Notify: a.notify,
		Licenses: a.licenses, Workloads: a.workloads,
		Logs: a.logs, Tunnels: a.tunnels, Usage: a.usage, Keys: a.keys, Traffic: a.traffic,
		Secrets: a.secretService,
		Prices:  a.prices, Catalog: a.offer, Forecasts: a.forecasts, Metrics: a.readings(),
		Reports: a.clusters.metrics.report, Advice: a.advice, Idle: a.idle, Quarantine: a.quarantine, Drift: a.drift,
		Clusters: a.added,
		Events:   a.store, Jobs: a.store, Levels: a.levels, Doctor: a.doctor, AppURL: a.appURL, ExternalURL: a.externalURL,
		PortalURL: a.config.URL,
		Now:       a.now, Version: version, Logger: a.log,
		Limits: a.limits})
	mounts["/api/v1/"] = surface
	a.pages = web.New(web.Deps{
		Requests: a.requests.Requests, Approvals: a.requests.Approvals, Offers: a.requests.Offers,
		Quotas: a.requests.Quotas, Seats: a.requests.Seats, Comparisons: a.requests.Comparisons,
		Budgets: a.budgets, Rules: a.rules, Tenants: a.tenants, Delegations: a.delegations,
		Workloads: a.workloads, Keys: a.keys, Traffic: a.traffic, Usage: a.usage, Prices: a.prices, Catalog: a.offer,
		Snapshots: a.store, Forecasts: a.forecasts, Logs: a.logs, Try: a.gateway,
		Terminals: a.terminals, Tunnels: a.tunnels.Rules(),
		Metrics: a.readings(), Reports: a.clusters.metrics.report, Advice: a.advice, Idle: a.idle, Quarantine: a.quarantine,
		Drift: a.drift, Doctor: a.doctor, Hub: a.hub, Site: a.siteNow, Licenses: a.licenses, Health: a.outages,
		Notify: a.notify, SessionAlive: a.sessionAlive, Accounts: a.accounts, Embeds: a.embeds,
		Secrets: a.secretService, Clusters: a.added,
		Events: a.store, Bundle: bundle, Now: a.now,
		PortalURL: a.config.URL, AppsURL: a.appURL, ExternalURL: a.externalURL, Version: version,
		MaxStreams: a.config.Session.Pages, Limits: a.limits,
		LicensesEvery: a.licensesEvery(),
		Reference:     sync.OnceValues(func() (reference.Document, error) { return referenceOf(surface) }),
		Support:       page.Support{StatusURL: a.config.Help.StatusURL, ContactURL: a.config.Help.ContactURL()},
	})
	routes := []serve.Route{
		{Method: http.MethodGet, Path: embed.Path, Public: true, Anonymous: true, Handler: a.panel},
		{Method: http.MethodGet, Path: gateway.AuthorizePath, Action: identity.OpenWorkload, Handler: a.authorizeGateway}}
	for _, r := range a.pages.Routes() {
		routes = append(routes, serve.Route{Method: r.Method, Path: r.Path, Action: r.Action, Public: r.Public,
			Uploads: r.Uploads, Handler: r.Handler})
	}
	return routes, mounts
}

// appURL is where a workload is opened.
func (a *App) appURL(name string) string { return appAddress(a.config, name) }

// externalURL is where programs outside the company network call an endpoint; "" where none can.
func (a *App) externalURL(name string) string {
	if a.config.ExternalAppsDomain == "" {
		return ""
	}
	return addressBelow(a.config.URL, a.config.ExternalAppsDomain, name)
}

func appAddress(c config.Config, name string) string { return addressBelow(c.URL, c.AppsDomain, name) }

// addressBelow is the address of a name below a domain, with scheme and port as the portal's where the domain has none.
func addressBelow(portal, domain, name string) string {
	u, err := url.Parse(portal)
	if err != nil {
		return ""
	}
	host, port := domain, u.Port()
	if h, p, err := net.SplitHostPort(domain); err == nil {
		host, port = h, p
	}
	if port != "" {
		port = ":" + port
	}
	return u.Scheme + "://" + name + "." + host + port
}

func (a *App) newGateway(bundle *i18n.Bundle) (*gateway.Gateway, error) {
	var windows gateway.Windows
	if a.store.Shared() {
		windows = a.store
	}
	return gateway.New(gateway.Options{
		PortalURL: a.config.URL, AppsDomain: a.config.AppsDomain, ExternalDomain: a.config.ExternalAppsDomain,
		Workloads: a.store, Sessions: sessions{a.store, a.renewals},
		Actors: people{a}, Keys: a.store, Windows: windows, Traffic: a.counts, Waker: a.workloads,
		Loads: a.store, Visits: a.store,
		ID:         newID("g-"),
		WakeWithin: a.config.Serving.WakeWithin.Std(), MaxHeld: a.config.Serving.HeldRequests,
		Pods: a.pods, Bundle: bundle, Logger: a.log, Now: a.now, SessionFor: a.config.Session.Absolute.Std(),
		Idle:          a.config.Session.Idle.Std(),
		ClientAddress: func(r *http.Request) string { return a.server.Address(r) },
	})
}

// outages is what does not answer now, for the strip on every page.
func (a *App) outages() []page.Outage {
	var list []page.Outage
	if a.meters.leads.Load() {
		for _, s := range a.controller.Status() {
			if !s.OK {
				list = append(list, page.Outage{System: page.ClusterSystem, Name: s.Name, Since: s.Since})
			}
		}
	} else {
		list = a.unseen(context.Background())
	}
	for name, p := range a.clusters.metrics {
		if s := p.Status(); !s.OK {
			list = append(list, page.Outage{System: page.PrometheusSystem, Name: name, Since: s.Since})
		}
	}
	for _, h := range a.drift.Holds() {
		list = append(list, page.Outage{System: page.HeldSystem, Name: h.Cluster, Since: h.Since})
	}
	if !a.provider.Healthy() {
		list = append(list, page.Outage{System: page.SignInSystem, Since: a.provider.Since()})
	}
	return list
}

// unseenFor is how old the inventory of a cluster is when nobody keeps it fresh: an unchanged one gets a new time every
// minute (reconcile.Intervals), and listing anew takes time.
const unseenFor = 3 * time.Minute

// unseen are the clusters of which the leader, another process, has written nothing of late.
func (a *App) unseen(ctx context.Context) (list []page.Outage) {
	for _, name := range a.site.Clusters {
		since := a.process.Started // nothing was ever written: since then at least
		if s, ok := a.store.Snapshot(ctx, name); ok {
			since = s.TakenAt
		}
		if a.now().Sub(since) > unseenFor {
			list = append(list, page.Outage{System: page.ClusterSystem, Name: name, Since: since})
		}
	}
	return list
}

// sessionAlive tells an open stream whether its reader is still signed in, or their token still holds, with the same
// roles as when it was opened.
func (a *App) sessionAlive(ctx context.Context) bool {
	actor := identity.ActorFrom(ctx)
	return !a.stopping.Load() && a.standing.Holds(reader(actor), a.now(), func() (time.Time, bool) {
		until, ok := a.credentialAlive(ctx, actor)
		if !ok {
			return until, false
		}
		person, err := a.store.Person(ctx, actor.Person.ID)
		if err != nil || person.Disabled {
			return until, false
		}
		if actor.Via == identity.ViaToken || actor.Via == identity.ViaConsole {
			until = earlier(until, a.config.Tokens.Limits().StandsUntil(person))
			if !a.now().Before(until) {
				return until, false
			}
		}
		is := a.actor(person, actor.Via)
		if is.Delegators, err = a.delegations.For(ctx, person.ID); err != nil || delegators(is) != delegators(actor) {
			return until, false
		}
		if len(is.Delegators) > 0 { // the rights of others change, and periods end, without a word about this session
			until = earlier(until, a.now().Add(delegationsEvery))
		}
		return until, reflect.DeepEqual(is.Global, actor.Global) && reflect.DeepEqual(is.Tenants, actor.Tenants)
	})
}

// delegationsEvery is how often somebody with an open page who stands in for others is looked at again.
const delegationsEvery = 10 * time.Second

// delegators are those for whom somebody decides, with their rights.
func delegators(a identity.Actor) string {
	var b strings.Builder
	for _, v := range a.Delegators {
		fmt.Fprintf(&b, "%s %q;", v.Person.ID, v.Principals())
	}
	return b.String()
}

func reader(a identity.Actor) live.Reader {
	// maps are printed in order
	return live.Reader{Credential: a.Session, Person: string(a.Person.ID), Roles: fmt.Sprint(a.Via, a.Global, a.Tenants,
		delegators(a))}
}

// credentialAlive says until when a session or token lets its person in, as far as is known now.
func (a *App) credentialAlive(ctx context.Context, actor identity.Actor) (until time.Time, ok bool) {
	switch actor.Via {
	case identity.ViaSession:
		session, err := a.store.Session(ctx, actor.Session)
		if err != nil || !a.server.Alive(session) {
			return until, false
		}
		if session, err = a.renewals.Fresh(ctx, session); err != nil {
			return until, false
		}
		if !sameEyes(session, actor) {
			return until, false
		}
		ends := []time.Time{session.SeenAt.Add(a.config.Session.Idle.Std()), session.EndsAt,
			a.renewals.Limits.Until(session, a.now())}
		if actor.Impersonator != nil {
			ends = append(ends, session.ImpersonationUntil)
		}
		return slices.MinFunc(ends, time.Time.Compare), true
	case identity.ViaToken:
		token, err := a.store.Token(ctx, actor.Session)
		until = a.config.Tokens.Limits().Ends(token)
		return until, err == nil && a.now().Before(until)
	case identity.ViaConsole:
		return a.console.reviewer.Until(actor.Session)
	}
	return until, false
}

// sameEyes reports whether a session still looks as the person for whom a page was drawn.
func sameEyes(session identity.Session, actor identity.Actor) bool {
	if actor.Impersonator == nil {
		return session.Impersonates == ""
	}
	return session.Impersonates == actor.Person.ID
}

func networks(cidrs []string) []*net.IPNet {
	var list []*net.IPNet
	for _, c := range cidrs {
		if _, n, err := net.ParseCIDR(c); err == nil { // config has checked them
			list = append(list, n)
		}
	}
	return list
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
