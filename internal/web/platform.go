package web

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	platformview "github.com/gpu-portal/gpu-portal/views/platform"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

const platformPath = "/platform"

// overviewEvery is how long the figures are kept that take more than an index to read. They are the same for all who
// see everything.
const overviewEvery = 15 * time.Second

// overview is what other pages of the platform's side show in full, in numbers.
type overview struct {
	at     time.Time
	month  usage.Sum // of everybody
	idle   usage.Money
	held   int // workloads on GPUs
	unsaid int // of them, those whose use nobody knows
	levels map[health.Level]int
	books  []budget.Standing
	pools  []license.Line
	wrong  []offer.Finding
}

// overviews keeps the last one.
type overviews struct {
	sync.Mutex
	last overview
}

// overviewNow reads the figures at most once in a while, however many look.
func (w *Web) overviewNow(k call) (overview, error) {
	w.overviews.Lock()
	defer w.overviews.Unlock()
	if o := w.overviews.last; !o.at.IsZero() && k.words.now.Sub(o.at).Abs() < overviewEvery {
		return o, nil
	}
	o, err := w.readOverview(k)
	if err == nil {
		w.overviews.last = o
	}
	return o, err
}

func (w *Web) readOverview(k call) (o overview, err error) {
	o = overview{at: k.words.now, levels: map[health.Level]int{}}
	statement, err := w.Usage.Statement(k.ctx, k.actor, usage.All, w.Usage.Month())
	if err != nil {
		return o, err
	}
	o.month = statement.Total()
	holders, err := w.holdersSeen(k)
	if err != nil {
		return o, err
	}
	for _, h := range holders {
		o.held++
		if money, known := h.Unused(); known {
			o.idle = o.idle.Add(money)
		} else {
			o.unsaid++
		}
	}
	for _, name := range w.Site().Clusters {
		r, err := w.Marks.Report(k.ctx, k.actor, name)
		if err != nil {
			return o, err
		}
		countLevels(r, o.levels)
	}
	var wrong [3]error
	o.books, wrong[0] = w.Budgets.All(k.ctx, k.actor)
	o.pools, wrong[1] = w.Licenses.Overview(k.ctx, k.actor)
	o.wrong, wrong[2] = w.Catalog.Findings(k.ctx, k.actor)
	return o, errors.Join(wrong[:]...)
}

// platform answers: is the fleet well, full, used and affordable, and what wants somebody now.
func (w *Web) platform(k call) (view, error) {
	if !identity.Can(k.actor, identity.ReadPlatform, identity.Resource{}) {
		return view{}, fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	o, err := w.overviewNow(k)
	if err != nil {
		return view{}, err
	}
	queue, more, err := w.Workloads.List(k.ctx, k.actor, false, workload.Filter{States: []workload.State{workload.Queued},
		Limit: mostQueued})
	if err != nil {
		return view{}, err
	}
	pending, morePending, err := w.Requests.List(k.ctx, k.actor, request.ScopeVisible,
		request.Filter{States: []request.State{request.Pending}, Oldest: true, Limit: mostQueued})
	if err != nil {
		return view{}, err
	}
	changes, err := w.recentChanges(k)
	if err != nil {
		return view{}, err
	}
	slices.SortStableFunc(queue, func(a, b workload.Workload) int { return a.CreatedAt.Compare(b.CreatedAt) })
	say := k.words
	m := platformview.PageModel{Header: ui.HeaderModel{Title: say.S("platform.title"), Lead: say.S("platform.lead")},
		Money: moneyModel(say, o), Changes: changes, Queue: w.queueModel(say, queue, more != "")}
	m.Attention = platformview.AttentionModel{Items: w.attentionItems(say, o, pending, morePending != "")}
	for _, i := range m.Attention.Items {
		m.Attention.Some = m.Attention.Some || i.Kind == ui.Danger || i.Kind == ui.Warning
	}
	v := view{title: m.Header.Title, nav: platformPath, wide: true}
	m.Fleet, v.asOf = w.fleetNow(k.ctx, say)
	v.body = platformview.Page(m)
	v.parts = []part{
		{id: platformview.FleetID, ticks: true, draw: func(say words) templ.Component {
			now, _ := w.fleetNow(k.ctx, say)
			return platformview.Fleet(now)
		}},
		{id: platformview.MoneyID, draw: func(words) templ.Component { return platformview.Money(m.Money) }},
		{id: platformview.AttentionID, draw: func(words) templ.Component { return platformview.Attention(m.Attention) }},
		{id: platformview.QueueID, draw: func(words) templ.Component { return platformview.Queue(m.Queue) }},
		{id: platformview.ChangesID, draw: func(words) templ.Component { return platformview.Changes(m.Changes) }}}
	return v, nil
}

// fleetSums are cards of all clusters, as reconciliation counts them; those that are held and idle as the map of GPUs
// draws them.
type fleetSums struct {
	cards, held, free, broken float64
	idle, told                float64 // held devices that do nothing, and all held ones of which something is known
	clusters                  int
}

func (w *Web) fleetSums(ctx context.Context) (s fleetSums, asOf time.Time) {
	for _, name := range w.Site().Clusters {
		snapshot, ok := w.Snapshots.Snapshot(ctx, name)
		if !ok {
			continue
		}
		s.clusters++
		asOf = oldest(asOf, snapshot.TakenAt)
		for _, stock := range inventory.Stock(snapshot) {
			s.cards += float64(stock.Cards) / usage.Parts
			s.held += float64(stock.Ours+stock.Others) / usage.Parts
			s.free += float64(stock.Free) / usage.Parts
			s.broken += float64(stock.Broken) / usage.Parts
		}
		f := w.Metrics.Fleet(name)
		if f == nil {
			continue
		}
		for _, node := range f.Nodes {
			for _, card := range node.Cards {
				for _, c := range card.Cells {
					switch kind := kindOfCell(c); {
					case !c.Held() || kind == "unknown":
					case kind == "idle":
						s.idle, s.told = s.idle+c.Part, s.told+c.Part
					default:
						s.told += c.Part
					}
				}
			}
		}
	}
	return s, asOf
}

// fleetNow is the strongest number of the page: how much of the fleet is allocated, and how much of that works.
func (w *Web) fleetNow(ctx context.Context, say words) (platformview.FleetModel, time.Time) {
	s, asOf := w.fleetSums(ctx)
	m := platformview.FleetModel{Title: say.S("platform.allocated"), Href: fleetUsePath}
	switch {
	case s.clusters == 0:
		m.None = say.S("platform.no_cluster")
		return m, asOf
	case s.cards == 0:
		m.None = say.S("platform.no_cards")
		return m, asOf
	}
	cards := func(n float64) string {
		if tenths := math.Round(10 * n); math.Mod(tenths, 10) != 0 {
			return ui.Number(say.Localizer, n, 1)
		}
		return ui.Number(say.Localizer, n, 0)
	}
	idle := min(s.idle, s.held)
	working := max(0, min(s.told, s.held)-idle)
	unknown := max(0, s.held-idle-working)
	m.Value = say.percent(100 * s.held / s.cards)
	m.Of = say.S("platform.cards_of", "Held", cards(s.held), "All", cards(s.cards))
	m.Bar = ui.MeterModel{Label: m.Title, Value: m.Of, Bare: true, Large: true, Test: "fleet-now"}
	for _, p := range []struct {
		id    string
		fill  ui.Fill
		cards float64
		href  string
	}{{"working", ui.FillUsed, working, fleetUsePath}, {"idle", ui.FillIdle, idle, fleetUsePath},
		{"unknown", ui.FillBlocked, unknown, "/admin/metrics"}, {"broken", ui.FillBroken, s.broken, fleetHealthPath},
		{"free", ui.FillFree, s.free, "/fleet"}} {
		if p.cards <= 0 && (p.id == "unknown" || p.id == "broken") {
			continue
		}
		m.Bar.Segments = append(m.Bar.Segments, ui.SegmentModel{Fill: p.fill, Share: p.cards / s.cards,
			Words: say.S("platform."+p.id) + " " + cards(p.cards)})
		m.Parts = append(m.Parts, platformview.PartModel{Fill: p.fill, Label: say.S("platform." + p.id),
			Value: cards(p.cards), Href: p.href, Test: "part-" + p.id})
	}
	if s.told == 0 && s.held > 0 {
		m.Note = say.S("platform.no_metrics")
	}
	if !asOf.IsZero() {
		age := say.age("Kubernetes", asOf, snapshotEvery)
		m.Age = &age
	}
	return m, asOf
}

func moneyModel(say words, o overview) platformview.MoneyModel {
	m := platformview.MoneyModel{Title: say.S("platform.idle_day"), Value: say.money(o.idle), Href: fleetUsePath,
		Detail: say.S("platform.idle_day_detail", "Count", o.held), Month: say.S("platform.month"),
		Cost: say.monies(o.month.Cost), Idle: say.S("web.unknown"), Mean: say.S("web.unknown"), MonthHref: usageAllPath}
	switch {
	case o.held == 0:
		m.Value, m.Detail = "–", say.S("platform.nothing_held")
	case o.unsaid == o.held:
		m.Value, m.Detail = say.S("web.unknown"), say.S("platform.no_metrics")
	case o.unsaid > 0:
		m.Detail = say.S("platform.idle_day_part", "Count", o.held, "Unknown", o.unsaid)
	}
	if o.month.Use.Known() {
		m.Idle, m.Mean = say.monies(o.month.Idle), say.percent(o.month.Use.Mean())
	}
	return m
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
	audit.HardwareMarked, audit.HardwareUnmarked, audit.PersonDisabled, audit.PersonEnabled, audit.PersonHandedOver,
	audit.ClusterHeld, audit.ClusterResumed, audit.DelegationCreated, audit.DelegationEnded, audit.ImpersonationBegun}

// mostChanges and mostQueued bound what the page lists and reads.
const (
	mostChanges = 6
	mostQueued  = 100
	mostListed  = 5
)

func (w *Web) recentChanges(k call) (platformview.ChangesModel, error) {
	events, _, err := w.Events.Events(k.ctx, audit.Filter{Kinds: changeKinds, Limit: mostChanges})
	m := platformview.ChangesModel{Title: k.words.S("platform.changes"), Href: "/audit",
		None: k.words.S("platform.no_changes")}
	for _, e := range events {
		m.Items = append(m.Items, platformview.ChangeModel{Who: whoDid(k.words, e),
			What: k.words.S("audit." + string(e.Kind)), Detail: k.words.say(e.Detail), When: k.words.ago(e.At)})
	}
	return m, err
}

func (w *Web) queueModel(say words, queue []workload.Workload, more bool) platformview.QueueModel {
	m := platformview.QueueModel{Title: say.S("platform.queue"), Href: "/?scope=all", None: say.S("platform.queue_none"),
		Count: countText(len(queue), more)}
	for _, item := range queue[:min(len(queue), mostListed)] {
		m.Items = append(m.Items, platformview.WaitModel{Name: ui.StackModel{Title: item.Name, Href: workloadPath(item.ID),
			Detail: item.OwnerName + " · " + w.teamTitle(item.Tenant)}, Size: item.Size.Title, Since: say.since(item.CreatedAt)})
	}
	return m
}
