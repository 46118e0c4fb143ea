package inventory

import (
	"math"
	"strings"
)

// cuts is what a node of NVIDIA offers of its cards in both forms: whole, and in slices (or shares of slices).
type cuts struct {
	cards  int64   // that there are
	whole  int64   // that are offered as they are
	sliced float64 // cards' worth of slices
	held   float64 // cards' worth of what pods hold of both
}

// cutsOf is not ok where the cards cannot be told. The cards behind slices are told by compute slices, of which a card
// that is cut by memory may leave some over: less is called doubtful than is.
func cutsOf(n Node) (c cuts, ok bool) {
	if !n.Cards.Known || n.Cards.Count <= 0 || otherSystem(n) {
		return cuts{}, false
	}
	c.cards = n.Cards.Count
	for _, r := range n.Resources {
		switch part, whole, known := partOfCard(n, r.Name); {
		case !known:
		case whole:
			c.whole += r.Allocatable
			c.held += float64(min(r.held(), r.Allocatable))
		default:
			c.sliced += part * float64(r.Allocatable)
			c.held += part * float64(min(r.held(), r.Allocatable))
		}
	}
	return c, true
}

// partOfCard is what one of a resource is of a card; whole where it is all of it.
func partOfCard(n Node, resource string) (part float64, whole, known bool) {
	if !strings.HasPrefix(resource, "nvidia.com/") {
		return 0, false, false
	}
	k := KindOf(n, resource)
	if k.Unit == Card {
		return 1, true, true
	}
	of, all, told := sliceOf(k.Model, k.Profile)
	if !told || k.Unit != Slice && (k.Unit != Share || k.Replicas < 1) {
		return 0, false, false
	}
	return float64(of) / float64(all*max(1, k.Replicas)), false, true
}

// twice reports whether whole cards and slices are offered of more cards than there are: the device plugin serves the
// layouts before and after a cut at once, and gives out cards that somebody has slices of.
func (c cuts) twice() bool {
	return c.whole > 0 && c.sliced > 0 && c.whole+int64(math.Ceil(c.sliced-rounding)) > c.cards
}

// rounding is far below a part of a card and far above the error of adding thousands of them.
const rounding = 1e-6

// withhold keeps a node from calling more free than it has cards: what is free in either form fits on the cards that
// nobody holds, slices first, for they were made.
func withhold(n *Node) {
	c, ok := cutsOf(*n)
	if !ok || !c.twice() {
		return
	}
	left := max(0, float64(c.cards)-math.Ceil(c.held-rounding))
	give := func(wanted bool) {
		for i, r := range n.Resources {
			part, whole, known := partOfCard(*n, r.Name)
			if !known || whole != wanted {
				continue
			}
			free := max(0, r.Allocatable-r.held())
			could := min(free, int64(left/part+rounding))
			n.Resources[i].Withheld = free - could
			left -= float64(could) * part
		}
	}
	give(false)
	left = math.Floor(left + rounding)
	give(true)
}
