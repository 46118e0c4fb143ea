package requests

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// mostSeats is how many of those that wait for a seat are shown.
const mostSeats = 50

// How many requests for the same size are looked at, and shown.
const similarLooked, similarShown = 20, 5

// approvals answers those who decide: who asks for what, may they, what does it take from others.
func (w *Pages) approvals(k page.Call) (page.View, error) {
	return w.approvalsView(k, typed{}, nil)
}

// typed is what stood in the form of a decision that came back.
type typed struct{ Note, Size, Lease string }

// approvalsView shows the list with one request beside it: the one in the address, else the oldest that can be
// approved.
func (w *Pages) approvalsView(k page.Call, was typed, cause error) (page.View, error) {
	p, err := w.Requests.Page(k.Ctx, k.Actor, request.ScopeInbox, filterOf(k, request.Oldest))
	if err != nil {
		return page.View{}, err
	}
	items := p.Items
	waiting, err := w.Approvals.Waiting(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	open := k.Get("id") == ""
	full, err := w.quotaFull(k, items)
	if err != nil {
		return page.View{}, err
	}
	chosen, err := w.chosenRequest(k, items, full)
	if err != nil {
		return page.View{}, err
	}
	if chosen != nil {
		// The stream of this page stays with this request: the buttons must never come to mean another one.
		k.Query.Set("id", string(chosen.ID))
		if k.Get("seen") == "" {
			k.Query.Set("seen", strconv.FormatInt(chosen.Version, 10))
		}
	}
	m := requests.InboxModel{Header: ui.HeaderModel{Title: k.Words.S("requests.inbox"), Lead: inboxLead(k.Words, waiting),
		Tabs: w.RequestTabs(k, "/approvals", waiting)}, Errors: page.FormErrors(k.Words, page.ProblemsOf(cause))}
	m.List.Pages, m.List.Filter = listOf(k, "/approvals", request.Oldest, p), w.inboxFilter(k, waiting)
	if m.Undo, err = w.undoable(k); err != nil {
		return page.View{}, err
	}
	m.List.Rows = w.inboxRows(k, items, chosen, full)
	if len(items) > 1 {
		m.List.Bulk = bulkModel(k)
	}
	seats, err := w.seatWaits(k, chosen)
	if err != nil {
		return page.View{}, err
	}
	m.Seats, m.List.Seats = seats, seats
	whole := []page.Part{{ID: "inbox-page", Draw: func(page.Words) templ.Component { return requests.Inbox(m) }}}
	if chosen == nil {
		return page.View{Title: m.Header.Title, Nav: "/requests", Body: requests.Inbox(m), Parts: whole,
			Waiting: &waiting}, nil
	}
	detail, err := w.approvalDetail(k, *chosen, items, was, page.ProblemsOf(cause))
	if err != nil {
		return page.View{}, err
	}
	m.Detail = &detail
	v := page.View{Title: m.Header.Title, Nav: "/requests", Body: requests.Inbox(m), Wide: true, Waiting: &waiting,
		Parts: []page.Part{
			{ID: "undo", Draw: func(page.Words) templ.Component { return requests.Undo(m.Undo) }},
			{ID: "approvals", Draw: func(page.Words) templ.Component { return requests.InboxList(m.List) }},
			{ID: "approval-bars", Draw: func(page.Words) templ.Component { return requests.Bars(detail.Bars) }},
			{ID: "approval-decide", Draw: func(page.Words) templ.Component { return requests.Decide(detail) }},
		}}
	if open {
		v.Parts = append(whole, v.Parts...) // a page that was empty gets its first request as a whole
	}
	return v, nil
}

// inboxRows are the requests of a page, those that the address names ticked.
func (w *Pages) inboxRows(k page.Call, items []request.Request, chosen *request.Request,
	full map[request.ID]bool) []requests.InboxRowModel {
	ids := make([]string, len(items))
	for i, r := range items {
		ids[i] = string(r.ID)
	}
	ticked := page.Ticked(k, ids)
	rows := make([]requests.InboxRowModel, 0, len(items))
	for i, r := range items {
		row := w.inboxRow(k, r, chosen != nil && r.ID == chosen.ID, slices.Contains(ticked, ids[i]))
		row.Full = full[r.ID]
		rows = append(rows, row)
	}
	return rows
}

// quotaFull are those that nobody can approve now, because their team holds all that it may.
func (w *Pages) quotaFull(k page.Call, items []request.Request) (map[request.ID]bool, error) {
	quotas, full := blocks.RequestQuotas{}, map[request.ID]bool{}
	for _, r := range items {
		q, ok, err := quotas.Of(k, w.Blocks, r)
		if err != nil {
			return nil, err
		}
		full[r.ID] = ok && q.Full()
	}
	return full, nil
}

// inboxLead counts what waits. Where nothing does, the page says so itself.
func inboxLead(say page.Words, waiting int) string {
	if waiting == 0 {
		return ""
	}
	return say.S("requests.inbox_lead", "Count", waiting)
}

// seatWaits are the requests that somebody approved and that wait for a license seat, as far as the reader could still
// Text no; nil where there are none.
func (w *Pages) seatWaits(k page.Call, chosen *request.Request) (*requests.SeatLineModel, error) {
	items, next, err := w.Requests.List(k.Ctx, k.Actor, request.ScopeSeat, request.Filter{Sort: request.Oldest,
		Limit: mostSeats})
	m := &requests.SeatLineModel{}
	for _, r := range items {
		if !r.WaitsForSeat() || w.Approvals.MayReject(k.Actor, r) != nil {
			continue
		}
		row := w.inboxRow(k, r, chosen != nil && r.ID == chosen.ID, false)
		row.Name.Detail = r.Spec.Name + " · " + r.Decision.Seat.Title + " · " + row.Name.Detail
		m.Rows = append(m.Rows, row)
	}
	if next != "" {
		m.More = mostSeats
	}
	if len(m.Rows) == 0 {
		return nil, err
	}
	return m, err
}

// chosenRequest is the one in the address. Without one it is the first that can be approved, or else the first that
// waits; nil when nothing waits.
func (w *Pages) chosenRequest(k page.Call, items []request.Request,
	full map[request.ID]bool) (*request.Request, error) {
	if id := k.Get("id"); id != "" {
		r, err := w.Requests.Get(k.Ctx, k.Actor, request.ID(id))
		return &r, err
	}
	if len(items) == 0 {
		return nil, nil
	}
	first := slices.IndexFunc(items, func(r request.Request) bool { return !full[r.ID] })
	return &items[max(first, 0)], nil
}

// inboxRow carries the version in its ids: a request that changes becomes another row, and a tick that was meant for
// the previous one goes with that.
func (w *Pages) inboxRow(k page.Call, r request.Request, selected, ticked bool) requests.InboxRowModel {
	say := k.Words
	what := blocks.RequestTerms(say, r)
	if given, ok := r.ReassignedTo(k.Actor.Person.ID); ok {
		what += " · " + say.S("requests.reassigned_row", "From", given.FromName)
	}
	return requests.InboxRowModel{ID: page.Slug(string(r.ID)) + "-" + strconv.FormatInt(r.Version, 10),
		Selected: selected, Tick: tickOf(r), Ticked: ticked, Asker: r.AskerName, Size: say.SizeTitle(r.Spec.Size),
		Name: ui.StackModel{Title: r.AskerName + " · " + w.TeamTitle(r.Spec.Tenant), Detail: what,
			Href: page.ApprovalPath(r.ID) + keptOf(k, inboxNames...)},
		Asked: say.Ago(r.CreatedAt), Reason: firstLine(r.Spec.Reason),
	}
}

func (w *Pages) approvalDetail(k page.Call, r request.Request, waiting []request.Request, was typed,
	problems []fault.Field) (requests.DetailModel, error) {
	say := k.Words
	m := requests.DetailModel{Title: asksFor(say, r),
		Lead: blocks.RequestKind(say, r) + " · " + w.TeamTitle(r.Spec.Tenant), Reason: r.Spec.Reason,
		Facts: w.factsModel(say, r)}
	m.Facts.Asked = say.Ago(r.CreatedAt)
	if r.Kind == request.StartKind {
		m.Lead += " · " + say.Money(r.Estimate)
	}
	for _, other := range waiting {
		if r.Kind != request.ReachKind && other.ID != r.ID && other.Spec.Size.Name == r.Spec.Size.Name {
			m.Others = append(m.Others, requests.OtherModel{Asker: other.AskerName, Team: w.TeamTitle(other.Spec.Tenant),
				Waited: say.Duration(say.Now.Sub(other.CreatedAt))})
		}
	}
	past, _, err := w.Requests.List(k.Ctx, k.Actor, request.ScopeVisible, request.Filter{Asker: r.Asker, Limit: 6})
	if err != nil {
		return m, err
	}
	for _, p := range past {
		if p.ID != r.ID {
			m.History = append(m.History, w.requestRow(say, p))
		}
	}
	granted, err := w.Approvals.HistoryOf(k.Ctx, k.Actor, r)
	if err != nil {
		return m, err
	}
	m.Granted = requests.GrantedModel{Requests: granted.Requests, Days: request.HistoryDays,
		Money: say.Money(usage.Money{Minor: granted.Minor, Currency: r.Estimate.Currency})}
	if m.Similar, err = w.similar(k, r); err != nil {
		return m, err
	}
	m.Steps = w.stepsModel(k, r)
	m.Bars, err = w.takes(k, r)
	m.Decide, m.Why = w.decideForm(k, r, was, problems)
	if m.Why == "" {
		m.Decide.Short = w.shortModel(k, r, m.Bars.Quota)
	}
	m.Given, m.Reclaim = reassignedModels(k, r)
	if was := r.Decision.Returned; was != nil && m.Why == "" {
		m.Returned = &requests.SaidModel{Name: was.ByName, Why: say.Say(was.Why)}
	}
	return m, err
}

// similar are the last requests for the same size that were decided, of all that the reader may see, but not those of
// the same asker, who stand beside.
func (w *Pages) similar(k page.Call, r request.Request) ([]requests.RowModel, error) {
	if r.Kind == request.ReachKind { // its size says nothing of it
		return nil, nil
	}
	list, _, err := w.Requests.List(k.Ctx, k.Actor, request.ScopeVisible, request.Filter{Size: r.Spec.Size.Name,
		States: []request.State{request.Approved, request.Rejected}, Limit: similarLooked})
	var rows []requests.RowModel
	for _, s := range list {
		if s.Asker == r.Asker || len(s.Steps()) == 0 || len(rows) == similarShown {
			continue // what a rule alone decided says nothing of how people decide
		}
		rows = append(rows, w.requestRow(k.Words, s))
	}
	return rows, err
}

// stepsModel is whose approvals a request needs, how far it is, and who said what.
func (w *Pages) stepsModel(k page.Call, r request.Request) (models []ui.StepModel) {
	say := k.Words
	steps := r.Steps()
	if len(steps) == 0 {
		return nil
	}
	open, _ := r.OpenStep()
	for i, s := range steps {
		item := ui.StepModel{Title: page.UpperFirst(say.Text(policy.WhoOf(s.From, s.All))), State: stepState(r, i, open),
			Person: true}
		for _, c := range r.Decision.Consents {
			if c.Step == i {
				if c.Note == r.Decision.Note { // it stands above
					c.Note = ""
				}
				item.Explanation = strings.TrimSpace(item.Explanation + " " + w.consentWords(say, c))
				at := say.Ago(c.At)
				item.Time = &at
			}
		}
		for _, h := range r.Reassigned() {
			if h.Step == i {
				item.Explanation = strings.TrimSpace(item.Explanation + " " + say.S("requests.reassigned", "From", h.FromName, "To",
					h.ToName, "Reason", h.Reason))
			}
		}
		if at, then := r.Escalates(); item.State == ui.StepCurrent && len(then) > 0 {
			id := "requests.escalates_at"
			if !say.Now.Before(at) {
				id = "requests.escalated"
			}
			item.Explanation = strings.TrimSpace(item.Explanation + " " + say.S(id, "By", policy.WhoOf(then, false), "At",
				say.At(at).Exact))
		}
		if item.State == ui.StepFailed && !r.DecidedAt.IsZero() {
			at := say.Ago(r.DecidedAt)
			item.Explanation = strings.TrimSpace(item.Explanation + " " + say.Text(r.Decision.Sentence))
			item.Time = &at
		}
		if item.State == ui.StepCurrent {
			item.Explanation = strings.TrimSpace(w.whoDecides(k, r) + " " + item.Explanation)
		}
		models = append(models, item)
	}
	return models
}

// whoDecides names people who can decide now; "" where that cannot be told, and while a decision can be undone.
func (w *Pages) whoDecides(k page.Call, r request.Request) string {
	if r.Decision.Deferred != nil {
		return ""
	}
	people, more, err := w.Approvals.WhoCanDecide(k.Ctx, k.Actor, r)
	switch {
	case err != nil:
		return ""
	case len(people) == 0:
		return k.Words.S("requests.nobody_decides")
	}
	names := make([]string, len(people))
	for i, p := range people {
		names[i] = p.Name
	}
	if more {
		return k.Words.S("requests.can_decide_more", "Names", strings.Join(names, ", "))
	}
	return k.Words.S("requests.can_decide", "Names", strings.Join(names, ", "))
}

func stepState(r request.Request, step, open int) ui.StepState {
	switch {
	case step < open || r.State == request.Approved:
		return ui.StepDone
	case step > open:
		return ui.StepWaiting
	case r.State == request.Rejected:
		return ui.StepFailed
	case r.State == request.Pending:
		return ui.StepCurrent
	}
	return ui.StepWaiting
}

func (w *Pages) consentWords(say page.Words, c policy.Consent) string {
	name := i18n.Literal(c.ByName)
	if c.For != "" {
		name = i18n.T("request.for", "Name", c.ByName, "For", c.ForName)
	}
	said := say.Text(i18n.T("request.approved_by", "Name", name))
	if c.Change != nil {
		said += " " + say.S("requests.granted_less", "Asked", w.askedFor(say, c.Change))
	}
	if c.Note != "" {
		said += " " + say.S("requests.note", "Note", c.Note)
	}
	return said
}

// askedFor is what stood there before somebody granted less: a size, a time, or both.
func (w *Pages) askedFor(say page.Words, c *policy.Change) string {
	var parts []string
	if c.Size != "" {
		title := c.Size
		if s, ok := w.Site().Catalog.Size(c.Size); ok {
			title = say.SizeTitle(s)
		}
		parts = append(parts, title)
	}
	if c.Lease > 0 {
		parts = append(parts, say.Duration(c.Lease.Std()))
	}
	return strings.Join(parts, ", ")
}

// decideForm has a field and two buttons; why says what stands against deciding.
func (w *Pages) decideForm(k page.Call, r request.Request, was typed,
	problems []fault.Field) (m requests.DecideModel, why string) {
	say := k.Words
	if r.State != request.Pending {
		return m, say.Text(i18n.T("request.already_decided", "State", i18n.T("request.state."+string(r.State)))) + " " +
			say.Text(r.Decision.Sentence)
	}
	may := w.Approvals.MayDecide
	if r.WaitsForSeat() {
		may = w.Approvals.MayReject
	}
	kept := keptOf(k, inboxNames...)
	if err := may(k.Actor, r); err != nil {
		return m, say.Text(fault.As(err).Sentence)
	}
	m = requests.DecideModel{Approve: page.ApprovalPath(r.ID) + "/approve" + kept,
		Reject: page.ApprovalPath(r.ID) + "/reject" + kept, Seen: k.Get("seen"), Less: w.lessModel(say, r, was, problems),
		Note: requests.FieldModel{Value: was.Note, Error: page.WrongIn(say, problems, "note")}}
	if r.WaitsForSeat() { // a yes was said already
		m.Approve, m.Less, m.SeatPool = "", nil, r.Decision.Seat.Title
	}
	if w.Approvals.MayReassign(k.Actor, r) == nil {
		m.Reassign = page.ApprovalPath(r.ID) + "/reassign"
	}
	if k.Get("seen") != strconv.FormatInt(r.Version, 10) {
		m.Changed = page.ApprovalPath(r.ID)
	}
	return m, ""
}

// lessModel is for "yes, but": a smaller size, a shorter time. nil where nothing less can be granted.
func (w *Pages) lessModel(say page.Words, r request.Request, was typed, problems []fault.Field) *requests.LessModel {
	if r.Kind == request.QuotaKind || r.Kind == request.ResumeKind || r.Kind == request.ReachKind {
		return nil
	}
	return &requests.LessModel{Open: was.Size != "" || was.Lease != "",
		Size:  requests.FieldModel{Value: was.Size, Error: page.WrongIn(say, problems, "size")},
		Sizes: sizeOptions(say, request.Smaller(w.Site().Catalog, r)), Asked: say.SizeTitle(r.Spec.Size),
		Lease: requests.FieldModel{Value: was.Lease, Error: page.WrongIn(say, problems, "lease")},
		Most:  r.Spec.Lease.String()}
}

// started is how many of its size an approval starts at once; 0 for what runs already.
func started(r request.Request) int {
	if r.Kind != request.StartKind {
		return 0
	}
	return r.Spec.Replicas.Least()
}

// takes is what an approval would take from others: free capacity, the team's quota, license seats.
func (w *Pages) takes(k page.Call, r request.Request) (requests.BarsModel, error) {
	switch r.Kind {
	case request.QuotaKind:
		return w.quotaTakes(k, r)
	case request.ReachKind:
		return requests.BarsModel{None: true}, nil
	}
	fit := w.RequestFit(k.Ctx, w.Snapshots, r)
	m := requests.BarsModel{Stock: requests.StockModel{Known: fit.Known, Free: fit.Free, Total: fit.Total,
		Takes: started(r)}}
	var err error
	if m.Quota, err = w.quotaModel(k, r); err != nil {
		return m, err
	}
	if m.Budget, err = w.budgetTakes(k, r); err != nil {
		return m, err
	}
	if r.Spec.Size.LicensePool == "" {
		return m, nil
	}
	pools, err := w.Seats.Pools(k.Ctx)
	if seats, ok := license.Find(pools, r.Spec.Size.LicensePool); ok {
		bar := blocks.SeatBar(k.Words, seats, 1)
		m.Seats = &bar
	}
	return m, err
}

func (w *Pages) approve(c echo.Context) error { return w.decide(c, request.ApproveVerb) }

func (w *Pages) reject(c echo.Context) error { return w.decide(c, request.RejectVerb) }

func (w *Pages) decide(c echo.Context, verb request.Verb) error {
	k := w.CallOf(c)
	was := typed{Note: c.FormValue("note"), Size: c.FormValue("size"), Lease: strings.TrimSpace(c.FormValue("lease"))}
	said := request.DecisionInput{Verb: verb, Note: was.Note, Seen: seenIn(c.FormValue("seen")),
		Undoable: true}
	if verb == request.ApproveVerb {
		said.Size, said.Lease = was.Size, was.Lease
	}
	r, err := w.Approvals.Answer(k.Ctx, k.Actor, request.ID(c.Param("id")), said)
	switch {
	case err == nil:
		return w.Done(c, answered(r), "/approvals"+keptOf(k, inboxNames...))
	case !page.Correctable(err):
		return err
	}
	k.Query.Del("seen") // the page that comes back shows the request as it is now
	v, viewErr := w.approvalsView(k, was, err)
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.approvalsPage().Name}, v, page.StatusOf(err))
}

// seenIn reads the version that a form was made of. One that cannot be read is none that ever was, so that the answer
// is a conflict.
func seenIn(text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return math.MaxInt64
	}
	return n
}

// answered is the flash for what an answer led to; "" for one that can be undone, which the page says itself.
func answered(r request.Request) string {
	switch {
	case r.Decision.Deferred != nil:
		return ""
	case r.State == request.Pending:
		return "consented"
	case r.State == request.Rejected:
		return "rejected"
	}
	return "approved"
}

// budgetTakes is what the approval of a request would take of the team's budget; nil where there is none, or the reader
// may not know.
func (w *Pages) budgetTakes(k page.Call, r request.Request) (*ui.MeterModel, error) {
	ask, err := w.Approvals.Takes(k.Ctx, k.Actor, r)
	return blocks.BudgetAfter(k.Words, ask), err
}
