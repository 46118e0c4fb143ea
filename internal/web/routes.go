package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

// Route is one entry of the surface; Action is what it is for. Every route needs someone who is signed in.
type Route struct {
	Method  string
	Path    string
	Action  identity.Action
	Handler echo.HandlerFunc
	page    *page // what it shows; nil for a change or a part of a page
}

func get(path string, action identity.Action, handler echo.HandlerFunc) Route {
	return Route{Method: http.MethodGet, Path: path, Action: action, Handler: handler}
}

func post(path string, action identity.Action, handler echo.HandlerFunc) Route {
	return Route{Method: http.MethodPost, Path: path, Action: action, Handler: handler}
}

// shows is the route of a page.
func (w *Web) shows(path string, action identity.Action, p page) Route {
	r := get(path, action, w.show(p))
	r.page = &p
	return r
}

// Routes is the whole surface of the pages.
func (w *Web) Routes() []Route {
	return w.bounded([]Route{
		w.shows("/", identity.ReadWorkload, homePage),
		w.shows("/start", identity.SubmitRequest, startPage),
		post("/start", identity.SubmitRequest, w.startSubmit),
		get("/start/summary", identity.SubmitRequest, w.startSummary),
		post("/start/summary", identity.SubmitRequest, w.startSummary),
		w.shows("/start/size", identity.SubmitRequest, sizingPage),
		get("/start/form", identity.SubmitRequest, w.startForm),
		post("/start/form", identity.SubmitRequest, w.startForm),

		w.shows("/workloads/:id", identity.ReadWorkload, workloadPage),
		w.shows("/workloads/:id/objects", identity.ReadWorkload, objectsPage),
		w.shows("/workloads/:id/metrics", identity.ReadWorkload, chartsPage),
		w.shows("/workloads/:id/history", identity.ReadWorkload, historyPage),
		w.shows("/workloads/:id/stop", identity.ChangeWorkload, stopPage),
		post("/workloads/:id/stop", identity.ChangeWorkload, w.workloadStop),
		post("/workloads/:id/keep-alive", identity.ChangeWorkload, w.workloadKeepAlive),
		post("/workloads/:id/start", identity.ChangeWorkload, w.workloadStart),
		post("/workloads/:id/share", identity.ChangeWorkload, w.workloadShare),
		w.shows("/workloads/:id/resume", identity.ChangeWorkload, resumePage),
		post("/workloads/:id/resume", identity.ChangeWorkload, w.workloadResume),
		w.shows("/workloads/:id/extend", identity.ChangeWorkload, extendPage),
		post("/workloads/:id/extend", identity.ChangeWorkload, w.workloadExtend),
		w.shows("/workloads/:id/delete", identity.ChangeWorkload, deletePage),
		post("/workloads/:id/delete", identity.ChangeWorkload, w.workloadDelete),

		w.shows("/requests", identity.ReadRequest, requestsPage),
		w.shows("/requests/:id", identity.ReadRequest, requestPage),
		w.shows("/requests/:id/edit", identity.EditRequest, requestEditPage),
		post("/requests/:id/edit", identity.EditRequest, w.requestEdit),
		post("/requests/:id/withdraw", identity.WithdrawRequest, w.requestWithdraw),
		w.shows("/approvals", identity.DecideRequest, approvalsPage),
		w.shows("/approvals/:id", identity.DecideRequest, approvalsPage),
		w.shows("/approvals/delegations", identity.ManageDelegations, delegationsPage),
		post("/approvals/delegations", identity.ManageDelegations, w.delegationCreate),
		post("/approvals/delegations/:id/end", identity.ManageDelegations, w.delegationEnd),
		post("/approvals/bulk", identity.DecideRequest, w.decideSeveral),
		w.shows("/approvals/:id/reassign", identity.DecideRequest, reassignPage),
		post("/approvals/:id/reassign", identity.DecideRequest, w.reassign),
		post("/approvals/:id/reclaim", identity.DecideRequest, w.reclaim),
		post("/approvals/:id/approve", identity.DecideRequest, w.approve),
		post("/approvals/:id/reject", identity.DecideRequest, w.reject),

		w.shows("/storage", identity.ReadVolume, storagePage),
		w.shows("/storage/:name/delete", identity.DeleteVolume, volumeDeletePage),
		post("/storage/:name/delete", identity.DeleteVolume, w.volumeDelete),
		post("/storage/:name/keep", identity.KeepVolume, w.volumeKeep),
		w.shows("/usage", identity.ReadUsage, usagePage),
		get("/usage/export", identity.ReadUsage, w.usageExport),
		w.shows(idlePath, identity.ReadRules, idlePage),
		post(idlePath, identity.ChangeRules, w.idleSave),
		post(idlePath+"/preview", identity.ChangeRules, w.idlePreview),
		w.shows(advicePath, identity.ReadUsage, advicePage),
		post(advicePath+"/:id/dismiss", identity.ChangeWorkload, w.adviceDismiss),
		post(advicePath+"/:id/restore", identity.ChangeWorkload, w.adviceRestore),
		w.shows("/fleet", identity.ReadInventory, fleetPage),
		w.shows(fleetUsePath, identity.ReadInventory, fleetUsePage),
		w.shows(fleetHealthPath, identity.ReadMetrics, fleetHealthPage),
		w.shows(fleetHealthPath+"/mark", identity.QuarantineHardware, markPage),
		post(fleetHealthPath+"/mark", identity.QuarantineHardware, w.hardwareMark),
		post(fleetHealthPath+"/unmark", identity.QuarantineHardware, w.hardwareUnmark),
		w.shows("/licenses", identity.ReadLicenses, licensesPage),
		post("/licenses", identity.ChangeLicenses, w.licenseEnter),
		post("/licenses/full", identity.ChangeLicenses, w.licenseChoose),
		post("/licenses/import", identity.ChangeLicenses, w.licenseImport),
		post("/licenses/:id/remove", identity.ChangeLicenses, w.licenseRemove),
		w.shows("/team", identity.ReadTenant, teamPage),
		w.shows("/team/:name", identity.ReadMembers, teamMembersPage),
		post("/team/:name/members", identity.ChangeMembers, w.memberAdd),
		post("/team/:name/members/:person/:role/remove", identity.ChangeMembers, w.memberRemove),
		post("/team/:name/defaults", identity.ChangeMembers, w.teamDefaults),
		post("/team/:name/tokens/:id/revoke", identity.ChangeMembers, w.memberTokenRevoke),
		w.shows("/team/:name/images", identity.ReadTenant, teamImagesPage),
		post("/team/:name/images", identity.ChangeAssets, w.teamImageSave),
		post("/team/:name/images/:image", identity.ChangeAssets, w.teamImageSave),
		post("/team/:name/images/:image/retire", identity.ChangeAssets, w.teamImageRetire),
		post("/team/:name/images/:image/offer", identity.ChangeAssets, w.teamImageOffer),
		w.shows("/team/:name/volumes", identity.ReadTenant, teamVolumesPage),
		post("/team/:name/volumes", identity.ChangeAssets, w.teamVolumeAdd),
		w.shows("/team/:name/volumes/:volume/grow", identity.ChangeAssets, teamVolumeGrowPage),
		post("/team/:name/volumes/:volume/grow", identity.ChangeAssets, w.teamVolumeGrow),
		post("/team/:name/volumes/:volume/restore", identity.ChangeAssets, w.teamVolumeRestore),
		w.shows("/team/:name/volumes/:volume/delete", identity.ChangeAssets, teamVolumeDeletePage),
		post("/team/:name/volumes/:volume/delete", identity.ChangeAssets, w.teamVolumeDelete),
		w.shows("/team/:name/quota", identity.SubmitRequest, moreQuotaPage),
		post("/team/:name/quota", identity.SubmitRequest, w.moreQuotaAsk),
		w.shows("/account", identity.ManageTokens, accountPage),
		post("/account/tokens", identity.ManageTokens, w.tokenCreate),
		post("/account/tokens/:id/revoke", identity.ManageTokens, w.tokenRevoke),
		post("/account/sessions/end", identity.ManageTokens, w.sessionsEnd),
		post("/account/sessions/:id/end", identity.ManageTokens, w.sessionEnd),
		w.shows("/account/notifications", identity.ChangeNotices, noticesPage),
		post("/account/notifications", identity.ChangeNotices, w.noticesChoose),
		post("/account/notifications/test", identity.ChangeNotices, w.noticesTry),
		post("/account/notifications/addresses", identity.ChangeNotices, w.addressEnter),
		post("/account/notifications/addresses/:id/remove", identity.ChangeNotices, w.addressRemove),
		w.shows("/admin/notifications", identity.ReadDeliveries, deliveriesPage),
		post("/admin/notifications/:id/retry", identity.RetryDelivery, w.deliveryRetry),
		w.shows(DifferencesPath, identity.ReadDifferences, differencesPage),
		w.shows(DifferencesPath+"/:id/:decision", identity.DecideDifferences, differencePage),
		post(DifferencesPath+"/:id/:decision", identity.DecideDifferences, w.differenceDecide),
		w.shows("/audit", identity.ReadAudit, auditPage),
		w.shows("/admin/metrics", identity.ReadMetrics, metricsHealthPage),
		get("/audit/export", identity.ReadAudit, w.auditExport),

		w.shows("/admin/sizes", identity.ReadOffer, sizesPage),
		w.shows("/admin/images", identity.ReadOffer, imagesPage),
		w.shows("/admin/sizes/edit", identity.ChangeOffer, editPage),
		post("/admin/sizes/edit", identity.ChangeOffer, w.catalogSave),
		post("/admin/sizes/change", identity.ChangeOffer, w.catalogChange),
		w.shows("/admin/sizes/deprecate", identity.ChangeOffer, deprecatePage),
		post("/admin/sizes/deprecate", identity.ChangeOffer, w.deprecate),
		post("/admin/sizes/accept", identity.ChangeOffer, w.catalogAccept),
		w.shows("/admin/sizes/versions/:version", identity.ReadOffer, versionPage),
		post("/admin/sizes/versions/:version/revert", identity.ChangeOffer, w.catalogRevert),
		w.shows("/admin/rules", identity.ReadRules, rulesPage),
		post("/admin/rules", identity.ChangeRules, w.rulesSave),
		w.shows("/admin/rules/edit", identity.ChangeRules, rulesEditPage),
		post("/admin/rules/check", identity.ChangeRules, w.rulesCheck),
		w.shows("/admin/rules/:version", identity.ReadRules, rulesPage),
		post("/admin/rules/:version/revert", identity.ChangeRules, w.rulesRevert),
		w.shows("/admin/tenants", identity.ReadTenants, tenantsPage),
		w.shows("/admin/tenants/edit", identity.ReadTenants, tenantEditPage),
		post("/admin/tenants/edit", identity.ChangeTenants, w.tenantSave),
		post("/admin/tenants/check", identity.ChangeTenants, w.tenantCheck),
		w.shows(peoplePath, identity.ReadPeople, peoplePage),
		w.shows(peoplePath+"/:id", identity.ReadPeople, personPage),
		post(peoplePath+"/:id/disable", identity.ManagePeople, w.personDisable),
		post(peoplePath+"/:id/enable", identity.ManagePeople, w.personEnable),
		post(peoplePath+"/:id/sessions/end", identity.ManageTokens, w.personSessionsEnd),
		post(peoplePath+"/:id/sessions/:session/end", identity.ManageTokens, w.personSessionEnd),
		post(peoplePath+"/:id/tokens/:token/revoke", identity.ManageTokens, w.personTokenRevoke),
		post(peoplePath+"/:id/hand-over", identity.ManagePeople, w.personHandOver),
		w.shows(demandPath, identity.ReadUsage, demandPage),
		w.shows(reconciliationPath, identity.ReadUsage, fleetHoursPage),
		get(reconciliationPath+"/export", identity.ReadUsage, w.reconciliationExport),
		w.shows(pricesPath, identity.ReadPrices, pricesPage),
		post(pricesPath, identity.ChangePrices, w.priceAdd),
		post(pricesPath+"/:id/end", identity.ChangePrices, w.priceEnd),

		w.shows("/admin/budgets", identity.ReadBudget, budgetsPage),
		w.shows("/admin/budgets/:name", identity.ReadBudget, teamBudgetPage),
		post("/admin/budgets/:name", identity.ChangeBudget, w.budgetSet),
		post("/admin/budgets/:name/remove", identity.ChangeBudget, w.budgetRemove),
		post("/admin/budgets/:name/refund", identity.ChangeBudget, w.budgetRefund),

		w.shows(platformPath, identity.ReadPlatform, platformPage),

		get("/live", identity.ReadWorkload, w.live),
		post("/settings/language", identity.ReadCatalog, w.setLanguage),
		post("/settings/theme", identity.ReadCatalog, w.setTheme),
		post("/settings/nav", identity.ReadCatalog, w.setNav),
		post("/settings/team", identity.ReadTenant, w.setTeam),
	})
}

// classes are the routes whose work is more than that of a page: each is bounded by person.
var classes = map[string]limit.Class{
	"/start/summary": limit.Preview, "/start/form": limit.Preview, "/start/size": limit.Preview,
	idlePath + "/preview": limit.Preview, "/admin/rules/check": limit.Preview, "/admin/tenants/check": limit.Preview,
	"/admin/sizes/edit": limit.Preview, "/account/notifications/test": limit.Notice,
}

// bounded puts the bounds of classes before the routes that have one.
func (w *Web) bounded(routes []Route) []Route {
	for i, r := range routes {
		if class, bounded := classes[r.Path]; bounded {
			routes[i].Handler = w.limited(class, r.Handler)
		}
	}
	return routes
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
	name   string // in the address of the stream
	build  func(w *Web, k call) (view, error)
	topics topics // whose changes make it read everything again; none: it has no stream
	// everyones: it shows free capacity or seats, which depend on the workloads of everybody; it names nobody.
	everyones bool
}

type topics []live.Topic

// The pages. They are functions of a call, so that the stream can build the same page again.
var (
	homePage  = page{name: "home", build: (*Web).home, topics: topics{live.TopicWorkload, live.TopicRequest}}
	startPage = page{name: "start", build: (*Web).start, topics: topics{live.TopicInventory, live.TopicWorkload},
		everyones: true}
	sizingPage   = page{name: "sizing", build: (*Web).sizing}
	workloadPage = page{name: "workload", build: (*Web).workloadOverview, topics: topics{live.TopicQuarantine,
		live.TopicWorkload, live.TopicRequest, live.TopicVolume}}
	objectsPage = page{name: "objects", build: (*Web).workloadObjects, topics: topics{live.TopicWorkload}}
	chartsPage  = page{name: "workload-metrics", build: (*Web).workloadMetrics, topics: topics{live.TopicWorkload}}
	historyPage = page{name: "history", build: (*Web).workloadHistory,
		topics: topics{live.TopicWorkload, live.TopicRequest}}
	resumePage      = page{name: "resume", build: (*Web).workloadResumeAsk}
	extendPage      = page{name: "extend", build: (*Web).workloadExtendAsk}
	deletePage      = page{name: "delete", build: (*Web).workloadDeleteAsk}
	stopPage        = page{name: "stop", build: (*Web).workloadStopAsk}
	requestsPage    = page{name: "requests", build: (*Web).requests, topics: topics{live.TopicRequest}}
	requestPage     = page{name: "request", build: (*Web).request, topics: topics{live.TopicRequest, live.TopicWorkload}}
	requestEditPage = page{name: "request-edit", build: (*Web).requestEditAsk}
	approvalsPage   = page{name: "approvals", build: (*Web).approvals, topics: topics{live.TopicRequest,
		live.TopicWorkload, live.TopicInventory}, everyones: true}
	reassignPage     = page{name: "reassign", build: (*Web).reassignAsk}
	delegationsPage  = page{name: "delegations", build: (*Web).delegations}
	storagePage      = page{name: "storage", build: (*Web).storage, topics: topics{live.TopicVolume, live.TopicWorkload}}
	volumeDeletePage = page{name: "volume-delete", build: (*Web).volumeDeleteAsk}
	usagePage        = page{name: "usage", build: (*Web).usage}
	idlePage         = page{name: "idle", build: (*Web).idleShow}
	advicePage       = page{name: "advice", build: (*Web).adviceList}
	demandPage       = page{name: "demand", build: (*Web).demand}
	fleetHoursPage   = page{name: "fleet-hours", build: (*Web).reconciliation}
	pricesPage       = page{name: "prices", build: (*Web).prices, topics: topics{live.TopicPrices}}
	fleetPage        = page{name: "fleet", build: (*Web).fleet, topics: topics{live.TopicInventory, live.TopicWorkload},
		everyones: true}
	fleetHealthPage = page{name: "fleet-health", build: (*Web).fleetHealth, topics: topics{live.TopicInventory,
		live.TopicQuarantine, live.TopicWorkload}}
	markPage     = page{name: "mark", build: (*Web).markAsk}
	fleetUsePage = page{name: "fleet-use", build: (*Web).fleetUse, topics: topics{live.TopicInventory,
		live.TopicWorkload}, everyones: true}
	licensesPage = page{name: "licenses", build: (*Web).licenses, topics: topics{live.TopicWorkload, live.TopicLicense},
		everyones: true}
	teamPage        = page{name: "team", build: (*Web).team, topics: topics{live.TopicWorkload, live.TopicTenant}}
	teamMembersPage = page{name: "team-members", build: (*Web).teamMembers}
	teamImagesPage  = page{name: "team-images", build: (*Web).teamImages}
	teamVolumesPage = page{name: "team-volumes", build: (*Web).teamVolumes}
	moreQuotaPage   = page{name: "more-quota", build: (*Web).moreQuota}
	tenantsPage     = page{name: "tenants", build: (*Web).tenantsAdmin, topics: topics{live.TopicTenant}}
	tenantEditPage  = page{name: "tenants-edit", build: (*Web).tenantEdit}
	peoplePage      = page{name: "people", build: (*Web).people}
	personPage      = page{name: "person", build: (*Web).personOf}
	accountPage     = page{name: "account", build: (*Web).account}
	rulesPage       = page{name: "rules", build: (*Web).rulesShow, topics: topics{live.TopicRules}}
	rulesEditPage   = page{name: "rules-edit", build: (*Web).rulesEdit}
	noticesPage     = page{name: "notices", build: (*Web).notices}
	deliveriesPage  = page{name: "deliveries", build: (*Web).deliveries}
	differencesPage = page{name: "differences", build: (*Web).differences, topics: topics{live.TopicDifference}}
	differencePage  = page{name: "difference", build: (*Web).differenceAsk}
	auditPage       = page{name: "audit", build: (*Web).audit}
	sizesPage       = page{name: "sizes", build: (*Web).sizesAdmin, topics: topics{live.TopicCatalog, live.TopicInventory,
		live.TopicWorkload}}
	imagesPage    = page{name: "images", build: (*Web).imagesAdmin, topics: topics{live.TopicCatalog, live.TopicWorkload}}
	editPage      = page{name: "sizes-edit", build: (*Web).catalogEdit}
	deprecatePage = page{name: "sizes-deprecate", build: (*Web).deprecateAsk}
	versionPage   = page{name: "sizes-version", build: (*Web).catalogVersion}

	teamVolumeGrowPage   = page{name: "team-volume-grow", build: (*Web).teamVolumeGrowAsk}
	teamVolumeDeletePage = page{name: "team-volume-delete", build: (*Web).teamVolumeDeleteAsk}

	budgetsPage    = page{name: "budgets", build: (*Web).budgets, topics: topics{live.TopicBudget}}
	teamBudgetPage = page{name: "budget", build: (*Web).teamBudget, topics: topics{live.TopicBudget}}

	platformPage = page{name: "platform", build: (*Web).platform, topics: topics{live.TopicWorkload, live.TopicRequest,
		live.TopicInventory, live.TopicQuarantine, live.TopicBudget, live.TopicLicense, live.TopicCatalog, live.TopicRules,
		live.TopicTenant, live.TopicPrices}}

	metricsHealthPage = page{name: "metrics", build: (*Web).metricsHealth, topics: topics{live.TopicInventory}}
)

// livePages are the pages of routes that follow topics, by name.
func livePages(routes []Route) map[string]page {
	named := map[string]page{}
	for _, r := range routes {
		if r.page != nil && len(r.page.topics) > 0 {
			named[r.page.name] = *r.page
		}
	}
	return named
}
