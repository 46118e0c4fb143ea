package fleet

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/fleetmap"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/holders"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// scheme is what the colors of the map mean.
type scheme struct {
	key    string   // the same for readers who are shown the same
	colors []string // classes, in the order of the legend; the last is what is not cut
	words  func(say page.Words) []string
	rule   fleetmap.Rule
}

// color is the place of a class in the scheme.
func (s scheme) color(class string) fleetmap.Color {
	return fleetmap.Color(max(0, slices.Index(s.colors, class)))
}

const gapClass = "gap"

// The names of schemes, as in the address. bySpent is of the money that went for nothing.
const (
	byUse    = "use"
	byTeam   = "team"
	byHealth = "health"
	byMoney  = "money"
)

// schemesFor are those on offer to a reader.
func schemesFor(k page.Call) []string {
	if seesHolders(k) {
		return []string{byUse, byTeam, byHealth, byMoney}
	}
	return []string{byUse, byTeam, byHealth}
}

// seesHolders reports whether the reader may know who holds what of every team, and with it what it costs them.
func seesHolders(k page.Call) bool {
	return identity.Can(k.Actor, identity.ReadHolders, identity.Resource{})
}

func (w *Pages) schemeOf(k page.Call, name string) scheme {
	switch {
	case name == byTeam:
		return w.teamScheme(k)
	case name == byHealth && seesHolders(k):
		return healthScheme()
	case name == byHealth:
		return nodeScheme()
	case name == byMoney && seesHolders(k):
		return w.moneyScheme(k)
	}
	return useScheme()
}

// said is the words of a scheme whose classes have texts of their own.
func (s scheme) said(prefix string) scheme {
	s.words = func(say page.Words) []string {
		words := make([]string, len(s.colors))
		for i, class := range s.colors {
			words[i] = say.S(prefix + class)
		}
		return words
	}
	return s
}

// unusable is what nothing can be started on: broken for what is out of order, closed for what somebody has closed.
func unusable(n *fleetmap.Node, c *fleetmap.Card, p *fleetmap.Part) string {
	switch {
	case !n.Ready || c.Level == health.Broken || c.Unhealthy && !p.Held():
		return "broken"
	case !p.Held() && (!n.Usable() || c.Quarantined || c.Level == health.Quarantined):
		return "closed"
	}
	return ""
}

// outOfOrder reports whether some of a card is broken, whatever the colors of the map tell.
func outOfOrder(n *fleetmap.Node, c *fleetmap.Card) bool {
	return slices.ContainsFunc(c.Parts, func(p fleetmap.Part) bool { return unusable(n, c, &p) == "broken" })
}

// useScheme says what cards do. A device of which nothing is known is unknown also when nobody holds it.
func useScheme() scheme {
	s := scheme{key: byUse, colors: []string{"free", "idle", "1", "2", "3", "4", "unknown", "closed", "broken", gapClass}}
	s.rule = func(n *fleetmap.Node, c *fleetmap.Card, p *fleetmap.Part) fleetmap.Color {
		out := unusable(n, c, p)
		switch v := p.Use.Value; {
		case p.Gap:
			out = gapClass
		case out != "":
		case !p.Use.Known():
			out = "unknown"
		case !p.Held() && (p.Share || usage.Idle(v)):
			out = "free"
		case usage.Idle(v):
			out = "idle"
		default:
			out = quarter(v)
		}
		return s.color(out)
	}
	return s.said("fleet.map.use_")
}

// quarter is the class of a percentage.
func quarter(v float64) string { return [...]string{"1", "2", "3", "4"}[min(3, max(0, int(v/25)))] }

// pastScheme is the use of an hour that is over: who held what is not known of it.
func pastScheme(key string, past gpumetrics.PastUse) scheme {
	s := scheme{key: key, colors: []string{"low", "1", "2", "3", "4", "unknown", gapClass}}
	s.rule = func(_ *fleetmap.Node, c *fleetmap.Card, p *fleetmap.Part) fleetmap.Color {
		v, known := past.Of(c.UUID, p.Instance)
		switch {
		case p.Gap:
			return s.color(gapClass)
		case !known:
			return s.color("unknown")
		case usage.Idle(v):
			return s.color("low")
		}
		return s.color(quarter(v))
	}
	return s.said("fleet.map.past_")
}

// healthScheme is how cards are, as the page of health says it.
func healthScheme() scheme {
	s := scheme{key: byHealth, colors: []string{"fine", "noticed", "unjudged", "quarantined", "warned", "broken", "closed",
		gapClass}}
	levels := map[health.Level]string{health.Fine: "fine", health.Noticed: "noticed", health.Unknown: "unjudged",
		health.Quarantined: "quarantined", health.Warned: "warned", health.Broken: "broken"}
	s.rule = func(n *fleetmap.Node, c *fleetmap.Card, p *fleetmap.Part) fleetmap.Color {
		class := levels[c.Level]
		switch {
		case p.Gap && len(c.Parts) > 1: // the slices beside it say how the card is
			class = gapClass
		case !n.Ready:
			class = "broken"
		case n.Quarantined && c.Level < health.Quarantined:
			class = "quarantined"
		case n.Cordoned && c.Level < health.Quarantined:
			class = "closed"
		}
		return s.color(class)
	}
	return s.said("fleet.map.health_")
}

// nodeScheme is the health that everybody may know: whether a node can be used.
func nodeScheme() scheme {
	s := scheme{key: "nodes", colors: []string{"usable", "warned", "quarantined", "closed", "broken", gapClass}}
	s.rule = func(n *fleetmap.Node, c *fleetmap.Card, p *fleetmap.Part) fleetmap.Color {
		class := "usable"
		switch {
		case p.Gap && len(c.Parts) > 1:
			class = gapClass
		case !n.Ready:
			class = "broken"
		case n.Quarantined || c.Quarantined:
			class = "quarantined"
		case n.Cordoned:
			class = "closed"
		case n.Warnings > 0:
			class = "warned"
		}
		return s.color(class)
	}
	return s.said("fleet.map.node_")
}

// mostTeams is how many teams have a color of their own.
const mostTeams = 6

// teamScheme is who holds what: every team for those who may know, one's own for the others.
func (w *Pages) teamScheme(k page.Call) scheme {
	all, team := seesHolders(k), map[string]string{}
	for _, t := range w.Site().Directory.Tenants {
		if all || k.Actor.Member(t.Name) {
			team[t.NamespaceName()] = t.Name
		}
	}
	names := slices.Sorted(maps.Values(team))
	if len(names) > mostTeams {
		names = w.largest(k, team)
	}
	rest := []string{"other"}
	if all {
		rest = []string{"rest", "outside"}
	}
	s := scheme{key: strings.Join(slices.Concat([]string{byTeam}, rest, names), "\x00")}
	classes := map[string]string{}
	for i, name := range names {
		class := "t" + string(rune('1'+i))
		classes[name], s.colors = class, append(s.colors, class)
	}
	s.colors = slices.Concat(s.colors, rest, []string{"free", "closed", "broken", gapClass})
	s.words = func(say page.Words) []string {
		var words []string
		for _, name := range names {
			t, _ := w.Site().Directory.ByName(name)
			words = append(words, t.Display())
		}
		for _, class := range s.colors[len(names):] {
			words = append(words, say.S("fleet.map.team_"+class))
		}
		return words
	}
	s.rule = func(n *fleetmap.Node, c *fleetmap.Card, p *fleetmap.Part) fleetmap.Color {
		switch out := unusable(n, c, p); {
		case p.Gap:
			return s.color(gapClass)
		case !p.Held() && out != "":
			return s.color(out)
		case !p.Held():
			return s.color("free")
		}
		name, known := team[p.Pods[0].Namespace]
		switch {
		case !known:
			return s.color(rest[len(rest)-1])
		case classes[name] == "":
			return s.color(rest[0])
		}
		return s.color(classes[name])
	}
	return s
}

// largest are the teams that hold the most cards now.
func (w *Pages) largest(k page.Call, team map[string]string) []string {
	holds := map[string]float64{}
	for _, cluster := range w.Site().Clusters {
		m := w.mapOf(k, cluster)
		if m == nil {
			continue
		}
		for i := range m.Nodes {
			for j := range m.Nodes[i].Cards {
				c := &m.Nodes[i].Cards[j]
				for _, p := range c.Parts {
					if p.Held() && team[p.Pods[0].Namespace] != "" {
						holds[team[p.Pods[0].Namespace]] += float64(p.Size) / float64(max(1, c.Whole))
					}
				}
			}
		}
	}
	names := slices.SortedFunc(maps.Values(team), func(a, b string) int {
		return cmp.Or(cmp.Compare(holds[b], holds[a]), cmp.Compare(a, b))
	})
	names = names[:min(len(names), mostTeams)]
	slices.Sort(names) // so that a color stays with its team
	return names
}

// moneyScheme is what went for nothing in the last day, for each card that a workload holds.
func (w *Pages) moneyScheme(k page.Call) scheme {
	money := w.idleMoney(k)
	spent, most := money.spent, money.most
	s := scheme{key: byMoney, colors: []string{"none", "m1", "m2", "m3", "m4", "unpriced", "free", "out", gapClass}}
	step := roundStep(most)
	s.words = func(say page.Words) []string {
		words := []string{say.S("fleet.map.money_none")}
		for i := range int64(4) {
			words = append(words, say.S("fleet.map.money_to", "Money",
				say.WholeMoney(usage.Money{Minor: step * (i + 1), Currency: most.Currency})))
		}
		return append(words, say.S("fleet.map.money_unpriced"), say.S("fleet.map.money_free"),
			say.S("fleet.map.money_out"), say.S("fleet.map.use_gap"))
	}
	s.rule = func(n *fleetmap.Node, c *fleetmap.Card, p *fleetmap.Part) fleetmap.Color {
		switch out := unusable(n, c, p); {
		case p.Gap: // nobody holds it
			return s.color("free")
		case out != "": // it does not stand idle; in gray, for red is what costs the most
			return s.color("out")
		case !p.Held():
			return s.color("free")
		}
		var sum int64
		known := false
		for _, pod := range p.Pods {
			if m, ok := spent[pod]; ok {
				sum, known = sum+m.Minor, true
			}
		}
		switch {
		case !known:
			return s.color("unpriced")
		case sum == 0 || most.Minor == 0:
			return s.color("none")
		}
		return s.color([...]string{"m1", "m2", "m3", "m4"}[min(3, (sum-1)/step)])
	}
	return s
}

// cardPlace is where a card is on the map.
type cardPlace struct {
	cluster, node string
	index, card   int // of the node in its cluster, of the card in its node
}

// mostIdle is the node of the maps on which the most money went for nothing, with the card of it that had the most of
// that.
func mostIdle(maps []*joined, spent map[gpumetrics.Pod]usage.Money) (at cardPlace, most usage.Money) {
	for _, j := range maps {
		for i := range j.Nodes {
			var sum usage.Money
			var dearest int64
			here := cardPlace{cluster: j.Cluster, node: j.Nodes[i].Name, index: i}
			for number, c := range j.Nodes[i].Cards {
				before := sum.Minor
				for _, p := range c.Parts {
					for _, pod := range p.Pods {
						sum.Minor, sum.Currency = sum.Minor+spent[pod].Minor, cmp.Or(sum.Currency, spent[pod].Currency)
					}
				}
				if of := sum.Minor - before; of > dearest {
					dearest, here.card = of, number
				}
			}
			if sum.Minor > most.Minor {
				at, most = here, sum
			}
		}
	}
	return at, most
}

// roundStep is how far the four colors of money reach each, in minor units: a round amount without a fraction, so that
// the fourth takes in the most.
func roundStep(most usage.Money) int64 {
	unit := int64(math.Pow10(usage.Digits(most.Currency)))
	for step := unit; ; step *= 10 {
		for _, tenths := range []int64{10, 15, 20, 25, 30, 40, 50, 60, 80} {
			if by := step * tenths / 10; by%unit == 0 && 4*by >= most.Minor {
				return by
			}
		}
	}
}

// moneySum is what went for nothing; at least so much where that of some is unknown.
func moneySum(say page.Words, sum usage.Money, s scheme, count []fleetmap.Tally) string {
	id := "fleet.map.money_sum"
	if count[s.color("unpriced")].Drawn > 0 {
		id = "fleet.map.money_sum_known"
	}
	return say.S(id, "Money", say.Money(sum))
}

// idleMoney is zero where the holders cannot be read.
func (w *Pages) idleMoney(k page.Call) idleMoney {
	m, _ := w.maps.money.Get(struct{}{}, k.Words.Now, page.ReadingEvery, func() (idleMoney, error) {
		held, err := w.HoldersSeen(k)
		return idleMoneyOf(held), err
	})
	return m
}

func idleMoneyOf(held []holders.Holder) idleMoney {
	all := idleMoney{spent: map[gpumetrics.Pod]usage.Money{}}
	for _, h := range held {
		if m, ok := h.Unused(); ok {
			if all.sum.Currency == "" || all.sum.Currency == m.Currency {
				all.sum.Minor, all.sum.Currency = all.sum.Minor+m.Minor, m.Currency
			}
			m.Minor /= int64(max(1, h.Size.Devices()))
			all.spent[gpumetrics.Pod{Namespace: h.Namespace, Name: h.Observed.Pod}] = m
			if m.Minor > all.most.Minor || all.most.Currency == "" {
				all.most = m
			}
		}
	}
	return all
}
