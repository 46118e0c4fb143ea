package team

import (
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/storage"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// storage answers: which storage is there, and who uses it.
func (w *Pages) storage(k page.Call) (page.View, error) {
	onlyMine := k.Get("scope") != string(page.ScopeTeam)
	volumes, err := w.Workloads.OwnVolumes(k.Ctx, k.Actor, onlyMine)
	if err != nil {
		return page.View{}, err
	}
	names, err := w.WorkloadNames(k)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := storage.ListModel{Team: !onlyMine, Text: k.Get("q"), Unused: k.Get("state") == storage.UnusedOnly,
		Reclaims: w.Workloads.Retention.Period > 0, Soon: w.deletedSoon(k, volumes)}
	m.Tiles = w.storageTiles(k, volumes, m)
	if m.Text != "" || m.Unused {
		m.Back = "/storage?scope=" + k.Get("scope")
	}
	volumes = page.Matching(volumes, m.Text, func(v workload.OwnVolume) string {
		return strings.Join([]string{v.Name, v.Share.Name, v.Personal.Name, v.OwnerName, v.Tenant, w.TeamTitle(v.Tenant),
			v.Cluster, names.Of(v.Workload)}, " ")
	})
	if m.Unused {
		volumes = slices.DeleteFunc(volumes, func(v workload.OwnVolume) bool { return !w.unused(v) })
	}
	l := page.ListOf(k, "/storage", volumeOrders, "scope", "q", "state")
	volumes, m.List = page.RowsOf(say, l, say.S("storage.title"),
		volumes, w.volumeKeys())
	var ticked []string
	m.Bulk, ticked = volumesBulk(k, volumes)
	for _, v := range volumes {
		row := w.volumeRow(k, v, names)
		row.Ticked = slices.Contains(ticked, v.Name)
		row.Detail = w.whose(k, v, onlyMine)
		m.Rows = append(m.Rows, row)
		for _, s := range v.Snapshots {
			m.Snapshots = append(m.Snapshots, snapshotRow(k, v, s, len(w.Startable(k)) > 0))
		}
	}
	p := storage.PageModel{List: m,
		Header: ui.HeaderModel{Title: say.S("storage.title"), Lead: keptFor(say, w.Workloads.Retention)}}
	if len(w.Startable(k)) > 0 {
		p.New = newVolumePath
	}
	sets, err := w.Workloads.AllDatasets(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	for _, d := range sets {
		row := datasetModel(k, d)
		row.Href = page.DatasetsPath(d.Team)
		row.Path += " · " + w.TeamTitle(d.Team)
		p.Datasets = append(p.Datasets, row)
	}
	return page.View{Title: p.Header.Title, Nav: "/storage", Body: storage.Page(p),
		Parts: []page.Part{{ID: "storage-list", Draw: func(page.Words) templ.Component { return storage.List(m) }}}}, nil
}

// unused reports whether nobody uses a volume of a person, so that it is deleted after a while.
func (w *Pages) unused(v workload.OwnVolume) bool {
	return !w.Workloads.Retention.Until(v.Volume).IsZero() && !v.OfTeam()
}

// deletedSoon is what is deleted first of what the reader was told of and can keep; nil for nothing.
func (w *Pages) deletedSoon(k page.Call, volumes []workload.OwnVolume) *storage.SoonModel {
	var first workload.OwnVolume
	var next time.Time
	more := -1
	for _, v := range volumes {
		until := w.Workloads.Retention.Until(v.Volume)
		if until.IsZero() || v.OfTeam() || v.Deleted || v.WarnedAt.IsZero() ||
			!identity.Can(k.Actor, identity.KeepVolume, v.Resource()) {
			continue
		}
		if more++; next.IsZero() || until.Before(next) {
			first, next = v, until
		}
	}
	if next.IsZero() {
		return nil
	}
	m := &storage.SoonModel{Row: first.Name, Name: first.Name, Size: k.Words.GiB(float64(first.GiB)),
		Time: k.Words.At(next).Exact,
		Keep: "/storage/" + first.Name + "/keep", More: more}
	if first.IsPersonal() {
		m.Name = ownTitle(first.Volume)
	}
	return m
}

// volumeOrders are what the list of storage can be sorted by; "until" is what goes next.
var volumeOrders = []string{"name", "-size", "until", "-created"}

func (w *Pages) volumeKeys() map[string]page.Key[workload.OwnVolume] {
	return map[string]page.Key[workload.OwnVolume]{
		"name":    page.ByText(func(v workload.OwnVolume) string { return v.Name }),
		"size":    page.ByNumber(func(v workload.OwnVolume) int { return v.GiB }),
		"created": page.ByNumber(func(v workload.OwnVolume) int64 { return v.CreatedAt.UnixMicro() }),
		"until": page.ByKnown(func(v workload.OwnVolume) (int64, bool) {
			until := w.Workloads.Retention.Until(v.Volume)
			return until.UnixMicro(), !until.IsZero() && !v.OfTeam()
		}),
	}
}

// keptFor says what becomes of storage that nobody uses.
func keptFor(say page.Words, k workload.Retention) string {
	if k.Period <= 0 {
		return say.S("storage.kept_for_ever")
	}
	return say.S("storage.kept_for", "Time", say.Duration(k.Period))
}

func volumePath(name string) string { return "/storage/" + name + "/delete" }

// whose says whose volume it is and where, as far as that can differ from row to row.
func (w *Pages) whose(k page.Call, v workload.OwnVolume, onlyMine bool) string {
	var words []string
	if !onlyMine {
		words = append(words, v.OwnerName)
	}
	if len(w.OwnTeams(k)) > 1 || k.Actor.SeesAll() {
		words = append(words, w.TeamTitle(v.Tenant))
	}
	if len(w.Site().Clusters) > 1 {
		words = append(words, v.Cluster)
	}
	return strings.Join(words, " · ")
}

func (w *Pages) volumeRow(k page.Call, v workload.OwnVolume, names blocks.WorkloadNames) storage.RowModel {
	row := storage.RowModel{ID: "volume-" + page.Slug(v.Name), Name: v.Name,
		Size:    k.Words.GiB(float64(v.GiB)),
		Created: k.Words.Ago(v.CreatedAt), State: storage.Kept, Cost: w.monthly(k.Words, v.Volume)}
	if v.OfTeam() {
		row.Title, row.Href = workload.SharedDir+"/"+v.Share.Name, page.TeamVolumesPath(v.Tenant)
		row.State = storage.OfTeam
		return row
	}
	row.Notes = ownNotes(k.Words, v)
	if v.IsPersonal() {
		row.Title = ownTitle(v.Volume)
	}
	if !v.Deleted && identity.Can(k.Actor, identity.ExpandVolume, v.Resource()) {
		row.Expand = volumeExpandPath(v.Name)
	}
	if w.takesSnapshots(k, v.Volume) {
		row.Snapshot = snapshotsPath(v.Name)
	}
	until := w.Workloads.Retention.Until(v.Volume)
	if !until.IsZero() {
		when := k.Words.At(until)
		row.State, row.Until, row.Warned = storage.KeptUntil, &when, !v.WarnedAt.IsZero()
	}
	if !until.IsZero() && identity.Can(k.Actor, identity.KeepVolume, v.Resource()) {
		row.Keep = "/storage/" + v.Name + "/keep"
	}
	if user, known := names[v.Workload]; known {
		row.User = &storage.UserModel{Name: user.Name, Href: page.WorkloadPath(user.ID)}
	}
	for _, u := range v.Users {
		row.Users = append(row.Users, storage.UserModel{Name: u.Name, Href: page.WorkloadPath(u.ID)})
	}
	switch {
	case v.Deleted:
		row.State = storage.Deleting
		return row
	case len(v.Users) > 0:
		row.State = storage.InUse
		return row
	case v.Workload != "" && !until.IsZero():
		return row
	case v.Workload != "":
		row.State = storage.InUse
		return row
	}
	if keptBecause(k, v).IsZero() {
		row.Delete, row.GiB = volumePath(v.Name), v.GiB
	}
	return row
}

// keptBecause is why the reader cannot delete a volume of the list; zero where they can.
func keptBecause(k page.Call, v workload.OwnVolume) i18n.Text {
	switch {
	case !identity.Can(k.Actor, identity.DeleteVolume, v.Resource()): // as the deletion itself answers
		return i18n.T("volume.not_yours", "Owner", v.OwnerName)
	case v.Deleted:
		return i18n.T("volume.gone")
	}
	return v.Held()
}

// volumeDeleteAsk says what is lost permanently before anything is.
func (w *Pages) volumeDeleteAsk(k page.Call) (page.View, error) {
	volumes, err := w.Workloads.OwnVolumes(k.Ctx, k.Actor, false)
	if err != nil {
		return page.View{}, err
	}
	for _, v := range volumes {
		if v.Name == k.Get("name") {
			if !identity.Can(k.Actor, identity.DeleteVolume, v.Resource()) { // as the deletion itself answers
				return page.View{}, fault.New(fault.Forbidden, i18n.T("volume.not_yours", "Owner", v.OwnerName))
			}
			m := storage.DeleteModel{Name: v.Name, Size: k.Words.GiB(float64(v.GiB)), Owner: v.OwnerName,
				Action: volumePath(v.Name)}
			for _, s := range v.Snapshots {
				m.Snapshots = append(m.Snapshots, s.Name)
			}
			return page.View{Title: k.Words.S("storage.delete_title", "Name", v.Name), Nav: "/storage",
				Body: storage.Delete(m)}, nil
		}
	}
	return page.View{}, fault.New(fault.NotFound, i18n.T("volume.not_found"))
}

func (w *Pages) volumeDelete(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Workloads.DeleteVolume(k.Ctx, k.Actor, c.Param("name")); err != nil {
		return err
	}
	return w.Done(c, "volume-deleted", "/storage")
}

func (w *Pages) volumeKeep(c echo.Context) error {
	k := w.CallOf(c)
	if _, err := w.Workloads.ExtendRetention(k.Ctx, k.Actor, c.Param("name")); err != nil {
		return err
	}
	return w.Done(c, "volume-kept", "/storage")
}
