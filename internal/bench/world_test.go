//go:build unix

package bench_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/api"
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidc"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/serve"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const clusterName = "local"

// load is testdata/<name>/load.yaml.
type load struct {
	Tenants, People, Workloads, Requests, AuditRows, Nodes, ForeignPods, Clients int
	Submissions                                                                  int // in Seconds
	Seconds                                                                      int
	Pages, MorePages                                                             int
}

// portal is everything between a call and the database, put together as app does, without a cluster and without a
// sign-in provider.
type portal struct {
	store     *store.Store
	hub       *live.Hub
	site      request.Site
	server    *serve.Server
	requests  request.Services
	workloads *workload.Service
	metrics   *metrics
	newID     func(string) string
	began     time.Time
}

// databases are those that the portal knows, each opened fresh.
var databases = map[string]func(testing.TB) string{
	"SQLite":     func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "portal.db") },
	"PostgreSQL": storetest.Postgres,
}

func newPortal(t testing.TB, address string, l load, opts store.Options) *portal {
	t.Helper()
	ctx := context.Background()
	s, err := store.Open(ctx, address, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	p := &portal{store: s, hub: live.NewHub(s, 500*time.Millisecond), site: newSite(t, l),
		began: time.Now().UTC().Truncate(time.Second), metrics: &metrics{}}
	s.OnCommit(p.hub.Wake)
	standing := live.NewStanding(p.hub)
	now := time.Now
	site := func() request.Site { return p.site }
	newID := ids()
	p.newID = newID
	p.requests = request.New(request.Options{Store: s, Site: site, Snapshots: s, Renderer: manifests{},
		People: s, Actor: p.actor, Now: now, NewID: newID})
	p.workloads = &workload.Service{Store: s, Changes: s, Limits: limits{site}, Now: now}
	bundle, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	advisor := advice.New(advice.Options{Store: s, Rule: advice.DefaultRule(), Now: now,
		Days:  func(string) ([]advice.Day, time.Time) { return nil, time.Time{} },
		Offer: func(string) []catalog.Size { return p.site.Catalog.Sizes }})
	apps := func(name string) string { return "http://" + name + ".localhost:8080" }
	pages := web.New(web.Deps{Requests: p.requests.Requests, Approvals: p.requests.Approvals, Offers: p.requests.Offers,
		Quotas: p.requests.Quotas, Seats: p.requests.Seats, Comparisons: p.requests.Comparisons, Workloads: p.workloads,
		Prices: p.prices(t, now), Snapshots: s,
		Metrics: p.metrics, Advice: advisor, Idle: idle.New(idle.Options{Store: s, Now: now}), Hub: p.hub, Site: site,
		Accounts: &accounts.Service{Store: s, Actor: p.site.Directory.Actor, Now: now}, Events: s,
		Embeds: embed.New(embed.Options{Store: s, Workloads: p.workloads, Actor: p.site.Directory.Actor,
			Now: now, NewID: newID}),
		Secrets: secret.New(secret.Options{Store: s, Now: now, NewID: newID}),
		Traffic: &traffic.Service{Store: s, Meters: p.workloads.Meters, Now: now},
		Budgets: p.budgets(now), Rules: policy.NewService(policy.Options{Store: s, Initial: p.site.Policy, Now: now}),
		Tenants: p.tenants(now), Delegations: p.delegations(now), Usage: p.usage(t, now), Catalog: p.offers(t, now),
		Licenses: license.New(license.Options{Store: s, Changes: s, Pools: p.site.Pools, Now: now, NewID: newID}),
		Quarantine: health.New(health.Options{Store: s, Sources: map[string]health.Source{clusterName: devices{p}},
			Now: now}),
		Drift: drift.New(drift.Options{Store: s, Now: now}), Doctor: p.doctor(now), Notify: p.notices(t, bundle, now),
		Bundle: bundle, Now: now, PortalURL: "http://localhost:8080", AppsURL: apps, Version: "bench", MaxStreams: 100_000,
		SessionAlive: func(ctx context.Context) bool {
			a := identity.ActorFrom(ctx)
			return standing.Holds(live.Reader{Credential: a.Session, Person: string(a.Person.ID)}, now(),
				func() (time.Time, bool) {
					session, err := s.Session(ctx, a.Session)
					return session.EndsAt, err == nil && p.server.Alive(session)
				})
		}})
	var routes []serve.Route
	for _, r := range pages.Routes() {
		routes = append(routes, serve.Route{Method: r.Method, Path: r.Path, Action: r.Action, Handler: r.Handler})
	}
	mounts := map[string]http.Handler{"/api/v1/": api.New(api.Deps{Requests: p.requests.Requests,
		Approvals: p.requests.Approvals, Offers: p.requests.Offers, Quotas: p.requests.Quotas, Seats: p.requests.Seats,
		Comparisons: p.requests.Comparisons, Site: site, Snapshots: s, Workloads: p.workloads,
		Prices: p.prices(t, now), Budgets: p.budgets(now), Catalog: p.offers(t, now), Tenants: p.tenants(now),
		Advice:  advisor,
		Metrics: p.metrics, Events: s, AppURL: apps, Now: now, Version: "bench"})}
	p.server, err = serve.New(serve.Options{URL: "http://localhost:8080", Idle: 12 * time.Hour,
		Absolute: 7 * 24 * time.Hour, Store: s, Provider: nobody{},
		Tokens: serve.Tokens{Store: s, Actor: p.actor, Now: now,
			Limits: identity.TokenLimits{Lifetime: 90 * 24 * time.Hour, StandingAge: 24 * time.Hour},
			Owner: func(_ context.Context, who identity.Person) (identity.Person, error) {
				who.ConfirmedAt = now()
				return who, nil
			}},
		Actor: p.actor, Pages: bare{}, Bundle: bundle, Key: make([]byte, 32), Now: now,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Ready: s.Ping}, routes, mounts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *portal) actor(who identity.Person, via identity.Via) identity.Actor {
	return p.site.Directory.Actor(who, via)
}

func newSite(t testing.TB, l load) request.Site {
	rules, problems := policy.Compile(policy.Defaults())
	if problems != nil {
		t.Fatal(problems)
	}
	sizes := catalog.Default()
	quota := map[string]int{}
	for _, s := range sizes.Sizes {
		quota[s.Name] = 1000
	}
	site := request.Site{Catalog: sizes, Policy: rules, Clusters: []string{clusterName}, Limits: request.DefaultLimits(),
		Pools: []license.Pool{{Name: "nvidia-vws", Title: "NVIDIA vWS", Feature: "NVIDIA RTX Virtual Workstation",
			Seats: 100_000}}}
	site.Directory.Platform = tenant.Roles{identity.Approver: {"gpu-approvers"}, identity.Admin: {"gpu-admins"},
		identity.Auditor: {"auditors"}}
	for i := range l.Tenants {
		name := teamName(i)
		site.Directory.Tenants = append(site.Directory.Tenants, tenant.Tenant{Name: name, Title: fmt.Sprintf("Team %d", i),
			Quota:  quota,
			Groups: map[identity.Role][]string{identity.Developer: {name + "-dev"}, identity.Owner: {name + "-lead"}}})
	}
	return site
}

func teamName(i int) string { return fmt.Sprintf("team-%03d", i) }

type limits struct{ site func() request.Site }

func (l limits) QuotaLimits(name, size, cluster string) []tenant.Limit {
	t, _ := l.site().Directory.ByName(name)
	return t.Limits(size, cluster)
}
func (l limits) Pools() []license.Pool      { return l.site().Pools }
func (l limits) TenantDisabled(string) bool { return false }

func (l limits) ImageGone(string, catalog.Image) i18n.Text { return i18n.Text{} }

func ids() func(string) string {
	next := make(chan string, 16)
	go func() {
		for i := 0; ; i++ {
			next <- fmt.Sprintf("%04d%012d", i%10_000, i)
		}
	}()
	return func(prefix string) string { return prefix + <-next }
}

type manifests struct{}

func (manifests) Manifest(w workload.Workload, t tenant.Tenant) (string, error) {
	objects, err := kube.Objects(kube.Input{Workload: w, Tenant: t, Site: kube.Site{Cluster: w.Cluster,
		Instance: "default"}, Token: "unused"})
	if err != nil {
		return "", err
	}
	return kube.Manifest(objects)
}

// metrics has readings of every pod, as the poller's cache would.
type metrics struct {
	fleet  *gpumetrics.Fleet
	report gpumetrics.Report
}

func (*metrics) Live(_, _, pod string) gpumetrics.Live {
	now := time.Now()
	value := func(v float64) gpumetrics.Reading {
		return gpumetrics.Reading{Value: v, At: now, Source: gpumetrics.Measured}
	}
	return gpumetrics.Live{At: now, Devices: []gpumetrics.Device{{UUID: "GPU-" + pod, Model: "NVIDIA H100 80GB HBM3",
		Profile: "1g.10gb", Node: "gpu-0001", Engine: value(63),
		MemoryUsed: value(7000), MemoryTotal: value(10240), Power: value(312), Temperature: value(58), CardShared: true}}}
}

func (*metrics) History(context.Context, string, string, string) []gpumetrics.Point {
	points := make([]gpumetrics.Point, 60)
	now := time.Now()
	for i := range points {
		points[i] = gpumetrics.Point{At: now.Add(time.Duration(i-60) * time.Minute), Value: 45 + 30*math.Sin(float64(i)/5),
			Known: true}
	}
	return points
}

func (m *metrics) Fleet(string) *gpumetrics.Fleet { return m.fleet }

func (*metrics) Ranges(context.Context, string, string, string, gpumetrics.Span) (gpumetrics.Ranges, error) {
	return gpumetrics.Ranges{}, nil
}

func (*metrics) PodRanges(context.Context, string, string, string, gpumetrics.Span) (gpumetrics.Ranges, error) {
	return gpumetrics.Ranges{}, nil
}

func (*metrics) CardRanges(context.Context, string, string, gpumetrics.Span) (gpumetrics.Ranges, error) {
	return gpumetrics.Ranges{}, nil
}

func (*metrics) Hours(context.Context, string, time.Time, time.Time) (gpumetrics.HourlyUse, error) {
	return gpumetrics.HourlyUse{}, nil
}

func (*metrics) Past(context.Context, string, time.Time) (gpumetrics.PastUse, error) {
	return gpumetrics.PastUse{}, nil
}

func (*metrics) Uses(string) usage.EngineUses { return nil }

type nobody struct{}

func (nobody) Begin(context.Context, string) (string, oidc.Flow, error) {
	return "", oidc.Flow{}, nil
}
func (nobody) Finish(context.Context, oidc.Flow, url.Values) (oidc.SignedIn, error) {
	return oidc.SignedIn{}, nil
}
func (nobody) BackChannelLogout(context.Context, string) (identity.ProviderLogout, error) {
	return identity.ProviderLogout{}, errors.ErrUnsupported
}
func (nobody) LogoutURL(context.Context, string, string) string { return "" }

// bare is the edge's own pages as plain text: none of them is measured.
type bare struct{}

func (bare) Error(c echo.Context, d problem.Details) error { return c.String(d.Status, d.Detail) }
func (bare) SignIn(c echo.Context, _ string, _ i18n.Text) error {
	return c.String(http.StatusOK, "sign in")
}
func (bare) Leave(c echo.Context, _ string) error { return c.String(http.StatusOK, "leave") }

// person is someone of a team; five belong to each.
func (l load) person(i int) identity.Person {
	subject := fmt.Sprintf("person-%04d", i)
	return identity.Person{ID: identity.NewPersonID("https://id.example.org", subject), Issuer: "https://id.example.org",
		Subject: subject,
		Name:    fmt.Sprintf("Person %d", i), Email: subject + "@example.org",
		Groups: []string{teamName(i%l.Tenants) + "-dev", "everybody"}}
}

// signIn saves someone and gives the cookie of a session of theirs.
func (p *portal) signIn(t testing.TB, who identity.Person) string {
	t.Helper()
	ctx, c := context.Background(), identity.NewCredential()
	if err := p.store.SavePerson(ctx, who); err != nil {
		t.Fatal(err)
	}
	err := p.store.CreateSession(ctx, identity.Session{ID: c.ID, SecretHash: c.Hash(), Person: who.ID, CreatedAt: p.began,
		SeenAt: p.began.Add(time.Hour), EndsAt: p.began.Add(24 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return c.String()
}

// fill writes what has happened so far.
func (p *portal) fill(t testing.TB, l load) {
	t.Helper()
	ctx := context.Background()
	for i := range l.People {
		if err := p.store.SavePerson(ctx, l.person(i)); err != nil {
			t.Fatal(err)
		}
	}
	works := make([]workload.Workload, l.Workloads)
	for i := range works {
		works[i] = p.workload(l, i)
	}
	err := p.store.DecideExclusively(ctx, func(tx request.Tx) error {
		for _, w := range works {
			if err := tx.SaveWorkload(ctx, w); err != nil {
				return err
			}
		}
		for i := range l.Requests {
			if _, err := tx.SaveRequest(ctx, p.request(l, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range works {
		if w.State != workload.Running || i%2 > 0 {
			continue
		}
		w.Version = 1
		meter := usage.Interval{Workload: string(w.ID), Tenant: w.Tenant, Size: w.Size.Name, PerHour: w.Size.PricePerHour,
			From: w.PlacedAt}
		if err := p.store.SaveObserved(ctx, w, nil, &meter); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < l.AuditRows; i += 500 {
		var events []audit.Event
		for n := range min(500, l.AuditRows-i) {
			who := l.person((i + n) % l.People)
			events = append(events, audit.Event{At: p.began, Kind: audit.WorkloadStopped, Actor: who.ID, ActorName: who.Name,
				Address: "192.0.2.1", Tenant: teamName((i + n) % l.Tenants),
				Workload: fmt.Sprintf("w-%05d", (i+n)%l.Workloads), Rule: "small-sizes", Detail: i18n.T("workload.stopped_by",
					"Name", who.Name)})
		}
		if err := p.store.Append(ctx, events...); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := p.snapshot(l, works)
	if err := p.store.SaveSnapshot(ctx, snapshot); err != nil {
		t.Fatal(err)
	}
	p.metrics.fleet = fleetOf(snapshot)
	p.metrics.report = reportOf(p.metrics.fleet)
}

func (p *portal) size(i int) catalog.Size { return p.site.Catalog.Sizes[i%len(p.site.Catalog.Sizes)] }

func (p *portal) workload(l load, i int) workload.Workload {
	who := l.person(i % l.People)
	team := teamName(i % l.Tenants)
	begun := p.began.Add(-time.Duration(i) * time.Minute)
	w := workload.Workload{ID: workload.ID(fmt.Sprintf("w-%05d", i)), Name: fmt.Sprintf("work-%05d", i),
		Kind: catalog.Notebook, Tenant: team, Owner: who.ID, OwnerName: who.Name,
		Size: p.size(i / 10), Image: p.site.Catalog.Images[0], Cluster: clusterName, Namespace: "gpu-" + team,
		Volume: fmt.Sprintf("work-%05d-home", i), StorageGiB: 10,
		Desired: workload.WantRunning, Generation: 1, State: workload.Running, Request: fmt.Sprintf("r-%05d", i),
		CreatedAt: begun, UpdatedAt: begun,
		Lease: workload.Lease{From: begun, Until: begun.Add(7 * 24 * time.Hour)}}
	switch {
	case i%10 < 7:
		w.PlacedAt = begun.Add(time.Second)
		w.Observed = workload.Observation{At: p.began, Generation: 1, PodPresent: true, Pod: w.Name + "-0",
			PodIP: "10.64.0.9", Node: nodeName(i % max(1, l.Nodes)), Ready: true,
			Steps: []workload.Step{{Name: workload.StepDecided, At: begun}, {Name: workload.StepReady, At: begun}},
			Activity: &workload.Activity{At: p.began, LastActivity: p.began, Connections: 1,
				Kernels: []workload.Kernel{{Name: "python3", State: "busy", LastActivity: p.began, Connections: 1}}}}
	case i%10 < 9:
		w.State, w.Desired = workload.Stopped, workload.WantStopped
	default:
		w.State, w.Reason = workload.Queued, i18n.Literal("All of this size are in use.")
	}
	return w
}

func (p *portal) request(l load, i int) request.Request {
	w := p.workload(l, i%max(1, l.Workloads))
	r := request.Request{ID: request.ID(fmt.Sprintf("r-%05d", i)), Kind: request.StartKind, Asker: w.Owner,
		AskerName: w.OwnerName, State: request.Approved, Workload: w.ID,
		Spec: request.Spec{Kind: w.Kind, Tenant: w.Tenant, Name: w.Name, Size: w.Size, Image: w.Image, Cluster: w.Cluster,
			Lease: w.Size.DefaultLease, StorageGiB: 10,
			Reason: "Fine-tuning the detector on the new street scenes."},
		Decision:  request.Decision{Rule: "small-sizes", Sentence: i18n.T("policy.small")},
		Estimate:  usage.Money{Minor: 440, Currency: "EUR"},
		CreatedAt: w.CreatedAt, ExpiresAt: p.began.Add(24 * time.Hour), DecidedAt: w.CreatedAt}
	if i%40 == 0 {
		r.State, r.Workload, r.DecidedAt = request.Pending, "", time.Time{}
		r.Spec.Name = fmt.Sprintf("nb-%05d", i)
		r.Decision = request.Decision{Rule: "whole-gpus", Sentence: i18n.T("policy.approve", "By", i18n.T("role.approver")),
			Steps: policy.OneOf(identity.Approver)}
	}
	return r
}

func nodeName(i int) string { return fmt.Sprintf("gpu-%04d", i) }

// snapshot is a fleet of all kinds of node with its holders.
func (p *portal) snapshot(l load, works []workload.Workload) inventory.Snapshot {
	s := inventory.Snapshot{Cluster: clusterName, TakenAt: p.began}
	kinds := []struct {
		model, resource, config string
		count                   int64
	}{
		{"NVIDIA-H100-80GB-HBM3", "nvidia.com/mig-1g.10gb", "all-1g.10gb", 28},
		{"NVIDIA-H100-80GB-HBM3", "nvidia.com/mig-3g.40gb", "all-3g.40gb", 8},
		{"NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu", "all-disabled", 4}, {"NVIDIA-L40S", "nvidia.com/gpu.shared", "", 16},
		{"NVIDIA-A40-12Q", "nvidia.com/gpu", "", 16},
	}
	for i := range l.Nodes {
		k := kinds[i%len(kinds)]
		n := inventory.Node{Name: nodeName(i), Ready: i%97 != 0, Cordoned: i%89 == 0, Model: k.model,
			CPU: inventory.Amount{Allocatable: 128_000}, Memory: inventory.Amount{Allocatable: 1 << 40},
			Labels: map[string]string{"kubernetes.io/hostname": nodeName(i), "nvidia.com/gpu.product": k.model,
				"nvidia.com/gpu.count": "4", "nvidia.com/gpu.replicas": "1",
				"nvidia.com/gpu.memory": "81559", "nvidia.com/mig.config": k.config, "nvidia.com/mig.config.state": "success",
				"nvidia.com/mig.strategy":         "mixed",
				"nvidia.com/vgpu.present":         fmt.Sprint(k.model == "NVIDIA-A40-12Q"),
				"nvidia.com/gpu.sharing-strategy": "time-slicing"},
			Taints:    []inventory.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"}},
			Resources: []inventory.Resource{{Name: k.resource, Capacity: k.count, Allocatable: k.count}}}
		s.Nodes = append(s.Nodes, n)
	}
	hold := func(at int, h inventory.Holder) {
		n := &s.Nodes[at%len(s.Nodes)]
		n.Resources[0].Holders = append(n.Resources[0].Holders, h)
		n.CPU.Requested += 4000
		n.Memory.Requested += 16 << 30
	}
	for i, w := range works {
		if w.State == workload.Running && len(s.Nodes) > 0 {
			hold(i, inventory.Holder{Namespace: w.Namespace, Pod: w.Observed.Pod, Workload: string(w.ID), Count: 1})
		}
	}
	for i := range l.ForeignPods {
		hold(i*7+i/1000, inventory.Holder{Namespace: fmt.Sprintf("batch-%d", i%50), Pod: fmt.Sprintf("job-%05d", i),
			Count: 1})
	}
	return s
}
