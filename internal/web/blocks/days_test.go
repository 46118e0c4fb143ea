package blocks

import (
	"slices"
	"testing"
)

// TestDaysOfAMonthAreNamedByWeek: under the chart of a month stand the 1st, 8th, 15th, 22nd and 29th, and never more
// days than have room.
func TestDaysOfAMonthAreNamedByWeek(t *testing.T) {
	for _, days := range []int{29, 30, 31} {
		if got := NamedDays(days); !slices.Equal(got, []int{0, 7, 14, 21, 28}) {
			t.Errorf("%d days: want each seventh, got %v", days, got)
		}
	}
	for days := 1; days < 400; days++ {
		got := NamedDays(days)
		if len(got) == 0 || got[0] != 0 || len(got) > 7 || got[len(got)-1] >= days {
			t.Fatalf("%d days: got %v", days, got)
		}
	}
}
