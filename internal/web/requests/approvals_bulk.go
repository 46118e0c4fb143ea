package requests

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// tickOf is a request and the version of it that is shown.
func tickOf(r request.Request) string {
	return string(r.ID) + "@" + strconv.FormatInt(r.Version, 10)
}

// bulkModel answers all ticked requests with one note.
func bulkModel(k page.Call) *requests.BulkModel {
	all := url.Values{page.TickParam: {page.TickAll}}
	for _, kept := range inboxNames {
		if k.Get(kept) != "" {
			all.Set(kept, k.Get(kept))
		}
	}
	return &requests.BulkModel{All: "/approvals?" + all.Encode()}
}

// decideSeveral gives each ticked request the same answer, one after the other. Each is a decision of its own: some may
// go through and others not.
func (w *Pages) decideSeveral(c echo.Context) error {
	k := w.CallOf(c)
	form, err := c.FormParams()
	if err != nil {
		return fault.Wrap(fault.Invalid, err, i18n.T("requests.bulk_none"))
	}
	ticks, verb := form["request"], request.Verb(form.Get("verb"))
	if len(ticks) == 0 || len(ticks) > listPage || (verb != request.ApproveVerb && verb != request.RejectVerb) {
		none := fault.InvalidFields([]fault.Field{{Reason: i18n.T("requests.bulk_none")}})
		v, err := w.approvalsView(k, typed{}, none)
		if err != nil {
			return err
		}
		return w.Reply(c, k, page.Page{Name: w.approvalsPage().Name}, v, page.StatusOf(none))
	}
	m := requests.OutcomesModel{Header: ui.HeaderModel{Title: k.Words.S("requests.outcomes"),
		Crumbs: []ui.CrumbModel{{Label: k.Words.S("requests.inbox"), Href: "/approvals"},
			{Label: k.Words.S("requests.outcomes")}}}}
	for _, tick := range ticks {
		m.Rows = append(m.Rows, w.decideOne(k, tick, request.DecisionInput{Verb: verb, Note: form.Get("note"),
			Undoable: true}))
	}
	v := page.View{Title: m.Header.Title, Nav: "/requests", Body: requests.Outcomes(m)}
	return w.Reply(c, k, page.Page{Name: w.approvalsPage().Name}, v, http.StatusOK)
}

func (w *Pages) decideOne(k page.Call, tick string, said request.DecisionInput) requests.OutcomeModel {
	id, seen, _ := strings.Cut(tick, "@")
	said.Seen = seenIn(seen)
	r, err := w.Approvals.Answer(k.Ctx, k.Actor, request.ID(id), said)
	m := requests.OutcomeModel{Name: ui.StackModel{Title: id, Href: page.ApprovalPath(request.ID(id))},
		Verb: requests.Verb(said.Verb)}
	switch {
	case err != nil:
		m.Problem = k.Words.Text(fault.As(err).Sentence)
		if r, err = w.Requests.Get(k.Ctx, k.Actor, request.ID(id)); err != nil {
			return m
		}
	case r.Decision.Deferred != nil:
		m.Undo = undoPath(k, r)
	case said.Verb == request.RejectVerb:
		m.Kind, m.State = ui.OK, string(r.State) // it was done as it was meant
	default:
		m.Kind, m.State = blocks.RequestKinds[r.State], string(r.State)
	}
	m.Name.Title, m.Name.Detail = r.AskerName+" · "+w.TeamTitle(r.Spec.Tenant), k.Words.SizeTitle(r.Spec.Size)
	return m
}
