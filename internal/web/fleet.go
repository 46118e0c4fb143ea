package web

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/fleet"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// fleet answers: what is there, who holds it, what is broken.
func (w *Web) fleet(k call) (view, error) {
	m := fleet.PageModel{Header: ui.HeaderModel{Title: k.words.S("fleet.title"), Lead: k.words.S("fleet.lead")}}
	names, err := w.workloadNames(k)
	if err != nil {
		return view{}, err
	}
	v := view{title: m.Header.Title, nav: "/fleet", wide: true}
	for _, name := range w.Site().Clusters {
		snapshot, ok := w.Snapshots.Snapshot(k.ctx, name)
		if !ok {
			continue
		}
		cluster := w.clusterModel(k, snapshot, names)
		m.Clusters = append(m.Clusters, cluster)
		v.parts = append(v.parts, part{id: cluster.ID, draw: func(words) templ.Component { return fleet.Cluster(cluster) }})
		v.asOf = snapshot.TakenAt
	}
	if len(m.Clusters) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "fleet", Title: k.words.S("fleet.empty"), Lines: []string{k.words.S("fleet.empty_why")}, Test: "empty"}
	}
	v.body = fleet.Page(m)
	return v, nil
}

// staleSnapshot is when an inventory counts as old: it is confirmed every few seconds while the cluster answers.
const staleSnapshot = time.Minute

func (w *Web) clusterModel(k call, s inventory.Snapshot, names map[workload.ID]workload.Workload) fleet.ClusterModel {
	say, id := k.words, slug(s.Cluster)
	m := fleet.ClusterModel{ID: "fleet-" + id, Title: say.S("fleet.cluster", "Name", s.Cluster), TableID: "nodes-" + id,
		Age: ui.AgeModel{Source: "Kubernetes", Time: say.around(s.TakenAt), Old: say.now.Sub(s.TakenAt) > staleSnapshot}, Groups: fleetGroups(say, s),
		Filter: ui.FilterBarModel{Action: "/fleet", Label: say.S("fleet.filter"), Client: "nodes-" + id, Search: &ui.FieldModel{ID: "fleet-filter-" + id, Name: "q", Kind: ui.SearchField, Label: say.S("fleet.filter"), Placeholder: say.S("fleet.filter")}}}
	nodes := slices.Clone(s.Nodes)
	slices.SortFunc(nodes, func(a, b inventory.Node) int {
		return cmp.Or(cmp.Compare(noGPU(a), noGPU(b)), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Name, b.Name))
	})
	for _, n := range w.nodesShown(k, &m.Filter, nodes) {
		m.Nodes = append(m.Nodes, w.nodeModel(k, n, names))
	}
	return m
}

// mostNodes is how many nodes a page lists: a thousand are megabytes, and nobody reads them. The others are found by searching.
const mostNodes = 100

// nodesShown are those that match what is searched for; where they are too many, first those with trouble. Then the filter asks the server, for the browser has not all of them.
func (w *Web) nodesShown(k call, f *ui.FilterBarModel, nodes []inventory.Node) []inventory.Node {
	all := len(nodes)
	if wanted := strings.ToLower(strings.TrimSpace(k.get("q"))); wanted != "" {
		f.Search.Value, f.ClearURL, f.Client = k.get("q"), "/fleet", ""
		nodes = slices.DeleteFunc(nodes, func(n inventory.Node) bool { return !strings.Contains(nodeText(k.words, n), wanted) })
	}
	if len(nodes) > mostNodes {
		slices.SortStableFunc(nodes, func(a, b inventory.Node) int { return cmp.Compare(calm(a), calm(b)) })
		nodes, f.Client = nodes[:mostNodes], ""
	}
	if f.Client == "" {
		f.Count = k.words.S("fleet.shown", "Shown", len(nodes), "All", all)
	}
	return nodes
}

// nodeText is what a search looks through, in lower case.
func nodeText(say words, n inventory.Node) string {
	parts := []string{n.Name, modelName(say, n), nodeState(say, n).Word}
	for _, r := range n.Resources {
		parts = append(parts, r.Name)
	}
	return strings.ToLower(strings.Join(parts, " "))
}

// calm sorts nodes with trouble to the front.
func calm(n inventory.Node) int {
	if !usable(n) || len(n.Odd) > 0 {
		return 0
	}
	return 1
}

// noGPU sorts nodes without a GPU to the end.
func noGPU(n inventory.Node) int {
	if len(n.Resources) == 0 {
		return 1
	}
	return 0
}

// tally counts one kind of resource on one model of card.
type tally struct{ held, free, blocked int64 }

// fleetGroups are the bars: one for each resource of each model, and never two of them added.
func fleetGroups(say words, s inventory.Snapshot) []fleet.GroupModel {
	counts := map[string]map[string]tally{}
	for _, n := range s.Nodes {
		for _, r := range n.Resources {
			model := modelName(say, n)
			if counts[model] == nil {
				counts[model] = map[string]tally{}
			}
			t, free := counts[model][r.Name], r.Free()
			held := max(0, r.Allocatable-free)
			if usable(n) {
				t.free += free
			} else {
				t.blocked += free
			}
			t.held += held
			t.blocked += max(0, r.Capacity-r.Allocatable)
			counts[model][r.Name] = t
		}
	}
	var groups []fleet.GroupModel
	for _, model := range slices.Sorted(maps.Keys(counts)) {
		g := fleet.GroupModel{Title: model}
		for _, resource := range slices.Sorted(maps.Keys(counts[model])) {
			g.Bars = append(g.Bars, tallyBar(say, resource, counts[model][resource]))
		}
		groups = append(groups, g)
	}
	return groups
}

func tallyBar(say words, resource string, t tally) ui.MeterModel {
	total := t.held + t.free + t.blocked
	share := func(n int64) float64 { return float64(n) / float64(max(total, 1)) }
	m := ui.MeterModel{Label: resource, Value: say.S("fleet.free_of", "Free", t.free, "Total", total), Legend: true, Test: "fleet-bar",
		Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: share(t.held), Words: say.S("fleet.held", "Count", t.held)}}}
	if t.blocked > 0 {
		m.Segments = append(m.Segments, ui.SegmentModel{Fill: ui.FillBlocked, Share: share(t.blocked), Words: say.S("fleet.blocked", "Count", t.blocked)})
	}
	return m
}

func usable(n inventory.Node) bool { return n.Ready && !n.Cordoned }

// modelName is the card's name as people write it: GFD spells it with dashes.
func modelName(say words, n inventory.Node) string {
	if n.Model == "" {
		return say.S("fleet.model_unknown")
	}
	return strings.TrimPrefix(strings.ReplaceAll(n.Model, "-", " "), "NVIDIA ")
}

func (w *Web) nodeModel(k call, n inventory.Node, names map[workload.ID]workload.Workload) fleet.NodeModel {
	say := k.words
	detail := modelName(say, n)
	if len(n.Resources) == 0 {
		detail = say.S("fleet.cpu_node")
	}
	m := fleet.NodeModel{Row: ui.RowModel{ID: "node-" + slug(n.Name), Test: "node-row"}, Name: ui.StackModel{Title: n.Name, Detail: detail, Icon: "fleet"}, State: nodeState(say, n)}
	for _, odd := range n.Odd {
		m.Odd = append(m.Odd, say.say(odd))
	}
	if !usable(n) {
		m.Row.Kind = ui.Warning
	}
	for _, r := range n.Resources {
		m.Resources = append(m.Resources, w.resourceModel(k, n, r, names))
	}
	return m
}

func nodeState(say words, n inventory.Node) ui.StateModel {
	switch {
	case !n.Ready:
		return ui.StateModel{Kind: ui.Danger, Word: say.S("fleet.not_ready"), Test: "state"}
	case n.Cordoned:
		return ui.StateModel{Kind: ui.Off, Word: say.S("fleet.cordoned"), Test: "state"}
	case len(n.Odd) > 0:
		return ui.StateModel{Kind: ui.Warning, Word: say.S("fleet.odd"), Test: "state"}
	}
	return ui.StateModel{Kind: ui.OK, Word: say.S("fleet.ready"), Test: "state"}
}

// mostCells keeps a node with a thousand shares from filling the page.
const mostCells = 64

// resourceModel draws each device as a cell. Who holds it is said to those who may know, by the holder's own words.
func (w *Web) resourceModel(k call, n inventory.Node, r inventory.Resource, names map[workload.ID]workload.Workload) fleet.ResourceModel {
	say := k.words
	could := r.Free()
	if !usable(n) {
		could = 0
	}
	m := fleet.ResourceModel{Name: r.Name, Words: say.S("fleet.free_of", "Free", could, "Total", r.Capacity)}
	for _, h := range r.Holders {
		words := w.holderWords(k, h, names)
		for range min(h.Count, mostCells) {
			m.Cells = append(m.Cells, fleet.CellModel{Kind: fleet.Held, Words: words})
		}
	}
	free := fleet.CellModel{Kind: fleet.Free, Words: say.S("fleet.cell_free")}
	if !usable(n) {
		free = fleet.CellModel{Kind: fleet.Odd, Words: say.S("fleet.cell_blocked")}
	}
	for range min(r.Free(), mostCells) {
		m.Cells = append(m.Cells, free)
	}
	for range min(max(0, r.Capacity-r.Allocatable), mostCells) {
		m.Cells = append(m.Cells, fleet.CellModel{Kind: fleet.Odd, Words: say.S("fleet.cell_blocked")})
	}
	if more := len(m.Cells) - mostCells; more > 0 {
		m.Cells, m.More = m.Cells[:mostCells], say.S("fleet.more", "Count", more)
	}
	return m
}

// holderWords names the holder to members of their team, admins and auditors; everyone else learns only that it is held.
func (w *Web) holderWords(k call, h inventory.Holder, names map[workload.ID]workload.Workload) string {
	say := k.words
	if item, ok := names[workload.ID(h.Workload)]; ok && h.Workload != "" {
		return say.S("fleet.cell_holder", "Name", item.Name, "Owner", item.OwnerName, "Until", say.at(item.Lease.Until).Exact)
	}
	if identity.Can(k.actor, identity.ReadHolders, identity.Thing{}) {
		return say.S("fleet.cell_foreign", "Namespace", h.Namespace, "Pod", h.Pod)
	}
	return say.S("fleet.cell_held")
}
