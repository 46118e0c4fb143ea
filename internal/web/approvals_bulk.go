package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// tickOf is a request and the version of it that is shown.
func tickOf(r request.Request) string {
	return string(r.ID) + "@" + strconv.FormatInt(r.Version, 10)
}

// tickedIDs are the rows that the address asks to have ticked: "all" is those of this page. The stream of the page gets
// their names, so that a request that comes later is never ticked by itself.
func tickedIDs(k call, items []request.Request) []string {
	switch tick := k.get("tick"); tick {
	case "":
		return nil
	case "all":
		var ids []string
		for _, r := range items {
			ids = append(ids, string(r.ID))
		}
		k.query.Set("tick", strings.Join(ids, ","))
		return ids
	default:
		return strings.Split(tick, ",")
	}
}

// bulkForm answers all ticked requests with one note.
func bulkForm(k call) *requests.BulkModel {
	say := k.words
	all := url.Values{"tick": {"all"}}
	for _, kept := range []string{"cursor"} {
		if k.get(kept) != "" {
			all.Set(kept, k.get(kept))
		}
	}
	return &requests.BulkModel{
		Form: ui.FormModel{ID: "bulk", Action: "/approvals/bulk", Test: "bulk"},
		Note: ui.FieldModel{ID: "bulk-note", Name: "note", Label: say.S("requests.bulk_note"), MaxLength: 500,
			Autocomplete: "off", Test: "bulk-note"},
		All: ui.LinkButtonModel{Label: say.S("requests.tick_all"), Href: "/approvals?" + all.Encode(), Kind: ui.LinkLike,
			Test: "tick-all"},
		Approve: ui.ButtonModel{Label: say.S("requests.bulk_approve"), Kind: ui.Secondary, Icon: "check", Name: "verb",
			Value: string(request.ApproveVerb), Test: "bulk-approve"},
		Reject: ui.ButtonModel{Label: say.S("requests.bulk_reject"), Kind: ui.DangerSecondary, Icon: "cross", Name: "verb",
			Value: string(request.RejectVerb), Test: "bulk-reject"},
	}
}

// decideSeveral gives each ticked request the same answer, one after the other. Each is a decision of its own: some may
// go through and others not.
func (w *Web) decideSeveral(c echo.Context) error {
	k := w.callOf(c)
	form, err := c.FormParams()
	if err != nil {
		return fault.Wrap(fault.Invalid, err, i18n.T("requests.bulk_none"))
	}
	ticks, verb := form["request"], request.Verb(form.Get("verb"))
	if len(ticks) == 0 || len(ticks) > inboxPage || (verb != request.ApproveVerb && verb != request.RejectVerb) {
		none := fault.InvalidFields([]fault.Field{{Reason: i18n.T("requests.bulk_none")}})
		v, err := w.approvalsView(k, typed{}, none)
		if err != nil {
			return err
		}
		return w.reply(c, k, page{name: approvalsPage.name}, v, statusOf(none))
	}
	m := requests.OutcomesModel{Header: ui.HeaderModel{Title: k.words.S("requests.outcomes"),
		Crumbs: []ui.CrumbModel{{Label: k.words.S("requests.inbox"), Href: "/approvals"},
			{Label: k.words.S("requests.outcomes")}}},
		Back: ui.LinkButtonModel{Label: k.words.S("requests.to_inbox"), Href: "/approvals", Kind: ui.Primary,
			Test: "to-inbox"}}
	for _, tick := range ticks {
		m.Rows = append(m.Rows, w.decideOne(k, tick, request.DecisionInput{Verb: verb, Note: form.Get("note")}))
	}
	v := view{title: m.Header.Title, nav: "/requests", body: requests.Outcomes(m)}
	return w.reply(c, k, page{name: approvalsPage.name}, v, http.StatusOK)
}

func (w *Web) decideOne(k call, tick string, said request.DecisionInput) requests.OutcomeModel {
	id, seen, _ := strings.Cut(tick, "@")
	said.Seen = seenIn(seen)
	r, err := w.Approvals.Answer(k.ctx, k.actor, request.ID(id), said)
	if err == nil {
		kind := requestKinds[r.State]
		if said.Verb == request.RejectVerb {
			kind = ui.OK // it was done as it was meant
		}
		return requests.OutcomeModel{Name: ui.StackModel{Title: r.AskerName + " · " + r.Spec.Tenant, Href: approvalPath(r.ID),
			Detail: r.Spec.Size.Title},
			State: ui.StateModel{Kind: kind, Word: upperFirst(k.words.Say(i18n.T("request.state." + string(r.State)))),
				Test: "state"}}
	}
	m := requests.OutcomeModel{Name: ui.StackModel{Title: id, Href: approvalPath(request.ID(id))},
		State: ui.StateModel{Kind: ui.Danger, Word: k.words.S("requests.not_done"),
			Detail: k.words.say(fault.As(err).Sentence), Test: "state"}}
	if r, err := w.Requests.Get(k.ctx, k.actor, request.ID(id)); err == nil {
		m.Name.Title, m.Name.Detail = r.AskerName+" · "+r.Spec.Tenant, r.Spec.Size.Title
	}
	return m
}
