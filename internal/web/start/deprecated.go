package start

import (
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/start"
)

// deprecated warns of a deprecated size or image, in the administrator's own words, with a button for what to take
// instead.
func (w *Pages) deprecated(k page.Call, form blocks.StartForm, offers []request.Offer,
	spec request.Spec) []start.DeprecatedModel {
	say := k.Words
	var list []start.DeprecatedModel
	if d := spec.Size.Deprecated; d != nil {
		next := blocks.OfferNamed(offers, d.Successor)
		list = append(list, start.DeprecatedModel{What: start.DeprecatedSize, Title: say.SizeTitle(spec.Size),
			Message: d.Message, Instead: say.SizeTitle(next.Size), Value: next.Size.Name})
	}
	if d := spec.Image.Deprecated; d != nil {
		m := start.DeprecatedModel{What: start.DeprecatedImage, Title: say.ImageTitle(spec.Image), Message: d.Message,
			Value: d.Successor}
		for _, i := range w.Images(form) {
			if i.Name == d.Successor {
				m.Instead = say.ImageTitle(i)
			}
		}
		list = append(list, m)
	}
	return list
}
