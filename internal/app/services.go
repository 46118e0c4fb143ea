package app

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Services are those that pages and the API call, for tools that do without HTTP what people do.
type Services struct {
	Config    config.Config
	Zone      *time.Location // of months and days
	Clusters  []string
	Store     *store.Store
	Catalog   *offer.Service
	Tenants   *tenant.Service
	Requests  *request.Service
	Approvals *request.Approvals
	Workloads *workload.Service
	Budgets   *budget.Service
	Prices    *usage.Prices

	// Actor is a person with the roles that the settings and the teams give them.
	Actor func(identity.Person, identity.Via) identity.Actor
	// LicenseSeats are those that a workload holds where it is.
	LicenseSeats func(workload.Workload) usage.Seats
	// Namespaces are those of all teams.
	Namespaces func() []string
}

// Services are those of this portal; nothing of it need run. Whoever takes them closes the store.
func (a *App) Services() Services {
	return Services{Config: a.config, Zone: zone(a.config), Clusters: a.site.Clusters, Store: a.store, Catalog: a.offer,
		Tenants: a.tenants, Requests: a.requests.Requests, Approvals: a.requests.Approvals, Workloads: a.workloads,
		Budgets: a.budgets, Prices: a.prices, Actor: a.actor, LicenseSeats: a.seats, Namespaces: a.namespaces}
}
