package workloads

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/static"
)

func TestEveryEventHasAnIcon(t *testing.T) {
	for _, kind := range audit.Kinds() {
		if icon := eventIcon(kind); icon == "" {
			t.Errorf("%s has no icon", kind)
		} else if _, ok := static.IconNamed(icon); !ok {
			t.Errorf("%s: there is no icon %q", kind, icon)
		}
	}
	for kind, want := range map[audit.Kind]string{audit.WorkloadExtended: "extend", audit.LeaseEnded: "stop",
		audit.LeaseWarned: "clock", audit.CatalogSaved: "audit"} {
		if got := eventIcon(kind); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}
