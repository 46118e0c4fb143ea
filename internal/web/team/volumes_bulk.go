package team

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/storage"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

const (
	volumesDeletePath = "/storage/delete"
	mostVolumes       = 100 // that are deleted at once
)

// storageNames are what the way from the list through the deletion of several and back keeps of its address.
var storageNames = []string{"scope", "q", "state", "sort", "p"}

func storageKept(get func(string) string) (kept url.Values, hidden []ui.HiddenModel) {
	kept = url.Values{}
	for _, name := range storageNames {
		if v := get(name); v != "" {
			kept.Set(name, v)
			hidden = append(hidden, ui.HiddenModel{Name: name, Value: v})
		}
	}
	return kept, hidden
}

// volumesBulk is the form that deletes several of a page, and the names of those that are ticked as it comes. The model
// is nil where there are not two that the reader may delete.
func volumesBulk(k page.Call, shown []workload.OwnVolume) (*storage.BulkModel, []string) {
	var names []string
	gib := map[string]int{}
	for _, v := range shown {
		if keptBecause(k, v).IsZero() {
			names, gib[v.Name] = append(names, v.Name), v.GiB
		}
	}
	if len(names) < 2 {
		return nil, nil
	}
	ticked, n, sum := page.Ticked(k, names), 0, 0
	for _, name := range names {
		if slices.Contains(ticked, name) {
			n, sum = n+1, sum+gib[name]
		}
	}
	kept, hidden := storageKept(k.Get)
	m := &storage.BulkModel{Action: volumesDeletePath, Hidden: hidden, None: page.WithQuery("/storage", kept),
		Ticked: ui.TickedModel{Now: k.Words.S("storage.ticked", "Ticked", k.Words.Number(float64(n)), "Size",
			k.Words.GiB(float64(sum))), Words: k.Words.S("storage.ticked", "Ticked", "{0}", "Size", "{1} GiB")}}
	kept.Set(page.TickParam, page.TickAll)
	m.All = page.WithQuery("/storage", kept)
	return m, ticked
}

// volumesNamed are the names that a form sends, each once.
func volumesNamed(form url.Values) ([]string, error) {
	var names []string
	for _, name := range form["volume"] {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if len(names) > mostVolumes {
			break
		}
	}
	if len(names) == 0 || len(names) > mostVolumes {
		return nil, fault.New(fault.Invalid, i18n.T("storage.bulk_none"))
	}
	return names, nil
}

// volumesOf are those that the reader can see, by name.
func (w *Pages) volumesOf(k page.Call) (map[string]workload.OwnVolume, error) {
	list, err := w.Workloads.OwnVolumes(k.Ctx, k.Actor, false)
	if err != nil {
		return nil, err
	}
	of := make(map[string]workload.OwnVolume, len(list))
	for _, v := range list {
		of[v.Name] = v
	}
	return of, nil
}

// volumesDeleteAsk says what is lost with each, and which of them stay.
func (w *Pages) volumesDeleteAsk(k page.Call) (page.View, error) {
	names, err := volumesNamed(k.Query)
	if err != nil {
		return page.View{}, err
	}
	of, err := w.volumesOf(k)
	if err != nil {
		return page.View{}, err
	}
	kept, hidden := storageKept(k.Get)
	m := storage.DeleteSeveralModel{Action: volumesDeletePath, Hidden: hidden}
	var gib int
	var ticked []string
	for _, name := range names {
		v, known := of[name]
		because := i18n.T("volume.not_found")
		if known {
			because = keptBecause(k, v)
		}
		if !because.IsZero() {
			m.Kept = append(m.Kept, storage.KeptModel{Name: titleOf(of, name), Because: k.Words.Text(because)})
			continue
		}
		gib += v.GiB
		row := storage.DeletedModel{ID: page.Slug(v.Name), Name: titleOf(of, name), Size: k.Words.GiB(float64(v.GiB)),
			Cost: w.monthly(k.Words, v.Volume), Owner: v.OwnerName}
		for _, s := range v.Snapshots {
			row.Snapshots = append(row.Snapshots, s.Name)
		}
		if !v.UnusedFrom.IsZero() {
			used := k.Words.Ago(v.UnusedFrom)
			row.Used, m.Used = &used, true
		}
		m.Rows = append(m.Rows, row)
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "volume", Value: name})
		ticked = append(ticked, name)
	}
	kept.Set(page.TickParam, strings.Join(ticked, ",")) // whoever goes back finds them as they were
	m.Size, m.Back = k.Words.GiB(float64(gib)), page.WithQuery("/storage", kept)
	title := k.Words.S("storage.bulk_title", "Count", len(m.Rows))
	if len(m.Rows) == 0 {
		title = k.Words.S("storage.bulk_nothing")
	}
	m.Header = volumesHeader(k, title, m.Back)
	return page.View{Title: title, Nav: "/storage", Body: storage.DeleteSeveral(m)}, nil
}

func volumesHeader(k page.Call, title, back string) ui.HeaderModel {
	return ui.HeaderModel{Title: title, Crumbs: []ui.CrumbModel{{Label: k.Words.S("storage.title"), Href: back},
		{Label: k.Words.S("storage.delete")}}}
}

// titleOf is what people read of a volume, the name that was sent where they cannot see it.
func titleOf(of map[string]workload.OwnVolume, name string) string {
	switch v, known := of[name]; {
	case !known:
		return name
	case v.OfTeam():
		return workload.SharedDir + "/" + v.Share.Name
	default:
		return ownTitle(v.Volume)
	}
}

// volumesDelete deletes each by itself, as if it had been asked for alone: some may go and others stay.
func (w *Pages) volumesDelete(c echo.Context) error {
	k := w.CallOf(c)
	form, err := c.FormParams()
	if err != nil {
		return fault.Wrap(fault.Invalid, err, i18n.T("storage.bulk_none"))
	}
	names, err := volumesNamed(form)
	if err != nil {
		return err
	}
	of, err := w.volumesOf(k)
	if err != nil {
		return err
	}
	kept, _ := storageKept(form.Get)
	m := storage.OutcomeModel{Back: page.WithQuery("/storage", kept)}
	for _, name := range names {
		if err := w.Workloads.DeleteVolume(k.Ctx, k.Actor, name); err != nil {
			m.Kept = append(m.Kept, storage.KeptModel{Name: titleOf(of, name),
				Because: k.Words.Text(fault.As(err).Sentence)})
		}
	}
	gone := len(names) - len(m.Kept)
	if len(m.Kept) == 0 {
		return w.Done(c, "volumes-deleted", m.Back, strconv.Itoa(gone))
	}
	m.Header = volumesHeader(k, k.Words.S("storage.bulk_some"), m.Back)
	if gone > 0 {
		m.Header.Lead = k.Words.S("web.flash.volumes-deleted", "Count", gone)
	}
	v := page.View{Title: m.Header.Title, Nav: "/storage", Body: storage.Outcome(m)}
	return w.Reply(c, k, page.Page{Name: w.volumesDeletePage().Name}, v, http.StatusOK)
}
