package cost

import (
	"slices"
	"testing"
)

// TestSharesAddUpTo100: rounded each by itself, a sixth comes to 17 percent, and six of them to 102.
func TestSharesAddUpTo100(t *testing.T) {
	for _, c := range []struct {
		parts []int64
		want  []int
	}{
		{[]int64{4047, 468, 468, 480, 468, 3909}, []int{41, 5, 5, 5, 5, 39}},
		{[]int64{1, 1, 1, 1, 1, 1}, []int{17, 17, 17, 17, 16, 16}},
		{[]int64{1, 0, 999}, []int{0, 0, 100}},
		{[]int64{0, 0}, []int{0, 0}},
		{nil, []int{}},
	} {
		if got := wholePercents(c.parts); !slices.Equal(got, c.want) {
			t.Errorf("%v: want %v, got %v", c.parts, c.want, got)
		}
	}
}
