package usage

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Parts is how finely a card is counted: 840 is divisible by 1 to 8, so the slices of every card, and most shares, are
// whole numbers of parts.
const Parts = 840

// Stock is what the cards of one model do at a moment, in parts of a card: held by the portal's workloads, held by
// others, free, broken.
type Stock struct {
	Model  string `json:"model"`
	Cards  int64  `json:"cards"`  // the physical ones; the others need not add up to it
	Ours   int64  `json:"ours"`   // held by workloads of the portal
	Others int64  `json:"others"` // held by others
	Free   int64  `json:"free"`   // could be given out
	Broken int64  `json:"broken"` // not held and not to be given out
}

// Sample is the fleet of one cluster at the moment at which it was seen.
type Sample struct {
	Cluster string
	At      time.Time
	Stock   []Stock
}

// CardTime is card time in parts of a card times milliseconds. It is whole, so days and clusters add up exactly; an
// int64 has room for 800 years of 5,000 cards.
type CardTime int64

// Hours are hours of whole cards.
func (t CardTime) Hours() float64 { return float64(t) / (Parts * 3_600_000) }

// CardHours converts hours of a card to CardTime.
func CardHours(hours int64) CardTime { return CardTime(hours * Parts * 3_600_000) }

// FleetTime is card time by state.
type FleetTime struct {
	Physical CardTime // the cards that were there, times the time
	Ours     CardTime
	Others   CardTime
	Free     CardTime
	Broken   CardTime
	Unknown  CardTime // nobody looked, or the cluster was away. Never free
}

// Held is the card time that pods held, the portal's and others'.
func (t FleetTime) Held() CardTime { return t.Ours + t.Others }

// Difference is what is there and that no part accounts for: cards that are not offered, what a cut leaves over.
// Negative: more is held than there is.
func (t FleetTime) Difference() CardTime {
	return t.Physical - t.Held() - t.Free - t.Broken - t.Unknown
}

// Add is the sum.
func (t FleetTime) Add(u FleetTime) FleetTime {
	return FleetTime{t.Physical + u.Physical, t.Ours + u.Ours, t.Others + u.Others, t.Free + u.Free, t.Broken + u.Broken,
		t.Unknown + u.Unknown}
}

// FleetDay is the card hours of one model in one cluster on one day, by state.
type FleetDay struct {
	Day     string // "2026-11-21", by the clocks of the site
	Cluster string
	Model   string
	FleetTime
}

// CountFleet gives what the time since the sample before comes to, cut at midnights: the fleet was as it was seen last.
// A stretch that is longer than LostFor was not watched, and is unknown. Nothing for a sample that is not later.
func CountFleet(before Sample, until time.Time, zone *time.Location) (days []FleetDay) {
	if before.At.IsZero() {
		return nil
	}
	silent := until.Sub(before.At) > LostFor
	for at := before.At; at.Before(until); {
		end := NextDay(at, zone)
		if until.Before(end) {
			end = until
		}
		span := end.UnixMilli() - at.UnixMilli()
		for _, s := range before.Stock {
			days = append(days, FleetDay{Day: at.In(zone).Format(time.DateOnly), Cluster: before.Cluster, Model: s.Model,
				FleetTime: s.over(span, silent)})
		}
		at = end
	}
	return days
}

func (s Stock) over(milliseconds int64, silent bool) FleetTime {
	times := func(parts int64) CardTime { return CardTime(parts * milliseconds) }
	if silent {
		return FleetTime{Physical: times(s.Cards), Unknown: times(s.Cards)}
	}
	return FleetTime{Physical: times(s.Cards), Ours: times(s.Ours), Others: times(s.Others), Free: times(s.Free),
		Broken: times(s.Broken)}
}

// FleetStore keeps the days and, for each cluster, what was seen last. Faults: Unavailable when the database is away.
type FleetStore interface {
	// CountFleet adds what passed since the cluster's last sample and keeps the new one, in one transaction; a sample that
	// is not later changes nothing.
	CountFleet(ctx context.Context, s Sample, zone *time.Location) error
	// Fleet gives the days from one until before another, and the last sample of each cluster, all of one moment.
	Fleet(ctx context.Context, from, until string) ([]FleetDay, []Sample, error)
	// Charges are what was metered in a span, for ChargedDays.
	Charges(ctx context.Context, s Span) ([]Charge, error)
}

// Fleet reconciles the hours of the cards with those that were charged.
type Fleet struct {
	Store    FleetStore
	Zone     *time.Location
	Now      func() time.Time
	Clusters func() []string // that are looked after now
}

// Count takes down what a cluster is seen to have.
func (f *Fleet) Count(ctx context.Context, s Sample) error { return f.Store.CountFleet(ctx, s, f.Zone) }

// Reconciliation is a month of the fleet, day by day.
type Reconciliation struct {
	Month      Month
	Days       []FleetDay      // by day, cluster, model
	Reconciled []ReconciledDay // by day, cluster: what was held of it, and what was charged
}

// Total is the sum of all days.
func (r Reconciliation) Total() (t FleetTime) {
	for _, d := range r.Days {
		t = t.Add(d.FleetTime)
	}
	return t
}

// By sums up by a key, in the order of the keys.
func (r Reconciliation) By(key func(FleetDay) string) []FleetDay {
	at := map[string]int{}
	var sums []FleetDay
	for _, d := range r.Days {
		k := key(d)
		n, ok := at[k]
		if !ok {
			n = len(sums)
			at[k] = n
			sums = append(sums, FleetDay{Day: d.Day, Cluster: d.Cluster, Model: d.Model})
		}
		sums[n].FleetTime = sums[n].Add(d.FleetTime)
	}
	slices.SortFunc(sums, func(a, b FleetDay) int { return strings.Compare(key(a), key(b)) })
	return sums
}

// Reconciliation is a month as far as it is over. It is for those who see everybody's usage; for others it does not
// exist. While a cluster is away, the time since it was seen last is unknown already.
func (f *Fleet) Reconciliation(ctx context.Context, a identity.Actor, m Month) (Reconciliation, error) {
	if err := identity.Known(a); err != nil {
		return Reconciliation{}, err
	}
	whole, now := m.Span(f.Zone), f.Now()
	if !slices.Contains(Scopes(a), All) || whole.From.After(now) {
		return Reconciliation{}, fault.New(fault.NotFound, i18n.T("usage.not_found"))
	}
	from, until := whole.From.Format(time.DateOnly), whole.Until.Format(time.DateOnly)
	days, samples, err := f.Store.Fleet(ctx, from, until)
	if err != nil {
		return Reconciliation{}, err
	}
	for _, s := range samples {
		if now.Sub(s.At) <= LostFor || !slices.Contains(f.Clusters(), s.Cluster) {
			continue
		}
		for _, d := range CountFleet(s, now, f.Zone) {
			if d.Day >= from && d.Day < until {
				days = append(days, d)
			}
		}
	}
	span := whole.To(now)
	charges, err := f.Store.Charges(ctx, span)
	if err != nil {
		return Reconciliation{}, err
	}
	r := Reconciliation{Month: m, Days: days, Reconciled: reconcile(days, ChargedDays(charges, span, f.Zone))}
	r.Days = r.By(func(d FleetDay) string { return d.Day + "\x00" + d.Cluster + "\x00" + d.Model })
	return r, nil
}
