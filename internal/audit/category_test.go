package audit_test

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
)

func TestEveryKindIsInOneCategory(t *testing.T) {
	t.Parallel()
	in := map[audit.Kind]int{}
	for _, c := range audit.Categories() {
		if len(c.Kinds()) == 0 {
			t.Errorf("%s has no kinds", c)
		}
		for _, k := range c.Kinds() {
			in[k]++
		}
	}
	for _, k := range audit.Kinds() {
		if in[k] != 1 {
			t.Errorf("%s is in %d categories", k, in[k])
		}
	}
	if got := audit.Category("nonsense").Kinds(); len(got) != 0 {
		t.Errorf("no category has kinds: %v", got)
	}
}
