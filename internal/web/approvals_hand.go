package web

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// handedModels say that it was given to this person, or give the way to undo that they gave it away.
func handedModels(k call, r request.Request) (given *ui.NoticeModel, back *ui.PostButtonModel) {
	if h, ok := r.HandedTo(k.actor.Person.ID); ok {
		given = &ui.NoticeModel{Kind: ui.Info, Title: k.words.S("requests.handed_you", "From", h.FromName), Body: h.Reason,
			Test: "given"}
	}
	if _, ok := r.HandedBy(k.actor.Person.ID); ok {
		back = &ui.PostButtonModel{Action: approvalPath(r.ID) + "/take-back",
			Button: ui.ButtonModel{Label: k.words.S("requests.take_back"), Kind: ui.Secondary, Test: "take-back"}}
	}
	return given, back
}

// handAsk is the page on which an approver gives one request to another one.
func (w *Web) handAsk(k call) (view, error) {
	r, err := w.Requests.Get(k.ctx, k.actor, request.ID(k.get("id")))
	if err != nil {
		return view{}, err
	}
	return w.handView(k, r, request.Given{}, nil)
}

func (w *Web) handView(k call, r request.Request, was request.Given, problems []fault.Field) (view, error) {
	say := k.words
	people, err := w.Requests.Receivers(k.ctx, k.actor, r.ID)
	if err != nil {
		return view{}, err
	}
	m := workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("requests.hand_title", "Name", r.AskerName),
			Crumbs: []ui.CrumbModel{{Label: say.S("requests.inbox"), Href: "/approvals"}, {Label: say.S("requests.hand")}}},
		Lead:   say.S("requests.hand_lead"),
		Errors: formErrors(say, problems),
		Form: ui.FormModel{ID: "hand", Action: approvalPath(r.ID) + "/hand",
			Hidden: []ui.HiddenModel{{Name: "seen", Value: strconv.FormatInt(r.Version, 10)}}, Test: "hand-form"},
		Button: ui.ButtonModel{Label: say.S("requests.hand_go"), Kind: ui.Primary, Icon: "check", Test: "hand-go"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: approvalPath(r.ID), Kind: ui.LinkLike},
	}
	if len(people) == 0 {
		m.Lead, m.Button.Disabled = say.S("requests.hand_nobody"), true
		return view{title: m.Header.Title, nav: "/approvals", body: workloadview.Ask(m)}, nil
	}
	who := ui.FieldModel{ID: "person", Name: "person", Kind: ui.RadiosField, Label: say.S("requests.hand_to"),
		Hint: say.S("requests.hand_to_hint"), Value: string(was.To), Required: true, Error: wrongIn(say, problems, "person"),
		Test: "hand-to"}
	for _, p := range people {
		who.Options = append(who.Options, ui.OptionModel{Value: string(p.ID), Label: p.Name, Hint: p.Email,
			Selected: len(people) == 1 || p.ID == was.To})
	}
	m.Fields = []ui.FieldModel{who, {ID: "reason", Name: "reason", Kind: ui.TextareaField, Rows: 2,
		Label: say.S("requests.hand_why"), Value: was.Reason, Required: true, MaxLength: 500,
		Error: wrongIn(say, problems, "reason"), Test: "hand-why"}}
	return view{title: m.Header.Title, nav: "/approvals", body: workloadview.Ask(m)}, nil
}

func (w *Web) hand(c echo.Context) error {
	k := w.callOf(c)
	id := request.ID(c.Param("id"))
	was := request.Given{To: identity.PersonID(c.FormValue("person")), Reason: strings.TrimSpace(c.FormValue("reason")),
		Seen: seenIn(c.FormValue("seen"))}
	_, err := w.Requests.Hand(k.ctx, k.actor, id, was)
	switch {
	case err == nil:
		return w.done(c, "handed", approvalPath(id))
	case !correctable(err):
		return err
	}
	r, gone := w.Requests.Get(k.ctx, k.actor, id)
	if gone != nil {
		return gone
	}
	v, gone := w.handView(k, r, was, problemsOf(err))
	if gone != nil {
		return gone // they cannot give it away any more: the page says why
	}
	return w.reply(c, k, page{name: handPage.name}, v, statusOf(err))
}

func (w *Web) takeBack(c echo.Context) error {
	k := w.callOf(c)
	id := request.ID(c.Param("id"))
	if _, err := w.Requests.TakeBack(k.ctx, k.actor, id); err != nil {
		return err
	}
	return w.done(c, "taken-back", approvalPath(id))
}
