package license

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func span(id string, seats int, from, until float64) Span {
	s := Span{Workload: id, Tenant: "red", Seats: seats, From: hours(from), Until: hours(until)}
	if until == 0 {
		s.Until = time.Time{}
	}
	return s
}

func TestPeakAndWho(t *testing.T) {
	f := NewForecast(vcs, []Span{span("a", 1, -10, -6), span("b", 2, -8, -4), span("c", 3, -4, -2), span("d", 1, -7, 0),
		span("later", 9, 1, 2), span("none", 5, -3, -3)}, nil, 0, noon, time.UTC)
	if f.Peak.Seats != 4 || !f.Peak.At.Equal(hours(-7)) {
		t.Errorf("want 4 seats at the seventh hour before noon, got %d at %s", f.Peak.Seats, f.Peak.At)
	}
	var who []string
	for _, h := range f.Peak.Holders {
		who = append(who, h.Workload)
	}
	if diff := cmp.Diff([]string{"b", "a", "d"}, who); diff != "" {
		t.Error(diff)
	}
}

// The seat-hours of the week are the seat-hours of the spans, and no peak is below a mean.
func TestWeekAddsUp(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var spans []Span
		want := 0.0
		for range 1 + random.IntN(6) {
			from := -float64(random.IntN(14*60)) / 60 * 10
			s := span("w", 1+random.IntN(3), from-1, min(0, from+float64(random.IntN(600))/60)-1e-6)
			spans, want = append(spans, s), want+float64(s.Seats)*s.Until.Sub(s.From).Hours()
		}
		f := NewForecast(vcs, spans, nil, 0, noon, time.UTC)
		got, seen := 0.0, 0.0
		for at := f.From; at.Before(f.To); {
			next := at.Truncate(time.Hour).Add(time.Hour)
			if next.After(f.To) {
				next = f.To
			}
			mean := f.Week[at.Weekday()][at.Hour()]
			if mean > float64(f.Peak.Seats)+1e-9 || mean < 0 {
				t.Fatalf("mean %f, peak %d", mean, f.Peak.Seats)
			}
			got, seen = got+mean*next.Sub(at).Hours(), seen+next.Sub(at).Hours()
			at = next
		}
		if got-want > 1e-3 || want-got > 1e-3 {
			t.Fatalf("want %f seat-hours, got %f", want, got)
		}
	}
}

func TestTrend(t *testing.T) {
	growing := func(days int, each float64) []Span {
		var spans []Span
		for d := range days {
			begin := -24 * float64(days-d)
			spans = append(spans, span("w", 1+int(each*float64(d)), begin, begin+8))
		}
		return spans
	}
	ten := vcs
	ten.Seats = 30
	unknown := ten
	unknown.Unknown = true
	for sentence, c := range map[string]struct {
		pool  Pool
		spans []Span
		want  Forecast
	}{
		"one more a day":               {ten, growing(20, 1), Forecast{FullKnown: true, FullIn: 10}},
		"as many every day":            {ten, growing(20, 0), Forecast{FullKnown: true, NotInSight: true}},
		"too little history":           {ten, growing(MinDays-1, 1), Forecast{}},
		"no history":                   {ten, nil, Forecast{}},
		"full already":                 {vcs, growing(20, 1), Forecast{FullKnown: true}},
		"a pool of which nobody knows": {unknown, growing(20, 1), Forecast{}},
	} {
		f := NewForecast(c.pool, c.spans, nil, 0, noon, time.UTC)
		if f.FullKnown != c.want.FullKnown || f.FullIn != c.want.FullIn || f.NotInSight != c.want.NotInSight {
			t.Errorf("%s: want known %v, in %d, not in sight %v; got %v, %d, %v", sentence, c.want.FullKnown, c.want.FullIn,
				c.want.NotInSight, f.FullKnown, f.FullIn, f.NotInSight)
		}
	}
}

func TestExpiryThatMatters(t *testing.T) {
	list := []Entitlement{{ID: "a", Pool: "vcs", Seats: 2, Until: hours(24)},
		{ID: "b", Pool: "vcs", Seats: 3, Until: hours(48)}, {ID: "c", Pool: "vcs", Seats: 2, From: hours(24)}}
	if f := NewForecast(vcs, nil, list, 5, noon, time.UTC); !f.Expires.Equal(hours(48)) || f.LeftAfter != 2 {
		t.Errorf("the first end is made up for by the next purchase; want two days and 2 seats, got %s and %d", f.Expires,
			f.LeftAfter)
	}
	if f := NewForecast(vcs, nil, list, 2, noon, time.UTC); !f.Expires.IsZero() {
		t.Errorf("two seats are always left, got %s", f.Expires)
	}
}

// TestTurnsOnOneVGPUAreOneSeatOfThePast: three workloads on one vGPU held one seat together, for as long as any of them
// was there.
func TestTurnsOnOneVGPUAreOneSeatOfThePast(t *testing.T) {
	shared := func(id string, from, until float64) Span {
		s := span(id, 1, from, until)
		s.Group, s.Most = "vgpu/A40-12Q/main/vm", 1
		return s
	}
	f := NewForecast(vcs, []Span{shared("a", -10, -6), shared("b", -8, -4), shared("c", -8, -7), span("own", 1, -5, -4)},
		nil, 0,
		noon, time.UTC)
	if f.Peak.Seats != 2 || !f.Peak.At.Equal(hours(-5)) || len(f.Peak.Holders) != 2 {
		t.Errorf("want two seats five hours before noon, held by b and own, got %+v", f.Peak)
	}
	sum := 0.0
	for at := hours(-10); at.Before(noon); at = at.Add(time.Hour) {
		sum += f.Week[at.Weekday()][at.Hour()]
	}
	if sum < 7-1e-9 || sum > 7+1e-9 {
		t.Errorf("want six seat-hours of the vGPU and one of the other, got %f", sum)
	}
}

// TestASharedSeatIsFreeWithTheLast: an end of one of two that share a seat gives nothing back.
func TestASharedSeatIsFreeWithTheLast(t *testing.T) {
	s := Count([]Pool{{Name: "p", Product: VWS, Seats: 1}}, slicesOn("vm", 2))[0]
	if one := s.Freed(map[string]bool{"vm0": true}); one != 0 {
		t.Errorf("one of two has ended: want nothing freed, got %d", one)
	}
	if both := s.Freed(map[string]bool{"vm0": true, "vm1": true}); both != 1 {
		t.Errorf("both have ended: want a seat freed, got %d", both)
	}
}

// TestSeatsAreOrderedInTime: a pool that the trend reaches within 30 days is told of, and none of which that is not
// known.
func TestSeatsAreOrderedInTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    Forecast
		want bool
	}{
		{Forecast{FullKnown: true, FullIn: 0}, true}, {Forecast{FullKnown: true, FullIn: 30}, true},
		{Forecast{FullKnown: true, FullIn: 31}, false}, {Forecast{FullIn: 3}, false},
		{Forecast{FullKnown: true, NotInSight: true}, false},
	} {
		if got := c.f.UsedUpSoon(); got != c.want {
			t.Errorf("%+v: want %v, got %v", c.f, c.want, got)
		}
	}
}
