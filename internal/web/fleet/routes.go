package fleet

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows("/fleet", identity.ReadInventory, w.fleetPage()),
		w.Shows(page.FleetUsePath, identity.ReadInventory, w.fleetMapPage()),
		page.Get(mapChunkPath, identity.ReadInventory, w.mapChunk),
		page.Get(mapChangesPath, identity.ReadInventory, w.mapChanges),
		w.Shows(mapNodePath, identity.ReadInventory, w.mapNodePage()),
		w.Shows(holdersPath, identity.ReadInventory, w.holdersPage()),
		w.Shows(page.FleetHealthPath, identity.ReadMetrics, w.fleetHealthPage()),
		w.Shows(page.FleetHealthPath+"/quarantine", identity.QuarantineHardware, w.quarantinePage()),
		page.Post(page.FleetHealthPath+"/quarantine", identity.QuarantineHardware, w.hardwareQuarantine),
		page.Post(page.FleetHealthPath+"/quarantine/end", identity.QuarantineHardware, w.hardwareEndQuarantine),
		w.Shows("/licenses", identity.ReadLicenses, w.licensesPage()),
		page.Post("/licenses", identity.ChangeLicenses, w.licenseEnter),
		page.Post("/licenses/full", identity.ChangeLicenses, w.licenseChoose),
		page.Post("/licenses/import", identity.ChangeLicenses, w.licenseImport),
		page.Post("/licenses/:id/remove", identity.ChangeLicenses, w.licenseRemove),
		w.Shows(page.DifferencesPath, identity.ReadDifferences, w.differencesPage()),
		w.Shows(page.DifferencesPath+"/:id/:decision", identity.DecideDifferences, w.differencePage()),
		page.Post(page.DifferencesPath+"/:id/:decision", identity.DecideDifferences, w.differenceDecide),
		w.Shows(page.MetricsPath, identity.ReadMetrics, w.metricsHealthPage()),
	}
}

func (w *Pages) fleetPage() page.Page {
	return page.Page{Name: "fleet", Build: w.fleet, Topics: page.Topics{live.TopicInventory, live.TopicWorkload},
		Everyones: true}
}

func (w *Pages) fleetHealthPage() page.Page {
	return page.Page{Name: "fleet-health", Build: w.fleetHealth, Topics: page.Topics{live.TopicInventory,
		live.TopicQuarantine, live.TopicWorkload}}
}

func (w *Pages) quarantinePage() page.Page {
	return page.Page{Name: "quarantine", Build: w.quarantineAsk}
}

func (w *Pages) fleetMapPage() page.Page {
	return page.Page{Name: "fleet-use", Build: w.fleetMap, Topics: page.Topics{live.TopicInventory,
		live.TopicQuarantine}, Everyones: true}
}

func (w *Pages) mapNodePage() page.Page {
	return page.Page{Name: "fleet-node", Build: w.mapNode, Topics: page.Topics{live.TopicInventory,
		live.TopicQuarantine, live.TopicWorkload}, Everyones: true}
}

func (w *Pages) holdersPage() page.Page {
	return page.Page{Name: "fleet-holders", Build: w.fleetHolders, Topics: page.Topics{live.TopicInventory,
		live.TopicWorkload}}
}

func (w *Pages) licensesPage() page.Page {
	return page.Page{Name: "licenses", Build: w.licenses, Topics: page.Topics{live.TopicWorkload, live.TopicLicense},
		Everyones: true}
}

func (w *Pages) differencesPage() page.Page {
	return page.Page{Name: "differences", Build: w.differences, Topics: page.Topics{live.TopicDifference}}
}

func (w *Pages) differencePage() page.Page {
	return page.Page{Name: "difference", Build: w.differenceAsk}
}

func (w *Pages) metricsHealthPage() page.Page {
	return page.Page{Name: "metrics", Build: w.metricsHealth, Topics: page.Topics{live.TopicInventory}}
}
