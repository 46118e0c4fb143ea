package requests

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// reassignedModels say that it was given to this person, or give the way to undo that they gave it away.
func reassignedModels(k page.Call, r request.Request) (given *ui.NoticeModel, back *ui.PostButtonModel) {
	if h, ok := r.ReassignedTo(k.Actor.Person.ID); ok {
		given = &ui.NoticeModel{Kind: ui.Info, Title: k.Words.S("requests.reassigned_you", "From", h.FromName),
			Body: h.Reason,
			Test: "given"}
	}
	if _, ok := r.ReassignedBy(k.Actor.Person.ID); ok {
		back = &ui.PostButtonModel{Action: approvalPath(r.ID) + "/reclaim",
			Button: ui.ButtonModel{Label: k.Words.S("requests.reclaim"), Kind: ui.Secondary, Test: "reclaim"}}
	}
	return given, back
}

// reassignAsk is the page on which an approver gives one request to another one.
func (w *Pages) reassignAsk(k page.Call) (page.View, error) {
	r, err := w.Requests.Get(k.Ctx, k.Actor, request.ID(k.Get("id")))
	if err != nil {
		return page.View{}, err
	}
	return w.reassignView(k, r, request.ReassignInput{}, nil)
}

func (w *Pages) reassignView(k page.Call, r request.Request, was request.ReassignInput,
	problems []fault.Field) (page.View, error) {
	say := k.Words
	people, err := w.Approvals.Assignees(k.Ctx, k.Actor, r.ID)
	if err != nil {
		return page.View{}, err
	}
	m := workloadview.AskModel{
		Header: ui.HeaderModel{Title: say.S("requests.reassign_title", "Name", r.AskerName),
			Crumbs: []ui.CrumbModel{{Label: say.S("requests.inbox"), Href: "/approvals"}, {Label: say.S("requests.reassign")}}},
		Lead:   say.S("requests.reassign_lead"),
		Errors: page.FormErrors(say, problems),
		Form: ui.FormModel{ID: "reassign", Action: approvalPath(r.ID) + "/reassign",
			Hidden: []ui.HiddenModel{{Name: "seen", Value: strconv.FormatInt(r.Version, 10)}}, Test: "reassign-form"},
		Button: ui.ButtonModel{Label: say.S("requests.reassign_go"), Kind: ui.Primary, Icon: "check", Test: "reassign-go"},
		Cancel: ui.LinkButtonModel{Label: say.S("web.back"), Href: approvalPath(r.ID), Kind: ui.LinkLike},
	}
	if len(people) == 0 {
		m.Lead, m.Button.Disabled = say.S("requests.reassign_nobody"), true
		return page.View{Title: m.Header.Title, Nav: "/requests", Body: workloadview.Ask(m)}, nil
	}
	who := ui.FieldModel{ID: "person", Name: "person", Kind: ui.RadiosField, Label: say.S("requests.reassign_to"),
		Hint: say.S("requests.reassign_to_hint"), Value: string(was.To), Required: true, Error: page.WrongIn(say, problems,
			"person"),
		Test: "reassign-to"}
	for _, p := range people {
		who.Options = append(who.Options, ui.OptionModel{Value: string(p.ID), Label: p.Name, Hint: p.Email,
			Selected: len(people) == 1 || p.ID == was.To})
	}
	m.Fields = []ui.FieldModel{who, {ID: "reason", Name: "reason", Kind: ui.TextareaField, Rows: 2,
		Label: say.S("requests.reassign_why"), Value: was.Reason, Required: true, MaxLength: 500,
		Error: page.WrongIn(say, problems, "reason"), Test: "reassign-why"}}
	return page.View{Title: m.Header.Title, Nav: "/requests", Body: workloadview.Ask(m)}, nil
}

func (w *Pages) reassign(c echo.Context) error {
	k := w.CallOf(c)
	id := request.ID(c.Param("id"))
	was := request.ReassignInput{To: identity.PersonID(c.FormValue("person")),
		Reason: strings.TrimSpace(c.FormValue("reason")),
		Seen:   seenIn(c.FormValue("seen"))}
	_, err := w.Approvals.Reassign(k.Ctx, k.Actor, id, was)
	switch {
	case err == nil:
		return w.Done(c, "reassigned", approvalPath(id))
	case !page.Correctable(err):
		return err
	}
	r, gone := w.Requests.Get(k.Ctx, k.Actor, id)
	if gone != nil {
		return gone
	}
	v, gone := w.reassignView(k, r, was, page.ProblemsOf(err))
	if gone != nil {
		return gone // they cannot give it away any more: the page says why
	}
	return w.Reply(c, k, page.Page{Name: w.reassignPage().Name}, v, page.StatusOf(err))
}

func (w *Pages) reclaim(c echo.Context) error {
	k := w.CallOf(c)
	id := request.ID(c.Param("id"))
	if _, err := w.Approvals.Reclaim(k.Ctx, k.Actor, id); err != nil {
		return err
	}
	return w.Done(c, "taken-back", approvalPath(id))
}
