package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

func TestCountUnmet(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	miss := func(minutes int, person, size string, reason UnmetReason) UnmetRequest {
		return UnmetRequest{At: start.Add(time.Duration(minutes) * time.Minute), Person: person, Size: size, Reason: reason}
	}
	waited := miss(300, "eve", "h100", UnmetWithdrawn)
	waited.Waited, waited.Tenant = 3*time.Hour, "vision"
	got := CountUnmet([]UnmetRequest{
		waited,
		// one request, three tries
		miss(0, "ada", "h100", UnmetQuota), miss(20, "ada", "h100", UnmetSeats), miss(59, "ada", "h100", UnmetQuota),
		miss(60, "ada", "h100", UnmetQuota), // an hour later: another
		miss(10, "bob", "h100", UnmetQuota), // somebody else
		miss(15, "ada", "mig", UnmetQuota),  // another size
	})
	want := []UnmetDemand{
		{Size: "h100", Reason: UnmetQuota, Count: 3, Attempts: 5, People: 2},
		{Size: "h100", Reason: UnmetWithdrawn, Count: 1, Attempts: 1, People: 1, Tenants: []string{"vision"},
			Longest: 3 * time.Hour},
		{Size: "mig", Reason: UnmetQuota, Count: 1, Attempts: 1, People: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	for sentence, want := range map[string]UnmetReason{"request.quota_full": UnmetQuota, "budget.over": UnmetBudget,
		"policy.refuse": UnmetRule, "request.name_taken": ""} {
		if got, ok := UnmetReasonOf(i18n.T(sentence)); got != want || ok != (want != "") {
			t.Errorf("%s: want %q, got %q, %v", sentence, want, got, ok)
		}
	}
	if got, _ := UnmetReasonOf(i18n.Literal("Not on Sundays.")); got != UnmetRule {
		t.Errorf("words of an administrator are a rule's, got %q", got)
	}
}
