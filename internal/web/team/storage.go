package team

import (
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
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// storage answers: which storage is there, and who uses it.
func (w *Pages) storage(k page.Call) (page.View, error) {
	onlyMine := k.Get("scope") != string(page.ScopeTeam)
	volumes, err := w.Workloads.Volumes(k.Ctx, k.Actor, onlyMine)
	if err != nil {
		return page.View{}, err
	}
	names, err := w.WorkloadNames(k)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
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
	return page.View{Title: p.Header.Title, Nav: "/storage", Body: storage.Page(p),
		Parts: []page.Part{{ID: "storage-list", Draw: func(page.Words) templ.Component { return storage.List(m) }}}}, nil
}

// keptFor says what becomes of storage that nobody uses.
func keptFor(say page.Words, k workload.Retention) string {
	if k.Period <= 0 {
		return say.S("storage.kept_for_ever")
	}
	return say.S("storage.kept_for", "Time", say.Duration(k.Period))
}

func volumePath(name string) string { return "/storage/" + name + "/delete" }

func (w *Pages) volumeRow(k page.Call, v workload.Volume, names map[workload.ID]workload.Workload) storage.RowModel {
	say := k.Words
	row := storage.RowModel{Row: ui.RowModel{ID: "volume-" + page.Slug(v.Name), Test: "volume-row"},
		Name: ui.StackModel{Title: v.Name, Detail: v.OwnerName + " · " + v.Tenant + " · " + v.Cluster, Icon: "storage"},
		Size: say.GiB(float64(v.GiB)), Created: say.Ago(v.CreatedAt),
		State: ui.StateModel{Kind: ui.Off, Word: say.S("storage.kept"), Test: "state"}}
	if v.OfTeam() {
		row.Name.Title, row.Name.Href = workload.SharedDir+"/"+v.Share.Name, page.TeamVolumesPath(v.Tenant)
		row.State = ui.StateModel{Kind: ui.Info, Word: say.S("storage.of_team"), Test: "state"}
		return row
	}
	until := w.Workloads.Retention.Until(v)
	if !until.IsZero() {
		row.State = ui.StateModel{Kind: ui.Off, Word: say.S("storage.kept_until"), Test: "state"}
		if !v.WarnedAt.IsZero() {
			row.State.Kind = ui.Warning
		}
		when := say.At(until)
		row.Until = &when
	}
	if !until.IsZero() && identity.Can(k.Actor, identity.KeepVolume, v.Resource()) {
		row.Actions = append(row.Actions, ui.ActionModel{Post: &ui.PostButtonModel{Action: "/storage/" + v.Name + "/keep",
			Button: ui.ButtonModel{Label: say.S("storage.keep"), Small: true, Test: "volume-keep",
				Attrs: templ.Attributes{"aria-label": say.S("storage.keep_name", "Name", v.Name)}}}})
	}
	user, known := names[v.Workload]
	if known {
		row.User = &ui.LinkButtonModel{Label: user.Name, Href: page.WorkloadPath(user.ID), Kind: ui.LinkLike, Small: true,
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
	if identity.Can(k.Actor, identity.DeleteVolume, v.Resource()) {
		row.Actions = append(row.Actions, ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("storage.delete"),
			Href: volumePath(v.Name), Kind: ui.DangerSecondary, Icon: "trash", Small: true, Test: "volume-delete"}})
	}
	return row
}

// volumeDeleteAsk says what is lost for good before anything is.
func (w *Pages) volumeDeleteAsk(k page.Call) (page.View, error) {
	volumes, err := w.Workloads.Volumes(k.Ctx, k.Actor, false)
	if err != nil {
		return page.View{}, err
	}
	for _, v := range volumes {
		if v.Name == k.Get("name") {
			if !identity.Can(k.Actor, identity.DeleteVolume, v.Resource()) { // as the deletion itself answers
				return page.View{}, fault.New(fault.Forbidden, i18n.T("volume.not_yours", "Owner", v.OwnerName))
			}
			out := blocks.AskView(volumeAsk(k.Words, v))
			out.Nav = "/storage"
			return out, nil
		}
	}
	return page.View{}, fault.New(fault.NotFound, i18n.T("volume.not_found"))
}

func volumeAsk(say page.Words, v workload.Volume) workloadview.AskModel {
	return workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("storage.delete_title", "Name", v.Name),
			Crumbs: []ui.CrumbModel{{Label: say.S("storage.title"), Href: "/storage"}, {Label: v.Name}}},
		Lead:  say.S("storage.delete_lead"),
		Loses: []string{say.S("storage.loses", "Size", say.GiB(float64(v.GiB)), "Owner", v.OwnerName)},
		Form:  ui.FormModel{ID: "ask-volume", Action: volumePath(v.Name), Test: "volume-delete-form"},
		Button: ui.ButtonModel{Label: say.S("storage.delete"), Kind: ui.DangerPrimary, Icon: "trash",
			Test: "volume-delete-confirm"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: "/storage", Kind: ui.LinkLike},
	}
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
