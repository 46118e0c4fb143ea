package budget

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// TestBurndown: what is left falls by what each day cost, goes on at the pace of the last seven days, and says the day
// on which nothing is left. Another team's cost does not count.
func TestBurndown(t *testing.T) {
	whole := usage.Span{From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 12, 1, 0, 0, 0, 0,
		time.UTC)}
	month := func(until time.Time, perDay int64) []usage.DailyCost {
		var days []usage.DailyCost
		for _, day := range whole.To(until).Days(time.UTC) {
			cost := int64(float64(perDay) * day.Length().Hours() / 24)
			days = append(days, usage.DailyCost{Day: day, Cost: map[string]usage.Money{
				"vision": {Minor: cost, Currency: "EUR"}, "speech": {Minor: 777, Currency: "EUR"}}})
		}
		return days
	}
	tenth := time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		amount, perDay int64
		until          time.Time
		left, end      int64 // now, and when the month ends
		usedUp         string
	}{
		"lasts":              {100_000, 1000, tenth, 90_500, 70_000, ""},
		"used up in time":    {20_000, 1000, tenth, 10_500, -10_000, "2026-11-20"},
		"used up today":      {9_800, 1000, tenth, 300, -20_200, "2026-11-10"},
		"used up already":    {5_000, 1000, tenth, -4_500, -25_000, ""},
		"nothing is used":    {5_000, 0, tenth, 5_000, 5_000, ""},
		"the month is over":  {50_000, 1000, whole.Until, 20_000, 20_000, ""},
		"an hour of a month": {50_000, 2400, whole.From.Add(time.Hour), 49_900, 49_900, ""}, // no pace is known
	} {
		t.Run(name, func(t *testing.T) {
			days := month(c.until, c.perDay)
			d := NewBurndown("vision", c.amount, days, whole, time.UTC)
			end, usedUp := d.Left[len(d.Left)-1], ""
			if end != c.left {
				t.Errorf("want %d left now, got %d", c.left, end)
			}
			if len(d.Ahead) > 0 {
				end = d.Ahead[len(d.Ahead)-1]
				if got := len(d.Left) + len(d.Ahead); got != 30 {
					t.Errorf("want a point for each day, got %d", got)
				}
			}
			if !d.UsedUp.IsZero() {
				usedUp = d.UsedUp.Format(time.DateOnly)
			}
			if diff := cmp.Diff([]any{c.end, c.usedUp}, []any{end, usedUp}); diff != "" {
				t.Error(diff)
			}
		})
	}
	if d := NewBurndown("vision", 100, nil, whole, time.UTC); d.Left != nil || d.Ahead != nil {
		t.Errorf("want nothing of a month that has not begun, got %+v", d)
	}
}
