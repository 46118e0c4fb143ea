package workload

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
)

const day = 24 * time.Hour

func TestWhichWarnings(t *testing.T) {
	cases := map[string]struct {
		length time.Duration
		want   Warnings
	}{
		"three days":                       {72 * time.Hour, Warnings{day, time.Hour, 10 * time.Minute}},
		"a working day":                    {8 * time.Hour, Warnings{time.Hour, 10 * time.Minute}},
		"not in the first half":            {90 * time.Minute, Warnings{10 * time.Minute}},
		"a short one says it once, late":   {12 * time.Minute, Warnings{3 * time.Minute}},
		"just long enough for the longest": {2 * day, Warnings{day, time.Hour, 10 * time.Minute}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, set := range []Warnings{LeaseWarnings(), {10 * time.Minute, day, time.Hour, time.Hour}} {
				if diff := cmp.Diff(c.want, set.Of(c.length)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// announced are the warnings that a lease gives when somebody looks at these moments, and when the last was given.
func announced(t *testing.T, w Workload, looks ...time.Time) (Workload, []string) {
	t.Helper()
	var got []string
	for _, at := range looks {
		next, events := EndLease(w, LeaseWarnings(), at)
		for _, e := range events {
			if e.Kind == audit.LeaseWarned {
				got = append(got, fmt.Sprint(e.Detail.Args["Left"]))
			}
		}
		w = next
	}
	return w, got
}

func TestEachWarningComesOnce(t *testing.T) {
	w := running()
	w.Lease = Lease{From: now, Until: now.Add(72 * time.Hour)}
	end := w.Lease.Until
	every := func(step time.Duration) (looks []time.Time) {
		for at := now; at.Before(end); at = at.Add(step) {
			looks = append(looks, at)
		}
		return looks
	}
	cases := map[string]struct {
		looks []time.Time
		want  []string
	}{
		"looked at always": {every(time.Minute), []string{"1d", "1h", "10m"}},
		"at the very moment": {[]time.Time{end.Add(-day), end.Add(-day), end.Add(-time.Hour),
			end.Add(-10 * time.Minute)}, []string{"1d", "1h", "10m"}},
		"a look too early says nothing": {[]time.Time{end.Add(-day - 1)}, nil},
		"of missed ones the last": {[]time.Time{end.Add(-30 * time.Minute), end.Add(-5 * time.Minute)},
			[]string{"1h", "10m"}},
		"and only that": {[]time.Time{end.Add(-5 * time.Minute), end.Add(-time.Minute)}, []string{"10m"}},
		"a clock that is set back": {[]time.Time{end.Add(-time.Hour), end.Add(-2 * day), end.Add(-time.Hour)},
			[]string{"1h"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, got := announced(t, w, c.looks...); !cmp.Equal(c.want, got) {
				t.Error(cmp.Diff(c.want, got))
			}
		})
	}
	warned, _ := announced(t, w, every(time.Minute)...)
	longer, _, err := Extend(warned, end.Add(72*time.Hour), dana, end.Add(-time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, got := announced(t, longer, end, end.Add(2*day), end.Add(72*time.Hour-time.Minute)); !cmp.Equal([]string{"1d",
		"10m"}, got) {
		t.Errorf("want the new end announced anew, got %v", got)
	}
}

// TestTheTimerAgreesWithTheRule: whoever looks only when Warnings.Next says so gives the same warnings as whoever looks
// all the time.
func TestTheTimerAgreesWithTheRule(t *testing.T) {
	for _, length := range []time.Duration{time.Minute, time.Hour, 8 * time.Hour, 72 * time.Hour} {
		w := running()
		w.Lease = Lease{From: now, Until: now.Add(length)}
		for range len(LeaseWarnings().Of(length)) {
			at := LeaseWarnings().Next(w.Lease, w.WarnedAt)
			if _, events := EndLease(w, LeaseWarnings(), at.Add(-time.Nanosecond)); len(events) > 0 {
				t.Errorf("lease of %s: announced before the timer", length)
			}
			next, events := EndLease(w, LeaseWarnings(), at)
			if len(events) != 1 {
				t.Errorf("lease of %s: not announced when the timer rings", length)
			}
			w = next
		}
		if at := LeaseWarnings().Next(w.Lease, w.WarnedAt); !at.IsZero() {
			t.Errorf("lease of %s: all was announced, and the timer rings again at %s", length, at)
		}
	}
}

// TestAnEndedLeaseHoldsUntilItsPodIsGone: quota and budget were free while the pod still had its GPU.
func TestAnEndedLeaseHoldsUntilItsPodIsGone(t *testing.T) {
	w := running()
	ended, _ := EndLease(w, LeaseWarnings(), w.Lease.Until)
	if !ended.Holds() || ended.State != Stopping {
		t.Errorf("want it to hold, got %s", ended.State)
	}
}

func TestKeeping(t *testing.T) {
	month := Retention{Period: 30 * day}
	unused := Volume{Name: "v", UnusedFrom: now}
	warnedAt := func(at time.Duration) Volume {
		v := unused
		v.WarnedAt, v.WarnedFor = now.Add(at), 30*day-at
		return v
	}
	type want struct {
		from  time.Duration // after now; -1: not set
		words string
		over  bool
	}
	cases := map[string]struct {
		keep Retention
		v    Volume
		use  Use
		at   time.Duration
		want want
	}{
		"its use has just ended":          {month, Volume{}, Use{}, 0, want{from: 0}},
		"nobody is told in the beginning": {month, unused, Use{}, 22 * day, want{from: 0}},
		"a week before":                   {month, unused, Use{}, 23 * day, want{from: 0, words: "7d"}},
		"once":                            {month, warnedAt(23 * day), Use{}, 28 * day, want{from: 0}},
		"a day before":                    {month, warnedAt(23 * day), Use{}, 29 * day, want{from: 0, words: "1d"}},
		"and it is over":                  {month, warnedAt(29 * day), Use{}, 30 * day, want{from: 0, over: true}},
		"not a moment before":             {month, warnedAt(29 * day), Use{}, 30*day - 1, want{from: 0}},
		"who looks late tells and waits":  {month, unused, Use{}, 200 * day, want{from: 177 * day, words: "7d"}},
		"a jump of the clock takes nothing": {month, warnedAt(23 * day), Use{}, 900 * day,
			want{from: 871 * day, words: "1d"}},
		"somebody uses it again": {month, warnedAt(29 * day), Use{Wanted: true}, 30 * day, want{from: -1}},
		"somebody used it in between": {month, warnedAt(29 * day), Use{Touched: now.Add(29*day + time.Hour)},
			30 * day, want{from: 30 * day}},
		"for ever from now on": {Retention{}, warnedAt(29 * day), Use{}, 30 * day, want{from: -1}},
		"what was announced holds when shortened": {Retention{Period: 10 * day}, warnedAt(23 * day), Use{}, 28 * day,
			want{from: 0}},
		"until then": {Retention{Period: 10 * day}, warnedAt(29 * day), Use{}, 30 * day,
			want{from: 0, over: true}},
		"a shorter time is announced first": {Retention{Period: 15 * day}, unused, Use{}, 20 * day,
			want{from: 12 * day, words: "7d"}},
		"and a longer one anew": {Retention{Period: 60 * day}, warnedAt(29 * day), Use{}, 53 * day,
			want{from: 0, words: "7d"}},
		"what is deleted already stays so": {month, Volume{Deleted: true, UnusedFrom: now}, Use{}, 99 * day,
			want{from: 0}},
		"hours, with a warning of their own half": {Retention{Period: 4 * time.Hour}, unused, Use{}, 3 * time.Hour,
			want{from: 0, words: "1h"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v, event, over := c.keep.Next(c.v, c.use, now.Add(c.at))
			got := want{from: v.UnusedFrom.Sub(now), over: over}
			if v.UnusedFrom.IsZero() {
				got.from = -1
			}
			if event != nil {
				got.words = fmt.Sprint(event.Detail.Args["Left"])
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNothingIsReclaimedUnannounced: however the time is set, however seldom somebody looks and wherever the clock
// jumps, both warnings were given in full before.
func TestNothingIsReclaimedUnannounced(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 9))
		v, at := Volume{Name: "v"}, now
		given := map[string]time.Time{}
		for range 200 {
			keep := Retention{Period: time.Duration(20+r.IntN(40)) * day}
			next, event, over := keep.Next(v, Use{Wanted: r.IntN(60) == 0}, at)
			if event != nil {
				given[fmt.Sprint(event.Detail.Args["Left"])] = at
			}
			if next.UnusedFrom.IsZero() {
				clear(given)
			}
			if over {
				if last, ok := given["1d"]; !ok || at.Sub(last) < day {
					t.Fatalf("seed %d: reclaimed at %s, announced at %v", seed, at, given)
				}
				break
			}
			v = next
			at = at.Add(time.Duration(r.IntN(72)) * time.Hour)
		}
	}
}
