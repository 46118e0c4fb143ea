package usage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Spender is one group of a statement with what it cost in a currency.
type Spender struct {
	Sum   Sum
	Cost  Money
	Share float64 // of what everything cost in that currency, 0..1
}

// Spenders are the groups of a statement that cost the most in a currency, dearest first, at most so many. What cost
// nothing is none of them.
func (s Statement) Spenders(by, currency string, most int) []Spender {
	all := minorIn(s.Total().Cost, currency)
	if all <= 0 {
		return nil
	}
	groups := s.Grouped(by)
	first := s.Known.of(strings.Join([]string{"dearest", strconv.Itoa(most), by, currency}, " "), func() []Sum {
		return dearestOf(groups, currency, most)
	})
	list := make([]Spender, len(first))
	for i, g := range first {
		minor := minorIn(g.Cost, currency)
		list[i] = Spender{g, Money{Minor: minor, Currency: currency}, float64(minor) / float64(all)}
	}
	return list
}

// dearestOf are so many groups, or fewer where others cost nothing.
func dearestOf(groups []Sum, currency string, most int) []Sum {
	cost := func(g Sum) int64 { return minorIn(g.Cost, currency) }
	groups = slices.DeleteFunc(slices.Clone(groups), func(g Sum) bool { return cost(g) <= 0 })
	slices.SortStableFunc(groups, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(cost(b), cost(a)), strings.Compare(a.Key, b.Key))
	})
	return slices.Clone(groups[:min(len(groups), most)])
}

// minorIn is the amount in a currency, in its smallest unit.
func minorIn(amounts []Money, currency string) int64 {
	for _, m := range amounts {
		if m.Currency == currency {
			return m.Minor
		}
	}
	return 0
}
