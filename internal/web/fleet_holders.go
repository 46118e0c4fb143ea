package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/fleet"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// holding is a workload that holds GPUs now, with what it has held.
type holding struct {
	workload.Workload
	since     time.Time
	intervals []usage.Interval
}

// mostHoldings keeps a page from reading everything there is: the newest count.
const mostHoldings = 5000

// holdings are those that the reader may see.
func (w *Web) holdings(k call) ([]holding, error) {
	var out []holding
	f := workload.Filter{States: []workload.State{workload.Running, workload.Starting, workload.Stopping}, Limit: 500}
	for {
		items, next, err := w.Workloads.List(k.ctx, k.actor, false, f)
		if err != nil {
			return nil, err
		}
		if out, err = w.addHoldings(k.ctx, out, items); err != nil {
			return nil, err
		}
		if f.Cursor = next; next == "" || len(out) >= mostHoldings {
			return out, nil
		}
	}
}

func (w *Web) addHoldings(ctx context.Context, out []holding, items []workload.Workload) ([]holding, error) {
	items = slices.DeleteFunc(items, func(i workload.Workload) bool { return i.Size.Devices() == 0 || i.Observed.Node == "" })
	ids := make([]workload.ID, len(items))
	for i, item := range items {
		ids[i] = item.ID
	}
	intervals, err := w.Workloads.Store.Intervals(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		h := holding{Workload: item, since: item.PlacedAt, intervals: intervals[item.ID]}
		for _, i := range h.intervals {
			if i.Until.IsZero() {
				h.since = i.From
			}
		}
		out = append(out, h)
	}
	return out, nil
}

// held is what one or several workloads hold, use and cost in the window.
type held struct {
	name, detail, href, owner, size string
	count                           int
	longest                         time.Duration
	sum, weight, known              float64 // of the use, weighed by devices
	unknown                         int     // workloads whose use nobody knows
	money, idle                     usage.Money
	idleKnown                       bool
}

func (w *Web) heldOf(h holding, uses gpumetrics.Uses, k call) held {
	now := k.words.now
	out := held{name: h.Name, href: workloadPath(h.ID), detail: h.Tenant, owner: h.OwnerName, size: h.Size.Title, count: 1, longest: max(0, now.Sub(h.since))}
	for _, u := range usage.Uses(h.intervals, usage.Span{From: now.Add(-gpumetrics.UseWindow), Until: now}) {
		out.money = out.money.Add(u.Cost())
	}
	use, ok := w.useOf(h, uses, k)
	if !ok {
		out.unknown = 1
		return out
	}
	out.weight, out.known = float64(h.Size.Devices()), use.Known
	out.sum = use.Mean * out.weight
	out.idle, out.idleKnown = usage.Money{Minor: int64(float64(out.money.Minor) * (1 - use.Mean/100)), Currency: out.money.Currency}, true
	return out
}

// useOf is the mean use of a workload's devices in the window; of one that is younger than the steps in which the window is looked at, in the last hour. What a device
// does that others have too is not the workload's use.
func (w *Web) useOf(h holding, uses gpumetrics.Uses, k call) (gpumetrics.Use, bool) {
	if h.Size.SharesDevice() {
		return gpumetrics.Use{}, false
	}
	if use, ok := uses.Of(h.Namespace, h.Observed.Pod); ok {
		return use, true
	}
	sum, n := 0.0, 0
	for _, p := range w.Metrics.History(k.ctx, h.Cluster, h.Namespace, h.Observed.Pod) {
		if p.Known {
			sum, n = sum+p.Value, n+1
		}
	}
	if n == 0 {
		return gpumetrics.Use{}, false
	}
	return gpumetrics.Use{Mean: sum / float64(n), Known: float64(n) * time.Minute.Hours() / gpumetrics.UseWindow.Hours()}, true
}

// holderGroups are how the table may be grouped, and what a group is called.
var holderGroups = map[string]func(w *Web, say words, h holding) string{
	"team": func(w *Web, _ words, h holding) string {
		t, _ := w.Site().Directory.ByName(h.Tenant)
		return orElse(t.Display(), h.Tenant)
	},
	"model": func(_ *Web, say words, h holding) string { return cardName(say, h.Size.Accelerator.Model) },
}

// holders is who holds and how much of it is used, those first whose money goes for the least.
func (w *Web) holders(k call, all []holding) fleet.HoldersModel {
	say, group := k.words, k.get("group")
	key := holderGroups[group]
	m := fleet.HoldersModel{ID: "holders", Title: say.S("fleet.use.holders"), Lead: say.S("fleet.use.holders_lead"), Groups: holderTabs(k, group), Head: say.S("fleet.use.col_workload"), Owners: key == nil,
		Window: say.S("fleet.use.col_mean")}
	if key != nil {
		m.Head = say.S("fleet.use.col_" + group)
	}
	if !k.actor.SeesAll() {
		m.Others = say.S("fleet.use.others")
	}
	if len(all) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "gpu", Title: say.S("fleet.use.no_holders"), Lines: []string{say.S("fleet.use.no_holders_why")}, Test: "no-holders"}
		return m
	}
	uses := map[string]gpumetrics.Uses{}
	groups := map[string]*held{}
	for _, h := range all {
		if _, ok := uses[h.Cluster]; !ok {
			uses[h.Cluster] = w.Metrics.Uses(h.Cluster)
		}
		one := w.heldOf(h, uses[h.Cluster], k)
		id := string(h.ID)
		if key != nil {
			id = key(w, say, h)
			one.name, one.detail, one.href = id, "", ""
		}
		if g := groups[id]; g != nil {
			g.join(one)
			continue
		}
		groups[id] = &one
	}
	rows := slices.Collect(maps.Values(groups))
	slices.SortFunc(rows, func(a, b *held) int {
		return cmp.Or(cmp.Compare(b.idle.Minor, a.idle.Minor), cmp.Compare(a.name, b.name), cmp.Compare(a.href, b.href))
	})
	for _, r := range rows {
		m.Rows = append(m.Rows, holderModel(say, *r, key != nil))
	}
	return m
}

func (g *held) join(one held) {
	g.count, g.unknown, g.longest = g.count+one.count, g.unknown+one.unknown, max(g.longest, one.longest)
	g.sum, g.weight, g.known = g.sum+one.sum, g.weight+one.weight, min(g.known, one.known)
	g.money = g.money.Add(one.money)
	if one.idleKnown {
		g.idle, g.idleKnown = g.idle.Add(one.idle), true
	}
}

func holderModel(say words, h held, grouped bool) fleet.HolderModel {
	m := fleet.HolderModel{Name: ui.StackModel{Title: h.name, Href: h.href, Detail: h.detail}, Owner: h.owner, Size: h.size, Held: say.duration(h.longest), Use: say.S("web.unknown"), Money: say.money(h.money), Idle: say.S("web.unknown")}
	if grouped {
		m.Name.Detail, m.Held = say.S("fleet.use.workloads", "Count", h.count), say.S("fleet.use.up_to", "Time", say.duration(h.longest))
	}
	if h.weight > 0 {
		mean := h.sum / h.weight
		m.Use = say.percent(mean)
		m.Bar = &ui.MeterModel{Label: say.S("fleet.use.col_mean"), Bare: true, Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: mean / 100}}}
		if mean < idleBelow && h.longest > time.Hour {
			m.Kind = ui.Warning
		}
	}
	switch {
	case grouped && h.unknown > 0:
		m.Known = say.S("fleet.use.unknown_of", "Unknown", h.unknown, "Count", h.count)
	case !grouped && h.weight > 0 && h.known < 0.9:
		m.Known = say.S("fleet.use.known_for", "Time", say.duration(time.Duration(h.known*float64(gpumetrics.UseWindow)).Round(time.Minute)))
	}
	if h.idleKnown {
		m.Idle = say.money(h.idle)
	}
	return m
}

func holderTabs(k call, current string) ui.TabsModel {
	m := ui.TabsModel{Label: k.words.S("fleet.use.group")}
	for _, g := range []string{"", "team", "model"} {
		q := cloned(k.query)
		q.Set("group", g)
		if g == "" {
			q.Del("group")
		}
		m.Items = append(m.Items, ui.TabModel{Label: k.words.S("fleet.use.group_" + orElse(g, "workload")), Href: withQuery(fleetUsePath, q) + "#holders", Current: g == current || g == "" && holderGroups[current] == nil, Test: "group-" + orElse(g, "workload")})
	}
	return m
}
