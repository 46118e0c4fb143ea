package cost

import (
	"math"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

func TestShadesOfUse(t *testing.T) {
	for use, want := range map[float64]usageview.Shade{0: usageview.IdleHour, 4.9: usageview.IdleHour,
		5: usageview.Quarters[0], 24.9: usageview.Quarters[0], 25: usageview.Quarters[1], 74: usageview.Quarters[2],
		75: usageview.Quarters[3], 100: usageview.Quarters[3]} {
		if got := heatShade(use); got != want {
			t.Errorf("%g %%: want %s, got %s", use, want, got)
		}
	}
	if got := heatShade(math.NaN()); got != usageview.Unmeasured {
		t.Errorf("what nobody measured is unknown and not idle, got %s", got)
	}
}

// TestHeatWeeks: an hour stands where the clock of the zone has it; what nobody measured is unknown, also of a model
// that came later, and does not count in the mean.
func TestHeatWeeks(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 26, 13, 30, 0, 0, zone)
	days := lastDays(now, zone)
	if len(days) != heatDays || !days[6].Until.Equal(now) || days[5].Length() != 25*time.Hour ||
		!days[0].From.Equal(time.Date(2026, 10, 20, 0, 0, 0, 0, zone)) {
		t.Fatalf("want seven days up to now, got %v", days)
	}
	uses := make([]gpumetrics.HourlyUse, heatDays)
	for d := range uses {
		uses[d].From = days[d].From
	}
	hours := make([]float64, 25) // of the day on which the clock goes back
	for h := range hours {
		hours[h] = math.NaN()
	}
	hours[0], hours[24] = 10, 30
	uses[5].Models = []gpumetrics.ModelUse{{Model: "H200", Hours: hours}}
	uses[6].Models = []gpumetrics.ModelUse{{Model: "A100", Hours: []float64{0}}}
	weeks := heatWeeks(uses, zone)
	if len(weeks) != 2 || weeks[0].Model != "A100" || weeks[1].Model != "H200" {
		t.Fatalf("want two models by name, got %v", weeks)
	}
	h200 := weeks[1]
	if h200.Use[5][0] != 10 || h200.Use[5][23] != 30 || !math.IsNaN(h200.Use[5][1]) || !math.IsNaN(h200.Use[0][0]) {
		t.Errorf("want the first and the last hour of the long day, got %v", h200.Use)
	}
	if mean, known := h200.mean(); mean != 20 || !known {
		t.Errorf("want the mean of what is known, got %g", mean)
	}
	if _, known := unknownWeek("").mean(); known {
		t.Error("of nothing there is no mean")
	}
}
