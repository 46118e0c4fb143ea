package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// LastUsed is the last start of a team that the actor sent.
func (w *Blocks) LastUsed(k page.Call, team string) (request.Spec, error) {
	items, _, err := w.Requests.List(k.Ctx, k.Actor, request.ScopeMine, request.Filter{Tenants: []string{team}, Limit: 10})
	for _, r := range items {
		if r.Kind == request.StartKind && r.Spec.Kind != catalog.Job { // a job is repeated from its own page
			return r.Spec, err
		}
	}
	return request.Spec{}, err
}

// Settle gives the fields that hang on others a value that fits: an image of the kind, the size's usual lease.
func (w *Blocks) Settle(form StartForm, offers []request.Offer) StartForm {
	form = w.SettleImage(form)
	for _, o := range offers {
		if o.Size.Name == form.Size && form.Lease == "" && o.Size.DefaultLease > 0 {
			form.Lease = o.Size.DefaultLease.String()
		}
	}
	if form.Storage == "" && form.Volume == "" {
		form.Storage = usualStorage(form.Kind)
	}
	return form
}

// usualStorage: a person's work is kept; servers of a model are all alike, and several could not share it.
func usualStorage(kind string) string {
	if kind == string(catalog.Endpoint) {
		return "0"
	}
	return "10Gi"
}

// Images are those that the team may use for this kind, those made for it first.
func (w *Blocks) Images(form StartForm) []catalog.Image {
	var fitting, others []catalog.Image
	for _, i := range w.Site().ImagesFor(form.Tenant) {
		switch kind := catalog.WorkloadKind(form.Kind); {
		case !i.RunsAs(kind) || !i.OfferedTo(form.Tenant) || i.NeedsKServe() && len(w.Site().KServe) == 0,
			i.NeedsJobSet() && len(w.Site().JobSet) == 0,
			i.ScalesByKEDA() && len(w.Site().KEDA) == 0,
			i.NeedsLeaderWorkerSet() && len(w.Site().LeaderWorkerSet) == 0:
		case i.Kind == kind:
			fitting = append(fitting, i)
		default:
			others = append(others, i)
		}
	}
	return append(fitting, others...)
}

// SettleImage replaces an image of the other kind, after the kind was changed, and drops the number of pods that the
// image cannot have.
func (w *Blocks) SettleImage(form StartForm) StartForm {
	images := w.Images(form)
	for _, i := range images {
		if i.Name == form.Image {
			return form.settlePods(i)
		}
	}
	if len(images) > 0 {
		form.Image = images[0].Name
		form = form.settlePods(images[0])
	}
	for _, kind := range catalog.WorkloadKinds() { // what nobody typed goes with the kind
		if form.Storage == usualStorage(string(kind)) {
			form.Storage = usualStorage(form.Kind)
			break
		}
	}
	return form
}

// settlePods: an endpoint has replicas, or one group of nodes.
func (f StartForm) settlePods(i catalog.Image) StartForm {
	switch {
	case f.Kind != string(catalog.Endpoint):
	case i.NeedsLeaderWorkerSet():
		f.Min, f.Max, f.Scaling = "", "", autoscale.Typed{}
	default:
		f.Nodes = ""
	}
	return f
}

// KindOfImage is a form whose kind follows from the image that its address names, where the address names no kind: a
// link to an image leads to that image, whatever the person started last.
func (w *Blocks) KindOfImage(form StartForm) StartForm {
	if form.Kind != "" || form.Image == "" {
		return form
	}
	for _, i := range w.Site().ImagesFor(form.Tenant) {
		if i.Name == form.Image && i.OfferedTo(form.Tenant) {
			form.Kind = string(i.Kind)
		}
	}
	return form
}

// TeamDefaultsIn fills in what the team's owners preselect: a size that can be had, an image of the kind, a lease. What
// the address asks for comes before it.
func (w *Blocks) TeamDefaultsIn(form StartForm, offers []request.Offer) StartForm {
	t, _ := w.Site().Directory.ByName(form.Tenant)
	d := t.Defaults
	if image, ok := w.Site().CatalogFor(form.Tenant, w.Now()).Image(d.Image); ok && image.OfferedTo(form.Tenant) {
		form.Kind = page.OrElse(form.Kind, string(image.Kind))
		if form.Kind == string(image.Kind) {
			form.Image = page.OrElse(form.Image, image.Name)
		}
	}
	for _, o := range offers {
		if form.Size == "" && o.Size.Name == d.Size && o.Problem.IsZero() {
			form.Size, form.Lease = d.Size, page.OrElse(form.Lease, d.Lease)
		}
	}
	return form
}

// OfferNamed is the offer of a size; an empty one where there is none.
func OfferNamed(offers []request.Offer, name string) request.Offer {
	for _, o := range offers {
		if o.Size.Name == name && name != "" {
			return o
		}
	}
	return request.Offer{}
}
