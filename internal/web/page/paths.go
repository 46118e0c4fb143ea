package page

import (
	"net/url"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Where pages are that several areas link to. DifferencesPath is where administrators decide what is right after a
// restore, OpenAPIPath the document that the reference shows.
const (
	ReferencePath      = "/api/docs"
	OpenAPIPath        = "/api/v1/openapi.json"
	BudgetsPath        = "/admin/budgets"
	DifferencesPath    = "/admin/differences"
	IdlePath           = "/admin/idle"
	MetricsPath        = "/admin/metrics"
	PeoplePath         = "/admin/people"
	PricesPath         = "/admin/prices"
	SystemPath         = "/admin/system"
	ClustersPath       = "/admin/clusters"
	TenantsPath        = "/admin/tenants"
	DelegationsPath    = "/approvals/delegations"
	FleetHealthPath    = "/fleet/health"
	FleetPath          = "/fleet"
	LicensesPath       = "/licenses"
	RulesPath          = "/admin/rules"
	FleetUsePath       = "/fleet/use"
	PlatformPath       = "/platform"
	HelpPath           = "/help"
	NewsPath           = "/help/new"
	SearchPath         = "/search"
	AdvicePath         = "/usage/advice"
	DemandPath         = "/usage/demand"
	ReconciliationPath = "/usage/reconciliation"
)

// BudgetPath is where the budget of a team is.
func BudgetPath(team string) string { return BudgetsPath + "/" + url.PathEscape(team) }

// NodePath is where a node is: in the list of them all.
func NodePath(name string) string { return "/fleet?q=" + url.QueryEscape(name) }

// PersonPath is where a person is, for those who may see everybody.
func PersonPath(id identity.PersonID) string { return PeoplePath + "/" + string(id) }

// StartSizePath is the form for a start, with a size chosen.
func StartSizePath(size string) string { return "/start?size=" + url.QueryEscape(size) }

// RequestPath is where a request is.
func RequestPath(id request.ID) string { return "/requests/" + string(id) }

// ApprovalPath is the page where a request is decided.
func ApprovalPath(id request.ID) string { return ApprovalsPath + "/" + string(id) }

// ApprovalsPath lists what waits for the reader's decision.
const ApprovalsPath = "/approvals"

// SecretsPath is where one's own secrets are.
const SecretsPath = "/account/secrets"

// TeamSecretsPath is where the secrets of a team are.
func TeamSecretsPath(team string) string { return TeamPath(team) + "/secrets" }

// TeamImagesPath is where the images of a team is.
func TeamImagesPath(team string) string { return TeamPath(team) + "/images" }

// CustomImagesPath is where owners let members start images of their own.
func CustomImagesPath(team string) string { return TeamPath(team) + "/custom-images" }

// TeamQuotaPath is where the quota of a team is.
func TeamQuotaPath(team string) string { return "/team?name=" + url.QueryEscape(team) }

// TenantEditPath is where administrators change a team.
func TenantEditPath(team string) string { return TenantsPath + "/edit?name=" + url.QueryEscape(team) }

// TeamVolumesPath is where the shared storage of a team is.
func TeamVolumesPath(team string) string { return TeamPath(team) + "/volumes" }

// DatasetsPath is where the data sets are that a team offers.
func DatasetsPath(team string) string { return TeamPath(team) + "/datasets" }

// TeamPath is where a team is.
func TeamPath(name string) string { return "/team/" + url.PathEscape(name) }

// TeamSettingsPath is what starts of a team begin with, and when its workloads run.
func TeamSettingsPath(name string) string { return TeamPath(name) + "/settings" }

// WorkloadPath is where a workload is.
func WorkloadPath(id workload.ID) string { return "/workloads/" + string(id) }

// TryPath is where somebody talks to an endpoint.
func TryPath(id workload.ID) string { return WorkloadPath(id) + "/try" }
