package fleetmap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// slicesOf is hardware.SlicesOf, which looks through a table, once for each model.
type slicesOf map[string]int

func (s slicesOf) of(model string) int {
	n, ok := s[model]
	if !ok {
		n = hardware.SlicesOf(model)
		s[model] = n
	}
	return n
}

// Bounds of what is drawn: no server has more cards, and nobody tells more shares of one card apart.
const (
	mostCards  = 64
	mostShares = 16
)

// poolLabels are what clouds and provisioners call a pool of nodes by.
var poolLabels = []string{"karpenter.sh/nodepool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup",
	"kubernetes.azure.com/agentpool", "node.kubernetes.io/pool"}

func poolOf(n *inventory.Node) string {
	for _, l := range poolLabels {
		if name := n.Labels[l]; name != "" {
			return name
		}
	}
	return ""
}

func modelOf(n *inventory.Node) string {
	if n.Model == "" && len(n.Devices) > 0 {
		return inventory.KindOfDevice(n.Devices[0]).Model
	}
	return inventory.ParseProduct(n.Model).Card
}

// unitOf is what a node hands out: of several things that of which it has the most.
func unitOf(n *inventory.Node) inventory.Unit {
	unit, most := inventory.Other, int64(0)
	for _, r := range n.Resources {
		k := inventory.KindOf(*n, r.Name)
		if k.Unit != inventory.Network && k.Unit != inventory.Quantity && max(r.Present(), 1) > most {
			unit, most = k.Unit, max(r.Present(), 1)
		}
	}
	if len(n.Devices) > 0 && unit == inventory.Other {
		return inventory.KindOfDevice(n.Devices[0]).Unit
	}
	return unit
}

// join is one node. What Prometheus says of its cards comes first, for it alone tells who is on which; cards that it
// does not speak of are those of the agent, of DRA drivers, or as many as the resources make.
func (s slicesOf) join(n *inventory.Node, unit inventory.Unit, measured *gpumetrics.Node,
	levels map[string]health.Level) Node {
	out := Node{Name: n.Name, Model: modelOf(n), Ready: n.Ready, Cordoned: n.Cordoned, Quarantined: n.Quarantined,
		Warnings: len(n.Warnings)}
	switch {
	case measured != nil && len(measured.Cards) > 0:
		out.Measured = true
		out.Cards = s.measuredCards(measured, n.Cards.Each)
	case len(n.Cards.Each) > 0:
		for _, c := range n.Cards.Each {
			out.Cards = append(out.Cards, s.agentCard(c))
		}
	case len(n.Devices) > 0:
		out.Cards = s.deviceCards(n.Devices)
	default:
		out.Cards = s.resourceCards(n)
		takenAway(n, out.Cards)
	}
	out.Cards = out.Cards[:min(len(out.Cards), mostCards)]
	if unit == inventory.Share {
		share(n, out.Cards)
	}
	place(n, out.Cards)
	for i := range out.Cards {
		c := &out.Cards[i]
		c.Model = cmp.Or(c.Model, out.Model)
		c.Quarantined = c.UUID != "" && slices.Contains(n.QuarantinedCards, c.UUID)
		if c.Level = health.Unknown; levels != nil {
			if l, ok := levels[c.UUID]; ok {
				c.Level = l
			}
		}
	}
	return out
}

// measuredCards are those of the exporter, with those beside them that only the agent names.
func (s slicesOf) measuredCards(f *gpumetrics.Node, agent []inventory.PhysicalCard) []Card {
	var cards []Card
	known := map[string]bool{}
	for _, u := range f.Cards {
		known[u.UUID] = true
		c := Card{UUID: u.UUID, Model: u.Model, Whole: 1}
		if len(u.Cells) > 1 || len(u.Cells) == 1 && u.Cells[0].Instance != "" {
			c.Whole = s.of(u.Model)
		}
		for _, cell := range u.Cells {
			c.Parts = append(c.Parts, Part{Profile: cell.Profile, Instance: cell.Instance, Use: cell.Engine,
				Size:   max(1, min(c.Whole, int(cell.Part*float64(c.Whole)+0.5))),
				Memory: cell.Memory, Total: cell.Total, Pods: slices.Clone(cell.Pods)})
		}
		if i := slices.IndexFunc(agent, func(a inventory.PhysicalCard) bool { return a.UUID == u.UUID }); i >= 0 {
			inPlace(&c, agent[i])
		}
		cards = append(cards, c.filled())
	}
	for _, a := range agent {
		if a.UUID == "" || !known[a.UUID] {
			cards = append(cards, s.agentCard(a))
		}
	}
	return cards
}

// inPlace puts the slices of a card in the order in which the agent sees them on it.
func inPlace(c *Card, agent inventory.PhysicalCard) {
	if len(agent.Slices) != len(c.Parts) {
		return
	}
	rest := slices.Clone(c.Parts)
	var ordered []Part
	for _, s := range agent.Slices {
		i := slices.IndexFunc(rest, func(p Part) bool { return p.Profile == s.Profile })
		if i < 0 {
			return
		}
		ordered = append(ordered, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	c.Parts = ordered
}

func (s slicesOf) agentCard(a inventory.PhysicalCard) Card {
	c := Card{UUID: a.UUID, Model: a.Model, Unhealthy: a.Lost, Whole: 1}
	if len(a.Slices) > 0 {
		c.Whole = s.of(a.Model)
	}
	for _, p := range a.Slices {
		c.Parts = append(c.Parts, Part{Profile: p.Profile, Size: max(1, hardware.ComputeSlices(p.Profile))})
	}
	return c.filled()
}

// filled gives a card without parts one that is all of it, and a cut one what is not cut.
func (c Card) filled() Card {
	used := 0
	for _, p := range c.Parts {
		used += p.Size
	}
	switch {
	case len(c.Parts) == 0:
		c.Parts = []Part{{Size: c.Whole}}
	case used < c.Whole:
		c.Parts = append(c.Parts, Part{Size: c.Whole - used, Gap: true})
	case used > c.Whole:
		c.Whole = used
	}
	return c
}

// deviceCards are those of DRA drivers: partitions that exclude each other are drawn where one of them is held.
func (s slicesOf) deviceCards(devices []inventory.Device) []Card {
	var cards []Card
	at := map[string]int{}
	for _, d := range devices {
		k := inventory.KindOfDevice(d)
		uuid := cmp.Or(d.CardOf(), d.Pool+"/"+d.Name)
		i, ok := at[uuid]
		if !ok {
			i, at[uuid] = len(cards), len(cards)
			cards = append(cards, Card{UUID: d.CardOf(), Model: k.Model, Whole: 1})
		}
		if !d.Held() || d.Gone {
			continue
		}
		p := Part{Size: 1, Profile: k.Profile, Share: d.Multiple}
		if k.Profile != "" {
			cards[i].Whole, p.Size = s.of(k.Model), max(1, hardware.ComputeSlices(k.Profile))
		}
		for _, h := range d.Holders {
			p.Pods = append(p.Pods, gpumetrics.Pod{Namespace: h.Namespace, Name: h.Pod})
		}
		if len(p.Pods) == 0 { // allocated, and the pod is still to come
			p.Pods = []gpumetrics.Pod{{Namespace: strings.Split(d.Claim, "/")[0]}}
		}
		cards[i].Parts = append(cards[i].Parts, p)
	}
	for i := range cards {
		if len(cards[i].Parts) > 1 && cards[i].Whole == 1 {
			cards[i].Whole = len(cards[i].Parts)
		}
		cards[i] = cards[i].filled()
	}
	return cards
}

// resourceCards are as many as the resources of a node make, where nobody names any.
func (s slicesOf) resourceCards(n *inventory.Node) []Card {
	model, count := inventory.ParseProduct(n.Model).Card, 0
	if n.Cards.Known {
		count = int(n.Cards.Count)
	}
	var parts []Part
	whole, units := s.of(model), 0
	for _, r := range n.Resources {
		k := inventory.KindOf(*n, r.Name)
		amount := int(min(r.Present(), mostCards*mostShares))
		switch k.Unit {
		case inventory.Slice:
			for range amount {
				size := max(1, hardware.ComputeSlices(k.Profile))
				parts, units = append(parts, Part{Profile: k.Profile, Size: size}), units+size
			}
		case inventory.Card, inventory.VirtualCard, inventory.VMDevice, inventory.Other:
			count = max(count, amount)
		case inventory.Share:
			count = max(count, amount/max(1, int(k.Replicas)), 1)
		case inventory.Quantity:
			count = max(count, 1)
		}
	}
	if len(parts) == 0 {
		cards := make([]Card, min(count, mostCards))
		for i := range cards {
			cards[i] = Card{Model: model, Whole: 1, Parts: []Part{{Size: 1}}}
		}
		return cards
	}
	return packed(parts, model, whole, max(count, (units+whole-1)/whole))
}

// takenAway marks as many cards as the device plugin says are ill, the last ones: nobody names any.
func takenAway(n *inventory.Node, cards []Card) {
	ill := int64(0)
	for _, r := range n.Resources {
		if inventory.KindOf(*n, r.Name).Unit == inventory.Card {
			ill += max(0, r.Present()-r.Allocatable)
		}
	}
	for i := len(cards) - int(min(ill, int64(len(cards)))); i < len(cards); i++ {
		cards[i].Unhealthy = true
	}
}

// packed spreads slices over cards, the largest first; what no card has room for begins another one.
func packed(parts []Part, model string, whole, count int) []Card {
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Size, a.Size) })
	cards := make([]Card, min(max(count, 1), mostCards))
	room := make([]int, len(cards))
	for i := range cards {
		cards[i], room[i] = Card{Model: model, Whole: whole}, whole
	}
	for _, p := range parts {
		at := 0
		for i := range room {
			if room[i] > room[at] {
				at = i
			}
		}
		if room[at] < p.Size && len(cards) < mostCards {
			at = len(cards)
			cards, room = append(cards, Card{Model: model, Whole: whole}), append(room, whole)
		}
		cards[at].Parts, room[at] = append(cards[at].Parts, p), room[at]-p.Size
	}
	for i := range cards {
		cards[i] = cards[i].filled()
	}
	return cards
}

// share divides the cards of a node into as many shares as it gives out; what the card does stands for each of them.
func share(n *inventory.Node, cards []Card) {
	parts, shares := 0, 0
	for _, r := range n.Resources {
		if inventory.KindOf(*n, r.Name).Unit == inventory.Share {
			shares += int(r.Present())
		}
	}
	for i := range cards {
		parts += len(cards[i].Parts)
	}
	each := min(mostShares, shares/max(1, parts))
	if each < 2 {
		return
	}
	for i := range cards {
		c := &cards[i]
		var all []Part
		for _, p := range c.Parts {
			if p.Gap {
				p.Size *= each
				all = append(all, p)
				continue
			}
			pods := p.Pods
			for k := range each {
				one := p
				one.Share, one.Pods = true, nil
				if k < len(pods) {
					one.Pods = pods[k : k+1]
				}
				if k == each-1 && len(pods) > each {
					one.Pods = pods[k:]
				}
				all = append(all, one)
			}
		}
		c.Parts, c.Whole = all, c.Whole*each
	}
}

// place puts the holders that the cluster knows of, and no series, where there is room for them.
func place(n *inventory.Node, cards []Card) {
	known := map[gpumetrics.Pod]int64{}
	for i := range cards {
		for _, p := range cards[i].Parts {
			for _, pod := range p.Pods {
				known[pod]++
			}
		}
	}
	for _, r := range n.Resources {
		k := inventory.KindOf(*n, r.Name)
		if k.Unit == inventory.Network || k.Unit == inventory.Quantity {
			continue
		}
		for _, h := range r.Holders {
			pod := gpumetrics.Pod{Namespace: h.Namespace, Name: h.Pod}
			left := min(h.Count, mostCards*mostShares) - known[pod]
			known[pod] = max(0, known[pod]-h.Count)
			for ; left > 0; left-- {
				p := free(cards, k.Profile)
				if p == nil {
					break
				}
				p.Pods, p.Assumed = []gpumetrics.Pod{pod}, true
			}
		}
	}
}

// free is a part that nobody holds, of the profile where there is one.
func free(cards []Card, profile string) *Part {
	var other *Part
	for i := range cards {
		for j := range cards[i].Parts {
			p := &cards[i].Parts[j]
			switch {
			case p.Held() || p.Gap:
			case profile == "" || p.Profile == profile:
				return p
			case other == nil && p.Profile == "":
				other = p
			}
		}
	}
	return other
}
