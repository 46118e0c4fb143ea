package inventory

import (
	"maps"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Marks are what administrators of a cluster have called bad: nodes, and cards by UUID with the node that they were on
// then.
type Marks struct {
	Nodes map[string]bool
	Cards map[string]string
}

func (m Marks) equal(o Marks) bool {
	return maps.Equal(m.Nodes, o.Nodes) && maps.Equal(m.Cards, o.Cards)
}

// SetMarks takes what is marked as bad now.
func (b *Builder) SetMarks(m Marks) {
	if b.marks.equal(m) {
		return
	}
	b.marks = Marks{maps.Clone(m.Nodes), maps.Clone(m.Cards)}
	for _, s := range b.nodes {
		s.fresh = false
	}
}

// Usable reports whether a new pod may be given anything of the node.
func (n Node) Usable() bool { return n.Ready && !n.Cordoned && !n.Bad }

// Card gives a card of the node as its agent sees it.
func (n Node) Card(uuid string) (PhysicalCard, bool) {
	i := slices.IndexFunc(n.Cards.Each, func(c PhysicalCard) bool { return c.UUID == uuid })
	if i < 0 {
		return PhysicalCard{}, false
	}
	return n.Cards.Each[i], true
}

// CardOf is the UUID of the card that a device is, or is a part of; "" where its driver does not say.
func (d Device) CardOf() string {
	if parent := d.text("parentUUID"); parent != "" {
		return parent
	}
	return d.text("uuid")
}

// marked puts the marks into a node. A node all of whose cards are bad is bad itself.
func marked(n Node, m Marks) Node {
	for uuid, was := range m.Cards {
		if n.hasCard(uuid, was) {
			n.BadCards = append(n.BadCards, uuid)
		}
	}
	slices.Sort(n.BadCards)
	all := n.Cards.Known && n.Cards.Count > 0 && int64(len(n.BadCards)) >= n.Cards.Count
	switch n.Bad = m.Nodes[n.Name] || all; {
	case m.Nodes[n.Name]:
		n.Odd = append(n.Odd, i18n.T("inventory.marked_node"))
	case all:
		n.Odd = append(n.Odd, i18n.T("inventory.marked_all"))
	case len(n.BadCards) > 0:
		n.Odd = append(n.Odd, i18n.T("inventory.marked_cards", "Count", len(n.BadCards)))
	}
	if len(n.BadCards) == 0 {
		return n
	}
	n.Devices = slices.Clone(n.Devices) // a pool shares them with others
	for i, d := range n.Devices {
		n.Devices[i].Tainted = d.Tainted || slices.Contains(n.BadCards, d.CardOf())
	}
	for i := range n.Resources {
		n.Resources[i].Bad = n.badOf(n.Resources[i])
	}
	return n
}

// hasCard: where nobody names the node's cards, a card is believed to be where it was when it was marked.
func (n Node) hasCard(uuid, was string) bool {
	if _, ok := n.Card(uuid); ok {
		return true
	}
	named := slices.ContainsFunc(n.Cards.Each, func(c PhysicalCard) bool { return c.UUID != "" })
	for _, d := range n.Devices {
		if d.CardOf() == uuid {
			return true
		}
		named = named || d.CardOf() != ""
	}
	return !named && was == n.Name
}

// badOf is how many units of a resource lie on bad cards: the slices that the agent sees there, else the cards' share
// of all. Which unit a pod holds cannot be told, so that these count as not held: rather one too few is called free.
func (n Node) badOf(r Resource) int64 {
	k, there := KindOf(n, r.Name), r.there()
	if k.Unit == Card {
		return min(there, int64(len(n.BadCards)))
	}
	if k.Unit == Slice {
		if bad, ok := n.badSlices(k.Profile); ok {
			return min(there, bad)
		}
	}
	if !n.Cards.Known || n.Cards.Count <= 0 {
		return 0
	}
	return min(there, (there*int64(len(n.BadCards))+n.Cards.Count-1)/n.Cards.Count)
}

func (n Node) badSlices(profile string) (bad int64, ok bool) {
	for _, uuid := range n.BadCards {
		c, seen := n.Card(uuid)
		if !seen || c.Lost {
			return 0, false
		}
		for _, s := range c.Slices {
			if s.Profile == profile {
				bad++
			}
		}
	}
	return bad, true
}
