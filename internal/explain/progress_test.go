package explain

import (
	"math"
	"testing"
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
