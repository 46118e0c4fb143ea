package fleetmap

import (
	"hash/fnv"
	"slices"
	"strconv"
)

// Color is a place in the caller's list of what parts can be.
type Color = uint8

// Rule says what a part is.
type Rule func(n *Node, c *Card, p *Part) Color

// Paint is a color for each part of a map, in the order of Card.First.
type Paint struct {
	Version string // another one for another structure or other colors
	Colors  []Color
}

// Paint applies a rule to every part.
func (m *Map) Paint(of Rule) Paint {
	p := Paint{Colors: make([]Color, 0, m.Parts)}
	for i := range m.Nodes {
		n := &m.Nodes[i]
		for j := range n.Cards {
			c := &n.Cards[j]
			for k := range c.Parts {
				p.Colors = append(p.Colors, of(n, c, &c.Parts[k]))
			}
		}
	}
	sum := fnv.New64a()
	_, _ = sum.Write(p.Colors)
	p.Version = strconv.FormatUint(m.Structure, 36) + "." + strconv.FormatUint(sum.Sum64(), 36)
	return p
}

// Of are the colors of a card's parts.
func (p Paint) Of(c *Card) []Color { return p.Colors[c.First : c.First+len(c.Parts)] }

// Change is a card whose parts look different.
type Change struct{ Node, Card int }

// Changes are the cards of some nodes that look different from before. Both paints must be of the same structure.
func (m *Map) Changes(before, now Paint, nodes []int) []Change {
	var all []Change
	for _, i := range nodes {
		for j := range m.Nodes[i].Cards {
			if c := &m.Nodes[i].Cards[j]; !slices.Equal(before.Of(c), now.Of(c)) {
				all = append(all, Change{i, j})
			}
		}
	}
	return all
}

// Tally is how much there is of one color.
type Tally struct {
	Drawn int     // cards and slices
	GPUs  float64 // the same weighed by cards: a slice is its part of one
}

// Count is how much there is of each color on some nodes.
func (m *Map) Count(p Paint, nodes []int, colors int) []Tally {
	count := make([]Tally, colors)
	for _, i := range nodes {
		for j := range m.Nodes[i].Cards {
			c := &m.Nodes[i].Cards[j]
			for k, color := range p.Of(c) {
				count[color].Drawn++
				count[color].GPUs += float64(c.Parts[k].Size) / float64(max(1, c.Whole))
			}
		}
	}
	return count
}
