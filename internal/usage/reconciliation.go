package usage

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// ReconciledDay lays what the portal's workloads were seen to hold beside what was metered for them. Both come from
// looking at pods, but not from the same looks: cards are counted when the cluster is looked at as a whole, and the
// meter of a workload begins and ends when its own pod is seen to come and go.
type ReconciledDay struct {
	Day     string
	Cluster string
	Held    CardTime // seen on cards
	Charged CardTime // metered
	Unknown CardTime // metered as unknown, and so not charged
	Unseen  CardTime // metered while nobody looked at the cards, so that it is not in Held
}

// Difference is what was held and not charged; negative where more was charged.
func (m ReconciledDay) Difference() CardTime { return m.Held - m.Charged }

// Rest is what of the difference no reason accounts for: the two are seen some seconds apart, sizes say which part of a
// card they are in rounded numbers, and may say it wrongly.
func (m ReconciledDay) Rest() CardTime { return m.Difference() - m.Unknown + m.Unseen }

// ReconciliationTolerance is the share of what was held that charges may differ by before somebody should look. Pods
// and cards are watched independently of each other, so that some of it is expected. The number is a choice of the
// portal and no standard.
const ReconciliationTolerance = 0.05

// WithinTolerance reports whether nobody has to look into the difference.
func (m ReconciledDay) WithinTolerance() bool {
	return math.Abs(m.Difference().Hours()) <= ReconciliationTolerance*m.Held.Hours()
}

// Add is the sum.
func (m ReconciledDay) Add(n ReconciledDay) ReconciledDay {
	m.Held, m.Charged, m.Unknown, m.Unseen = m.Held+n.Held, m.Charged+n.Charged, m.Unknown+n.Unknown, m.Unseen+n.Unseen
	return m
}

// reconcile brings days and charges together, by cluster and day.
func reconcile(days []FleetDay, charged []ChargedDay) []ReconciledDay {
	type key struct{ day, cluster string }
	at := map[key]*ReconciledDay{}
	silent := map[key]CardTime{}
	of := func(day, cluster string) *ReconciledDay {
		k := key{day, cluster}
		if at[k] == nil {
			at[k] = &ReconciledDay{Day: day, Cluster: cluster}
		}
		return at[k]
	}
	for _, d := range days {
		of(d.Day, d.Cluster).Held += d.Ours
		silent[key{d.Day, d.Cluster}] += d.FleetTime.Unknown
	}
	for _, c := range charged {
		m := of(c.Day, c.Cluster)
		m.Charged, m.Unknown = m.Charged+c.Charged, m.Unknown+c.Unknown
	}
	list := make([]ReconciledDay, 0, len(at))
	for k, m := range at {
		m.Unseen = max(0, m.Charged+m.Unknown-m.Held)
		if dark, counted := silent[k]; counted { // on other days nobody looked at the cards at all
			m.Unseen = min(m.Unseen, dark)
		}
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b ReconciledDay) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Cluster, b.Cluster))
	})
	return list
}

// ReconciledTotal is the sum of all days.
func (r Reconciliation) ReconciledTotal() (m ReconciledDay) {
	for _, d := range r.Reconciled {
		m = m.Add(d)
	}
	return m
}

// ReconciledDays are the days of all clusters together.
func (r Reconciliation) ReconciledDays() (days []ReconciledDay) {
	for _, m := range r.Reconciled {
		if n := len(days); n > 0 && days[n-1].Day == m.Day {
			days[n-1] = days[n-1].Add(m)
			continue
		}
		m.Cluster = ""
		days = append(days, m)
	}
	return days
}
