package web

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// requestEditAsk is the page on which an asker changes what nobody has decided yet.
func (w *Web) requestEditAsk(k call) (view, error) {
	r, err := w.editable(k)
	if err != nil {
		return view{}, err
	}
	typed := request.Edited{Size: r.Spec.Size.Name, Lease: r.Spec.Lease.String(), Reason: r.Spec.Reason}
	return w.requestEditView(k, r, typed, nil), nil
}

func (w *Web) editable(k call) (request.Request, error) {
	r, err := w.Requests.Get(k.ctx, k.actor, request.ID(k.get("id")))
	if err != nil {
		return r, err
	}
	return r, w.Requests.MayEdit(k.actor, r)
}

func (w *Web) requestEditView(k call, r request.Request, was request.Edited, problems []fault.Field) view {
	say := k.words
	size := ui.FieldModel{ID: "edit-size", Name: "size", Kind: ui.SelectField, Label: say.S("start.size"), Value: was.Size,
		Error: wrongIn(say, problems, "size"), Test: "edit-size"}
	for _, s := range w.Requests.Choices(k.actor, r) {
		size.Options = append(size.Options, ui.OptionModel{Value: s.Name, Label: s.Title + " · " +
			say.moneyPerHour(s.PricePerHour)})
	}
	m := workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("requests.edit_title", "Name", r.Spec.Name),
			Crumbs: []ui.CrumbModel{{Label: say.S("requests.title"), Href: "/requests"},
				{Label: r.Spec.Name, Href: requestPath(r.ID)}, {Label: say.S("requests.edit")}}},
		Lead:   say.S("requests.edit_lead"),
		Errors: formErrors(say, problems),
		Form: ui.FormModel{ID: "edit", Action: requestPath(r.ID) + "/edit",
			Hidden: []ui.HiddenModel{{Name: "seen", Value: strconv.FormatInt(r.Version, 10)}}, Test: "edit-form"},
		Fields: []ui.FieldModel{size,
			{ID: "edit-lease", Name: "lease", Label: say.S("start.lease"), Value: was.Lease,
				Error: wrongIn(say, problems, "lease"), Short: true, MaxLength: 32, Autocomplete: "off", Test: "edit-lease"},
			{ID: "edit-reason", Name: "reason", Kind: ui.TextareaField, Rows: 3, Label: say.S("start.reason"), Value: was.Reason,
				Error: wrongIn(say, problems, "reason"), MaxLength: 500, Test: "edit-reason"},
		},
		Button: ui.ButtonModel{Label: say.S("requests.edit_save"), Kind: ui.Primary, Icon: "check", Test: "edit-save"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: requestPath(r.ID), Kind: ui.LinkLike},
	}
	return view{title: m.Header.Title, nav: "/requests", body: workloadview.Ask(m)}
}

func (w *Web) requestEdit(c echo.Context) error {
	k := w.callOf(c)
	id := request.ID(c.Param("id"))
	was := request.Edited{Size: c.FormValue("size"), Lease: strings.TrimSpace(c.FormValue("lease")),
		Reason: strings.TrimSpace(c.FormValue("reason")), Seen: seenIn(c.FormValue("seen"))}
	r, err := w.Requests.Edit(k.ctx, k.actor, id, was)
	switch {
	case err == nil && r.State == request.Pending:
		return w.done(c, "edited", requestPath(id))
	case err == nil:
		return w.done(c, "edited-approved", requestPath(id))
	case !correctable(err):
		return err
	}
	now, gone := w.editable(k)
	if gone != nil {
		return gone
	}
	return w.reply(c, k, page{name: requestEditPage.name}, w.requestEditView(k, now, was, problemsOf(err)), statusOf(err))
}
