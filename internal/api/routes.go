package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// register is the whole surface, area by area.
func (a *API) register() {
	for _, area := range []func(){
		a.registerSelf, a.registerCatalog, a.registerLicenses, a.registerRequests, a.registerDelegations,
		a.registerWorkloads, a.registerUsage, a.registerPolicies, a.registerOperation, a.registerTenants,
		a.registerTeamImages, a.registerTeamVolumes, a.registerVolumes, a.registerDatasets, a.registerPeople,
		a.registerEmbeds, a.registerSecrets, a.registerClusters, a.registerLogs, a.registerTunnel,
		a.registerKeys, a.registerReach, a.registerGrants, a.registerRevisions, a.registerSchedules,
		a.registerSystem, a.registerBudgets, a.registerQuarantine, a.registerDifferences,
	} {
		area()
	}
}

// registerSelf is what a person has of their own: who they are, their teams, their notices.
func (a *API) registerSelf() {
	add(a, op(http.MethodGet, "/me", "me", "Who I am", "People"), identity.ReadCatalog, a.me)
	add(a, op(http.MethodGet, "/tenants", "list-tenants", "Teams that I may see, with quota and use", "People"),
		identity.ReadTenant, a.tenants)
	add(a, op(http.MethodGet, "/account/notifications", "get-notification-choices", "What I am told of, and how",
		"People"), identity.ChangeNotices, a.noticeChoices)
	add(a, op(http.MethodPut, "/account/notifications", "save-notification-choices",
		"Choose what I am told of, and how; replaces the whole choice", "People"), identity.ChangeNotices, a.chooseNotices)
}

// registerCatalog is what is offered, and what the clusters have of it.
func (a *API) registerCatalog() {
	add(a, op(http.MethodGet, "/sizes", "list-sizes", "Sizes on offer: what they are, what is free, what they need",
		"Catalog"), identity.ReadCatalog, a.sizes)
	add(a, op(http.MethodPost, "/sizing", "propose-sizes", "Sizes that would do for some work, with the reasons and the "+
		"memory it needs; writes nothing", "Catalog"), identity.ReadCatalog, a.sizing)
	add(a, op(http.MethodGet, "/images", "list-images", "Images on offer", "Catalog"), identity.ReadCatalog, a.images)
	add(a, op(http.MethodGet, "/inventory", "list-inventory", "What each cluster has, who holds it, what is free",
		"Catalog"), identity.ReadInventory, a.inventory)
	add(a, op(http.MethodGet, "/fleet/holders", "list-holders", "Who holds GPUs now, how much of them is used, and what "+
		"goes for nothing; of the teams that one may see", "Usage"), identity.ReadUsage, a.holders)
	add(a, op(http.MethodGet, "/catalog", "get-catalog", "The catalog as it is written; for admins and auditors",
		"Catalog"), identity.ReadOffer, a.catalog)
	add(a, long(op(http.MethodPut, "/catalog", "save-catalog", "Save it as the next version, and go by it at once",
		"Catalog")), identity.ChangeOffer, a.saveCatalog)
	add(a, long(op(http.MethodPost, "/catalog/check", "check-catalog", "What is wrong with a text, and what it "+
		"would change; writes nothing", "Catalog")), identity.ChangeOffer, a.checkCatalog)
	add(a, op(http.MethodGet, "/catalog/versions", "list-catalog-versions",
		"Versions, newest first; 0 is the configuration's", "Catalog"), identity.ReadOffer, a.catalogVersions)
	add(a, op(http.MethodGet, "/catalog/versions/{version}", "get-catalog-version", "One version with its text",
		"Catalog"), identity.ReadOffer, a.catalogVersion)
	add(a, op(http.MethodGet, "/catalog/findings", "list-catalog-findings",
		"Where the catalog and the nodes do not agree, and what to offer instead", "Catalog"), identity.ReadOffer,
		a.catalogFindings)
	add(a, op(http.MethodGet, "/catalog/runtimes", "list-serving-runtimes",
		"ClusterServingRuntimes of KServe that images can name", "Catalog"), identity.ReadOffer, a.servingRuntimes)
}

// registerLicenses is the pools of seats, and what was bought.
func (a *API) registerLicenses() {
	add(a, op(http.MethodGet, "/licenses", "list-licenses", "License pools: entitled, reserved, used, free, and on what "+
		"not all agree", "Licenses"), identity.ReadLicenses, a.licenses)
	add(a, op(http.MethodGet, "/licenses/nodes", "list-license-nodes", "Nodes with vGPUs, and what each vGPU says of "+
		"its license", "Licenses"), identity.ReadLicenses, a.licenseNodes)
	add(a, op(http.MethodGet, "/licenses/forecast", "list-license-forecasts",
		"Seats by hour and weekday, the peak, and when a pool is exhausted or ends", "Licenses"), identity.ReadLicenses,
		a.licenseForecast)
	add(a, op(http.MethodGet, "/licenses/entitlements", "list-entitlements",
		"What was bought, and whether it counts; for admins and auditors", "Licenses"), identity.ReadBought, a.entitlements)
	add(a, created(op(http.MethodPost, "/licenses/entitlements", "enter-entitlement", "Enter what was bought",
		"Licenses")), identity.ChangeLicenses, a.enterLicense)
	add(a, op(http.MethodDelete, "/licenses/entitlements/{id}", "remove-entitlement",
		"Take it out; what runs goes on. Answers with the list", "Licenses"), identity.ChangeLicenses, a.removeLicense)
	add(a, fileSized(op(http.MethodPost, "/licenses/import", "import-entitlements", "Read a file of comma-separated "+
		"values, and keep all of it or nothing", "Licenses")), identity.ChangeLicenses, a.importLicenses)
}

// registerRequests is the way of a request, from the preview to its decision.
func (a *API) registerRequests() {
	add(a, created(op(http.MethodPost, "/requests", "submit-request", "Ask for a notebook or an endpoint", "Requests")),
		identity.SubmitRequest, a.submit)
	add(a, op(http.MethodPost, "/requests/preview", "preview-request", "What would happen if this were sent now, with "+
		"the exact objects; writes nothing", "Requests"), identity.SubmitRequest, a.preview)
	add(a, op(http.MethodGet, "/requests", "list-requests", "Requests, newest first unless sort says otherwise",
		"Requests"), identity.ReadRequest, a.requests)
	add(a, op(http.MethodGet, "/requests/{id}", "get-request", "One request", "Requests"), identity.ReadRequest, a.request)
	add(a, op(http.MethodPost, "/requests/{id}/approve", "approve-request",
		"Say yes; it goes ahead when no other approval is missing", "Requests"), identity.DecideRequest, a.approve)
	add(a, op(http.MethodPost, "/requests/{id}/reject", "reject-request", "Turn it down; the note says why", "Requests"),
		identity.DecideRequest, a.reject)
	add(a, op(http.MethodPost, "/requests/{id}/undo", "undo-decision", "Take my own undoable decision back before it "+
		"takes effect; afterwards a conflict", "Requests"), identity.DecideRequest, a.undo)
	add(a, op(http.MethodPost, "/requests/{id}/undo-extension", "undo-extension", "Take an extension back that a rule "+
		"granted at once, within approvals.undo of the site (10 s); afterwards a conflict", "Requests"),
		identity.WithdrawRequest, a.undoExtension)
	add(a, op(http.MethodGet, "/requests/{id}/assignees", "list-assignees",
		"Approvers to whom I can give it: those whose word counts in its open step", "Requests"), identity.DecideRequest,
		a.assignees)
	add(a, op(http.MethodPost, "/requests/{id}/reassign", "reassign-request",
		"Give it to another approver of the same step, who is told; I decide it no longer until I take it back",
		"Requests"), identity.DecideRequest, a.reassign)
	add(a, op(http.MethodPost, "/requests/{id}/reclaim", "reclaim-request", "Undo that I gave it away", "Requests"),
		identity.DecideRequest, a.reclaim)
	add(a, op(http.MethodPost, "/requests/{id}/edit", "edit-request", "Change one's own undecided request; it is "+
		"decided anew", "Requests"), identity.EditRequest, a.edit)
	add(a, op(http.MethodPost, "/requests/{id}/withdraw", "withdraw-request", "Take one's own undecided request back",
		"Requests"), identity.WithdrawRequest, a.withdraw)
}

// registerDelegations is who decides in whose place.
func (a *API) registerDelegations() {
	add(a, op(http.MethodGet, "/delegations/candidates", "find-delegations", "People who could decide in my place, by a "+
		"part of their name or e-mail address; at most ten", "Requests"), identity.ManageDelegations, a.candidates)
	add(a, op(http.MethodGet, "/delegations", "list-delegations",
		"Who decides in my place, and for whom I decide, now and later", "Requests"), identity.ManageDelegations,
		a.delegations)
	add(a, created(op(http.MethodPost, "/delegations", "create-delegation", "Let somebody decide in my place for a time",
		"Requests")), identity.ManageDelegations, a.createDelegation)
	add(a, op(http.MethodDelete, "/delegations/{id}", "end-delegation", "End it before its time", "Requests"),
		identity.ManageDelegations, a.endDelegation)
}

// registerWorkloads is what runs. Logs, keys, revisions and the like have files of their own.
func (a *API) registerWorkloads() {
	add(a, op(http.MethodGet, "/workloads", "list-workloads", "Workloads, newest first", "Workloads"),
		identity.ReadWorkload, a.workloads)
	add(a, op(http.MethodGet, "/workloads/{id}", "get-workload", "One workload", "Workloads"), identity.ReadWorkload,
		a.workload)
	add(a, op(http.MethodGet, "/workloads/{id}/metrics", "get-workload-metrics", "What its GPUs do now, from DCGM",
		"Workloads"), identity.ReadWorkload, a.metrics)
	add(a, op(http.MethodGet, "/workloads/{id}/history", "get-workload-history", "Who did what to it", "Workloads"),
		identity.ReadWorkload, a.history)
	add(a, op(http.MethodPost, "/workloads/{id}/stop", "stop-workload", "Give the GPU back, keep the storage",
		"Workloads"), identity.ChangeWorkload, a.stop)
	add(a, op(http.MethodPost, "/workloads/{id}/start", "start-workload", "Resume a stopped workload within its lease",
		"Workloads"), identity.ChangeWorkload, a.start)
	add(a, op(http.MethodPost, "/workloads/{id}/resume", "ask-to-resume", "Ask that a stopped workload may run again "+
		"where the budget wants an approver to agree; answers with the request", "Workloads"), identity.ChangeWorkload,
		a.resume)
	add(a, op(http.MethodPost, "/workloads/{id}/extend", "extend-workload",
		"Ask for a longer lease; answers with the request", "Workloads"), identity.ChangeWorkload, a.extend)
	add(a, op(http.MethodPost, "/workloads/{id}/share", "share-workload", "Let tenant colleagues open it, or not any more",
		"Workloads"), identity.ChangeWorkload, a.share)
	add(a, op(http.MethodGet, "/workloads/{id}/replicas", "preview-workload-replicas",
		"What another number of replicas of an endpoint would take; changes nothing", "Workloads"), identity.ChangeWorkload,
		a.previewScale)
	add(a, op(http.MethodPost, "/workloads/{id}/replicas", "scale-workload",
		"Set how many replicas an endpoint has, between its min and max", "Workloads"), identity.ChangeWorkload, a.scale)
	add(a, op(http.MethodPut, "/workloads/{id}/scaling", "set-workload-scaling",
		"Set the fewest replicas of an endpoint, and how it scales between them and its max", "Workloads"),
		identity.ChangeWorkload, a.setScaling)
	add(a, op(http.MethodDelete, "/workloads/{id}", "delete-workload", "End it for good; storage is kept unless asked "+
		"otherwise", "Workloads"), identity.ChangeWorkload, a.remove)
	add(a, op(http.MethodGet, "/workloads/{id}/advice", "get-workload-advice",
		"Whether another size would suit it better, or why this cannot be told", "Workloads"), identity.ReadWorkload,
		a.adviceOf)
	add(a, op(http.MethodPost, "/workloads/{id}/advice/dismiss", "dismiss-advice",
		"Put the advice away, for everybody, until it says something else", "Workloads"), identity.ChangeWorkload,
		a.dismissAdvice)
	add(a, op(http.MethodPost, "/workloads/{id}/advice/restore", "restore-advice", "Show again what was put away",
		"Workloads"), identity.ChangeWorkload, a.restoreAdvice)
	add(a, op(http.MethodGet, "/workloads/{id}/warnings", "get-workload-warnings",
		"What became of the messages that warned of its end, or of its idle GPU", "Workloads"), identity.ReadWorkload,
		a.warningsOf)
	add(a, op(http.MethodGet, "/workloads/{id}/idle", "get-workload-idle", "For how long its GPU is idle as far as is "+
		"known, and what follows", "Workloads"), identity.ReadWorkload, a.idleOf)
	add(a, op(http.MethodPost, "/workloads/{id}/keep-alive", "keep-workload-alive",
		"Say that it is still needed though it is idle",
		"Workloads"), identity.ChangeWorkload, a.keepAlive)
}

// registerUsage is what was held, what it costs, and what would be cheaper.
func (a *API) registerUsage() {
	add(a, op(http.MethodGet, "/usage", "get-usage", "What was held in a month, and what it costs", "Usage"),
		identity.ReadUsage, a.usage)
	add(a, op(http.MethodGet, "/usage/daily", "get-daily-cost", "What each day of a month cost, by team, person, size "+
		"or workload", "Usage"), identity.ReadUsage, a.daily)
	add(a, op(http.MethodGet, "/usage/focus", "get-usage-focus", "The charges of a month as comma-separated values in "+
		"the FOCUS format, version "+usage.FocusVersion, "Usage"), identity.ReadUsage, a.focus)
	add(a, op(http.MethodGet, "/usage/demand", "get-unmet-demand", "What people asked for in a month and did not get, "+
		"by size and reason; for admins and auditors", "Usage"), identity.ReadUsage, a.unmet)
	add(a, op(http.MethodGet, "/usage/reconciliation", "get-reconciliation",
		"What the physical cards of the fleet did on each day of a month; for admins and auditors", "Usage"),
		identity.ReadUsage, a.reconciliation)
	add(a, op(http.MethodGet, "/advice", "get-advice", "Which workloads another size would suit better, with what was "+
		"measured", "Usage"), identity.ReadUsage, a.advice)
	add(a, op(http.MethodGet, "/prices", "list-prices", "What costs how much, and since when; for admins and auditors",
		"Usage"), identity.ReadPrices, a.prices)
	add(a, op(http.MethodPost, "/prices", "add-price", "Put a price on the list, from now or a later day on", "Usage"),
		identity.ChangePrices, a.addPrice)
	add(a, op(http.MethodPost, "/prices/{id}/end", "end-price", "End a price now; answers with the list", "Usage"),
		identity.ChangePrices, a.endPrice)
}

// registerPolicies is the rules of approval, and what follows from idle GPUs.
func (a *API) registerPolicies() {
	add(a, op(http.MethodGet, "/idle", "get-idle-settings", "What counts as an idle GPU, and what follows, by size and "+
		"team; for admins and auditors", "Rules"), identity.ReadRules, a.idleSettings)
	add(a, op(http.MethodPut, "/idle", "save-idle-settings", "Replace all of these settings; version is the one that "+
		"was read", "Rules"), identity.ChangeRules, a.saveIdle)
	add(a, op(http.MethodPost, "/idle/preview", "preview-idle-settings", "What settings would do to what runs, and "+
		"would have done in the last 30 days; writes nothing", "Rules"), identity.ChangeRules, a.previewIdle)
	add(a, op(http.MethodGet, "/rules", "get-rules", "The rules that were saved last; for admins and auditors", "Rules"),
		identity.ReadRules, a.rules)
	add(a, op(http.MethodPut, "/rules", "save-rules", "Make a text the rules that count", "Rules"), identity.ChangeRules,
		a.saveRules)
	add(a, op(http.MethodPost, "/rules/check", "check-rules", "What is wrong with a text, and what it would have "+
		"decided differently; writes nothing", "Rules"), identity.ChangeRules, a.checkRules)
	add(a, op(http.MethodGet, "/rules/revisions", "list-rules-revisions", "Versions of the rules, newest first", "Rules"),
		identity.ReadRules, a.rulesRevisions)
	add(a, op(http.MethodGet, "/rules/revisions/{version}", "get-rules-revision", "One version of the rules", "Rules"),
		identity.ReadRules, a.rulesAt)
}

// registerOperation is how the portal itself does, and the audit log.
func (a *API) registerOperation() {
	add(a, op(http.MethodGet, "/metrics/health", "get-metrics-health", "Which GPU series there are, which views suffer, "+
		"which cards need a look; for admins and auditors", "Audit"), identity.ReadMetrics, a.metricsHealth)
	add(a, op(http.MethodGet, "/jobs", "list-jobs", "What the leader does on a clock, and how each job's last run "+
		"ended; for admins and auditors", "Audit"), identity.ReadMetrics, a.jobs)
	add(a, op(http.MethodGet, "/log-level", "get-log-level", "From which level on the portal logs; for admins and "+
		"auditors", "Operation"), identity.ReadLogLevel, a.logLevel)
	add(a, op(http.MethodPut, "/log-level", "set-log-level", "Log from another level on, in every replica, until the "+
		"time is over", "Operation"), identity.ChangeLogLevel, a.setLogLevel)
	add(a, op(http.MethodGet, "/audit", "list-audit", "Who did what, newest first; for admins and auditors", "Audit"),
		identity.ReadAudit, a.audit)
}

func op(method, path, id, summary, tag string) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{tag}}
}

// long lets a whole catalog in.
func long(o huma.Operation) huma.Operation {
	o.MaxBodyBytes = offer.MaxText
	return o
}

func created(o huma.Operation) huma.Operation {
	o.DefaultStatus = http.StatusCreated
	return o
}
