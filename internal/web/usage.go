package web

import (
	"cmp"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/usage"
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
func (w *Web) usageChoice(k call) usageChoice {
	c := usageChoice{month: w.Usage.Month(), scope: usage.Widest(k.actor)}
	if m, err := usage.ParseMonth(k.get("month")); err == nil && m.Before(c.month) {
		c.month = m
	}
	if s := usage.Scope(k.get("scope")); slices.Contains(usage.Scopes(k.actor), s) {
		c.scope = s
	}
	if c.by = k.get("by"); !slices.Contains(groupings, c.by) {
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

// usage answers: what did we hold, what did it cost, how much of it for nothing.
func (w *Web) usage(k call) (view, error) {
	c := w.usageChoice(k)
	statement, err := w.Usage.Statement(k.ctx, k.actor, c.scope, c.month)
	if err != nil {
		return view{}, err
	}
	say := k.words
	lead := say.S("usage.lead_final", "Zone", w.Usage.Zone.String())
	if !statement.Final() {
		lead = say.S("usage.lead_running", "Zone", w.Usage.Zone.String())
	}
	m := usageview.PageModel{Header: ui.HeaderModel{Title: say.S("usage.title"), Lead: lead, Actions: usageExports(k, c),
		Tabs: usageTabs(k, c.scope, "/usage")},
		Statement: w.usageStatement(k, c, statement)}
	return view{title: m.Header.Title, nav: usagePlace(c.scope), wide: true, body: usageview.Page(m),
		parts: []part{{id: "usage-statement", draw: func(words) templ.Component {
			return usageview.Statement(m.Statement)
		}}}}, nil
}

func (w *Web) usageStatement(k call, c usageChoice, s usage.Statement) usageview.StatementModel {
	say, total := k.words, s.Total()
	m := usageview.StatementModel{Months: w.monthSwitch(say, c, "/usage"), Scopes: usageScopes(k, c), By: bySwitch(say, c),
		Tiles: usageTiles(say, total), What: say.S("usage.by_" + c.by)}
	for _, t := range total.GPU {
		m.Kinds = append(m.Kinds, usageview.KindModel{Title: gpuKind(say, t.Kind), Hours: say.hours(t.Time),
			Use: useModel(say, kindSum(s, t.Kind)), Cost: say.monies(kindSum(s, t.Kind).Cost)})
	}
	if total.Storage > 0 {
		m.Kinds = append(m.Kinds, usageview.KindModel{Title: say.S("usage.storage"), Hours: say.gibMonths(total.Storage),
			Cost: say.monies(storageCost(s))})
	}
	for _, p := range total.Seats {
		m.Kinds = append(m.Kinds, usageview.KindModel{Title: w.seats(say, p.Pool), Hours: say.seatHours(p.Time),
			Cost: say.monies(poolCost(s, p.Pool))})
	}
	for _, g := range s.By(usage.Groupings[c.by]) {
		m.Rows = append(m.Rows, w.usageRow(k, c, g, total))
	}
	m.Sum = usageview.SumModel{Use: useModel(say, total), Cost: say.monies(total.Cost)}
	if len(m.Rows) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "usage", Title: say.S("usage.empty"), Lines: []string{say.S("usage.empty_why")},
			Level: 2, Test: "empty"}
	}
	return m
}

func (w *Web) usageRow(k call, c usageChoice, g usage.Sum, total usage.Sum) usageview.RowModel {
	say, first := k.words, leading(g.Lines)
	row := usageview.RowModel{Row: ui.RowModel{ID: "usage-" + slug(c.by+"-"+g.Key), Test: "usage-row"},
		Hours: w.sumHours(say, g), Use: useModel(say, g), Cost: say.monies(g.Cost)}
	switch c.by {
	case "person":
		row.Name = ui.StackModel{Title: first.OwnerName, Detail: say.S("usage.workloads", "Count", workloads(g.Lines)),
			Icon: "user"}
	case "team":
		row.Name = ui.StackModel{Title: w.teamTitle(g.Key), Detail: say.S("usage.workloads", "Count", workloads(g.Lines)),
			Icon: "team"}
	case "size":
		row.Name = ui.StackModel{Title: first.SizeTitle, Detail: say.S("usage.workloads", "Count", workloads(g.Lines)),
			Icon: "sizes"}
		if first.Volume != "" {
			row.Name = ui.StackModel{Title: say.S("usage.storage"), Icon: "storage"}
		}
		if pool := first.Seats.Pool; pool != "" {
			row.Name.Title, row.Name.Icon = w.seats(say, pool), "licenses"
		}
	default:
		row.Name = ui.StackModel{Title: first.Name, Href: workloadPath(workload.ID(first.Workload)),
			Detail: strings.Join([]string{first.OwnerName, w.teamTitle(first.Tenant), first.SizeTitle}, " · "), Icon: "gpu"}
		if first.Volume != "" {
			row.Name = ui.StackModel{Title: first.Volume, Href: "/storage", Icon: "storage",
				Detail: strings.Join([]string{first.OwnerName, w.teamTitle(first.Tenant), say.S("usage.storage"),
					say.gib(float64(first.GiB))}, " · ")}
		}
	}
	if row.Name.Title == "" { // the workload or the person is not on record any more
		row.Name.Title, row.Name.Href = g.Key, ""
	}
	if g.Unknown > 0 {
		row.Unknown = say.S("usage.not_charged", "Hours", say.hours(g.Unknown))
	}
	if len(total.Cost) == 1 && len(g.Cost) == 1 && total.Cost[0].Minor > 0 {
		share := float64(g.Cost[0].Minor) / float64(total.Cost[0].Minor)
		row.Share = &ui.MeterModel{Label: say.S("usage.col_share"), Value: say.percent(100 * share), Bare: true,
			Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: share}}}
		row.ShareWords = say.percent(100 * share)
	}
	return row
}

// leading is the line that a group is called after: one of something that runs, where there is one.
func leading(lines []usage.Line) usage.Line {
	if i := slices.IndexFunc(lines, func(l usage.Line) bool { return !l.Monthly() }); i >= 0 {
		return lines[i]
	}
	return lines[0]
}

// seats are those of a license pool, in words.
func (w *Web) seats(say words, pool string) string {
	return say.S("usage.seats", "Pool", w.poolTitle(pool))
}

func (w *Web) poolTitle(name string) string {
	for _, p := range w.Site().Pools {
		if p.Name == name {
			return orElse(p.Title, name)
		}
	}
	return name
}

func poolCost(s usage.Statement, pool string) []usage.Money {
	s.Lines = slices.DeleteFunc(slices.Clone(s.Lines), func(l usage.Line) bool { return l.Seats.Pool != pool })
	return s.Total().Cost
}

// seatHours is how long seats were held: "12.5 seat hours".
func (w words) seatHours(d time.Duration) string {
	return w.S("usage.seat_hours", "Hours", ui.Number(w.Localizer, d.Hours(), 1))
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

func (w *Web) teamTitle(name string) string {
	if t, ok := w.Site().Directory.ByName(name); ok {
		return t.Display()
	}
	return name
}

func kindSum(s usage.Statement, kind usage.Kind) usage.Sum {
	s.Lines = slices.DeleteFunc(slices.Clone(s.Lines), func(l usage.Line) bool { return l.Kind != kind || l.Devices == 0 })
	return s.Total()
}

func storageCost(s usage.Statement) []usage.Money {
	s.Lines = slices.DeleteFunc(slices.Clone(s.Lines), func(l usage.Line) bool { return l.Volume == "" })
	return s.Total().Cost
}

// usageTiles are the few numbers. What nobody measured is said to be unknown.
func usageTiles(say words, total usage.Sum) ui.TilesModel {
	m := ui.TilesModel{Label: say.S("usage.totals"),
		Items: []ui.TileModel{{Label: say.S("usage.cost"), Value: say.monies(total.Cost), Test: "usage-cost"}}}
	if total.Unknown > 0 {
		m.Items = append(m.Items, ui.TileModel{Label: say.S("usage.unknown"), Value: say.hours(total.Unknown),
			Detail: say.S("usage.unknown_why"), Test: "usage-unknown"})
	}
	idle := ui.TileModel{Label: say.S("usage.idle"), Value: say.S("web.unknown"), Detail: say.S("usage.idle_why"),
		Test: "usage-idle"}
	use := ui.TileModel{Label: say.S("usage.mean"), Value: say.S("web.unknown"), Test: "usage-mean"}
	switch {
	case total.Use.Held == 0: // nothing with a GPU
		return m
	case total.Use.Known():
		idle.Value, idle.Detail = say.monies(total.Idle), say.S("usage.idle_for", "Below", say.percent(usage.IdleBelow),
			"Hours", ui.Number(say.Localizer, total.Use.Idle, 1))
		use.Value, use.Detail = say.percent(total.Use.Mean()),
			say.S("usage.measured", "Share", say.share(total.Use.Coverage()))
		if !total.LiveSince.IsZero() {
			use.Detail = say.S("usage.live", "Time", clockOn(say, total.LiveSince))
		}
	}
	m.Items = append(m.Items, idle, use)
	return m
}

// useModel is how busy the GPUs of a sum were, and what the idle ones cost; nothing where there is none.
func useModel(say words, s usage.Sum) *usageview.UseModel {
	switch {
	case s.Use.Held == 0:
		return nil
	case !s.Use.Known():
		return &usageview.UseModel{Mean: say.S("web.unknown"), Idle: say.S("web.unknown")}
	}
	m := &usageview.UseModel{Mean: say.percent(s.Use.Mean()), Idle: say.monies(s.Idle)}
	if c := s.Use.Coverage(); !s.LiveSince.IsZero() {
		m.Note = say.S("usage.live_since", "Time", clockOn(say, s.LiveSince))
	} else if c < wholly {
		m.Note = say.S("usage.measured_of", "Share", say.share(c))
	}
	return m
}

// wholly is from which coverage on nothing need be said of it: the first minutes of what starts have no samples.
const wholly = 0.99

// share is a part of a whole in per cent, of which a little less than all is not all.
func (w words) share(part float64) string {
	if part < 1 {
		part = min(part, wholly)
	}
	return w.percent(100 * part)
}

func (w *Web) monthSwitch(say words, c usageChoice, path string) ui.TabsModel {
	m := ui.TabsModel{Label: say.S("usage.months")}
	for back := 2; back >= -1; back-- {
		month := c.month.Add(-back)
		if w.Usage.Month().Before(month) {
			continue
		}
		to := c
		to.month = month
		m.Items = append(m.Items, ui.TabModel{Label: say.month(month), Href: to.path(path), Current: back == 0,
			Test: "month-" + month.String()})
	}
	return m
}

func usageScopes(k call, c usageChoice) *ui.TabsModel {
	m := &ui.TabsModel{Label: k.words.S("home.whose")}
	for _, s := range usage.Scopes(k.actor) {
		to := c
		to.scope = s
		m.Items = append(m.Items, ui.TabModel{Label: k.words.S("home.scope_" + string(s)), Href: to.path("/usage"),
			Current: s == c.scope, Test: "scope-" + string(s)})
	}
	if len(m.Items) < 2 {
		return nil
	}
	return m
}

func bySwitch(say words, c usageChoice) ui.TabsModel {
	m := ui.TabsModel{Label: say.S("usage.by")}
	for _, by := range groupings {
		to := c
		to.by = by
		m.Items = append(m.Items, ui.TabModel{Label: say.S("usage.by_" + by), Href: to.path("/usage"), Current: by == c.by,
			Test: "by-" + by})
	}
	return m
}

// gpuKind is a kind in words: "H100 80GB · MIG 1g.10gb".
func gpuKind(say words, k usage.Kind) string {
	if !k.Known {
		return say.S("usage.kind_unknown")
	}
	parts := []string{say.say(catalog.TechnologyWord(catalog.Technology(k.Technology)))}
	if k.Profile != "" {
		parts[0] += " " + k.Profile
	}
	if k.Model != "" {
		parts = append([]string{k.Model}, parts...)
	}
	return strings.Join(parts, " · ")
}

// kindHours are the types of which most was held first: what stands below them is folded away.
func kindHours(say words, times []usage.KindTime) []usageview.HoursModel {
	var list []usageview.HoursModel
	for _, t := range slices.SortedStableFunc(slices.Values(times),
		func(a, b usage.KindTime) int { return cmp.Compare(b.Time, a.Time) }) {
		list = append(list, usageview.HoursModel{Hours: say.hours(t.Time), Kind: gpuKind(say, t.Kind)})
	}
	return list
}

// sumHours is what a sum held: GPUs by kind, and storage.
func (w *Web) sumHours(say words, s usage.Sum) []usageview.HoursModel {
	list := kindHours(say, s.GPU)
	if s.Storage > 0 {
		list = append(list, usageview.HoursModel{Hours: say.gibMonths(s.Storage), Kind: say.S("usage.storage")})
	}
	for _, p := range s.Seats {
		list = append(list, usageview.HoursModel{Hours: say.seatHours(p.Time), Kind: w.seats(say, p.Pool)})
	}
	return list
}

// gibMonths is storage for a time: "12.5 GiB-months".
func (w words) gibMonths(t usage.GiBTime) string {
	return w.S("usage.gib_months", "Amount", ui.Number(w.Localizer, t.Months(), 2))
}

// hours is a length of time as people are charged for it: "12.5 h".
func (w words) hours(d time.Duration) string {
	return w.S("usage.hours", "Hours", ui.Number(w.Localizer, d.Hours(), 1))
}

// monies is an amount, or several where there are several currencies.
func (w words) monies(list []usage.Money) string {
	if len(list) == 0 {
		return "–"
	}
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = w.money(m)
	}
	return strings.Join(texts, " + ")
}

// month is "November 2026".
func (w words) month(m usage.Month) string { return w.Say(m.Text()) }

func usageExports(k call, c usageChoice) []ui.ActionModel {
	link := func(format string) ui.ActionModel {
		return ui.ActionModel{Link: &ui.LinkButtonModel{Label: k.words.S("usage.export_" + format),
			Href: c.path("/usage/export", "format", format), Icon: "download", Test: "export-" + format}}
	}
	return []ui.ActionModel{link("csv"), link("focus")}
}

// usageExport sends the statement as a file.
func (w *Web) usageExport(c echo.Context) error {
	k := w.callOf(c)
	choice := w.usageChoice(k)
	s, err := w.Usage.Statement(k.ctx, k.actor, choice.scope, choice.month)
	if err != nil {
		return err
	}
	name, write := "usage-", s.ExportCSV
	if k.get("format") == "focus" {
		name, write = "focus-"+usage.FocusVersion+"-", func(to io.Writer) error { return s.ExportFocus(to, w.Usage.Focus) }
	}
	return sendCSV(c, name+choice.month.String()+"-"+string(choice.scope), write)
}
