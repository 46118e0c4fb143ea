package requests

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// requests answers: what was asked, and how does it stand.
func (w *Pages) requests(k page.Call) (page.View, error) {
	chosen := request.Scope(k.Get("scope"))
	if chosen != request.ScopeVisible {
		chosen = request.ScopeMine
	}
	f, by := w.listFilter(k)
	p, err := w.Requests.Page(k.Ctx, k.Actor, chosen, f)
	if err != nil {
		return page.View{}, err
	}
	waiting, err := w.Waiting(k)
	if err != nil {
		return page.View{}, err
	}
	m := requests.ListModel{Filter: w.requestFilter(k, chosen, by), Pages: listOf(k, "/requests", request.Newest, p)}
	m.Filter.Count = m.Pages.Count
	for _, r := range p.Items {
		row := w.requestRow(k.Words, r)
		row.Size.Detail, row.Name.Detail = blocks.RequestKind(k.Words, r), w.TeamTitle(r.Spec.Tenant)
		if chosen != request.ScopeMine {
			row.Name.Detail = r.AskerName + " · " + row.Name.Detail
			if row.Reason = pendingReason(r); row.Reason != "" {
				row.State.Detail = "" // many wait for the same people, and each for a reason of its own
			}
		}
		row.Again = again(k, r)
		if r.State == request.Approved && r.Asker == k.Actor.Person.ID && r.Workload != "" {
			row.Workload = page.WorkloadPath(r.Workload)
		}
		if r.State == request.Pending && w.Approvals.MayDecide(k.Actor, r) == nil {
			row.Name.Href, row.Decide = page.ApprovalPath(r.ID), page.ApprovalPath(r.ID)
		}
		if w.Requests.MayEdit(k.Actor, r) == nil {
			row.Edit = page.RequestPath(r.ID) + "/edit"
		}
		m.Rows = append(m.Rows, row)
	}
	if m.Rules, err = w.decidedByRules(k, chosen, f); err != nil {
		return page.View{}, err
	}
	model := requests.PageModel{Header: ui.HeaderModel{Title: k.Words.S("requests.title"),
		Lead: k.Words.S("requests.lead"), Tabs: w.RequestTabs(k, "/requests", waiting)}, List: m}
	if chosen != request.ScopeMine {
		model.Waiting = waiting
	}
	return page.View{Title: model.Header.Title, Nav: "/requests", Body: requests.Page(model), Wide: true,
		Waiting: &waiting,
		Parts: []page.Part{
			{ID: "requests-header", Draw: func(page.Words) templ.Component { return requests.Header(model) }},
			{ID: "requests-list", Draw: func(page.Words) templ.Component { return requests.List(m) }}}}, nil
}

// listFilter reads the address. What rules decided is left out for approvers who say nothing of it: to them it is only
// in the way of what people have to decide.
func (w *Pages) listFilter(k page.Call) (f request.Filter, by string) {
	f = filterOf(k, request.Newest)
	if state := request.State(k.Get("state")); slices.Contains(request.States(), state) {
		f.States = []request.State{state}
	}
	switch d := request.Decider(k.Get("by")); {
	case d == request.DeciderRule, d == request.DeciderPerson, d == request.NotRule:
		f.Decider = d
	case d == "" && w.Approvals.Decides(k.Actor):
		f.Decider = request.NotRule
	}
	if by = string(f.Decider); by == "" {
		by = anybody
	}
	return f, by
}

// decidedByRules counts what is left out of a list and leads to it; nil for nothing.
func (w *Pages) decidedByRules(k page.Call, chosen request.Scope, f request.Filter) (*requests.RulesModel, error) {
	if f.Decider != request.NotRule {
		return nil, nil
	}
	f.Decider, f.Cursor = request.DeciderRule, ""
	n, err := w.Requests.Count(k.Ctx, k.Actor, chosen, f)
	if err != nil || n == 0 {
		return nil, err
	}
	k.Query = maps.Clone(k.Query) // that of the page stays as it is
	k.Query.Set("by", anybody)
	m := requests.RulesModel{Total: shownOf(k.Words, request.Page{Total: n}),
		Show: "/requests" + keptOf(k, "scope", "q", "team", "state", "by", "sort")}
	return &m, nil
}

func (w *Pages) requestFilter(k page.Call, chosen request.Scope, by string) requests.FilterModel {
	m := w.filterModel(k, request.Newest)
	m.Scope, m.State, m.States, m.Decider = requests.Scope(chosen), k.Get("state"), page.IDs(request.States()), by
	if m.State != "" && m.State != string(request.Pending) || k.Get("by") != "" { // who decided says nothing of what waits
		m.Deciders = []string{anybody, string(request.NotRule), string(request.DeciderPerson), string(request.DeciderRule)}
	}
	if filtered(k) {
		m.Clear = "/requests" + keptOf(k, "scope", "sort")
	}
	return m
}

// requestRow is the line of a request in a list.
func (w *Pages) requestRow(say page.Words, r request.Request) requests.RowModel {
	return requests.RowModel{
		ID: page.Slug(string(r.ID)),
		Name: ui.StackModel{Title: blocks.RequestName(say, r), Href: page.RequestPath(r.ID), Detail: w.RequestWhat(say, r),
			Icon: string(r.Spec.Kind)},
		Size:     blocks.SizeModel(say, r.Spec.Size),
		State:    blocks.ListedRequestState(say, r),
		Note:     rejectedNote(r),
		Asked:    say.Ago(r.CreatedAt),
		Estimate: requestPrice(say, r),
	}
}

// rejectedNote is the first line of why a request was rejected; "" for others.
func rejectedNote(r request.Request) string {
	if r.State != request.Rejected {
		return ""
	}
	return firstLine(r.Decision.Note)
}

// pendingReason is the first line of why a request was made that people have to decide; "" for others.
func pendingReason(r request.Request) string {
	if !blocks.WaitsForPeople(r) {
		return ""
	}
	return firstLine(r.Spec.Reason)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// requestTitle heads the page of a request.
func requestTitle(say page.Words, r request.Request) string {
	if r.Kind == request.StartKind {
		return say.S("requests.one", "Name", r.Spec.Name)
	}
	return blocks.RequestName(say, r)
}

// requestPrice is empty for what costs nothing by itself.
func requestPrice(say page.Words, r request.Request) string {
	if r.Kind == request.QuotaKind || r.Kind == request.ReachKind ||
		r.Kind == request.ResumeKind && r.Estimate.Minor == 0 {
		return "–"
	}
	return say.Money(r.Estimate)
}

// besidePrice is what of a request's price is not its size's; "" where all of it is.
func besidePrice(say page.Words, r request.Request) string {
	if r.Kind == request.ReachKind {
		return ""
	}
	beside := r.Estimate.Minor - int64(r.Spec.Replicas.Least())*r.Spec.Size.PricePerHour.For(r.Spec.Lease.Std()).Minor
	if beside <= 0 {
		return ""
	}
	return say.S("requests.beside", "Money", say.Money(usage.Money{Minor: beside, Currency: r.Estimate.Currency}))
}

// request answers the asker: how does it stand, who has to do what.
func (w *Pages) request(k page.Call) (page.View, error) {
	r, err := w.Requests.Get(k.Ctx, k.Actor, request.ID(k.Get("id")))
	if err != nil {
		return page.View{}, err
	}
	m := w.requestModel(k, r)
	return page.View{Title: m.Title, Nav: "/requests", Body: requests.Request(m), Parts: []page.Part{
		{ID: "request", Draw: func(page.Words) templ.Component { return requests.RequestRegion(m) }}}}, nil
}

func (w *Pages) requestModel(k page.Call, r request.Request) requests.RequestModel {
	path := page.RequestPath(r.ID)
	m := requests.RequestModel{Title: requestTitle(k.Words, r), State: blocks.RequestState(k.Words, r, false),
		Verdict: w.requestVerdict(k, r), Facts: w.factsModel(k.Words, r), Steps: w.stepsModel(k, r)}
	m.Facts.RuleSaid = blocks.WaitsForPeople(r)
	if said := m.Verdict.Title; len(m.Steps) == 1 && (m.Steps[0].Explanation == said || // it stands above
		m.Steps[0].Explanation == "" && r.State == request.Withdrawn) { // nobody decided
		m.Steps = nil
	}
	if len(m.Steps) == 1 && r.State == request.Pending && m.Steps[0].State == ui.StepCurrent && !moved(r) {
		m.Verdict.Body = strings.TrimSpace(m.Steps[0].Explanation + " " + m.Verdict.Body) // a card of its own is no more
		m.Steps = nil
	}
	if note := r.Decision.Note; r.State == request.Rejected && m.Steps == nil && isLine(note) {
		m.Verdict.Title, m.Verdict.Body = k.Words.S("requests.said", "Note", note), m.Verdict.Title
	}
	m.Forecast, m.Became = w.RequestOutlook(k, r), w.became(k, r)
	if m.Became != nil && m.Became.Ended { // which matters more than who approved it
		m.Verdict.Kind, m.Verdict.Body = ui.Info, strings.TrimSpace(m.Verdict.Title+" "+m.Verdict.Body)
		m.Verdict.Title, m.State = k.Words.S("requests.ended", "Cost", m.Became.Cost), m.Became.State
		if m.Steps == nil {
			m.Verdict.Body = decidedHow(k.Words, r)
		}
	}
	if len(m.Steps) == 0 {
		m.Course, m.Facts.InCourse = courseOf(k.Words, r, m.Became), true
	}
	if r.State == request.Pending && identity.Can(k.Actor, identity.WithdrawRequest, r.Resource()) {
		m.Withdraw = path + "/withdraw"
	}
	if r.WaitsForSeat() && w.Approvals.MayReject(k.Actor, r) == nil {
		m.TurnDown = page.ApprovalPath(r.ID)
	}
	if w.Requests.MayCloseReach(k.Ctx, k.Actor, r) {
		m.CloseReach = page.WorkloadPath(r.Workload) + "/reach/close"
	}
	if w.Requests.MayEdit(k.Actor, r) == nil {
		m.Edit = path + "/edit"
	}
	m.Again = again(k, r)
	if m.Again != "" && r.State != request.Withdrawn {
		m.Instead = w.StartsInstead(k, r.Spec)
	}
	if r.State == request.Approved && r.Workload != "" {
		m.Workload = page.WorkloadPath(r.Workload)
	}
	if m.Became != nil && m.Became.Ended && r.Kind == request.StartKind && r.Asker == k.Actor.Person.ID {
		m.Again = againURL(r)
	}
	return m
}

// moved reports whether somebody else decides than the rule named at first, now or soon.
func moved(r request.Request) bool {
	_, then := r.Escalates()
	return len(then) > 0 || len(r.Reassigned()) > 0
}

// isLine reports whether a note is short enough for a title.
func isLine(note string) bool {
	const runes = 160
	return note != "" && !strings.Contains(note, "\n") && utf8.RuneCountInString(note) <= runes
}

// became is the workload that came of a request; nil for none, and for who may not see it.
func (w *Pages) became(k page.Call, r request.Request) *requests.BecameModel {
	if r.State != request.Approved || r.Workload == "" {
		return nil
	}
	item, err := w.Workloads.Get(k.Ctx, k.Actor, r.Workload)
	if err != nil {
		return nil
	}
	costs, err := w.Workloads.Costs(k.Ctx, item)
	if err != nil {
		return nil
	}
	m := requests.BecameModel{Cost: k.Words.Money(costs[item.ID]),
		Name:  ui.StackModel{Title: item.Name},
		State: blocks.StateModel(k.Words, item), Ended: item.State == workload.Ended || item.Over()}
	m.State.Detail = "" // it stands on its page
	if !item.PlacedAt.IsZero() {
		at := k.Words.At(item.PlacedAt)
		m.Started = &at
	}
	if item.Lease.Over(k.Words.Now) {
		at := k.Words.At(item.Lease.Until)
		m.Until = &at
	}
	return &m
}

// courseOf is what happened and what comes next, from the request to the end of the workload that came of it.
func courseOf(say page.Words, r request.Request, became *requests.BecameModel) []ui.StepModel {
	asked, decided := say.At(r.CreatedAt), say.At(r.DecidedAt)
	state := ui.StepModel{Title: blocks.RequestState(say, r, false).Word, State: ui.StepDone,
		Time: &decided}
	started := ui.StepModel{Title: say.S("requests.course_started"), State: ui.StepWaiting}
	switch {
	case r.State == request.Pending:
		state.State, state.Time = ui.StepQueued, nil
	case r.State == request.Rejected || r.State == request.Expired:
		state.State = ui.StepFailed
	case became != nil && became.Started != nil:
		started.State, started.Time = ui.StepDone, became.Started
	}
	steps := []ui.StepModel{{Title: say.S("requests.col_asked"), State: ui.StepDone, Time: &asked}, state}
	starts := r.State == request.Pending || became != nil && (became.Started != nil || !became.Ended)
	if starts && r.Kind == request.StartKind {
		steps = append(steps, started)
	}
	if became != nil && became.Ended {
		steps = append(steps, ui.StepModel{Title: became.State.Word, State: ui.StepDone, Time: became.Until})
	}
	return steps
}

// decidedHow says who or what decided, with the note.
func decidedHow(say page.Words, r request.Request) string {
	how := blocks.RequestSentence(say, r)
	if note := r.Decision.Note; note != "" {
		how += " " + say.S("requests.note", "Note", note)
	}
	return how
}

// again is where the asker of a start that came to nothing asks for another one; "" for others.
func again(k page.Call, r request.Request) string {
	if r.Kind == request.StartKind && r.Asker == k.Actor.Person.ID && r.State != request.Approved &&
		r.State != request.Pending {
		return againURL(r)
	}
	return ""
}

// againURL opens the start page with everything that was asked; a decided request never changes.
func againURL(r request.Request) string {
	q := url.Values{"tenant": {r.Spec.Tenant}, "kind": {string(r.Spec.Kind)}, "size": {r.Spec.Size.Name},
		"lease": {r.Spec.Lease.String()}, "reason": {r.Spec.Reason},
		"mounts": blocks.MountNames(r.Spec.Mounts), "volumes": blocks.VolumeUses(r.Spec.Mounts),
		"datasets": blocks.DatasetNames(r.Spec.Mounts)}
	for _, name := range blocks.SecretNames(r.Asker, r.Asker, r.Spec.Secrets) {
		q.Add("secrets", name)
	}
	maps.Copy(q, blocks.ImageValues(r.Spec.Image))
	maps.Copy(q, blocks.StartForm{}.LikeModel(r.Spec.Image, r.Spec.Model, r.Spec.Replicas,
		r.Spec.Scaling).LikeGit(r.Spec.Git).Values())
	return "/start?" + q.Encode()
}

// requestVerdict is the state as a sentence, with the way on.
func (w *Pages) requestVerdict(k page.Call, r request.Request) requests.VerdictModel {
	say := k.Words
	n := requests.VerdictModel{Kind: blocks.RequestKinds[r.State], Title: blocks.RequestSentence(say, r)}
	if r.Decision.Note != "" {
		n.Body = say.S("requests.note", "Note", r.Decision.Note)
	}
	for _, c := range r.Decision.Consents {
		if c.Change != nil {
			n.Items = append(n.Items, say.S("requests.less_than_asked", "Name", c.ByName, "Asked", w.askedFor(say, c.Change)))
		}
	}
	switch {
	case r.WaitsForSeat():
		places, err := w.Seats.Places(k.Ctx)
		if place := places[r.ID]; err == nil && place > 0 { // it may have its seat by now: the page is told then
			n.Title = say.S("requests.waits_seat", "Pool", r.Decision.Seat.Title, "Place", place, "Duration",
				say.Duration(say.Now.Sub(r.Decision.Seat.Since)))
		}
		n.Body = strings.TrimSpace(n.Body + " " + say.S("requests.waits_seat_more", "Until", say.At(r.ExpiresAt).Exact))
	case r.State == request.Pending:
		n.Body = strings.TrimSpace(w.meanwhile(k, r) + " " + say.S(pendingWords[r.Kind], "Until",
			say.At(r.ExpiresAt).Exact))
	}
	return n
}

func (w *Pages) factsModel(say page.Words, r request.Request) requests.FactsModel {
	m := requests.FactsModel{ID: string(r.ID), Kind: requests.Kind(r.Kind), Size: blocks.SizeModel(say, r.Spec.Size),
		Image: say.ImageTitle(r.Spec.Image), Lease: say.Duration(r.Spec.Lease.Std()), Price: requestPrice(say, r),
		Beside: besidePrice(say, r), PerHour: say.MoneyPerHour(r.Spec.Size.PricePerHour),
		Job:     blocks.JobModel(say, r.Spec.Job, r.Spec.Replicas.Most()),
		Serves:  blocks.ServesModel(say, r.Spec.Image, r.Spec.Model, r.Spec.Replicas),
		Scaling: blocks.ScalingFacts(say, r.Spec.Scaling),
		Amount:  r.Spec.Amount, Team: w.TeamTitle(r.Spec.Tenant), Asker: r.AskerName,
		Asked: say.At(r.CreatedAt), Rule: r.Decision.Rule, Reason: r.Spec.Reason}
	if m.Scan = w.Site().Scans.Of(r.Spec.Image.Reference); r.Spec.Image.IsCustom() {
		m.Reference = r.Spec.Image.Reference
	}
	if r.Spec.Outside {
		m.Reach = say.S("requests.reach_always")
		if until := r.Spec.OutsideUntil; !until.IsZero() {
			m.Reach = say.S("requests.reach_until", "Until", say.At(until).Exact)
		}
	}
	if r.Kind == request.ExtendKind {
		m.Lease = blocks.LeaseChange(say, r)
	}
	if most := r.Spec.Replicas.Most(); most > r.Spec.Replicas.Lowest() {
		m.Replicas, m.MostReplicas = r.Spec.Replicas.Lowest(), most
	}
	if r.EstimateMost.Minor > r.Estimate.Minor {
		m.PriceMost = say.Money(r.EstimateMost)
	}
	if r.Spec.StorageGiB > 0 {
		m.Storage = say.GiB(float64(r.Spec.StorageGiB))
	}
	return m
}

// extensionUndo takes an extension back that was granted at once.
func (w *Pages) extensionUndo(c echo.Context) error {
	k := w.CallOf(c)
	r, err := w.Requests.UndoExtension(k.Ctx, k.Actor, request.ID(c.Param("id")))
	if err != nil {
		return err
	}
	return w.Done(c, "extension-undone", page.WorkloadPath(r.Workload))
}

func (w *Pages) requestWithdraw(c echo.Context) error {
	k := w.CallOf(c)
	id := request.ID(c.Param("id"))
	if _, err := w.Requests.Withdraw(k.Ctx, k.Actor, id); err != nil {
		return err
	}
	return w.Done(c, "withdrawn", page.RequestPath(id))
}
