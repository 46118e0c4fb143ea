package platform

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	platformview "github.com/gpu-portal/gpu-portal/views/platform"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// overviewEvery is how long the figures are kept that take more than an index to read. They are the same for all who
// see everything.
const overviewEvery = 15 * time.Second

// overview is what other pages of the platform's side show in full, in numbers.
type overview struct {
	at     time.Time
	month  usage.Sum // of everybody
	daily  daily
	idle   blocks.IdleDay
	levels health.LevelCount
	books  []budget.Status
	pools  []license.PoolOverview
	wrong  []offer.Finding
	fleet  fleetSums
}

// daily is what the days of a month cost everybody, in the currency that cost most.
type daily struct {
	sum   usage.Money
	days  []usage.DailyCost
	ahead usage.Span // the days to come
}

// overviews keeps the last one.
type overviews struct {
	sync.Mutex
	last overview
}

// overviewNow reads the figures at most once in a while, however many look.
func (w *Pages) overviewNow(k page.Call) (overview, error) {
	w.overviews.Lock()
	defer w.overviews.Unlock()
	if o := w.overviews.last; !o.at.IsZero() && k.Words.Now.Sub(o.at).Abs() < overviewEvery {
		return o, nil
	}
	o, err := w.readOverview(k)
	if err == nil {
		w.overviews.last = o
	}
	return o, err
}

func (w *Pages) readOverview(k page.Call) (o overview, err error) {
	o = overview{at: k.Words.Now}
	statement, err := w.Usage.Statement(k.Ctx, k.Actor, usage.All, w.Usage.Month())
	if err != nil {
		return o, err
	}
	o.month = statement.Total()
	if o.daily, err = w.readDaily(k, statement, o.month.Cost); err != nil {
		return o, err
	}
	if o.idle, err = w.IdleCost(k); err != nil {
		return o, err
	}
	for _, name := range w.Site().Clusters {
		r, err := w.Quarantine.Report(k.Ctx, k.Actor, name)
		if err != nil {
			return o, err
		}
		o.levels.Add(r.Levels)
	}
	o.fleet, _ = w.fleetSums(k.Ctx)
	var wrong [3]error
	o.books, wrong[0] = w.Budgets.All(k.Ctx, k.Actor)
	o.pools, wrong[1] = w.Licenses.Overview(k.Ctx, k.Actor)
	o.wrong, wrong[2] = w.Catalog.Findings(k.Ctx, k.Actor)
	return o, errors.Join(wrong[:]...)
}

func (w *Pages) readDaily(k page.Call, s usage.Statement, cost []usage.Money) (d daily, err error) {
	if len(cost) == 0 {
		return d, nil
	}
	d.sum = slices.MaxFunc(cost, func(a, b usage.Money) int { return cmp.Compare(a.Minor, b.Minor) })
	if d.sum.Minor <= 0 {
		return daily{}, nil
	}
	d.ahead = s.Ahead()
	d.days, err = w.Usage.Daily(k.Ctx, k.Actor, usage.All, s, "team", d.sum.Currency)
	return d, err
}

// platform answers: is the fleet well, full, used and affordable, and what wants somebody now.
func (w *Pages) platform(k page.Call) (page.View, error) {
	if !identity.Can(k.Actor, identity.ReadPlatform, identity.Resource{}) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	o, err := w.overviewNow(k)
	if err != nil {
		return page.View{}, err
	}
	queue, err := w.Workloads.Living(k.Ctx, k.Actor,
		func(i *workload.Workload) bool { return i.State == workload.Queued })
	if err != nil {
		return page.View{}, err
	}
	pending, err := w.Requests.Page(k.Ctx, k.Actor, request.ScopeVisible, // counted, and the one that waits longest
		request.Filter{States: []request.State{request.Pending}, Sort: request.Oldest, Limit: 1})
	if err != nil {
		return page.View{}, err
	}
	changes, err := w.recentChanges(k)
	if err != nil {
		return page.View{}, err
	}
	slices.Reverse(queue) // who waits longest first
	say := k.Words
	m := platformview.PageModel{Header: ui.HeaderModel{Title: say.S("platform.title"), Lead: say.S("platform.lead")},
		Money: moneyModel(say, o), Days: w.daysModel(say, o.daily), Changes: changes, Queue: w.queueModel(say, queue)}
	m.Attention = platformview.AttentionModel{Items: w.attentionItems(say, o, pending)}
	for _, i := range m.Attention.Items {
		m.Attention.Some = m.Attention.Some || i.Kind == ui.Danger || i.Kind == ui.Warning
	}
	v := page.View{Title: m.Header.Title, Nav: page.PlatformPath, Wide: true}
	m.Fleet, v.AsOf = w.fleetNow(k.Ctx, say)
	v.Body = platformview.Page(m)
	v.Parts = []page.Part{
		{ID: platformview.FleetID, Ticks: true, Draw: func(say page.Words) templ.Component {
			now, _ := w.fleetNow(k.Ctx, say)
			return platformview.Fleet(now)
		}},
		{ID: platformview.MoneyID, Draw: func(page.Words) templ.Component { return platformview.Money(m.Money) }},
		{ID: platformview.AttentionID, Draw: func(page.Words) templ.Component { return platformview.Attention(m.Attention) }},
		{ID: platformview.QueueID, Draw: func(page.Words) templ.Component { return platformview.Queue(m.Queue) }},
		{ID: platformview.ChangesID, Draw: func(page.Words) templ.Component { return platformview.Changes(m.Changes) }}}
	return v, nil
}

// fleetSums are cards of all clusters, as reconciliation counts them; those that are held and idle as the map of GPUs
// draws them.
type fleetSums struct {
	cards, held, free, broken float64
	idle, told                float64 // held devices that do nothing, and all held ones of which something is known
	clusters                  int
	out                       nodesOut
}

// nodesOut are nodes with GPUs on which nothing starts, each counted once.
type nodesOut struct{ notReady, cordoned, quarantined int }

func (o *nodesOut) count(nodes []inventory.Node) {
	for i := range nodes {
		switch n := &nodes[i]; {
		case n.Model == "":
		case !n.Ready:
			o.notReady++
		case n.Quarantined: // which cordons it
			o.quarantined++
		case n.Cordoned:
			o.cordoned++
		}
	}
}

// words are why GPUs are unavailable, as far as that is whole nodes.
func (o nodesOut) words(say page.Words) string {
	var parts []string
	for _, p := range []struct {
		id string
		n  int
	}{{"not_ready", o.notReady}, {"cordoned", o.cordoned}, {"quarantined", o.quarantined}} {
		if p.n > 0 {
			parts = append(parts, say.S("platform.nodes_"+p.id, "Count", p.n))
		}
	}
	return strings.Join(parts, ", ")
}

func (w *Pages) fleetSums(ctx context.Context) (s fleetSums, asOf time.Time) {
	for _, name := range w.Site().Clusters {
		snapshot, ok := w.Snapshots.Snapshot(ctx, name)
		if !ok {
			continue
		}
		s.clusters++
		asOf = blocks.Oldest(asOf, snapshot.TakenAt)
		s.out.count(snapshot.Nodes)
		for _, stock := range w.Stock(snapshot) {
			s.cards += float64(stock.Cards) / usage.Parts
			s.held += float64(stock.Ours+stock.Others) / usage.Parts
			s.free += float64(stock.Free) / usage.Parts
			s.broken += float64(stock.Broken) / usage.Parts
		}
		idle, told := w.fleetUses.of(name, w.Metrics.Fleet(name))
		s.idle, s.told = s.idle+idle, s.told+told
	}
	return s, asOf
}

// fleetUses keeps the sums of each cluster's devices until there is another reading: there are ten thousands of them,
// and they are the same for all who look.
type fleetUses struct {
	mu   sync.Mutex
	last map[string]fleetUse
}

// fleetUse is idle and told of fleetSums.
type fleetUse struct {
	fleet      *gpumetrics.Fleet
	idle, told float64
}

// of adds up the held devices of a fleet, which may be nil.
func (u *fleetUses) of(cluster string, f *gpumetrics.Fleet) (idle, told float64) {
	if f == nil {
		return 0, 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if known := u.last[cluster]; known.fleet == f {
		return known.idle, known.told
	}
	sum := fleetUse{fleet: f}
	for _, node := range f.Nodes {
		for _, card := range node.Cards {
			for i := range card.Cells {
				c := &card.Cells[i]
				switch kind := blocks.KindOfCell(*c); {
				case !c.Held() || kind == "unknown":
				case kind == "idle":
					sum.idle, sum.told = sum.idle+c.Part, sum.told+c.Part
				default:
					sum.told += c.Part
				}
			}
		}
	}
	if u.last == nil {
		u.last = map[string]fleetUse{}
	}
	u.last[cluster] = sum
	return sum.idle, sum.told
}

// cardsText is a number of cards, with a tenth where it has one.
func cardsText(say page.Words, n float64) string {
	if tenths := math.Round(10 * n); math.Mod(tenths, 10) != 0 {
		return ui.Number(say.Localizer, n, 1)
	}
	return ui.Number(say.Localizer, n, 0)
}

// fleetNow is the strongest number of the page: how much of the fleet is allocated, and how much of that works.
func (w *Pages) fleetNow(ctx context.Context, say page.Words) (platformview.FleetModel, time.Time) {
	s, asOf := w.fleetSums(ctx)
	m := platformview.FleetModel{Title: say.S("platform.allocated"), Href: page.FleetUsePath}
	switch {
	case s.clusters == 0:
		m.None = say.S("platform.no_cluster")
		return m, asOf
	case s.cards == 0:
		m.None = say.S("platform.no_cards")
		return m, asOf
	}
	cards := func(n float64) string { return cardsText(say, n) }
	idle := min(s.idle, s.held)
	working := max(0, min(s.told, s.held)-idle)
	unknown := max(0, s.held-idle-working)
	m.Value = say.Percent(100 * s.held / s.cards)
	m.Of = say.S("platform.cards_of", "Held", cards(s.held), "All", cards(s.cards))
	m.Bar = ui.MeterModel{Label: m.Title, Value: m.Of, Bare: true, Large: true, Test: "fleet-now"}
	for _, p := range []struct {
		id    string
		fill  ui.Fill
		cards float64
		href  string
	}{{"working", ui.FillUsed, working, page.FleetUsePath}, {"idle", ui.FillIdle, idle, page.FleetUsePath},
		{"unknown", ui.FillBlocked, unknown, page.MetricsPath}, {"broken", ui.FillBroken, s.broken, closedNodesPath},
		{"free", ui.FillFree, s.free, "/fleet"},
		{"not_offered", ui.FillBlocked, s.cards - s.held - s.free - s.broken, page.FleetUsePath}} {
		if p.cards < 0.05 && (p.id == "unknown" || p.id == "broken" || p.id == "not_offered") {
			continue
		}
		m.Bar.Segments = append(m.Bar.Segments, ui.SegmentModel{Fill: p.fill, Share: p.cards / s.cards,
			Words: say.S("platform."+p.id) + " " + cards(p.cards)})
		part := platformview.PartModel{Fill: p.fill, Label: say.S("platform." + p.id), Value: cards(p.cards), Href: p.href,
			Test: "part-" + p.id}
		if p.id == "broken" {
			part.Why = s.out.words(say)
		}
		m.Parts = append(m.Parts, part)
	}
	if s.told == 0 && s.held > 0 {
		m.Note = say.S("platform.no_metrics")
	}
	if !asOf.IsZero() {
		age := say.Age("Kubernetes", asOf, page.SnapshotEvery)
		m.Age = &age
	}
	return m, asOf
}

func moneyModel(say page.Words, o overview) platformview.MoneyModel {
	m := platformview.MoneyModel{Title: say.S("platform.idle_day"), Href: page.FleetUsePath,
		Month: say.S("platform.month"), Cost: say.Monies(o.month.Cost), Idle: "–", Mean: "–", MonthHref: page.UsageAllPath}
	m.Value, m.Detail = o.idle.Say(say)
	if use := blocks.CardUse(say, o.month); use != nil { // nil: no GPU was allocated this month
		m.Idle, m.Mean, m.Note = use.Idle, use.Mean, use.Note
		if !o.month.Use.Known() {
			m.Idle, m.Mean, m.Note = say.S("web.unknown"), say.S("web.unknown"), ""
			m.NoteHref = page.MetricsPath
		}
	}
	return m
}

// daysModel is what each day of the month cost; nil where nothing did.
func (w *Pages) daysModel(say page.Words, d daily) *ui.ColumnsModel {
	if len(d.days) == 0 {
		return nil
	}
	m := ui.ColumnsModel{ID: "platform-days", Label: say.S("usage.daily"), Value: say.Money(d.sum), Said: true,
		What: say.S("usage.day"), Series: []ui.SeriesModel{{Name: say.S("platform.cost"), Value: say.Money(d.sum)}}}
	m.Sign, m.Unit = say.CurrencyMarks(d.sum.Currency)
	for _, day := range d.days {
		sum := usage.Money{Currency: d.sum.Currency}
		for _, c := range day.Cost {
			sum = sum.Add(c)
		}
		m.Columns = append(m.Columns, ui.ColumnBarModel{Name: say.Day(day.Day.From, w.Usage.Zone), Total: say.Money(sum),
			Values: []float64{sum.Float()}, Words: []string{say.Money(sum)}})
	}
	blocks.MonthColumns(&m, say, d.ahead, w.Usage.Zone)
	return &m
}

// countText is a number, or that it is more than was read.
func countText(n int, more bool) string {
	if more {
		return strconv.Itoa(n) + "+"
	}
	return strconv.Itoa(n)
}

// changeKinds are what people decide about the platform: what the portal observes is not news.
var changeKinds = []audit.Kind{audit.RulesSaved, audit.CatalogSaved, audit.TenantSaved, audit.IdleSaved,
	audit.MemberAdded, audit.MemberRemoved, audit.BudgetSet, audit.BudgetRemoved, audit.BudgetRefunded, audit.PriceAdded,
	audit.PriceEnded, audit.LicenseEntered, audit.LicenseRemoved, audit.LicenseLost, audit.LicenseChosen,
	audit.HardwareQuarantined, audit.QuarantineEnded, audit.PersonDisabled, audit.PersonEnabled,
	audit.HoldingsTransferred,
	audit.ClusterHeld, audit.ClusterResumed, audit.DelegationCreated, audit.DelegationEnded, audit.ImpersonationBegun}

// mostChanges and mostListed bound what the page lists.
const (
	mostChanges = 6
	mostListed  = 5
)

func (w *Pages) recentChanges(k page.Call) (platformview.ChangesModel, error) {
	events, _, err := w.Events.Events(k.Ctx, audit.Filter{Kinds: changeKinds, Limit: mostChanges})
	m := platformview.ChangesModel{Title: k.Words.S("platform.changes"), Href: "/audit"}
	for _, e := range events {
		m.Items = append(m.Items, platformview.ChangeModel{Who: blocks.WhoDid(k.Words, e),
			What: k.Words.S("audit." + string(e.Kind)), Detail: k.Words.Text(e.Detail), When: k.Words.Ago(e.At)})
	}
	return m, err
}

func (w *Pages) queueModel(say page.Words, queue []*workload.Workload) platformview.QueueModel {
	m := platformview.QueueModel{Title: say.S("platform.queue"), Href: "/?scope=all", None: say.S("platform.queue_none"),
		Count: countText(len(queue), false)}
	for _, item := range queue[:min(len(queue), mostListed)] {
		m.Items = append(m.Items, platformview.WaitModel{Name: ui.StackModel{Title: item.Name,
			Href:   page.WorkloadPath(item.ID),
			Detail: item.OwnerName + " · " + w.TeamTitle(item.Tenant)}, Size: say.SizeTitle(item.Size),
			Since: say.Since(item.CreatedAt)})
	}
	return m
}
