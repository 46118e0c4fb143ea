package explain

import (
	"math"
	"testing"
	"time"
)

// TestProgressIsWhatTheNewestLineCounts: as training loops and tqdm write it.
func TestProgressIsWhatTheNewestLineCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines []string
		share float64
		units []string
	}{
		{[]string{"epoch 1/4 loss 0.9", "saved checkpoint"}, .25, []string{"epoch"}},
		{[]string{"epoch 1/4", "epoch 3/3  step 118/780  loss 0.573"}, (2 + 118.0/780) / 3, []string{"epoch", "step"}},
		{[]string{"Epoch [2/10], Step [50/100], Loss: 0.61"}, .15, []string{"epoch", "step"}},
		{[]string{"epoch 2/3 step 0/780"}, 1.0 / 3, []string{"epoch", "step"}},
		{[]string{"iter 30 of 60"}, .5, []string{"iteration"}},
		{[]string{" 10%|#  | 78/780", "  9%|# | 70/780\r 72%|#######   | 560/780 [01:10<00:28, 7.9it/s]"}, .72, nil},
		{[]string{"Epoch 0/5"}, 0, []string{"epoch"}},
	} {
		got, ok := ProgressOf(c.lines)
		if !ok || math.Abs(got.Share-c.share) > 1e-9 || len(got.Counters) != len(c.units) {
			t.Errorf("%q: want %.3f of %v, got %+v", c.lines, c.share, c.units, got)
			continue
		}
		for i, unit := range c.units {
			if got.Counters[i].Unit != unit {
				t.Errorf("%q: want %v, got %+v", c.lines, c.units, got)
			}
		}
	}
}

// TestWhatIsLeftIsAtThisPace, and nothing is said at the very beginning and at the end.
func TestWhatIsLeftIsAtThisPace(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]time.Duration{.25: 30 * time.Minute, .5: 10 * time.Minute, .01: 0, 1: 0, 0: 0} {
		if got := (Progress{Share: share}).Left(10 * time.Minute); got != want {
			t.Errorf("%v done: want %s, got %s", share, want, got)
		}
	}
	if got := (Progress{Share: .5}).Left(-time.Minute); got != 0 {
		t.Errorf("want nothing of a clock that is behind, got %s", got)
	}
}

// TestWhatCountsNothingIsNoProgress: a download, a ratio, a count beyond its total.
func TestWhatCountsNothingIsNoProgress(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "loss 0.573", "Loading checkpoint shards: 100%|####| 4/4", "GET /v1/models 200 1/2",
		"step 9/3", "step 0/0", "250%|##", "timestep 3/4", "epoch 4"} {
		if got, ok := ProgressOf([]string{line}); ok {
			t.Errorf("%q: want nothing, got %+v", line, got)
		}
	}
}
