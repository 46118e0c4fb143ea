package team

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func teamVolumeDeletePath(team, volume string) string { return teamVolumePath(team, volume, "delete") }

// volumeForm is what was typed about a volume of a team.
type volumeForm struct{ name, class, gib, readOnly, note string }

func (f volumeForm) draft(team string) workload.ShareDraft {
	cluster, class, _ := strings.Cut(f.class, "/")
	return workload.ShareDraft{Team: team, Name: f.name, Cluster: cluster, Class: class, GiB: gibTyped(f.gib),
		ReadOnly: f.readOnly != "", Note: f.note}
}

// teamVolumes answers: which storage does the team share, and who has it; and for owners: what can I change.
func (w *Pages) teamVolumes(k page.Call) (page.View, error) {
	return w.teamVolumesView(k, k.Get("name"), volumeForm{gib: "100"}, nil)
}

func (w *Pages) teamVolumesView(k page.Call, team string, f volumeForm, problems []fault.Field) (page.View, error) {
	e, err := w.Tenants.Visible(k.Actor, team)
	if err != nil {
		return page.View{}, err
	}
	volumes, err := w.Workloads.TeamVolumes(k.Ctx, k.Actor, team)
	if err != nil {
		return page.View{}, err
	}
	say, changes := k.Words, identity.Can(k.Actor, identity.ChangeAssets, identity.Resource{Tenant: team})
	title := say.S("team.volumes")
	m := teamview.VolumesModel{Header: ui.HeaderModel{Title: say.S("team.heading", "Team", e.Display()),
		Crumbs: teamCrumbs(k, e, title)},
		Tabs: blocks.TeamTabs(k, team, page.TeamVolumesPath(team)), Errors: page.FormErrors(say, problems)}
	shown, list := page.RowsOf(say, page.ListOf(k, page.TeamVolumesPath(team), teamVolumeOrders), title, volumes,
		teamVolumeKeys)
	m.List = list
	for _, v := range shown {
		m.Volumes = append(m.Volumes, teamVolume(say, v, changes))
	}
	if changes {
		m.Add = teamVolumeForm(say, team, w.Workloads.Sharing(), volumes, f, problems)
	}
	return page.View{Title: title, Nav: page.TeamPlace(k, team), Wide: true, Body: teamview.Volumes(m)}, nil
}

// teamVolumeOrders are what the list of a team's volumes can be sorted by.
var teamVolumeOrders = []string{"name", "-size"}

var teamVolumeKeys = map[string]page.Key[workload.TeamVolume]{
	"name": page.ByText(func(v workload.TeamVolume) string { return v.Share.Name }),
	"size": page.ByNumber(func(v workload.TeamVolume) int { return v.GiB }),
}

func teamVolume(say page.Words, v workload.TeamVolume, changes bool) teamview.VolumeModel {
	access, about := blocks.AccessWords(say, v.Share)
	m := teamview.VolumeModel{Name: v.Share.Name, Path: workload.SharedDir + "/" + v.Share.Name,
		Detail: strings.TrimSpace(v.Share.Note + " " + say.S("team.volume_by", "Cluster", v.Cluster, "By", v.OwnerName)),
		Size:   volumeSize(say, v), Claim: claimModel(say, v), Access: access, About: about}
	for _, u := range v.Users {
		label := u.Name + " · " + u.OwnerName
		if !u.Observed.PodPresent {
			label = say.S("team.volume_user_still", "User", label)
		}
		m.Users = append(m.Users, teamview.VolumeUserModel{Label: label, Href: page.WorkloadPath(u.ID)})
	}
	if v.PendingDeletion() {
		m.Goes = say.At(v.DeleteAfter).Exact
	}
	if because := v.RefusedBecause(); !because.IsZero() {
		m.Refused = &teamview.RefusedModel{Size: say.GiB(float64(v.Refused.GiB)), Why: say.Text(because),
			APISays: v.Refused.Words}
	}
	switch {
	case changes && v.PendingDeletion():
		m.Restore = teamVolumePath(v.Tenant, v.Share.Name, "restore")
	case changes:
		m.Expand = teamVolumePath(v.Tenant, v.Share.Name, "expand")
		m.Delete = teamVolumeDeletePath(v.Tenant, v.Share.Name)
	}
	return m
}

func teamVolumeForm(say page.Words, team string, s workload.Sharing, volumes []workload.TeamVolume, f volumeForm,
	problems []fault.Field) *teamview.VolumeFormModel {
	field := func(name, value string) teamview.FieldModel {
		return teamview.FieldModel{Value: value, Error: page.WrongIn(say, problems, name)}
	}
	m := &teamview.VolumeFormModel{Action: page.TeamVolumesPath(team), Name: field("name", f.name),
		Class: field("class", f.class), GiB: field("gib", f.gib), ReadOnly: f.readOnly != "", Note: field("note", f.note)}
	for _, o := range s.Offered {
		word, _ := blocks.AccessWords(say, workload.TeamShare{Access: o.Access})
		label := []string{o.Cluster, o.Name, word}
		if room := roomOf(volumes, o.Cluster, o.Class); room.Most > 0 {
			label = append(label, say.S("team.volume_left", "Left", say.GiB(float64(room.Left())), "Limit",
				say.GiB(float64(room.Most))))
		}
		m.Classes = append(m.Classes, ui.OptionModel{Value: o.Cluster + "/" + o.Name, Label: strings.Join(label, " · ")})
		m.MostGiB = max(m.MostGiB, s.Most(o.Class)) // of one volume, of whatever class
	}
	m.Limit = say.GiB(float64(m.MostGiB))
	return m
}

func (w *Pages) teamVolumeAdd(c echo.Context) error {
	k, team := w.CallOf(c), c.Param("name")
	f := volumeForm{c.FormValue("name"), c.FormValue("class"), c.FormValue("gib"), c.FormValue("readOnly"),
		c.FormValue("note")}
	_, err := w.Workloads.ShareVolume(k.Ctx, k.Actor, f.draft(team))
	if err == nil {
		return w.Done(c, "volume-shared", page.TeamVolumesPath(team))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.teamVolumesView(k, team, f, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.teamVolumesPage().Name}, v, page.StatusOf(err))
}

// teamVolumeDeleteAsk says what is lost permanently, or who has it.
func (w *Pages) teamVolumeDeleteAsk(k page.Call) (page.View, error) {
	return w.teamVolumeAsk(k, k.Get("name"), k.Get("volume"), "", nil)
}

func (w *Pages) teamVolumeAsk(k page.Call, team, name, typed string, problems []fault.Field) (page.View, error) {
	volumes, i, err := w.ownVolumes(k, team, name)
	if err != nil {
		return page.View{}, err
	}
	e, err := w.Tenants.Visible(k.Actor, team)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := teamview.DeleteModel{Name: name, Path: workload.SharedDir + "/" + name,
		Crumbs: append(teamCrumbs(k, e, say.S("team.volumes")), ui.CrumbModel{Label: name}),
		Errors: page.FormErrors(say, problems), Action: teamVolumeDeletePath(team, name), Back: page.TeamVolumesPath(team),
		Size:    say.GiB(float64(volumes[i].GiB)),
		Confirm: teamview.FieldModel{Value: typed, Error: page.WrongIn(say, problems, "confirm")}}
	if w.Workloads.Grace > 0 {
		m.Grace = say.Duration(w.Workloads.Grace)
	}
	return page.View{Title: say.S("storage.delete_title", "Name", m.Path), Nav: page.TeamPlace(k, team),
		Body: teamview.Delete(m)}, nil
}

func (w *Pages) teamVolumeDelete(c echo.Context) error {
	k, team, name := w.CallOf(c), c.Param("name"), c.Param("volume")
	err := w.Workloads.EndVolume(k.Ctx, k.Actor, team, name, c.FormValue("confirm"))
	switch {
	case err == nil && w.Workloads.Grace > 0:
		return w.Done(c, "volume-pending-deletion", page.TeamVolumesPath(team), team, name)
	case err == nil:
		return w.Done(c, "volume-deleted", page.TeamVolumesPath(team))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.teamVolumeAsk(k, team, name, c.FormValue("confirm"), page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.teamVolumesPage().Name}, v, page.StatusOf(err))
}
