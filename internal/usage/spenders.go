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
	type spender struct {
		minor int64
		group *Sum
	}
	var dearest []spender
	for i := range groups {
		if minor := in(groups[i].Cost); minor > 0 && all > 0 {
			dearest = append(dearest, spender{minor, &groups[i]})
		}
	}
	slices.SortStableFunc(dearest, func(a, b spender) int {
		if a.minor != b.minor {
			return cmp.Compare(b.minor, a.minor)
		}
		return strings.Compare(a.group.Key, b.group.Key)
	})
	var list []Spender
	for _, d := range dearest[:min(len(dearest), most)] {
		list = append(list, Spender{*d.group, Money{Minor: d.minor, Currency: currency}, float64(d.minor) / float64(all)})
	}
	return list
}
