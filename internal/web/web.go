package web

import (
	"context"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
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
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/reference"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/tunnel"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/account"
	"github.com/gpu-portal/gpu-portal/internal/web/admin"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/cost"
	"github.com/gpu-portal/gpu-portal/internal/web/embeds"
	"github.com/gpu-portal/gpu-portal/internal/web/fleet"
	"github.com/gpu-portal/gpu-portal/internal/web/help"
	"github.com/gpu-portal/gpu-portal/internal/web/home"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/web/platform"
	"github.com/gpu-portal/gpu-portal/internal/web/requests"
	"github.com/gpu-portal/gpu-portal/internal/web/search"
	"github.com/gpu-portal/gpu-portal/internal/web/secrets"
	"github.com/gpu-portal/gpu-portal/internal/web/start"
	"github.com/gpu-portal/gpu-portal/internal/web/team"
	"github.com/gpu-portal/gpu-portal/internal/web/workloads"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/layout"
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
	Keys         *endpointkey.Service
	Traffic      *traffic.Service
	Catalog      *offer.Service
	Usage        *usage.Service
	Prices       *usage.Prices
	Rules        *policy.Service
	Budgets      *budget.Service
	Tenants      *tenant.Service
	Delegations  *delegation.Service
	Snapshots    request.Snapshots
	Forecasts    *forecast.Service // nil: nothing is estimated
	Metrics      blocks.Metrics
	Logs         workloads.Logs
	Terminals    *terminal.Service // nil: there are none
	Tunnels      tunnel.Rules
	Try          workloads.Tries
	Reports      func(cluster string) (gpumetrics.Report, bool) // how well its metrics are; nil: no cluster has any
	Advice       *advice.Service
	Idle         *idle.Service
	Quarantine   *health.Service // nil: nothing is ever marked
	Drift        *drift.Service
	Doctor       *doctor.Service
	Hub          *live.Hub
	Site         func() request.Site
	Licenses     *license.Service
	Health       func() []page.Outage           // what is away now; nil: nothing ever is
	SessionAlive func(ctx context.Context) bool // whether the session or token of the caller still holds; nil: always
	Accounts     *accounts.Service
	Embeds       *embed.Service
	Secrets      *secret.Service
	Clusters     *cluster.Service
	Notify       *notify.Service
	Events       audit.Reader
	Bundle       *i18n.Bundle
	Now          func() time.Time
	PortalURL    string
	AppsURL      func(workloadName string) string // where a workload is opened: http or https
	ExternalURL  func(workloadName string) string // where programs outside call an endpoint; nil or "": nowhere
	Version      string
	Support      page.Support
	MaxStreams   int                                // open pages per person; 64 where 0
	Reference    func() (reference.Document, error) // of the API, read when it is first asked for
	// LicensesEvery is how often license servers are asked, for what is stale; license.DefaultPollInterval where 0.
	LicensesEvery time.Duration
	Limits        *limit.Limiter // nil: nothing is limited
}

// Web answers browsers: Routes says what.
type Web struct {
	frame  *page.Frame
	routes []page.Route
	embeds *embeds.Pages
}

// area is one package of pages.
type area interface{ Routes() []page.Route }

// New makes the areas, each with the services that it reads from. What a site may lack is filled in (reports of
// metrics, licenses); every other dependency must be set.
func New(d Deps) *Web {
	if d.Reports == nil {
		d.Reports = func(string) (gpumetrics.Report, bool) { return gpumetrics.Report{}, false }
	}
	if d.Licenses == nil { // a site without pools
		d.Licenses = license.New(license.Options{Now: d.Now})
	}
	if d.Logs == nil { // no cluster to read from
		d.Logs = podlogs.New(podlogs.Options{Workloads: d.Workloads, Now: d.Now})
	}
	if d.Terminals == nil { // none are allowed
		d.Terminals = terminal.New(terminal.Options{Workloads: d.Workloads, Now: d.Now})
	}
	if d.LicensesEvery == 0 {
		d.LicensesEvery = license.DefaultPollInterval
	}
	var banners []func(page.Call) []ui.StripModel
	frame := page.New(page.Deps{Site: d.Site, Approvals: d.Approvals, Hub: d.Hub, Health: d.Health,
		SessionAlive: d.SessionAlive, Licenses: d.Licenses, Limits: d.Limits, MaxStreams: d.MaxStreams, Bundle: d.Bundle,
		Now: d.Now, Acknowledge: d.Accounts.Acknowledge, Support: d.Support, Version: d.Version,
		Banners: func(k page.Call) (all []ui.StripModel) {
			for _, of := range banners {
				all = append(all, of(k)...)
			}
			return all
		}})
	shared := &blocks.Blocks{Frame: frame, Zone: d.Usage.Zone,
		Workloads: d.Workloads, Requests: d.Requests, Offers: d.Offers,
		Quotas: d.Quotas, Budgets: d.Budgets, Forecasts: d.Forecasts, Metrics: d.Metrics, AppsURL: d.AppsURL,
		ExternalURL: d.ExternalURL}
	hardware := fleet.New(fleet.Pages{Blocks: shared, Workloads: d.Workloads, Catalog: d.Catalog, Drift: d.Drift,
		Licenses: d.Licenses, LicensesEvery: d.LicensesEvery, Quarantine: d.Quarantine, Metrics: d.Metrics,
		Reports: d.Reports,
		Seats:   d.Seats, Snapshots: d.Snapshots})
	settings := &admin.Pages{Blocks: shared, Catalog: d.Catalog, Rules: d.Rules, Comparisons: d.Comparisons,
		Tenants: d.Tenants, Idle: d.Idle, Workloads: d.Workloads, Accounts: d.Accounts, Embeds: d.Embeds, Events: d.Events,
		Doctor: d.Doctor, Clusters: d.Clusters, English: d.Bundle.For("en")}
	banners = append(banners, settings.RulesStrip, hardware.LicenseStrips)
	one := &workloads.Pages{Blocks: shared, Workloads: d.Workloads, Requests: d.Requests, Seats: d.Seats,
		Advice: d.Advice, Idle: d.Idle, Quarantine: d.Quarantine, Notify: d.Notify, Prices: d.Prices, Metrics: d.Metrics,
		Logs: d.Logs, Terminals: d.Terminals, Tunnels: d.Tunnels, Keys: d.Keys, Traffic: d.Traffic, PortalURL: d.PortalURL,
		Try: d.Try}
	money := &cost.Pages{Blocks: shared, Usage: d.Usage, Prices: d.Prices, Budgets: d.Budgets, Workloads: d.Workloads}
	panels := &embeds.Pages{Blocks: shared, Embeds: d.Embeds, Panels: map[embed.Panel]page.BuildPanel{
		embed.Workload: one.Panel, embed.Team: money.Panel, embed.Fleet: hardware.Panel,
		embed.Licenses: hardware.LicensesPanel}}
	var routes []page.Route
	for _, a := range []area{frame, hardware, settings, one, money, panels,
		&platform.Pages{Blocks: shared, Workloads: d.Workloads, Requests: d.Requests, Budgets: d.Budgets,
			Catalog: d.Catalog, Events: d.Events, Licenses: d.Licenses, Quarantine: d.Quarantine, Metrics: d.Metrics,
			Snapshots: d.Snapshots, Usage: d.Usage},
		&home.Pages{Blocks: shared, Workloads: d.Workloads, Requests: d.Requests, Offers: d.Offers, Idle: d.Idle,
			Snapshots: d.Snapshots},
		&start.Pages{Blocks: shared, Requests: d.Requests, Offers: d.Offers, Workloads: d.Workloads, Secrets: d.Secrets,
			Snapshots: d.Snapshots},
		&requests.Pages{Blocks: shared, Requests: d.Requests, Approvals: d.Approvals, Quotas: d.Quotas, Seats: d.Seats,
			Delegations: d.Delegations, Snapshots: d.Snapshots, Usage: d.Usage, Workloads: d.Workloads},
		&team.Pages{Blocks: shared, Tenants: d.Tenants, Workloads: d.Workloads, Requests: d.Requests, Offers: d.Offers,
			Quotas: d.Quotas},
		&help.Pages{Frame: frame, Reference: d.Reference, PortalURL: d.PortalURL},
		&search.Pages{Blocks: shared, Snapshots: d.Snapshots, Tenants: d.Tenants},
		&secrets.Pages{Blocks: shared, Secrets: d.Secrets, Tenants: d.Tenants},
		&account.Pages{Blocks: shared, Accounts: d.Accounts, Notify: d.Notify, Embeds: d.Embeds,
			PortalURL: d.PortalURL}} {
		routes = append(routes, a.Routes()...)
	}
	return &Web{frame: frame, routes: frame.Follow(routes), embeds: panels}
}

// Routes is the whole surface of the pages.
func (w *Web) Routes() []page.Route { return slices.Clone(w.routes) }

// Panel answers with a panel for a page of another site; it needs nobody who is signed in.
func (w *Web) Panel(c echo.Context) error { return w.embeds.Show(c) }

// Error shows what went wrong within the frame of the pages.
func (w *Web) Error(c echo.Context, status int, m layout.ErrorModel) error {
	return w.frame.Error(c, status, m)
}

// Streams is how many pages are open and follow what happens.
func (w *Web) Streams() int { return w.frame.Streams() }
