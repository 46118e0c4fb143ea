package usage

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"
)

// volumeKey keeps storage apart from workloads where a statement is grouped by them.
const volumeKey = "volume:"

// StorageSize is the name that storage has among sizes.
const StorageSize = "storage"

// MonthHours is the length of the month that prices of storage and seats are for: a twelfth of a year.
const MonthHours = 730

const billingMonth = MonthHours * time.Hour

// StorageInterval is a stretch of time in which storage of one size was there, used or not. Until is zero while it
// still is. It has no price: the list knows what counted when.
type StorageInterval struct {
	Volume    string
	Tenant    string
	Owner     string // id of the person
	OwnerName string
	GiB       int64
	From      time.Time
	Until     time.Time
}

// GiBTime is GiB times milliseconds: an int64 holds a month of 3 EiB, more than the storage of a statement adds up to.
type GiBTime int64

// Months are GiB-months of 730 hours.
func (t GiBTime) Months() float64 { return float64(t) / float64(billingMonth.Milliseconds()) }

// GiBTime is how much storage was held for how long; 0 for what is none. It is rounded as cost is, by what was held up
// to the end of the span less what had been held before it, so that parts add up to the whole.
func (u Use) GiBTime() GiBTime {
	return GiBTime(u.GiB * ((u.Before + u.Held).Milliseconds() - u.Before.Milliseconds()))
}

// monthlyCost is what is priced by the month costs that was held for so long, in minor units, rounded half up.
func (u Use) monthlyCost(held time.Duration) int64 { return u.Rate.monthly(u.GiB+u.Seats.Count, held) }

// monthly is what so many units for so long cost at a rate for a month of 730 hours, in minor units, rounded half up.
func (m UnitPrice) monthly(units int64, held time.Duration) int64 {
	millis := new(big.Int).Mul(big.NewInt(units), big.NewInt(int64(m)))
	exact := millis.Mul(millis, big.NewInt(held.Microseconds()))
	unit := big.NewInt(billingMonth.Microseconds() * 1000)
	exact.Add(exact, new(big.Int).Rsh(unit, 1))
	return exact.Div(exact, unit).Int64()
}

// Storage cuts what was kept to a span and at every change of its price; what the list has no price for is no line. A
// line is rounded as all are: see Use.
func (l PriceList) Storage(kept []StorageInterval, s Span, currency string) []Line {
	lines := monthly{list: l, span: s, lines: map[monthlyKey]*Line{}}
	for _, k := range kept {
		lines.add(PriceStorage, "", k.From, k.Until,
			Line{Use: Use{Tenant: k.Tenant, Size: StorageSize, PerHour: Money{Currency: currency}, Volume: k.Volume, GiB: k.GiB},
				Name: k.Volume, Owner: k.Owner,
				OwnerName: k.OwnerName, SizeTitle: StorageSize, Kind: Kind{Technology: StorageSize, Known: true}})
	}
	return lines.sorted()
}

// monthly gathers lines of what is priced by the month.
type monthly struct {
	list  PriceList
	span  Span
	lines map[monthlyKey]*Line
}

type monthlyKey struct {
	workload, volume, tenant, owner string
	gib                             int64
	seats                           Seats
	rate                            UnitPrice
}

// add adds a stretch to a line, at every price that it had. What is still held is so until the end of
// the span.
func (m monthly) add(kind PriceKind, subject string, from, until time.Time, of Line) {
	if until.IsZero() {
		until = later(from, m.span.Until)
	}
	past := Span{Until: m.span.From}
	for at := from; at.Before(until); {
		end := m.list.Change(at)
		if end.IsZero() || end.After(until) {
			end = until
		}
		if p, ok := m.list.find(kind, subject, of.Tenant, at); ok {
			key := monthlyKey{of.Workload, of.Volume, of.Tenant, of.Owner, of.GiB, of.Seats, p.Rate}
			line := m.lines[key]
			if line == nil {
				begun := of
				begun.Rate = p.Rate
				line = &begun
				m.lines[key] = line
			}
			line.Before += past.overlap(at, end)
			line.Held += m.span.overlap(at, end)
			line.OwnerName = of.OwnerName
		}
		at = end
	}
}

// sorted are the lines of which something was held in the span.
func (m monthly) sorted() []Line {
	list := make([]Line, 0, len(m.lines))
	for _, line := range m.lines {
		if line.Held > 0 {
			list = append(list, *line)
		}
	}
	slices.SortFunc(list, func(a, b Line) int {
		return cmp.Or(compareUses(a.Use, b.Use),
			strings.Compare(a.Owner, b.Owner))
	})
	return list
}
