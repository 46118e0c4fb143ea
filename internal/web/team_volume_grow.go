package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

func teamVolumePath(team, volume, what string) string {
	return teamVolumesPath(team) + "/" + url.PathEscape(volume) + "/" + what
}

// gibTyped reads a number of GiB; what is none is 0, which is too little everywhere.
func gibTyped(text string) int {
	gib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "Gi")))
	return gib
}

// teamVolumeGrowAsk is the form for a larger size.
func (w *Web) teamVolumeGrowAsk(k call) (view, error) {
	return w.teamVolumeGrowView(k, k.get("name"), k.get("volume"), "", nil)
}

// ownVolumes are the volumes of a team with the place of one among them, for those who may change it.
func (w *Web) ownVolumes(k call, team, name string) ([]workload.TeamVolume, int, error) {
	volumes, err := w.Workloads.TeamVolumes(k.ctx, k.actor, team)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(volumes, func(v workload.TeamVolume) bool { return v.Share.Name == name })
	switch {
	case i < 0:
		err = fault.New(fault.NotFound, i18n.T("volume.not_found"))
	case !identity.Can(k.actor, identity.ChangeAssets, identity.Resource{Tenant: team}):
		err = fault.New(fault.Forbidden, i18n.T("tenant.owners_only"))
	}
	return volumes, i, err
}

func (w *Web) teamVolumeGrowView(k call, team, name, typed string, problems []fault.Field) (view, error) {
	volumes, i, err := w.ownVolumes(k, team, name)
	if err != nil {
		return view{}, err
	}
	e, err := w.Tenants.Visible(k.actor, team)
	if err != nil {
		return view{}, err
	}
	say, v, sharing := k.words, volumes[i], w.Workloads.Sharing()
	class, _ := sharing.Class(v.Cluster, v.Share.Class)
	most := sharing.Most(class)
	hint := say.S("team.volume_grow_hint", "Now", say.gib(float64(v.GiB)), "Limit", say.gib(float64(most)))
	if room := roomOf(volumes, v.Cluster, class); room.Most > 0 {
		hint += " " + say.S("team.volume_room", "Taken", say.gib(float64(room.Taken)), "Limit", say.gib(float64(room.Most)))
	}
	m := workloadview.AskModel{Header: ui.HeaderModel{Title: say.S("team.volume_grow_title", "Name", workload.SharedDir+
		"/"+name), Crumbs: append(teamCrumbs(k, e, say.S("team.volumes")), ui.CrumbModel{Label: name})},
		Lead: say.S("team.volume_grow_lead"), Errors: formErrors(say, problems),
		Form: ui.FormModel{ID: "grow-volume", Action: teamVolumePath(team, name, "grow"), Test: "volume-grow-form",
			Hidden: []ui.HiddenModel{{Name: "from", Value: strconv.Itoa(v.GiB)}}},
		Fields: []ui.FieldModel{{ID: "gib", Name: "gib", Kind: ui.NumberField, Label: say.S("team.volume_new_size"),
			Hint: hint, Unit: "GiB", Value: orElse(typed, strconv.Itoa(v.GiB)), Min: strconv.Itoa(v.GiB + 1),
			Max: strconv.Itoa(most), Required: true, Short: true, Test: "volume-gib", Error: wrongIn(say, problems, "gib")}},
		Button: ui.ButtonModel{Label: say.S("team.volume_grow"), Kind: ui.Primary, Test: "volume-grow-confirm"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: teamVolumesPath(team), Kind: ui.LinkLike}}
	out := askView(m)
	out.nav = teamPlace(k, team)
	return out, nil
}

// roomOf is what a team has of a class, and may have.
func roomOf(volumes []workload.TeamVolume, cluster string, class workload.Class) workload.Room {
	list := make([]workload.Volume, len(volumes))
	for i, v := range volumes {
		list[i] = v.Volume
	}
	return workload.RoomIn(list, cluster, class)
}

func (w *Web) teamVolumeGrow(c echo.Context) error {
	k, team, name, typed := w.callOf(c), c.Param("name"), c.Param("volume"), c.FormValue("gib")
	_, err := w.Workloads.GrowVolume(k.ctx, k.actor, workload.Growth{Team: team, Name: name,
		From: gibTyped(c.FormValue("from")), GiB: gibTyped(typed)})
	if err == nil {
		return w.done(c, "volume-grown", teamVolumesPath(team))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.teamVolumeGrowView(k, team, name, typed, problemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.reply(c, k, page{name: teamVolumeGrowPage.name}, v, statusOf(err))
}

// teamVolumeRestore takes back that it was deleted.
func (w *Web) teamVolumeRestore(c echo.Context) error {
	k, team := w.callOf(c), c.Param("name")
	if _, err := w.Workloads.RestoreVolume(k.ctx, k.actor, team, c.Param("volume")); err != nil {
		return err
	}
	return w.done(c, "volume-restored", teamVolumesPath(team))
}
