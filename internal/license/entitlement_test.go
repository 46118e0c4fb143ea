package license

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEntitlementProblems(t *testing.T) {
	there := []Entitlement{{ID: "e-1", Pool: "vcs", Reference: "PO-7", Seats: 4, From: noon, Until: hours(48)}}
	for sentence, c := range map[string]struct {
		e    Entitlement
		want []string
	}{
		"sound": {Entitlement{ID: "e-2", Pool: "vcs", Reference: "PO-8", Seats: 1, From: noon,
			Until: hours(1)}, nil},
		"below zero": {Entitlement{ID: "e-2", Pool: "vcs", Seats: -3},
			[]string{"licenses.seats_too_few"}},
		"none": {Entitlement{ID: "e-2", Pool: "vcs"}, []string{"licenses.seats_too_few"}},
		"a slip": {Entitlement{ID: "e-2", Pool: "vcs", Seats: MostSeats + 1},
			[]string{"licenses.seats_too_many"}},
		"ends before it begins": {Entitlement{ID: "e-2", Pool: "vcs", Seats: 1, From: noon, Until: noon},
			[]string{"licenses.ends_before"}},
		"the same purchase twice": {Entitlement{ID: "e-2", Pool: "vcs", Reference: "PO-7", Seats: 4,
			From: hours(24)}, []string{"licenses.overlaps"}},
		"the next year of the same purchase": {Entitlement{ID: "e-2", Pool: "vcs", Reference: "PO-7", Seats: 4,
			From: hours(48)}, nil},
		"itself": {there[0], nil},
		"everything at once": {Entitlement{ID: "e-2", Pool: "vcs", Reference: "PO-7", Seats: -1, From: hours(2),
			Until: hours(1)},
			[]string{"licenses.seats_too_few", "licenses.ends_before", "licenses.overlaps"}},
	} {
		var got []string
		for _, f := range Check(c.e, there) {
			got = append(got, f.Reason.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
}

func TestWhatCountsForAPool(t *testing.T) {
	entered := []Entitlement{{Pool: "vcs", Seats: 3, Until: hours(24)}, {Pool: "vcs", Seats: 2, From: hours(1)},
		{Pool: "other", Seats: 9}}
	asked, away := vcs, vcs
	asked.Server, away.Server, away.Seats = "dls", "dls", 0
	said := map[string]Answer{"dls": {Source: "dls", At: noon,
		Features: []Feature{{Name: "nvidia-virtual-compute-server", Total: 7, Until: hours(72)}}}}
	for sentence, c := range map[string]struct {
		pool    Pool
		entered []Entitlement
		answers map[string]Answer
		at      time.Time
		seats   int
		unknown bool
	}{
		"the settings, while nothing else says":          {vcs, nil, said, noon, 4, false},
		"what was entered":                               {vcs, entered, said, noon, 3, false},
		"later also what begins later":                   {vcs, entered, said, hours(2), 5, false},
		"and without what has ended":                     {vcs, entered, said, hours(24), 2, false},
		"the server's word above all":                    {asked, entered, said, noon, 7, false},
		"an entitlement that has ended at the server":    {asked, entered, said, hours(72), 0, false},
		"a server that never answered, with an entry":    {away, entered, nil, noon, 3, false},
		"a server that never answered, with a setting":   {asked, nil, nil, noon, 4, false},
		"a server that never answered, and nothing else": {away, nil, nil, noon, 0, true},
	} {
		got := Fill([]Pool{c.pool}, c.entered, c.answers, c.at)[0]
		if got.Seats != c.seats || got.Unknown != c.unknown {
			t.Errorf("%s: want %d seats, unknown %v, got %+v", sentence, c.seats, c.unknown, got)
		}
	}
	if s := (Seats{Pool: Pool{Unknown: true}, Used: 5}); !s.Has(1) {
		t.Error("a pool of unknown size refuses")
	}
	if s := (Seats{Pool: Pool{Seats: 5}, Used: 4}); s.Has(2) || !s.Has(1) {
		t.Error("one seat is left, not two")
	}
}

func TestAnAnswerThatFailsKeepsWhatWasSaid(t *testing.T) {
	var a Answer
	a.Source = "dls"
	a = a.Merge(Answer{Features: []Feature{{Name: "f", Total: 3}}}, nil, noon)
	a = a.Merge(Answer{}, errors.New("refused"), hours(1))
	a = a.Merge(Answer{}, errors.New("refused"), hours(2))
	if !a.At.Equal(noon) || len(a.Features) != 1 || !a.Since.Equal(hours(1)) || !a.TriedAt.Equal(hours(2)) ||
		a.Failed.ID != "licenses.why_away" {
		t.Errorf("a failed try must keep the last answer and its age, got %+v", a)
	}
	if a = a.Merge(Answer{}, nil, hours(3)); !a.Since.IsZero() || !a.Failed.IsZero() || !a.At.Equal(hours(3)) ||
		a.Source != "dls" {
		t.Errorf("an answer ends the failure, got %+v", a)
	}
}

func TestDaysUntilAnEntitlementEnds(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for want, until := range map[int]time.Time{1: at.Add(time.Second), 2: at.Add(24*time.Hour + time.Nanosecond),
		40: at.Add(40 * 24 * time.Hour), 0: at} {
		if got := (Entitlement{Until: until}).Days(at); got != want {
			t.Errorf("%s: want %d, got %d", until, want, got)
		}
	}
}
