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

// billingMonth is what a storage price is for, a twelfth of a year.
const billingMonth = 730 * time.Hour

// Kept is a stretch of time in which storage of one size was there, used or not. Until is zero while it still is. It has no price: the list knows what counted when.
type Kept struct {
	Volume    string
	Tenant    string
	Owner     string // id of the person
	OwnerName string
	GiB       int64
	From      time.Time
	Until     time.Time
}

// GiBTime is GiB times microseconds: a month of a thousand TiB is 10^18, so an int64 is enough for what a statement adds up.
type GiBTime int64

// Months are GiB-months of 730 hours.
func (t GiBTime) Months() float64 { return float64(t) / float64(billingMonth.Microseconds()) }

// GiBTime is how much storage was held for how long; 0 for what is none.
func (u Use) GiBTime() GiBTime { return GiBTime(u.GiB * u.Held.Microseconds()) }

// storageCost is what storage costs that was held for so long, in minor units, rounded half up.
func (u Use) storageCost(held time.Duration) int64 {
	mills := new(big.Int).Mul(big.NewInt(u.GiB), big.NewInt(int64(u.Rate)))
	exact := mills.Mul(mills, big.NewInt(held.Microseconds()))
	unit := big.NewInt(billingMonth.Microseconds() * 1000)
	exact.Add(exact, new(big.Int).Rsh(unit, 1))
	return exact.Div(exact, unit).Int64()
}

// Storage cuts what was kept to a span and at every change of its price; what the list has no price for is no line. A line is rounded as all are: see Use.
func (l PriceList) Storage(kept []Kept, s Span, currency string) []Line {
	type lineKey struct {
		volume, tenant, owner string
		gib                   int64
		rate                  Mills
	}
	lines, past := map[lineKey]*Line{}, Span{Until: s.From}
	for _, k := range kept {
		until := k.Until
		if until.IsZero() {
			until = later(k.From, s.Until)
		}
		for at := k.From; at.Before(until); {
			end := l.Change(at)
			if end.IsZero() || end.After(until) {
				end = until
			}
			if p, ok := l.find(PriceStorage, "", k.Tenant, at); ok {
				key := lineKey{k.Volume, k.Tenant, k.Owner, k.GiB, p.Rate}
				if lines[key] == nil {
					lines[key] = &Line{Use: Use{Tenant: k.Tenant, Size: StorageSize, PerHour: Money{Currency: currency}, Volume: k.Volume, GiB: k.GiB, Rate: p.Rate}, Name: k.Volume, Owner: k.Owner,
						SizeTitle: StorageSize, Kind: Kind{Technology: StorageSize, Known: true}}
				}
				lines[key].Before += past.overlap(at, end)
				lines[key].Held += s.overlap(at, end)
				lines[key].OwnerName = k.OwnerName
			}
			at = end
		}
	}
	list := make([]Line, 0, len(lines))
	for _, line := range lines {
		if line.Held > 0 {
			list = append(list, *line)
		}
	}
	slices.SortFunc(list, func(a, b Line) int { return cmp.Or(compareUses(a.Use, b.Use), strings.Compare(a.Owner, b.Owner)) })
	return list
}
