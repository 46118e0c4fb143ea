package usage

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// drawMeter is what some workloads held around a span: whole cards, several and slices; closed, with a stretch of which
// nobody can tell, and open.
func drawMeter(r *rand.Rand, s Span) (list []Interval) {
	for n := range 1 + r.IntN(12) {
		at := s.From.Add(time.Duration(r.Int64N(int64(s.Until.Sub(s.From)))) - 50*time.Hour)
		for range r.IntN(6) {
			i := Interval{Workload: fmt.Sprint("w-", n), Tenant: "vision", Size: "a", Parts: []int64{0, 120, 360, Parts,
				8 * Parts}[r.IntN(5)], From: at.Truncate(time.Millisecond)}
			i.Until = i.From.Add(time.Duration(r.Int64N(int64(60 * time.Hour)))).Truncate(time.Millisecond)
			at = i.Until.Add(time.Duration(r.Int64N(int64(20 * time.Hour))))
			switch r.IntN(4) {
			case 0:
				i.UnknownUntil = i.Until.Add(time.Duration(r.Int64N(int64(time.Hour)))).Truncate(time.Millisecond)
			case 1:
				i.Until = time.Time{}
			}
			list = append(list, i)
			if i.Until.IsZero() {
				break
			}
		}
	}
	return list
}

// TestChargedDaysAddUp: whatever was metered when, each day has what statements of that day would say, and the days of
// a month make up the month; also where days have 23 or 25 hours.
func TestChargedDaysAddUp(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		whole := Month{2026, []time.Month{time.March, time.October, time.June}[r.IntN(3)]}.Span(berlin)
		span := whole.To(whole.From.Add(time.Duration(1+r.Int64N(int64(whole.Until.Sub(whole.From))/1e6)) * time.Millisecond))
		meter := drawMeter(r, whole)
		var charges []Charge
		for _, i := range meter {
			charges = append(charges, Charges("west", i, span)...)
		}
		got := map[string]ChargedDay{}
		for _, d := range ChargedDays(charges, span, berlin) {
			got[d.Day] = d
		}
		for at := span.From; at.Before(span.Until); at = NextDay(at, berlin) {
			day := Span{at, earlier(NextDay(at, berlin), span.Until)}
			want := ChargedDay{Day: at.In(berlin).Format(time.DateOnly), Cluster: "west"}
			for _, i := range meter {
				until := i.Until
				if until.IsZero() {
					until = later(i.From, span.Until)
				}
				want.Charged += CardTime(i.Parts * day.overlap(i.From, until).Milliseconds())
				want.Unknown += CardTime(i.Parts * day.overlap(until, later(until, i.UnknownUntil)).Milliseconds())
			}
			if want.Charged == 0 && want.Unknown == 0 {
				want = ChargedDay{}
			}
			if diff := cmp.Diff(want, got[at.In(berlin).Format(time.DateOnly)]); diff != "" {
				t.Fatalf("seed %d, %s until %s (-want +got)\n%s", seed, at, span.Until, diff)
			}
		}
	}
}

// TestHeldAndChargedAddUp: whatever the two say, what was held is what was charged and the reasons; nothing is called
// unseen that was looked at.
func TestHeldAndChargedAddUp(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 5))
		draw := func() CardTime { return CardTime(r.Int64N(4)) * CardHours(1+r.Int64N(20)) }
		var days []FleetDay
		var charged []ChargedDay
		for day := range 1 + r.IntN(5) {
			for _, cluster := range []string{"east", "west"} {
				name := fmt.Sprintf("2026-11-%02d", day+1)
				for _, model := range []string{"A100", "H100"}[:r.IntN(3)] {
					days = append(days, FleetDay{Day: name, Cluster: cluster, Model: model, FleetTime: FleetTime{Ours: draw(),
						Unknown: draw()}})
				}
				if r.IntN(3) > 0 {
					charged = append(charged, ChargedDay{name, cluster, draw(), draw()})
				}
			}
		}
		rec := Reconciliation{Days: days, Reconciled: reconcile(days, charged)}
		sum := rec.ReconciledTotal()
		total := rec.Total()
		if sum.Held != total.Ours || sum.Held != sum.Charged+sum.Unknown-sum.Unseen+sum.Rest() {
			t.Fatalf("seed %d: %+v of %+v", seed, sum, total)
		}
		for _, m := range rec.Reconciled {
			if m.Unseen < 0 || m.Unseen > 0 && m.Rest() > 0 {
				t.Fatalf("seed %d: more is called unseen than there is: %+v", seed, m)
			}
		}
		for _, m := range rec.Reconciled {
			dark, counted := CardTime(0), false
			for _, d := range days {
				if d.Day == m.Day && d.Cluster == m.Cluster {
					dark, counted = dark+d.FleetTime.Unknown, true
				}
			}
			if counted && m.Unseen > dark || !counted && m.Rest() != 0 {
				t.Fatalf("seed %d: %d unseen, where %d was not looked at: %+v", seed, m.Unseen, dark, m)
			}
		}
		var byDay ReconciledDay
		for _, d := range rec.ReconciledDays() {
			byDay = byDay.Add(d)
		}
		if byDay.Add(ReconciledDay{}) != sum {
			t.Fatalf("seed %d: the days make %+v of %+v", seed, byDay, sum)
		}
	}
}

// TestHeldAndCharged are the differences that there are, one by one.
func TestHeldAndCharged(t *testing.T) {
	hours := CardHours
	for sentence, c := range map[string]struct {
		fleet   FleetTime
		charged ChargedDay
		want    ReconciledDay
		rest    CardTime
	}{
		"what is held is charged": {FleetTime{Ours: hours(10)},
			ChargedDay{Charged: hours(10)}, ReconciledDay{Held: hours(10), Charged: hours(10)}, 0},
		"a stretch of which nobody can tell is not charged": {FleetTime{Ours: hours(10)},
			ChargedDay{Charged: hours(8), Unknown: hours(2)}, ReconciledDay{Held: hours(10), Charged: hours(8),
				Unknown: hours(2)}, 0},
		"the cluster was out of sight, and all went on": {FleetTime{Ours: hours(6), Unknown: hours(50)},
			ChargedDay{Charged: hours(10)}, ReconciledDay{Held: hours(6), Charged: hours(10), Unseen: hours(4)}, 0},
		"it was out of sight, and a pod had gone meanwhile": {FleetTime{Ours: hours(6), Unknown: hours(50)},
			ChargedDay{Charged: hours(6), Unknown: hours(4)}, ReconciledDay{Held: hours(6), Charged: hours(6), Unknown: hours(4),
				Unseen: hours(4)}, 0},
		"more is charged than was held, while all was seen": {FleetTime{Ours: hours(6)},
			ChargedDay{Charged: hours(7)}, ReconciledDay{Held: hours(6), Charged: hours(7)}, -hours(1)},
		"held by the portal's pods, and metered for nobody": {FleetTime{Ours: hours(6), Unknown: hours(1)},
			ChargedDay{}, ReconciledDay{Held: hours(6)}, hours(6)},
		"charged on a cluster that has no such cards": {FleetTime{}, ChargedDay{Charged: hours(3)},
			ReconciledDay{Charged: hours(3)}, -hours(3)},
		"out of sight for less than what is too much: the rest is told": {FleetTime{Ours: hours(6), Unknown: hours(1)},
			ChargedDay{Charged: hours(9)}, ReconciledDay{Held: hours(6), Charged: hours(9), Unseen: hours(1)}, -hours(2)},
	} {
		c.charged.Day, c.charged.Cluster, c.want.Day, c.want.Cluster = "2026-11-01", "west", "2026-11-01", "west"
		got := reconcile([]FleetDay{{Day: "2026-11-01", Cluster: "west", Model: "H100", FleetTime: c.fleet}},
			[]ChargedDay{c.charged})
		if diff := cmp.Diff([]ReconciledDay{c.want}, got); diff != "" || got[0].Rest() != c.rest {
			t.Errorf("%s: rest %v, want %v (-want +got)\n%s", sentence, got[0].Rest().Hours(), c.rest.Hours(), diff)
		}
	}
}

// TestChargedBeforeCardsWereCounted: where nobody looked at the cards on a whole day, what was charged is not seen, and
// no riddle.
func TestChargedBeforeCardsWereCounted(t *testing.T) {
	charged := ChargedDay{Day: "2026-11-01", Cluster: "west", Charged: CardHours(3), Unknown: CardHours(1)}
	want := []ReconciledDay{{Day: "2026-11-01", Cluster: "west", Charged: CardHours(3), Unknown: CardHours(1),
		Unseen: CardHours(4)}}
	if diff := cmp.Diff(want, reconcile(nil, []ChargedDay{charged})); diff != "" || want[0].Rest() != 0 {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPartsOfAWare(t *testing.T) {
	for sentence, c := range map[string]struct {
		sku  SKU
		want int64
	}{
		"no GPU":                      {SKU{}, 0},
		"a card":                      {SKU{Share: 1, Count: 1}, Parts},
		"eight":                       {SKU{Share: 1, Count: 8}, 8 * Parts},
		"a seventh, as it is written": {SKU{Share: 0.142857, Count: 1}, Parts / 7},
		"a quarter":                   {SKU{Share: 0.25, Count: 1}, Parts / 4},
		"nobody says which part":      {SKU{Count: 1}, Parts},
	} {
		if got := c.sku.Parts(); got != c.want {
			t.Errorf("%s: want %d, got %d", sentence, c.want, got)
		}
	}
}
