package team

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows("/storage", identity.ReadVolume, w.storagePage()),
		w.Shows(newVolumePath, identity.AddVolume, w.volumeNewPage()),
		page.Post(newVolumePath, identity.AddVolume, w.volumeAdd),
		w.Shows(volumesDeletePath, identity.DeleteVolume, w.volumesDeletePage()),
		page.Post(volumesDeletePath, identity.DeleteVolume, w.volumesDelete),
		w.Shows("/storage/:name/expand", identity.ExpandVolume, w.volumeExpandPage()),
		page.Post("/storage/:name/expand", identity.ExpandVolume, w.volumeExpand),
		w.Shows("/storage/:name/delete", identity.DeleteVolume, w.volumeDeletePage()),
		page.Post("/storage/:name/delete", identity.DeleteVolume, w.volumeDelete),
		w.Shows("/storage/:name/snapshots", identity.SnapshotVolume, w.snapshotNewPage()),
		page.Post("/storage/:name/snapshots", identity.SnapshotVolume, w.snapshotTake),
		w.Shows("/storage/:name/snapshots/:snapshot/delete", identity.SnapshotVolume, w.snapshotDeletePage()),
		page.Post("/storage/:name/snapshots/:snapshot/delete", identity.SnapshotVolume, w.snapshotDelete),
		page.Post("/storage/:name/keep", identity.KeepVolume, w.volumeKeep),
		w.Shows("/team", identity.ReadTenant, w.teamPage()),
		w.Shows("/team/:name", identity.ReadMembers, w.teamMembersPage()),
		w.Shows("/team/:name/settings", identity.ReadMembers, w.teamSettingsPage()),
		page.Post("/team/:name/members", identity.ChangeMembers, w.memberAdd),
		page.Post("/team/:name/members/:person/:role/remove", identity.ChangeMembers, w.memberRemove),
		page.Post("/team/:name/defaults", identity.ChangeMembers, w.teamDefaults),
		page.Post("/team/:name/schedule", identity.ChangeMembers, w.teamSchedule),
		page.Post("/team/:name/tokens/:id/revoke", identity.ChangeMembers, w.memberTokenRevoke),
		w.Shows("/team/:name/images", identity.ReadTenant, w.teamImagesPage()),
		page.Post("/team/:name/images", identity.ChangeAssets, w.teamImageSave),
		page.Post("/team/:name/images/:image", identity.ChangeAssets, w.teamImageSave),
		page.Post("/team/:name/images/:image/retire", identity.ChangeAssets, w.teamImageRetire),
		page.Post("/team/:name/images/:image/offer", identity.ChangeAssets, w.teamImageOffer),
		page.Post("/team/:name/custom-images", identity.ChangeAssets, w.customImagesSave),
		w.Shows("/team/:name/volumes", identity.ReadTenant, w.teamVolumesPage()),
		page.Post("/team/:name/volumes", identity.ChangeAssets, w.teamVolumeAdd),
		w.Shows("/team/:name/volumes/:volume/expand", identity.ChangeAssets, w.teamVolumeExpandPage()),
		page.Post("/team/:name/volumes/:volume/expand", identity.ChangeAssets, w.teamVolumeExpand),
		page.Post("/team/:name/volumes/:volume/restore", identity.ChangeAssets, w.teamVolumeRestore),
		w.Shows("/team/:name/volumes/:volume/delete", identity.ChangeAssets, w.teamVolumeDeletePage()),
		page.Post("/team/:name/volumes/:volume/delete", identity.ChangeAssets, w.teamVolumeDelete),
		w.Shows("/team/:name/datasets", identity.ReadTenant, w.datasetsPage()),
		page.Post("/team/:name/datasets", identity.ChangeAssets, w.datasetAdd),
		w.Shows("/team/:name/datasets/:dataset", identity.ChangeAssets, w.datasetPage()),
		page.Post("/team/:name/datasets/:dataset", identity.ChangeAssets, w.datasetSave),
		w.Shows("/team/:name/datasets/:dataset/delete", identity.ChangeAssets, w.datasetWithdrawPage()),
		page.Post("/team/:name/datasets/:dataset/delete", identity.ChangeAssets, w.datasetWithdraw),
		w.Shows("/team/:name/quota", identity.SubmitRequest, w.moreQuotaPage()),
		page.Post("/team/:name/quota", identity.SubmitRequest, w.moreQuotaAsk),
	}
}

func (w *Pages) storagePage() page.Page {
	return page.Page{Name: "storage", Build: w.storage, Topics: page.Topics{live.TopicVolume, live.TopicWorkload}}
}

func (w *Pages) volumeNewPage() page.Page {
	return page.Page{Name: "volume-new", Build: w.volumeNew}
}

func (w *Pages) volumeExpandPage() page.Page {
	return page.Page{Name: "volume-expand", Build: w.volumeExpandAsk}
}

func (w *Pages) snapshotNewPage() page.Page {
	return page.Page{Name: "snapshot-new", Build: w.snapshotNew}
}

func (w *Pages) snapshotDeletePage() page.Page {
	return page.Page{Name: "snapshot-delete", Build: w.snapshotDeleteAsk}
}

func (w *Pages) volumeDeletePage() page.Page {
	return page.Page{Name: "volume-delete", Build: w.volumeDeleteAsk}
}

func (w *Pages) volumesDeletePage() page.Page {
	return page.Page{Name: "volumes-delete", Build: w.volumesDeleteAsk}
}

func (w *Pages) teamPage() page.Page {
	return page.Page{Name: "team", Build: w.team, Topics: page.Topics{live.TopicWorkload, live.TopicTenant}}
}

func (w *Pages) teamMembersPage() page.Page {
	return page.Page{Name: "team-members", Build: w.teamMembers}
}

func (w *Pages) teamSettingsPage() page.Page {
	return page.Page{Name: "team-settings", Build: w.teamSettings}
}

func (w *Pages) teamImagesPage() page.Page {
	return page.Page{Name: "team-images", Build: w.teamImages}
}

func (w *Pages) teamVolumesPage() page.Page {
	return page.Page{Name: "team-volumes", Build: w.teamVolumes}
}

func (w *Pages) datasetsPage() page.Page {
	return page.Page{Name: "datasets", Build: w.datasets}
}

func (w *Pages) datasetPage() page.Page {
	return page.Page{Name: "dataset", Build: w.datasetEdit}
}

func (w *Pages) datasetWithdrawPage() page.Page {
	return page.Page{Name: "dataset-withdraw", Build: w.datasetWithdrawAsk}
}

func (w *Pages) moreQuotaPage() page.Page {
	return page.Page{Name: "more-quota", Build: w.moreQuota}
}

func (w *Pages) teamVolumeExpandPage() page.Page {
	return page.Page{Name: "team-volume-grow", Build: w.teamVolumeExpandAsk}
}

func (w *Pages) teamVolumeDeletePage() page.Page {
	return page.Page{Name: "team-volume-delete", Build: w.teamVolumeDeleteAsk}
}
