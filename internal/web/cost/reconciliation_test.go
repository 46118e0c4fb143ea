package cost

import (
	"slices"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// TestGapIsSaidWithItsShare: more or less was charged than was held, or as much; its share is of what was held.
func TestGapIsSaidWithItsShare(t *testing.T) {
	say := page.Words{Localizer: i18n.MustLoad().For("en")}
	for want, charged := range map[string]int64{
		"Charged 20.0 h more than allocated (5.0 %)": 420,
		"Charged 10.0 h less than allocated (2.5 %)": 390,
		"Charged as allocated":                       400,
	} {
		m := usage.ReconciledDay{Held: usage.CardHours(400), Charged: usage.CardHours(charged)}
		if got := gap(say, m); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

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
