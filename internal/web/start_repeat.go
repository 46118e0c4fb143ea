package web

import (
	"strconv"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// hidden are the fields of a form that is sent with one click. The reason stays out: where somebody has to approve, the
// form comes back and asks for it.
func (f StartForm) hidden() []ui.HiddenModel {
	fields := []ui.HiddenModel{{Name: "tenant", Value: f.Tenant}, {Name: "kind", Value: f.Kind},
		{Name: "size", Value: f.Size}, {Name: "image", Value: f.Image}, {Name: "lease", Value: f.Lease},
		{Name: "storage", Value: f.Storage}, {Name: "key", Value: f.Key}}
	for _, name := range f.Mounts {
		fields = append(fields, ui.HiddenModel{Name: "mounts", Value: name})
	}
	return fields
}

// repeatStart sends the last start again; nil where there is none, or its size or image is no longer offered. Submit
// checks it like any other: what stands against it comes back on the filled form.
func (w *Web) repeatStart(k call) (*ui.PostButtonModel, error) {
	teams := w.startable(k)
	if len(teams) == 0 {
		return nil, nil
	}
	team := chooseTeam(k, teams)
	last, err := w.lastUsed(k, team)
	if err != nil || last.Size.Name == "" {
		return nil, err
	}
	form := StartForm{Tenant: team, Kind: string(last.Kind), Size: last.Size.Name, Image: last.Image.Name,
		Lease: last.Lease.String(), Storage: "0", Mounts: mountNames(last.Mounts), Key: w.Requests.NewKey()}
	if last.StorageGiB > 0 && last.Volume == "" {
		form.Storage = strconv.Itoa(last.StorageGiB) + "Gi"
	}
	size, offeredSize := w.Site().CatalogFor(team, w.Now()).Size(form.Size)
	if !offeredSize || size.Hidden || !size.OfferedTo(team) || w.settleImage(form).Image != form.Image {
		return nil, nil
	}
	return &ui.PostButtonModel{Action: "/start", Hidden: form.hidden(), Button: ui.ButtonModel{Kind: ui.Secondary,
		Icon: "bolt", Test: "repeat", Label: k.words.S("home.repeat", "Size", size.Title, "Duration",
			k.words.duration(last.Lease.Std()))}}, nil
}

// startSize starts a notebook of a size that is free, as the form would begin with it.
func (w *Web) startSize(k call, team string, offers []request.Offer, o request.Offer) *ui.PostButtonModel {
	form := w.settle(w.teamDefaultsIn(StartForm{Tenant: team, Kind: string(catalog.Notebook), Size: o.Size.Name,
		Key: w.Requests.NewKey()}, offers), offers)
	return &ui.PostButtonModel{Action: "/start", Hidden: form.hidden(), Button: ui.ButtonModel{Kind: ui.Secondary,
		Icon: "bolt", Test: "start-smallest", Label: k.words.S("home.start_size", "Size", o.Size.Title, "Price",
			k.words.moneyPerHour(o.Size.PricePerHour))}}
}
