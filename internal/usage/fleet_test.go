package usage

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// drawStock is a fleet whose parts make up its cards, but for what is not offered.
func drawStock(r *rand.Rand) (list []Stock) {
	for _, model := range []string{"A100", "H100"} {
		s := Stock{Model: model, Ours: r.Int64N(9 * Parts), Others: r.Int64N(Parts), Free: r.Int64N(9 * Parts),
			Broken: r.Int64N(Parts)}
		s.Cards = (s.Ours + s.Others + s.Free + s.Broken + Parts) / Parts * Parts
		list = append(list, s)
	}
	return list
}

func monthOf(days []FleetDay) Reconciliation { return Reconciliation{Days: days} }

// TestFleetHoursAddUp: whatever is seen when, the parts and the difference make up the cards times the time, every
// millisecond is counted once, and a further look in between at what has not changed (by a controller that has just
// started, say) changes nothing but that less is unknown.
func TestFleetHoursAddUp(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		before := Sample{Cluster: "west", At: time.Date(2026, 10, 24, 20, 0, 0, 0,
			time.UTC).Add(time.Duration(r.Int64N(1e6)) * time.Millisecond), Stock: drawStock(r)}
		begun, wanted := before.At, CardTime(0)
		var days, oftener []FleetDay
		for range 30 {
			gap := time.Duration(1+r.Int64N(LostFor.Milliseconds())) * time.Millisecond
			if r.IntN(4) == 0 {
				gap = time.Duration(1+r.Int64N(40*3600*1000)) * time.Millisecond
			}
			next := Sample{Cluster: "west", At: before.At.Add(gap), Stock: drawStock(r)}
			days = append(days, CountFleet(before, next.At, berlin)...)
			middle := before
			middle.At = before.At.Add(time.Duration(r.Int64N(gap.Milliseconds()+1)) * time.Millisecond)
			if gap > LostFor {
				middle.At = before.At
			}
			oftener = append(append(oftener, CountFleet(before, middle.At, berlin)...), CountFleet(middle, next.At, berlin)...)
			for _, s := range before.Stock {
				wanted += CardTime(s.Cards * gap.Milliseconds())
			}
			before = next
		}
		total := monthOf(days).Total()
		if sum := total.Held() + total.Free + total.Broken + total.Unknown + total.Difference(); sum != wanted ||
			total.Physical != wanted || total.Difference() < 0 {
			t.Fatalf("seed %d: want %d, got %d of %d with a difference of %d", seed, wanted, sum, total.Physical,
				total.Difference())
		}
		key := func(d FleetDay) string { return d.Day + d.Model }
		if diff := cmp.Diff(monthOf(days).By(key), monthOf(oftener).By(key)); diff != "" {
			t.Fatalf("seed %d: a further look changes the days (-want +got)\n%s", seed, diff)
		}
		if first, last := days[0].Day, days[len(days)-1].Day; first != begun.In(berlin).Format(time.DateOnly) ||
			last != before.At.Add(-1).In(berlin).Format(time.DateOnly) {
			t.Fatalf("seed %d: days from %s until %s", seed, first, last)
		}
	}
}

func TestFleetDays(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 10, day, hour, minute, 0, 0, berlin) }
	stock := []Stock{{Model: "H100", Cards: 8 * Parts, Ours: 3 * Parts / 7, Others: Parts, Free: 4 * Parts, Broken: Parts}}
	minutes := func(cards, minutes int64) CardTime { return CardHours(cards) * CardTime(minutes) / 60 }
	for sentence, c := range map[string]struct {
		before Sample
		until  time.Time
		want   []FleetDay
	}{
		"nothing before the first look":         {Sample{}, at(20, 12, 0), nil},
		"nothing for a look at the same moment": {Sample{"west", at(20, 12, 0), stock}, at(20, 12, 0), nil},
		"nothing for an earlier look":           {Sample{"west", at(20, 12, 0), stock}, at(20, 11, 59), nil},
		"as it was seen, cut at midnight": {Sample{"west", at(20, 23, 59), stock}, at(21, 0, 2), []FleetDay{
			{"2026-10-20", "west", "H100", FleetTime{minutes(8, 1), minutes(3, 1) / 7, minutes(1, 1), minutes(4, 1),
				minutes(1, 1), 0}},
			{"2026-10-21", "west", "H100", FleetTime{minutes(8, 2), minutes(3, 2) / 7, minutes(1, 2), minutes(4, 2),
				minutes(1, 2), 0}}}},
		"unknown, where nobody looked for long": {Sample{"west", at(20, 12, 0), stock}, at(20, 12, 4),
			[]FleetDay{{"2026-10-20", "west", "H100", FleetTime{Physical: minutes(8, 4), Unknown: minutes(8, 4)}}}},
		"the day on which clocks go back has 25 hours": {Sample{"west", at(25, 0, 0), stock}, at(26, 0, 0),
			[]FleetDay{{"2026-10-25", "west", "H100", FleetTime{Physical: CardHours(200), Unknown: CardHours(200)}}}},
	} {
		if diff := cmp.Diff(c.want, CountFleet(c.before, c.until, berlin)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", sentence, diff)
		}
	}
}

// keptFleet is a FleetStore as it was filled.
type keptFleet struct {
	days    []FleetDay
	samples []Sample
	metered []Interval
}

func (k *keptFleet) CountFleet(context.Context, Sample, *time.Location) error { return nil }

func (k *keptFleet) Charges(_ context.Context, s Span) (list []Charge, _ error) {
	for _, i := range k.metered {
		list = append(list, Charges("west", i, s)...)
	}
	return list, nil
}

func (k *keptFleet) Fleet(_ context.Context, from, until string) (days []FleetDay, _ []Sample, _ error) {
	for _, d := range k.days {
		if d.Day >= from && d.Day < until {
			days = append(days, d)
		}
	}
	return days, k.samples, nil
}

func TestReconciliation(t *testing.T) {
	ctx, now := context.Background(), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	stock := []Stock{{Model: "H100", Cards: 2 * Parts, Free: 2 * Parts}}
	kept := &keptFleet{days: []FleetDay{{"2026-10-31", "west", "H100", FleetTime{Physical: CardHours(40),
		Free: CardHours(40)}}, {"2026-11-01", "west", "H100", FleetTime{Physical: CardHours(2), Free: CardHours(2)}}},
		samples: []Sample{{"west", now.Add(-13 * time.Hour), stock}, {"east", now.Add(-LostFor), stock},
			{"gone", now.Add(-30 * time.Hour), stock}}}
	kept.metered = []Interval{{Workload: "w-1", Parts: Parts / 7, From: now.Add(-40 * time.Hour)},
		{Workload: "w-2", Parts: 2 * Parts, From: now.Add(-5 * time.Hour), Until: now.Add(-4 * time.Hour),
			UnknownUntil: now.Add(-3 * time.Hour)}}
	f := &Fleet{Store: kept, Zone: time.UTC, Now: func() time.Time { return now },
		Clusters: func() []string { return []string{"east", "west"} }}
	admin := identity.Actor{Person: identity.Person{ID: "p-dora", Name: "Dora"}, Global: []identity.Role{identity.Admin}}
	got, err := f.Reconciliation(ctx, admin, Month{2026, time.November})
	if err != nil {
		t.Fatal(err)
	}
	want := []FleetDay{{"2026-11-01", "west", "H100", FleetTime{Physical: CardHours(26), Free: CardHours(2),
		Unknown: CardHours(24)}}}
	if diff := cmp.Diff(want, got.Days); diff != "" {
		t.Errorf("a cluster that is away is unknown, and one that is not looked after any more is not counted (-want "+
			"+got)\n%s", diff)
	}
	var file bytes.Buffer
	got.Days[0].Ours = CardHours(3)
	if err := got.ExportCSV(&file); err != nil {
		t.Fatal(err)
	}
	if line := strings.Split(file.String(),
		"\n")[1]; line != "2026-11-01,west,H100,26.000000,3.000000,0.000000,2.000000,0.000000,24.000000,-3.000000,,,,," {
		t.Errorf("got %q", line)
	}
	matched := ReconciledDay{Day: "2026-11-01", Cluster: "west", Charged: CardHours(2) + CardHours(12)/7,
		Unknown: CardHours(2),
		Unseen:  CardHours(4) + CardHours(12)/7}
	if diff := cmp.Diff([]ReconciledDay{matched}, got.Reconciled); diff != "" || matched.Rest() != 0 {
		t.Errorf("what was charged while the cluster was away (-want +got)\n%s", diff)
	}
	if line := strings.Split(file.String(),
		"\n")[2]; line != "2026-11-01,west,,,0.000000,,,,,,3.714286,-3.714286,2.000000,5.714286,0.000000" {
		t.Errorf("got %q", line)
	}
	developer := identity.Actor{Person: identity.Person{ID: "p-anna"}}
	for sentence, err := range map[string]error{
		"others do not read it": second(f.Reconciliation(ctx, developer, Month{2026, time.November})),
		"a month to come":       second(f.Reconciliation(ctx, admin, Month{2026, time.December})),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: got %v", sentence, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
