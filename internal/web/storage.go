package web

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/storage"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// storage answers: which storage is there, and who uses it.
func (w *Web) storage(k call) (view, error) {
	onlyMine := k.get("scope") != string(team)
	volumes, err := w.Workloads.Volumes(k.ctx, k.actor, onlyMine)
	if err != nil {
		return view{}, err
	}
	names, err := w.workloadNames(k)
	if err != nil {
		return view{}, err
	}
	say := k.words
	m := storage.ListModel{Filter: ui.FilterBarModel{Action: "/storage", Label: say.S("storage.filter"), Client: "volumes",
		Search: &ui.FieldModel{ID: "storage-filter", Name: "q", Kind: ui.SearchField, Label: say.S("storage.filter"),
			Placeholder: say.S("storage.filter")},
		Switch: &ui.TabsModel{Label: say.S("home.whose"), Items: []ui.TabModel{
			{Label: say.S("home.scope_mine"), Href: "/storage", Current: onlyMine, Test: "scope-mine"},
			{Label: say.S("home.scope_team"), Href: "/storage?scope=team", Current: !onlyMine, Test: "scope-team"}}}}}
	for _, v := range volumes {
		m.Rows = append(m.Rows, w.volumeRow(k, v, names))
	}
	if len(m.Rows) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "storage", Title: say.S("storage.empty"),
			Lines: []string{say.S("storage.empty_why")}, Test: "empty", Level: 3}
	}
	p := storage.PageModel{Header: ui.HeaderModel{Title: say.S("storage.title"), Lead: say.S("storage.lead") + " " +
		keptFor(say, w.Workloads.Retention)}, List: m}
	return view{title: p.Header.Title, nav: "/storage", body: storage.Page(p),
		parts: []part{{id: "storage-list", draw: func(words) templ.Component { return storage.List(m) }}}}, nil
}

// workloadNames are the workloads that the reader may see, by id.
func (w *Web) workloadNames(k call) (map[workload.ID]workload.Workload, error) {
	items, _, err := w.Workloads.List(k.ctx, k.actor, false, workload.Filter{Limit: 500})
	names := make(map[workload.ID]workload.Workload, len(items))
	for _, item := range items {
		names[item.ID] = item
	}
	return names, err
}

// keptFor says what becomes of storage that nobody uses.
func keptFor(say words, k workload.Retention) string {
	if k.Period <= 0 {
		return say.S("storage.kept_for_ever")
	}
	return say.S("storage.kept_for", "Time", say.duration(k.Period))
}

func volumePath(name string) string { return "/storage/" + name + "/delete" }

func (w *Web) volumeRow(k call, v workload.Volume, names map[workload.ID]workload.Workload) storage.RowModel {
	say := k.words
	row := storage.RowModel{Row: ui.RowModel{ID: "volume-" + slug(v.Name), Test: "volume-row"},
		Name: ui.StackModel{Title: v.Name, Detail: v.OwnerName + " · " + v.Tenant + " · " + v.Cluster, Icon: "storage"},
		Size: say.gib(float64(v.GiB)), Created: say.ago(v.CreatedAt),
		State: ui.StateModel{Kind: ui.Off, Word: say.S("storage.kept"), Test: "state"}}
	if v.OfTeam() {
		row.Name.Title, row.Name.Href = workload.SharedDir+"/"+v.Share.Name, teamVolumesPath(v.Tenant)
		row.State = ui.StateModel{Kind: ui.Info, Word: say.S("storage.of_team"), Test: "state"}
		return row
	}
	until := w.Workloads.Retention.Until(v)
	if !until.IsZero() {
		row.State = ui.StateModel{Kind: ui.Off, Word: say.S("storage.kept_until"), Test: "state"}
		if !v.WarnedAt.IsZero() {
			row.State.Kind = ui.Warning
		}
		when := say.at(until)
		row.Until = &when
	}
	if !until.IsZero() && identity.Can(k.actor, identity.KeepVolume, v.Resource()) {
		row.Actions = append(row.Actions, ui.ActionModel{Post: &ui.PostButtonModel{Action: "/storage/" + v.Name + "/keep",
			Button: ui.ButtonModel{Label: say.S("storage.keep"), Small: true, Test: "volume-keep",
				Attrs: templ.Attributes{"aria-label": say.S("storage.keep_name", "Name", v.Name)}}}})
	}
	user, known := names[v.Workload]
	if known {
		row.User = &ui.LinkButtonModel{Label: user.Name, Href: workloadPath(user.ID), Kind: ui.LinkLike, Small: true,
			Test: "volume-user"}
	}
	switch {
	case v.Deleted:
		row.State = ui.StateModel{Kind: ui.Progress, Word: say.S("storage.deleting"), Test: "state"}
		return row
	case v.Workload != "" && !until.IsZero():
		return row
	case v.Workload != "":
		row.State = ui.StateModel{Kind: ui.OK, Word: say.S("storage.in_use"), Test: "state"}
		return row
	}
	if identity.Can(k.actor, identity.DeleteVolume, v.Resource()) {
		row.Actions = append(row.Actions, ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("storage.delete"),
			Href: volumePath(v.Name), Kind: ui.DangerSecondary, Icon: "trash", Small: true, Test: "volume-delete"}})
	}
	return row
}

// volumeDeleteAsk says what is lost for good before anything is.
func (w *Web) volumeDeleteAsk(k call) (view, error) {
	volumes, err := w.Workloads.Volumes(k.ctx, k.actor, false)
	if err != nil {
		return view{}, err
	}
	for _, v := range volumes {
		if v.Name == k.get("name") {
			if !identity.Can(k.actor, identity.DeleteVolume, v.Resource()) { // as the deletion itself answers
				return view{}, fault.New(fault.Forbidden, i18n.T("volume.not_yours", "Owner", v.OwnerName))
			}
			out := askView(volumeAsk(k.words, v))
			out.nav = "/storage"
			return out, nil
		}
	}
	return view{}, fault.New(fault.NotFound, i18n.T("volume.not_found"))
}

func volumeAsk(say words, v workload.Volume) workloadview.AskModel {
	return workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("storage.delete_title", "Name", v.Name),
			Crumbs: []ui.CrumbModel{{Label: say.S("storage.title"), Href: "/storage"}, {Label: v.Name}}},
		Lead:  say.S("storage.delete_lead"),
		Loses: []string{say.S("storage.loses", "Size", say.gib(float64(v.GiB)), "Owner", v.OwnerName)},
		Form:  ui.FormModel{ID: "ask-volume", Action: volumePath(v.Name), Test: "volume-delete-form"},
		Button: ui.ButtonModel{Label: say.S("storage.delete"), Kind: ui.DangerPrimary, Icon: "trash",
			Test: "volume-delete-confirm"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: "/storage", Kind: ui.LinkLike},
	}
}

func (w *Web) volumeDelete(c echo.Context) error {
	k := w.callOf(c)
	if err := w.Workloads.DeleteVolume(k.ctx, k.actor, c.Param("name")); err != nil {
		return err
	}
	return w.done(c, "volume-deleted", "/storage")
}

func (w *Web) volumeKeep(c echo.Context) error {
	k := w.callOf(c)
	if _, err := w.Workloads.ExtendRetention(k.ctx, k.actor, c.Param("name")); err != nil {
		return err
	}
	return w.done(c, "volume-kept", "/storage")
}
