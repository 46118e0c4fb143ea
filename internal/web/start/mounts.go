package start

import (
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// mountsField offers the team's volumes; nil where there are none.
func (w *Pages) mountsField(k page.Call, form blocks.StartForm, problem string) (*start.ChoiceModel, error) {
	volumes, err := w.Workloads.TeamVolumes(k.Ctx, k.Actor, form.Tenant)
	volumes = slices.DeleteFunc(volumes, func(v workload.TeamVolume) bool { return v.PendingDeletion() })
	if err != nil || len(volumes) == 0 && problem == "" {
		return nil, err
	}
	say := k.Words
	m := &start.ChoiceModel{Error: problem}
	for _, v := range volumes {
		word, about := blocks.AccessWords(say, v.Share)
		m.Options = append(m.Options, ui.OptionModel{Value: v.Share.Name, Label: workload.SharedDir + "/" + v.Share.Name,
			Hint:     strings.Join([]string{say.GiB(float64(v.GiB)), v.Cluster, word + ": " + about}, " · "),
			Selected: slices.Contains(form.Mounts, v.Share.Name), Test: "mount-" + v.Share.Name})
	}
	return m, nil
}

// volumesFields offers personal volumes of the asker in the team, each by itself; none where there is none.
func volumesFields(say page.Words, form blocks.StartForm, volumes []workload.OwnVolume,
	problem string) (list []start.VolumeModel) {
	chosen := form.Draft().Volumes
	for _, v := range volumes {
		if !v.IsPersonal() || v.Deleted || v.Tenant != form.Tenant {
			continue
		}
		m := start.VolumeModel{Name: v.Name, Path: v.Mounted().Path(),
			Hint: strings.Join([]string{say.GiB(float64(v.GiB)), v.Cluster}, " · ")}
		if other, runs := workload.RunningWith(v.Users, ""); runs {
			m.Hint += " · " + say.S("start.volumes_in_use", "By", other.Name)
		}
		for _, u := range chosen {
			if u.Name == v.Name || u.Name == v.Personal.Name {
				m.Chosen, m.ReadOnly = true, u.ReadOnly
			}
		}
		list = append(list, m)
	}
	if len(list) > 0 {
		list[0].Error = problem
	}
	return list
}

// datasetsField offers the team's data sets; nil where there are none.
func (w *Pages) datasetsField(k page.Call, form blocks.StartForm, problem string) (*start.ChoiceModel, error) {
	sets, err := w.Workloads.Datasets(k.Ctx, k.Actor, form.Tenant)
	if err != nil || len(sets) == 0 && problem == "" {
		return nil, err
	}
	m := &start.ChoiceModel{Error: problem}
	for _, d := range sets {
		about := []string{d.Called(), d.Source.Cluster}
		if d.Note != "" {
			about = append(about, d.Note)
		}
		m.Options = append(m.Options, ui.OptionModel{Value: d.Name, Label: d.Path(), Hint: strings.Join(about, " · "),
			Selected: slices.Contains(form.Datasets, d.Name), Test: "dataset-" + d.Name})
	}
	return m, nil
}
