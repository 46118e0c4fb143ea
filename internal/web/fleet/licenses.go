package fleet

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/licenses"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// licenses answers: how many seats, what runs out when, which vGPUs lack a license, and, to those who see everything,
// who has the seats.
func (w *Pages) licenses(k page.Call) (page.View, error) {
	return w.licensesView(k, license.EntitlementDraft{}, nil)
}

func (w *Pages) licensesView(k page.Call, form license.EntitlementDraft, problems []fault.Field) (page.View, error) {
	pools, err := w.Licenses.Overview(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := licenses.PageModel{Header: ui.HeaderModel{Title: say.S("licenses.title"), Lead: say.S("licenses.lead")},
		Stream: page.StreamModel(k, "/licenses")}
	tabs := fleetTabs(k, "/licenses")
	m.Header.Tabs = &tabs
	v := page.View{Title: m.Header.Title, Nav: "/licenses", Paused: page.Paused(k)}
	holders, err := w.seatHolders(k)
	if err != nil {
		return page.View{}, err
	}
	changes := identity.Can(k.Actor, identity.ChangeLicenses, identity.Resource{})
	waiting, err := w.Seats.Lengths(k.Ctx)
	if err != nil {
		return page.View{}, err
	}
	for _, line := range pools {
		p := w.poolModel(say, line, holders[line.Status.Pool.Name], changes)
		if changes {
			p.Notices = append(p.Notices, poolMismatch(say, w.Catalog.Mismatches(), line.Status.Pool.Name)...)
		}
		if n := waiting[line.Status.Pool.Name]; n > 0 {
			p.Facts = append(p.Facts, ui.DefModel{Term: say.S("licenses.waiting"), Value: say.Number(float64(n)),
				Test: "waiting"})
		}
		m.Pools = append(m.Pools, p)
		v.Parts = append(v.Parts, page.Part{ID: p.ID, Draw: func(page.Words) templ.Component { return licenses.Pool(p) }})
	}
	m.Machines = machinesModel(say, w.Licenses.Machines())
	v.Parts = append(v.Parts, page.Part{ID: m.Machines.ID,
		Draw: func(page.Words) templ.Component { return licenses.Machines(m.Machines) }})
	if len(pools) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "licenses", Title: say.S("licenses.empty"),
			Lines: []string{say.S("licenses.empty_why")}, Test: "empty"}
	} else if changes {
		m.Enter = enterModel(say, pools, form, problems)
		if len(problems) > 0 {
			m.Errors = page.FormErrors(say, problems)
		}
	}
	v.Body = licenses.Page(m)
	return v, nil
}

// inLine counts who waits for seats of a pool.
// seatHolders are the workloads that hold a seat, by pool; nobody but admins and auditors gets them.
func (w *Pages) seatHolders(k page.Call) (map[string][]workload.Workload, error) {
	if !k.Actor.SeesAll() {
		return nil, nil
	}
	items, _, err := w.Workloads.List(k.Ctx, k.Actor, false, workload.Filter{Limit: 500})
	holders := map[string][]workload.Workload{}
	for _, item := range items {
		if pool := item.Size.LicensePool; pool != "" && item.Holds() {
			holders[pool] = append(holders[pool], item)
		}
	}
	return holders, err
}

func (w *Pages) poolModel(say page.Words, l license.PoolOverview, holders []workload.Workload,
	changes bool) licenses.PoolModel {
	pool := l.Status.Pool
	id := page.Slug(pool.Name)
	m := licenses.PoolModel{ID: "pool-" + id, TableID: "seats-" + id, Title: pool.Title, Feature: pool.Feature,
		Bar: accountBar(say, l.Status), Facts: poolFacts(say, l, w.LicensesEvery),
		Notices: poolNotices(say, l), Week: weekModel(say, "week-"+id, l)}
	for _, item := range holders {
		m.Seats = append(m.Seats, licenses.SeatModel{Team: item.Tenant, Owner: item.OwnerName,
			State:    blocks.StateModel(say, item),
			Lease:    leaseWords(say, l, item.Observed.Node),
			Workload: ui.StackModel{Title: item.Name, Href: page.WorkloadPath(item.ID), Detail: say.SizeTitle(item.Size)}})
	}
	for _, t := range l.Status.Tenants {
		name := t.Tenant
		if name == "" {
			name = say.S("licenses.nobody")
		}
		m.Teams = append(m.Teams, ui.DefModel{Term: name, Value: say.S("licenses.seats_of", "Count", t.Used+t.Reserved)})
	}
	if changes {
		m.Choice = choiceModel(say, pool)
	}
	m.Rules = ruleModels(say, pool)
	for _, e := range l.Entitlements {
		row := licenses.EntitlementModel{Reference: e.Reference, Seats: say.Number(float64(e.Seats)),
			From:  page.DayOf(say, e.From),
			Until: lastDay(say, e.Until), Source: say.Say(i18n.T("licenses.origin_" + string(e.Origin)))}
		if e.Reference == "" {
			row.Reference = "–"
		}
		if changes && e.ID != "" {
			row.Remove = &ui.FormModel{ID: "remove-" + page.Slug(e.ID), Action: "/licenses/" + e.ID + "/remove",
				Test: "entitlement-remove"}
			row.Button = ui.ButtonModel{Label: say.S("licenses.remove"), Kind: ui.DangerSecondary, Small: true}
		}
		m.Entitlements = append(m.Entitlements, row)
	}
	return m
}

// leaseWords say what the license server tells of the machine that a seat is used on: unknown where it does not tell.
func leaseWords(say page.Words, l license.PoolOverview, node string) string {
	count, known := l.LeasesOn(node)
	switch {
	case node == "":
		return "–" // it is reserved, and on no machine yet
	case !known:
		return say.S("licenses.unknown")
	}
	return say.S("licenses.lease_on", "Count", count, "Node", node)
}

// ruleModels are how the pool counts each kind of device, and who says so.
func ruleModels(say page.Words, pool license.Pool) []licenses.RuleModel {
	var list []licenses.RuleModel
	for _, d := range license.DeviceKinds() {
		r := pool.Rule(d)
		m := licenses.RuleModel{Device: say.Say(i18n.T("licenses.device_" + string(d))),
			Unit:   say.Say(i18n.T("licenses.unit_" + string(cmp.Or(r.Unit, "none")))),
			Source: cmp.Or(r.Source, "–")}
		if r.UpTo > 1 {
			m.Unit = say.S("licenses.unit_up_to", "Unit", m.Unit, "Most", r.UpTo)
		}
		if pool.OwnRule(d) {
			m.Source += " (" + say.S("licenses.counting_own") + ")"
		}
		list = append(list, m)
	}
	return list
}

// choiceModel lets an administrator say what becomes of starts that find the pool full.
func choiceModel(say page.Words, pool license.Pool) *licenses.ChoiceModel {
	id := "full-" + page.Slug(pool.Name)
	m := &licenses.ChoiceModel{
		Form: ui.FormModel{ID: id, Action: "/licenses/full", Test: "on-exhaustion",
			Hidden: []ui.HiddenModel{{Name: "pool", Value: pool.Name}}},
		Field: ui.FieldModel{ID: id + "-choice", Name: "on_exhaustion", Kind: ui.SelectField,
			Label: say.S("licenses.on_exhaustion"),
			Value: string(cmp.Or(pool.OnExhaustion, license.RefuseStarts)), Test: "on-exhaustion-choice"},
		Button: ui.ButtonModel{Label: say.S("licenses.on_exhaustion_save"), Small: true, Test: "on-exhaustion-save"},
	}
	for _, f := range license.ExhaustionPolicies() {
		m.Field.Options = append(m.Field.Options, ui.OptionModel{Value: string(f),
			Label: page.UpperFirst(say.Say(i18n.T("licenses.on_exhaustion_" + string(f))))})
	}
	return m
}

// lastDay is the last day on which something holds that ends before t.
func lastDay(say page.Words, t time.Time) string {
	if t.IsZero() {
		return page.DayOf(say, t)
	}
	return page.DayOf(say, t.Add(-time.Nanosecond))
}

// poolFacts is where the numbers come from, how old they are, and what is to be expected.
func poolFacts(say page.Words, l license.PoolOverview, every time.Duration) []ui.DefModel {
	var facts []ui.DefModel
	add := func(test, term, value string) {
		facts = append(facts, ui.DefModel{Term: term, Value: value, Test: test})
	}
	unknown := say.S("licenses.unknown")
	aged := func(test, term, value string) {
		facts = append(facts, ui.DefModel{Term: term, Test: test,
			Component: ui.Age(say.Age(value, l.Answer.At, every))})
	}
	if source := say.Say(i18n.T("licenses.origin_" + string(l.Origin))); l.Origin == license.FromServer {
		aged("source", say.S("licenses.source"), source)
	} else {
		add("source", say.S("licenses.source"), source)
	}
	if pool := l.Status.Pool; pool.Server != "" && l.Status.ServerOK {
		aged("server", say.S("licenses.in_use"), say.S("licenses.server_says", "InUse", l.Status.InUse))
	} else if pool.Server != "" {
		add("server", say.S("licenses.in_use"), unknown)
	}
	ends := license.Ends(l.Entitlements, l.Status.Pool.Name, say.Now)
	if len(ends) > 0 {
		add("valid-until", say.S("licenses.until"), say.S("licenses.until_in", "Day", lastDay(say, ends[0].Until), "Count",
			ends[0].Days(say.Now)))
	}
	peak := unknown
	if p := l.Forecast.Peak; p.Seats > 0 {
		peak = say.S("licenses.peak_was", "Seats", p.Seats, "When", p.At.UTC().Format("2006-01-02 15:04")+" UTC")
		if len(p.Holders) > 0 {
			names := make([]string, 0, 3)
			for _, h := range p.Holders[:min(3, len(p.Holders))] {
				names = append(names, h.Name+" ("+h.Tenant+")")
			}
			peak += ": " + strings.Join(names, ", ")
		}
	}
	add("peak", say.S("licenses.peak"), peak)
	full := say.S("licenses.full_unknown", "Days", license.MinDays)
	switch f := l.Forecast; {
	case f.FullKnown && f.NotInSight:
		full = say.S("licenses.full_never")
	case f.FullKnown:
		full = say.S("licenses.full_in", "Count", f.FullIn)
	}
	add("forecast", say.S("licenses.forecast"), full)
	return facts
}

// tellEnd is how long before its end a purchase that would be missed is warned of: time to order, and not all year
// round. The date itself is always there.
const tellEnd = 90 * 24 * time.Hour

// poolNotices are what somebody has to do something about.
func poolNotices(say page.Words, l license.PoolOverview) []ui.NoticeModel {
	var list []ui.NoticeModel
	if !l.Answer.Failed.IsZero() {
		list = append(list, ui.NoticeModel{Kind: ui.Warning, Title: say.Text(l.Answer.Failed), Test: "server-away",
			Body: say.S("licenses.away_since", "Since", l.Answer.Since.UTC().Format("2006-01-02 15:04")+" UTC")})
	}
	if f := l.Forecast; !f.Expires.IsZero() && f.Expires.Sub(say.Now) <= tellEnd {
		list = append(list, ui.NoticeModel{Kind: ui.Warning, Title: say.S("licenses.will_end", "Day", lastDay(say, f.Expires),
			"Left", f.LeftAfter, "Taken", l.Status.CheckedOut()), Test: "will-end"})
	}
	if d := l.Status.Difference; len(d) > 0 {
		n := ui.NoticeModel{Kind: ui.Warning, Title: say.S("licenses.differences"), Test: "differences"}
		for _, x := range d {
			n.Items = append(n.Items, say.Text(x.Sentence()))
		}
		list = append(list, n)
	}
	return list
}

// poolMismatch warns of sizes whose vGPU the pool does not license.
func poolMismatch(say page.Words, all []catalog.Mismatch, pool string) []ui.NoticeModel {
	n := blocks.MismatchNotice(say, slices.DeleteFunc(slices.Clone(all),
		func(m catalog.Mismatch) bool { return m.Pool.Name != pool }))
	if n == nil {
		return nil
	}
	return []ui.NoticeModel{*n}
}

// accountBar draws what is used, reserved and free. A pool of unknown size has no bar to fill.
func accountBar(say page.Words, a license.PoolStatus) ui.MeterModel {
	whole := float64(max(a.Pool.Seats, a.CheckedOut(), 1))
	m := ui.MeterModel{Label: a.Pool.Title, Value: say.S("licenses.free_of", "Free", a.Free(), "Seats", a.Pool.Seats),
		Legend: true, Large: true, Test: "seats"}
	if a.Pool.Unknown {
		m.Value = say.S("licenses.unknown_total", "Count", a.CheckedOut())
		return m
	}
	used := ui.FillUsed
	if a.Free() == 0 {
		used = ui.FillWarning
	}
	m.Segments = []ui.SegmentModel{{Fill: used, Share: float64(a.Used) / whole, Words: say.S("licenses.used", "Count",
		a.Used)},
		{Fill: ui.FillReserved, Share: float64(a.Reserved) / whole, Words: say.S("licenses.reserved", "Count", a.Reserved)}}
	return m
}

// machinesModel lists every vGPU, those without a license first.
func machinesModel(say page.Words, machines []license.Machine) licenses.MachinesModel {
	m := licenses.MachinesModel{ID: "license-nodes", Lead: say.S("licenses.machines_lead")}
	lost := 0
	var rest []licenses.MachineModel
	for _, machine := range machines {
		row := licenses.MachineModel{Node: ui.StackModel{Title: machine.Node, Detail: machine.Cluster}, Device: "–",
			Expires: "–", Since: ui.TimeModel{Words: "–"}, State: licenseState(say, license.Device{})}
		for _, d := range machine.Devices {
			row.Device, row.State, row.Since = strings.TrimSpace(d.Index+" "+d.Model), licenseState(say, d), say.Since(d.Since)
			if row.Expires = "–"; !d.Expires.IsZero() {
				row.Expires = d.Expires.UTC().Format("2006-01-02 15:04") + " UTC"
			}
			if d.StateAt(say.Now).Missing() {
				lost++
				m.Rows = append(m.Rows, row)
			} else {
				rest = append(rest, row)
			}
		}
		if len(machine.Devices) == 0 {
			rest = append(rest, row)
		}
	}
	m.Rows = append(m.Rows, rest...)
	if lost > 0 {
		m.Notice = &ui.NoticeModel{Kind: ui.Danger, Title: say.S("licenses.lost", "Count", lost),
			Body: say.S("licenses.cure"), Test: "lost"}
	}
	return m
}

func licenseState(say page.Words, d license.Device) ui.StateModel {
	s := d.StateAt(say.Now)
	m := ui.StateModel{Kind: ui.Off, Word: say.Say(i18n.T("licenses.state_" + string(s))), Test: "license-state"}
	switch {
	case s == license.Licensed:
		m.Kind = ui.OK
	case s.Missing():
		m.Kind = ui.Danger
		if until, in := d.GracePeriod(say.Now); in {
			m.Detail = say.S("licenses.grace", "Until", until.UTC().Format("15:04")+" UTC")
		}
	}
	return m
}

func enterModel(say page.Words, pools []license.PoolOverview, form license.EntitlementDraft,
	problems []fault.Field) *licenses.EnterModel {
	wrong := func(name string) string {
		for _, p := range problems {
			if p.Name == name {
				return say.Text(p.Reason)
			}
		}
		return ""
	}
	choice := ui.FieldModel{Name: "pool", Kind: ui.SelectField, Label: say.S("licenses.pool"), Value: form.Pool,
		Error: wrong("pool"), Test: "pool-choice"}
	for _, l := range pools {
		choice.Options = append(choice.Options, ui.OptionModel{Value: l.Status.Pool.Name, Label: l.Status.Pool.Title})
	}
	field := func(name, value string, kind ui.FieldKind, hint string) ui.FieldModel {
		return ui.FieldModel{Name: name, Kind: kind, Label: say.Say(i18n.T("licenses.enter_" + name)), Value: value,
			Error: wrong(name), Hint: hint, MaxLength: 200, Autocomplete: "off", Test: "enter-" + name}
	}
	return &licenses.EnterModel{
		Form: ui.FormModel{ID: "license-form", Action: "/licenses", Test: "license-form"},
		Fields: []ui.FieldModel{choice, field("seats", form.Seats, ui.NumberField, ""), field("from", form.From, ui.DateField,
			""), field("until", form.Until, ui.DateField, say.S("licenses.until_hint")), field("reference", form.Reference, "",
			say.S("licenses.reference_hint"))},
		Button: ui.ButtonModel{Label: say.S("licenses.enter"), Kind: ui.Primary, Icon: "plus", Test: "license-enter"},
		CSV:    ui.FormModel{ID: "license-csv", Action: "/licenses/import", Test: "license-csv", Attrs: ui.MultipartForm()},
		File: ui.FieldModel{Name: "file", Kind: ui.FileField, Label: say.S("licenses.csv_file"),
			Hint:  say.S("licenses.csv_hint", "Most", license.MaxCSV>>10),
			Attrs: templ.Attributes{"accept": ".csv,.txt,.tsv,text/csv"}, Test: "csv-file"},
		Pasted: ui.FieldModel{Name: "csv", Kind: ui.TextareaField, Rows: 6, Label: "CSV", Mono: true, Test: "csv"},
		Import: ui.ButtonModel{Label: say.S("licenses.csv_look"), Icon: "search", Test: "license-import"},
	}
}

// licenseEnter keeps what an administrator typed.
func (w *Pages) licenseEnter(c echo.Context) error {
	k := w.CallOf(c)
	form := license.EntitlementDraft{Pool: c.FormValue("pool"), Reference: c.FormValue("reference"),
		Seats: c.FormValue("seats"),
		From:  c.FormValue("from"), Until: c.FormValue("until")}
	_, err := w.Licenses.AddEntitlement(k.Ctx, k.Actor, form)
	if fault.Is(err, fault.Invalid) {
		v, drawn := w.licensesView(k, form, fault.As(err).Fields)
		if drawn != nil {
			return drawn
		}
		return w.Reply(c, k, w.licensesPage(), v, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return w.Done(c, "license-entered", "/licenses")
}

// licenseChoose keeps what becomes of starts that find a pool full.
func (w *Pages) licenseChoose(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Licenses.SetExhaustionPolicy(k.Ctx, k.Actor, c.FormValue("pool"),
		license.ExhaustionPolicy(c.FormValue("on_exhaustion"))); err != nil {
		return err
	}
	return w.Done(c, "license-chosen", "/licenses")
}

func (w *Pages) licenseRemove(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Licenses.RemoveEntitlement(k.Ctx, k.Actor, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "license-removed", "/licenses")
}

// LicenseStrips are the alarm for vGPUs that lost their license: administrators hear of the nodes, others of their own
// workloads on them.
func (w *Pages) LicenseStrips(k page.Call) []ui.StripModel {
	lost := w.Licenses.Unlicensed()
	if len(lost) == 0 {
		return nil
	}
	var names []string
	id := "licenses.strip_nodes"
	if k.Actor.SeesAll() {
		for _, cluster := range slices.Sorted(maps.Keys(lost)) {
			names = append(names, lost[cluster]...)
		}
	} else {
		id = "licenses.strip_yours"
		items, _, err := w.Workloads.List(k.Ctx, k.Actor, true, workload.Filter{Limit: 500})
		if err != nil {
			return nil // the page itself says what is the matter
		}
		for _, item := range items {
			if item.Size.Technology == catalog.VGPU && item.Holds() && slices.Contains(lost[item.Cluster], item.Observed.Node) {
				names = append(names, item.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []ui.StripModel{{Kind: ui.Danger, ID: "strip-license", Test: "strip-license",
		Words: k.Words.Say(i18n.T(id, "Count", len(names), "Names", strings.Join(names[:min(5, len(names))], ", ")))}}
}
