package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestSharedStorageSaysHowItIs: each state in a word with what it means, what is old as unknown with what it was, and
// buttons that fit.
func TestSharedStorageSaysHowItIs(t *testing.T) {
	t.Parallel()
	for _, scene := range webtest.Scenes() {
		if scene.Name != "shared storage, every state" {
			continue
		}
		doc := read(t, scene.World(t).Get(scene.Person, scene.Path), http.StatusOK)
		for name, c := range map[string]struct{ test, says, button string }{
			"data":    {"state", "ready", "grow"},
			"scratch": {"state", "not created yet", "delete"},
			"growing": {"state", "expanding", "grow"},
			"going":   {"pending-deletion", "permanently on 27 Nov 2026", "restore"},
			"lost":    {"state", "lost", "delete"},
			"stale":   {"state", "has not responded since", "grow"},
			"stiff":   {"not-grown", "must support resize", "grow"},
			"waiting": {"state", "No space is left", "delete"},
		} {
			row := doc.Find("#volume-" + name)
			if got := textOf(In(row, c.test)); !strings.Contains(got, c.says) {
				t.Errorf("%s: want %q, got %q", name, c.says, got)
			}
			if In(row, c.button).Length() != 1 {
				t.Errorf("%s: there is no button %s", name, c.button)
			}
		}
		if pending := doc.Find("#volume-going"); In(pending, "delete").Length()+In(pending, "grow").Length() != 0 {
			t.Error("what is pending deletion can be deleted once more")
		}
		if used := textOf(In(doc.Find("#volume-data"), "used")); used != "in 1 workload" {
			t.Errorf("who has it: %q", used)
		}
		return
	}
	t.Error("the scene is gone")
}
