package fleet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/fleet"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// fleet answers: what is there, who holds it, what is broken.
func (w *Pages) fleet(k page.Call) (page.View, error) {
	m := fleet.PageModel{Header: ui.HeaderModel{Title: k.Words.S("fleet.title"), Lead: k.Words.S("fleet.lead")},
		Tabs: fleetTabs(k, "/fleet"), Embed: page.EmbedPath(embed.Fleet, "")}
	names, err := w.WorkloadNames(k)
	if err != nil {
		return page.View{}, err
	}
	v := page.View{Title: m.Header.Title, Nav: "/fleet", Wide: true}
	for _, name := range w.Site().Clusters {
		snapshot, ok := w.Snapshots.Snapshot(k.Ctx, name)
		if !ok {
			continue
		}
		cluster := w.clusterModel(k, snapshot, names)
		m.Clusters = append(m.Clusters, cluster)
		v.Parts = append(v.Parts, page.Part{ID: cluster.ID,
			Draw: func(page.Words) templ.Component { return fleet.Cluster(cluster) }})
		v.AsOf = blocks.Oldest(v.AsOf, snapshot.TakenAt)
	}
	v.Body = fleet.Page(m)
	return v, nil
}

func (w *Pages) clusterModel(k page.Call, s inventory.Snapshot, names blocks.WorkloadNames) fleet.ClusterModel {
	say, id := k.Words, page.Slug(s.Cluster)
	m := fleet.ClusterModel{ID: "fleet-" + id, Title: say.S("fleet.cluster", "Name", s.Cluster), TableID: "nodes-" + id,
		Age: say.Age("Kubernetes", s.TakenAt, page.SnapshotEvery), Groups: linkWarned(k, w.fleetGroups(say, s)),
		Filter: fleet.FilterModel{Slug: id, Text: k.Get("q"), Model: k.Get("model"), State: k.Get("state")}}
	known := w.nodes.Of(s, nil, func() nodesOf { return newNodesOf(s) })
	for _, n := range known.models {
		m.Filter.Models = append(m.Filter.Models, modelName(say, n))
	}
	slices.Sort(m.Filter.Models)
	m.Filter.Models = slices.Compact(m.Filter.Models)
	list, keys := page.ListIn(k, "/fleet", m.TableID, nodeOrders, "q", "model", "state"), nodeKeys
	if list.Usual() {
		keys = nil // they stand so already
	}
	var nodes []*inventory.Node
	nodes, m.List = page.RowsOf(say, list, say.S("fleet.nodes"), chosenNodes(say, m.Filter, known.ordered), keys)
	for _, n := range nodes {
		m.Nodes = append(m.Nodes, w.nodeModel(k, n, names))
	}
	return m
}

// Panel is the bars of every cluster, for pages of other sites.
func (w *Pages) Panel(k page.Call, _ string) (page.Panel, error) {
	var clusters []fleet.ClusterModel
	for _, name := range w.Site().Clusters {
		if s, ok := w.Snapshots.Snapshot(k.Ctx, name); ok {
			clusters = append(clusters, fleet.ClusterModel{ID: "fleet-" + page.Slug(s.Cluster),
				Title: k.Words.S("fleet.cluster", "Name", s.Cluster), Groups: w.fleetGroups(k.Words, s),
				Age: k.Words.Age("Kubernetes", s.TakenAt, page.SnapshotEvery)})
		}
	}
	return page.Panel{Body: fleet.Panel(clusters)}, nil
}

// nodesOf is what a list needs of all nodes of a snapshot.
type nodesOf struct {
	ordered []*inventory.Node // as the list opens
	models  []*inventory.Node // one for each name that a card may have
}

func newNodesOf(s inventory.Snapshot) (o nodesOf) {
	models := map[string]bool{}
	o.ordered = make([]*inventory.Node, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		o.ordered[i] = n
		if model := modelOf(n); noGPU(n) == 0 && !models[model] {
			models[model], o.models = true, append(o.models, n)
		}
	}
	slices.SortFunc(o.ordered, func(a, b *inventory.Node) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(noGPU(a), noGPU(b)), cmp.Compare(a.Model, b.Model),
			cmp.Compare(a.Name, b.Name))
	})
	return o
}

// nodeOrders: the list opens with what is in trouble.
var nodeOrders = []string{"state", "node"}

var nodeKeys = map[string]page.Key[*inventory.Node]{
	"state": page.ByNumber(rank),
	"node":  page.ByText(func(n *inventory.Node) string { return n.Name }),
}

// rank is where a node stands by its condition: what cannot be used first.
func rank(n *inventory.Node) int {
	return slices.Index([]fleet.Condition{fleet.NotReady, fleet.Cordoned, fleet.Warned, fleet.Ready}, condition(n))
}

// chosenNodes are those that the filter chooses.
func chosenNodes(say page.Words, f fleet.FilterModel, nodes []*inventory.Node) []*inventory.Node {
	wanted := strings.ToLower(strings.TrimSpace(f.Text))
	if !f.Chosen() {
		return nodes
	}
	var chosen []*inventory.Node
	for _, n := range nodes {
		if strings.Contains(nodeText(say, n), wanted) && (f.Model == "" || modelName(say, n) == f.Model) &&
			(f.State != "trouble" || condition(n) != fleet.Ready) && (f.State != "free" || hasFree(n)) {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

// hasFree reports whether a node could give out a GPU, or a part of one, now.
func hasFree(n *inventory.Node) bool {
	if !usable(n) {
		return false
	}
	return slices.ContainsFunc(inventory.Totals(inventory.Snapshot{Nodes: []inventory.Node{*n}}),
		func(t inventory.Total) bool {
			return t.Free > 0 && t.Unit != inventory.Network && t.Unit != inventory.Quantity && t.Unit != inventory.VMDevice
		})
}

// nodeText is what a search looks through, in lower case.
func nodeText(say page.Words, n *inventory.Node) string {
	parts := []string{n.Name, modelName(say, n), say.S("fleet." + string(condition(n)))}
	for _, r := range n.Resources {
		parts = append(parts, r.Name)
	}
	return strings.ToLower(strings.Join(parts, " "))
}

// noGPU sorts nodes without a GPU to the end.
func noGPU(n *inventory.Node) int {
	if len(n.Resources) == 0 && len(n.Devices) == 0 {
		return 1
	}
	return 0
}

// fleetGroups are the bars: one for each kind of thing of each model, and never two of them added. Amounts that are no
// devices (memory of a card, a network) get none. Cards whose model no label names come last.
func (w *Pages) fleetGroups(say page.Words, s inventory.Snapshot) []fleet.GroupModel {
	var groups, unnamed []fleet.GroupModel
	for _, t := range w.Totals(s) {
		if t.Total == 0 && t.Excess == 0 || t.Unit == inventory.Network || t.Unit == inventory.Quantity {
			continue
		}
		title, list := say.Card(t.Model), &groups
		if t.Model == "" {
			title, list = vendorName(say, t.Resource), &unnamed
		}
		at := slices.IndexFunc(*list, func(g fleet.GroupModel) bool { return g.Title == title })
		if at < 0 {
			at = len(*list)
			*list = append(*list, fleet.GroupModel{Title: title})
		}
		g := &(*list)[at]
		label, profile := w.sliceTitle(say, t.Resource, t.Kind)
		if profile != "" {
			label += " · " + profile
		}
		b := fleet.BarModel{Label: label, Resource: t.Resource, Detail: totalDetail(say, t),
			Free: t.Free, Total: t.Total, Ours: t.Ours, Foreign: t.Foreign, Broken: t.Broken}
		switch { // what is unavailable is counted already
		case t.Warned > t.Broken:
			b.Warned = say.S("fleet.on_warned", "Count", t.Warned)
		case t.Warned > 0:
			b.Warned = say.S("fleet.show_warned")
		}
		g.Bars = append(g.Bars, b)
	}
	return append(groups, unnamed...)
}

// linkWarned leads from cards on nodes with a warning to these nodes.
func linkWarned(k page.Call, groups []fleet.GroupModel) []fleet.GroupModel {
	href := "/fleet?state=trouble"
	if seesHealth(k) {
		href = page.FleetHealthPath
	}
	for _, g := range groups {
		for i := range g.Bars {
			if g.Bars[i].Warned != "" {
				g.Bars[i].WarnedHref = href
			}
		}
	}
	return groups
}

// vendors are whose cards a resource is of, where no label names the card.
var vendors = []struct{ prefix, name string }{
	{"nvidia.com/", "NVIDIA"}, {"amd.com/", "AMD"}, {"habana.ai/", "Intel Gaudi"}, {"gpu.intel.com/", "Intel"},
}

func vendorName(say page.Words, resource string) string {
	for _, v := range vendors {
		if strings.HasPrefix(resource, v.prefix) {
			return say.S("fleet.model_unknown_of", "Vendor", v.name)
		}
	}
	return say.S("fleet.model_unknown")
}

// sliceTitle is what the catalog calls the size that is one such slice, with the slice's profile beside it. Where no
// size is, or several with different titles are, it is the kind in words, and the profile is in it. A size that is
// offered to some teams only is not named: everybody reads this page.
func (w *Pages) sliceTitle(say page.Words, resource string, k inventory.Kind) (title, profile string) {
	if k.Unit != inventory.Slice || k.Profile == "" {
		return kindWords(say, k), ""
	}
	for _, s := range w.Site().Catalog.Sizes {
		a := s.Accelerator
		if s.Hidden || len(s.Tenants) > 0 || a.Resource != resource || a.Profile != k.Profile || s.Devices() != 1 {
			continue
		}
		if title != "" && title != say.SizeTitle(s) {
			return kindWords(say, k), ""
		}
		title = say.SizeTitle(s)
	}
	if title == "" {
		return kindWords(say, k), ""
	}
	return title, k.Profile
}

// isolationOf is what the node's labels say keeps slices apart; where they do not speak of it, what the catalog says of
// a size that is one such slice, as on the pages that offer it.
func (w *Pages) isolationOf(n *inventory.Node, resource string, k inventory.Kind) catalog.Isolation {
	said := inventory.Isolation(*n, resource)
	if said != catalog.IsolationUnknown || k.Unit != inventory.Slice {
		return said
	}
	for _, s := range w.Site().Catalog.Sizes {
		if !s.Hidden && len(s.Tenants) == 0 && s.Accelerator.Resource == resource && s.Accelerator.Profile == k.Profile &&
			inventory.Confirms(*n, resource, s.Isolation) {
			return s.Isolation
		}
	}
	return said
}

// totalDetail says what a bar rests on: the cards behind shares.
func totalDetail(say page.Words, t inventory.Total) string {
	var parts []string
	switch {
	case t.Unit == inventory.Share && t.Slices > 0:
		parts = append(parts, say.S("fleet.shares_of_slices", "Count", t.Slices))
	case t.Unit == inventory.Share && t.Cards > 0:
		parts = append(parts, say.S("fleet.shares_of_cards", "Count", t.Cards))
	case t.UpTo:
		parts = append(parts, say.S("fleet.up_to"))
	}
	if t.Excess > 0 {
		parts = append(parts, say.S("fleet.excess", "Count", t.Excess))
	}
	return strings.Join(parts, " · ")
}

// kindWords is what one of a kind is, as people say it.
func kindWords(say page.Words, k inventory.Kind) string {
	id := "fleet.unit_" + string(k.Unit)
	if k.Profile != "" && (k.Unit == inventory.Slice || k.Unit == inventory.Share || k.Unit == inventory.VirtualCard) {
		id += "_of"
	}
	return say.S(id, "Profile", k.Profile)
}

func usable(n *inventory.Node) bool { return n.Usable() }

// modelName is the card of a node; a node whose devices a DRA driver publishes may have no label that says it.
func modelName(say page.Words, n *inventory.Node) string { return say.Card(modelOf(n)) }

func modelOf(n *inventory.Node) string {
	if n.Model == "" && len(n.Devices) > 0 {
		return inventory.KindOfDevice(n.Devices[0]).Model
	}
	return inventory.ParseProduct(n.Model).Card
}

func (w *Pages) nodeModel(k page.Call, n *inventory.Node, names blocks.WorkloadNames) fleet.NodeModel {
	say := k.Words
	detail := modelName(say, n)
	if noGPU(n) == 1 {
		detail = say.S("fleet.cpu_node")
	} else if n.Cards.Known {
		detail = say.S("fleet.cards_of", "Count", n.Cards.Count, "Model", detail)
	}
	m := fleet.NodeModel{ID: "node-" + page.Slug(n.Name), Name: n.Name, Detail: detail, Condition: condition(n),
		Unusable: !usable(n)}
	var closed []string // its state says so: what broke comes first
	for _, warning := range n.Warnings {
		if words := say.Text(warning); warning.ID == "inventory.cordoned" {
			closed = append(closed, words)
		} else {
			m.Warnings = append(m.Warnings, words)
		}
	}
	m.Warnings = append(m.Warnings, closed...)
	if len(m.Warnings) > 0 && noGPU(n) == 0 && seesHealth(k) {
		m.Health = nodeHealthPath(n.Name)
	}
	for _, r := range n.Resources {
		if !r.LeftOver || len(r.Holders) > 0 {
			m.Resources = append(m.Resources, w.resourceModel(k, n, r, names))
		}
	}
	for _, t := range inventory.Totals(inventory.Snapshot{Nodes: []inventory.Node{*n}}) {
		if t.DRA {
			m.Resources = append(m.Resources, w.devicesModel(k, n, t, names))
		}
	}
	m.Layout = layoutModel(say, n.Cards.Each)
	return m
}

func condition(n *inventory.Node) fleet.Condition {
	switch {
	case !n.Ready:
		return fleet.NotReady
	case n.Cordoned:
		return fleet.Cordoned
	case len(n.Warnings) > 0:
		return fleet.Warned
	}
	return fleet.Ready
}

// mostCells keeps a node with a thousand shares from filling the page.
const mostCells = 64

// resourceModel draws each device as a cell. Who holds it is said to those who may know, by the holder's own words.
func (w *Pages) resourceModel(k page.Call, n *inventory.Node, r inventory.Resource,
	names blocks.WorkloadNames) fleet.ResourceModel {
	say := k.Words
	could := r.Free()
	if !usable(n) {
		could = 0
	}
	kind := inventory.KindOf(*n, r.Name)
	m := cells{name: r.Name, words: w.resourceWords(say, r.Name, kind, w.isolationOf(n, r.Name, kind), could, r.Present())}
	if unit := kind.Unit; unit == inventory.Quantity || unit == inventory.Network {
		return m.model(say) // a hundred thousand MiB are no hundred thousand devices
	}
	rest := max(r.Present(), r.Allocatable)
	for _, h := range r.Holders {
		words := w.holderWords(k, h, names)
		m.add(fleet.CellModel{Kind: fleet.Held, Words: words}, h.Count)
		rest -= h.Count
	}
	broken := max(0, rest-could)
	if n.Ready { // the device plugin takes the devices away that are ill
		broken = min(broken, max(0, r.Present()-r.Allocatable))
	}
	m.fill(say, could, max(0, rest-could)-broken, broken)
	return m.model(say)
}

// devicesModel draws the devices of one kind that a DRA driver publishes on a node. Of cuts that exclude each other
// only so many are drawn as could be had at once.
func (w *Pages) devicesModel(k page.Call, n *inventory.Node, t inventory.Total,
	names blocks.WorkloadNames) fleet.ResourceModel {
	say := k.Words
	m := cells{name: t.Resource}
	isolation := catalog.IsolationUnknown
	for _, d := range n.Devices {
		if d.Driver != t.Resource || inventory.KindOfDevice(d) != t.Kind {
			continue
		}
		isolation = inventory.IsolationOfDevice(*n, d)
		if d.Held() && !d.Gone {
			words := say.S("fleet.cell_held")
			if len(d.Holders) > 0 {
				words = w.holderWords(k, d.Holders[0], names)
			}
			m.add(fleet.CellModel{Kind: fleet.Held, Words: words}, 1)
		}
	}
	m.words = w.resourceWords(say, t.Resource, t.Kind, isolation, t.Free, t.Total)
	if n.Ready {
		m.fill(say, t.Free, t.Broken, 0)
	} else {
		m.fill(say, t.Free, 0, t.Broken)
	}
	return m.model(say)
}

// resourceWords say of one resource what it is, how well it is kept apart, and what is free.
func (w *Pages) resourceWords(say page.Words, resource string, kind inventory.Kind, isolation catalog.Isolation,
	free, total int64) string {
	title, _ := w.sliceTitle(say, resource, kind)
	parts := []string{title}
	if kind.Unit == inventory.Card && isolation != catalog.IsolationUnknown || kind.Unit == inventory.Slice ||
		kind.Unit == inventory.Share || kind.Unit == inventory.VirtualCard {
		parts = append(parts, say.S("web.isolation_"+string(isolation)))
	}
	return strings.Join(append(parts, say.S("fleet.free_of", "Free", free, "Total", total)), " · ")
}

// cells collects the cells of one row and keeps a node with a thousand shares from filling the page.
type cells struct {
	name, words string
	list        []fleet.CellModel
	more        int64
}

func (c *cells) add(cell fleet.CellModel, count int64) {
	for range count {
		if len(c.list) >= mostCells {
			c.more++
			continue
		}
		c.list = append(c.list, cell)
	}
}

// fill adds what nobody holds. What is out of order looks as on the map, and so does what is only closed.
func (c *cells) fill(say page.Words, free, closed, broken int64) {
	c.add(fleet.CellModel{Kind: fleet.Free, Words: say.S("fleet.cell_free")}, free)
	c.add(fleet.CellModel{Kind: fleet.Blocked, Words: say.S("fleet.map.use_closed")}, closed)
	c.add(fleet.CellModel{Kind: fleet.Broken, Words: say.S("fleet.map.use_broken")}, broken)
}

func (c *cells) model(say page.Words) fleet.ResourceModel {
	m := fleet.ResourceModel{Name: c.name, Words: c.words, Cells: c.list}
	if c.more > 0 {
		m.More = say.S("fleet.more", "Count", c.more)
	}
	return m
}

// holderWords names the holder to members of their team, admins and auditors; everyone else learns only that it is
// held.
func (w *Pages) holderWords(k page.Call, h inventory.Holder, names blocks.WorkloadNames) string {
	say := k.Words
	if item, ok := names[workload.ID(h.Workload)]; ok && h.Workload != "" {
		return say.S("fleet.cell_holder", "Name", item.Name, "Owner", item.OwnerName, "Until", say.At(item.Lease.Until).Exact)
	}
	if identity.Can(k.Actor, identity.ReadHolders, identity.Resource{}) {
		return say.S("fleet.cell_foreign", "Namespace", h.Namespace, "Pod", h.Pod)
	}
	return say.S("fleet.cell_held")
}
