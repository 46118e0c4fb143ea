package admin

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows(page.IdlePath, identity.ReadRules, w.idlePage()),
		page.Post(page.IdlePath, identity.ChangeRules, w.idleSave),
		page.Post(page.IdlePath+"/preview", identity.ChangeRules, w.idlePreview),
		w.Shows("/audit", identity.ReadAudit, w.auditPage()),
		page.Get("/audit/export", identity.ReadAudit, w.auditExport),
		w.Shows("/admin/sizes", identity.ReadOffer, w.sizesPage()),
		w.Shows("/admin/images", identity.ReadOffer, w.imagesPage()),
		w.Shows("/admin/sizes/edit", identity.ChangeOffer, w.editPage()),
		page.Post("/admin/sizes/edit", identity.ChangeOffer, w.catalogSave),
		w.Shows(entryFormPath, identity.ChangeOffer, w.entryPage()),
		page.Post(entryFormPath, identity.ChangeOffer, w.entrySave),
		page.Post("/admin/sizes/change", identity.ChangeOffer, w.catalogChange),
		w.Shows("/admin/sizes/deprecate", identity.ChangeOffer, w.deprecatePage()),
		page.Post("/admin/sizes/deprecate", identity.ChangeOffer, w.deprecate),
		page.Post("/admin/sizes/accept", identity.ChangeOffer, w.catalogAccept),
		w.Shows("/admin/sizes/versions/:version", identity.ReadOffer, w.versionPage()),
		page.Post("/admin/sizes/versions/:version/revert", identity.ChangeOffer, w.catalogRevert),
		w.Shows("/admin/rules", identity.ReadRules, w.rulesPage()),
		page.Post("/admin/rules", identity.ChangeRules, w.rulesSave),
		w.Shows("/admin/rules/edit", identity.ChangeRules, w.rulesEditPage()),
		w.Shows(ruleFormPath, identity.ChangeRules, w.rulePage()),
		page.Post(ruleFormPath, identity.ChangeRules, w.ruleSave),
		page.Post("/admin/rules/check", identity.ChangeRules, w.rulesCheck),
		w.Shows("/admin/rules/:version", identity.ReadRules, w.rulesPage()),
		page.Post("/admin/rules/:version/revert", identity.ChangeRules, w.rulesRevert),
		w.Shows("/admin/tenants", identity.ReadTenants, w.tenantsPage()),
		w.Shows("/admin/tenants/edit", identity.ReadTenants, w.tenantEditPage()),
		page.Post("/admin/tenants/edit", identity.ChangeTenants, w.tenantSave),
		page.Post("/admin/tenants/check", identity.ChangeTenants, w.tenantCheck),
		w.Shows(page.PeoplePath, identity.ReadPeople, w.peoplePage()),
		w.Shows(page.PeoplePath+"/:id", identity.ReadPeople, w.personPage()),
		page.Post(page.PeoplePath+"/:id/disable", identity.ManagePeople, w.personDisable),
		page.Post(page.PeoplePath+"/:id/enable", identity.ManagePeople, w.personEnable),
		page.Post(page.PeoplePath+"/:id/sessions/end", identity.ManageTokens, w.personSessionsEnd),
		page.Post(page.PeoplePath+"/:id/sessions/:session/end", identity.ManageTokens, w.personSessionEnd),
		page.Post(page.PeoplePath+"/:id/tokens/:token/revoke", identity.ManageTokens, w.personTokenRevoke),
		page.Post(page.PeoplePath+"/:id/transfer", identity.ManagePeople, w.personTransfer),
		w.Shows(page.ClustersPath, identity.ReadClusters, w.clustersPage()),
		page.Post(page.ClustersPath, identity.ManageClusters, w.clusterAdd),
		page.Post(page.ClustersPath+"/:name", identity.ManageClusters, w.clusterReplace),
		page.Post(page.ClustersPath+"/:name/remove", identity.ManageClusters, w.clusterRemove),
		w.Shows(page.SystemPath, identity.ReadSystem, w.systemPage()),
		page.Post(page.SystemPath+"/check", identity.CheckSystem, w.systemCheck),
		page.Get(page.SystemPath+"/bundle", identity.CheckSystem, w.systemBundle),
	}
}

func (w *Pages) idlePage() page.Page {
	return page.Page{Name: "idle", Build: w.idleShow}
}

func (w *Pages) systemPage() page.Page {
	return page.Page{Name: "system", Build: w.system, Topics: page.Topics{live.TopicSystem}}
}

func (w *Pages) tenantsPage() page.Page {
	return page.Page{Name: "tenants", Build: w.tenantsAdmin, Topics: page.Topics{live.TopicTenant}}
}

func (w *Pages) tenantEditPage() page.Page {
	return page.Page{Name: "tenants-edit", Build: w.tenantEdit}
}

func (w *Pages) peoplePage() page.Page {
	return page.Page{Name: "people", Build: w.people}
}

func (w *Pages) personPage() page.Page {
	return page.Page{Name: "person", Build: w.personOf}
}

func (w *Pages) rulesPage() page.Page {
	return page.Page{Name: "rules", Build: w.rulesShow, Topics: page.Topics{live.TopicRules}}
}

func (w *Pages) rulesEditPage() page.Page {
	return page.Page{Name: "rules-edit", Build: w.rulesEdit}
}

func (w *Pages) rulePage() page.Page {
	return page.Page{Name: "rules-form", Build: w.ruleEdit}
}

func (w *Pages) auditPage() page.Page {
	return page.Page{Name: "audit", Build: w.audit}
}

func (w *Pages) sizesPage() page.Page {
	return page.Page{Name: "sizes", Build: w.sizesAdmin, Topics: page.Topics{live.TopicCatalog, live.TopicInventory,
		live.TopicWorkload}}
}

func (w *Pages) imagesPage() page.Page {
	return page.Page{Name: "images", Build: w.imagesAdmin, Topics: page.Topics{live.TopicCatalog, live.TopicWorkload}}
}

func (w *Pages) editPage() page.Page {
	return page.Page{Name: "sizes-edit", Build: w.catalogEdit}
}

func (w *Pages) entryPage() page.Page {
	return page.Page{Name: "sizes-form", Build: w.entryEdit}
}

func (w *Pages) deprecatePage() page.Page {
	return page.Page{Name: "sizes-deprecate", Build: w.deprecateAsk}
}

func (w *Pages) versionPage() page.Page {
	return page.Page{Name: "sizes-version", Build: w.catalogVersion}
}
