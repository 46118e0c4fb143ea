package blocks

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// RequestKinds gives each state its colour and icon; the word is "request.state.<state>".
var RequestKinds = map[request.State]ui.Kind{
	request.Pending: ui.Waiting, request.Approved: ui.OK, request.Rejected: ui.Danger, request.Withdrawn: ui.Off,
	request.Expired: ui.Off,
}

// RequestState is the state with the decision as its detail, where there is room for it.
func RequestState(say page.Words, r request.Request, detailed bool) ui.StateModel {
	m := ui.StateModel{Kind: RequestKinds[r.State],
		Word: page.UpperFirst(say.Say(i18n.T("request.state." + string(r.State))))}
	if r.WaitsForSeat() {
		m.Word = page.UpperFirst(say.S("requests.waits_seat_state"))
	}
	if detailed {
		m.Detail = rowSentence(say, r)
	}
	return m
}

// ListedRequestState is the same for a list that has a column of when it was asked.
func ListedRequestState(say page.Words, r request.Request) ui.StateModel {
	m := RequestState(say, r, true)
	if WaitsForPeople(r) {
		m.Detail = say.S("requests.listed_row", "By", r.Waits())
	}
	return m
}

// rowSentence is the sentence beside a state that already says that it waits.
func rowSentence(say page.Words, r request.Request) string {
	if WaitsForPeople(r) {
		return say.S("requests.pending_row", "By", r.Waits(), "Duration", say.Duration(say.Now.Sub(r.CreatedAt)))
	}
	return RequestSentence(say, r)
}

// WaitsForPeople reports whether somebody has to decide it.
func WaitsForPeople(r request.Request) bool {
	return r.State == request.Pending && r.Kind != request.ResumeKind && !r.WaitsForSeat() && r.Decision.Deferred == nil
}

// RequestSentence says how it stands and which rule or person made it so.
func RequestSentence(say page.Words, r request.Request) string {
	switch {
	case r.Decision.Deferred != nil:
		return say.Text(i18n.T("request.deferred", "By", r.Decision.Deferred.Sentence()))
	case r.WaitsForSeat():
		return say.Text(i18n.T("request.waits_for_seat", "Pool", r.Decision.Seat.Title))
	case r.Kind == request.ResumeKind:
		return say.Text(r.Decision.Sentence)
	case r.State == request.Pending:
		return say.S("requests.pending", "Duration", say.Duration(say.Now.Sub(r.CreatedAt)), "Rule", r.Decision.Rule)
	case r.Decision.ByName == "" && r.State == request.Approved:
		return say.S("requests.by_rule", "Rule", r.Decision.Rule)
	}
	return say.Text(r.Decision.Sentence)
}

// RequestWhat is what is asked for, by whom, for which team.
func (w *Blocks) RequestWhat(say page.Words, r request.Request) string {
	return strings.Join([]string{RequestKind(say, r), r.AskerName, w.TeamTitle(r.Spec.Tenant)}, " · ")
}

// RequestKind is what is asked for in a word or two.
func RequestKind(say page.Words, r request.Request) string {
	return say.S("requests.what_"+string(r.Kind), "Kind", i18n.T("kind."+string(r.Spec.Kind)), "Duration",
		say.Duration(r.Spec.Lease.Std()), "Amount", r.Spec.Amount)
}

// RequestName is what a list and a page call a request: the workload that a start makes, else what it changes.
func RequestName(say page.Words, r request.Request) string {
	switch r.Kind {
	case request.QuotaKind:
		return say.S("requests.quota_name", "Size", say.SizeTitle(r.Spec.Size))
	case request.ExtendKind:
		return say.S("requests.one_extension", "Name", r.Spec.Name, "Leases", LeaseChange(say, r), "Price",
			say.Money(r.Estimate))
	case request.ResumeKind:
		return say.S("requests.one_resume", "Name", r.Spec.Name)
	case request.ReachKind:
		return say.S("requests.one_reach", "Name", r.Spec.Name)
	}
	return r.Spec.Name
}

// RequestTerms is what is asked for with its duration and price, in a line for those who decide.
func RequestTerms(say page.Words, r request.Request) string {
	if r.Kind == request.QuotaKind {
		return say.SizeTitle(r.Spec.Size) + " · " + RequestKind(say, r)
	}
	if r.Kind == request.ExtendKind || r.Kind == request.ResumeKind || r.Kind == request.ReachKind {
		return RequestName(say, r)
	}
	return say.SizeTitle(r.Spec.Size) + " · " + say.Duration(r.Spec.Lease.Std()) + " · " + say.Money(r.Estimate)
}
