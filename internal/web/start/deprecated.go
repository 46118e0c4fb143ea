package start

import (
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// deprecated warns of a deprecated size or image, in the administrator's own words, with a button for what to take
// instead.
func (w *Pages) deprecated(k page.Call, form blocks.StartForm, offers []request.Offer,
	spec request.Spec) []ui.NoticeModel {
	say := k.Words
	var list []ui.NoticeModel
	warn := func(test, title, button, value, instead string, d *catalog.Deprecation) {
		n := ui.NoticeModel{Kind: ui.Warning, Title: say.S("start.deprecated", "Name", title), Body: d.Message, Test: test}
		if instead != "" {
			n.Actions = []ui.ActionModel{{Button: &ui.ButtonModel{Label: say.S("start.instead", "Size", instead), Small: true,
				Name: button, Value: value, FormAction: "/start/form", Test: test + "-instead",
				Attrs: asking(k, "/start/form", "#start", "")}}}
		}
		list = append(list, n)
	}
	if d := spec.Size.Deprecated; d != nil {
		next := blocks.OfferNamed(offers, d.Successor)
		warn("deprecated-size", say.SizeTitle(spec.Size), "instead", next.Size.Name, say.SizeTitle(next.Size), d)
	}
	if d := spec.Image.Deprecated; d != nil {
		title := ""
		for _, i := range w.Images(form) {
			if i.Name == d.Successor {
				title = say.ImageTitle(i)
			}
		}
		warn("deprecated-image", say.ImageTitle(spec.Image), "instead_image", d.Successor, title, d)
	}
	return list
}
