package blocks

import (
	"maps"
	"slices"
	"strconv"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// hidden are the fields of a form that is sent with one click. The reason stays out: where somebody has to approve, the
// form comes back and asks for it.
func (f StartForm) hidden() []ui.HiddenModel {
	fields := []ui.HiddenModel{{Name: "tenant", Value: f.Tenant}, {Name: "kind", Value: f.Kind},
		{Name: "size", Value: f.Size}, {Name: "image", Value: f.Image}, {Name: "lease", Value: f.Lease},
		{Name: "storage", Value: f.Storage}, {Name: "key", Value: f.Key}}
	if f.CustomRef != "" {
		fields = append(fields, ui.HiddenModel{Name: CustomRefField, Value: f.CustomRef})
	}
	of := f.ofEndpoint()
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name] != "" {
			fields = append(fields, ui.HiddenModel{Name: name, Value: of[name]})
		}
	}
	for _, name := range f.Mounts {
		fields = append(fields, ui.HiddenModel{Name: "mounts", Value: name})
	}
	for _, use := range chosen(f.Volumes) {
		fields = append(fields, ui.HiddenModel{Name: "volumes", Value: use})
	}
	for _, name := range f.Datasets {
		fields = append(fields, ui.HiddenModel{Name: "datasets", Value: name})
	}
	for _, name := range f.Secrets {
		fields = append(fields, ui.HiddenModel{Name: "secrets", Value: name})
	}
	git := f.ofGit()
	for _, name := range slices.Sorted(maps.Keys(git)) {
		if git[name] != "" {
			fields = append(fields, ui.HiddenModel{Name: name, Value: git[name]})
		}
	}
	return fields
}

// RepeatStart sends the last start again; nil where there is none, or its size or image is no longer offered. Submit
// checks it like any other: what stands against it comes back on the filled form.
func (w *Blocks) RepeatStart(k page.Call) (*workloadview.OneClickModel, error) {
	teams := w.Startable(k)
	if len(teams) == 0 {
		return nil, nil
	}
	team := page.ChooseTeam(k, teams)
	last, err := w.LastUsed(k, team)
	if err != nil || last.Size.Name == "" {
		return nil, err
	}
	form := StartForm{Tenant: team, Kind: string(last.Kind), Size: last.Size.Name,
		Lease: last.Lease.String(), Storage: "0", Mounts: MountNames(last.Mounts), Volumes: VolumeUses(last.Mounts),
		Datasets: DatasetNames(last.Mounts), Key: w.Requests.NewKey(),
		Secrets: SecretNames(k.Actor.Person.ID, k.Actor.Person.ID, last.Secrets)}
	form = form.LikeImage(last.Image)
	form = form.LikeModel(last.Image, last.Model, last.Replicas, last.Scaling).LikeGit(last.Git)
	if last.StorageGiB > 0 && last.Volume == "" {
		form.Storage = strconv.Itoa(last.StorageGiB) + "Gi"
	}
	size, offeredSize := w.Site().CatalogFor(team, w.Now()).Size(form.Size)
	if !w.Site().CustomGone(team, last.Image).IsZero() {
		return nil, nil
	}
	if !offeredSize || size.Hidden || !size.OfferedTo(team) || w.SettleImage(form).Image != form.Image {
		return nil, nil
	}
	return &workloadview.OneClickModel{Hidden: form.hidden(), Size: k.Words.SizeTitle(size),
		Duration: k.Words.Duration(last.Lease.Std())}, nil
}

// StartSize starts a notebook of a size that is free, as the form would begin with it.
func (w *Blocks) StartSize(k page.Call, team string, offers []request.Offer,
	o request.Offer) *workloadview.OneClickModel {
	form := w.Settle(w.TeamDefaultsIn(StartForm{Tenant: team, Kind: string(catalog.Notebook), Size: o.Size.Name,
		Key: w.Requests.NewKey()}, offers), offers)
	return &workloadview.OneClickModel{Hidden: form.hidden(), Size: k.Words.SizeTitle(o.Size),
		Price: k.Words.MoneyPerHour(o.Size.PricePerHour)}
}
