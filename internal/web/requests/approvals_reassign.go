package requests

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// reassignedModels say that it was given to this person, or give the way to undo that they gave it away.
func reassignedModels(k page.Call, r request.Request) (given *requests.SaidModel, reclaim string) {
	if h, ok := r.ReassignedTo(k.Actor.Person.ID); ok {
		given = &requests.SaidModel{Name: h.FromName, Why: h.Reason}
	}
	if _, ok := r.ReassignedBy(k.Actor.Person.ID); ok {
		reclaim = page.ApprovalPath(r.ID) + "/reclaim"
	}
	return given, reclaim
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
	m := requests.ReassignModel{
		Header: ui.HeaderModel{Title: say.S("requests.reassign_title", "Name", r.AskerName),
			Crumbs: []ui.CrumbModel{{Label: say.S("requests.inbox"), Href: "/approvals"}, {Label: say.S("requests.reassign")}}},
		Errors: page.FormErrors(say, problems), Path: page.ApprovalPath(r.ID), Seen: strconv.FormatInt(r.Version, 10),
		Person: requests.FieldModel{Value: string(was.To), Error: page.WrongIn(say, problems, "person")},
		Reason: requests.FieldModel{Value: was.Reason, Error: page.WrongIn(say, problems, "reason")},
	}
	for _, p := range people {
		m.People = append(m.People, ui.OptionModel{Value: string(p.ID), Label: p.Name, Hint: p.Email,
			Selected: len(people) == 1 || p.ID == was.To})
	}
	return page.View{Title: m.Header.Title, Nav: "/requests", Body: requests.Reassign(m)}, nil
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
		return w.Done(c, "reassigned", page.ApprovalPath(id), string(id))
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
	return w.Done(c, "taken-back", page.ApprovalPath(id))
}
