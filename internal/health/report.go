package health

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Report is how the nodes and cards of a cluster are, worst first.
type Report struct {
	Cluster string
	TakenAt time.Time // of the inventory, which has the agents' word; zero: there is none
	DCGMAt  time.Time // when DCGM was last heard; zero for never
	Nodes   []NodeHealth
	Levels  LevelCount
	Recent  time.Duration // for how long an error is news
	now     time.Time
}

// LevelCount is how many cards are at each level. A node without cards, or one that is quarantined, counts by itself.
type LevelCount [Broken + 1]int

// Add adds another count.
func (c *LevelCount) Add(o LevelCount) {
	for l, n := range o {
		c[l] += n
	}
}

// Telling are the nodes of which there is more to tell than that they are fine, or that something was noticed once.
func (r Report) Telling() []NodeHealth {
	n, _ := slices.BinarySearchFunc(r.Nodes, Noticed,
		func(h NodeHealth, l Level) int { return cmp.Compare(l, h.Level()) })
	return r.Nodes[:n]
}

// Old reports whether an error of a moment is no news any more.
func (r Report) Old(at time.Time) bool { return r.now.Sub(at) > r.Recent }

// NodeHealth is one node with its cards.
type NodeHealth struct {
	Name       string
	Model      string
	Gone       bool        // it, or a quarantined card that was on it, is not in the inventory any more
	Quarantine *Quarantine // nil: none
	Cards      []CardHealth
	Holders    []Holder
	rated      *Level // what Level came to; nil: not asked yet
}

// CardHealth is one card, as far as anybody speaks of it.
type CardHealth struct {
	UUID, Model string
	Number      int  // on its node, from one; 0: no agent tells
	Gone        bool // quarantined, and nobody names it any more
	Lost        bool // the driver has lost it
	Quarantine  *Quarantine
	DCGM        *gpumetrics.Card      // nil: DCGM does not name it
	Agent       *inventory.CardErrors // nil: the node's agent says nothing of its errors
	Issues      []gpumetrics.Issue
	Holders     []Holder
	rated       *Level
}

// Level is how much something wants a look.
type Level uint8

// The levels, best first. Unknown is worse than fine: nobody has looked.
const (
	Fine Level = iota
	Noticed
	Unknown
	Quarantined
	Warned
	Broken
)

// String is the name in the API and in message keys.
func (l Level) String() string {
	return [...]string{"fine", "noticed", "unknown", "quarantined", "warning", "danger"}[min(l, Broken)]
}

// Level of a card: what is worst about it.
func (c *CardHealth) Level() Level {
	if c.rated != nil {
		return *c.rated
	}
	worst, any := Fine, false
	for _, t := range c.Issues {
		any = true
		worst = max(worst, [...]Level{Noticed, Warned, Broken}[min(t.Severity, gpumetrics.Danger)])
	}
	switch {
	case c.Quarantine != nil:
		return max(worst, Quarantined)
	case !any && !c.reportsErrors():
		return Unknown
	}
	return worst
}

// reportsErrors reports whether DCGM or the agent says anything of the card's errors.
func (c *CardHealth) reportsErrors() bool {
	if c.Agent != nil {
		return true
	}
	d := c.DCGM
	return d != nil && (d.TellsErrors || slices.ContainsFunc([]gpumetrics.Reading{d.ECCCorrected, d.ECCUncorrected,
		d.RemapFailed, d.Throttle}, gpumetrics.Reading.Known))
}

// Level of a node: the worst of its cards, or its own quarantine.
func (h *NodeHealth) Level() Level {
	if h.rated != nil {
		return *h.rated
	}
	worst := Fine
	if len(h.Cards) == 0 {
		worst = Unknown
	}
	if h.Quarantine != nil {
		worst = Quarantined
	}
	for i := range h.Cards {
		worst = max(worst, h.Cards[i].Level())
	}
	return worst
}

// rate works the levels out once: what a report says of a place is fixed.
func (h *NodeHealth) rate() {
	for i := range h.Cards {
		c := &h.Cards[i]
		c.rated = &levels[c.Level()]
	}
	h.rated = &levels[h.Level()]
}

// levels are what rated points to.
var levels = [...]Level{Fine, Noticed, Unknown, Quarantined, Warned, Broken}

// Report says how a cluster's cards are; for those who may know it. They share it: nobody changes what is in it.
func (s *Service) Report(ctx context.Context, a identity.Actor, cluster string) (Report, error) {
	if err := identity.Known(a); err != nil {
		return Report{}, err
	}
	if !identity.Can(a, identity.ReadMetrics, identity.Resource{}) {
		return Report{}, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	living, err := s.o.Store.Living(ctx)
	if err != nil {
		return Report{}, err
	}
	snapshot, _ := s.o.Store.Snapshot(ctx, cluster)
	known := s.known.Load()
	p := parts{cluster: cluster, now: s.o.Now(), recent: s.o.Recent, snapshot: snapshot, quarantines: *known,
		living: living}
	if source := s.o.Sources[cluster]; source != nil {
		p.report, p.fleet = source.Report(), source.Fleet()
	}
	return s.joined.of(p, known), nil
}

// reports keeps what was last joined of each cluster, for all who look: five thousand nodes take tens of milliseconds.
type reports struct {
	mu   sync.Mutex
	last map[string]madeOf
}

// madeOf is a report with what it was made of. Lists are known by where they are: none is changed once it is there.
type madeOf struct {
	nodes       *inventory.Node
	living      *workload.Workload
	health      *gpumetrics.Card
	counts      [3]int
	takenAt, at time.Time
	fleet       *gpumetrics.Fleet
	quarantines *[]Quarantine
	report      Report
}

// reportsLast is for how long a report stands: errors become old meanwhile.
const reportsLast = 15 * time.Second

// of joins the parts unless they are those of the last report.
func (r *reports) of(p parts, quarantines *[]Quarantine) Report {
	is := madeOf{nodes: firstOf(p.snapshot.Nodes), living: firstOf(p.living), health: firstOf(p.report.Health),
		counts:  [3]int{len(p.snapshot.Nodes), len(p.living), len(p.report.Health)},
		takenAt: p.snapshot.TakenAt, at: p.report.HealthAt, fleet: p.fleet, quarantines: quarantines}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last[p.cluster]
	if age := p.now.Sub(last.report.now); age < 0 || age > reportsLast || !last.madeAs(is) {
		last = is
		last.report = p.join()
		if r.last == nil {
			r.last = map[string]madeOf{}
		}
		r.last[p.cluster] = last
	}
	return last.report
}

func (m madeOf) madeAs(o madeOf) bool {
	return m.nodes == o.nodes && m.living == o.living && m.health == o.health && m.counts == o.counts &&
		m.takenAt.Equal(o.takenAt) && m.at.Equal(o.at) && m.fleet == o.fleet && m.quarantines == o.quarantines
}

func firstOf[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// parts are what a report is made of.
type parts struct {
	cluster     string
	now         time.Time
	recent      time.Duration // for how long an error is news
	snapshot    inventory.Snapshot
	report      gpumetrics.Report
	fleet       *gpumetrics.Fleet // nil: unknown
	quarantines []Quarantine
	living      []workload.Workload
	onNode      map[string][]*workload.Workload // those of living that are there
	users       map[string]users                // who is known to be on the cards of those nodes
}

// join brings together what API server, agents, DCGM and administrators say of each node.
func (p parts) join() Report {
	r := Report{Recent: p.recent, now: p.now, Cluster: p.cluster, TakenAt: p.snapshot.TakenAt, DCGMAt: p.report.HealthAt}
	p.onNode = map[string][]*workload.Workload{}
	for i := range p.living {
		if w := &p.living[i]; w.Cluster == p.cluster && w.Observed.PodPresent {
			p.onNode[w.Observed.Node] = append(p.onNode[w.Observed.Node], w)
		}
	}
	p.users = usersByNode(p.snapshot, p.fleet, p.onNode)
	nodes := map[string]*NodeHealth{}
	node := func(name string) *NodeHealth {
		if nodes[name] == nil {
			nodes[name] = &NodeHealth{Name: name, Gone: true}
		}
		return nodes[name]
	}
	for i := range p.snapshot.Nodes {
		if n := &p.snapshot.Nodes[i]; len(n.Resources)+len(n.Devices)+len(n.Cards.Each) > 0 {
			h := node(n.Name)
			h.Model, h.Gone = n.Model, false
			h.addCards(n)
		}
	}
	for i := range p.report.Health {
		c := &p.report.Health[i]
		if h := node(c.Node); c.Node != "" {
			card := h.card(c.UUID)
			card.DCGM, card.Model = c, cmp.Or(card.Model, c.Model)
		}
	}
	for _, h := range nodes {
		h.nameLost()
	}
	delete(nodes, "")
	for i := range p.quarantines {
		m := &p.quarantines[i]
		if m.Cluster != p.cluster {
			continue
		}
		if m.Kind == Node {
			node(m.Name).Quarantine = m
			continue
		}
		h := whereIs(nodes, m.Name)
		if h == nil {
			h = node(m.Node)
			h.card(m.Name).Gone = true
		}
		h.card(m.Name).Quarantine = m
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		h := nodes[name]
		p.holders(h)
		for i := range h.Cards {
			h.Cards[i].Issues = issues(h.Cards[i], p.now, p.recent)
		}
		h.rate()
		slices.SortStableFunc(h.Cards, func(a, b CardHealth) int { return cmp.Compare(b.Level(), a.Level()) })
		r.Nodes = append(r.Nodes, *h)
	}
	slices.SortStableFunc(r.Nodes, func(a, b NodeHealth) int { return cmp.Compare(b.Level(), a.Level()) })
	r.count()
	return r
}

func (r *Report) count() {
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Quarantine != nil || len(n.Cards) == 0 {
			r.Levels[n.Level()]++
		}
		for j := range n.Cards {
			r.Levels[n.Cards[j].Level()]++
		}
	}
}

func whereIs(nodes map[string]*NodeHealth, uuid string) *NodeHealth {
	for _, h := range nodes {
		if slices.ContainsFunc(h.Cards, func(c CardHealth) bool { return c.UUID == uuid && !c.Gone }) {
			return h
		}
	}
	return nil
}

// card finds a card of the node or begins one.
func (h *NodeHealth) card(uuid string) *CardHealth {
	i := slices.IndexFunc(h.Cards, func(c CardHealth) bool { return c.UUID == uuid })
	if i < 0 {
		i, h.Cards = len(h.Cards), append(h.Cards, CardHealth{UUID: uuid})
	}
	return &h.Cards[i]
}

// addCards takes what the node's agent and DRA drivers name. A card that the driver has lost has no UUID any more, and
// is one all the same.
func (h *NodeHealth) addCards(n *inventory.Node) {
	for _, c := range n.Cards.Each {
		if c.UUID == "" {
			h.Cards = append(h.Cards, CardHealth{Model: c.Model, Number: c.Index + 1, Lost: c.Lost})
			continue
		}
		card := h.card(c.UUID)
		card.Model, card.Number, card.Lost, card.Agent = c.Model, c.Index+1, c.Lost, c.Errors
	}
	for _, d := range n.Devices {
		if uuid := d.CardOf(); uuid != "" {
			h.card(uuid)
		}
	}
}

// nameLost makes one of a card that the agent's driver has lost, which has a number and no UUID, and the card that DCGM
// alone still names. NVML lists every other card with its UUID; of two lost ones nobody knows which is which.
func (h *NodeHealth) nameLost() {
	lost, named := -1, -1
	for i, c := range h.Cards {
		switch {
		case c.Lost && c.UUID == "" && lost < 0:
			lost = i
		case c.DCGM != nil && c.Number == 0 && named < 0:
			named = i
		case c.Number == 0 || c.Lost && c.UUID == "":
			return
		}
	}
	if lost < 0 || named < 0 {
		return
	}
	c := h.Cards[named]
	c.Number, c.Lost = h.Cards[lost].Number, true
	h.Cards[lost] = c
	h.Cards = slices.Delete(h.Cards, named, named+1)
}

// holders puts who holds something beside the node, and beside each card of which it is known.
func (p parts) holders(h *NodeHealth) {
	u := p.users[h.Name]
	for _, w := range p.onNode[h.Name] {
		h.Holders = append(h.Holders, Holder{Workload: w, Sure: true})
		for i := range h.Cards {
			if u[gpumetrics.Pod{Namespace: w.Namespace, Name: w.Observed.Pod}][h.Cards[i].UUID] {
				h.Cards[i].Holders = append(h.Cards[i].Holders, Holder{Workload: w, Sure: true})
			}
		}
	}
}

// issues are DCGM's, and what the agent says beyond them.
func issues(c CardHealth, now time.Time, recent time.Duration) []gpumetrics.Issue {
	var out []gpumetrics.Issue
	if c.Lost && !c.offBus() {
		out = append(out, gpumetrics.Issue{Severity: gpumetrics.Danger, What: i18n.T("health.lost"),
			Todo: i18n.T("gpumetrics.todo.bus")})
	}
	if c.DCGM != nil {
		out = append(out, c.DCGM.Issues...)
	}
	if e := c.Agent; e != nil {
		out = append(out, agentTroubles(c, *e, now, recent)...)
	}
	slices.SortStableFunc(out, func(a, b gpumetrics.Issue) int { return cmp.Compare(b.Severity, a.Severity) })
	return out
}

// offBus reports whether DCGM says already that the card does not respond.
func (c *CardHealth) offBus() bool {
	return c.DCGM != nil && slices.ContainsFunc(c.DCGM.Issues, func(i gpumetrics.Issue) bool {
		return i.Todo.ID == "gpumetrics.todo.bus"
	})
}

func agentTroubles(c CardHealth, e inventory.CardErrors, now time.Time, recent time.Duration) []gpumetrics.Issue {
	var out []gpumetrics.Issue
	for _, x := range e.XIDs {
		class, severity := gpumetrics.XIDClass(x.Code)
		todo := "gpumetrics.todo." + class
		if now.Sub(x.Last) > recent {
			severity, todo = gpumetrics.Info, "gpumetrics.todo.old"
		}
		out = append(out, gpumetrics.Issue{Severity: severity, Todo: i18n.T(todo),
			What: i18n.T("health.xid", "Code", x.Code, "Class", i18n.T("gpumetrics.xid."+class), "Times", x.Count, "Time",
				i18n.MomentUTC(x.Last))})
	}
	d := c.DCGM
	if d == nil {
		d = &gpumetrics.Card{}
	}
	if e.RowsPending {
		out = append(out, gpumetrics.Issue{Severity: gpumetrics.Warning, What: i18n.T("health.rows_pending"),
			Todo: i18n.T("health.rows_pending_todo")})
	}
	if e.RowsFailed && !(d.RemapFailed.Known() && d.RemapFailed.Value > 0) {
		out = append(out, gpumetrics.Issue{Severity: gpumetrics.Danger, What: i18n.T("gpumetrics.trouble.remap_failed"),
			Todo: i18n.T("gpumetrics.todo.remap_failed")})
	}
	if n := e.Uncorrected; n != nil && *n > 0 && !(d.ECCUncorrected.Known() && d.ECCUncorrected.Value > 0) {
		out = append(out, gpumetrics.Issue{Severity: gpumetrics.Danger, What: i18n.T("gpumetrics.trouble.ecc_uncorrected",
			"Number", int64(*n)), Todo: i18n.T("gpumetrics.todo.ecc_uncorrected")})
	}
	return out
}

// Concern is what somebody should know of what is under their workload.
type Concern struct {
	Quarantine *Quarantine // of its node or card; nil: none
	Perhaps    bool        // the quarantine is of a card of its node, and nobody says which card it holds
	Issues     []gpumetrics.Issue
}

// Under says what is the matter with the node and cards that a workload is on: quarantines, and what happened on its
// cards and is more than a hint. Whoever calls has looked whether the workload may be read.
func (s *Service) Under(ctx context.Context, w workload.Workload) Concern {
	var c Concern
	if !w.Observed.PodPresent || w.Observed.Node == "" {
		return c
	}
	snapshot, _ := s.o.Store.Snapshot(ctx, w.Cluster)
	p := parts{cluster: w.Cluster, now: s.o.Now(), recent: s.o.Recent, snapshot: snapshot, quarantines: *s.known.Load(),
		living: []workload.Workload{w}}
	if source := s.o.Sources[w.Cluster]; source != nil {
		p.report, p.fleet = source.Report(), source.Fleet()
	}
	for _, m := range p.quarantines {
		if m.Cluster == w.Cluster && m.Kind == Node && m.Name == w.Observed.Node {
			c.Quarantine = &m
		}
	}
	if w.Size.CPUOnly() {
		return c
	}
	mine, known := usersOf(snapshot, p.fleet, w.Observed.Node)[gpumetrics.Pod{Namespace: w.Namespace,
		Name: w.Observed.Pod}]
	for _, n := range p.on(w.Observed.Node).join().Nodes {
		for i := range n.Cards {
			card := &n.Cards[i]
			switch on := mine[card.UUID]; {
			case n.Name != w.Observed.Node:
			case card.Quarantine != nil && c.Quarantine == nil && (on || !known):
				c.Quarantine, c.Perhaps = card.Quarantine, !on
			case on:
				for _, t := range card.Issues {
					if t.Severity == gpumetrics.Danger {
						c.Issues = append(c.Issues, t)
					}
				}
			}
		}
	}
	return c
}

// on leaves out other nodes, so that one workload costs no more in a large cluster.
func (p parts) on(node string) parts {
	p.snapshot.Nodes = slices.Collect(func(yield func(inventory.Node) bool) {
		for _, n := range p.snapshot.Nodes {
			if n.Name == node && !yield(n) {
				return
			}
		}
	})
	p.report.Health = slices.DeleteFunc(slices.Clone(p.report.Health),
		func(c gpumetrics.Card) bool { return c.Node != node })
	return p
}
