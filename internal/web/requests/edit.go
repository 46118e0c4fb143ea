package requests

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
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
	size := ui.FieldModel{ID: "edit-size", Name: "size", Kind: ui.SelectField, Label: say.S("start.size"), Value: was.Size,
		Error: page.WrongIn(say, problems, "size"), Test: "edit-size"}
	for _, s := range w.Requests.Choices(k.Actor, r) {
		size.Options = append(size.Options, ui.OptionModel{Value: s.Name, Label: say.SizeTitle(s) + " · " +
			say.MoneyPerHour(s.PricePerHour)})
	}
	m := workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("requests.edit_title", "Name", r.Spec.Name),
			Crumbs: []ui.CrumbModel{{Label: say.S("requests.title"), Href: "/requests"},
				{Label: r.Spec.Name, Href: page.RequestPath(r.ID)}, {Label: say.S("requests.edit")}}},
		Lead:   say.S("requests.edit_lead"),
		Errors: page.FormErrors(say, problems),
		Form: ui.FormModel{ID: "edit", Action: page.RequestPath(r.ID) + "/edit",
			Hidden: []ui.HiddenModel{{Name: "seen", Value: strconv.FormatInt(r.Version, 10)}}, Test: "edit-form"},
		Fields: []ui.FieldModel{size,
			{ID: "edit-lease", Name: "lease", Label: say.S("start.lease"), Value: was.Lease,
				Error: page.WrongIn(say, problems, "lease"), Short: true, MaxLength: 32, Autocomplete: "off", Test: "edit-lease"},
			{ID: "edit-reason", Name: "reason", Kind: ui.TextareaField, Rows: 3, Label: say.S("start.reason"), Value: was.Reason,
				Error: page.WrongIn(say, problems, "reason"), MaxLength: 500, Test: "edit-reason"},
		},
		Button: ui.ButtonModel{Label: say.S("requests.edit_save"), Kind: ui.Primary, Icon: "check", Test: "edit-save"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: page.RequestPath(r.ID), Kind: ui.LinkLike},
	}
	return page.View{Title: m.Header.Title, Nav: "/requests", Body: workloadview.Ask(m)}
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
