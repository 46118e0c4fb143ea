package request

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Alternative is a size that would start now in place of the one asked for, with what is weaker about it.
type Alternative struct {
	Offer  Offer
	Weaker []Weaker // what it gives less of; nothing for one that is as good
}

// Weaker is a property in which an alternative size offers less.
type Weaker string

// The properties.
const (
	LessMemory    Weaker = "memory"    // GPU memory
	LessIsolation Weaker = "isolation" // from others on the same card
)

// protection orders the levels of isolation, the strongest last.
var protection = []catalog.Isolation{catalog.IsolationUnknown, catalog.IsolationNone, catalog.IsolationMemory,
	catalog.IsolationHard}

// weaker tells what a size has less of than the one that was asked for.
func weaker(size, asked catalog.Size) (list []Weaker) {
	if size.Accelerator.MemoryGiB < asked.Accelerator.MemoryGiB {
		list = append(list, LessMemory)
	}
	if slices.Index(protection, size.Isolation) < slices.Index(protection, asked.Isolation) {
		list = append(list, LessIsolation)
	}
	return list
}

// AlternativeTo is a size that would start now where that of the spec would not: one with at least its GPU memory and
// isolation, else one that lacks the least, isolation being missed most; of these the nearest by GPU memory, then by
// price. For an endpoint only sizes with room for its model count. Not ok where there is none, or none may be seen.
func (s *Offers) AlternativeTo(ctx context.Context, a identity.Actor, w Spec) (Alternative, bool) {
	asked := w.Size
	if asked.CPUOnly() || asked.Name == "" {
		return Alternative{}, false
	}
	offers, err := s.List(ctx, a, w.Tenant)
	if err != nil {
		return Alternative{}, false
	}
	var list []Alternative
	for _, o := range offers {
		if o.Size.Name == asked.Name {
			asked = o.Size // with the isolation that its nodes have
		}
	}
	for _, o := range offers {
		if o.Size.Name != asked.Name && !o.Size.CPUOnly() && o.StartsNow() && hasRoom(w, o.Size) {
			list = append(list, Alternative{o, weaker(o.Size, asked)})
		}
	}
	if len(list) == 0 {
		return Alternative{}, false
	}
	return slices.MinFunc(list, func(x, y Alternative) int { return nearer(x, y, asked) }), true
}

// hasRoom reports whether a size has room for the model of a spec; true where nothing can be said.
func hasRoom(w Spec, size catalog.Size) bool {
	w.Size = size
	fit, ok := fitOf(w)
	return !ok || fit.Fits()
}

// nearer compares two alternatives of a size.
func nearer(x, y Alternative, asked catalog.Size) int {
	lacks := func(a Alternative) (n int) {
		for _, w := range a.Weaker {
			if n++; w == LessIsolation {
				n++
			}
		}
		return n
	}
	gap := func(a Alternative) float64 {
		return math.Abs(a.Offer.Size.Accelerator.MemoryGiB - asked.Accelerator.MemoryGiB)
	}
	return cmp.Or(cmp.Compare(lacks(x), lacks(y)), cmp.Compare(gap(x), gap(y)),
		cmp.Compare(x.Offer.Size.PricePerHour.Minor, y.Offer.Size.PricePerHour.Minor))
}
