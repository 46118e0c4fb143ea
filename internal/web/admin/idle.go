package admin

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/internal/yamltext"
	idleview "github.com/gpu-portal/gpu-portal/views/idle"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// idleLine is one group of the form as it was typed. For is "all", or "sizes." or "teams." and a name; "" for a group
// that nobody uses.
type idleLine struct{ For, Action, After, Below, CPU, Network, Keep string }

// idleForm is all of the form.
type idleForm struct {
	base   int64
	lines  []idleLine
	asText bool
	text   string
}

// mostLines bounds a form that somebody makes up.
const mostLines = 500

func idleFormOf(values url.Values) idleForm {
	var f idleForm
	f.base, _ = strconv.ParseInt(values.Get("base"), 10, 64)
	f.asText, f.text = values.Has("text"), strings.ReplaceAll(values.Get("text"), "\r\n", "\n")
	for i := range mostLines {
		n := "-" + strconv.Itoa(i)
		if !values.Has("for" + n) {
			break
		}
		trimmed := func(name string) string { return strings.TrimSpace(values.Get(name + n)) }
		f.lines = append(f.lines, idleLine{trimmed("for"), trimmed("action"), trimmed("after"), trimmed("below"),
			trimmed("cpu"), trimmed("network"), trimmed("keepAlive")})
	}
	return f
}

// idleFormFor is what is saved, as one would have typed it.
func idleFormFor(r idle.Revision) idleForm {
	f := idleForm{base: r.Version}
	line := func(whom string, s idle.Setting) {
		l := idleLine{For: whom, Action: string(s.Action)}
		if s.On() {
			l.After, l.Below, l.Keep = s.After.String(), strconv.Itoa(s.Below), s.KeepAlive.String()
			if s.ByPod() {
				l.CPU, l.Network = strconv.FormatFloat(s.CPU, 'f', -1, 64), strconv.Itoa(s.Network)
			}
		}
		f.lines = append(f.lines, l)
	}
	if r.Settings.All != nil {
		line("all", *r.Settings.All)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Settings.Sizes)) {
		line("sizes."+name, r.Settings.Sizes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Settings.Teams)) {
		line("teams."+name, r.Settings.Teams[name])
	}
	return f
}

// settings reads what was typed.
func (f idleForm) settings() (s idle.Settings, problems []fault.Field) {
	if f.asText {
		var read *yamltext.Text
		s, read = idle.ReadYAML(f.text)
		return s, textFields(read)
	}
	seen := map[string]bool{}
	for _, l := range f.lines {
		if l.For == "" {
			continue
		}
		if seen[l.For] {
			problems = append(problems, fault.Field{Name: l.For, Reason: i18n.T("idle.twice")})
			continue
		}
		seen[l.For] = true
		of, wrong := idle.Draft{Action: l.Action, After: l.After, Below: l.Below, CPU: l.CPU, Network: l.Network,
			KeepAlive: l.Keep}.Setting(l.For)
		problems = append(problems, wrong...)
		s.Put(l.For, of)
	}
	return s, problems
}

func textFields(t *yamltext.Text) []fault.Field {
	fields := make([]fault.Field, len(t.Problems))
	for i, p := range t.Problems {
		fields[i] = fault.Field{Name: p.Path, Reason: p.Reason}
	}
	return fields
}

// wrongLines are the problems of settings as text: those of the text, or else what is wrong with the settings, each on
// its line.
func (f idleForm) wrongLines(say page.Words, problems []fault.Field) []ui.ProblemModel {
	_, read := idle.ReadYAML(f.text)
	if len(read.Problems) == 0 {
		read.Place(problems)
	}
	return page.TextProblems(say, "text", read)
}

// idleShow answers: what happens to a GPU that nobody uses.
func (w *Pages) idleShow(k page.Call) (page.View, error) {
	r, err := w.Idle.Settings(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	v, m := w.idleView(k, r, idleFormFor(r), nil, nil)
	if m.Now, m.Warned, err = w.idleNow(k, r.Settings.Any()); err != nil {
		return page.View{}, err
	}
	v.Body = idleview.Page(m)
	return v, nil
}

// mostWarned is how many of the warned workloads are named.
const mostWarned = 5

// idleNow is what idle GPUs cost, and, where settings are on, whom they reach now.
func (w *Pages) idleNow(k page.Call, set bool) (m *ui.TilesModel, warned []idleview.WarnedModel,
	err error) {
	say := k.Words
	day, err := w.IdleCost(k)
	if err != nil {
		return nil, nil, err
	}
	cost := ui.TileModel{Label: say.S("platform.idle_day"), Href: page.FleetUsePath, Test: "idle-cost",
		Unknown: day.Held == day.Unknown}
	cost.Value, cost.Detail = day.Say(say)
	m = &ui.TilesModel{Label: say.S("idle.title"), Lead: true, Items: []ui.TileModel{cost}}
	if set {
		ahead, err := w.Idle.Ahead(k.Ctx, k.Actor)
		if err != nil {
			return nil, nil, err
		}
		if warned, err = w.warned(k, ahead); err != nil {
			return nil, nil, err
		}
		m.Items = append(m.Items, warnedTiles(say, ahead)...)
	}
	return m, warned, nil
}

// warnedTiles are how many were warned, and when the first of them stops.
func warnedTiles(say page.Words, n idle.Ahead) []ui.TileModel {
	tiles := []ui.TileModel{{Label: say.S("idle.tile_warned"), Value: say.Number(float64(n.Warned)), Test: "idle-warned"}}
	if !n.Next.IsZero() {
		tiles = append(tiles, ui.TileModel{Label: say.S("idle.tile_next"), Value: page.ClockOn(say, n.Next),
			Test: "idle-next"})
	}
	return tiles
}

// warned names the workloads that were warned, the next to stop first. One that is gone since has its id for a name.
func (w *Pages) warned(k page.Call, n idle.Ahead) (list []idleview.WarnedModel, err error) {
	for _, id := range n.Workloads[:min(mostWarned, len(n.Workloads))] {
		m := idleview.WarnedModel{Name: ui.StackModel{Title: string(id), Href: page.WorkloadPath(id)}}
		item, err := w.Workloads.Get(k.Ctx, k.Actor, id)
		if err != nil {
			if !fault.Is(err, fault.NotFound) {
				return nil, err
			}
			list = append(list, m)
			continue
		}
		if item.State == workload.Running && identity.Can(k.Actor, identity.ChangeWorkload, item.Resource()) {
			m.Stop = page.WorkloadPath(id) + "/stop"
		}
		states, err := w.Idle.States(k.Ctx, item)
		if err != nil {
			return nil, err
		}
		is := states[id]
		m.Name.Title, m.Name.Detail = item.Name, item.OwnerName+" · "+w.TeamTitle(item.Tenant)
		m.Size, m.Price = k.Words.SizeTitle(item.Size), k.Words.MoneyPerHour(item.Size.PricePerHour)
		if is.Idle > 0 {
			m.Idle = k.Words.Duration(is.Idle)
		}
		if !is.StopsAt.IsZero() {
			m.Stops = page.ClockOn(k.Words, is.StopsAt)
		}
		list = append(list, m)
	}
	return list, nil
}

func (w *Pages) idleView(k page.Call, r idle.Revision, f idleForm, problems []fault.Field, p *idle.Preview) (page.View,
	idleview.PageModel) {
	say := k.Words
	m := idleview.PageModel{Header: ui.HeaderModel{Title: say.S("idle.title"), Lead: say.S("idle.lead")}}
	if s := r.Settings.All; s != nil && s.On() {
		m.Header.Lead = say.S("idle.now", "Action", say.S("idle.action_"+string(s.Action)), "After",
			say.Duration(s.After.Std()), "Below", s.Below)
		if s.Action == idle.Stop {
			m.Header.Lead = say.S("idle.now_stop", "Warns", say.Duration(s.WarnAfter()), "Stops", say.Duration(s.After.Std()),
				"Below", s.Below)
		}
	}
	if r.Version > 0 {
		m.Saved = say.S("idle.saved", "Name", r.AuthorName, "Time", say.At(r.At).Exact)
	}
	if identity.Can(k.Actor, identity.ChangeRules, identity.Resource{}) {
		if m.Form = w.idleFields(say, &f, problems); f.asText {
			m.Form.AsText, m.Form.Text, m.Form.Problems = true, f.text, f.wrongLines(say, problems)
		} else {
			m.Errors = page.FormErrors(say, idleAnchors(f, problems))
		}
		wanted, wrong := f.settings()
		m.Form.Stored = len(problems)+len(wrong) == 0 && len(w.idleChanges(say, r.Settings, wanted)) == 0
	} else {
		m.Rows = w.idleRows(say, r)
	}
	if p != nil {
		m.Preview = w.idlePreviewModel(say, *p)
		wanted, _ := f.settings()
		m.Preview.Changes = w.idleChanges(say, r.Settings, wanted)
	}
	return page.View{Title: m.Header.Title, Nav: page.IdlePath, Body: idleview.Page(m)}, m
}

// idleAnchors names problems by the ids of their fields.
func idleAnchors(f idleForm, problems []fault.Field) []fault.Field {
	list := make([]fault.Field, len(problems))
	for i, p := range problems {
		list[i] = p
		for n, l := range f.lines {
			if rest, ok := strings.CutPrefix(p.Name, l.For); ok && l.For != "" &&
				(rest == "" || rest[0] == '.' && !strings.Contains(rest[1:], ".")) {
				list[i].Name = strings.TrimPrefix(rest, ".") + "-" + strconv.Itoa(n)
				if rest == "" {
					list[i].Name = "for-" + strconv.Itoa(n)
				}
			}
		}
	}
	return list
}

// idleFields are the groups of the form, with one more that is empty.
func (w *Pages) idleFields(say page.Words, f *idleForm, problems []fault.Field) *idleview.FormModel {
	wrong := map[string]string{}
	for _, p := range idleAnchors(*f, problems) {
		wrong[p.Name] = say.Text(p.Reason)
	}
	m := &idleview.FormModel{Action: page.IdlePath, Check: page.IdlePath + "/preview",
		Base: strconv.FormatInt(f.base, 10), Below: strconv.Itoa(idle.UsualBelow)}
	for _, a := range idle.Actions() {
		m.Actions = append(m.Actions, idleview.Action(a))
	}
	lines := f.lines
	if len(lines) == 0 || lines[len(lines)-1].For != "" {
		lines = append(slices.Clone(lines), idleLine{Action: string(idle.Warn)})
	}
	for i, l := range lines {
		field := func(name, value string) idleview.FieldModel {
			return idleview.FieldModel{Value: value, Error: wrong[name+"-"+strconv.Itoa(i)]}
		}
		g := idleview.GroupModel{For: field("for", l.For), Whom: w.idleScopes(say, l.For), Action: field("action", l.Action),
			After: field("after", l.After), Below: field("below", l.Below), CPU: field("cpu", l.CPU),
			Network: field("network", l.Network), Keep: field("keepAlive", l.Keep)}
		if l.For != "" {
			g.Title = w.idleWhom(say, l.For)
		}
		m.Rows = append(m.Rows, g)
	}
	return m
}

// idleScopes are those whom a setting can be for. One that is gone stays, so that one sees what is saved.
func (w *Pages) idleScopes(say page.Words, now string) []ui.OptionModel {
	list := []ui.OptionModel{{Value: "", Label: say.S("idle.nobody")}, {Value: "all", Label: say.S("idle.everybody")}}
	site := w.Site()
	for _, s := range site.Catalog.Sizes {
		list = append(list, ui.OptionModel{Value: "sizes." + s.Name, Label: say.S("idle.of_size", "Size", say.SizeTitle(s))})
	}
	for _, t := range site.Directory.Tenants {
		list = append(list, ui.OptionModel{Value: "teams." + t.Name, Label: say.S("idle.of_team", "Team", t.Display())})
	}
	if !slices.ContainsFunc(list, func(o ui.OptionModel) bool { return o.Value == now }) {
		list = append(list, ui.OptionModel{Value: now, Label: now})
	}
	return list
}

func (w *Pages) idleWhom(say page.Words, scope string) string {
	for _, o := range w.idleScopes(say, scope) {
		if o.Value == scope {
			return o.Label
		}
	}
	return scope
}

func (w *Pages) idleRows(say page.Words, r idle.Revision) []idleview.RowModel {
	var rows []idleview.RowModel
	for _, l := range idleFormFor(r).lines {
		row := idleview.RowModel{Whom: w.idleWhom(say, l.For), Action: idleview.Action(l.Action), After: "–", Below: "–",
			Pods: "–", Keep: "–"}
		if l.After != "" {
			row.After, row.Below, row.Keep = l.After, say.S("ui.percent", "N", l.Below), l.Keep
		}
		if l.CPU != "" {
			row.Pods = say.S("idle.pods_below", "CPU", l.CPU, "Network", l.Network)
		}
		rows = append(rows, row)
	}
	return rows
}

// idleChanges are the settings that would be others than those that count.
func (w *Pages) idleChanges(say page.Words, saved, wanted idle.Settings) []ui.ChangeModel {
	was, now := settingWords(say, saved), settingWords(say, wanted)
	names := maps.Clone(was)
	maps.Copy(names, now)
	var list []ui.ChangeModel
	for _, field := range slices.Sorted(maps.Keys(names)) {
		if was[field] != now[field] {
			list = append(list, ui.ChangeModel{Name: w.idleWhom(say, field), Old: was[field], New: now[field]})
		}
	}
	return list
}

func settingWords(say page.Words, s idle.Settings) map[string]string {
	words := map[string]string{}
	for _, l := range idleFormFor(idle.Revision{Settings: s}).lines {
		if words[l.For] = say.S("idle.action_" + l.Action); l.After != "" {
			words[l.For] = say.S("idle.in_words", "Action", words[l.For], "After", l.After, "Below", l.Below, "Keep", l.Keep)
		}
		if l.CPU != "" {
			words[l.For] = say.S("idle.in_words_pods", "Words", words[l.For], "CPU", l.CPU, "Network", l.Network)
		}
	}
	return words
}

func (w *Pages) idlePreviewModel(say page.Words, p idle.Preview) *idleview.PreviewModel {
	m := &idleview.PreviewModel{
		Running: idleVerdict(say, p.RunningTally, say.S("idle.hits", "Stopped", p.RunningTally.Stopped, "Warned",
			p.RunningTally.Warned, "Count", p.RunningTally.Seen)),
		Past: idleVerdict(say, p.PastTally, say.S("idle.would", "Stopped", p.PastTally.Stopped, "Warned",
			p.PastTally.Warned, "Count", p.PastTally.Seen))}
	m.Past.Body = say.S("idle.would_body")
	if p.RunningTally.Stopped > 0 {
		m.Running.Body = say.S("idle.hits_body")
	}
	if len(p.Unreachable) > 0 {
		m.Past.Items = append(m.Past.Items, say.S("idle.away", "Clusters", strings.Join(p.Unreachable, ", ")))
	}
	if p.Recorded.Idle > 0 {
		m.Past.Items = append(m.Past.Items, say.S("idle.recorded", "Since", page.DayOf(say, p.Since), "For",
			say.Duration(p.Recorded.Idle), "Cost", say.Money(p.Recorded.Cost)))
	}
	if p.Capped {
		m.Past.Items = append(m.Past.Items, say.S("idle.capped", "Count", p.PastTally.Seen))
	}
	m.Affected, m.Shown = w.idleCases(say, p.Running, true)
	m.Spared, m.SparedCut = w.idleCases(say, p.Unaffected, true)
	m.SparedTitle = say.S("idle.spared", "Count", len(p.Unaffected))
	m.Would, m.WouldCut = w.idleCases(say, p.Past, false)
	return m
}

func idleVerdict(say page.Words, t idle.Tally, title string) idleview.VerdictModel {
	v := idleview.VerdictModel{Title: title, Touches: t.Stopped+t.Warned > 0, Unknown: t.Unknown > 0}
	if v.Unknown {
		v.Items = []string{say.S("idle.unknown", "Count", t.Unknown)}
	}
	return v
}

func (w *Pages) idleCases(say page.Words, list []idle.PreviewRow,
	running bool) (models []idleview.CaseModel, cut string) {
	for _, c := range list[:min(len(list), mostShown)] {
		item := c.Workload
		row := idleview.CaseModel{Name: ui.StackModel{Title: item.Name, Href: page.WorkloadPath(item.ID),
			Detail: strings.Join([]string{item.OwnerName, w.TeamTitle(item.Tenant), say.SizeTitle(item.Size)}, " · ")},
			Outcome: idleview.Action(c.Outcome), Unknown: c.Unknown(),
			Idle: idleFor(say, c.Idle), Known: say.Percent(100 * c.Known)}
		switch {
		case c.Unknown():
			row.Idle, row.Detail = "–", say.S("idle.why_"+string(whyUnknown(c)))
			if c.Recorded.Idle >= time.Minute {
				row.Idle = say.S("idle.recorded_for", "For", say.Duration(c.Recorded.Idle))
			}
		case !c.At.IsZero() && running:
			row.Detail = say.S("idle.case_at", "At", page.ClockOn(say, c.At))
		case !c.At.IsZero():
			row.Was, row.Detail = true, say.At(c.At).Exact
		}
		models = append(models, row)
	}
	if len(list) > mostShown {
		cut = say.S("rules.shown", "Shown", mostShown, "Count", len(list))
	}
	return models, cut
}

// idleFor is how long something was idle; what worked in the last minute was not.
func idleFor(say page.Words, d time.Duration) string {
	if d = d.Round(time.Minute); d == 0 {
		return "–"
	}
	return say.Duration(d)
}

// whyUnknown is the reason for all of the time: where something was measured, a part of it is missing, whatever was the
// matter last.
func whyUnknown(c idle.PreviewRow) idle.Reason {
	switch {
	case c.Reason != "" && c.Reason != idle.Unmeasured:
		return c.Reason
	case c.Known > 0:
		return idle.Partly
	}
	return idle.Unmeasured
}

// idleTyped reads the form and who may send it.
func (w *Pages) idleTyped(c echo.Context) (k page.Call, f idleForm, settings idle.Settings, problems []fault.Field,
	err error) {
	k = w.CallOf(c)
	values, err := c.FormParams()
	if err != nil {
		return k, f, settings, nil, err
	}
	f = idleFormOf(values)
	settings, problems = f.settings()
	if err = w.Idle.Check(k.Actor, settings); fault.Is(err, fault.Invalid) {
		if len(problems) == 0 {
			problems = fault.As(err).Fields
		}
		err = nil
	}
	return k, f, settings, problems, err
}

// idleAgain shows the form as it was typed.
func (w *Pages) idleAgain(c echo.Context, k page.Call, f idleForm, problems []fault.Field, p *idle.Preview,
	status int) error {
	r, err := w.Idle.Settings(k.Ctx, k.Actor)
	if err != nil {
		return err
	}
	v, _ := w.idleView(k, r, f, problems, p)
	return w.Reply(c, k, w.idlePage(), v, status)
}

// idlePreview writes nothing: it says what the settings would do.
func (w *Pages) idlePreview(c echo.Context) error {
	k, f, settings, problems, err := w.idleTyped(c)
	if err != nil {
		return err
	}
	if validating, err := w.Validating(c); err != nil {
		return err
	} else if validating && f.asText {
		return w.Validated(c, "idle-form", f.wrongLines(k.Words, problems))
	} else if validating {
		return w.Validated(c, "idle-form", page.FieldProblems(k.Words, idleAnchors(f, problems)))
	}
	if as := c.FormValue("turn"); as != "" {
		return w.idleTurned(c, k, f, as, settings, problems)
	}
	if len(problems) > 0 {
		return w.idleAgain(c, k, f, problems, nil, http.StatusUnprocessableEntity)
	}
	p, err := w.Idle.Preview(k.Ctx, k.Actor, settings)
	if err != nil {
		return err
	}
	return w.idleAgain(c, k, f, nil, &p, http.StatusOK)
}

// idleTurned shows what was typed in the other way; what could not be read stays where it is.
func (w *Pages) idleTurned(c echo.Context, k page.Call, f idleForm, as string, s idle.Settings,
	problems []fault.Field) error {
	if _, unread := f.settings(); len(unread) > 0 {
		return w.idleAgain(c, k, f, problems, nil, http.StatusUnprocessableEntity)
	}
	turned := idleFormFor(idle.Revision{Settings: s, Version: f.base})
	if as == "text" {
		turned.asText, turned.text = true, s.YAML()
	}
	return w.idleAgain(c, k, turned, problems, nil, http.StatusOK)
}

func (w *Pages) idleSave(c echo.Context) error {
	k, f, settings, problems, err := w.idleTyped(c)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return w.idleAgain(c, k, f, problems, nil, http.StatusUnprocessableEntity)
	}
	if _, err := w.Idle.Save(k.Ctx, k.Actor, settings, f.base); err != nil {
		return err
	}
	return w.Done(c, "idle-saved", page.IdlePath)
}
