package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/limit"
)

// Route is one entry of the surface; Action is what it is for. Every route needs someone who is signed in.
type Route struct {
	Method  string
	Path    string
	Action  identity.Action
	Handler echo.HandlerFunc
}

// Routes is the whole surface of the pages.
func (w *Web) Routes() []Route {
	const get, post = http.MethodGet, http.MethodPost
	routes := []Route{
		{get, "/", identity.ReadWorkload, w.show(homePage)},
		{get, "/start", identity.SubmitRequest, w.show(startPage)},
		{post, "/start", identity.SubmitRequest, w.startSubmit},
		{get, "/start/summary", identity.SubmitRequest, w.startSummary},
		{post, "/start/summary", identity.SubmitRequest, w.startSummary},
		{get, "/start/size", identity.SubmitRequest, w.show(sizingPage)},
		{get, "/start/form", identity.SubmitRequest, w.startForm},
		{post, "/start/form", identity.SubmitRequest, w.startForm},

		{get, "/workloads/:id", identity.ReadWorkload, w.show(workloadPage)},
		{get, "/workloads/:id/objects", identity.ReadWorkload, w.show(objectsPage)},
		{get, "/workloads/:id/metrics", identity.ReadWorkload, w.show(chartsPage)},
		{get, "/workloads/:id/history", identity.ReadWorkload, w.show(historyPage)},
		{get, "/workloads/:id/stop", identity.ChangeWorkload, w.show(stopPage)},
		{post, "/workloads/:id/stop", identity.ChangeWorkload, w.workloadStop},
		{post, "/workloads/:id/keep-alive", identity.ChangeWorkload, w.workloadKeepAlive},
		{post, "/workloads/:id/start", identity.ChangeWorkload, w.workloadStart},
		{post, "/workloads/:id/share", identity.ChangeWorkload, w.workloadShare},
		{get, "/workloads/:id/resume", identity.ChangeWorkload, w.show(resumePage)},
		{post, "/workloads/:id/resume", identity.ChangeWorkload, w.workloadResume},
		{get, "/workloads/:id/extend", identity.ChangeWorkload, w.show(extendPage)},
		{post, "/workloads/:id/extend", identity.ChangeWorkload, w.workloadExtend},
		{get, "/workloads/:id/delete", identity.ChangeWorkload, w.show(deletePage)},
		{post, "/workloads/:id/delete", identity.ChangeWorkload, w.workloadDelete},

		{get, "/requests", identity.ReadRequest, w.show(requestsPage)},
		{get, "/requests/:id", identity.ReadRequest, w.show(requestPage)},
		{get, "/requests/:id/edit", identity.EditRequest, w.show(requestEditPage)},
		{post, "/requests/:id/edit", identity.EditRequest, w.requestEdit},
		{post, "/requests/:id/withdraw", identity.WithdrawRequest, w.requestWithdraw},
		{get, "/approvals", identity.DecideRequest, w.show(approvalsPage)},
		{get, "/approvals/:id", identity.DecideRequest, w.show(approvalsPage)},
		{get, "/approvals/delegations", identity.ManageDelegations, w.show(delegationsPage)},
		{post, "/approvals/delegations", identity.ManageDelegations, w.delegationCreate},
		{post, "/approvals/delegations/:id/end", identity.ManageDelegations, w.delegationEnd},
		{post, "/approvals/bulk", identity.DecideRequest, w.decideSeveral},
		{get, "/approvals/:id/reassign", identity.DecideRequest, w.show(reassignPage)},
		{post, "/approvals/:id/reassign", identity.DecideRequest, w.reassign},
		{post, "/approvals/:id/reclaim", identity.DecideRequest, w.reclaim},
		{post, "/approvals/:id/approve", identity.DecideRequest, w.approve},
		{post, "/approvals/:id/reject", identity.DecideRequest, w.reject},

		{get, "/storage", identity.ReadVolume, w.show(storagePage)},
		{get, "/storage/:name/delete", identity.DeleteVolume, w.show(volumeDeletePage)},
		{post, "/storage/:name/delete", identity.DeleteVolume, w.volumeDelete},
		{post, "/storage/:name/keep", identity.KeepVolume, w.volumeKeep},
		{get, "/usage", identity.ReadUsage, w.show(usagePage)},
		{get, "/usage/export", identity.ReadUsage, w.usageExport},
		{get, idlePath, identity.ReadRules, w.show(idlePage)},
		{post, idlePath, identity.ChangeRules, w.idleSave},
		{post, idlePath + "/preview", identity.ChangeRules, w.idlePreview},
		{get, advicePath, identity.ReadUsage, w.show(advicePage)},
		{post, advicePath + "/:id/dismiss", identity.ChangeWorkload, w.adviceDismiss},
		{post, advicePath + "/:id/restore", identity.ChangeWorkload, w.adviceRestore},
		{get, "/fleet", identity.ReadInventory, w.show(fleetPage)},
		{get, fleetUsePath, identity.ReadInventory, w.show(fleetUsePage)},
		{get, fleetHealthPath, identity.ReadMetrics, w.show(fleetHealthPage)},
		{get, fleetHealthPath + "/mark", identity.QuarantineHardware, w.show(markPage)},
		{post, fleetHealthPath + "/mark", identity.QuarantineHardware, w.hardwareMark},
		{post, fleetHealthPath + "/unmark", identity.QuarantineHardware, w.hardwareUnmark},
		{get, "/licenses", identity.ReadLicenses, w.show(licensesPage)},
		{post, "/licenses", identity.ChangeLicenses, w.licenseEnter},
		{post, "/licenses/full", identity.ChangeLicenses, w.licenseChoose},
		{post, "/licenses/import", identity.ChangeLicenses, w.licenseImport},
		{post, "/licenses/:id/remove", identity.ChangeLicenses, w.licenseRemove},
		{get, "/team", identity.ReadTenant, w.show(teamPage)},
		{get, "/team/:name", identity.ReadMembers, w.show(teamMembersPage)},
		{post, "/team/:name/members", identity.ChangeMembers, w.memberAdd},
		{post, "/team/:name/members/:person/:role/remove", identity.ChangeMembers, w.memberRemove},
		{post, "/team/:name/defaults", identity.ChangeMembers, w.teamDefaults},
		{post, "/team/:name/tokens/:id/revoke", identity.ChangeMembers, w.memberTokenRevoke},
		{get, "/team/:name/images", identity.ReadTenant, w.show(teamImagesPage)},
		{post, "/team/:name/images", identity.ChangeAssets, w.teamImageSave},
		{post, "/team/:name/images/:image", identity.ChangeAssets, w.teamImageSave},
		{post, "/team/:name/images/:image/retire", identity.ChangeAssets, w.teamImageRetire},
		{post, "/team/:name/images/:image/offer", identity.ChangeAssets, w.teamImageOffer},
		{get, "/team/:name/volumes", identity.ReadTenant, w.show(teamVolumesPage)},
		{post, "/team/:name/volumes", identity.ChangeAssets, w.teamVolumeAdd},
		{get, "/team/:name/volumes/:volume/grow", identity.ChangeAssets, w.show(teamVolumeGrowPage)},
		{post, "/team/:name/volumes/:volume/grow", identity.ChangeAssets, w.teamVolumeGrow},
		{post, "/team/:name/volumes/:volume/restore", identity.ChangeAssets, w.teamVolumeRestore},
		{get, "/team/:name/volumes/:volume/delete", identity.ChangeAssets, w.show(teamVolumeDeletePage)},
		{post, "/team/:name/volumes/:volume/delete", identity.ChangeAssets, w.teamVolumeDelete},
		{get, "/team/:name/quota", identity.SubmitRequest, w.show(moreQuotaPage)},
		{post, "/team/:name/quota", identity.SubmitRequest, w.moreQuotaAsk},
		{get, "/account", identity.ManageTokens, w.show(accountPage)},
		{post, "/account/tokens", identity.ManageTokens, w.tokenCreate},
		{post, "/account/tokens/:id/revoke", identity.ManageTokens, w.tokenRevoke},
		{post, "/account/sessions/end", identity.ManageTokens, w.sessionsEnd},
		{post, "/account/sessions/:id/end", identity.ManageTokens, w.sessionEnd},
		{get, "/account/notifications", identity.ChangeNotices, w.show(noticesPage)},
		{post, "/account/notifications", identity.ChangeNotices, w.noticesChoose},
		{post, "/account/notifications/test", identity.ChangeNotices, w.noticesTry},
		{post, "/account/notifications/addresses", identity.ChangeNotices, w.addressEnter},
		{post, "/account/notifications/addresses/:id/remove", identity.ChangeNotices, w.addressRemove},
		{get, "/admin/notifications", identity.ReadDeliveries, w.show(deliveriesPage)},
		{post, "/admin/notifications/:id/retry", identity.RetryDelivery, w.deliveryRetry},
		{get, DifferencesPath, identity.ReadDifferences, w.show(differencesPage)},
		{get, DifferencesPath + "/:id/:decision", identity.DecideDifferences, w.show(differencePage)},
		{post, DifferencesPath + "/:id/:decision", identity.DecideDifferences, w.differenceDecide},
		{get, "/audit", identity.ReadAudit, w.show(auditPage)},
		{get, "/admin/metrics", identity.ReadMetrics, w.show(metricsHealthPage)},
		{get, "/audit/export", identity.ReadAudit, w.auditExport},

		{get, "/admin/sizes", identity.ReadOffer, w.show(sizesPage)},
		{get, "/admin/images", identity.ReadOffer, w.show(imagesPage)},
		{get, "/admin/sizes/edit", identity.ChangeOffer, w.show(editPage)},
		{post, "/admin/sizes/edit", identity.ChangeOffer, w.catalogSave},
		{post, "/admin/sizes/change", identity.ChangeOffer, w.catalogChange},
		{get, "/admin/sizes/deprecate", identity.ChangeOffer, w.show(deprecatePage)},
		{post, "/admin/sizes/deprecate", identity.ChangeOffer, w.deprecate},
		{post, "/admin/sizes/accept", identity.ChangeOffer, w.catalogAccept},
		{get, "/admin/sizes/versions/:version", identity.ReadOffer, w.show(versionPage)},
		{post, "/admin/sizes/versions/:version/revert", identity.ChangeOffer, w.catalogRevert},
		{get, "/admin/rules", identity.ReadRules, w.show(rulesPage)},
		{post, "/admin/rules", identity.ChangeRules, w.rulesSave},
		{get, "/admin/rules/edit", identity.ChangeRules, w.show(rulesEditPage)},
		{post, "/admin/rules/check", identity.ChangeRules, w.rulesCheck},
		{get, "/admin/rules/:version", identity.ReadRules, w.show(rulesPage)},
		{post, "/admin/rules/:version/revert", identity.ChangeRules, w.rulesRevert},
		{get, "/admin/tenants", identity.ReadTenants, w.show(tenantsPage)},
		{get, "/admin/tenants/edit", identity.ReadTenants, w.show(tenantEditPage)},
		{post, "/admin/tenants/edit", identity.ChangeTenants, w.tenantSave},
		{post, "/admin/tenants/check", identity.ChangeTenants, w.tenantCheck},
		{get, peoplePath, identity.ReadPeople, w.show(peoplePage)},
		{get, peoplePath + "/:id", identity.ReadPeople, w.show(personPage)},
		{post, peoplePath + "/:id/disable", identity.ManagePeople, w.personDisable},
		{post, peoplePath + "/:id/enable", identity.ManagePeople, w.personEnable},
		{post, peoplePath + "/:id/sessions/end", identity.ManageTokens, w.personSessionsEnd},
		{post, peoplePath + "/:id/sessions/:session/end", identity.ManageTokens, w.personSessionEnd},
		{post, peoplePath + "/:id/tokens/:token/revoke", identity.ManageTokens, w.personTokenRevoke},
		{post, peoplePath + "/:id/hand-over", identity.ManagePeople, w.personHandOver},
		{get, demandPath, identity.ReadUsage, w.show(demandPage)},
		{get, reconciliationPath, identity.ReadUsage, w.show(fleetHoursPage)},
		{get, reconciliationPath + "/export", identity.ReadUsage, w.reconciliationExport},
		{get, pricesPath, identity.ReadPrices, w.show(pricesPage)},
		{post, pricesPath, identity.ChangePrices, w.priceAdd},
		{post, pricesPath + "/:id/end", identity.ChangePrices, w.priceEnd},

		{get, "/admin/budgets", identity.ReadBudget, w.show(budgetsPage)},
		{get, "/admin/budgets/:name", identity.ReadBudget, w.show(teamBudgetPage)},
		{post, "/admin/budgets/:name", identity.ChangeBudget, w.budgetSet},
		{post, "/admin/budgets/:name/remove", identity.ChangeBudget, w.budgetRemove},
		{post, "/admin/budgets/:name/refund", identity.ChangeBudget, w.budgetRefund},

		{get, "/live", identity.ReadWorkload, w.live},
		{post, "/settings/language", identity.ReadCatalog, w.setLanguage},
		{post, "/settings/theme", identity.ReadCatalog, w.setTheme},
		{post, "/settings/team", identity.ReadTenant, w.setTeam},
	}
	for i, r := range routes {
		if class, bounded := classes[r.Path]; bounded {
			routes[i].Handler = w.limited(class, r.Handler)
		}
	}
	return routes
}

// classes are the routes whose work is more than that of a page: each is bounded by person.
var classes = map[string]limit.Class{
	"/start/summary": limit.Preview, "/start/form": limit.Preview, "/start/size": limit.Preview,
	idlePath + "/preview": limit.Preview, "/admin/rules/check": limit.Preview, "/admin/tenants/check": limit.Preview,
	"/admin/sizes/edit": limit.Preview, "/account/notifications/test": limit.Notice,
}

func (w *Web) limited(class limit.Class, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := w.Limits.Take(class, string(ownPerson(identity.ActorFrom(c.Request().Context())))); err != nil {
			return err
		}
		return next(c)
	}
}

// page is one page and what it follows while it is open.
type page struct {
	name   string   // in the address of the stream
	topics []string // of the hub, whose changes make it read everything again
	build  func(w *Web, k call) (view, error)
}

// The pages. They are functions of a call, so that the stream can build the same page again.
var (
	homePage         = page{"home", []string{"workload", "request"}, (*Web).home}
	startPage        = page{"start", []string{"inventory", "workload"}, (*Web).start}
	sizingPage       = page{"sizing", nil, (*Web).sizing}
	workloadPage     = page{"workload", []string{"mark", "workload", "request", "volume"}, (*Web).workloadOverview}
	objectsPage      = page{"objects", []string{"workload"}, (*Web).workloadObjects}
	chartsPage       = page{"workload-metrics", []string{"workload"}, (*Web).workloadMetrics}
	historyPage      = page{"history", []string{"workload", "request"}, (*Web).workloadHistory}
	resumePage       = page{"resume", nil, (*Web).workloadResumeAsk}
	extendPage       = page{"extend", nil, (*Web).workloadExtendAsk}
	deletePage       = page{"delete", nil, (*Web).workloadDeleteAsk}
	stopPage         = page{"stop", nil, (*Web).workloadStopAsk}
	requestsPage     = page{"requests", []string{"request"}, (*Web).requests}
	requestPage      = page{"request", []string{"request", "workload"}, (*Web).request}
	requestEditPage  = page{"request-edit", nil, (*Web).requestEditAsk}
	approvalsPage    = page{"approvals", []string{"request", "workload", "inventory"}, (*Web).approvals}
	reassignPage     = page{"reassign", nil, (*Web).reassignAsk}
	delegationsPage  = page{"delegations", nil, (*Web).delegations}
	storagePage      = page{"storage", []string{"volume", "workload"}, (*Web).storage}
	volumeDeletePage = page{"volume-delete", nil, (*Web).volumeDeleteAsk}
	usagePage        = page{"usage", nil, (*Web).usage}
	idlePage         = page{"idle", nil, (*Web).idleShow}
	advicePage       = page{"advice", nil, (*Web).adviceList}
	demandPage       = page{"demand", nil, (*Web).demand}
	fleetHoursPage   = page{"fleet-hours", nil, (*Web).reconciliation}
	pricesPage       = page{"prices", []string{"prices"}, (*Web).prices}
	fleetPage        = page{"fleet", []string{"inventory", "workload"}, (*Web).fleet}
	fleetHealthPage  = page{"fleet-health", []string{"inventory", "mark", "workload"}, (*Web).fleetHealth}
	markPage         = page{"mark", nil, (*Web).markAsk}
	fleetUsePage     = page{"fleet-use", []string{"inventory", "workload"}, (*Web).fleetUse}
	licensesPage     = page{"licenses", []string{"workload", "license"}, (*Web).licenses}
	teamPage         = page{"team", []string{"workload", "tenant"}, (*Web).team}
	teamMembersPage  = page{"team-members", nil, (*Web).teamMembers}
	teamImagesPage   = page{"team-images", nil, (*Web).teamImages}
	teamVolumesPage  = page{"team-volumes", nil, (*Web).teamVolumes}
	moreQuotaPage    = page{"more-quota", nil, (*Web).moreQuota}
	tenantsPage      = page{"tenants", []string{"tenant"}, (*Web).tenantsAdmin}
	tenantEditPage   = page{"tenants-edit", nil, (*Web).tenantEdit}
	peoplePage       = page{"people", nil, (*Web).people}
	personPage       = page{"person", nil, (*Web).personOf}
	accountPage      = page{"account", nil, (*Web).account}
	rulesPage        = page{"rules", []string{"rules"}, (*Web).rulesShow}
	rulesEditPage    = page{"rules-edit", nil, (*Web).rulesEdit}
	noticesPage      = page{"notices", nil, (*Web).notices}
	deliveriesPage   = page{"deliveries", nil, (*Web).deliveries}
	differencesPage  = page{"differences", []string{"difference"}, (*Web).differences}
	differencePage   = page{"difference", nil, (*Web).differenceAsk}
	auditPage        = page{"audit", nil, (*Web).audit}
	sizesPage        = page{"sizes", []string{"catalog", "inventory", "workload"}, (*Web).sizesAdmin}
	imagesPage       = page{"images", []string{"catalog", "workload"}, (*Web).imagesAdmin}
	editPage         = page{"sizes-edit", nil, (*Web).catalogEdit}
	deprecatePage    = page{"sizes-deprecate", nil, (*Web).deprecateAsk}
	versionPage      = page{"sizes-version", nil, (*Web).catalogVersion}

	teamVolumeGrowPage   = page{"team-volume-grow", nil, (*Web).teamVolumeGrowAsk}
	teamVolumeDeletePage = page{"team-volume-delete", nil, (*Web).teamVolumeDeleteAsk}

	budgetsPage    = page{"budgets", []string{"budget"}, (*Web).budgets}
	teamBudgetPage = page{"budget", []string{"budget"}, (*Web).teamBudget}

	metricsHealthPage = page{"metrics", []string{"inventory"}, (*Web).metricsHealth}
)

// livePages are those that a stream can be opened for.
func livePages() map[string]page {
	named := map[string]page{}
	for _, p := range []page{homePage, startPage, workloadPage, objectsPage, chartsPage, historyPage, requestsPage,
		requestPage, approvalsPage, storagePage,
		fleetPage, fleetUsePage, fleetHealthPage, licensesPage, teamPage, sizesPage, imagesPage, metricsHealthPage,
		budgetsPage, teamBudgetPage, rulesPage, pricesPage, tenantsPage} {
		named[p.name] = p
	}
	return named
}
