package fleet

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/fleetmap"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/fleet"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// fleetHealth answers: which cards want somebody now, what is to be done, and whom does it concern.
func (w *Pages) fleetHealth(k page.Call) (page.View, error) {
	say := k.Words
	m := fleet.HealthPageModel{Header: ui.HeaderModel{Title: say.S("health.title"), Lead: say.S("health.lead")},
		Tabs: fleetTabs(k, page.FleetHealthPath)}
	v := page.View{Title: m.Header.Title, Nav: page.FleetHealthPath, Wide: true}
	var count health.LevelCount
	for _, name := range w.Site().Clusters {
		r, err := w.Quarantine.Report(k.Ctx, k.Actor, name)
		if err != nil {
			return page.View{}, err
		}
		count.Add(r.Levels)
		if len(r.Nodes) == 0 {
			continue
		}
		c := healthCluster(k, r, w.mapOf(k, name))
		m.Clusters = append(m.Clusters, c)
		v.Parts = append(v.Parts, page.Part{ID: c.ID,
			Draw: func(page.Words) templ.Component { return fleet.HealthCluster(c) }})
		v.AsOf = blocks.Oldest(v.AsOf, r.TakenAt)
	}
	m.Counts = fleet.HealthCountsModel{Broken: count[health.Broken], Warned: count[health.Warned],
		Quarantined: count[health.Quarantined], Unknown: count[health.Unknown]}
	if len(m.Clusters) > 0 {
		v.Parts = append(v.Parts, page.Part{ID: fleet.HealthTilesID,
			Draw: func(page.Words) templ.Component { return fleet.HealthTiles(m.Counts) }})
	}
	v.Body = fleet.HealthPage(m)
	return v, nil
}

func healthCluster(k page.Call, r health.Report, j *joined) fleet.HealthClusterModel {
	say, id := k.Words, page.Slug(r.Cluster)
	m := fleet.HealthClusterModel{ID: "health-" + id, Title: say.S("fleet.cluster", "Name", r.Cluster),
		Ages: healthAges(say, r)}
	state := k.Get("state")
	m.Filter = fleet.HealthFilterModel{Path: page.FleetHealthPath, Slug: id, Text: k.Get("q"), State: state}
	wanted := strings.ToLower(strings.TrimSpace(k.Get("q")))
	nodes := r.Telling()
	m.Fine = len(r.Nodes) - len(nodes)
	if state == "all" || wanted != "" {
		nodes = r.Nodes
	}
	rows := make([]healthPlace, 0, len(nodes))
	add := func(p healthPlace, level health.Level, quarantine *health.Quarantine, telling bool) {
		if healthChosen(state, level, quarantine, telling || wanted != "") &&
			(wanted == "" || strings.Contains(p.text(quarantine), wanted)) {
			rows = append(rows, p)
		}
	}
	for i := range nodes {
		n := &nodes[i]
		if state != "unknown" || len(n.Cards) == 0 {
			add(healthPlace{n, nil}, n.Level(), n.Quarantine, n.Level() > health.Noticed)
		}
		for j := range n.Cards {
			c := &n.Cards[j]
			add(healthPlace{n, c}, c.Level(), c.Quarantine, c.Level() > health.Unknown)
		}
	}
	rows, m.List = page.RowsOf(say, page.ListIn(k, page.FleetHealthPath, m.ID, healthOrders, "q", "state"), m.Title, rows,
		nil)
	var last *health.NodeHealth
	node := func(n *health.NodeHealth) {
		m.Rows, last = append(m.Rows, healthNode(k, r.Cluster, n)), n
	}
	for _, row := range rows { // a large fleet has thousands: only those that are shown are drawn up
		if row.card != nil {
			if row.node != last {
				node(row.node) // cards stand under their node
			}
			card := healthCard(k, r.Cluster, row.node, row.card)
			at := cardOnMap(j, row.node.Name, row.card)
			if at >= 0 {
				card.Open = nodeHref(j.Cluster, row.node.Name, at)
			}
			if row.card.Number == 0 && at >= 0 && !hasNumber(row.node, at+1) {
				card.Name.Title = say.S("fleet.use.card", "Number", at+1)
			}
			withoutTodo(&card, m.Rows[indexOfNode(m.Rows)].Todo)
			offerOnce(&m.Rows[indexOfNode(m.Rows)], &card)
			m.Rows = append(m.Rows, card)
			continue
		}
		node(row.node)
	}
	return m
}

// indexOfNode is the last node among the rows, under which the next card stands.
func indexOfNode(rows []fleet.HealthRowModel) int {
	i := len(rows) - 1
	for i > 0 && !rows[i].Node {
		i--
	}
	return i
}

// cardOnMap is where the map has a card on its node; -1 where it does not name it. One that the driver has lost has no
// UUID there.
func cardOnMap(j *joined, node string, card *health.CardHealth) int {
	if j == nil {
		return -1
	}
	n, ok := j.Node(node)
	if !ok {
		return -1
	}
	at := slices.IndexFunc(n.Cards, func(c fleetmap.Card) bool { return c.UUID != "" && c.UUID == card.UUID })
	if at < 0 && card.Lost {
		at = slices.IndexFunc(n.Cards, func(c fleetmap.Card) bool { return c.UUID == "" })
	}
	return at
}

// hasNumber reports whether an agent gives the number to one of the node's cards.
func hasNumber(n *health.NodeHealth, number int) bool {
	return slices.ContainsFunc(n.Cards, func(c health.CardHealth) bool { return int(c.Number) == number })
}

// sharedTodo is the remedy that begins with the node and that several of its cards need; "" for none.
func sharedTodo(say page.Words, n *health.NodeHealth) string {
	count := map[string]int{}
	for i := range n.Cards {
		for _, t := range n.Cards[i].Issues {
			if todo := say.Text(t.Todo); t.OfNode() {
				if count[todo]++; count[todo] > 1 {
					return todo
				}
			}
		}
	}
	return ""
}

// withoutTodo takes out of a card's row what its node says already, and the node's quarantine with it.
func withoutTodo(m *fleet.HealthRowModel, todo string) {
	for i := range m.Troubles {
		if todo != "" && m.Troubles[i].Todo == todo {
			m.Troubles[i].Todo = ""
			if m.Change != nil && m.Change.Place.Kind == string(health.Node) {
				m.Change = nil
			}
		}
	}
}

// healthPlace is a node, or a card of one.
type healthPlace struct {
	node *health.NodeHealth
	card *health.CardHealth // nil: the node itself
}

// text is what a search looks through, in lower case.
func (p healthPlace) text(q *health.Quarantine) string {
	parts := []string{p.node.Name, p.node.Model, quarantineNote(q)}
	if p.card != nil {
		parts = []string{p.node.Name, p.card.UUID, p.card.Model, quarantineNote(q)}
	}
	return strings.ToLower(strings.Join(parts, " "))
}

// healthOrders: the worst come first, always.
var healthOrders = []string{"worst"}

// healthChosen: unasked, the nodes and cards of which there is something to tell. A line counts the nodes that are
// fine, and a node's row those of its cards that nobody tells of. Whoever searches finds all.
func healthChosen(state string, level health.Level, quarantine *health.Quarantine, telling bool) bool {
	switch state {
	case "all":
		return true
	case "quarantined":
		return quarantine != nil
	case "unknown":
		return level == health.Unknown
	}
	return telling
}

func quarantineNote(m *health.Quarantine) string {
	if m == nil {
		return ""
	}
	return m.Note
}

// healthAges say where what is shown comes from, and how old it is.
func healthAges(say page.Words, r health.Report) []ui.AgeModel {
	age := func(source string, at time.Time, every time.Duration) ui.AgeModel {
		if at.IsZero() {
			return ui.AgeModel{Source: say.S("health.never_heard", "Source", source), Old: true}
		}
		return say.Age(source, at, every)
	}
	return []ui.AgeModel{age("DCGM", r.DCGMAt, page.ReadingEvery), age(say.S("health.agents"), r.TakenAt,
		page.SnapshotEvery)}
}

var healthKinds = map[health.Level]ui.Kind{health.Fine: ui.OK, health.Noticed: ui.Info, health.Unknown: ui.Off,
	health.Quarantined: ui.Warning, health.Warned: ui.Warning, health.Broken: ui.Danger}

func healthState(say page.Words, l health.Level) fleet.HealthStateModel {
	return fleet.HealthStateModel{Kind: healthKinds[l], Word: say.S("health.level_" + l.String())}
}

func healthNode(k page.Call, cluster string, n *health.NodeHealth) fleet.HealthRowModel {
	say, level := k.Words, n.Level()
	m := fleet.HealthRowModel{Node: true, Name: ui.StackModel{Title: n.Name, Detail: say.Card(n.Model)},
		State:      healthState(say, level),
		Quarantine: quarantineWords(say, n.Quarantine)}
	var count health.LevelCount
	for i := range n.Cards {
		count[n.Cards[i].Level()]++
	}
	silent := count[health.Unknown]
	switch {
	case n.Gone:
		m.Calm = say.S("health.node_gone")
	case len(n.Cards) == 0:
		m.Calm = say.S("health.no_cards_named")
	case silent == len(n.Cards) && len(missingOf(n)) > 0:
		m.Calm, m.Missing = say.S("health.cards_fields"), strings.Join(missingOf(n), ", ")
	case silent == len(n.Cards):
		m.Calm = say.S("health.cards_silent", "All", len(n.Cards))
	default:
		m.Calm = cardsWords(say, count, len(n.Cards))
	}
	if n.Quarantine == nil && level > health.Unknown { // only its cards are counted above
		m.Counted = true
		m.State.Word = say.S("health.of_cards", "Count", count[level], "State", m.State.Word)
	}
	m.Todo, m.Holders = sharedTodo(say, n), healthHolders(n.Holders)
	m.Change = quarantineModel(k, health.Target{Cluster: cluster, Kind: health.Node, Name: n.Name}, n.Quarantine)
	return m
}

// cardsWords say how many of a node's cards are healthy, and what is the matter with the others.
func cardsWords(say page.Words, count health.LevelCount, all int) string {
	words := say.S("health.cards_healthy", "Calm", count[health.Fine]+count[health.Noticed], "All", all)
	var others []string
	for _, l := range []health.Level{health.Broken, health.Warned, health.Quarantined, health.Unknown} {
		if count[l] > 0 {
			others = append(others, say.S("health.cards_"+l.String(), "Count", count[l]))
		}
	}
	if len(others) == 0 {
		return words
	}
	return words + ": " + strings.Join(others, ", ")
}

// missingOf are the fields of errors that DCGM tells of none of a node's cards, where it names them all.
func missingOf(n *health.NodeHealth) []string {
	var missing []string
	for _, c := range n.Cards {
		if c.DCGM == nil || len(c.DCGM.MissingErrors()) == 0 {
			return nil
		}
		missing = append(missing, c.DCGM.MissingErrors()...)
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

func healthCard(k page.Call, cluster string, n *health.NodeHealth, c *health.CardHealth) fleet.HealthRowModel {
	say, level := k.Words, c.Level()
	m := fleet.HealthRowModel{
		Name:  healthCardName(say, n, c),
		State: healthState(say, level), Quarantine: quarantineWords(say, c.Quarantine), Readings: healthReadings(say, c)}
	for _, t := range c.Issues {
		m.Troubles = append(m.Troubles, fleet.TroubleModel{State: troubleState(say, level, t.Severity),
			What: say.Text(t.What), Todo: say.Text(t.Todo)})
	}
	switch {
	case c.Gone:
		m.Calm = say.S("health.card_gone")
	case level == health.Unknown && c.DCGM != nil && len(c.DCGM.MissingErrors()) > 0:
		m.Calm = say.S("health.card_fields", "Fields", strings.Join(c.DCGM.MissingErrors(), ", "))
	case level == health.Unknown:
		m.Calm = say.S("health.card_unknown")
	case len(c.Issues) == 0 && c.Quarantine == nil: // whose note says what is the matter
		m.Calm = say.S("health.card_fine")
	}
	m.Holders = healthHolders(c.Holders)
	if c.UUID != "" {
		m.UUID = &ui.CopyModel{Value: c.UUID, Shown: shortUUID(c.UUID), Label: say.S("health.uuid")}
	}
	ofNode := c.Quarantine == nil && n.Quarantine == nil && slices.ContainsFunc(c.Issues, gpumetrics.Issue.OfNode)
	switch {
	case ofNode: // what is to be done begins with the node
		m.Change = quarantineModel(k, health.Target{Cluster: cluster, Kind: health.Node, Name: n.Name}, nil)
	case c.UUID != "":
		m.Change = quarantineModel(k, health.Target{Cluster: cluster, Kind: health.Card, Name: c.UUID}, c.Quarantine)
	}
	return m
}

// offerOnce has a quarantine of the node stand where its reason is read: in the row of the card, or in that of the node
// where several cards need it.
func offerOnce(node, card *fleet.HealthRowModel) {
	switch {
	case card.Change == nil || card.Change.Place.Kind != string(health.Node):
	case node.Todo == "" && node.Change != nil && node.Change.Ask != "":
		node.Change = nil
	case card.Open != "":
		card.Change = nil
	}
}

// healthCardName is the card's number on its node, where an agent tells it, and its model where that is not its node's.
func healthCardName(say page.Words, n *health.NodeHealth, c *health.CardHealth) ui.StackModel {
	m := ui.StackModel{Title: say.S("health.card")}
	if c.Number > 0 {
		m.Title = say.S("fleet.use.card", "Number", c.Number)
	}
	if c.Model != "" && say.Card(c.Model) != say.Card(n.Model) { // one that the driver has lost has none any more
		m.Detail = say.Card(c.Model)
	}
	return m
}

func shortUUID(uuid string) string {
	if len(uuid) <= 16 {
		return uuid
	}
	return uuid[:12] + "…"
}

// troubleState says how bad a trouble is; nothing where it is as bad as the state of its card, which says so already.
func troubleState(say page.Words, level health.Level, s gpumetrics.Severity) *ui.StateModel {
	if level == health.Broken && s == gpumetrics.Danger || level == health.Warned && s == gpumetrics.Warning {
		return nil
	}
	return new(severityState(say, s))
}

func healthHolders(list []health.Holder) (links []fleet.HolderLinkModel) {
	for _, h := range list {
		links = append(links, fleet.HolderLinkModel{Name: h.Name, Href: page.WorkloadPath(h.ID), Owner: h.OwnerName})
	}
	return links
}

func quarantineWords(say page.Words, m *health.Quarantine) string {
	if m == nil {
		return ""
	}
	return say.S("health.quarantined_by", "Name", m.ByName, "Time", page.ClockOn(say, m.At), "Note", m.Note)
}

// quarantineModel is what an administrator can do about a place.
func quarantineModel(k page.Call, p health.Target, m *health.Quarantine) *fleet.QuarantineModel {
	if !identity.Can(k.Actor, identity.QuarantineHardware, identity.Resource{}) {
		return nil
	}
	q := &fleet.QuarantineModel{Place: placeModel(p)}
	values := url.Values{"cluster": {p.Cluster}, "kind": {string(p.Kind)}, "name": {p.Name}}
	if m == nil {
		q.Ask = page.FleetHealthPath + "/quarantine?" + values.Encode()
	} else {
		q.End = page.FleetHealthPath + "/quarantine/end"
	}
	return q
}

func placeModel(p health.Target) fleet.PlaceModel {
	return fleet.PlaceModel{Cluster: p.Cluster, Kind: string(p.Kind), Name: p.Name}
}

// healthReadings are what DCGM and the agent say, each by name; what neither says is unknown and never zero.
func healthReadings(say page.Words, c *health.CardHealth) []fleet.ReadingModel {
	d := c.DCGM
	if d == nil {
		d = &gpumetrics.Card{}
	}
	row := func(id string, r gpumetrics.Reading, agent *uint64) fleet.ReadingModel {
		var parts []string
		if r.Known() {
			parts = append(parts, say.Number(r.Value)+" (DCGM, "+say.Ago(r.At).Words+")")
		}
		if agent != nil {
			parts = append(parts, say.Number(float64(*agent))+" ("+say.S("health.agent")+")")
		}
		if len(parts) == 0 {
			parts = []string{say.S("health.reading_unknown")}
		}
		return fleet.ReadingModel{ID: id, Value: strings.Join(parts, " · ")}
	}
	var corrected, uncorrected, links *uint64
	pending := say.S("health.reading_unknown")
	if a := c.Agent; a != nil {
		corrected, uncorrected, links = a.Corrected, a.Uncorrected, a.NVLink
		pending = say.S("health.no") + " (" + say.S("health.agent") + ")"
		if a.RowsPending {
			pending = say.S("health.yes") + " (" + say.S("health.agent") + ")"
		}
	}
	throttled := fleet.ReadingModel{ID: "throttle", Value: say.S("health.reading_unknown")}
	if d.Throttle.Known() {
		throttled.Value = say.S("health.not_throttled")
		var names []string
		for _, r := range d.Reasons {
			names = append(names, say.S("gpumetrics.throttle."+r.Name))
		}
		if len(names) > 0 {
			throttled.Value = strings.Join(names, " ")
		}
		throttled.Value += " (DCGM, " + say.Ago(d.Throttle.At).Words + ")"
	}
	return []fleet.ReadingModel{row("corrected", d.ECCCorrected, corrected),
		row("uncorrected", d.ECCUncorrected, uncorrected),
		row("remapped", d.RemapUncorrected, nil),
		{ID: "pending", Value: pending}, row("failed", d.RemapFailed, nil),
		throttled, row("nvlink", d.NVLinkErrors, links)}
}

// quarantineAsk says what a quarantine does before anybody is told.
func (w *Pages) quarantineAsk(k page.Call) (page.View, error) {
	return w.quarantineView(k, health.Target{Cluster: k.Get("cluster"), Kind: health.Kind(k.Get("kind")),
		Name: k.Get("name")},
		"", nil)
}

func (w *Pages) quarantineView(k page.Call, p health.Target, note string, problems []fault.Field) (page.View, error) {
	if !identity.Can(k.Actor, identity.QuarantineHardware, identity.Resource{}) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	holders, err := w.Quarantine.Holders(k.Ctx, k.Actor, p)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := fleet.QuarantineAskModel{Path: page.FleetHealthPath, Place: placeModel(p), Note: note}
	for _, h := range holders {
		m.Told = append(m.Told, fleet.ToldModel{Name: h.Name, Owner: h.OwnerName, Team: w.TeamTitle(h.Tenant)})
	}
	if len(problems) > 0 {
		m.Errors, m.NoteError = page.FormErrors(say, problems), say.Text(problems[0].Reason)
	}
	return page.View{Title: say.S("health.quarantine_title_"+string(p.Kind), "Name", p.Name), Nav: page.FleetHealthPath,
		Body: fleet.QuarantineAsk(m)}, nil
}

func (w *Pages) hardwareQuarantine(c echo.Context) error {
	k := w.CallOf(c)
	p := health.Target{Cluster: c.FormValue("cluster"), Kind: health.Kind(c.FormValue("kind")), Name: c.FormValue("name")}
	_, err := w.Quarantine.Quarantine(k.Ctx, k.Actor, p, c.FormValue("note"))
	if fault.Is(err, fault.Invalid) {
		v, viewErr := w.quarantineView(k, p, c.FormValue("note"), fault.As(err).Fields)
		if viewErr != nil {
			return viewErr
		}
		return w.Reply(c, k, w.quarantinePage(), v, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return w.Done(c, "hardware-quarantined", page.FleetHealthPath, p.Cluster, string(p.Kind), p.Name)
}

func (w *Pages) hardwareEndQuarantine(c echo.Context) error {
	k := w.CallOf(c)
	p := health.Target{Cluster: c.FormValue("cluster"), Kind: health.Kind(c.FormValue("kind")), Name: c.FormValue("name")}
	if err := w.Quarantine.Release(k.Ctx, k.Actor, p); err != nil {
		return err
	}
	return w.Done(c, "hardware-quarantine-ended", page.FleetHealthPath)
}
