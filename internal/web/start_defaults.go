package web

import "github.com/gpu-portal/gpu-portal/internal/request"

// teamDefaultsIn fills in what the team's owners preselect: a size that can be had, an image of the kind, a lease. What
// the address asks for comes before it.
func (w *Web) teamDefaultsIn(form StartForm, offers []request.Offer) StartForm {
	t, _ := w.Site().Directory.ByName(form.Tenant)
	d := t.Defaults
	if image, ok := w.Site().CatalogFor(form.Tenant, w.Now()).Image(d.Image); ok && image.OfferedTo(form.Tenant) {
		form.Kind = orElse(form.Kind, string(image.Kind))
		if form.Kind == string(image.Kind) {
			form.Image = orElse(form.Image, image.Name)
		}
	}
	for _, o := range offers {
		if form.Size == "" && o.Size.Name == d.Size && o.Problem.IsZero() {
			form.Size, form.Lease = d.Size, orElse(form.Lease, d.Lease)
		}
	}
	return form
}
