package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

func TestCountUnmet(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	miss := func(minutes int, person, size string, reason MissReason) Miss {
		return Miss{At: start.Add(time.Duration(minutes) * time.Minute), Person: person, Size: size, Reason: reason}
	}
	waited := miss(300, "eve", "h100", MissWithdrawn)
	waited.Waited = 3 * time.Hour
	got := CountUnmet([]Miss{
		waited,
		// one request, three tries
		miss(0, "ada", "h100", MissQuota), miss(20, "ada", "h100", MissSeats), miss(59, "ada", "h100", MissQuota),
		miss(60, "ada", "h100", MissQuota), // an hour later: another
		miss(10, "bob", "h100", MissQuota), // somebody else
		miss(15, "ada", "mig", MissQuota),  // another size
	})
	want := []Unmet{
		{Size: "h100", Reason: MissQuota, Count: 3, Attempts: 5, People: 2},
		{Size: "h100", Reason: MissWithdrawn, Count: 1, Attempts: 1, People: 1, Longest: 3 * time.Hour},
		{Size: "mig", Reason: MissQuota, Count: 1, Attempts: 1, People: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	for sentence, want := range map[string]MissReason{"request.quota_full": MissQuota, "budget.over": MissBudget,
		"policy.refuse": MissRule, "request.name_taken": ""} {
		if got, ok := Refused(i18n.T(sentence)); got != want || ok != (want != "") {
			t.Errorf("%s: want %q, got %q, %v", sentence, want, got, ok)
		}
	}
	if got, _ := Refused(i18n.Literal("Not on Sundays.")); got != MissRule {
		t.Errorf("words of an administrator are a rule's, got %q", got)
	}
}
