package cost

import (
	"cmp"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

// usageChoice is what the address of the page asks for.
type usageChoice struct {
	month usage.Month
	scope usage.Scope
	by    string
}

// groupings are what the table can be grouped by, in the order of the switch.
var groupings = []string{"workload", "person", "team", "size"}

// usualBy is how a scope's table is grouped at first: by workload, and everybody's, which may be thousands of them, by
// team.
func usualBy(s usage.Scope) string {
	if s == usage.All {
		return "team"
	}
	return groupings[0]
}

// usageChoice reads the address. What makes no sense is the page as it opens: this month, the reader's own or, for
// those who see all, everybody's.
func (w *Pages) usageChoice(k page.Call) usageChoice {
	c := usageChoice{month: w.Usage.Month(), scope: usage.Widest(k.Actor)}
	if m, err := usage.ParseMonth(k.Get("month")); err == nil && m.Before(c.month) {
		c.month = m
	}
	if s := usage.Scope(k.Get("scope")); slices.Contains(usage.Scopes(k.Actor), s) {
		c.scope = s
	}
	if c.by = k.Get("by"); !slices.Contains(groupings, c.by) {
		c.by = usualBy(c.scope)
	}
	return c
}

func (c usageChoice) path(path string, more ...string) string {
	q := url.Values{"month": {c.month.String()}, "scope": {string(c.scope)}}
	if c.by != usualBy(c.scope) {
		q.Set("by", c.by)
	}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return path + "?" + q.Encode()
}

// usageTitle is that of the entry of the navigation.
func usageTitle(say page.Words, s usage.Scope) string {
	if s == usage.All {
		return say.S("web.nav.usage-all")
	}
	return say.S("usage.title")
}

// usage answers: what did we hold, what did it cost, how much of it for nothing.
func (w *Pages) usage(k page.Call) (page.View, error) {
	c := w.usageChoice(k)
	statement, err := w.Usage.Statement(k.Ctx, k.Actor, c.scope, c.month)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := usageview.PageModel{Title: usageTitle(say, c.scope), Zone: w.Usage.Zone.String(), Final: statement.Final(),
		CSV: c.path("/usage/export", "format", "csv"), Focus: c.path("/usage/export", "format", "focus"),
		Tabs: page.UsageTabs(k, c.scope, "/usage"), Statement: w.usageStatement(k, c, statement)}
	charts, expected, err := w.dailyCharts(k, c, statement)
	if err != nil {
		return page.View{}, err
	}
	m.Statement.Daily = charts
	if c.scope != usage.Mine {
		m.Embed = page.EmbedPath(embed.Team, "")
	}
	m.Statement.Spenders, m.Statement.Heat = w.spenders(k, c, statement), w.heatMap(k, c)
	if identity.Can(k.Actor, identity.ReadMetrics, identity.Resource{}) {
		m.Statement.Totals.Metrics = page.MetricsPath
	}
	totals := &m.Statement.Totals
	totals.Advice = page.AdvicePath + "?scope=" + string(c.scope)
	if totals.Budget, totals.Book, err = w.ofBudget(k, c, statement.Total()); err != nil {
		return page.View{}, err
	}
	if len(expected) > 0 {
		m.Statement.Totals.Expected = say.Monies(expected)
	}
	return page.View{Title: m.Title, Nav: page.UsagePlace(c.scope), Wide: true, Body: usageview.Page(m),
		Parts: []page.Part{{ID: "usage-statement", Draw: func(page.Words) templ.Component {
			return usageview.Statement(m.Statement)
		}}}}, nil
}

// Panel is the month of a team, for pages of other sites. Nobody is named in it.
func (w *Pages) Panel(k page.Call, team string) (page.Panel, error) {
	s, err := w.Usage.StatementOf(k.Ctx, k.Actor, team, w.Usage.Month())
	if err != nil {
		return page.Panel{}, err
	}
	bar, _, err := w.BudgetFact(k, team)
	if err != nil {
		return page.Panel{}, err
	}
	return page.Panel{Title: w.TeamTitle(team), Body: usageview.Panel(usageview.PanelModel{Month: k.Words.Month(s.Month),
		Totals: usageTotals(k.Words, s.Total()), Kinds: w.kinds(k.Words, s), Budget: bar})}, nil
}

func (w *Pages) usageStatement(k page.Call, c usageChoice, s usage.Statement) usageview.StatementModel {
	say, total := k.Words, s.Total()
	m := usageview.StatementModel{Months: w.monthSwitch(say, c, "/usage"), Scopes: usageScopes(k, c), By: bySwitch(say, c),
		Totals: usageTotals(say, total), What: say.S("usage.by_" + c.by), Kinds: w.kinds(say, s)}
	groups, list := page.RowsOf(say, page.ListIn(k, "/usage", "usage", usageOrders, "month", "scope", "by"),
		say.S("usage.who"), s.Grouped(c.by), w.usageKeys(say, c.by))
	m.List = list
	for _, g := range groups {
		m.Rows = append(m.Rows, w.usageRow(k, c, g, total))
	}
	m.Sum = usageview.SumModel{Use: blocks.CardUse(say, total), Cost: say.Monies(total.Cost)}
	scopes := usage.Scopes(k.Actor)
	if i := slices.Index(scopes, c.scope) + 1; i < len(scopes) {
		to := c
		to.scope = scopes[i]
		m.Wider = &usageview.WiderModel{Scope: string(to.scope), Href: to.path("/usage")}
	}
	return m
}

// kinds are what was held, kind by kind, with what it costs.
func (w *Pages) kinds(say page.Words, s usage.Statement) []usageview.KindModel {
	var list []usageview.KindModel
	total := s.Total()
	for _, t := range total.GPU {
		list = append(list, usageview.KindModel{Title: gpuKind(say, t.Kind), Hours: say.Hours(t.Time),
			Use: blocks.CardUse(say, s.OfKind(t.Kind)), Cost: say.Monies(s.OfKind(t.Kind).Cost)})
	}
	if total.Storage > 0 {
		list = append(list, usageview.KindModel{Title: say.S("usage.storage"), Hours: say.GiBMonths(total.Storage),
			Cost: say.Monies(storageCost(s))})
	}
	for _, p := range total.Seats {
		list = append(list, usageview.KindModel{Title: w.seats(say, p.Pool), Hours: say.SeatHours(p.Time),
			Cost: say.Monies(poolCost(s, p.Pool))})
	}
	return list
}

// usageOrders are what the table can be sorted by.
var usageOrders = []string{"-cost", "name", "use", "-idle"}

func (w *Pages) usageKeys(say page.Words, by string) map[string]page.Key[usage.Sum] {
	sum := func(list []usage.Money) (all int64) {
		for _, m := range list {
			all += m.Minor
		}
		return all
	}
	return map[string]page.Key[usage.Sum]{
		"name": page.ByText(func(s usage.Sum) string { return w.groupTitle(say, by, s) }),
		"cost": page.ByNumber(func(s usage.Sum) int64 { return sum(s.Cost) }),
		"use":  page.ByKnown(func(s usage.Sum) (float64, bool) { return s.Use.Mean(), s.Use.Known() }),
		"idle": page.ByKnown(func(s usage.Sum) (int64, bool) { return sum(s.Idle), s.Use.Known() }),
	}
}

func (w *Pages) usageRow(k page.Call, c usageChoice, g usage.Sum, total usage.Sum) usageview.RowModel {
	say, first := k.Words, leading(g.Lines)
	row := usageview.RowModel{ID: "usage-" + page.Slug(c.by+"-"+g.Key),
		Hours: w.sumHours(say, g), Use: blocks.CardUse(say, g), Cost: say.Monies(g.Cost)}
	row.Name = w.groupName(say, c.by, g, first)
	if g.Unknown > 0 {
		row.Unknown = say.S("usage.not_charged", "Hours", say.Hours(g.Unknown))
	}
	if len(total.Cost) == 1 && len(g.Cost) == 1 && total.Cost[0].Minor > 0 {
		share := float64(g.Cost[0].Minor) / float64(total.Cost[0].Minor)
		row.Share = &share
	}
	return row
}

// groupName says what a group is, and what of it there is.
func (w *Pages) groupName(say page.Words, by string, g usage.Sum, first usage.Line) ui.StackModel {
	name := ui.StackModel{Title: w.groupTitle(say, by, g), Icon: groupIcon(by, first)}
	switch {
	case by != groupings[0]:
		if by != "size" || !first.Monthly() {
			name.Detail = say.S("usage.workloads", "Count", workloads(g.Lines))
		}
	case first.Volume != "":
		name.Href = "/storage"
		name.Detail = strings.Join([]string{first.OwnerName, w.TeamTitle(first.Tenant), say.S("usage.storage"),
			say.GiB(float64(first.GiB))}, " · ")
	default:
		if first.Name != "" {
			name.Href = page.WorkloadPath(workload.ID(first.Workload))
		}
		name.Detail = strings.Join([]string{first.OwnerName, w.TeamTitle(first.Tenant), w.sizeTitle(say, first)},
			" · ")
	}
	return name
}

// groupTitle names a group: by its id where the workload or the person is not on record any more.
func (w *Pages) groupTitle(say page.Words, by string, g usage.Sum) string {
	switch first := leading(g.Lines); {
	case by == "person":
		return page.OrElse(first.OwnerName, g.Key)
	case by == "team":
		return w.TeamTitle(g.Key)
	case by == "size" && first.Volume != "":
		return say.S("usage.storage")
	case by == "size" && first.Seats.Pool != "":
		return w.seats(say, first.Seats.Pool)
	case by == "size":
		return page.OrElse(w.sizeTitle(say, first), g.Key)
	case first.Volume != "":
		return first.Volume
	default:
		return page.OrElse(first.Name, g.Key)
	}
}

// sizeTitle is what the size of a line is called in the reader's language, where the catalog still calls it so.
func (w *Pages) sizeTitle(say page.Words, l usage.Line) string {
	if size, ok := w.Site().Catalog.Size(l.Size); ok && size.Title == l.SizeTitle {
		return say.SizeTitle(size)
	}
	return l.SizeTitle
}

func groupIcon(by string, first usage.Line) string {
	icon := map[string]string{"person": "user", "team": "team", "size": "sizes"}[by]
	switch {
	case by == "size" && first.Seats.Pool != "":
		return "licenses"
	case first.Volume != "" && (icon == "" || by == "size"):
		return "storage"
	}
	return page.OrElse(icon, "gpu")
}

// leading is the line that a group is called after: one of something that runs, where there is one.
func leading(lines []usage.Line) usage.Line {
	if i := slices.IndexFunc(lines, func(l usage.Line) bool { return !l.Monthly() }); i >= 0 {
		return lines[i]
	}
	return lines[0]
}

// seats are those of a license pool, in words.
func (w *Pages) seats(say page.Words, pool string) string {
	return say.S("usage.seats", "Pool", w.poolTitle(pool))
}

func (w *Pages) poolTitle(name string) string {
	for _, p := range w.Site().Pools {
		if p.Name == name {
			return page.OrElse(p.Title, name)
		}
	}
	return name
}

func poolCost(s usage.Statement, pool string) []usage.Money {
	return s.Part(func(l usage.Line) bool { return l.Seats.Pool == pool }).Cost
}

func workloads(lines []usage.Line) int {
	ids := map[string]bool{}
	for _, l := range lines {
		if l.Workload != "" {
			ids[l.Workload] = true
		}
	}
	return len(ids)
}

func storageCost(s usage.Statement) []usage.Money {
	return s.Part(func(l usage.Line) bool { return l.Volume != "" }).Cost
}

// ofBudget is what part a cost of this month is of the budget of the reader's only team, and the page of that; "" for
// everybody's, and where there is no budget in its currency.
func (w *Pages) ofBudget(k page.Call, c usageChoice, total usage.Sum) (words, href string, _ error) {
	teams := w.OwnTeams(k)
	if c.scope == usage.All || c.month != w.Usage.Month() || len(teams) != 1 || len(total.Cost) != 1 ||
		!identity.Can(k.Actor, identity.ReadBudget, identity.Resource{Tenant: teams[0].Name}) {
		return "", "", nil
	}
	st, err := w.Budgets.Of(k.Ctx, k.Actor, teams[0].Name)
	cost := total.Cost[0]
	if err != nil || !st.Set() || st.Budget.Amount <= 0 || string(st.Budget.Unit) != cost.Currency {
		return "", "", err
	}
	key := "usage.of_budget"
	if c.scope == usage.Mine {
		key = "usage.of_team_budget"
	}
	return k.Words.S(key, "Share", k.Words.Share(float64(cost.Minor)/float64(st.Budget.Amount)), "Amount",
		k.Words.InUnit(st.Budget.Unit, st.Budget.Amount)), page.BudgetPath(teams[0].Name), nil
}

// thinCoverage is the measured part of the time below which a mean says little of the whole.
const thinCoverage = 0.5

// usageTotals are the few numbers. What nobody measured is not known, which is not nothing.
func usageTotals(say page.Words, total usage.Sum) usageview.TotalsModel {
	m := usageview.TotalsModel{Cost: say.Monies(total.Cost), GPU: total.Use.Held > 0}
	if total.Unknown > 0 {
		m.Unknown = say.Hours(total.Unknown)
	}
	if !m.GPU || !total.Use.Known() {
		return m
	}
	m.Use = &usageview.MeasuredModel{Mean: say.Percent(total.Use.Mean()), Idle: say.Monies(total.Idle),
		Below: say.Percent(usage.IdleBelow), IdleHours: ui.Number(say.Localizer, total.Use.Idle, 1),
		Share: say.Share(total.Use.Coverage()), Thin: total.Use.Coverage() < thinCoverage}
	if !total.LiveSince.IsZero() {
		m.Use.Live = page.ClockOn(say, total.LiveSince)
	}
	return m
}

func (w *Pages) monthSwitch(say page.Words, c usageChoice, path string) ui.TabsModel {
	m := ui.TabsModel{Label: say.S("usage.months")}
	for back := 2; back >= -1; back-- {
		month := c.month.Add(-back)
		if w.Usage.Month().Before(month) {
			continue
		}
		to := c
		to.month = month
		m.Items = append(m.Items, ui.TabModel{Label: say.Month(month), Href: to.path(path), Current: back == 0,
			Test: "month-" + month.String()})
	}
	return m
}

func usageScopes(k page.Call, c usageChoice) *ui.TabsModel {
	m := &ui.TabsModel{Label: k.Words.S("home.whose")}
	for _, s := range usage.Scopes(k.Actor) {
		to := c
		to.scope = s
		m.Items = append(m.Items, ui.TabModel{Label: k.Words.S("home.scope_" + string(s)), Href: to.path("/usage"),
			Current: s == c.scope, Test: "scope-" + string(s)})
	}
	if len(m.Items) < 2 {
		return nil
	}
	return m
}

func bySwitch(say page.Words, c usageChoice) ui.TabsModel {
	m := ui.TabsModel{Label: say.S("usage.by")}
	for _, by := range groupings {
		if by == "person" && c.scope == usage.Mine && by != c.by {
			continue // there is one
		}
		to := c
		to.by = by
		m.Items = append(m.Items, ui.TabModel{Label: say.S("usage.by_" + by), Href: to.path("/usage"), Current: by == c.by,
			Test: "by-" + by})
	}
	return m
}

// gpuKind is a kind in words: "H100 80GB · MIG 1g.10gb".
func gpuKind(say page.Words, k usage.Kind) string {
	if !k.Known {
		return say.S("usage.kind_unknown")
	}
	parts := []string{say.Text(catalog.TechnologyWord(catalog.Technology(k.Technology)))}
	if k.Profile != "" {
		parts[0] += " " + k.Profile
	}
	if k.Model != "" {
		parts = append([]string{k.Model}, parts...)
	}
	return strings.Join(parts, " · ")
}

// kindHours are the types of which most was held first: what stands below them is folded away.
func kindHours(say page.Words, times []usage.KindTime) []usageview.HoursModel {
	var list []usageview.HoursModel
	for _, t := range slices.SortedStableFunc(slices.Values(times),
		func(a, b usage.KindTime) int { return cmp.Compare(b.Time, a.Time) }) {
		list = append(list, usageview.HoursModel{Hours: say.Hours(t.Time), Kind: gpuKind(say, t.Kind)})
	}
	return list
}

// sumHours is what a sum held: GPUs by kind, and storage.
func (w *Pages) sumHours(say page.Words, s usage.Sum) []usageview.HoursModel {
	list := kindHours(say, s.GPU)
	if s.Storage > 0 {
		list = append(list, usageview.HoursModel{Hours: say.GiBMonths(s.Storage), Kind: say.S("usage.storage")})
	}
	for _, p := range s.Seats {
		list = append(list, usageview.HoursModel{Hours: say.SeatHours(p.Time), Kind: w.seats(say, p.Pool)})
	}
	return list
}

// usageExport sends the statement as a file.
func (w *Pages) usageExport(c echo.Context) error {
	k := w.CallOf(c)
	choice := w.usageChoice(k)
	s, err := w.Usage.Statement(k.Ctx, k.Actor, choice.scope, choice.month)
	if err != nil {
		return err
	}
	name, write := "usage-", s.ExportCSV
	if k.Get("format") == "focus" {
		name, write = "focus-"+usage.FocusVersion+"-", func(to io.Writer) error { return s.ExportFocus(to, w.Usage.Focus) }
	}
	return sendCSV(c, name+choice.month.String()+"-"+string(choice.scope), write)
}
