package usage

import (
	"cmp"
	"slices"
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
	in := func(costs []Money) int64 {
		for _, m := range costs {
			if m.Currency == currency {
				return m.Minor
			}
		}
		return 0
	}
	var list []Spender
	all := in(s.Total().Cost)
	for _, g := range s.Grouped(by) {
		if minor := in(g.Cost); minor > 0 && all > 0 {
			list = append(list, Spender{g, Money{Minor: minor, Currency: currency}, float64(minor) / float64(all)})
		}
	}
	slices.SortStableFunc(list, func(a, b Spender) int {
		return cmp.Or(cmp.Compare(b.Cost.Minor, a.Cost.Minor), strings.Compare(a.Sum.Key, b.Sum.Key))
	})
	return list[:min(len(list), most)]
}
