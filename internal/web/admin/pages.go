// Package admin has the pages of administrators: catalog and its editor (catalog.go, catalog_edit.go, entry.go), rules
// (rules.go, rule_form.go), tenants, quota, idle detection, people and the audit log.
package admin

import (
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Catalog     *offer.Service
	Rules       *policy.Service
	Comparisons *request.Comparisons
	Tenants     *tenant.Service
	Idle        *idle.Service
	Workloads   *workload.Service
	Accounts    *accounts.Service
	Embeds      *embed.Service
	Events      audit.Reader
	Doctor      *doctor.Service
	Clusters    *cluster.Service
	English     *i18n.Localizer // of the support bundle, whoever asks for it
}
