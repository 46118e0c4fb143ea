// Package webtest is a site for tests of the pages and for the storybook: World has all services on SQLite in memory at
// a fixed time, with people, teams, workloads and requests (people.go, seed.go). A Scene is a page as one person sees
// it; Scenes lists them.
package webtest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/tunnel"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Now is the time of this world.
var Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// People of this world, by what they are: Anna and Ben belong to vision, Olaf to speech.
var (
	Anna  = person("anna", "Anna Albers", "vision-dev")
	Ben   = person("ben", "Ben Brandt", "vision-dev", "vision-lead")
	Carla = person("carla", "Carla Conti", "gpu-approvers")
	Dora  = person("dora", "Dora Dahl", "gpu-admins")
	Eli   = person("eli", "Eli Ehrlich", "auditors")
	Olaf  = person("olaf", "Olaf Oster", "speech-dev")
	Nemo  = person("nemo", "Nemo Neu")
)

func person(short, name string, groups ...string) identity.Person {
	return identity.Person{ID: identity.NewPersonID("https://id.example.org", short), Issuer: "https://id.example.org",
		Subject: short, Name: name,
		Email: short + "@example.org", Groups: groups, SeenAt: Now.Add(-3 * time.Hour),
		ConfirmedAt: Now.Add(-4 * time.Minute)}
}

// World is everything that the pages stand on: the portal's own services on a database of their own, and what is
// outside the portal as tests set it.
type World struct {
	Mail *notify.MailServer // nil: the site has none
	database
	Web             *web.Web
	RequestService  request.Services
	WorkloadService *workload.Service
	KeyService      *endpointkey.Service
	TrafficService  *traffic.Service
	BudgetService   *budget.Service
	LicenseService  *license.Service
	IdleService     *idle.Service
	Rules           *policy.Service
	Delegations     *delegation.Service
	Tenants         *tenant.Service
	Offer           *offer.Service
	Advice          *advice.Service
	Drift           *drift.Service
	Quarantines     *health.Service
	Prices          *usage.Prices
	Site            request.Site
	Hub             *live.Hub
	Clock           time.Time
	AppsURL         func(workloadName string) string
	Origins         []string    // sites whose pages may show panels
	Dead            atomic.Bool // the session of every open stream has ended

	// What Prometheus, DCGM and the clusters tell.
	Logs      *Logs
	Terminals map[string]terminal.Cluster // by name; none: a terminal says that its cluster is away
	Readings  Readings
	Reports   map[string]gpumetrics.Report // by cluster
	Fleets    map[string]*gpumetrics.Fleet // by cluster
	Used      usage.EngineUses
	Tail      []usage.EngineTail
	Pasts     map[string]gpumetrics.Ranges // by pod
	PodPasts  map[string]gpumetrics.Ranges // their CPU and network, by pod
	RangesErr error
	Hours     func(until time.Time) gpumetrics.PastUse // of what cards did in past hours; nil: nothing is known
	Days      []advice.Day                             // what is known of the use of GPUs
	Idle      *Idle
	Virtual   map[string][]string // nodes with vGPUs by cluster

	bundle   *i18n.Bundle
	edgeOnce sync.Once
	edge     *echo.Echo

	mu        sync.Mutex
	away      []page.Outage
	published int64 // the last change that followers of the hub have
	ids       int
}

// Readings are by pod.
type Readings map[string]Reading

// Reading is what is known of one pod.
type Reading struct {
	Live    gpumetrics.Live
	History []gpumetrics.Point
}

type metrics struct{ world *World }

func (m metrics) Fleet(cluster string) *gpumetrics.Fleet { return m.world.Fleets[cluster] }
func (m metrics) Ranges(_ context.Context, _, _, pod string, span gpumetrics.Span) (gpumetrics.Ranges, error) {
	if m.world.RangesErr != nil {
		return gpumetrics.Ranges{}, m.world.RangesErr
	}
	r := m.world.Pasts[pod]
	r.Span = span
	return r, nil
}

// PodRanges is what pods used beside their GPUs.
func (m metrics) PodRanges(_ context.Context, _, _, pod string, span gpumetrics.Span) (gpumetrics.Ranges, error) {
	if m.world.RangesErr != nil {
		return gpumetrics.Ranges{}, m.world.RangesErr
	}
	r := m.world.PodPasts[pod]
	r.Span = span
	return r, nil
}

// CardRanges is what cards did, by UUID.
func (m metrics) CardRanges(_ context.Context, _, uuid string, span gpumetrics.Span) (gpumetrics.Ranges, error) {
	if m.world.RangesErr != nil {
		return gpumetrics.Ranges{}, m.world.RangesErr
	}
	return over(m.world.Pasts[uuid], span), nil
}

// over is what was recorded, drawn out over another span.
func over(r gpumetrics.Ranges, span gpumetrics.Span) gpumetrics.Ranges {
	r.Span, r.Lines = span, slices.Clone(r.Lines)
	for i := range r.Lines {
		points := slices.Clone(r.Lines[i].Points)
		for j := range points {
			points[j].At = Now.Add(-span.Long * time.Duration(len(points)-1-j) / time.Duration(max(1, len(points)-1)))
		}
		r.Lines[i].Points = points
	}
	return r
}

// Past is what cards did in an hour that is over.
func (m metrics) Past(_ context.Context, _ string, until time.Time) (gpumetrics.PastUse, error) {
	if m.world.RangesErr != nil || m.world.Hours == nil {
		return gpumetrics.PastUse{}, m.world.RangesErr
	}
	return m.world.Hours(until), nil
}

// Hours is the mean of what the cards of each model did, from Past.
func (m metrics) Hours(ctx context.Context, cluster string, from, until time.Time) (gpumetrics.HourlyUse, error) {
	use := gpumetrics.HourlyUse{From: from}
	if m.world.Fleets[cluster] == nil {
		return use, m.world.RangesErr
	}
	cards := map[string][]gpumetrics.CardUse{}
	for _, n := range m.world.Fleets[cluster].Nodes {
		for _, c := range n.Cards {
			cards[c.Model] = append(cards[c.Model], c)
		}
	}
	for _, model := range slices.Sorted(maps.Keys(cards)) {
		row := gpumetrics.ModelUse{Model: model}
		for at := from.Add(time.Hour); !at.After(until); at = at.Add(time.Hour) {
			past, err := m.Past(ctx, cluster, at)
			if err != nil {
				return use, err
			}
			row.Hours = append(row.Hours, meanOf(past, cards[model]))
		}
		use.Models = append(use.Models, row)
	}
	return use, nil
}

// meanOf is the mean of what is known of some cards; NaN where nothing is.
func meanOf(past gpumetrics.PastUse, cards []gpumetrics.CardUse) float64 {
	sum, n := 0.0, 0.0
	for _, c := range cards {
		for _, cell := range c.Cells {
			if v, known := past.Of(c.UUID, cell.Instance); known {
				sum, n = sum+v, n+1
			}
		}
	}
	return sum / n
}

func (m metrics) Uses(string) usage.EngineUses { return m.world.Used }

// Tails is what is known beyond the record.
func (m metrics) Tails(context.Context) ([]usage.EngineTail, error) { return m.world.Tail, nil }

func (m metrics) Live(_, _, pod string) gpumetrics.Live { return m.world.Readings[pod].Live }
func (m metrics) History(_ context.Context, _, _, pod string) []gpumetrics.Point {
	return m.world.Readings[pod].History
}

// Contact is the address of the people who run this world.
const Contact = "mailto:gpu-help@example.org"

// MaxStreams is how many open pages a person of this world may have.
const MaxStreams = 3

// Empty is a world with people, teams and a price list, where nothing runs.
func Empty(s Scope) *World { return newWorld(s, emptyImage()) }

func newWorld(s Scope, image []byte) *World {
	w := &World{Readings: Readings{}, Clock: Now, bundle: messages(), Idle: &Idle{}}
	w.database = openDatabase(s, image, w.now)
	w.published = have(w.LastChange(bg))
	w.Hub = live.NewHub(nil, time.Hour)
	w.OnCommit(w.publish)
	w.AppsURL = func(name string) string { return "http://" + name + ".localhost:8080" }
	w.Origins = []string{Grafana}
	w.configure()
	w.decisions()
	w.resources()
	w.accounting()
	w.observation()
	w.pages()
	return w
}

// messages are the same for every world.
var messages = sync.OnceValue(i18n.MustLoad)

// stretched is English as nobody reads it, for looking at what long texts do to a page.
var stretched = sync.OnceValue(func() *i18n.Localizer {
	l, err := i18n.Pseudo()
	if err != nil {
		panic(err)
	}
	return l
})

func (w *World) localizer(lang string) *i18n.Localizer {
	if lang == i18n.PseudoLanguage {
		return stretched()
	}
	return w.bundle.For(lang)
}

func (w *World) now() time.Time { return w.Clock }

// configure is what a site's settings say.
func (w *World) configure() {
	everything := map[string]int{}
	sizes := catalog.Default()
	for _, s := range sizes.Sizes {
		everything[s.Name] = 4
	}
	everything["h100"] = 2
	w.Site = request.Site{Catalog: sizes, Policy: defaultRules(), Clusters: []string{"local"},
		Limits: request.DefaultLimits(), External: true,
		Pools: []license.Pool{{Name: "nvidia-vws", Title: "NVIDIA vWS", Feature: "NVIDIA RTX Virtual Workstation",
			Seats: 4}},
		Directory: tenant.Directory{
			ImagesFrom: []string{"registry.example.org/{team}/*", "quay.io/jupyter/*"},
			Platform: tenant.Roles{identity.Approver: {"gpu-approvers"}, identity.Admin: {"gpu-admins"},
				identity.Auditor: {"auditors"}},
			Tenants: []tenant.Tenant{
				{Name: "vision", Title: "Vision", Groups: map[identity.Role][]string{identity.Developer: {"vision-dev"},
					identity.Owner: {"vision-lead"}}, Quota: everything},
				{Name: "speech", Title: "Speech", Groups: map[identity.Role][]string{identity.Developer: {"speech-dev"}},
					Quota: map[string]int{"h100": 1, "cpu": 2}},
			}}}
}

func defaultRules() *policy.Policy {
	rules, problems := policy.Compile(policy.Defaults())
	if problems != nil {
		panic(problems)
	}
	return rules
}

// site is what settings and administrators say together.
func (w *World) site() request.Site {
	s := w.Site
	s.Policy, s.Prices = w.Rules.Policy(), w.Prices.List()
	if w.Offer.Version() > 0 { // somebody has edited it
		s.Catalog = w.Offer.Catalog()
	}
	return s
}

// decisions are the services that say what may be started.
func (w *World) decisions() {
	first, wrong := offer.NewInitial(string(catalog.DefaultYAML()), w.Site.Pools...)
	if wrong != nil {
		panic(wrong)
	}
	w.Offer = offer.New(offer.Options{Store: w.Store, Snapshots: w.Store, Clusters: w.Site.Clusters, Initial: first,
		Now: w.now})
	w.Rules = policy.NewService(policy.Options{Store: w.Store, Initial: w.Site.Policy, Now: w.now})
	w.BudgetService = &budget.Service{Store: w.Store, Zone: time.UTC, Now: w.now, NewID: w.newID,
		Money:  func() budget.Unit { return "EUR" },
		Tenant: func(name string) (string, bool) { t, ok := w.Site.Directory.ByName(name); return t.Display(), ok }}
	w.RequestService = request.New(request.Options{Budgets: w.BudgetService, Store: w.Store, Site: w.site,
		Snapshots: w.Store, Renderer: renderer{}, People: w.Store, Actor: w.Site.Directory.Actor, Now: w.now,
		NewID: w.newID})
	w.Delegations = delegation.New(delegation.Options{Store: w.Store, Actor: w.Site.Directory.Actor,
		Decides: w.RequestService.Approvals.Decides, Now: w.now, NewID: w.newID})
	w.Tenants = tenant.NewService(tenant.Options{Store: w.Store, Initial: w.Site.Directory,
		Catalog: func() catalog.Catalog { return w.Site.Catalog }, Known: w.knowsSize,
		Clusters: func() []string { return w.Site.Clusters }, Now: w.now})
}

func (w *World) knowsSize(name string) bool { _, ok := w.Site.Catalog.Size(name); return ok }

func (w *World) knowsTeam(name string) bool { _, ok := w.Site.Directory.ByName(name); return ok }

// resources are the services for what runs.
func (w *World) resources() {
	w.WorkloadService = &workload.Service{Store: w.Store, Changes: w.Store, Grace: 7 * 24 * time.Hour,
		Limits: worldLimits{limits{w.site}, w}, Now: w.now, Retention: workload.Retention{Period: 30 * 24 * time.Hour},
		Prices:  func() usage.PriceList { return w.Prices.List() },
		Sharing: w.sharing, Colleagues: tenant.Colleagues{Store: w.Store, Actor: w.Actor},
		Schedules: func(team string) schedule.Team { return w.Tenants.ScheduleOf(team) }}
	w.KeyService = &endpointkey.Service{Store: w.Store, MaxLife: 90 * 24 * time.Hour, Now: w.now}
	w.TrafficService = &traffic.Service{Store: w.Store, Meters: w.WorkloadService.Meters, Now: w.now}
	w.LicenseService = license.New(license.Options{Store: w.Store, Pools: w.Site.Pools, Now: w.now, NewID: w.newID,
		Virtual: func(context.Context) map[string][]string { return w.Virtual }})
	w.Logs = newLogs(w.WorkloadService)
}

func (w *World) sharing() workload.Sharing {
	return workload.Sharing{MostGiB: 2048, Clusters: w.Site.Clusters, Snapshots: w.Site.Clusters,
		Offered: []workload.Offered{{Cluster: "local",
			Class: workload.Class{Name: "nfs", Access: workload.ManyNodes, TeamGiB: 4096}},
			{Cluster: "local", Class: workload.Class{Name: "fast", Access: workload.OneNode}}},
		Namespace: func(team string) (string, bool) {
			t, ok := w.Site.Directory.ByName(team)
			return t.NamespaceName(), ok
		}}
}

// accounting is what things cost.
func (w *World) accounting() {
	w.Prices = usage.NewPrices(usage.PricesOptions{Store: w.Store, Known: w.priced, Zone: time.UTC, Currency: "EUR",
		Now: w.now, NewID: w.newID})
	check(w.Prices.Refresh(bg))
}

func (w *World) usage() *usage.Service {
	return &usage.Service{Store: w.Store, Changes: w.Store, Live: metrics{w}, Demand: w.Store, Prices: w.Prices,
		Fleet: &usage.Fleet{Store: w.Store, Zone: time.UTC, Now: w.now,
			Clusters: func() []string { return w.site().Clusters }}, Zone: time.UTC, Now: w.now,
		Focus: usage.FocusSite{Provider: "Example Corp", Account: "default",
			Team: func(name string) string { return name }}}
}

// observation are the services that judge what runs.
func (w *World) observation() {
	w.Advice = advice.New(advice.Options{Store: w.Store, Rule: advice.DefaultRule(), Now: w.now,
		Days:  func(string) ([]advice.Day, time.Time) { return w.Days, w.Clock },
		Offer: func(tenant string) []catalog.Size { return w.site().CatalogFor(tenant, w.now()).Sizes }})
	w.Quarantines = health.New(health.Options{Store: w.Store, Sources: map[string]health.Source{"local": dcgm{w}},
		Now: w.now})
	w.Drift = drift.New(drift.Options{Store: w.Store, Now: w.now})
	w.IdleService = idle.New(idle.Options{Store: w.Store, Sources: map[string]idle.Source{"local": idleSource{w}},
		Namespaces: func() []string { return nil }, Now: w.now, Size: w.knowsSize, Team: w.knowsTeam})
}

// pages is the portal itself.
func (w *World) pages() {
	forecasts := forecast.New(forecast.Options{Store: w.Store, Snapshots: w.Store, Seats: w.RequestService.Seats.Pools,
		Now: w.now})
	w.Terminals = map[string]terminal.Cluster{}
	terminals := terminal.New(terminal.Options{Workloads: w.WorkloadService, Record: w.Store, Clusters: w.Terminals,
		Rules: terminal.Rules{Enabled: true, Files: true, FileBytes: 1 << 20,
			Limits: session.Limits{Idle: 30 * time.Minute, Longest: 8 * time.Hour, Most: 10, PerPerson: 2}},
		Alive: func(context.Context) bool { return !w.Dead.Load() }, Every: 10 * time.Millisecond, Now: w.now})
	w.Web = web.New(web.Deps{Logs: w.Logs, Terminals: terminals, Tunnels: tunnel.Rules{Enabled: true},
		Forecasts: forecasts, Idle: w.IdleService, Quarantine: w.Quarantines,
		Drift: w.Drift, Doctor: newDoctor(w),
		Tenants: w.Tenants, Budgets: w.BudgetService, Notify: newNotices(w, w.now), Delegations: w.Delegations,
		Licenses: w.LicenseService, Requests: w.RequestService.Requests, Approvals: w.RequestService.Approvals,
		Offers: w.RequestService.Offers, Quotas: w.RequestService.Quotas, Seats: w.RequestService.Seats,
		Comparisons: w.RequestService.Comparisons, Rules: w.Rules, Workloads: w.WorkloadService, Keys: w.KeyService,
		Traffic: w.TrafficService,
		Prices:  w.Prices, Usage: w.usage(), Catalog: w.Offer, Snapshots: w.Store, Metrics: metrics{w}, Reports: w.report,
		Advice: w.Advice, Hub: w.Hub, Site: w.site, Health: w.outages,
		SessionAlive: func(context.Context) bool { return !w.Dead.Load() },
		Accounts:     w.newAccounts(w.now), Embeds: w.newEmbeds(), Secrets: w.newSecrets(), Clusters: w.newClusters(),
		Events: w.Store, Bundle: w.bundle, Now: w.now,
		PortalURL:   "http://localhost:8080",
		Reference:   apiReference,
		Support:     page.Support{StatusURL: "https://status.example.org", ContactURL: Contact},
		AppsURL:     func(name string) string { return w.AppsURL(name) },
		ExternalURL: func(name string) string { return "https://" + name + ".models.example.com" },
		Version:     "test", MaxStreams: MaxStreams})
}

func (w *World) report(cluster string) (gpumetrics.Report, bool) {
	r, ok := w.Reports[cluster]
	return r, ok
}

// SetAway says what does not answer from now on.
func (w *World) SetAway(list ...page.Outage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = list
}

func (w *World) outages() []page.Outage {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.away
}

// limits is the configuration's side of the workload service.
type limits struct{ site func() request.Site }

func (l limits) QuotaLimits(name, size, cluster string) []tenant.Limit {
	t, _ := l.site().Directory.ByName(name)
	return t.Limits(size, cluster)
}

func (l limits) ImageGone(tenant string, i catalog.Image) i18n.Text {
	return l.site().CustomGone(tenant, i)
}

func (l limits) TenantDisabled(tenant string) bool {
	t, _ := l.site().Directory.ByName(tenant)
	return t.Disabled
}

type worldLimits struct {
	limits
	world *World
}

func (l worldLimits) Pools() []license.Pool { return l.world.Site.Pools }

// newID counts, so that pages look the same every time.
func (w *World) newID(prefix string) string {
	w.ids++
	return fmt.Sprintf("%snew%07d", prefix, w.ids)
}

type renderer struct{}

func (renderer) Manifest(w workload.Workload, t tenant.Tenant) (string, error) {
	objects, err := kube.Objects(kube.Input{Workload: w, Tenant: t, Site: kube.Site{Cluster: w.Cluster,
		Instance: "default"}, Token: "unused"})
	if err != nil {
		return "", err
	}
	return kube.Manifest(objects)
}

// Visitor is somebody who has not signed in.
var Visitor identity.Person

// Actor is a person with the roles that their groups give; nobody for a visitor.
func (w *World) Actor(p identity.Person) identity.Actor {
	if p.ID == "" {
		return identity.Actor{}
	}
	p.Acknowledged = have(w.Store.Person(bg, p.ID)).Acknowledged
	a := w.Site.Directory.Actor(p, identity.ViaSession)
	a.Session = "s-" + string(p.ID)
	a.Delegators = have(w.Delegations.For(bg, p.ID))
	return a
}

// Handler answers as the edge would, with a plain text instead of an error page: the kind of the fault and its
// sentence.
func (w *World) Handler(p identity.Person, lang string) http.Handler {
	w.edgeOnce.Do(func() { w.edge = newEdge(w.Web) })
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx := i18n.With(identity.WithActor(r.Context(), w.Actor(p)), w.localizer(lang))
		w.edge.ServeHTTP(rw, r.WithContext(ctx))
	})
}

func newEdge(pages *web.Web) *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		f := fault.As(err)
		status := map[fault.Kind]int{fault.NotFound: 404, fault.Forbidden: 403, fault.Conflict: 409, fault.Invalid: 422,
			fault.TooMany: 429, fault.TooLarge: 413, fault.Unavailable: 503}[f.Kind]
		if status == 0 {
			status = http.StatusInternalServerError
		}
		if he, ok := err.(*echo.HTTPError); ok {
			status = he.Code
		}
		_ = c.String(status, string(f.Kind)+": "+i18n.From(c.Request().Context()).Say(f.Sentence)+" ("+err.Error()+")")
	}
	for _, r := range pages.Routes() {
		e.Add(r.Method, r.Path, r.Handler)
	}
	e.GET(embed.Path, pages.Panel)
	return e
}

// Get answers a GET of a person.
func (w *World) Get(p identity.Person, path string) *httptest.ResponseRecorder {
	return w.Do(p, "en", httptest.NewRequest(http.MethodGet, path, nil))
}

// Post answers a form that a person sends.
func (w *World) Post(p identity.Person, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.Do(p, "en", r)
}

// Do answers any call of a person in a language.
func (w *World) Do(p identity.Person, lang string, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	w.Handler(p, lang).ServeHTTP(answer, r)
	return answer
}
