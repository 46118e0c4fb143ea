package inventory

import (
	"maps"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Quarantine are what administrators of a cluster have quarantined: nodes, and cards by UUID with the node that they
// were on then.
type Quarantine struct {
	Nodes map[string]bool
	Cards map[string]string
}

func (m Quarantine) equal(o Quarantine) bool {
	return maps.Equal(m.Nodes, o.Nodes) && maps.Equal(m.Cards, o.Cards)
}

// SetQuarantine replaces what is quarantined.
func (b *Builder) SetQuarantine(m Quarantine) {
	if b.quarantine.equal(m) {
		return
	}
	b.quarantine = Quarantine{maps.Clone(m.Nodes), maps.Clone(m.Cards)}
	for _, s := range b.nodes {
		s.fresh = false
	}
}

// Usable reports whether a new pod may be given anything of the node.
func (n Node) Usable() bool { return n.Ready && !n.Cordoned && !n.Quarantined }

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

// withQuarantine sets what is quarantined of a node. A node all of whose cards are quarantined is quarantined.
func withQuarantine(n Node, m Quarantine) Node {
	for uuid, was := range m.Cards {
		if n.hasCard(uuid, was) {
			n.QuarantinedCards = append(n.QuarantinedCards, uuid)
		}
	}
	slices.Sort(n.QuarantinedCards)
	all := n.Cards.Known && n.Cards.Count > 0 && int64(len(n.QuarantinedCards)) >= n.Cards.Count
	switch n.Quarantined = m.Nodes[n.Name] || all; {
	case m.Nodes[n.Name]:
		n.Warnings = append(n.Warnings, i18n.T("inventory.quarantined_node"))
	case all:
		n.Warnings = append(n.Warnings, i18n.T("inventory.quarantined_all"))
	case len(n.QuarantinedCards) > 0:
		n.Warnings = append(n.Warnings, i18n.T("inventory.quarantined_cards", "Count", len(n.QuarantinedCards)))
	}
	if len(n.QuarantinedCards) == 0 {
		return n
	}
	n.Devices = slices.Clone(n.Devices) // a pool shares them with others
	for i, d := range n.Devices {
		n.Devices[i].Tainted = d.Tainted || slices.Contains(n.QuarantinedCards, d.CardOf())
	}
	for i := range n.Resources {
		n.Resources[i].Quarantined = n.quarantinedOf(n.Resources[i])
	}
	return n
}

// hasCard: where nobody names the node's cards, a card is believed to be where it was when it was quarantined.
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

// quarantinedOf is how many units of a resource lie on quarantined cards: the slices that the agent sees there, else
// the cards' share of all. Which unit a pod holds cannot be told, so that these count as not held: rather one too few
// is called free.
func (n Node) quarantinedOf(r Resource) int64 {
	k, there := KindOf(n, r.Name), r.there()
	if k.Unit == Card {
		return min(there, int64(len(n.QuarantinedCards)))
	}
	if k.Unit == Slice {
		if bad, ok := n.quarantinedSlices(k.Profile); ok {
			return min(there, bad)
		}
	}
	if !n.Cards.Known || n.Cards.Count <= 0 {
		return 0
	}
	return min(there, (there*int64(len(n.QuarantinedCards))+n.Cards.Count-1)/n.Cards.Count)
}

func (n Node) quarantinedSlices(profile string) (bad int64, ok bool) {
	for _, uuid := range n.QuarantinedCards {
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
