package fleet

import (
	"slices"
	"testing"

	"github.com/gpu-portal/gpu-portal/views/fleet"
)

// TestALineStandsBeforeWhatIsNotMeasured: once, before the first that is shown, and never at the beginning.
func TestALineStandsBeforeWhatIsNotMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		shown, hidden []string
		want          string
	}{
		"utilization":            {shown: []string{"free", "1", "unknown", "closed"}, want: "unknown"},
		"the first is hidden":    {shown: []string{"free", "closed", "broken"}, hidden: []string{"unknown"}, want: "closed"},
		"money":                  {shown: []string{"m1", "unpriced", "free", "out"}, want: "unpriced"},
		"nothing is measured":    {shown: []string{"unpriced", "free"}, hidden: []string{"m1"}},
		"health is of one kind":  {shown: []string{"fine", "broken", "closed"}},
		"all of it is a measure": {shown: []string{"free", "1", "2"}},
	} {
		order := []string{"fine", "free", "m1", "1", "2", "unknown", "unpriced", "closed", "broken", "out"}
		if slices.Contains(c.shown, "m1") || slices.Contains(c.hidden, "m1") {
			order = []string{"m1", "unpriced", "free", "out"}
		}
		var items []fleet.LegendItemModel
		for _, class := range order {
			if hidden := slices.Contains(c.hidden, class); hidden || slices.Contains(c.shown, class) {
				items = append(items, fleet.LegendItemModel{Class: class, None: hidden})
			}
		}
		standApart(items)
		got := ""
		for _, l := range items {
			if l.Apart {
				got += l.Class
			}
		}
		if got != c.want {
			t.Errorf("%s: want the line before %q, got %q", name, c.want, got)
		}
	}
}
