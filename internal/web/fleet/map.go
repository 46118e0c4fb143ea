package fleet

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/fleetmap"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/fleet"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Where the parts of the map are.
const (
	mapChunkPath   = page.FleetUsePath + "/chunk"
	mapChangesPath = page.FleetUsePath + "/changes"
	mapNodePath    = page.FleetUsePath + "/node"
	holdersPath    = page.FleetUsePath + "/holders"
)

// Bounds of the map: with more nodes than mostInFull it begins with its groups; chunkNodes are fetched at a time; cells
// beyond mostDrawnAtOnce are fetched when they come into view.
const (
	mostInFull      = 300
	chunkNodes      = 48
	mostDrawnAtOnce = 700
)

func seesHealth(k page.Call) bool {
	return identity.Can(k.Actor, identity.ReadMetrics, identity.Resource{})
}

// fleetMap answers: what is idle, what is broken, what is full?
func (w *Pages) fleetMap(k page.Call) (page.View, error) {
	say := k.Words
	m := fleet.MapPageModel{Header: ui.HeaderModel{Title: say.S("fleet.use.title"), Lead: say.S("fleet.use.lead")},
		Tabs: fleetTabs(k, page.FleetUsePath), Stream: page.StreamModel(k, page.FleetUsePath), By: w.schemeTabs(k),
		Scheme: strings.SplitN(w.chosen(k).key, "\x00", 2)[0]}
	v := page.View{Title: m.Header.Title, Nav: page.FleetUsePath, Wide: true, Paused: page.Paused(k)}
	drawn := 0
	for _, cluster := range w.Site().Clusters {
		j := w.mapOf(k, cluster)
		if j == nil || len(j.Nodes) == 0 || k.Get("cluster") != "" && k.Get("cluster") != cluster {
			continue
		}
		c := w.clusterMap(k, j, &drawn)
		m.Maps = append(m.Maps, c)
		v.Parts = append(v.Parts, w.mapParts(k, cluster, c)...)
		v.AsOf = blocks.Oldest(v.AsOf, j.TakenAt)
	}
	if len(m.Maps) > 0 {
		m.Legend, m.Past = w.mapLegend(k), w.pastModel(k)
		v.Parts = append(v.Parts, page.Part{ID: fleet.MapLegendID, Ticks: true, Draw: func(say page.Words) templ.Component {
			k.Words = say
			return fleet.MapLegend(w.mapLegend(k))
		}})
	}
	if agoOf(k) > 0 && m.Past != nil { // an hour that is over does not change
		v.Parts = nil
		m.Past.Over = true
		for i := range m.Maps {
			m.Maps[i].Age = fleet.AgeModel{ID: m.Maps[i].Age.ID}
		}
	}
	v.Body = fleet.MapPage(m)
	return v, nil
}

// mapParts are what changes of a cluster's map on an open page: its age, its version, and the strips. What the cells
// look like is asked for by the page, for those that are in view.
func (w *Pages) mapParts(k page.Call, cluster string, first fleet.MapModel) []page.Part {
	parts := []page.Part{{ID: first.Age.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
		return fleet.UseAge(w.heatAge(say, cluster))
	}}, {ID: first.Version.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
		k.Words = say
		if j := w.mapOf(k, cluster); j != nil {
			first.Version.Version = w.paintOf(k, j, w.chosen(k)).Version
		}
		return fleet.Version(first.Version)
	}}}
	if first.Strips {
		parts = append(parts, page.Part{ID: first.ID + "-strips", Ticks: true, Draw: func(say page.Words) templ.Component {
			k.Words = say
			if j := w.mapOf(k, cluster); j != nil {
				none := 0
				return fleet.Strips(w.clusterMap(k, j, &none))
			}
			return fleet.Strips(first)
		}})
	}
	return parts
}

// agoOf is which of the last hours is looked at: so many hours ago, 0 for now.
func agoOf(k page.Call) int {
	n, err := strconv.Atoi(k.Get("ago"))
	if err != nil || n < 0 || n > pastHours {
		return 0
	}
	return n
}

// chosen is what the colors mean: what the reader chose, or the use of an hour that is over.
func (w *Pages) chosen(k page.Call) scheme { return w.schemeOf(k, k.Get("by")) }

func (w *Pages) schemeTabs(k page.Call) ui.TabsModel {
	m := ui.TabsModel{Label: k.Words.S("fleet.map.by")}
	current := cmp.Or(k.Get("by"), byUse)
	if !slices.Contains(schemesFor(k), current) {
		current = byUse
	}
	for _, by := range schemesFor(k) {
		q := page.Cloned(k.Query)
		q.Set("by", by)
		q.Del("ago") // who held what in the past is not known
		if by == byUse {
			q.Del("by")
		}
		m.Items = append(m.Items, ui.TabModel{Label: k.Words.S("fleet.map.by_" + by),
			Href: page.WithQuery(page.FleetUsePath, q), Current: by == current, Test: "by-" + by})
	}
	return m
}

// clusterMap is the map of a cluster as the address asks for it. Drawn is how many cells the page has so far.
func (w *Pages) clusterMap(k page.Call, j *joined, drawn *int) fleet.MapModel {
	say, id := k.Words, "map-"+page.Slug(j.Cluster)
	m := fleet.MapModel{ID: id, Age: w.heatAge(say, j.Cluster), Label: say.S("fleet.map.label", "Name", j.Cluster),
		Help: say.S("fleet.map.help"), Version: fleet.VersionModel{ID: id + "-version"}}
	if len(w.Site().Clusters) > 1 {
		m.Title = say.S("fleet.cluster", "Name", j.Cluster)
	}
	s, paint := w.painted(k, j)
	m.Version.Version = paint.Version
	groups, open := j.Groups, k.Get("group")
	if g, ok := j.Group(open); ok {
		groups = []fleetmap.Group{g}
		q := page.Cloned(k.Query)
		for _, name := range []string{"group", "cluster", "from"} {
			q.Del(name)
		}
		m.Back = page.WithQuery(page.FleetUsePath, q)
	} else {
		m.Strips = len(j.Nodes) > mostInFull
	}
	for _, g := range groups {
		model := w.groupModel(k, j, g, s, paint, m.Strips)
		if !m.Strips {
			model.Under = m.Title != ""
			model.Chunks = w.chunks(k, j, g, s, paint, drawn)
		}
		m.Groups = append(m.Groups, model)
	}
	return m
}

func (w *Pages) groupModel(k page.Call, j *joined, g fleetmap.Group, s scheme, paint fleetmap.Paint,
	strip bool) fleet.MapGroupModel {
	say := k.Words
	title := []string{say.Card(g.Model)}
	if g.Unit != inventory.Card && g.Unit != inventory.Other {
		title = append(title, say.S("fleet.map.unit_"+string(g.Unit)))
	}
	if g.Pool != "" {
		title = append(title, g.Pool)
	}
	m := fleet.MapGroupModel{ID: "map-" + page.Slug(j.Cluster) + "-" + g.ID, Title: strings.Join(title, " · "),
		Detail: say.S("fleet.map.nodes", "Count", len(g.Nodes), "Number", say.Number(float64(len(g.Nodes)))) + " · " +
			say.S("fleet.map.cards", "Count", g.Cards, "Number", say.Number(float64(g.Cards)))}
	if !strip {
		m.Cut = slices.ContainsFunc(g.Nodes, func(i int) bool {
			return slices.ContainsFunc(j.Nodes[i].Cards, func(c fleetmap.Card) bool { return len(c.Parts) > 2 })
		})
		return m
	}
	q := page.Cloned(k.Query)
	q.Set("group", g.ID)
	q.Set("cluster", j.Cluster)
	m.Href = page.WithQuery(page.FleetUsePath, q)
	words, at, sum := s.words(say), 0.0, 0.0
	count := w.countOf(j, g, s, paint)
	for _, n := range count {
		sum += n.GPUs
	}
	var all []string
	for i, n := range count {
		if n.Drawn == 0 {
			continue
		}
		wide := n.GPUs / sum * 1000
		m.Strip.Parts = append(m.Strip.Parts, fleet.StripPartModel{Class: s.colors[i], At: int(math.Round(at)),
			Wide: max(1, int(math.Round(at+wide))-int(math.Round(at)))})
		all, at = append(all, words[i]+": "+say.Number(float64(n.Drawn))), at+wide
		if slices.Contains(telling, s.colors[i]) {
			m.Detail += " · " + words[i] + ": " + say.Number(float64(n.Drawn))
		}
	}
	m.Strip.Words = strings.Join(all, ", ")
	return m
}

// telling are the classes of which a strip says in words how many there are: what wants somebody.
var telling = []string{"idle", "warned", "quarantined", "broken"}

// chunks are the nodes of a group in stretches: the first of a page are drawn, the others when they come into view.
func (w *Pages) chunks(k page.Call, j *joined, g fleetmap.Group, s scheme, paint fleetmap.Paint,
	drawn *int) []fleet.MapChunkModel {
	from, _ := strconv.Atoi(k.Get("from"))
	var all []fleet.MapChunkModel
	for at := 0; at < len(g.Nodes); at += chunkNodes {
		c := w.chunk(k, j, g, s, paint, at, *drawn < mostDrawnAtOnce && at >= from)
		if c.Nodes != nil {
			for _, i := range g.Nodes[at:min(at+chunkNodes, len(g.Nodes))] {
				for n := range j.Nodes[i].Cards {
					*drawn += len(j.Nodes[i].Cards[n].Parts)
				}
			}
		}
		all = append(all, c)
	}
	return all
}

func (w *Pages) chunk(k page.Call, j *joined, g fleetmap.Group, s scheme, paint fleetmap.Paint, at int,
	draw bool) fleet.MapChunkModel {
	say, until := k.Words, min(at+chunkNodes, len(g.Nodes))
	q := url.Values{"cluster": {j.Cluster}, "group": {g.ID}, "from": {strconv.Itoa(at)}}
	for _, name := range []string{"by", "ago"} {
		if v := k.Get(name); v != "" {
			q.Set(name, v)
		}
	}
	c := fleet.MapChunkModel{ID: "chunk-" + page.Slug(j.Cluster) + "-" + g.ID + "-" + strconv.Itoa(at),
		Src: page.WithQuery(mapChunkPath, q), Changes: page.WithQuery(mapChangesPath, q)}
	if !draw {
		c.Href, c.Words = page.WithQuery(page.FleetUsePath, q), say.S("fleet.map.nodes_to", "From", at+1, "To", until)
		return c
	}
	c.Version = paint.Version
	html := w.drawnOnce(j, drawnKey{s.key, say.Lang(), g.ID + "\x00" + strconv.Itoa(at)}, func() string {
		var b strings.Builder
		nodes := fleet.MapNodes(mapNodes(say, j, g.Nodes[at:until], s, paint))
		_ = nodes.Render(ui.WithLocalizer(context.Background(), say.Localizer), &b) // a builder never fails
		return b.String()
	})
	c.Nodes = templ.Raw(html)
	return c
}

func mapNodes(say page.Words, j *joined, nodes []int, s scheme, paint fleetmap.Paint) []fleet.MapNodeModel {
	words := s.words(say)
	models := make([]fleet.MapNodeModel, 0, len(nodes))
	for _, i := range nodes {
		n := &j.Nodes[i]
		m := fleet.MapNodeModel{Name: cmp.Or(n.Name, say.S("fleet.use.no_node"))}
		m.Words, m.Icon = nodeWords(say, n)
		broken := 0
		for at := range n.Cards {
			c := &n.Cards[at]
			if n.Ready && outOfOrder(n, c) {
				broken++
			}
			card := fleet.MapCardModel{ID: cardID(j.Cluster, i, at), Href: nodeHref(j.Cluster, n.Name, at)}
			colors := paint.Of(c)
			for p, color := range colors {
				card.Parts = append(card.Parts, fleet.MapPartModel{Class: s.colors[color], Size: widthOf(c, &c.Parts[p])})
			}
			card.Words = say.S("fleet.use.card", "Number", at+1) + ": " + summary(words, colors, len(s.colors)-1)
			m.Cards = append(m.Cards, card)
		}
		if broken > 0 {
			m.Words += ", " + say.S("health.of_cards", "Count", broken, "State", say.S("health.level_danger"))
			m.Icon = "danger"
		}
		models = append(models, m)
	}
	return models
}

// widthOf is a part's width in steps that the sheet knows: shares are all alike.
func widthOf(c *fleetmap.Card, p *fleetmap.Part) int {
	if p.Share || c.Whole <= 1 {
		return 1
	}
	return min(8, max(1, p.Size))
}

// summary says of a card's parts how many have which color; scripts say the same when colors change.
func summary(words []string, colors []fleetmap.Color, gap int) string {
	var order []fleetmap.Color
	count := map[fleetmap.Color]int{}
	for _, c := range colors {
		if int(c) == gap && len(colors) > 1 {
			continue
		}
		if count[c] == 0 {
			order = append(order, c)
		}
		count[c]++
	}
	if len(order) == 1 && count[order[0]] == 1 {
		return words[order[0]]
	}
	all := make([]string, len(order))
	for i, c := range order {
		all[i] = fmt.Sprintf("%d × %s", count[c], words[c])
	}
	return strings.Join(all, ", ")
}

func cardID(cluster string, node, card int) string {
	return "k-" + page.Slug(cluster) + "-" + strconv.Itoa(node) + "-" + strconv.Itoa(card)
}

func nodeHref(cluster, node string, card int) string {
	return mapNodePath + "?" + url.Values{"cluster": {cluster}, "node": {node}, "card": {strconv.Itoa(card)}}.Encode()
}

// nodeWords are the state of a node, and the icon of what is the matter.
func nodeWords(say page.Words, n *fleetmap.Node) (words, icon string) {
	state := "ready"
	switch {
	case !n.Ready:
		state, icon = "not_ready", "danger"
	case n.Quarantined:
		return say.S("health.level_quarantined"), "warning"
	case n.Cordoned:
		state, icon = "cordoned", "off"
	case n.Warnings > 0:
		state, icon = "warning", "warning"
	}
	return say.S("fleet." + state), icon
}

// mapLegend counts over all clusters.
func (w *Pages) mapLegend(k page.Call) fleet.MapLegendModel {
	var count []fleetmap.Tally
	var s scheme
	var maps []*joined
	for _, cluster := range w.Site().Clusters {
		j := w.mapOf(k, cluster)
		if j == nil || k.Get("cluster") != "" && k.Get("cluster") != cluster {
			continue
		}
		var paint fleetmap.Paint
		s, paint = w.painted(k, j)
		maps = append(maps, j)
		if count == nil {
			count = make([]fleetmap.Tally, len(s.colors))
		}
		for _, g := range j.Groups {
			if k.Get("group") != "" && k.Get("group") != g.ID {
				continue
			}
			for i, n := range w.countOf(j, g, s, paint) {
				count[i].Drawn += n.Drawn
				count[i].GPUs += n.GPUs
			}
		}
	}
	m := fleet.MapLegendModel{Label: k.Words.S("fleet.map.legend")}
	if count == nil {
		return m
	}
	if s.key == byMoney { // a slice has its own amount
		m.Of = k.Words.S("fleet.map.legend_money")
	}
	words := s.words(k.Words)
	for i, class := range s.colors {
		if class == gapClass && count[i].Drawn == 0 {
			continue
		}
		m.Items = append(m.Items, fleet.LegendItemModel{Class: class, Words: words[i], None: count[i].Drawn == 0,
			Count: k.Words.Number(float64(count[i].Drawn))})
	}
	standApart(m.Items)
	if s.key == byMoney && k.Get("group") == "" {
		if money := w.idleMoney(k); money.sum.Minor > 0 {
			m.Sum = moneySum(k.Words, money.sum, s, count)
			if at, most := mostIdle(maps, money.spent); most.Minor > 0 {
				m.Most = &fleet.MostModel{Words: k.Words.S("fleet.map.money_most", "Node", at.node, "Money", k.Words.Money(most)),
					Href: nodeHref(at.cluster, at.node, at.card), Card: cardID(at.cluster, at.index, at.card)}
			}
		}
	}
	if s.key != byMoney {
		if m.Sum = mapSum(k.Words, s, count); m.Sum == "" {
			m.Of = k.Words.S("fleet.map.legend_of")
		} else if broken := brokenNodes(maps); broken > 0 && k.Get("group") == "" && seesHealth(k) {
			m.Most = &fleet.MostModel{Href: page.FleetHealthPath, Words: k.Words.S("fleet.map.broken_nodes",
				"Count", broken, "Number", k.Words.Number(float64(broken)))}
		}
	}
	if s.key == byMoney && mostlyUnknown(s, count) {
		m.Note = k.Words.S("fleet.map.money_unmeasured")
		if identity.Can(k.Actor, identity.ReadMetrics, identity.Resource{}) {
			m.Metrics = page.MetricsPath
		}
	}
	return m
}

// standApart draws a line before the first item that is shown and not measured, where something stands before it.
func standApart(items []fleet.LegendItemModel) {
	for i := range items {
		switch items[i].Class {
		case "unknown", "unpriced", "closed", "broken", "out", gapClass:
			if !items[i].None {
				items[i].Apart = slices.ContainsFunc(items[:i], func(l fleet.LegendItemModel) bool { return !l.None })
				return
			}
		case "fine", "usable", "outside", "rest", "other": // of health and of teams every color is of one kind
			return
		}
	}
}

// brokenNodes is how many nodes have a card that is out of order.
func brokenNodes(maps []*joined) int {
	broken := 0
	for _, j := range maps {
		for i := range j.Nodes {
			n := &j.Nodes[i]
			if slices.ContainsFunc(n.Cards, func(c fleetmap.Card) bool { return outOfOrder(n, &c) }) {
				broken++
			}
		}
	}
	return broken
}

// mapSum is the map in one number, in the unit of its legend: how many GPUs and slices can be had, or are healthy; ""
// where the colors say neither.
func mapSum(say page.Words, s scheme, count []fleetmap.Tally) string {
	total := 0
	for i, n := range count {
		if s.colors[i] != gapClass { // which is no slice
			total += n.Drawn
		}
	}
	number := func(n int) string { return say.Number(float64(n)) }
	for i, class := range s.colors {
		switch class {
		case "free":
			return say.S("fleet.map.free_sum", "Free", number(count[i].Drawn), "All", number(total))
		case "fine":
			return say.S("fleet.map.fine_sum", "Fine", number(count[i].Drawn), "All", number(total))
		}
	}
	return ""
}

// mostlyUnknown reports whether of more than half of what is held nobody knows what it cost for nothing.
func mostlyUnknown(s scheme, count []fleetmap.Tally) bool {
	var held, unknown int
	for i, class := range s.colors {
		switch class {
		case "free", "closed", "broken", gapClass:
		case "unpriced":
			unknown = count[i].Drawn
			fallthrough
		default:
			held += count[i].Drawn
		}
	}
	return unknown > held/2
}

// region is the stretch of nodes that an address names; ok is false for one that has left the cluster.
func (w *Pages) region(k page.Call) (j *joined, g fleetmap.Group, from int, ok bool, err error) {
	none := fault.New(fault.NotFound, i18n.T("web.no_page"))
	if !slices.Contains(w.Site().Clusters, k.Get("cluster")) {
		return nil, g, 0, false, none
	}
	from, err = strconv.Atoi(k.Get("from"))
	if j = w.mapOf(k, k.Get("cluster")); j == nil || err != nil || from < 0 {
		return nil, g, 0, false, none
	}
	g, ok = j.Group(k.Get("group"))
	return j, g, from, ok && from < len(g.Nodes), nil
}

// mapChunk is a stretch of nodes that has come into view; 204 No Content for one that has left the cluster.
func (w *Pages) mapChunk(c echo.Context) error {
	k := w.CallOf(c)
	j, g, from, ok, err := w.region(k)
	if err != nil {
		return err
	}
	if !ok {
		return c.NoContent(http.StatusNoContent)
	}
	s, paint := w.painted(k, j)
	return w.Write(c, http.StatusOK, fleet.MapChunk(w.chunk(k, j, g, s, paint, from, true)))
}

// mapChanged is what looks different in a stretch of nodes from a version of it: the classes of a card's parts.
type mapChanged struct {
	Version string              `json:"version"`
	Reload  bool                `json:"reload,omitempty"` // nodes, cards or parts are others: it has to be drawn anew
	Cards   map[string][]string `json:"cards,omitempty"`
	Legend  string              `json:"legend,omitempty"` // of an hour that is over
	Unknown bool                `json:"unknown,omitempty"`
}

// mapChanges says what has changed in a stretch of nodes since a version, or what it looked like in an hour of the
// last week; 204 No Content where the stretch has left the cluster.
func (w *Pages) mapChanges(c echo.Context) error {
	k := w.CallOf(c)
	j, g, from, ok, err := w.region(k)
	if err != nil {
		return err
	}
	if !ok {
		return c.NoContent(http.StatusNoContent)
	}
	s, paint := w.painted(k, j)
	nodes := g.Nodes[from:min(from+chunkNodes, len(g.Nodes))]
	out, since := mapChanged{Version: paint.Version}, k.Get("since")
	structure, _, _ := strings.Cut(since, ".")
	now, _, _ := strings.Cut(paint.Version, ".")
	var changes []fleetmap.Change
	switch before, ok := w.before(k, j, s, since); {
	case since != "" && structure != now:
		out.Reload = true
	case ok:
		changes = j.Changes(before, paint, nodes)
	default:
		for _, i := range nodes {
			for n := range j.Nodes[i].Cards {
				changes = append(changes, fleetmap.Change{Node: i, Card: n})
			}
		}
	}
	if len(changes) > 0 {
		out.Cards = make(map[string][]string, len(changes))
	}
	for _, change := range changes {
		colors := paint.Of(&j.Nodes[change.Node].Cards[change.Card])
		classes := make([]string, len(colors))
		for i, color := range colors {
			classes[i] = s.colors[color]
		}
		out.Cards[cardID(j.Cluster, change.Node, change.Card)] = classes
	}
	if since == "" || agoOf(k) > 0 {
		var b strings.Builder
		q := k
		q.Query = page.Cloned(k.Query)
		if k.Get("open") == "" { // the page shows all groups
			q.Query.Del("group")
			q.Query.Del("cluster")
		}
		if err := fleet.MapLegend(w.mapLegend(q)).Render(ui.WithLocalizer(k.Ctx, k.Words.Localizer), &b); err != nil {
			return err
		}
		out.Legend = b.String()
		out.Unknown = agoOf(k) > 0 && w.pastNone(k)
	}
	return c.JSON(http.StatusOK, out)
}

// pastModel chooses an hour of the last week.
func (w *Pages) pastModel(k page.Call) *fleet.PastModel {
	say, ago := k.Words, agoOf(k)
	until := say.Now.UTC().Truncate(time.Hour)
	m := &fleet.PastModel{Action: page.FleetUsePath, Hours: pastHours, Ago: ago, Label: say.S("fleet.map.past"),
		Now: say.S("fleet.map.past_now"), Words: say.S("fleet.map.past_now"), Show: say.S("fleet.map.past_show"),
		Until: until.Format(time.RFC3339)}
	for _, name := range []string{"group", "cluster"} {
		if v := k.Get(name); v != "" {
			m.Hidden = append(m.Hidden, ui.HiddenModel{Name: name, Value: v})
		}
	}
	if ago > 0 {
		m.Words = say.At(until.Add(-time.Duration(ago) * time.Hour)).Exact
		if w.pastNone(k) {
			m.None = say.S("fleet.map.past_none")
		}
	}
	return m
}
