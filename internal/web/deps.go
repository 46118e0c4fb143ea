package web

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Deps is what the pages stand on.
type Deps struct {
	Requests     *request.Service
	Approvals    *request.Approvals
	Offers       *request.Offers
	Quotas       *request.Quotas
	Seats        *request.SeatQueue
	Comparisons  *request.Comparisons
	Workloads    *workload.Service
	Catalog      *offer.Service
	Usage        *usage.Service
	Prices       *usage.Prices
	Rules        *policy.Service
	Budgets      *budget.Service
	Tenants      *tenant.Service
	Delegations  *delegation.Service
	Snapshots    request.Snapshots
	Forecasts    *forecast.Service // nil: nothing is estimated
	Metrics      Metrics
	Reports      func(cluster string) (gpumetrics.Report, bool) // how well its metrics are; nil: no cluster has any
	Advice       *advice.Service
	Idle         *idle.Service
	Marks        *health.Service // nil: nothing is ever marked
	Drift        *drift.Service
	Hub          *live.Hub
	Site         func() request.Site
	Licenses     *license.Service
	Health       func() []Outage                // what is away now; nil: nothing ever is
	SessionAlive func(ctx context.Context) bool // whether the session or token of the caller still holds; nil: always
	Accounts     *accounts.Service
	Notify       *notify.Service
	Events       Events
	Bundle       *i18n.Bundle
	Now          func() time.Time
	PortalURL    string
	AppsURL      func(workloadName string) string // where a workload is opened: http or https
	Version      string
	MaxStreams   int // open pages per person; 64 where 0
	// LicensesEvery is how often license servers are asked, for what is stale; license.DefaultPollInterval where 0.
	LicensesEvery time.Duration
	Limits        *limit.Limiter // nil: nothing is limited
}

// Metrics gives readings from one cache for all pages; no call but Ranges waits for Prometheus.
type Metrics interface {
	Live(cluster, namespace, pod string) gpumetrics.Live
	// History is the GPU use of the last hour, oldest first, in per cent.
	History(ctx context.Context, cluster, namespace, pod string) []gpumetrics.Point
	// Fleet is what every device does; nil while nothing is known. It is the same value until something new is known.
	Fleet(cluster string) *gpumetrics.Fleet
	// Ranges is what a pod's devices did in a span; it waits for the first answer only, as long as the context lets it.
	// Faults: Unavailable.
	Ranges(ctx context.Context, cluster, namespace, pod string, span gpumetrics.Span) (gpumetrics.Ranges, error)
	// Uses is how workloads have used their GPUs in the last day.
	Uses(cluster string) usage.EngineUses
}

// System is one that the portal depends on.
type System string

// The systems.
const (
	ClusterSystem    System = "cluster"
	PrometheusSystem System = "prometheus"
	SignInSystem     System = "signin"
	HeldSystem       System = "held" // a cluster in which nothing is changed, see package drift
)

// Outage is a system that does not answer.
type Outage struct {
	System System
	Name   string // of the cluster; "" where there is one
	Since  time.Time
}

// Events reads the audit record.
type Events = audit.Reader

// Web answers browsers: routes.go lists what, live.go keeps open pages up to date.
type Web struct {
	Deps
	streams   *streams
	heats     heats
	overviews overviews
	banners   func(call) []ui.StripModel // what some areas say on every page
	pages     map[string]page            // those that a stream can be opened for, by name
}

// New fills in what a site may lack (metrics, licenses, outages); every other dependency must be set.
func New(d Deps) *Web {
	if d.Health == nil {
		d.Health = func() []Outage { return nil }
	}
	if d.SessionAlive == nil {
		d.SessionAlive = func(context.Context) bool { return true }
	}
	if d.Reports == nil {
		d.Reports = func(string) (gpumetrics.Report, bool) { return gpumetrics.Report{}, false }
	}
	if d.Licenses == nil { // a site without pools
		d.Licenses = license.New(license.Options{Now: d.Now})
	}
	if d.MaxStreams == 0 {
		d.MaxStreams = 64
	}
	if d.LicensesEvery == 0 {
		d.LicensesEvery = license.DefaultPollInterval
	}
	told := d.Health
	d.Health = func() []Outage { return inOrder(told()) }
	w := &Web{Deps: d, streams: newStreams(d.MaxStreams), heats: heats{drawn: map[heatKey]drawnHeat{}}}
	w.banners = func(k call) []ui.StripModel { return slices.Concat(w.rulesStrip(k), w.licenseStrips(k)) }
	w.pages = livePages(w.Routes())
	return w
}

// inOrder makes two lists of the same outages equal, however they were gathered.
func inOrder(list []Outage) []Outage {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b Outage) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

// appURL is where a workload is opened, "" for anything that is not an http address: a link must never run a script.
func (w *Web) appURL(name string) string {
	if w.AppsURL == nil {
		return ""
	}
	return httpOnly(w.AppsURL(name))
}

func httpOnly(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return u.String()
}

// localPath keeps a redirect on this site: a path that begins with one slash, and nothing else.
func localPath(path, otherwise string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.ContainsAny(path, "\\\r\n\t") {
		return otherwise
	}
	return u.RequestURI()
}
