package fleet

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/holders"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/fleet"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// fleetTabs are the sides of the fleet for those who only use it: what there is, what it does, and its licenses. Those
// who answer for it have them in the navigation.
func fleetTabs(k page.Call, current string) ui.TabsModel {
	m := ui.TabsModel{Label: k.Words.S("web.nav.fleet")}
	if identity.Can(k.Actor, identity.ReadMetrics, identity.Resource{}) {
		return m
	}
	for _, t := range []struct{ id, path string }{{"capacity", "/fleet"}, {"use", page.FleetUsePath},
		{"licenses", "/licenses"}} {
		m.Items = append(m.Items, ui.TabModel{Label: k.Words.S("fleet.use.tab_" + t.id), Href: t.path,
			Current: t.path == current, Test: "tab-" + t.id})
	}
	return m
}

// fleetUse answers: which cards work, which are held for nothing, and by whom.
func (w *Pages) fleetUse(k page.Call) (page.View, error) {
	say := k.Words
	m := fleet.UsePageModel{Header: ui.HeaderModel{Title: say.S("fleet.use.title"), Lead: say.S("fleet.use.lead")},
		Tabs: fleetTabs(k, page.FleetUsePath), Stream: page.StreamModel(k, page.FleetUsePath)}
	v := page.View{Title: m.Header.Title, Nav: page.FleetUsePath, Wide: true, Paused: page.Paused(k)}
	held, err := w.HoldersSeen(k)
	if err != nil {
		return page.View{}, err
	}
	for _, name := range w.Site().Clusters {
		snapshot, _ := w.Snapshots.Snapshot(k.Ctx, name)
		nodes := withoutMetrics(say, name, snapshot)
		if len(nodes) == 0 && w.Metrics.Fleet(name) == nil {
			continue
		}
		chosen := ""
		if k.Get("cluster") == name {
			chosen = k.Get("node")
		}
		age := func(say page.Words) templ.Component { return fleet.UseAge(w.heatAge(say, name)) }
		heat := func(say page.Words) templ.Component { return w.heat(say, name, chosen, nodes) }
		id := page.Slug(name)
		m.Clusters = append(m.Clusters, fleet.UseClusterModel{Title: say.S("fleet.cluster", "Name", name),
			Age: w.heatAge(say, name), Map: heat(say), Legend: heatLegend(say)})
		v.Parts = append(v.Parts, page.Part{ID: "heat-age-" + id, Ticks: true, Draw: age},
			page.Part{ID: "heat-" + id, Ticks: true,
				Draw: heat})
		v.AsOf = blocks.Oldest(v.AsOf, snapshot.TakenAt)
		if chosen != "" {
			if d := w.nodeUse(k, name, chosen, held); d != nil {
				m.Node = d
				v.Parts = append(v.Parts, page.Part{ID: d.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
					k.Words = say
					return fleet.NodeUse(*cmp.Or(w.nodeUse(k, name, chosen, held), d))
				}})
			}
		}
	}
	if len(m.Clusters) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "fleet", Title: say.S("fleet.empty"), Lines: []string{say.S("fleet.empty_why")},
			Test: "empty"}
	}
	m.Holders = w.holdersTable(k, held)
	v.Parts = append(v.Parts, page.Part{ID: m.Holders.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
		k.Words = say
		return fleet.Holders(w.holdersTable(k, held))
	}})
	v.Body = fleet.UsePage(m)
	return v, nil
}

// heatAge says when the values of the map came, and when none come any more, since when.
func (w *Pages) heatAge(say page.Words, cluster string) fleet.AgeModel {
	m := fleet.AgeModel{ID: "heat-age-" + page.Slug(cluster)}
	f := w.Metrics.Fleet(cluster)
	if f == nil {
		m.Unknown = say.S("fleet.use.never")
		return m
	}
	age := say.Age("DCGM", f.At, page.ReadingEvery)
	m.Age = &age
	if age.Old {
		m.Unknown = say.S("fleet.use.silent", "Time", say.Since(f.At).Words)
	}
	return m
}

// heatKinds are the kinds of cells, from nothing to do to all to do.
var heatKinds = []string{"free", "idle", "1", "2", "3", "4", "unknown"}

func heatLegend(say page.Words) []fleet.LegendModel {
	var all []fleet.LegendModel
	for _, kind := range heatKinds {
		all = append(all, fleet.LegendModel{Class: kind, Words: say.S("fleet.use.legend_" + kind)})
	}
	return all
}

// heatKey is what a drawn map depends on, apart from the values themselves.
type heatKey struct{ cluster, lang, node string }

type drawnHeat struct {
	fleet *gpumetrics.Fleet
	nodes string // those without metrics
	html  string
}

// heats are the maps as they were last drawn.
type heats struct {
	sync.Mutex
	drawn map[heatKey]drawnHeat
}

// heat is the map of a cluster. It is drawn once for each poll and language, however many look: it names nobody, so
// that all may see the same.
func (w *Pages) heat(say page.Words, cluster, chosen string, silent []fleet.HeatNodeModel) templ.Component {
	f := w.Metrics.Fleet(cluster)
	key := heatKey{cluster, say.Lang(), chosen}
	names := make([]string, len(silent))
	for i, n := range silent {
		names[i] = n.Name
	}
	all := strings.Join(names, " ")
	w.heats.Lock()
	defer w.heats.Unlock()
	if d, ok := w.heats.drawn[key]; ok && d.fleet == f && d.nodes == all {
		return templ.Raw(d.html)
	}
	var b strings.Builder
	if err := fleet.Heat(heatModel(say, cluster, chosen, f, silent)).Render(ui.WithLocalizer(context.Background(),
		say.Localizer), &b); err != nil {
		return templ.Raw("", err)
	}
	if len(w.heats.drawn) >= mostHeats {
		clear(w.heats.drawn)
	}
	w.heats.drawn[key] = drawnHeat{f, all, b.String()}
	return templ.Raw(b.String())
}

// mostHeats bounds what is kept: each node can be chosen in each language.
const mostHeats = 64

func heatModel(say page.Words, cluster, chosen string, f *gpumetrics.Fleet,
	silent []fleet.HeatNodeModel) fleet.HeatModel {
	m := fleet.HeatModel{ID: "heat-" + page.Slug(cluster)}
	known := map[string]bool{}
	if f != nil {
		for _, n := range f.Nodes {
			known[n.Name] = true
			node, row := heatNode(say, cluster, n)
			m.Nodes, m.Rows = append(m.Nodes, node), append(m.Rows, row)
		}
	}
	for _, n := range silent {
		if !known[n.Name] {
			m.Nodes = append(m.Nodes, n)
			m.Rows = append(m.Rows, fleet.HeatRowModel{Name: ui.StackModel{Title: n.Name, Href: n.Href}, Held: "–",
				Use: say.S("web.unknown"), Idle: "–", Unknown: say.S("fleet.use.all")})
		}
	}
	for i := range m.Nodes {
		m.Nodes[i].Current = m.Nodes[i].Name == chosen
	}
	if len(m.Rows) > mostNodes {
		m.More = say.S("fleet.shown", "Shown", mostNodes, "All", len(m.Rows))
		m.Rows = m.Rows[:mostNodes]
	}
	return m
}

// nodeSums are what a node's devices do, in numbers.
type nodeSums struct {
	cells, held, idle, unknown int
	sum, weight                float64
}

func (s *nodeSums) add(c gpumetrics.Cell) {
	s.cells++
	if c.Held() {
		s.held++
	}
	switch blocks.KindOfCell(c) {
	case "unknown":
		s.unknown++
		return
	case "idle":
		s.idle++
	}
	s.sum, s.weight = s.sum+c.Engine.Value*c.Part, s.weight+c.Part
}

// use is the mean over the cards, each slice by its part of the card.
func (s nodeSums) use(say page.Words) string {
	if s.weight == 0 {
		return say.S("web.unknown")
	}
	return say.Percent(s.sum / s.weight)
}

func heatNode(say page.Words, cluster string, n gpumetrics.Node) (fleet.HeatNodeModel, fleet.HeatRowModel) {
	var sums nodeSums
	paths := map[string]*strings.Builder{}
	for i, card := range n.Cards {
		drawCard(paths, i, card)
		for _, c := range card.Cells {
			sums.add(c)
		}
	}
	name := n.Name
	if name == "" {
		name = say.S("fleet.use.no_node")
	}
	m := fleet.HeatNodeModel{Name: name, Href: page.FleetUsePath + "?" + url.Values{"cluster": {cluster},
		"node": {n.Name}}.Encode() + "#node-use", Width: max(1, len(n.Cards))*(fleet.CellWidth+fleet.Gap) - fleet.Gap + 2}
	for _, kind := range heatKinds {
		if b := paths[kind]; b != nil {
			m.Paths = append(m.Paths, fleet.PathModel{Class: kind, D: b.String()})
		}
	}
	m.Words = say.S("fleet.use.node_words", "Node", name, "Cards", len(n.Cards), "Use", sums.use(say), "Held", sums.held,
		"Cells", sums.cells, "Idle", sums.idle, "Unknown", sums.unknown)
	model := ""
	if len(n.Cards) > 0 {
		model = cardName(say, n.Cards[0].Model)
	}
	return m, fleet.HeatRowModel{Name: ui.StackModel{Title: name, Href: m.Href, Detail: model},
		Held: say.S("fleet.use.of", "Count", sums.held, "All", sums.cells), Use: sums.use(say), Idle: fmt.Sprint(sums.idle),
		Unknown: fmt.Sprint(sums.unknown)}
}

// drawCard adds the cells of a card, side by side and as wide as their part of it.
func drawCard(paths map[string]*strings.Builder, i int, card gpumetrics.CardUse) {
	at, total := float64(i*(fleet.CellWidth+fleet.Gap)+1), 0.0
	for _, c := range card.Cells {
		total += c.Part
	}
	for _, c := range card.Cells {
		wide := fleet.CellWidth * c.Part / max(1, total)
		kind := blocks.KindOfCell(c)
		b := paths[kind]
		if b == nil {
			b = &strings.Builder{}
			paths[kind] = b
		}
		inner := wide
		if len(card.Cells) > 1 {
			inner = wide - 0.6 // slices are told apart by a fine line
		}
		fmt.Fprintf(b, "M%.4g 1h%.3gv%dh-%.3gz", at, inner, fleet.CellHeight, inner)
		if kind == "unknown" { // colour is not enough
			fmt.Fprintf(b, "m0 %dl%.3g -%d", fleet.CellHeight, inner, fleet.CellHeight)
		}
		at += wide
	}
}

// withoutMetrics are the nodes with GPUs as the cluster knows them, drawn as unknown: one that no series speaks of must
// not be missing from the map.
func withoutMetrics(say page.Words, cluster string, s inventory.Snapshot) []fleet.HeatNodeModel {
	var nodes []fleet.HeatNodeModel
	for _, n := range s.Nodes {
		if noGPU(n) == 1 {
			continue
		}
		count := 1
		if n.Cards.Known {
			count = min(16, max(1, int(n.Cards.Count)))
		}
		cards := make([]gpumetrics.CardUse, count)
		for i := range cards {
			cards[i].Cells = []gpumetrics.Cell{{Part: 1}}
		}
		m, _ := heatNode(say, cluster, gpumetrics.Node{Name: n.Name, Cards: cards})
		m.Words = say.S("fleet.use.node_silent", "Node", n.Name)
		nodes = append(nodes, m)
	}
	return nodes
}

// nodeUse is one node, card by card; nil where no series speaks of it in this cluster.
func (w *Pages) nodeUse(k page.Call, cluster, name string, held []holders.Holder) *fleet.NodeUseModel {
	say, f := k.Words, w.Metrics.Fleet(cluster)
	q := page.Cloned(k.Query)
	q.Del("node")
	q.Del("cluster")
	m := &fleet.NodeUseModel{ID: "node-use", Title: say.S("fleet.use.node", "Name", name),
		Close: ui.LinkButtonModel{Label: say.S("fleet.use.close"), Small: true, Href: page.WithQuery(page.FleetUsePath, q),
			Test: "close-node"}}
	if f == nil {
		m.Empty = say.S("fleet.use.never")
		return m
	}
	at := slices.IndexFunc(f.Nodes, func(n gpumetrics.Node) bool { return n.Name == name })
	if at < 0 {
		return nil
	}
	owners := map[gpumetrics.Pod]workload.Workload{}
	for _, h := range held {
		if h.Cluster == cluster {
			owners[gpumetrics.Pod{Namespace: h.Namespace, Name: h.Observed.Pod}] = h.Workload
		}
	}
	for i, card := range f.Nodes[at].Cards {
		for _, c := range card.Cells {
			m.Rows = append(m.Rows, cellRow(k, i, card, c, owners))
		}
	}
	return m
}

func cellRow(k page.Call, i int, card gpumetrics.CardUse, c gpumetrics.Cell,
	owners map[gpumetrics.Pod]workload.Workload) fleet.CellRowModel {
	say := k.Words
	title := say.S("fleet.use.card", "Number", i+1)
	if c.Profile != "" {
		title += " · MIG " + c.Profile
	}
	r := fleet.CellRowModel{Card: ui.StackModel{Title: title, Detail: cardName(say, card.Model)},
		Engine: say.Amount(c.Engine), Memory: say.Amount(c.Memory), Rests: *blocks.RestsOn(say, c.Engine)}
	if c.Memory.Known() && c.Total.Known() {
		r.Memory = say.S("fleet.use.of_amount", "Used", say.Amount(c.Memory), "All", say.Amount(c.Total))
	}
	var names []string
	for _, pod := range c.Pods {
		names = append(names, podWords(k, pod, owners))
	}
	slices.Sort(names)
	if r.Holder = strings.Join(slices.Compact(names), ", "); r.Holder == "" {
		r.Holder = say.S("fleet.use.nobody")
	}
	return r
}

// podWords names the holder to those who may know, as on the page of capacity.
func podWords(k page.Call, pod gpumetrics.Pod, owners map[gpumetrics.Pod]workload.Workload) string {
	if item, ok := owners[pod]; ok {
		return item.Name + " · " + item.OwnerName
	}
	if identity.Can(k.Actor, identity.ReadHolders, identity.Resource{}) {
		return pod.Namespace + "/" + pod.Name
	}
	return k.Words.S("fleet.cell_held")
}
