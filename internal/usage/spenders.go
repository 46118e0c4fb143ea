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
	groups, all := s.Grouped(by), in(s.Total().Cost)
	var dearest []int // in groups
	for i := range groups {
		if in(groups[i].Cost) > 0 && all > 0 {
			dearest = append(dearest, i)
		}
	}
	slices.SortStableFunc(dearest, func(a, b int) int {
		return cmp.Or(cmp.Compare(in(groups[b].Cost), in(groups[a].Cost)), strings.Compare(groups[a].Key, groups[b].Key))
	})
	var list []Spender
	for _, i := range dearest[:min(len(dearest), most)] {
		minor := in(groups[i].Cost)
		list = append(list, Spender{groups[i], Money{Minor: minor, Currency: currency}, float64(minor) / float64(all)})
	}
	return list
}
