package fleet

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/holders"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/fleet"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// held is what one or several workloads hold, use and cost in the window.
type held struct {
	name               string
	one                *holders.Holder // of several the first
	count              int
	longest            time.Duration
	sum, weight, known float64 // of the use, weighed by devices
	unknown            int     // workloads whose use nobody knows
	money, idle        usage.Money
	idleKnown          bool
}

func heldOf(say page.Words, h *holders.Holder) held {
	out := held{name: h.Name, one: h, count: 1, longest: max(0, say.Now.Sub(h.Since)), money: h.Money}
	if !h.Use.Known() {
		out.unknown = 1
		return out
	}
	out.weight, out.known = float64(h.Size.Devices()), h.Use.Measured.Hours()/holders.Window.Hours()
	out.sum = h.Use.Mean() * out.weight
	out.idle, out.idleKnown = h.Unused()
	return out
}

// holderGroups are how the table may be grouped, and what a group is called.
var holderGroups = map[string]func(w *Pages, say page.Words, h *holders.Holder) string{
	"team": func(w *Pages, _ page.Words, h *holders.Holder) string { return w.TeamTitle(h.Tenant) },
	"model": func(_ *Pages, say page.Words, h *holders.Holder) string {
		return say.Card(h.Size.Accelerator.Model)
	},
}

// holderOrders are what the table can be sorted by; it opens with those whose money goes for the least.
var holderOrders = []string{"-idle", "name", "owner", "size", "-held", "use", "-cost"}

func holderKeys(say page.Words, grouped bool) map[string]page.Key[*held] {
	size := func(h *held) string { return say.SizeTitle(h.one.Size) }
	if grouped { // which has no column for it
		size = func(*held) string { return "" }
	}
	return map[string]page.Key[*held]{
		"name":  page.ByText(func(h *held) string { return h.name }),
		"owner": page.ByText(func(h *held) string { return h.one.OwnerName }),
		"size":  page.ByText(size),
		"held":  page.ByNumber(func(h *held) time.Duration { return h.longest }),
		"use":   page.ByKnown(func(h *held) (float64, bool) { return h.sum / h.weight, h.weight > 0 }),
		"cost":  page.ByNumber(func(h *held) int64 { return h.money.Minor }),
		"idle":  page.ByKnown(func(h *held) (int64, bool) { return h.idle.Minor, h.idleKnown }),
	}
}

// holdersTable is who holds and how much of it is used.
func (w *Pages) holdersTable(k page.Call, all []holders.Holder) fleet.HoldersModel {
	say, group := k.Words, k.Get("group")
	key := holderGroups[group]
	m := fleet.HoldersModel{ID: "holders", Groups: holderTabs(k, group), Head: say.S("fleet.use.col_workload"),
		HeldHead: say.S("fleet.use.col_held_for"), Owners: key == nil, Window: say.S("fleet.use.col_mean"),
		Others: !k.Actor.SeesAll()}
	if key != nil {
		m.Head, m.HeldHead = say.S("fleet.use.col_"+group), say.S("fleet.use.col_longest")
	}
	if team := k.Get("team"); team != "" && key == nil {
		q := page.Cloned(k.Query)
		q.Del("team")
		m.Team = &ui.ChipModel{Label: say.S("fleet.use.col_team"), Value: w.TeamTitle(team), Test: "chip-team",
			RemoveURL: page.WithQuery(holdersPath, q)}
		all = slices.DeleteFunc(slices.Clone(all), func(h holders.Holder) bool { return h.Tenant != team })
	}
	rows := w.heldBy(say, all, key)
	m.Tiles = holderTiles(say, rows)
	most := mainIdler(rows)
	rows, m.List = page.RowsOf(say, page.ListOf(k, holdersPath, holderOrders, "group", "cluster", "team", "pause"),
		say.S("fleet.use.holders"), rows, holderKeys(say, key != nil))
	for _, r := range rows {
		row := w.holderModel(say, r, key != nil)
		if r == most {
			row.Kind = ui.Warning
		}
		if key == nil {
			row.ID, row.Acts = "holder-"+page.Slug(string(r.one.ID)), holderActs(say, r.one)
			if identity.Can(k.Actor, identity.ChangeWorkload, r.one.Resource()) {
				row.Stop = page.WorkloadPath(r.one.ID) + "/stop"
			}
		}
		if group == "team" {
			row.Workloads = page.WithQuery(holdersPath, url.Values{"team": {r.one.Tenant}})
		}
		if group == "team" && identity.Can(k.Actor, identity.ReadTenant, identity.Resource{Tenant: r.one.Tenant}) {
			row.Name.Href = page.TeamPath(r.one.Tenant)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// holderTiles sum the table up: money for nothing first. Amounts of different currencies have no sum.
func holderTiles(say page.Words, rows []*held) []ui.TileModel {
	var all held
	for _, r := range rows {
		if all.money.Currency != "" && r.money.Currency != "" && r.money.Currency != all.money.Currency {
			return nil
		}
		all.join(*r)
	}
	idle := ui.TileModel{Label: say.S("fleet.use.col_idle_money"), Value: say.S("web.unknown"), Unknown: true,
		Test: "tile-idle"}
	if all.idleKnown {
		idle.Value, idle.Unknown = say.Money(all.idle), false
		idle.Detail = say.S("fleet.use.idle_of", "Money", say.Money(all.money))
	}
	use := ui.TileModel{Label: say.S("fleet.use.col_mean"), Value: say.S("web.unknown"), Unknown: true, Test: "tile-use"}
	if all.weight > 0 {
		use.Value, use.Unknown = say.Percent(all.sum/all.weight), false
	}
	if all.unknown > 0 {
		use.Detail = say.S("fleet.use.unknown_of", "Unknown", all.unknown, "Count", all.count)
	}
	return []ui.TileModel{idle, use, {Label: say.S("fleet.use.workload_count"), Value: say.Number(float64(all.count)),
		Test: "tile-count"}}
}

// mainIdler is the row with more than half of the idle cost of all; nil for none, for one row alone, and for several
// currencies.
func mainIdler(rows []*held) *held {
	if len(rows) < 2 {
		return nil
	}
	most, all := rows[0], int64(0)
	for _, r := range rows {
		if r.money.Currency != rows[0].money.Currency {
			return nil
		}
		if all += r.idle.Minor; r.idle.Minor > most.idle.Minor {
			most = r
		}
	}
	if 2*most.idle.Minor <= all {
		return nil
	}
	return most
}

// heldBy is what each workload holds, or each group of them, by name.
func (w *Pages) heldBy(say page.Words, all []holders.Holder,
	key func(*Pages, page.Words, *holders.Holder) string) []*held {
	list := make([]held, len(all))
	rows, groups := make([]*held, 0, len(all)), map[string]*held{}
	for i := range all { // by name already
		list[i] = heldOf(say, &all[i])
		if key == nil {
			rows = append(rows, &list[i])
			continue
		}
		list[i].name = key(w, say, &all[i])
		if g := groups[list[i].name]; g != nil {
			g.join(list[i])
			continue
		}
		groups[list[i].name] = &list[i]
	}
	if key == nil {
		return rows
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b *held) int { return cmp.Compare(a.name, b.name) })
}

func (g *held) join(one held) {
	g.count, g.unknown, g.longest = g.count+one.count, g.unknown+one.unknown, max(g.longest, one.longest)
	g.sum, g.weight, g.known = g.sum+one.sum, g.weight+one.weight, min(g.known, one.known)
	g.money = g.money.Add(one.money)
	if one.idleKnown {
		g.idle, g.idleKnown = g.idle.Add(one.idle), true
	}
}

func (w *Pages) holderModel(say page.Words, h *held, grouped bool) fleet.HolderModel {
	m := fleet.HolderModel{Name: ui.StackModel{Title: h.name}, Use: say.S("web.unknown"), Money: say.Money(h.money),
		Idle: say.S("web.unknown")}
	if grouped {
		m.Name.Detail, m.Held = say.S("fleet.use.workloads", "Count", h.count),
			say.Duration(h.longest)
	} else {
		m.Name.Href, m.Name.Detail = page.WorkloadPath(h.one.ID), w.TeamTitle(h.one.Tenant)
		m.Owner, m.Size, m.Held = h.one.OwnerName, say.SizeTitle(h.one.Size), say.Duration(h.longest)
	}
	if h.weight > 0 {
		mean := h.sum / h.weight
		m.Use = say.Percent(mean)
		m.Bar = &ui.MeterModel{Label: say.S("fleet.use.col_mean"), Bare: true,
			Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: mean / 100}}}
		if usage.Idle(mean) && h.longest > time.Hour {
			m.Kind = ui.Warning
		}
	}
	switch {
	case grouped && h.unknown > 0 && h.unknown < h.count:
		m.Known = say.S("fleet.use.unknown_of", "Unknown", h.unknown, "Count", h.count)
	case !grouped && h.weight > 0 && h.known < 0.9:
		of := min(h.longest, holders.Window)
		known := time.Duration(h.known * float64(holders.Window))
		m.KnownIn = say.S("fleet.use.known_for", "Of", say.Duration(of), "Time", say.Duration(known.Round(time.Minute)))
		m.Known = say.S("fleet.use.known_part", "Share", say.Percent(100*min(1, known.Hours()/max(of, 1).Hours())))
	}
	if h.idleKnown {
		m.Idle = say.Money(h.idle)
	}
	return m
}

// holderActs lead to what a workload does.
func holderActs(say page.Words, h *holders.Holder) []ui.MenuItemModel {
	path := page.WorkloadPath(h.ID)
	return []ui.MenuItemModel{{Label: say.S("fleet.map.to_metrics"), Icon: "pulse", Href: path + "/metrics",
		Test: "holder-metrics"}, {Label: say.S("workload.tab_history"), Icon: "audit", Href: path + "/history"}}
}

func holderTabs(k page.Call, current string) ui.TabsModel {
	m := ui.TabsModel{Label: k.Words.S("fleet.use.group")}
	for _, g := range []string{"", "team", "model"} {
		q := page.Cloned(k.Query)
		q.Del("p")
		q.Del("team")
		q.Set("group", g)
		if g == "" {
			q.Del("group")
		}
		m.Items = append(m.Items, ui.TabModel{Label: k.Words.S("fleet.use.group_" + page.OrElse(g, "workload")),
			Href: page.WithQuery(holdersPath, q), Current: g == current || g == "" &&
				holderGroups[current] == nil,
			Test: "group-" + page.OrElse(g, "workload")})
	}
	return m
}
