package web

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

func teamVolumesPath(team string) string { return teamPath(team) + "/volumes" }

func teamVolumeDeletePath(team, volume string) string { return teamVolumePath(team, volume, "delete") }

// volumeForm is what was typed about a volume of a team.
type volumeForm struct{ name, class, gib, readOnly, note string }

func (f volumeForm) draft(team string) workload.ShareDraft {
	cluster, class, _ := strings.Cut(f.class, "/")
	return workload.ShareDraft{Team: team, Name: f.name, Cluster: cluster, Class: class, GiB: gibTyped(f.gib),
		ReadOnly: f.readOnly != "", Note: f.note}
}

// teamVolumes answers: which storage does the team share, and who has it; and for owners: what can I change.
func (w *Web) teamVolumes(k call) (view, error) {
	return w.teamVolumesView(k, k.get("name"), volumeForm{gib: "100"}, nil)
}

func (w *Web) teamVolumesView(k call, team string, f volumeForm, problems []fault.Field) (view, error) {
	e, err := w.Tenants.Visible(k.actor, team)
	if err != nil {
		return view{}, err
	}
	volumes, err := w.Workloads.TeamVolumes(k.ctx, k.actor, team)
	if err != nil {
		return view{}, err
	}
	say, changes := k.words, identity.Can(k.actor, identity.ChangeAssets, identity.Resource{Tenant: team})
	title := say.S("team.volumes")
	m := teamview.VolumesModel{Header: ui.HeaderModel{Title: e.Display(), Lead: say.S("team.inside_lead"),
		Crumbs: teamCrumbs(k, e, title)},
		Tabs: teamTabs(k, team, teamVolumesPath(team)), Errors: formErrors(say, problems)}
	for _, v := range volumes {
		m.Volumes = append(m.Volumes, teamVolume(say, v, changes))
	}
	if len(volumes) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "storage", Title: say.S("team.volumes_none"),
			Lines: []string{say.S("team.volumes_none_why")}, Level: 3, Test: "empty"}
	}
	if changes {
		m.Add = teamVolumeForm(say, team, w.Workloads.Sharing(), volumes, f, problems)
	}
	return view{title: title, nav: teamPlace(k, team), wide: true, body: teamview.Volumes(m)}, nil
}

// accessWords are the access of a volume in a word, and what it means.
func accessWords(say words, s workload.TeamShare) (word, about string) {
	word, about = say.S("team.access_many"), say.S("team.access_many_why")
	if s.Access == workload.OneNode {
		word, about = say.S("team.access_one"), say.S("team.access_one_why")
	}
	if s.ReadOnly {
		word += ", " + say.S("team.read_only")
	}
	return word, about
}

func teamVolume(say words, v workload.TeamVolume, changes bool) teamview.VolumeModel {
	access, about := accessWords(say, v.Share)
	m := teamview.VolumeModel{Row: ui.RowModel{ID: "volume-" + v.Share.Name, Test: "team-volume"},
		Size: volumeSize(say, v), States: volumeStates(say, v), Access: access, About: about,
		Name: ui.StackModel{Title: workload.SharedDir + "/" + v.Share.Name,
			Detail: strings.TrimSpace(v.Share.Note + " " + say.S("team.volume_by", "Cluster", v.Cluster, "By", v.OwnerName)),
			Icon:   "storage"}}
	m.Used = say.S("team.volume_unused")
	if len(v.Users) > 0 {
		m.Used = say.S("team.volume_used", "Count", len(v.Users))
	}
	for _, u := range v.Users {
		label := u.Name + " · " + u.OwnerName
		if !u.Observed.PodPresent {
			label = say.S("team.volume_user_still", "User", label)
		}
		m.Users = append(m.Users, ui.LinkButtonModel{Label: label, Href: workloadPath(u.ID), Kind: ui.LinkLike, Small: true,
			Test: "user"})
	}
	if changes {
		m.Actions = teamVolumeActions(say, v)
	}
	return m
}

func teamVolumeActions(say words, v workload.TeamVolume) []ui.ActionModel {
	name := v.Share.Name
	labelled := func(id string) templ.Attributes { return templ.Attributes{"aria-label": say.S(id, "Name", name)} }
	if v.PendingDeletion() {
		return []ui.ActionModel{{Post: &ui.PostButtonModel{Action: teamVolumePath(v.Tenant, name, "restore"),
			Button: ui.ButtonModel{Label: say.S("team.volume_restore"), Icon: "undo", Small: true, Test: "restore",
				Attrs: labelled("team.volume_restore_name")}}}}
	}
	return []ui.ActionModel{
		{Link: &ui.LinkButtonModel{Label: say.S("team.volume_grow"), Href: teamVolumePath(v.Tenant, name, "grow"),
			Kind: ui.Secondary, Small: true, Test: "grow", Attrs: labelled("team.volume_grow_name")}},
		{Link: &ui.LinkButtonModel{Label: say.S("storage.delete"), Href: teamVolumeDeletePath(v.Tenant, name),
			Kind: ui.DangerSecondary, Icon: "trash", Small: true, Test: "delete", Attrs: labelled("team.volume_delete_name")}}}
}

func teamVolumeForm(say words, team string, s workload.Sharing, volumes []workload.TeamVolume, f volumeForm,
	problems []fault.Field) *teamview.ImageFormModel {
	m := &teamview.ImageFormModel{Title: say.S("team.volume_add"), Lead: say.S("team.volume_lead"),
		Form: ui.FormModel{ID: "volume-form", Action: teamVolumesPath(team), Test: "volume-form"},
		Save: ui.ButtonModel{Label: say.S("team.volume_add_send"), Kind: ui.Primary, Icon: "plus", Test: "volume-save",
			Disabled: len(s.Offered) == 0}}
	if len(s.Offered) == 0 {
		m.Notices = []ui.NoticeModel{{Kind: ui.Warning, Title: say.S("team.volume_none_offered"),
			Body: say.S("team.volume_none_offered_why"), Test: "none-offered"}}
		m.Save.Why = say.S("team.volume_none_offered")
	}
	var classes []ui.OptionModel
	most := 0 // of one volume, of whatever class
	for _, o := range s.Offered {
		word, _ := accessWords(say, workload.TeamShare{Access: o.Access})
		label := []string{o.Cluster, o.Name, word}
		if room := roomOf(volumes, o.Cluster, o.Class); room.Most > 0 {
			label = append(label, say.S("team.volume_left", "Left", say.gib(float64(room.Left())), "Limit",
				say.gib(float64(room.Most))))
		}
		classes = append(classes, ui.OptionModel{Value: o.Cluster + "/" + o.Name, Label: strings.Join(label, " · ")})
		most = max(most, s.Most(o.Class))
	}
	m.Fields = []ui.FieldModel{
		{ID: "name", Name: "name", Label: say.S("team.name"), Hint: say.S("team.volume_name_hint"), Value: f.name,
			Required: true, MaxLength: 30, Short: true, Autocomplete: "off", Test: "volume-name"},
		{ID: "class", Name: "class", Kind: ui.SelectField, Label: say.S("team.volume_class"),
			Hint: say.S("team.volume_class_hint"), Value: f.class, Options: classes, Test: "volume-class"},
		{ID: "gib", Name: "gib", Kind: ui.NumberField, Label: say.S("storage.col_size"), Hint: say.S("team.volume_size_hint",
			"Limit", say.gib(float64(most))), Unit: "GiB", Value: f.gib, Min: "1", Max: strconv.Itoa(most), Required: true,
			Short: true, Test: "volume-gib"},
		{ID: "readOnly", Name: "readOnly", Kind: ui.CheckboxField, Label: say.S("team.volume_read_only"),
			Hint: say.S("team.volume_read_only_hint"), Checked: f.readOnly != "", Test: "volume-read-only"},
		{ID: "note", Name: "note", Label: say.S("team.image_note"), Hint: say.S("team.volume_note_hint"), Value: f.note,
			MaxLength: 300, Autocomplete: "off", Test: "volume-note"}}
	for i := range m.Fields {
		for _, p := range problems {
			if p.Name == m.Fields[i].Name {
				m.Fields[i].Error = say.say(p.Reason)
			}
		}
	}
	return m
}

func (w *Web) teamVolumeAdd(c echo.Context) error {
	k, team := w.callOf(c), c.Param("name")
	f := volumeForm{c.FormValue("name"), c.FormValue("class"), c.FormValue("gib"), c.FormValue("readOnly"),
		c.FormValue("note")}
	_, err := w.Workloads.ShareVolume(k.ctx, k.actor, f.draft(team))
	if err == nil {
		return w.done(c, "volume-shared", teamVolumesPath(team))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.teamVolumesView(k, team, f, problemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.reply(c, k, page{name: teamVolumesPage.name}, v, statusOf(err))
}

// teamVolumeDeleteAsk says what is lost for good, or who has it.
func (w *Web) teamVolumeDeleteAsk(k call) (view, error) {
	return w.teamVolumeAsk(k, k.get("name"), k.get("volume"), "", nil)
}

func (w *Web) teamVolumeAsk(k call, team, name, typed string, problems []fault.Field) (view, error) {
	volumes, i, err := w.ownVolumes(k, team, name)
	if err != nil {
		return view{}, err
	}
	e, err := w.Tenants.Visible(k.actor, team)
	if err != nil {
		return view{}, err
	}
	say := k.words
	field := ui.FieldModel{ID: "confirm", Name: "confirm", Label: say.S("team.volume_confirm", "Name", name), Value: typed,
		Required: true, Short: true, Mono: true, Autocomplete: "off", Test: "volume-confirm"}
	for _, p := range problems {
		if p.Name == "confirm" {
			field.Error = say.say(p.Reason)
		}
	}
	m := workloadview.AskModel{Header: ui.HeaderModel{Title: say.S("storage.delete_title", "Name", workload.SharedDir+"/"+
		name), Crumbs: append(teamCrumbs(k, e, say.S("team.volumes")), ui.CrumbModel{Label: name})},
		Lead:   strings.TrimSpace(say.S("team.volume_delete_lead") + " " + graceFor(say, w.Workloads.Grace)),
		Loses:  []string{say.S("team.volume_loses", "Size", say.gib(float64(volumes[i].GiB)))},
		Errors: formErrors(say, problems),
		Form:   ui.FormModel{ID: "ask-volume", Action: teamVolumeDeletePath(team, name), Test: "volume-delete-form"},
		Fields: []ui.FieldModel{field},
		Button: ui.ButtonModel{Label: say.S("storage.delete"), Kind: ui.DangerPrimary, Icon: "trash",
			Test: "volume-delete-confirm"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: teamVolumesPath(team), Kind: ui.LinkLike}}
	out := askView(m)
	out.nav = teamPlace(k, team)
	return out, nil
}

// graceFor says until when a deletion can be taken back.
func graceFor(say words, grace time.Duration) string {
	if grace <= 0 {
		return say.S("storage.delete_lead")
	}
	return say.S("team.volume_grace", "Time", say.duration(grace))
}

func (w *Web) teamVolumeDelete(c echo.Context) error {
	k, team, name := w.callOf(c), c.Param("name"), c.Param("volume")
	err := w.Workloads.EndVolume(k.ctx, k.actor, team, name, c.FormValue("confirm"))
	switch {
	case err == nil && w.Workloads.Grace > 0:
		return w.done(c, "volume-going", teamVolumesPath(team))
	case err == nil:
		return w.done(c, "volume-deleted", teamVolumesPath(team))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.teamVolumeAsk(k, team, name, c.FormValue("confirm"), problemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.reply(c, k, page{name: teamVolumesPage.name}, v, statusOf(err))
}

// mountsField offers the team's volumes; nil where there are none.
func (w *Web) mountsField(k call, form StartForm, problem string) (*ui.FieldModel, error) {
	volumes, err := w.Workloads.TeamVolumes(k.ctx, k.actor, form.Tenant)
	volumes = slices.DeleteFunc(volumes, func(v workload.TeamVolume) bool { return v.PendingDeletion() })
	if err != nil || len(volumes) == 0 && problem == "" {
		return nil, err
	}
	say := k.words
	m := &ui.FieldModel{ID: "mounts", Name: "mounts", Kind: ui.CheckboxesField, Label: say.S("start.mounts"),
		Hint: say.S("start.mounts_hint"), Error: problem, Test: "mounts"}
	for _, v := range volumes {
		word, about := accessWords(say, v.Share)
		m.Options = append(m.Options, ui.OptionModel{Value: v.Share.Name, Label: workload.SharedDir + "/" + v.Share.Name,
			Hint:     strings.Join([]string{say.gib(float64(v.GiB)), v.Cluster, word + ": " + about}, " · "),
			Selected: slices.Contains(form.Mounts, v.Share.Name), Test: "mount-" + v.Share.Name})
	}
	return m, nil
}

// mountNames are what the start form calls the team's volumes that a workload has.
func mountNames(mounts []workload.Mount) []string {
	var names []string
	for _, m := range mounts {
		names = append(names, m.Name)
	}
	return names
}

// mountWords are the team's volumes that a workload has.
func mountWords(mounts []workload.Mount) string {
	var names []string
	for _, m := range mounts {
		names = append(names, workload.SharedDir+"/"+m.Name)
	}
	return strings.Join(names, ", ")
}
