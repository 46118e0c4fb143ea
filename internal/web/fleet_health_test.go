package web

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/health"
)

// A card of which nobody says anything is no line of its own where nobody asks for it: its node tells how many there
// are. What is marked is.
func TestSilentCardsAreCountedAtTheirNode(t *testing.T) {
	for _, c := range []struct {
		name, state string
		level       health.Level
		mark        *health.Mark
		telling     bool
		want        bool
	}{
		{"a silent card, unasked", "", health.Unknown, nil, false, false},
		{"a silent card, searched for", "", health.Unknown, nil, true, true},
		{"a silent card, among the unknown", "unknown", health.Unknown, nil, false, true},
		{"a broken card, unasked", "", health.Broken, nil, true, true},
		{"a broken card, among the unknown", "unknown", health.Broken, nil, true, false},
		{"a fine card, among all", "all", health.Fine, nil, false, true},
		{"a marked card, among the marked", "marked", health.Marked, &health.Mark{}, true, true},
		{"a fine node, among the marked", "marked", health.Fine, nil, true, false},
	} {
		if got := healthChosen(c.state, c.level, c.mark, c.telling); got != c.want {
			t.Errorf("%s: want %t, got %t", c.name, c.want, got)
		}
	}
}
