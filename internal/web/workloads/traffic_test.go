package workloads

import (
	"math"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/traffic"
)

// TestAChartOfTrafficHasItsWholeSpan, whether or not the step under way is known, so that its times are round.
func TestAChartOfTrafficHasItsWholeSpan(t *testing.T) {
	t.Parallel()
	span := traffic.SpanOf("24h")
	for _, now := range []time.Time{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 21, 12, 14, 0, 0, time.UTC)} {
		f := traffic.Figures{Span: span}
		var values []float64
		for at := span.Since(now); at.Add(time.Minute).Before(now); at = at.Add(span.Step) {
			f.Points, values = append(f.Points, traffic.Point{At: at}), append(values, 1)
		}
		from, whole := wholeSpan(f, values)
		if want := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC); !from.Equal(want) {
			t.Errorf("at %s: want it from %s, got %s", now, want, from)
		}
		if len(whole) != 97 || !math.IsNaN(whole[0]) || whole[1] != 1 || whole[95] != 1 {
			t.Errorf("at %s: want 97 values, the first unknown, got %d: %v", now, len(whole), whole)
		}
		if known := len(values) == 96; math.IsNaN(whole[96]) == known {
			t.Errorf("at %s: the step under way is known: %t, got %v", now, known, whole[96])
		}
	}
}
