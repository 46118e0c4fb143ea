package fleet

import (
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/fleetmap"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/fleet"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// mapNode answers of one card: what does it do, who holds it and until when, how is it, and what can be done about it?
func (w *Pages) mapNode(k page.Call) (page.View, error) {
	m, err := w.gpuModel(k, firstGPUAnswer)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	v := page.View{Title: say.S("fleet.use.node", "Name", k.Get("node")), Nav: page.FleetUsePath}
	v.Parts = []page.Part{{ID: fleet.GPUID, Ticks: true, Draw: func(say page.Words) templ.Component {
		k.Words = say
		if now, err := w.gpuModel(k, 0); err == nil {
			m = now
		}
		return fleet.GPU(m)
	}}}
	v.Body = fleet.GPUPage(fleet.GPUPageModel{GPU: m, Header: ui.HeaderModel{Title: v.Title,
		Crumbs: []ui.CrumbModel{{Label: say.S("fleet.use.title"), Href: page.FleetUsePath}, {Label: k.Get("node")}}}})
	return v, nil
}

// firstGPUAnswer is how long the page of a card waits for its last hours.
const firstGPUAnswer = 1500 * time.Millisecond

// gpuSpan is what the chart of a card shows.
const gpuSpan = "6h"

func (w *Pages) gpuModel(k page.Call, patience time.Duration) (fleet.GPUModel, error) {
	none := fault.New(fault.NotFound, i18n.T("web.no_page"))
	if !slices.Contains(w.Site().Clusters, k.Get("cluster")) {
		return fleet.GPUModel{}, none
	}
	j := w.mapOf(k, k.Get("cluster"))
	if j == nil {
		return fleet.GPUModel{}, none
	}
	n, ok := j.Node(k.Get("node"))
	at, err := strconv.Atoi(k.Get("card"))
	if !ok || err != nil || at < 0 || at >= len(n.Cards) {
		return fleet.GPUModel{}, none
	}
	say, c := k.Words, &n.Cards[at]
	m := fleet.GPUModel{Title: say.S("fleet.use.card", "Number", at+1), Model: say.Card(c.Model), Node: n.Name,
		UUID: uuidModel(say, c.UUID), Age: w.heatAge(say, j.Cluster)}
	m.NodeWords, m.NodeIcon = nodeWords(say, n)
	w.gpuParts(k, j, n, c, &m)
	w.gpuChart(k, c, patience, &m)
	if err := w.gpuHealth(k, n, c, &m); err != nil {
		return fleet.GPUModel{}, err
	}
	use := useScheme()
	paint := w.paintOf(k, j, use)
	for i := range n.Cards {
		card := &n.Cards[i]
		colors := paint.Of(card)
		title := say.S("fleet.use.card", "Number", i+1)
		s := fleet.MapCardModel{ID: "gpu-card-" + strconv.Itoa(i), Title: title, Href: nodeHref(j.Cluster, n.Name, i),
			Words: summary(use.words(say), colors, len(use.colors)-1)}
		s.Note = cardNote(say, card, use.words(say), colors)
		for p, color := range colors {
			s.Parts = append(s.Parts, fleet.MapPartModel{Class: use.colors[color], Size: widthOf(card, &card.Parts[p])})
		}
		m.Cards = append(m.Cards, s)
	}
	m.Current = at
	return m, nil
}

// nodeHealthPath is the health of a node and its cards.
func nodeHealthPath(node string) string {
	return page.FleetHealthPath + "?" + url.Values{"state": {"all"}, "q": {node}}.Encode()
}

func uuidModel(say page.Words, uuid string) *ui.CopyModel {
	if uuid == "" {
		return nil
	}
	return &ui.CopyModel{Value: uuid, Shown: shortUUID(uuid), Label: say.S("health.uuid")}
}

// holdersOf are the workloads of the portal that the cluster sees on a node, by pod.
func (w *Pages) holdersOf(k page.Call, cluster, node string) map[gpumetrics.Pod]workload.ID {
	by := map[gpumetrics.Pod]workload.ID{}
	add := func(list []inventory.Holder) {
		for _, h := range list {
			if h.Workload != "" {
				by[gpumetrics.Pod{Namespace: h.Namespace, Name: h.Pod}] = workload.ID(h.Workload)
			}
		}
	}
	snapshot, _ := w.Snapshots.Snapshot(k.Ctx, cluster)
	for i := range snapshot.Nodes {
		if n := &snapshot.Nodes[i]; n.Name == node {
			for _, r := range n.Resources {
				add(r.Holders)
			}
			for _, d := range n.Devices {
				add(d.Holders)
			}
		}
	}
	for _, a := range snapshot.Attached {
		for _, d := range a.Devices {
			if a.Pool == node {
				add(d.Holders)
			}
		}
	}
	return by
}

// gpuParts are the card's slices and shares with their holders, by name for those who may know.
func (w *Pages) gpuParts(k page.Call, j *joined, n *fleetmap.Node, c *fleetmap.Card, m *fleet.GPUModel) {
	say, ids := k.Words, w.holdersOf(k, j.Cluster, n.Name)
	use := useScheme()
	words := use.words(say)
	for i := range c.Parts {
		p := &c.Parts[i]
		if p.Gap {
			continue
		}
		color := use.rule(n, c, p)
		r := fleet.GPUPartModel{Title: partTitle(say, c, p), Class: use.colors[color], Words: words[color],
			Use: say.Amount(p.Use), Memory: say.Amount(p.Memory), Rests: *blocks.RestsOn(say, p.Use)}
		if p.Use.Known() && p.Held() && r.Class != "idle" {
			r.Words = "" // a range beside what was measured reads as a limit
		}
		if p.Memory.Known() && p.Total.Known() {
			r.Memory = say.S("fleet.use.of_amount", "Used", say.Amount(p.Memory), "All", say.Amount(p.Total))
		}
		switch {
		case p.Share && p.Held():
			r.Note = say.S("fleet.map.shared")
		case p.Assumed && len(n.Cards) > 1:
			r.Note = say.S("fleet.map.assumed")
		}
		for _, pod := range p.Pods {
			r.Holders = append(r.Holders, w.gpuHolder(k, pod, ids[pod]))
		}
		if !p.Held() {
			r.Nobody = say.S("fleet.use.nobody")
		}
		m.Parts = append(m.Parts, r)
	}
	m.Figure, m.FigureWords = gpuFigure(say, c, m.Parts)
	m.Rests = restsOfAll(m.Parts)
	if len(m.Parts) > 0 && slices.ContainsFunc(c.Parts, func(p fleetmap.Part) bool { return p.Gap }) {
		m.Parts = append(m.Parts, fleet.GPUPartModel{Title: say.S("fleet.map.rest"), Class: gapClass,
			Words: say.S("fleet.map.use_gap"), Rest: true})
	}
}

// gpuFigure is the card in one number: how many of its slices or shares are allocated; of a whole card how much of it
// is used.
func gpuFigure(say page.Words, c *fleetmap.Card, parts []fleet.GPUPartModel) (figure, words string) {
	switch {
	case len(parts) == 0:
		return "", ""
	case len(parts) == 1 && c.Parts[0].Profile == "":
		return parts[0].Use, say.S("fleet.map.figure_use")
	}
	held := 0
	for _, p := range parts {
		if p.Nobody == "" {
			held++
		}
	}
	figure = say.S("fleet.map.figure_of", "Held", held, "All", len(parts))
	if c.Parts[0].Share {
		return figure, say.S("fleet.map.figure_shares")
	}
	var rest, all float64
	for i := range c.Parts {
		wide := float64(widthOf(c, &c.Parts[i]))
		if all += wide; c.Parts[i].Gap {
			rest += wide
		}
	}
	if rest > 0 {
		return figure, say.S("fleet.map.figure_rest", "Rest", say.Percent(100*rest/all))
	}
	return figure, say.S("fleet.map.figure_slices")
}

// cardNote is a card beside its picture: the state of one that is whole, how much of another is allocated.
func cardNote(say page.Words, c *fleetmap.Card, words []string, colors []fleetmap.Color) string {
	if len(c.Parts) == 1 {
		return words[colors[0]]
	}
	held, all := 0, 0
	for i := range c.Parts {
		if c.Parts[i].Gap {
			continue
		}
		if all++; c.Parts[i].Held() {
			held++
		}
	}
	return say.S("fleet.map.figure_of", "Held", held, "All", all)
}

// restsOfAll is what the readings of every part rest on; nil where they differ.
func restsOfAll(parts []fleet.GPUPartModel) *ui.AgeModel {
	for _, p := range parts {
		if p.Rests != parts[0].Rests {
			return nil
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return &parts[0].Rests
}

func partTitle(say page.Words, c *fleetmap.Card, p *fleetmap.Part) string {
	switch {
	case p.Share && p.Profile != "":
		return say.S("fleet.map.share") + " · MIG " + p.Profile
	case p.Share:
		return say.S("fleet.map.share")
	case p.Profile != "":
		return "MIG " + p.Profile
	}
	return say.S("fleet.map.whole")
}

// gpuHolder names a holder to members of their team, administrators and auditors; everyone else learns only that it is
// held.
func (w *Pages) gpuHolder(k page.Call, pod gpumetrics.Pod, id workload.ID) fleet.GPUHolderModel {
	say := k.Words
	if id != "" {
		if item, err := w.Workloads.Get(k.Ctx, k.Actor, id); err == nil {
			until := say.Clock(item.Lease.Until)
			h := fleet.GPUHolderModel{Name: ui.StackModel{Title: item.Name, Href: page.WorkloadPath(item.ID),
				Detail: item.OwnerName + " · " + w.TeamTitle(item.Tenant)}, Metrics: page.WorkloadPath(item.ID) + "/metrics"}
			if !item.Lease.Until.IsZero() {
				h.Until = &until
			}
			return h
		}
	}
	if identity.Can(k.Actor, identity.ReadHolders, identity.Resource{}) {
		return fleet.GPUHolderModel{Name: ui.StackModel{Title: strings.Trim(pod.Namespace+"/"+pod.Name, "/"),
			Detail: say.S("fleet.map.team_outside")}}
	}
	return fleet.GPUHolderModel{Name: ui.StackModel{Title: say.S("fleet.cell_held")}}
}

// gpuChart is the use of the card in the last hours.
func (w *Pages) gpuChart(k page.Call, c *fleetmap.Card, patience time.Duration, m *fleet.GPUModel) {
	say := k.Words
	m.ChartWords = say.S("fleet.map.chart_none")
	if c.UUID == "" {
		return
	}
	ctx, stop := context.WithTimeout(k.Ctx, patience)
	defer stop()
	r, err := w.Metrics.CardRanges(ctx, k.Get("cluster"), c.UUID, gpumetrics.SpanOf(gpuSpan))
	switch {
	case gpumetrics.Waiting(err):
		m.ChartWords = say.S("workload.metrics.reading")
	case err != nil:
		m.ChartWords = say.S("fleet.map.chart_silent")
	}
	line := r.Line("engine")
	if err != nil || !line.Known() {
		return
	}
	points := line.Points
	chart := &ui.ChartModel{Label: say.S("fleet.map.chart"), Top: 100, Unit: string(gpumetrics.Percent),
		From: points[0].At, Step: r.Span.Step}
	for _, p := range points {
		v := math.NaN()
		if p.Known {
			v, chart.Value = p.Value, say.Percent(p.Value)
		}
		chart.Values = append(chart.Values, v)
	}
	first, last := points[0].At, points[len(points)-1].At
	for i := range 3 {
		chart.Times = append(chart.Times, say.Clock(first.Add(last.Sub(first)*time.Duration(i)/2)))
	}
	m.Chart, m.ChartWords = chart, ""
}

// gpuHealth is what is the matter with the card, and what the reader can do about it, as on the page of health.
func (w *Pages) gpuHealth(k page.Call, n *fleetmap.Node, c *fleetmap.Card, m *fleet.GPUModel) error {
	say, cluster := k.Words, k.Get("cluster")
	m.ToNode = page.NodePath(n.Name)
	if !seesHealth(k) || w.Quarantine == nil {
		return nil
	}
	r, err := w.Quarantine.Report(k.Ctx, k.Actor, cluster)
	if err != nil {
		return err
	}
	m.ToHealth = nodeHealthPath(n.Name)
	i := slices.IndexFunc(r.Nodes, func(h health.NodeHealth) bool { return h.Name == n.Name })
	if i < 0 {
		return nil
	}
	h := r.Nodes[i]
	m.Quarantine = quarantineWords(say, h.Quarantine)
	same := func(x health.CardHealth) bool { return x.UUID == c.UUID || c.UUID == "" && x.Lost }
	if at := slices.IndexFunc(h.Cards, same); at >= 0 {
		m.UUID = uuidModel(say, h.Cards[at].UUID)
		card := healthCard(k, cluster, &h, &h.Cards[at])
		m.Health, m.Troubles, m.Calm, m.Readings = &card.State, card.Troubles, card.Calm, card.Readings
		if m.Quarantine == "" {
			m.Quarantine = card.Quarantine
		}
		if card.Change != nil && card.Change.Place.Kind == string(health.Card) {
			m.ChangeCard = card.Change
		}
	}
	m.ChangeNode = quarantineModel(k, health.Target{Cluster: cluster, Kind: health.Node, Name: n.Name}, h.Quarantine)
	return nil
}
