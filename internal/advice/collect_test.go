package advice_test

import (
	"context"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
)

type stretch struct {
	from, until time.Time
	step        time.Duration
}

// asked is a Source that keeps what it was asked for.
type asked struct{ stretches []stretch }

func (a *asked) WindowSummaries(_ context.Context, _ []string, from, until time.Time,
	step time.Duration) ([]gpumetrics.WindowSummary, error) {
	a.stretches = append(a.stretches, stretch{from, until, step})
	return nil, nil
}

// TestWhatACollectionCosts: whatever the rule and the time of day, a call has a bounded number of steps, and nothing of
// today is asked for that lies before the window.
func TestWhatACollectionCosts(t *testing.T) {
	for name, c := range map[string]struct {
		rule  advice.Rule
		clock string // UTC
		calls int
		today time.Duration // how much of today is asked for
	}{
		"as delivered": {advice.DefaultRule(), "23:59", 15, 23*time.Hour + 59*time.Minute},
		"a demonstration, late": {advice.Rule{Window: 14 * 24 * time.Hour, After: time.Minute}, "23:59", 15,
			1439 * time.Minute},
		"a window of half an hour": {advice.Rule{Window: 30 * time.Minute, After: time.Minute}, "12:00", 1,
			30 * time.Minute},
		"a short window after midnight": {advice.Rule{Window: 30 * time.Minute, After: time.Minute}, "00:10", 2,
			10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse("2006-01-02 15:04", "2026-03-05 "+c.clock)
			if err != nil {
				t.Fatal(err)
			}
			var source asked
			collector := advice.NewCollector(advice.CollectorOptions{
				Sources: map[string]advice.Source{"main": &source}, Namespaces: func() []string { return []string{"vision"} },
				Rule: c.rule, Now: func() time.Time { return now },
			})
			collector.Collect(t.Context())
			if len(source.stretches) != c.calls {
				t.Fatalf("want %d calls, got %d", c.calls, len(source.stretches))
			}
			for _, s := range source.stretches {
				if steps := s.until.Sub(s.from) / s.step; steps > 2880 {
					t.Errorf("%s to %s every %s are %d steps", s.from, s.until, s.step, steps)
				}
			}
			last := source.stretches[len(source.stretches)-1]
			if got := last.until.Sub(last.from); got != c.today || !last.until.Equal(now) {
				t.Errorf("want %s until %s, got %s until %s", c.today, now, got, last.until)
			}
		})
	}
}
