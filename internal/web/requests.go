package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
	"github.com/gpu-portal/gpu-portal/views/workload"
)

// requestKinds gives each state its colour and icon; the word is "request.state.<state>".
var requestKinds = map[request.State]ui.Kind{
	request.Pending: ui.Waiting, request.Approved: ui.OK, request.Rejected: ui.Danger, request.Withdrawn: ui.Off,
	request.Expired: ui.Off,
}

func requestPath(id request.ID) string { return "/requests/" + string(id) }

// requestState is the state with the decision as its detail, where there is room for it.
func requestState(say words, r request.Request, detailed bool) ui.StateModel {
	m := ui.StateModel{Kind: requestKinds[r.State], Word: upperFirst(say.Say(i18n.T("request.state." + string(r.State)))),
		Test: "state"}
	if r.WaitsForSeat() {
		m.Word = upperFirst(say.S("requests.waits_seat_state"))
	}
	if detailed {
		m.Detail = requestSentence(say, r)
	}
	return m
}

func upperFirst(s string) string {
	runes := []rune(s)
	if len(runes) == 0 {
		return s
	}
	return strings.ToUpper(string(runes[:1])) + string(runes[1:])
}

// requestSentence says how it stands and which rule or person made it so.
func requestSentence(say words, r request.Request) string {
	switch {
	case r.WaitsForSeat():
		return say.say(i18n.T("request.waits_for_seat", "Pool", r.Decision.Seat.Title))
	case r.Kind == request.ResumeKind:
		return say.say(r.Decision.Sentence)
	case r.State == request.Pending:
		return say.S("requests.pending", "By", r.Waits(), "Duration", say.duration(say.now.Sub(r.CreatedAt)), "Rule",
			r.Decision.Rule)
	case r.Decision.ByName == "" && r.State == request.Approved:
		return say.S("requests.by_rule", "Rule", r.Decision.Rule)
	}
	return say.say(r.Decision.Sentence)
}

// requests answers: what was asked, and how does it stand.
func (w *Web) requests(k call) (view, error) {
	chosen := request.Scope(k.get("scope"))
	if chosen != request.ScopeVisible {
		chosen = request.ScopeMine
	}
	f := request.Filter{Cursor: k.get("cursor"), Limit: 50}
	if state := request.State(k.get("state")); slices.Contains(request.States(), state) {
		f.States = []request.State{state}
	}
	items, next, err := w.Requests.List(k.ctx, k.actor, chosen, f)
	if err != nil {
		return view{}, err
	}
	waiting, err := w.waiting(k)
	if err != nil {
		return view{}, err
	}
	m := requests.ListModel{Filter: requestFilter(k, chosen), More: ui.PaginationModel{Label: k.words.S("requests.pages"),
		NextURL: nextURL("/requests", k.query, next)}}
	for _, r := range items {
		m.Rows = append(m.Rows, requestRow(k.words, r))
	}
	if len(items) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "requests", Title: k.words.S("requests.empty"),
			Lines: []string{k.words.S("requests.empty_why")}, Test: "empty", Level: 3}
	}
	model := requests.PageModel{Header: ui.HeaderModel{Title: k.words.S("requests.title"),
		Lead: k.words.S("requests.lead"), Tabs: w.requestTabs(k, "/requests", waiting)}, List: m}
	return view{title: model.Header.Title, nav: "/requests", body: requests.Page(model), wide: true, parts: []part{
		{id: "requests-list", draw: func(words) templ.Component { return requests.List(m) }}}}, nil
}

func requestFilter(k call, chosen request.Scope) ui.FilterBarModel {
	say := k.words
	state := ui.FieldModel{ID: "requests-state", Name: "state", Kind: ui.SelectField,
		Label: say.S("requests.filter_state"), Value: k.get("state"), Test: "filter-state",
		Options: []ui.OptionModel{{Value: "", Label: say.S("start.any")}}}
	for _, s := range request.States() {
		state.Options = append(state.Options, ui.OptionModel{Value: string(s),
			Label: upperFirst(say.Say(i18n.T("request.state." + string(s))))})
	}
	m := ui.FilterBarModel{Action: "/requests", Label: say.S("requests.filter"), Fields: []ui.FieldModel{state},
		Hidden: []ui.HiddenModel{{Name: "scope", Value: string(chosen)}}}
	if k.get("state") != "" {
		m.ClearURL = "/requests?scope=" + url.QueryEscape(string(chosen))
	}
	m.Switch = &ui.TabsModel{Label: say.S("home.whose"), Items: []ui.TabModel{
		{Label: say.S("home.scope_mine"), Href: "/requests", Current: chosen == request.ScopeMine, Test: "scope-mine"},
		{Label: say.S("requests.scope_all"), Href: "/requests?scope=all", Current: chosen == request.ScopeVisible,
			Test: "scope-all"}}}
	return m
}

// requestRow is the line of a request in a list.
func requestRow(say words, r request.Request) requests.RowModel {
	return requests.RowModel{
		Row: ui.RowModel{ID: "request-" + slug(string(r.ID)), Test: "request-row"},
		Name: ui.StackModel{Title: requestName(say, r), Href: requestPath(r.ID), Detail: requestWhat(say, r),
			Icon: string(r.Spec.Kind)},
		Asker:    r.AskerName,
		Size:     sizeModel(say, r.Spec.Size),
		State:    requestState(say, r, true),
		Asked:    say.ago(r.CreatedAt),
		Estimate: requestPrice(say, r),
	}
}

// requestWhat is what is asked for, by whom, for which team.
func requestWhat(say words, r request.Request) string {
	return strings.Join([]string{requestKind(say, r), r.AskerName, r.Spec.Tenant}, " · ")
}

func requestKind(say words, r request.Request) string {
	return say.S("requests.what_"+string(r.Kind), "Kind", i18n.T("kind."+string(r.Spec.Kind)), "Duration",
		say.duration(r.Spec.Lease.Std()), "Amount", r.Spec.Amount)
}

// requestName is what a list and a page call a request: the workload that a start makes, else what it changes.
func requestName(say words, r request.Request) string {
	switch r.Kind {
	case request.QuotaKind:
		return say.S("requests.quota_name", "Size", r.Spec.Size.Title)
	case request.ExtendKind:
		return say.S("requests.one_extension", "Name", r.Spec.Name, "Leases", leaseChange(say, r), "Price",
			say.money(r.Estimate))
	case request.ResumeKind:
		return say.S("requests.one_resume", "Name", r.Spec.Name)
	}
	return r.Spec.Name
}

// requestTitle heads the page of a request.
func requestTitle(say words, r request.Request) string {
	if r.Kind == request.StartKind {
		return say.S("requests.one", "Name", r.Spec.Name)
	}
	return requestName(say, r)
}

// leaseChange is the whole lease before an extension and after it.
func leaseChange(say words, r request.Request) string {
	return say.S("requests.leases", "Before", say.duration(r.Spec.LeaseBefore.Std()), "After",
		say.duration((r.Spec.LeaseBefore + r.Spec.Lease).Std()))
}

// requestPrice is empty for what costs nothing by itself.
func requestPrice(say words, r request.Request) string {
	if r.Kind == request.QuotaKind || r.Kind == request.ResumeKind && r.Estimate.Minor == 0 {
		return "–"
	}
	return say.money(r.Estimate)
}

// besidePrice is what of a request's price is not its size's; "" where all of it is.
func besidePrice(say words, r request.Request) string {
	beside := r.Estimate.Minor - r.Spec.Size.PricePerHour.For(r.Spec.Lease.Std()).Minor
	if beside <= 0 {
		return ""
	}
	return say.S("requests.beside", "Money", say.money(usage.Money{Minor: beside, Currency: r.Estimate.Currency}))
}

// request answers the asker: how does it stand, who has to do what.
func (w *Web) request(k call) (view, error) {
	r, err := w.Requests.Get(k.ctx, k.actor, request.ID(k.get("id")))
	if err != nil {
		return view{}, err
	}
	m := w.requestModel(k, r)
	return view{title: m.Header.Title, nav: "/requests", body: requests.Request(m), parts: []part{
		{id: "request", draw: func(words) templ.Component {
			m := m
			m.Dialogs = nil // they stand outside the region
			return requests.Request(m)
		}}}}, nil
}

func (w *Web) requestModel(k call, r request.Request) requests.RequestModel {
	say := k.words
	state := requestState(say, r, false)
	m := requests.RequestModel{
		Header: ui.HeaderModel{Title: requestTitle(say, r), State: &state,
			Crumbs: []ui.CrumbModel{{Label: say.S("requests.title"), Href: "/requests"}, {Label: string(r.ID)}}},
		Verdict: w.requestVerdict(k, r),
		Items:   requestItems(say, r), Steps: w.stepsModel(say, r),
	}
	m.Forecast = w.requestOutlook(k, r)
	if r.State == request.Pending && identity.Can(k.actor, identity.WithdrawRequest, r.Resource()) {
		m.Header.Actions = append(m.Header.Actions, ui.ActionModel{Button: &ui.ButtonModel{Label: say.S("requests.withdraw"),
			OpensDialog: "withdraw", Kind: ui.Secondary, Icon: "undo", Test: "withdraw"}})
		m.Dialogs = []workload.DialogModel{{Dialog: ui.DialogModel{ID: "withdraw", Kind: ui.Warning,
			Title: say.S("requests.withdraw_ask"), Body: say.S("requests.withdraw_body"),
			Action: requestPath(r.ID) + "/withdraw", Confirm: ui.ButtonModel{Label: say.S("requests.withdraw"),
				Kind: ui.DangerPrimary, Test: "withdraw-confirm"}}}}
	}
	if r.WaitsForSeat() && w.Approvals.MayReject(k.actor, r) == nil {
		m.Header.Actions = append(m.Header.Actions,
			ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("requests.turn_down"), Href: approvalPath(r.ID), Icon: "cross",
				Kind: ui.DangerSecondary, Test: "turn-down"}})
	}
	if w.Requests.MayEdit(k.actor, r) == nil {
		m.Header.Actions = append(m.Header.Actions, ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("requests.edit"),
			Href: requestPath(r.ID) + "/edit", Icon: "edit", Kind: ui.Secondary, Test: "edit"}})
	}
	if r.Kind == request.StartKind && r.Asker == k.actor.Person.ID && r.State != request.Approved &&
		r.State != request.Pending {
		m.Header.Actions = append(m.Header.Actions, ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("requests.again"),
			Href: againURL(r), Icon: "edit", Kind: ui.Secondary, Test: "again"}})
	}
	return m
}

// againURL opens the start page with everything that was asked; a decided request never changes.
func againURL(r request.Request) string {
	q := url.Values{"tenant": {r.Spec.Tenant}, "kind": {string(r.Spec.Kind)}, "size": {r.Spec.Size.Name},
		"image": {r.Spec.Image.Name}, "lease": {r.Spec.Lease.String()}, "reason": {r.Spec.Reason},
		"mounts": mountNames(r.Spec.Mounts)}
	return "/start?" + q.Encode()
}

// requestVerdict is the state as a sentence, with the way on.
func (w *Web) requestVerdict(k call, r request.Request) ui.NoticeModel {
	say := k.words
	n := ui.NoticeModel{Kind: requestKinds[r.State], Title: requestSentence(say, r), Test: "request-verdict"}
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
		places, err := w.Seats.Places(k.ctx)
		if place := places[r.ID]; err == nil && place > 0 { // it may have its seat by now: the page is told then
			n.Title = say.S("requests.waits_seat", "Pool", r.Decision.Seat.Title, "Place", place, "Duration",
				say.duration(say.now.Sub(r.Decision.Seat.Since)))
		}
		n.Body = strings.TrimSpace(n.Body + " " + say.S("requests.waits_seat_more", "Until", say.at(r.ExpiresAt).Exact))
	case r.State == request.Pending:
		n.Body = strings.TrimSpace(w.meanwhile(k, r) + " " + say.S(pendingWords[r.Kind], "Until",
			say.at(r.ExpiresAt).Exact))
	}
	if r.State == request.Approved && r.Workload != "" {
		n.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("requests.to_workload"),
			Href: workloadPath(r.Workload), Kind: ui.Primary, Small: true, Icon: "arrow-right", Test: "to-workload"}}}
	}
	return n
}

func requestItems(say words, r request.Request) []ui.DefModel {
	spec := []ui.DefModel{
		{Term: say.S("start.image"), Value: r.Spec.Image.Title},
		{Term: say.S("start.lease"), Value: say.duration(r.Spec.Lease.Std())},
		{Term: say.S("requests.col_price"), Value: requestPrice(say, r), About: besidePrice(say, r), Test: "estimate"},
	}
	switch r.Kind {
	case request.QuotaKind:
		spec = askedItems(say, r)
	case request.ExtendKind:
		spec[1] = ui.DefModel{Term: say.S("requests.lease"), Value: leaseChange(say, r), Test: "leases"}
		spec[2].Term = say.S("requests.price_added")
	case request.ResumeKind:
		spec[1].Term = say.S("requests.lease_left")
	}
	items := slices.Concat([]ui.DefModel{{Term: say.S("requests.col_size"),
		Component: workload.Size(sizeModel(say, r.Spec.Size))}}, spec, []ui.DefModel{
		{Term: say.S("start.team"), Value: r.Spec.Tenant},
		{Term: say.S("requests.asker"), Value: r.AskerName},
		{Term: say.S("requests.col_asked"), Component: ui.Time(say.at(r.CreatedAt))},
		{Term: say.S("start.sum_rule"), Value: r.Decision.Rule, Test: "rule"},
		{Term: say.S("requests.id"), Component: ui.Copy(ui.CopyModel{Value: string(r.ID), Label: say.S("requests.id"),
			Test: "request-id"})},
	})
	if r.Spec.Reason != "" {
		items = append(items, ui.DefModel{Term: say.S("requests.reason"), Value: r.Spec.Reason, Test: "reason"})
	}
	if r.Spec.StorageGiB > 0 {
		items = append(items, ui.DefModel{Term: say.S("start.storage"), Value: say.gib(float64(r.Spec.StorageGiB))})
	}
	return items
}

func (w *Web) requestWithdraw(c echo.Context) error {
	k := w.callOf(c)
	id := request.ID(c.Param("id"))
	if _, err := w.Requests.Withdraw(k.ctx, k.actor, id); err != nil {
		return err
	}
	return w.done(c, "withdrawn", requestPath(id))
}
