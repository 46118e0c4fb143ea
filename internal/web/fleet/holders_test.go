package fleet

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// TestWhoIdlesMostHasMoreThanHalf of what all cost for nothing, in one currency.
func TestWhoIdlesMostHasMoreThanHalf(t *testing.T) {
	t.Parallel()
	row := func(idle int64, currency string) *held {
		return &held{idle: usage.Money{Minor: idle, Currency: currency}, money: usage.Money{Minor: 100, Currency: currency}}
	}
	for name, c := range map[string]struct {
		rows []*held
		want int // its place; -1 for none
	}{
		"none":              {nil, -1},
		"one alone":         {[]*held{row(9, "EUR")}, -1},
		"the second":        {[]*held{row(1, "EUR"), row(7, "EUR"), row(2, "EUR")}, 1},
		"half":              {[]*held{row(5, "EUR"), row(5, "EUR")}, -1},
		"nothing idles":     {[]*held{row(0, "EUR"), row(0, "EUR")}, -1},
		"several":           {[]*held{row(1, "EUR"), row(7, "USD")}, -1},
		"the first of many": {[]*held{row(8, "EUR"), row(7, "EUR")}, 0},
	} {
		got := mainIdler(c.rows)
		if c.want < 0 {
			if got != nil {
				t.Errorf("%s: want none, got %v", name, got.idle)
			}
			continue
		}
		if got != c.rows[c.want] {
			t.Errorf("%s: want row %d, got %v", name, c.want, got)
		}
	}
}
