package requests

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// requestEditAsk is the page on which an asker changes what nobody has decided yet.
func (w *Pages) requestEditAsk(k page.Call) (page.View, error) {
	r, err := w.editable(k)
	if err != nil {
		return page.View{}, err
	}
	typed := request.Edited{Size: r.Spec.Size.Name, Lease: r.Spec.Lease.String(), Reason: r.Spec.Reason}
	return w.requestEditView(k, r, typed, nil), nil
}

func (w *Pages) editable(k page.Call) (request.Request, error) {
	r, err := w.Requests.Get(k.Ctx, k.Actor, request.ID(k.Get("id")))
	if err != nil {
		return r, err
	}
	return r, w.Requests.MayEdit(k.Actor, r)
}

func (w *Pages) requestEditView(k page.Call, r request.Request, was request.Edited, problems []fault.Field) page.View {
	say := k.Words
	m := requests.EditModel{
		Header: ui.HeaderModel{Title: say.S("requests.edit_title", "Name", r.Spec.Name),
			Crumbs: []ui.CrumbModel{{Label: say.S("requests.title"), Href: "/requests"},
				{Label: r.Spec.Name, Href: page.RequestPath(r.ID)}, {Label: say.S("requests.edit")}}},
		Errors: page.FormErrors(say, problems), Path: page.RequestPath(r.ID), Seen: strconv.FormatInt(r.Version, 10),
		Size:   requests.FieldModel{Value: was.Size, Error: page.WrongIn(say, problems, "size")},
		Sizes:  sizeOptions(say, w.Requests.Choices(k.Actor, r)),
		Lease:  requests.FieldModel{Value: was.Lease, Error: page.WrongIn(say, problems, "lease")},
		Reason: requests.FieldModel{Value: was.Reason, Error: page.WrongIn(say, problems, "reason")},
	}
	return page.View{Title: m.Header.Title, Nav: "/requests", Body: requests.Edit(m)}
}

// sizeOptions are sizes with their prices.
func sizeOptions(say page.Words, sizes []catalog.Size) []ui.OptionModel {
	var options []ui.OptionModel
	for _, s := range sizes {
		options = append(options, ui.OptionModel{Value: s.Name, Label: say.SizeTitle(s) + " · " +
			say.MoneyPerHour(s.PricePerHour)})
	}
	return options
}

func (w *Pages) requestEdit(c echo.Context) error {
	k := w.CallOf(c)
	id := request.ID(c.Param("id"))
	was := request.Edited{Size: c.FormValue("size"), Lease: strings.TrimSpace(c.FormValue("lease")),
		Reason: strings.TrimSpace(c.FormValue("reason")), Seen: seenIn(c.FormValue("seen"))}
	r, err := w.Requests.Edit(k.Ctx, k.Actor, id, was)
	switch {
	case err == nil && r.State == request.Pending:
		return w.Done(c, "edited", page.RequestPath(id))
	case err == nil:
		return w.Done(c, "edited-approved", page.RequestPath(id))
	case !page.Correctable(err):
		return err
	}
	now, gone := w.editable(k)
	if gone != nil {
		return gone
	}
	return w.Reply(c, k, page.Page{Name: w.requestEditPage().Name}, w.requestEditView(k, now, was, page.ProblemsOf(err)),
		page.StatusOf(err))
}
