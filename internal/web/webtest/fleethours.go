package webtest

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Fleet is what the cards did, as a test wrote it down.
type Fleet struct {
	Days    []usage.FleetDay
	Samples []usage.Sample
	Metered map[string][]usage.Interval // by cluster
}

// CountFleet implements usage.FleetStore; nothing is looked at here.
func (f *Fleet) CountFleet(context.Context, usage.Sample, *time.Location) error { return nil }

// Fleet implements usage.FleetStore.
func (f *Fleet) Fleet(_ context.Context, from, until string) (days []usage.FleetDay, _ []usage.Sample, _ error) {
	for _, d := range f.Days {
		if d.Day >= from && d.Day < until {
			days = append(days, d)
		}
	}
	return days, f.Samples, nil
}

// Charges implements usage.FleetStore.
func (f *Fleet) Charges(_ context.Context, s usage.Span) (list []usage.Charge, _ error) {
	for cluster, intervals := range f.Metered {
		for _, i := range intervals {
			list = append(list, usage.Charges(cluster, i, s)...)
		}
	}
	return list, nil
}

// Counted fills three weeks of a fleet of two models: busier from day to day, with a day on which nobody looked, and a
// card that is ill. What was held is charged, but for an hour in which a workload went while the cluster was away;
// while nobody looked, it was charged all the same.
func (f *Fleet) Counted() {
	f.Metered = map[string][]usage.Interval{}
	for n := range int64(21) {
		day := Now.AddDate(0, 0, int(n)-20).Format(time.DateOnly)
		h100 := usage.FleetTime{Physical: usage.CardHours(16 * 24), Ours: usage.CardHours(90 + 9*n),
			Others: usage.CardHours(24), Broken: usage.CardHours(24), Free: usage.CardHours(16*24 - 138 - 9*n)}
		// one card is offered by nobody
		l40 := usage.FleetTime{Physical: usage.CardHours(4 * 24), Ours: usage.CardHours(3 * n),
			Free: usage.CardHours(72 - 3*n)}
		if n == 9 {
			h100, l40 = usage.FleetTime{Physical: h100.Physical, Unknown: h100.Physical}, usage.FleetTime{Physical: l40.Physical,
				Unknown: l40.Physical}
		}
		begin := time.Date(Now.Year(), Now.Month(), Now.Day()+int(n)-20, 0, 0, 0, 0, time.UTC)
		hold := func(cluster string, hours int64) {
			f.Metered[cluster] = append(f.Metered[cluster], usage.Interval{Parts: hours * usage.Parts / 4,
				From: begin.Add(8 * time.Hour), Until: begin.Add(12 * time.Hour)})
		}
		hold("west", 90+9*n)
		hold("east", 3*n)
		if n == 12 {
			gone := &f.Metered["west"][len(f.Metered["west"])-1]
			gone.Until, gone.UnknownUntil = gone.Until.Add(-time.Hour), gone.Until
		}
		f.Days = append(f.Days, usage.FleetDay{Day: day, Cluster: "west", Model: "NVIDIA-H100-80GB-HBM3", FleetTime: h100},
			usage.FleetDay{Day: day, Cluster: "east", Model: "NVIDIA-L40S", FleetTime: l40})
	}
}
