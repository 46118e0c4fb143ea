package tenant

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/untrusted/untrustedtest"
)

// TestLongFormsAreReadInTime: a form may have 1 MiB.
func TestLongFormsAreReadInTime(t *testing.T) {
	t.Parallel()
	var groups, quota strings.Builder
	for i := 0; groups.Len() < 1<<20; i++ {
		fmt.Fprintf(&groups, "%x\n", i)
		fmt.Fprintf(&quota, "%x: 1\n", i)
	}
	untrustedtest.Within(t, "groups", func() {
		if n := len(ParseGroups(groups.String())); n < 100_000 {
			t.Errorf("%d groups", n)
		}
	})
	untrustedtest.Within(t, "quota", func() {
		if got, problem := ParseQuota(quota.String()); problem != nil || len(got) < 100_000 {
			t.Errorf("%d, %v", len(got), problem)
		}
	})
}
