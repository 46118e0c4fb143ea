package cost

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// TestGapIsSaidWithItsShare: more or less was charged than was held, or as much; its share is of what was held.
func TestGapIsSaidWithItsShare(t *testing.T) {
	say := page.Words{Localizer: i18n.MustLoad().For("en")}
	for charged, want := range map[int64]string{
		420: "5.0 % 20.0 h more than allocated Within the 5 % tolerance: nothing to do",
		421: "5.2 % 21.0 h more than allocated Above the 5 % tolerance: look into the largest cause",
		378: "5.5 % 22.0 h less than allocated Above the 5 % tolerance: look into the largest cause",
		400: "0.0 % as allocated Within the 5 % tolerance: nothing to do",
	} {
		m := usage.ReconciledDay{Held: usage.CardHours(400), Charged: usage.CardHours(charged)}
		g := gap(say, m)
		if got := strings.Join([]string{g.Share, g.Words, g.Verdict}, " "); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
		if g.Within != m.WithinTolerance() {
			t.Errorf("%d: want the verdict of usage", charged)
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
