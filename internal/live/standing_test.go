package live_test

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/live"
)

var ada = live.Reader{Credential: "s-1", Person: "p-ada", Roles: "developer"}

func TestStandingAsksAgainAfterAChangeOrInTime(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	hub := live.NewHub(nil, time.Hour)
	s := live.NewStanding(hub)
	asked, in := 0, true
	holds := func(now time.Time) bool {
		return s.Holds(ada, now, func() (time.Time, bool) { asked++; return noon.Add(time.Hour), in })
	}
	step := func(what string, now time.Time, want bool, times int) {
		t.Helper()
		if got := holds(now); got != want || asked != times {
			t.Errorf("%s: want %v after asking %d times, got %v after %d", what, want, times, got, asked)
		}
	}
	step("first", noon, true, 1)
	step("again", noon.Add(time.Minute), true, 1)
	hub.Publish(live.Change{Topic: "workload", ID: "s-1", Person: "p-ada"})
	hub.Publish(live.Change{Topic: "session", ID: "s-2", Person: "p-eve"})
	step("other things changed", noon.Add(time.Minute), true, 1)
	hub.Publish(live.Change{Topic: "session", Person: "p-ada"})
	step("the person changed", noon.Add(time.Minute), true, 2)
	hub.Publish(live.Change{Topic: "session", ID: "s-1", Person: "p-ada"})
	in = false
	step("the session ended", noon.Add(time.Minute), false, 3)
	step("an end is not remembered", noon.Add(time.Minute), false, 4)
	in = true
	step("it is back", noon.Add(time.Minute), true, 5)
	if s.Holds(live.Reader{Credential: "s-1", Person: "p-ada", Roles: "admin"}, noon, func() (time.Time, bool) {
		return noon, false
	}) {
		t.Error("what is known of one role says nothing of another")
	}
	step("its time is over", noon.Add(time.Hour), true, 6)
}

func TestStandingKeepsNoAnswerFromBeforeAChange(t *testing.T) {
	hub := live.NewHub(nil, time.Hour)
	s := live.NewStanding(hub)
	now, asked := time.Now(), 0
	for range 2 {
		s.Holds(ada, now, func() (time.Time, bool) {
			asked++
			hub.Publish(live.Change{Topic: "session", ID: "s-1", Person: "p-ada"})
			return now.Add(time.Hour), true
		})
	}
	if asked != 2 {
		t.Errorf("want it to ask again, it asked %d times", asked)
	}
}
