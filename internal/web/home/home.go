package home

import (
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/manual"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/home"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// scopes are those that make sense for the actor.
func scopes(a identity.Actor) []page.Scope {
	list := []page.Scope{page.ScopeMine}
	if len(a.TenantNames()) > 0 {
		list = append(list, page.ScopeTeam)
	}
	if a.SeesAll() {
		list = append(list, page.ScopeAll)
	}
	return list
}

// home answers: what do I have, is it well, what ends soon, what waits for me.
func (w *Pages) home(k page.Call) (page.View, error) {
	chosen := page.Scope(k.Get("scope"))
	if !slices.Contains(scopes(k.Actor), chosen) {
		chosen = page.ScopeMine
	}
	p, err := w.homeWorkloads(k, chosen)
	if err != nil {
		return page.View{}, err
	}
	pending, err := w.ownPending(k)
	if err != nil {
		return page.View{}, err
	}
	own, err := w.own(k, chosen, p)
	if err != nil {
		return page.View{}, err
	}
	attention, err := w.attention(k, own, p)
	if err != nil {
		return page.View{}, err
	}
	if chosen == page.ScopeTeam {
		w.attendOthers(k, p.items, &attention)
	}
	list, err := w.homeList(k, chosen, p, pending)
	if err != nil {
		return page.View{}, err
	}
	waiting := attention.Waiting()
	if attention.Decide != nil {
		attention.Decide.Brief = list.Empty == nil && list.Welcome == nil
	}
	if list.Empty != nil && w.Approvals.Decides(k.Actor) {
		list.Empty.Decides, list.Empty.Hidden = true, waiting > 0 && list.Empty.Platform == ""
	}
	quotas, err := w.quotas(k)
	if err != nil {
		return page.View{}, err
	}
	quotas.Folded = list.Welcome != nil // nothing is held yet
	repeat, err := w.RepeatStart(k)
	if err != nil {
		return page.View{}, err
	}
	var decided []home.DecidedModel
	if list.Empty != nil && list.Empty.Decides {
		if decided, err = w.decided(k); err != nil {
			return page.View{}, err
		}
	}
	title, nav := homeTitle(k.Words, chosen), "/"
	if list.Empty != nil && list.Empty.Hidden { // nothing but what waits for the reader
		title, nav = k.Words.S("home.title_decide"), "/requests"
	}
	m := home.PageModel{
		Header: ui.HeaderModel{Title: title, Lead: homeLead(k.Words, p, pending)},
		Repeat: repeat, Attention: attention, List: list, Quotas: quotas,
		Decided: decided,
	}
	return page.View{Title: m.Header.Title, Nav: nav, Wide: true, Tour: page.TourHome, Body: home.Page(m),
		Waiting: &waiting, Parts: w.homeParts(k, m, p.items)}, nil
}

// homeTitle says whose workloads the list has.
func homeTitle(say page.Words, s page.Scope) string {
	switch s {
	case page.ScopeTeam:
		return say.S("home.title_team")
	case page.ScopeAll:
		return say.S("home.title_all")
	}
	return say.S("home.title")
}

// ownPending are the actor's own starts that wait for an approval.
func (w *Pages) ownPending(k page.Call) ([]request.Request, error) {
	items, _, err := w.Requests.List(k.Ctx, k.Actor, request.ScopeMine,
		request.Filter{States: []request.State{request.Pending}, Limit: 50})
	return slices.DeleteFunc(items, func(r request.Request) bool { return r.Kind != request.StartKind }), err
}

// homeLead counts by state; what is zero is left out, but for what runs.
func homeLead(say page.Words, p part, pending []request.Request) string {
	if p.everything()+len(pending) == 0 {
		return ""
	}
	var parts []string
	for _, g := range stateGroups {
		if n := g.in(p.states); n > 0 || g == groupRunning {
			parts = append(parts, say.S("home.count_"+string(g), "N", n))
		}
		if n := len(pending); g == groupWaiting && n > 0 {
			parts = append(parts, say.S("home.count_approval", "N", n))
		}
	}
	return strings.Join(parts, ", ")
}

// homeParts are the live regions. The use of each workload is one of its own: it changes every few seconds, the rest
// does not.
func (w *Pages) homeParts(k page.Call, m home.PageModel, items []workload.Workload) []page.Part {
	parts := []page.Part{
		{ID: "home-attention", Draw: func(page.Words) templ.Component { return home.Attention(m.Attention) }},
		{ID: "home-list", Draw: func(page.Words) templ.Component { return home.List(m.List) }},
		{ID: "home-quotas", Draw: func(page.Words) templ.Component { return home.Quotas(m.Quotas) }},
	}
	for i := range items {
		item := &items[i] // a copy for each would take as much memory as the page
		if item.State == workload.Running && item.Size.Devices() > 0 {
			parts = append(parts, page.Part{ID: blocks.UseID(item.ID), Ticks: true, Draw: func(say page.Words) templ.Component {
				k.Words = say
				return workloadview.Use(w.UseModel(k, *item))
			}})
		}
	}
	return parts
}

func (w *Pages) homeList(k page.Call, chosen page.Scope, p part, pending []request.Request) (home.ListModel, error) {
	costs, err := w.Workloads.Costs(k.Ctx, p.items...)
	if err != nil {
		return home.ListModel{}, err
	}
	m := home.ListModel{Switch: scopeSwitch(k, chosen)}
	if p.everything()+len(pending) == 0 {
		w.nothingOf(k, chosen, &m)
		return m, nil
	}
	m.States = stateOptions(k.Words, p, len(pending))
	if p.chosen != "" && p.chosen != groupWaiting {
		pending = nil
	}
	pending = page.Matching(pending, k.Get("q"), func(r request.Request) string { return r.Spec.Name })
	rows := p.total + len(pending)
	if p.list.Page > 1 { // they stand on the first page
		pending = nil
	}
	m.Rows = make([]workloadview.RowModel, 0, len(p.items)+len(pending))
	for _, item := range p.items {
		if p.list.Sort == string(workload.ByState) && !comesFirst(item.State) && len(pending) > 0 {
			m.Rows, pending = append(m.Rows, w.pendingRows(k, pending)...), nil
		}
		row := w.WorkloadRow(k, item, costs[item.ID])
		if n := w.EndingModel(k, item); n != nil && n.More != "" {
			row.Ending, row.State.Detail = n, k.Words.S("home.ends_at", "At", n.At)
		}
		if chosen != page.ScopeMine { // the rows of a list of several people say the same of each
			row.Name.Detail = blocks.OwnerDetail(k.Words, item)
		}
		m.Rows = append(m.Rows, row)
	}
	m.Rows = append(m.Rows, w.pendingRows(k, pending)...)
	m.Scope, m.Text, m.State = string(chosen), k.Get("q"), string(p.chosen)
	m.List = p.list.Model(k.Words, k.Words.S("home.title"), p.total)
	if p.total <= page.RowsPerPage { // the count of several pages is of workloads alone
		m.List.Count = k.Words.S("web.entries", "Count", rows)
	}
	if m.Text != "" || m.State != "" {
		m.Clear = "/?scope=" + string(chosen)
	}
	return m, nil
}

// stateOptions are the groups that the list can be filtered by, where it is long.
func stateOptions(say page.Words, p part, pending int) []ui.OptionModel {
	if p.everything() <= page.RowsPerPage && p.chosen == "" {
		return nil
	}
	options := []ui.OptionModel{{Label: say.S("requests.any_state")}}
	for _, g := range stateGroups {
		n := g.in(p.states)
		if g == groupWaiting {
			n += pending
		}
		if n > 0 || g == p.chosen {
			options = append(options, ui.OptionModel{Value: string(g), Label: say.S("home.count_"+string(g), "N", n)})
		}
	}
	return options
}

// comesFirst reports whether a workload stands before what waits: what one opens or has to mend.
func comesFirst(s workload.State) bool {
	return s == workload.Failed || s == workload.Running || s == workload.Asleep
}

func (w *Pages) pendingRows(k page.Call, pending []request.Request) []workloadview.RowModel {
	var rows []workloadview.RowModel
	for _, r := range pending {
		rows = append(rows, w.pendingRow(k, r))
	}
	return rows
}

func scopeSwitch(k page.Call, chosen page.Scope) *ui.TabsModel {
	choices := scopes(k.Actor)
	if len(choices) < 2 {
		return nil
	}
	m := &ui.TabsModel{Label: k.Words.S("home.whose")}
	for _, s := range choices {
		m.Items = append(m.Items, ui.TabModel{Label: k.Words.S("home.scope_" + string(s)), Href: "/?scope=" + string(s),
			Current: s == chosen, Test: "scope-" + string(s)})
	}
	return m
}

// pendingRow is a start that waits for an approval: it stands among the workloads, because that is what it will be.
func (w *Pages) pendingRow(k page.Call, r request.Request) workloadview.RowModel {
	say := k.Words
	return workloadview.RowModel{
		ID: "r-" + page.Slug(string(r.ID)), Request: true,
		Name: ui.StackModel{Title: r.Spec.Name, Href: page.RequestPath(r.ID),
			Detail: say.Say(i18n.T("kind."+string(r.Spec.Kind))) + " · " + say.ImageTitle(r.Spec.Image),
			Icon:   string(r.Spec.Kind)},
		State: blocks.RequestState(say, r, true), Forecast: blocks.BriefOutlook(w.RequestOutlook(k, r)),
		Size:  blocks.SizeModel(say, r.Spec.Size),
		Use:   workloadview.UseModel{ID: "use-" + page.Slug(string(r.ID)), Words: "–"},
		Lease: workloadview.LeaseModel{Words: say.S("web.lease_later", "Duration", say.Duration(r.Spec.Lease.Std()))},
		Cost:  "–", Price: say.MoneyPerHour(r.Spec.Size.PricePerHour),
	}
}

// attention is what wants a decision, the most urgent first. What a row of the list says and offers is not said twice.
func (w *Pages) attention(k page.Call, items []workload.Workload, p part) (home.AttentionModel, error) {
	var m home.AttentionModel
	states, err := w.Idle.States(k.Ctx, items...)
	if err != nil {
		return m, err
	}
	for _, item := range items {
		if is := states[item.ID]; item.Owner == k.Actor.Person.ID && !is.Warned.IsZero() {
			if n := blocks.IdleModel(k.Words, item, is, true); n != nil {
				m.Idle = append(m.Idle, home.IdleModel{Name: item.Name, Notice: *n})
			}
		}
	}
	for _, item := range items {
		if n := w.EndingModel(k, item); n != nil && item.Owner == k.Actor.Person.ID && (n.More == "" || !p.shows(item.ID)) {
			m.Ending = append(m.Ending, *n)
		}
	}
	for _, item := range items {
		if alarms(k, item) && !p.shows(item.ID) {
			m.Failed = append(m.Failed, home.FailedModel{Name: item.Name, Why: k.Words.Text(item.Reason),
				Href: page.WorkloadPath(item.ID), Again: w.StartAgain(k, item)})
		}
	}
	m.Decide, err = w.decide(k)
	return m, err
}

// othersShown is how many leases of others that cannot be extended stand above the list of a team.
const othersShown = 3

// attendOthers adds what no row of the team's list can say to one who looks after the workloads of others: a lease that
// ends and cannot be extended.
func (w *Pages) attendOthers(k page.Call, items []workload.Workload, m *home.AttentionModel) {
	left := othersShown
	for _, item := range items {
		if left == 0 || item.Owner == k.Actor.Person.ID ||
			!identity.Can(k.Actor, identity.ChangeWorkload, item.Resource()) {
			continue
		}
		if n := w.EndingModel(k, item); n != nil && n.More == "" {
			n.Name = item.Name + " (" + item.OwnerName + ")"
			m.Ending = append(m.Ending, *n)
			left--
		}
	}
}

// decideShown is how many of the requests that wait for the reader are named.
const decideShown = 3

// decidedShown is how many decisions are named to those who decide.
const decidedShown = 5

// decide names the requests that have waited longest for the reader's decision; nil where none waits.
func (w *Pages) decide(k page.Call) (*home.DecideModel, error) {
	waiting, err := w.Waiting(k)
	if err != nil || waiting == 0 {
		return nil, err
	}
	oldest, _, err := w.Requests.List(k.Ctx, k.Actor, request.ScopeInbox,
		request.Filter{Sort: request.Oldest, Limit: decideShown})
	if err != nil {
		return nil, err
	}
	m, quotas := &home.DecideModel{Count: waiting, All: page.ApprovalsPath}, blocks.RequestQuotas{}
	for _, r := range oldest {
		row := home.DecideRowModel{ID: page.Slug(string(r.ID)), Asked: k.Words.Ago(r.CreatedAt),
			Reason: r.Spec.Reason, Free: w.freeOf(k, r),
			Name: ui.StackModel{Title: r.AskerName + " · " + w.TeamTitle(r.Spec.Tenant),
				Detail: blocks.RequestTerms(k.Words, r), Href: page.ApprovalPath(r.ID)}}
		q, ok, err := quotas.Of(k, w.Blocks, r)
		if err != nil {
			return nil, err
		}
		if ok {
			row.Quota, row.Full = k.Words.S("home.quota_used", "Used", q.Used, "Limit", q.Limit), q.Full()
		}
		m.Rows = append(m.Rows, row)
	}
	return m, nil
}

// freeOf is how much of a request's size is available now; zero where nobody knows, or where it takes none.
func (w *Pages) freeOf(k page.Call, r request.Request) ui.StackModel {
	fit := w.RequestFit(k.Ctx, w.Snapshots, r)
	if !fit.Known || fit.Total == 0 || r.Kind != request.StartKind && r.Kind != request.ResumeKind {
		return ui.StackModel{}
	}
	return ui.StackModel{Title: k.Words.S("home.free_of", "Free", fit.Free, "Total", fit.Total)}
}

// decided are the last decisions of people about the newest requests that the reader may see: what was right lately
// helps with what waits.
func (w *Pages) decided(k page.Call) ([]home.DecidedModel, error) {
	last, _, err := w.Requests.List(k.Ctx, k.Actor, request.ScopeVisible,
		request.Filter{Decider: request.DeciderPerson, Limit: page.RowsPerPage})
	slices.SortStableFunc(last, func(a, b request.Request) int { return b.DecidedAt.Compare(a.DecidedAt) })
	var rows []home.DecidedModel
	for _, r := range last[:min(decidedShown, len(last))] {
		rows = append(rows, home.DecidedModel{State: w.decidedState(k, r), At: k.Words.Ago(r.DecidedAt),
			Reason: r.Spec.Reason,
			Name: ui.StackModel{Title: r.AskerName + " · " + w.TeamTitle(r.Spec.Tenant),
				Detail: blocks.RequestTerms(k.Words, r), Href: page.RequestPath(r.ID)}})
	}
	return rows, err
}

// decidedState says who decided; the reader is not told their own name.
func (w *Pages) decidedState(k page.Call, r request.Request) ui.StateModel {
	state := blocks.RequestState(k.Words, r, true)
	if r.Decision.By != k.Actor.Person.ID {
		return state
	}
	state.Detail = k.Words.S("home.you_decided")
	return state
}

// alarms reports whether it failed and its owner is told so above the list.
func alarms(k page.Call, item workload.Workload) bool {
	return item.State == workload.Failed && !item.Over() && item.Owner == k.Actor.Person.ID
}

// nothingOf stands in place of an empty list: for one's own the way to a first workload, else a sentence.
func (w *Pages) nothingOf(k page.Call, chosen page.Scope, m *home.ListModel) {
	teams := w.Startable(k)
	if chosen == page.ScopeMine && len(teams) > 0 {
		m.Welcome = w.welcome(k, teams)
		return
	}
	m.Empty = &home.EmptyModel{Scope: string(chosen), Start: len(teams) > 0}
	if identity.Can(k.Actor, identity.ReadPlatform, identity.Resource{}) {
		m.Empty.Platform = page.PlatformPath
	}
}

// welcome offers to start with the smallest GPU that is available now, where one is.
func (w *Pages) welcome(k page.Call, teams []tenant.Tenant) *home.WelcomeModel {
	m := &home.WelcomeModel{SizingHref: "/start/size", CapacityHref: "/fleet", GuideHref: manual.Path("users")}
	team := page.ChooseTeam(k, teams)
	offers, err := w.Offers.List(k.Ctx, k.Actor, team)
	if o, ok := blocks.StartsNow(offers); ok && err == nil {
		m.Smallest = w.StartSize(k, team, offers, o)
	}
	if !page.Toured(k) {
		m.Tour = page.TourPath
	}
	return m
}

// quotas are a bar for each size that a team of the actor may use.
func (w *Pages) quotas(k page.Call) (home.QuotasModel, error) {
	var m home.QuotasModel
	for _, t := range w.OwnTeams(k) {
		bars, others, err := w.QuotaParts(k, t)
		if err != nil {
			return m, err
		}
		if len(bars)+len(others) > 0 {
			m.Teams = append(m.Teams, home.TeamModel{Title: t.Display(), Bars: bars, Others: others})
		}
	}
	return m, nil
}
