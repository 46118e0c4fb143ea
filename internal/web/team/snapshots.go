package team

import (
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/storage"
)

func snapshotsPath(volume string) string { return "/storage/" + volume + "/snapshots" }

func snapshotDeletePath(volume, name string) string {
	return snapshotsPath(volume) + "/" + name + "/delete"
}

// takesSnapshots reports whether the reader is offered a snapshot of a volume.
func (w *Pages) takesSnapshots(k page.Call, v workload.Volume) bool {
	return !v.Deleted && !v.OfTeam() && identity.Can(k.Actor, identity.SnapshotVolume, v.Resource()) &&
		w.Workloads.Sharing().HasSnapshots(v.Cluster)
}

// snapshotRow is one snapshot; starts says that the reader may make volumes.
func snapshotRow(k page.Call, v workload.OwnVolume, s workload.VolumeSnapshot, starts bool) storage.SnapshotModel {
	say := k.Words
	row := storage.SnapshotModel{ID: "snapshot-" + page.Slug(s.ID), Name: s.Name, Of: ownTitle(v.Volume),
		State: string(s.Is()), Created: say.Ago(s.CreatedAt)}
	if s.State.Bytes > 0 {
		row.Size = say.GiB(workload.GiBOf(s.State.Bytes))
	}
	if why := s.Why(say.Now); !why.IsZero() {
		row.Notes = append(row.Notes, say.Text(why))
	}
	if s.State.Detail != "" {
		row.Notes = append(row.Notes, s.State.Detail)
	}
	if starts && s.Usable() && v.Owner == k.Actor.Person.ID && !v.Deleted {
		row.New = newVolumePath + "?from=" + url.QueryEscape(fromSnapshot+s.ID)
	}
	if identity.Can(k.Actor, identity.SnapshotVolume, v.Resource()) {
		row.Delete = snapshotDeletePath(v.Name, s.Name)
	}
	return row
}

// ownVolume is a volume of a person for those who may take and delete its snapshots.
func (w *Pages) ownVolume(k page.Call, name string) (workload.OwnVolume, error) {
	volumes, err := w.Workloads.OwnVolumes(k.Ctx, k.Actor, false)
	if err != nil {
		return workload.OwnVolume{}, err
	}
	i := slices.IndexFunc(volumes, func(v workload.OwnVolume) bool { return v.Name == name && !v.OfTeam() })
	switch {
	case i < 0:
		return workload.OwnVolume{}, fault.New(fault.NotFound, i18n.T("volume.not_found"))
	case !identity.Can(k.Actor, identity.SnapshotVolume, volumes[i].Resource()):
		return workload.OwnVolume{}, fault.New(fault.Forbidden, i18n.T("snapshot.not_yours", "Owner", volumes[i].OwnerName))
	}
	return volumes[i], nil
}

// snapshotNew asks for the name of a snapshot.
func (w *Pages) snapshotNew(k page.Call) (page.View, error) {
	return w.snapshotNewView(k, k.Get("name"), k.Words.Now.UTC().Format("2006-01-02-1504"), nil)
}

func (w *Pages) snapshotNewView(k page.Call, volume, typed string, problems []fault.Field) (page.View, error) {
	v, err := w.ownVolume(k, volume)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := storage.SnapshotNewModel{Volume: ownTitle(v.Volume), Errors: page.FormErrors(say, problems),
		Action: snapshotsPath(volume), Name: storage.FieldModel{Value: typed, Error: page.WrongIn(say, problems, "name")},
		Has: len(v.Snapshots), Most: workload.MaxSnapshots}
	return page.View{Title: say.S("snapshot.take_title", "Name", m.Volume), Nav: "/storage",
		Body: storage.SnapshotNew(m)}, nil
}

func (w *Pages) snapshotTake(c echo.Context) error {
	k, volume, typed := w.CallOf(c), c.Param("name"), c.FormValue("name")
	_, err := w.Workloads.TakeSnapshot(k.Ctx, k.Actor, volume, typed)
	if err == nil {
		return w.Done(c, "snapshot-taken", "/storage")
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.snapshotNewView(k, volume, typed, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.snapshotNewPage().Name}, v, page.StatusOf(err))
}

// snapshotDeleteAsk says what is lost permanently before anything is.
func (w *Pages) snapshotDeleteAsk(k page.Call) (page.View, error) {
	v, err := w.ownVolume(k, k.Get("name"))
	if err != nil {
		return page.View{}, err
	}
	name := k.Get("snapshot")
	if !slices.ContainsFunc(v.Snapshots, func(s workload.VolumeSnapshot) bool { return s.Name == name }) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("snapshot.not_found"))
	}
	m := storage.SnapshotDeleteModel{Name: name, Volume: ownTitle(v.Volume), Action: snapshotDeletePath(v.Name, name)}
	return page.View{Title: k.Words.S("snapshot.delete_title", "Name", name), Nav: "/storage",
		Body: storage.SnapshotDelete(m)}, nil
}

func (w *Pages) snapshotDelete(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Workloads.DeleteSnapshot(k.Ctx, k.Actor, c.Param("name"), c.Param("snapshot")); err != nil {
		return err
	}
	return w.Done(c, "snapshot-deleted", "/storage")
}
