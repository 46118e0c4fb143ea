package requests

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
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
	"github.com/gpu-portal/gpu-portal/views/workload"
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
	m := requests.ListModel{Filter: w.requestFilter(k, chosen, by), More: pagesOf(k, "/requests", p)}
	m.Filter.Count = shownOf(k.Words, p)
	for _, r := range p.Items {
		m.Rows = append(m.Rows, requestRow(k.Words, r))
	}
	if m.Rules, err = w.decidedByRules(k, chosen, f); err != nil {
		return page.View{}, err
	}
	switch {
	case len(p.Items) > 0:
	case filtered(k):
		m.Empty = nothingFound(k.Words, m.Filter.ClearURL)
	case m.Rules != nil:
		m.Empty = &ui.EmptyStateModel{Icon: "requests", Title: k.Words.S("requests.only_rules"), Test: "empty", Level: 3}
	default:
		m.Empty = &ui.EmptyStateModel{Icon: "requests", Title: k.Words.S("requests.empty"),
			Lines: []string{k.Words.S("requests.empty_why")}, Test: "empty", Level: 3}
	}
	model := requests.PageModel{Header: ui.HeaderModel{Title: k.Words.S("requests.title"),
		Lead: k.Words.S("requests.lead"), Tabs: w.RequestTabs(k, "/requests", waiting)}, List: m}
	return page.View{Title: model.Header.Title, Nav: "/requests", Body: requests.Page(model), Wide: true,
		Parts: []page.Part{
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
	k.Query.Set("by", anybody)
	m := requests.RulesModel{Words: k.Words.S("requests.by_rules", "Total", shownOf(k.Words, request.Page{Total: n})),
		Show: ui.LinkButtonModel{Label: k.Words.S("requests.by_rules_show"), Kind: ui.LinkLike, Small: true,
			Href: "/requests" + keptOf(k, "scope", "q", "team", "state", "by", "sort"), Test: "show-rules"}}
	k.Query.Del("by")
	return &m, nil
}

func (w *Pages) requestFilter(k page.Call, chosen request.Scope, by string) ui.FilterBarModel {
	say := k.Words
	state := ui.FieldModel{ID: "requests-state", Name: "state", Kind: ui.SelectField,
		Label: say.S("requests.filter_state"), Value: k.Get("state"), Test: "filter-state",
		Options: []ui.OptionModel{{Value: "", Label: say.S("start.any")}}}
	for _, s := range request.States() {
		state.Options = append(state.Options, ui.OptionModel{Value: string(s),
			Label: page.UpperFirst(say.Say(i18n.T("request.state." + string(s))))})
	}
	decider := ui.FieldModel{ID: "requests-by", Name: "by", Kind: ui.SelectField, Label: say.S("requests.filter_by"),
		Value: by, Test: "filter-by"}
	for _, d := range []string{anybody, string(request.NotRule), string(request.DeciderPerson),
		string(request.DeciderRule)} {
		decider.Options = append(decider.Options, ui.OptionModel{Value: d, Label: say.Say(i18n.T("requests.by." + d))})
	}
	m := ui.FilterBarModel{Action: "/requests", Label: say.S("requests.filter"), Search: searchField(k, "requests-q"),
		Fields: slices.Concat([]ui.FieldModel{state, decider}, w.teamField(k, "requests-team"),
			[]ui.FieldModel{sortField(k, "requests-sort", request.Newest)}),
		Hidden: []ui.HiddenModel{{Name: "scope", Value: string(chosen)}}}
	if filtered(k) {
		m.ClearURL = "/requests" + keptOf(k, "scope", "sort")
	}
	m.Switch = &ui.TabsModel{Label: say.S("home.whose"), Items: []ui.TabModel{
		{Label: say.S("home.scope_mine"), Href: "/requests", Current: chosen == request.ScopeMine, Test: "scope-mine"},
		{Label: say.S("requests.scope_all"), Href: "/requests?scope=all", Current: chosen == request.ScopeVisible,
			Test: "scope-all"}}}
	return m
}

// requestRow is the line of a request in a list.
func requestRow(say page.Words, r request.Request) requests.RowModel {
	return requests.RowModel{
		Row: ui.RowModel{ID: "request-" + page.Slug(string(r.ID)), Test: "request-row"},
		Name: ui.StackModel{Title: requestName(say, r), Href: page.RequestPath(r.ID), Detail: blocks.RequestWhat(say, r),
			Icon: string(r.Spec.Kind)},
		Asker:    r.AskerName,
		Size:     blocks.SizeModel(say, r.Spec.Size),
		State:    blocks.RequestState(say, r, true),
		Asked:    say.Ago(r.CreatedAt),
		Estimate: requestPrice(say, r),
	}
}

// requestName is what a list and a page call a request: the workload that a start makes, else what it changes.
func requestName(say page.Words, r request.Request) string {
	switch r.Kind {
	case request.QuotaKind:
		return say.S("requests.quota_name", "Size", say.SizeTitle(r.Spec.Size))
	case request.ExtendKind:
		return say.S("requests.one_extension", "Name", r.Spec.Name, "Leases", blocks.LeaseChange(say, r), "Price",
			say.Money(r.Estimate))
	case request.ResumeKind:
		return say.S("requests.one_resume", "Name", r.Spec.Name)
	}
	return r.Spec.Name
}

// requestTitle heads the page of a request.
func requestTitle(say page.Words, r request.Request) string {
	if r.Kind == request.StartKind {
		return say.S("requests.one", "Name", r.Spec.Name)
	}
	return requestName(say, r)
}

// requestPrice is empty for what costs nothing by itself.
func requestPrice(say page.Words, r request.Request) string {
	if r.Kind == request.QuotaKind || r.Kind == request.ResumeKind && r.Estimate.Minor == 0 {
		return "–"
	}
	return say.Money(r.Estimate)
}

// besidePrice is what of a request's price is not its size's; "" where all of it is.
func besidePrice(say page.Words, r request.Request) string {
	beside := r.Estimate.Minor - r.Spec.Size.PricePerHour.For(r.Spec.Lease.Std()).Minor
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
	return page.View{Title: m.Header.Title, Nav: "/requests", Body: requests.Request(m), Parts: []page.Part{
		{ID: "request", Draw: func(page.Words) templ.Component {
			m := m
			m.Dialogs = nil // they stand outside the region
			return requests.Request(m)
		}}}}, nil
}

func (w *Pages) requestModel(k page.Call, r request.Request) requests.RequestModel {
	say := k.Words
	state := blocks.RequestState(say, r, false)
	m := requests.RequestModel{
		Header: ui.HeaderModel{Title: requestTitle(say, r), State: &state,
			Crumbs: []ui.CrumbModel{{Label: say.S("requests.title"), Href: "/requests"}, {Label: string(r.ID)}}},
		Verdict: w.requestVerdict(k, r),
		Items:   requestItems(say, r), Steps: w.stepsModel(say, r),
	}
	m.Forecast = w.RequestOutlook(k, r)
	if r.State == request.Pending && identity.Can(k.Actor, identity.WithdrawRequest, r.Resource()) {
		m.Header.Actions = append(m.Header.Actions, ui.ActionModel{Button: &ui.ButtonModel{Label: say.S("requests.withdraw"),
			OpensDialog: "withdraw", Kind: ui.Secondary, Icon: "undo", Test: "withdraw"}})
		m.Dialogs = []workload.DialogModel{{Dialog: ui.DialogModel{ID: "withdraw", Kind: ui.Warning,
			Title: say.S("requests.withdraw_ask"), Body: say.S("requests.withdraw_body"),
			Action: page.RequestPath(r.ID) + "/withdraw", Confirm: ui.ButtonModel{Label: say.S("requests.withdraw"),
				Kind: ui.DangerPrimary, Test: "withdraw-confirm"}}}}
	}
	if r.WaitsForSeat() && w.Approvals.MayReject(k.Actor, r) == nil {
		m.Header.Actions = append(m.Header.Actions,
			ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("requests.turn_down"), Href: approvalPath(r.ID), Icon: "cross",
				Kind: ui.DangerSecondary, Test: "turn-down"}})
	}
	if w.Requests.MayEdit(k.Actor, r) == nil {
		m.Header.Actions = append(m.Header.Actions, ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("requests.edit"),
			Href: page.RequestPath(r.ID) + "/edit", Icon: "edit", Kind: ui.Secondary, Test: "edit"}})
	}
	if r.Kind == request.StartKind && r.Asker == k.Actor.Person.ID && r.State != request.Approved &&
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
		"mounts": blocks.MountNames(r.Spec.Mounts)}
	return "/start?" + q.Encode()
}

// requestVerdict is the state as a sentence, with the way on.
func (w *Pages) requestVerdict(k page.Call, r request.Request) ui.NoticeModel {
	say := k.Words
	n := ui.NoticeModel{Kind: blocks.RequestKinds[r.State], Title: blocks.RequestSentence(say, r), Test: "request-verdict"}
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
	if r.State == request.Approved && r.Workload != "" {
		n.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("requests.to_workload"),
			Href: page.WorkloadPath(r.Workload), Kind: ui.Primary, Small: true, Icon: "arrow-right", Test: "to-workload"}}}
	}
	return n
}

func requestItems(say page.Words, r request.Request) []ui.DefModel {
	spec := []ui.DefModel{
		{Term: say.S("start.image"), Value: say.ImageTitle(r.Spec.Image)},
		{Term: say.S("start.lease"), Value: say.Duration(r.Spec.Lease.Std())},
		{Term: say.S("requests.col_price"), Value: requestPrice(say, r), About: besidePrice(say, r), Test: "estimate"},
	}
	spec = append(spec, blocks.JobFacts(say, r.Spec.Job)...)
	switch r.Kind {
	case request.QuotaKind:
		spec = askedItems(say, r)
	case request.ExtendKind:
		spec[1] = ui.DefModel{Term: say.S("requests.lease"), Value: blocks.LeaseChange(say, r), Test: "leases"}
		spec[2].Term = say.S("requests.price_added")
	case request.ResumeKind:
		spec[1].Term = say.S("requests.lease_left")
	}
	items := slices.Concat([]ui.DefModel{{Term: say.S("requests.col_size"),
		Component: workload.Size(blocks.SizeModel(say, r.Spec.Size))}}, spec, []ui.DefModel{
		{Term: say.S("start.team"), Value: r.Spec.Tenant},
		{Term: say.S("requests.asker"), Value: r.AskerName},
		{Term: say.S("requests.col_asked"), Component: ui.Time(say.At(r.CreatedAt))},
		{Term: say.S("start.sum_rule"), Value: r.Decision.Rule, Test: "rule"},
		{Term: say.S("requests.id"), Component: ui.Copy(ui.CopyModel{Value: string(r.ID), Label: say.S("requests.id"),
			Test: "request-id"})},
	})
	if r.Spec.Reason != "" {
		items = append(items, ui.DefModel{Term: say.S("requests.reason"), Value: r.Spec.Reason, Test: "reason"})
	}
	if r.Spec.StorageGiB > 0 {
		items = append(items, ui.DefModel{Term: say.S("start.storage"), Value: say.GiB(float64(r.Spec.StorageGiB))})
	}
	return items
}

func (w *Pages) requestWithdraw(c echo.Context) error {
	k := w.CallOf(c)
	id := request.ID(c.Param("id"))
	if _, err := w.Requests.Withdraw(k.Ctx, k.Actor, id); err != nil {
		return err
	}
	return w.Done(c, "withdrawn", page.RequestPath(id))
}
