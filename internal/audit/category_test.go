package audit_test

import (
	"strings"
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

// TestRefusalsSaySo: what tells of a refusal has that outcome, and nothing else has.
func TestRefusalsSaySo(t *testing.T) {
	t.Parallel()
	for _, k := range audit.Kinds() {
		if strings.HasSuffix(string(k), ".refused") != (k.Outcome() == audit.Refused) {
			t.Errorf("%s: %s", k, k.Outcome())
		}
	}
	if audit.RevisionFailed.Outcome() != audit.Failed || audit.WorkloadCreated.Outcome() != audit.Done {
		t.Error("want a failed revision to be failed, and a created workload done")
	}
}
