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
	"github.com/gpu-portal/gpu-portal/internal/embed"
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
	m := licenses.PageModel{Embed: page.EmbedPath(embed.Licenses, ""), Tabs: fleetTabs(k, "/licenses"),
		Stream: page.StreamModel(k, "/licenses")}
	v := page.View{Title: say.S("licenses.title"), Nav: "/licenses", Paused: page.Paused(k)}
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
		p := w.poolModel(k, line, holders[line.Status.Pool.Name], changes)
		if changes {
			p.Mismatch = poolMismatch(say, w.Catalog.Mismatches(), line.Status.Pool.Name)
		}
		if n := waiting[line.Status.Pool.Name]; n > 0 {
			p.Facts.Waiting = say.Number(float64(n))
		}
		m.Pools = append(m.Pools, p)
		v.Parts = append(v.Parts, page.Part{ID: p.ID, Draw: func(page.Words) templ.Component { return licenses.Pool(p) }})
	}
	m.Machines = machinesModel(k, w.Licenses.Machines())
	v.Parts = append(v.Parts, page.Part{ID: m.Machines.ID,
		Draw: func(page.Words) templ.Component { return licenses.Machines(m.Machines) }})
	if len(pools) > 0 && changes {
		m.Enter = enterModel(say, pools, form, problems)
		if len(problems) > 0 {
			m.Errors = page.FormErrors(say, problems)
		}
	}
	v.Body = licenses.Page(m)
	return v, nil
}

// LicensesPanel is the bars of every pool, for pages of other sites.
func (w *Pages) LicensesPanel(k page.Call, _ string) (page.Panel, error) {
	pools, err := w.Licenses.Overview(k.Ctx, k.Actor)
	if err != nil {
		return page.Panel{}, err
	}
	var list []licenses.PoolModel
	for _, l := range pools {
		list = append(list, licenses.PoolModel{Title: l.Status.Pool.Title, Feature: l.Status.Pool.Feature,
			Account: accountModel(l.Status)})
	}
	return page.Panel{Body: licenses.Panel(list)}, nil
}

// seatHolders are the workloads that hold a seat, by pool.
type seatHolders map[string][]*workload.Workload

// holdersLast is how old they may be while nothing is written: nothing in them moves with the clock.
const holdersLast = time.Minute

// seatHolders are those of now, found once for each change; nobody but admins and auditors gets them. They belong to
// all who ask and must not be changed.
func (w *Pages) seatHolders(k page.Call) (seatHolders, error) {
	if !k.Actor.SeesAll() {
		return nil, nil
	}
	change, err := w.Workloads.LastChange(k.Ctx)
	if err != nil {
		return nil, err
	}
	find := func() (seatHolders, error) {
		items, err := w.Workloads.Living(k.Ctx, k.Actor,
			func(i *workload.Workload) bool { return i.Size.LicensePool != "" && i.Holds() })
		holders := seatHolders{}
		for _, item := range items {
			holders[item.Size.LicensePool] = append(holders[item.Size.LicensePool], item)
		}
		return holders, err
	}
	if change == 0 { // nobody counts changes
		return find()
	}
	return w.holders.Get(change, k.Words.Now, holdersLast, find)
}

// seatOrders are what the seats of a pool can be sorted by.
var seatOrders = []string{"team", "workload", "owner", "state"}

func (w *Pages) seatKeys() map[string]page.Key[*workload.Workload] {
	titles := map[string]string{} // by team: few teams hold the seats, and to look for one takes a while
	title := func(team string) string {
		if _, known := titles[team]; !known {
			titles[team] = w.TeamTitle(team)
		}
		return titles[team]
	}
	return map[string]page.Key[*workload.Workload]{
		"team":     page.ByText(func(i *workload.Workload) string { return title(i.Tenant) + " " + i.Name }),
		"workload": page.ByText(func(i *workload.Workload) string { return i.Name }),
		"owner":    page.ByText(func(i *workload.Workload) string { return i.OwnerName }),
		"state":    page.ByText(func(i *workload.Workload) string { return string(i.State) }),
	}
}

// startWith is the page that starts the first size with a seat of a pool; "" where none is offered.
func (w *Pages) startWith(pool string) string {
	for _, s := range w.Site().Catalog.Sizes {
		if s.LicensePool == pool {
			return page.StartSizePath(s.Name)
		}
	}
	return ""
}

func (w *Pages) poolModel(k page.Call, l license.PoolOverview, holders []*workload.Workload,
	changes bool) licenses.PoolModel {
	say, pool := k.Words, l.Status.Pool
	id := page.Slug(pool.Name)
	m := licenses.PoolModel{ID: "pool-" + id, TableID: "seats-" + id, Title: pool.Title, Feature: pool.Feature,
		Account: accountModel(l.Status), Facts: w.poolFacts(k, l), Week: weekModel(say, "week-"+id, l)}
	w.poolTroubles(say, l, &m)
	holders, m.List = page.RowsOf(say, page.ListIn(k, "/licenses", m.TableID, seatOrders, "pause"),
		say.S("licenses.seats"), holders, w.seatKeys())
	for _, item := range holders {
		m.Seats = append(m.Seats, licenses.SeatModel{Team: w.TeamTitle(item.Tenant), Owner: item.OwnerName,
			State:    blocks.StateModel(say, *item),
			Lease:    leaseWords(say, l, item.Observed.Node),
			Workload: ui.StackModel{Title: item.Name, Href: page.WorkloadPath(item.ID), Detail: say.SizeTitle(item.Size)}})
	}
	for _, t := range l.Status.Tenants {
		m.Teams = append(m.Teams, licenses.TeamModel{Name: w.TeamTitle(t.Tenant), Seats: t.Used + t.Reserved})
	}
	if changes {
		m.Choice = choiceModel(say, pool)
	}
	if !k.Actor.SeesAll() {
		m.Start = w.startWith(pool.Name)
	}
	m.Rules = ruleModels(say, pool)
	for _, e := range l.Entitlements {
		row := licenses.EntitlementModel{Reference: e.Reference, Seats: say.Number(float64(e.Seats)),
			From:  page.DayOf(say, e.From),
			Until: lastDay(say, e.Until), Source: page.UpperFirst(say.Say(i18n.T("licenses.origin_" + string(e.Origin))))}
		if e.Reference == "" {
			row.Reference = "–"
		}
		if changes && e.ID != "" {
			row.ID, row.Remove = page.Slug(e.ID), "/licenses/"+e.ID+"/remove"
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
	m := &licenses.ChoiceModel{Action: "/licenses/full", Pool: pool.Name, Slug: page.Slug(pool.Name),
		Value: string(cmp.Or(pool.OnExhaustion, license.RefuseStarts))}
	for _, f := range license.ExhaustionPolicies() {
		m.Options = append(m.Options, ui.OptionModel{Value: string(f),
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
func (w *Pages) poolFacts(k page.Call, l license.PoolOverview) licenses.FactsModel {
	say, m := k.Words, licenses.FactsModel{}
	sources := l.Origin != license.Configured || k.Actor.SeesAll() // the settings are none of the others'
	if sources {
		m.Source = page.UpperFirst(say.Say(i18n.T("licenses.origin_" + string(l.Origin))))
	}
	age := func(value string) *ui.AgeModel { return new(say.Age(value, l.Answer.At, w.LicensesEvery)) }
	if l.Origin == license.FromServer {
		m.SourceAge = age(m.Source)
	}
	if pool := l.Status.Pool; pool.Server != "" {
		m.Server = true
		if l.Status.ServerOK {
			m.InUse = age(say.S("licenses.server_says", "InUse", l.Status.InUse))
		}
	}
	if ends := license.Ends(l.Entitlements, l.Status.Pool.Name, say.Now); len(ends) > 0 {
		m.Until = lastDay(say, ends[0].Until)
		if days := ends[0].Days(say.Now); days <= daysCounted {
			m.UntilDays = days
		}
	}
	if f := l.Forecast; f.Days < peakDays {
		m.PeakSince = say.Day(say.Now.AddDate(0, 0, -f.Days), time.UTC)
	}
	if p := l.Forecast.Peak; p.Seats > 0 {
		m.Peak = &licenses.PeakModel{Seats: p.Seats, When: say.At(p.At).Exact}
		for _, h := range p.Holders[:min(3, len(p.Holders))] {
			m.Peak.Holders = append(m.Peak.Holders, h.Name+" ("+w.TeamTitle(h.Tenant)+")")
		}
	}
	switch f := l.Forecast; {
	case !f.FullKnown:
		m.ForecastLacks = say.S("licenses.full_unknown", "Days", license.MinDays, "Have", f.Days)
	case f.NotInSight:
		m.Forecast = say.S("licenses.full_never")
	default:
		m.Forecast, m.ForecastSoon = say.S("licenses.full_in", "Count", f.FullIn), f.UsedUpSoon()
	}
	m.UntilLacks = m.Until == "" && !m.Server && sources // a number of the settings has no end
	m.Enters = identity.Can(k.Actor, identity.ChangeLicenses, identity.Resource{})
	return m
}

// tellEnd is how long before its end a purchase that would be missed is warned of: time to order, and not all year
// round. The date itself is always there.
const tellEnd = 90 * 24 * time.Hour

// peakDays is how far back a peak is looked for.
const peakDays = int(license.History / (24 * time.Hour))

// daysCounted is up to how far ahead an end is told in days too.
const daysCounted = 365

// poolTroubles are what somebody has to do something about.
func (w *Pages) poolTroubles(say page.Words, l license.PoolOverview, m *licenses.PoolModel) {
	if !l.Answer.Failed.IsZero() {
		m.Away = &licenses.AwayModel{Why: say.Text(l.Answer.Failed),
			Since: say.At(l.Answer.Since).Exact}
	}
	if f := l.Forecast; !f.Expires.IsZero() && f.Expires.Sub(say.Now) <= tellEnd {
		m.Ends = &licenses.EndsModel{Day: lastDay(say, f.Expires), Left: f.LeftAfter, Taken: l.Status.CheckedOut()}
	}
	for _, d := range l.Status.Difference {
		d.Tenant = w.TeamTitle(d.Tenant)
		m.Differences = append(m.Differences, say.Text(d.Sentence()))
	}
}

// poolMismatch warns of sizes whose vGPU the pool does not license.
func poolMismatch(say page.Words, all []catalog.Mismatch, pool string) []string {
	return blocks.Mismatches(say, slices.DeleteFunc(slices.Clone(all),
		func(m catalog.Mismatch) bool { return m.Pool.Name != pool }))
}

func accountModel(a license.PoolStatus) licenses.AccountModel {
	return licenses.AccountModel{Seats: a.Pool.Seats, Unknown: a.Pool.Unknown, Used: a.Used, Reserved: a.Reserved,
		Free: a.Free(), Taken: a.CheckedOut()}
}

// machineRow is one vGPU of a node, or a node of whose vGPUs nobody tells.
type machineRow struct {
	cluster, node string
	device        *license.Device // nil for unknown
	missing       bool            // it works without a license
}

// machineOrders are what the list of nodes can be sorted by; it opens with those that lack a license.
var machineOrders = []string{"state", "node", "device", "-since", "until"}

var machineKeys = map[string]page.Key[machineRow]{
	"state": page.ByNumber(func(r machineRow) int {
		if r.missing {
			return 0
		}
		return 1
	}),
	"node": page.ByText(func(r machineRow) string { return r.node + " " + r.cluster }),
	"device": page.ByText(func(r machineRow) string {
		if r.device == nil {
			return ""
		}
		return deviceName(*r.device)
	}),
	"since": page.ByKnown(func(r machineRow) (int64, bool) {
		return r.at(func(d *license.Device) time.Time { return d.Since })
	}),
	"until": page.ByKnown(func(r machineRow) (int64, bool) {
		return r.at(func(d *license.Device) time.Time { return d.Expires })
	}),
}

func (r machineRow) at(of func(*license.Device) time.Time) (micro int64, known bool) {
	if r.device == nil || of(r.device).IsZero() {
		return 0, false
	}
	return of(r.device).UnixMicro(), true
}

func deviceName(d license.Device) string { return strings.TrimSpace(d.Index + " " + d.Model) }

func machineRows(machines []license.Machine, now time.Time) (rows []machineRow) {
	for _, m := range machines {
		for _, d := range m.Devices {
			rows = append(rows, machineRow{m.Cluster, m.Node, &d, d.StateAt(now).Missing()})
		}
		if len(m.Devices) == 0 {
			rows = append(rows, machineRow{cluster: m.Cluster, node: m.Node})
		}
	}
	return rows
}

// machinesModel is a page of the vGPUs, and how many of all lack a license.
func machinesModel(k page.Call, machines []license.Machine) licenses.MachinesModel {
	say := k.Words
	m := licenses.MachinesModel{ID: "license-nodes", TableID: "license-machines"}
	rows := machineRows(machines, say.Now)
	for _, r := range rows {
		if r.missing {
			m.Lost++
		}
	}
	rows, m.List = page.RowsOf(say, page.ListIn(k, "/licenses", m.TableID, machineOrders, "pause"),
		say.S("licenses.machines"), rows, machineKeys)
	for _, r := range rows {
		row := licenses.MachineModel{Node: ui.StackModel{Title: r.node, Detail: r.cluster}, Device: "–", Expires: "–",
			Since: ui.TimeModel{Words: "–"}, License: licenseState(say, license.Device{})}
		if d := r.device; d != nil {
			row.Device, row.License, row.Since = deviceName(*d), licenseState(say, *d), say.Since(d.Since)
			if !d.Expires.IsZero() {
				row.Expires = say.At(d.Expires).Exact
			}
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

func licenseState(say page.Words, d license.Device) licenses.LicenseModel {
	s := d.StateAt(say.Now)
	m := licenses.LicenseModel{State: string(s), Valid: s == license.Licensed, Missing: s.Missing()}
	if until, in := d.GracePeriod(say.Now); in && s.Missing() {
		m.Grace = until.UTC().Format("15:04") + " UTC"
	}
	return m
}

func enterModel(say page.Words, pools []license.PoolOverview, form license.EntitlementDraft,
	problems []fault.Field) *licenses.EnterModel {
	field := func(name, value string) licenses.FieldModel {
		return licenses.FieldModel{Value: value, Error: page.WrongIn(say, problems, name)}
	}
	m := &licenses.EnterModel{Action: "/licenses", Pool: field("pool", form.Pool), Seats: field("seats", form.Seats),
		From: field("from", form.From), Until: field("until", form.Until), Reference: field("reference", form.Reference),
		Import: "/licenses/import", MostKiB: license.MaxCSV >> 10}
	for _, l := range pools {
		m.Pools = append(m.Pools, ui.OptionModel{Value: l.Status.Pool.Name, Label: l.Status.Pool.Title})
	}
	return m
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
	if k.Actor.SeesAll() {
		for _, cluster := range slices.Sorted(maps.Keys(lost)) {
			names = append(names, lost[cluster]...)
		}
	} else {
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
	return []ui.StripModel{licenses.LostStrip(k.Words.Localizer, licenses.LostModel{Count: len(names),
		Names: names[:min(5, len(names))], Nodes: k.Actor.SeesAll()})}
}
