package explain

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// TestAWaitThatEndsByItselfIsNoFault: others hold the GPU. Where an administrator has to act, it is one.
func TestAWaitThatEndsByItselfIsNoFault(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"explain.in_use": true, "explain.nodes_full": true, "explain.node_coming": true,
		"explain.absent": false, "explain.nodes_down": false, "explain.disk_no_class": false, "": false} {
		if got := InLine(i18n.Text{ID: id}); got != want {
			t.Errorf("%q: want %v, got %v", id, want, got)
		}
	}
}
