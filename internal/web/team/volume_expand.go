package team

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func teamVolumePath(team, volume, what string) string {
	return page.TeamVolumesPath(team) + "/" + url.PathEscape(volume) + "/" + what
}

// gibTyped reads a number of GiB; what is none is 0, which is too little everywhere.
func gibTyped(text string) int {
	gib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "Gi")))
	return gib
}

// teamVolumeExpandAsk is the form for a larger size.
func (w *Pages) teamVolumeExpandAsk(k page.Call) (page.View, error) {
	return w.teamVolumeExpandView(k, k.Get("name"), k.Get("volume"), "", nil)
}

// ownVolumes are the volumes of a team with the place of one among them, for those who may change it.
func (w *Pages) ownVolumes(k page.Call, team, name string) ([]workload.TeamVolume, int, error) {
	volumes, err := w.Workloads.TeamVolumes(k.Ctx, k.Actor, team)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(volumes, func(v workload.TeamVolume) bool { return v.Share.Name == name })
	switch {
	case i < 0:
		err = fault.New(fault.NotFound, i18n.T("volume.not_found"))
	case !identity.Can(k.Actor, identity.ChangeAssets, identity.Resource{Tenant: team}):
		err = fault.New(fault.Forbidden, i18n.T("tenant.owners_only"))
	}
	return volumes, i, err
}

func (w *Pages) teamVolumeExpandView(k page.Call, team, name, typed string, problems []fault.Field) (page.View, error) {
	volumes, i, err := w.ownVolumes(k, team, name)
	if err != nil {
		return page.View{}, err
	}
	e, err := w.Tenants.Visible(k.Actor, team)
	if err != nil {
		return page.View{}, err
	}
	say, v, sharing := k.Words, volumes[i], w.Workloads.Sharing()
	class, _ := sharing.Class(v.Cluster, v.Share.Class)
	most := sharing.Most(class)
	m := teamview.ExpandModel{Path: workload.SharedDir + "/" + name,
		Crumbs: append(teamCrumbs(k, e, say.S("team.volumes")), ui.CrumbModel{Label: name}),
		Errors: page.FormErrors(say, problems), Action: teamVolumePath(team, name, "expand"),
		Back: page.TeamVolumesPath(team),
		GiB:  teamview.FieldModel{Value: page.OrElse(typed, strconv.Itoa(v.GiB)), Error: page.WrongIn(say, problems, "gib")},
		Has:  v.GiB, Now: say.GiB(float64(v.GiB)), Most: most, Limit: say.GiB(float64(most))}
	if room := roomOf(volumes, v.Cluster, class); room.Most > 0 {
		m.Room = &teamview.RoomModel{Taken: say.GiB(float64(room.Taken)), Limit: say.GiB(float64(room.Most))}
	}
	return page.View{Title: say.S("team.volume_grow_title", "Name", m.Path), Nav: page.TeamPlace(k, team),
		Body: teamview.Expand(m)}, nil
}

// roomOf is what a team has of a class, and may have.
func roomOf(volumes []workload.TeamVolume, cluster string, class workload.Class) workload.Room {
	list := make([]workload.Volume, len(volumes))
	for i, v := range volumes {
		list[i] = v.Volume
	}
	return workload.RoomIn(list, cluster, class)
}

func (w *Pages) teamVolumeExpand(c echo.Context) error {
	k, team, name, typed := w.CallOf(c), c.Param("name"), c.Param("volume"), c.FormValue("gib")
	_, err := w.Workloads.ExpandVolume(k.Ctx, k.Actor, workload.Expansion{Team: team, Name: name,
		From: gibTyped(c.FormValue("from")), GiB: gibTyped(typed)})
	if err == nil {
		return w.Done(c, "volume-expanded", page.TeamVolumesPath(team))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.teamVolumeExpandView(k, team, name, typed, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.teamVolumeExpandPage().Name}, v, page.StatusOf(err))
}

// teamVolumeRestore takes back that it was deleted.
func (w *Pages) teamVolumeRestore(c echo.Context) error {
	k, team := w.CallOf(c), c.Param("name")
	if _, err := w.Workloads.RestoreVolume(k.Ctx, k.Actor, team, c.Param("volume")); err != nil {
		return err
	}
	return w.Done(c, "volume-restored", page.TeamVolumesPath(team))
}
