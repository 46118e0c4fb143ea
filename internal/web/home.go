package web

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/home"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// scope is whose workloads the home page lists.
type scope string

const (
	mine scope = "mine"
	team scope = "team"
	all  scope = "all"
)

// scopes are those that make sense for the actor.
func scopes(a identity.Actor) []scope {
	list := []scope{mine}
	if len(a.TenantNames()) > 0 {
		list = append(list, team)
	}
	if a.SeesAll() {
		list = append(list, all)
	}
	return list
}

// home answers: what do I have, is it well, what ends soon, what waits for me.
func (w *Web) home(k call) (view, error) {
	chosen := scope(k.get("scope"))
	if !slices.Contains(scopes(k.actor), chosen) {
		chosen = mine
	}
	items, next, err := w.homeWorkloads(k, chosen)
	if err != nil {
		return view{}, err
	}
	pending, err := w.ownPending(k)
	if err != nil {
		return view{}, err
	}
	list, err := w.homeList(k, chosen, items, pending, next)
	if err != nil {
		return view{}, err
	}
	attention, err := w.attention(k, items)
	if err != nil {
		return view{}, err
	}
	quotas, err := w.quotas(k)
	if err != nil {
		return view{}, err
	}
	repeat, err := w.repeatStart(k)
	if err != nil {
		return view{}, err
	}
	m := home.PageModel{
		Header:    ui.HeaderModel{Title: k.words.S("home.title"), Lead: homeLead(k.words, items, pending)},
		Attention: attention, List: list, Quotas: quotas,
	}
	if repeat != nil {
		m.Header.Actions = []ui.ActionModel{{Post: repeat}}
	}
	return view{title: m.Header.Title, nav: "/", wide: true, body: home.Page(m), parts: w.homeParts(k, m, items)}, nil
}

func (w *Web) homeWorkloads(k call, chosen scope) ([]workload.Workload, string, error) {
	f := workload.Filter{Cursor: k.get("cursor"), Limit: 100}
	if chosen == team {
		f.Tenants = k.actor.TenantNames()
	}
	return w.Workloads.List(k.ctx, k.actor, chosen == mine, f)
}

// ownPending are the actor's own starts that wait for an approval.
func (w *Web) ownPending(k call) ([]request.Request, error) {
	items, _, err := w.Requests.List(k.ctx, k.actor, request.ScopeMine,
		request.Filter{States: []request.State{request.Pending}, Limit: 50})
	return slices.DeleteFunc(items, func(r request.Request) bool { return r.Kind != request.StartKind }), err
}

func homeLead(say words, items []workload.Workload, pending []request.Request) string {
	running := 0
	for _, i := range items {
		if i.State == workload.Running {
			running++
		}
	}
	if len(items)+len(pending) == 0 {
		return ""
	}
	return say.S("home.lead", "Running", running, "Other", len(items)-running+len(pending))
}

// homeParts are the live regions. The use of each workload is one of its own: it changes every few seconds, the rest
// does not.
func (w *Web) homeParts(k call, m home.PageModel, items []workload.Workload) []part {
	parts := []part{
		{id: "home-attention", draw: func(words) templ.Component { return home.Attention(m.Attention) }},
		{id: "home-list", draw: func(words) templ.Component { return home.List(m.List) }},
		{id: "home-quotas", draw: func(words) templ.Component { return home.Quotas(m.Quotas) }},
	}
	for _, item := range items {
		if item.State == workload.Running && item.Size.Devices() > 0 {
			parts = append(parts, part{id: useID(item.ID), ticks: true, draw: func(say words) templ.Component {
				k.words = say
				return workloadview.Use(w.useModel(k, item))
			}})
		}
	}
	return parts
}

func (w *Web) homeList(k call, chosen scope, items []workload.Workload, pending []request.Request,
	next string) (home.ListModel, error) {
	costs, err := w.Workloads.Costs(k.ctx, items...)
	if err != nil {
		return home.ListModel{}, err
	}
	m := home.ListModel{Switch: scopeSwitch(k, chosen)}
	if len(items)+len(pending) == 0 {
		m.Empty = w.homeEmpty(k, chosen)
		return m, nil
	}
	for _, item := range byUse(items) {
		if item.State != workload.Running && len(pending) > 0 {
			m.Rows, pending = append(m.Rows, w.pendingRows(k, pending)...), nil
		}
		m.Rows = append(m.Rows, w.workloadRow(k, item, costs[item.ID]))
	}
	m.Rows = append(m.Rows, w.pendingRows(k, pending)...)
	m.Filter = ui.FilterBarModel{Action: "/", Label: k.words.S("home.filter"), Client: "workloads", Switch: m.Switch,
		Search: &ui.FieldModel{ID: "home-filter", Name: "q", Kind: ui.SearchField, Label: k.words.S("home.filter"),
			Placeholder: k.words.S("home.filter_hint")},
		Hidden: []ui.HiddenModel{{Name: "scope", Value: string(chosen)}}}
	m.More = ui.PaginationModel{Label: k.words.S("home.pages"), NextURL: nextURL("/", k.query, next)}
	return m, nil
}

// byUse puts what one can open first, then what is on its way, then what rests.
func byUse(items []workload.Workload) []workload.Workload {
	rank := map[workload.State]int{workload.Running: 0, workload.Starting: 1, workload.Queued: 1, workload.Failed: 2,
		workload.Stopping: 3, workload.Stopped: 3}
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b workload.Workload) int { return rank[a.State] - rank[b.State] })
	return sorted
}

func (w *Web) pendingRows(k call, pending []request.Request) []workloadview.RowModel {
	var rows []workloadview.RowModel
	for _, r := range pending {
		rows = append(rows, w.pendingRow(k, r))
	}
	return rows
}

// nextURL leads to the next page of a list with everything else the address says.
func nextURL(path string, q url.Values, next string) string {
	if next == "" {
		return ""
	}
	kept := url.Values{}
	for name, values := range q {
		if name != "page" {
			kept[name] = values
		}
	}
	kept.Set("cursor", next)
	return path + "?" + kept.Encode()
}

func scopeSwitch(k call, chosen scope) *ui.TabsModel {
	choices := scopes(k.actor)
	if len(choices) < 2 {
		return nil
	}
	m := &ui.TabsModel{Label: k.words.S("home.whose")}
	for _, s := range choices {
		m.Items = append(m.Items, ui.TabModel{Label: k.words.S("home.scope_" + string(s)), Href: "/?scope=" + string(s),
			Current: s == chosen, Test: "scope-" + string(s)})
	}
	return m
}

// pendingRow is a start that waits for an approval: it stands among the workloads, because that is what it will be.
func (w *Web) pendingRow(k call, r request.Request) workloadview.RowModel {
	say := k.words
	return workloadview.RowModel{
		Row: ui.RowModel{ID: "r-" + slug(string(r.ID)), Test: "request-row",
			Attrs: map[string]any{"data-name": r.Spec.Name}},
		Name: ui.StackModel{Title: r.Spec.Name, Href: requestPath(r.ID),
			Detail: say.Say(i18n.T("kind."+string(r.Spec.Kind))) + " · " + r.Spec.Image.Title, Icon: string(r.Spec.Kind)},
		State: requestState(say, r, true), Forecast: brief(w.requestOutlook(k, r)), Size: sizeModel(say, r.Spec.Size),
		Use:   workloadview.UseModel{ID: "use-" + slug(string(r.ID)), Words: "–"},
		Lease: workloadview.LeaseModel{Words: say.S("web.lease_later", "Duration", say.duration(r.Spec.Lease.Std()))},
		Cost:  say.S("web.about", "Value", say.money(r.Estimate)), Price: say.moneyPerHour(r.Spec.Size.PricePerHour),
		Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("workload.details"), Href: requestPath(r.ID),
			Small: true, Test: "details"}}},
	}
}

// attention is what wants a decision, the most urgent first.
func (w *Web) attention(k call, items []workload.Workload) (home.AttentionModel, error) {
	var m home.AttentionModel
	states, err := w.Idle.States(k.ctx, items...)
	if err != nil {
		return m, err
	}
	for _, item := range items {
		if is := states[item.ID]; item.Owner == k.actor.Person.ID && !is.Warned.IsZero() {
			if n := idleNotice(k.words, item, is, true); n != nil {
				n.Title, n.Test = item.Name+": "+n.Title, "attention-idle"
				m.Items = append(m.Items, *n)
			}
		}
	}
	for _, item := range items {
		if n := w.endingNotice(k, item); n != nil && item.Owner == k.actor.Person.ID {
			m.Items = append(m.Items, *n)
		}
	}
	waiting, err := w.waiting(k)
	if waiting > 0 {
		m.Items = append(m.Items, ui.NoticeModel{Kind: ui.Info, Title: k.words.S("home.approvals", "Count", waiting),
			Test: "attention-approvals",
			Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: k.words.S("home.decide"), Href: "/approvals",
				Small: true, Test: "decide"}}}})
	}
	for _, item := range items {
		if item.State == workload.Failed && item.Owner == k.actor.Person.ID {
			m.Items = append(m.Items, ui.NoticeModel{Kind: ui.Danger, Title: k.words.S("home.failed", "Name", item.Name),
				Body: k.words.say(item.Reason), Test: "attention-failed",
				Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: k.words.S("workload.details"),
					Href: workloadPath(item.ID), Small: true}}}})
		}
	}
	return m, err
}

// endingNotice announces the end of a lease, with the one click that moves it; nil while the end is not near or not
// this person's to move.
func (w *Web) endingNotice(k call, item workload.Workload) *ui.NoticeModel {
	if !item.Ending() || item.Lease.Over(k.words.now) || !identity.Can(k.actor, identity.ChangeWorkload, item.Resource()) {
		return nil
	}
	n := &ui.NoticeModel{Kind: ui.Warning, Test: "attention-ending", Title: k.words.S("home.ending", "Name", item.Name,
		"In", k.words.duration(item.Lease.Left(k.words.now))),
		Body: k.words.S("home.ending_body", "At", ui.Clock(item.Lease.Until, time.UTC)+" UTC")}
	more := extendBy(item)
	if more == 0 {
		n.Body = k.words.S("home.ending_most", "Most", k.words.duration(item.Size.MaxLease.Std()))
		return n
	}
	n.Actions = []ui.ActionModel{
		{Post: &ui.PostButtonModel{Action: workloadPath(item.ID) + "/extend",
			Button: ui.ButtonModel{Label: k.words.S("home.extend_by", "Duration", k.words.duration(more.Std())), Icon: "extend",
				Small: true, Test: "extend-now"},
			Hidden: []ui.HiddenModel{{Name: "lease", Value: more.String()},
				{Name: "key", Value: "extend-" + string(item.ID) + "-" + strconv.FormatInt(item.Lease.Until.Unix(), 36)}}}},
		{Link: &ui.LinkButtonModel{Label: k.words.S("home.extend_other"), Href: workloadPath(item.ID) + "/extend",
			Kind: ui.LinkLike, Small: true}},
	}
	return n
}

// extendBy is what one click adds: the usual lease of the size, or what its longest lease leaves; 0 when nothing is
// left.
func extendBy(item workload.Workload) catalog.Duration {
	more := item.Size.DefaultLease
	if more == 0 {
		more = catalog.Duration(4 * time.Hour)
	}
	if item.Size.MaxLease > 0 {
		more = min(more, item.Size.MaxLease-catalog.Duration(item.Lease.Until.Sub(item.Lease.From)))
	}
	if more < catalog.Duration(10*time.Minute) {
		return 0
	}
	return more / catalog.Duration(time.Minute) * catalog.Duration(time.Minute)
}

// homeEmpty says what this place is, and what could start now.
func (w *Web) homeEmpty(k call, chosen scope) *ui.EmptyStateModel {
	say := k.words
	m := &ui.EmptyStateModel{Icon: "gpu", Test: "empty", Title: say.S("home.empty_" + string(chosen))}
	teams := w.startable(k)
	if len(teams) == 0 {
		m.Lines = []string{say.S("home.empty_nobody")}
		if identity.Can(k.actor, identity.ReadPlatform, identity.Resource{}) {
			m.Lines = []string{say.S("platform.from_home")}
			m.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("platform.title"), Href: platformPath,
				Kind: ui.Primary, Test: "open-platform"}}}
		}
		return m
	}
	m.Lines = []string{say.S("home.empty_1"), say.S("home.empty_2"), say.S("home.empty_3")}
	start := &ui.LinkButtonModel{Label: say.S("home.start"), Href: "/start", Kind: ui.Primary, Icon: "plus",
		Test: "empty-start"}
	m.Actions = []ui.ActionModel{{Link: start}}
	team := chooseTeam(k, teams)
	offers, err := w.Offers.List(k.ctx, k.actor, team)
	if o, ok := startsNow(offers); ok && err == nil {
		m.Actions = append(m.Actions, ui.ActionModel{Post: w.startSize(k, team, offers, o)})
	}
	return m
}

func chooseTeam(k call, teams []tenant.Tenant) string {
	for _, t := range teams {
		if t.Name == k.team {
			return t.Name
		}
	}
	if len(teams) == 0 {
		return ""
	}
	return teams[0].Name
}

// quotas are a bar for each size that a team of the actor may use.
func (w *Web) quotas(k call) (home.QuotasModel, error) {
	var m home.QuotasModel
	for _, t := range w.ownTeams(k) {
		bars, others, err := w.quotaParts(k, t)
		if err != nil {
			return m, err
		}
		if len(bars)+len(others) > 0 {
			m.Teams = append(m.Teams, home.TeamModel{Title: t.Display(), Bars: bars, Others: others})
		}
	}
	return m, nil
}

func (w *Web) quotaBars(k call, t tenant.Tenant) ([]ui.MeterModel, error) {
	bars, others, err := w.quotaParts(k, t)
	return append(bars, others...), err
}

// quotaParts parts the bars that say something from those of sizes that the quota does not name and nobody holds: with
// tenant.EverySize they are as many as the catalog is long.
func (w *Web) quotaParts(k call, t tenant.Tenant) (bars, others []ui.MeterModel, err error) {
	quotas, err := w.Quotas.Of(k.ctx, t)
	if err != nil {
		return nil, nil, err
	}
	for _, size := range w.Site().Catalog.Sizes {
		q, ok := quotas[size.Name]
		_, named := t.Quota[size.Name]
		switch bar := quotaBar(k.words, size.Title, q); {
		case !ok:
		case named || q.Used > 0:
			bars = append(bars, bar)
		default:
			others = append(others, bar)
		}
	}
	return bars, others, nil
}

func quotaBar(say words, title string, q request.Quota) ui.MeterModel {
	fill := ui.FillUsed
	if q.Full() {
		fill = ui.FillWarning
	}
	share := 1.0
	if q.Limit > 0 {
		share = float64(q.Used) / float64(q.Limit)
	}
	return ui.MeterModel{Label: title, Value: say.S("web.used_of", "Used", q.Used, "Limit", q.Limit),
		Segments: []ui.SegmentModel{{Fill: fill, Share: share}}, Test: "quota-bar"}
}
