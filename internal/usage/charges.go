package usage

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Parts is how much of cards a SKU holds. Where it is not known which part of a card it is, it counts as a whole one,
// as in CardUse.
func (w SKU) Parts() int64 {
	share := w.Share
	if share <= 0 {
		share = 1
	}
	return int64(math.Round(share * float64(w.Count) * Parts))
}

// ChargeStep is the grid of charges. Midnights of all time zones lie on it.
const ChargeStep = 15 * time.Minute

// Charge is by how much what is metered in a cluster changes within a step of the grid: parts of cards that begin to be
// held, less those that end.
type Charge struct {
	Cluster string
	Unknown bool      // of time that is not charged, because nobody can tell whether it was held
	Step    time.Time // the beginning of the step
	Parts   int64
	Late    int64 // parts times the milliseconds after the beginning of the step
}

// Charges are what an interval on a cluster changes within a span; open ones are held until its end.
func Charges(cluster string, i Interval, s Span) (list []Charge) {
	until := i.Until
	if until.IsZero() {
		until = later(i.From, s.Until)
	}
	add := func(unknown bool, from, until time.Time) {
		if from, until = later(from, s.From), earlier(until, s.Until); i.Parts > 0 && from.Before(until) {
			list = append(list, chargeAt(cluster, unknown, from, i.Parts), chargeAt(cluster, unknown, until, -i.Parts))
		}
	}
	add(false, i.From, until)
	add(true, until, i.UnknownUntil)
	return list
}

func chargeAt(cluster string, unknown bool, at time.Time, parts int64) Charge {
	step := at.Truncate(ChargeStep)
	return Charge{cluster, unknown, step.UTC(), parts, parts * (at.UnixMilli() - step.UnixMilli())}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// ChargedDay is what was metered in one cluster on one day, in time of whole cards.
type ChargedDay struct {
	Day     string
	Cluster string
	Charged CardTime // held by the meter: what statements charge, also while a workload only starts
	Unknown CardTime // nobody can tell whether it was held: told in statements, and not charged
}

// ChargedDays adds charges up by cluster and day of a span; the span begins and ends at midnights, or now.
func ChargedDays(charges []Charge, s Span, zone *time.Location) (days []ChargedDay) {
	charges = slices.Clone(charges)
	slices.SortFunc(charges, func(a, b Charge) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster),
			a.Step.Compare(b.Step))
	})
	for len(charges) > 0 {
		cluster := charges[0].Cluster
		n := slices.IndexFunc(charges, func(c Charge) bool { return c.Cluster != cluster })
		if n < 0 {
			n = len(charges)
		}
		days = append(days, chargedDays(charges[:n], s, zone)...)
		charges = charges[n:]
	}
	slices.SortStableFunc(days, func(a, b ChargedDay) int { return strings.Compare(a.Day, b.Day) })
	return days
}

// chargedDays are those of one cluster. Up to a moment, what began before it was held since then, but for what ended
// before it: so each charge is looked at once, however many days what it begins goes on.
func chargedDays(charges []Charge, s Span, zone *time.Location) (days []ChargedDay) {
	var parts, offset, before [2]int64 // charged and unknown
	cluster := charges[0].Cluster
	for at := s.From; at.Before(s.Until); {
		end := earlier(NextDay(at, zone), s.Until)
		final := end.Equal(s.Until)
		for len(charges) > 0 && (final || charges[0].Step.Before(end)) {
			c, kind := charges[0], 0
			if c.Unknown {
				kind = 1
			}
			parts[kind] += c.Parts
			offset[kind] += c.Parts*(c.Step.UnixMilli()-s.From.UnixMilli()) + c.Late
			charges = charges[1:]
		}
		var held [2]CardTime
		for kind := range held {
			sum := parts[kind]*(end.UnixMilli()-s.From.UnixMilli()) - offset[kind]
			held[kind], before[kind] = CardTime(sum-before[kind]), sum
		}
		if held != [2]CardTime{} {
			days = append(days, ChargedDay{Day: at.In(zone).Format(time.DateOnly), Cluster: cluster, Charged: held[0],
				Unknown: held[1]})
		}
		at = end
	}
	return days
}
