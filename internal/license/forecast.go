package license

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// Span is a stretch of time in which a workload held seats on a node, as it was metered. Until is zero while it goes
// on.
type Span struct {
	Workload string
	Name     string
	Tenant   string
	Seats    int    // that it takes alone
	Group    string // with whom it holds them together, at most Most of them; see Pool.Shared
	Most     int
	From     time.Time
	Until    time.Time
}

// MinDays is how many whole days of history a trend needs; below it the future is not known.
const MinDays = 14

// furthest is how far a trend is drawn out: beyond it the answer is "not in sight".
const furthest = 365

// Forecast is the expected use of a pool's seats, by its metered past.
type Forecast struct {
	From, To time.Time
	Days     int // whole days of history in it
	Peak     Peak
	// Week is the mean number of seats by weekday (Sunday first) and hour; HoursSeen says how many such hours there were,
	// and no hour, no mean.
	Week      [7][24]float64
	HoursSeen [7][24]int
	// FullIn is in how many days the daily peak reaches the pool at the present trend. FullKnown is false with less than
	// MinDays of history; NotInSight when the trend does not get there within a year.
	FullIn     int
	FullKnown  bool
	NotInSight bool
	// Expires is the first end of an entitlement after which fewer seats are left than are taken now; zero for none.
	Expires   time.Time
	LeftAfter int // seats after that end
}

// Peak is the most seats that were held at once, when that began, and who held them.
type Peak struct {
	Seats   int
	At      time.Time
	Holders []Span
}

// soonDays is how many days before a pool is used up somebody should know: time to order seats.
const soonDays = 30

// UsedUpSoon reports whether the trend uses the pool up within 30 days.
func (f Forecast) UsedUpSoon() bool { return f.FullKnown && !f.NotInSight && f.FullIn <= soonDays }

// NewForecast works out a forecast of a pool from its metered past. Hours and weekdays are those of the place.
func NewForecast(p Pool, spans []Span, entitlements []Entitlement, taken int, now time.Time,
	place *time.Location) Forecast {
	f := Forecast{To: now}
	spans = slices.DeleteFunc(slices.Clone(spans), func(s Span) bool {
		return s.Seats <= 0 || !s.From.Before(now) || !s.Until.IsZero() && !s.From.Before(s.Until)
	})
	for i := range spans {
		if spans[i].Until.IsZero() || spans[i].Until.After(now) {
			spans[i].Until = now
		}
		if f.From.IsZero() || spans[i].From.Before(f.From) {
			f.From = spans[i].From
		}
	}
	if len(spans) > 0 {
		f.Days = int(now.Sub(f.From) / (24 * time.Hour))
		held := together(spans)
		f.Peak = peakOf(held, spans)
		f.week(held, place)
		f.trend(p, held)
	}
	f.ends(entitlements, p.Name, taken, now)
	return f
}

type step struct {
	at   time.Time
	more int
}

// steps are the changes of the number of seats, in order; at one moment what ends comes first.
func steps(spans []Span) []step {
	list := make([]step, 0, 2*len(spans))
	for _, s := range spans {
		list = append(list, step{s.From, s.Seats}, step{s.Until, -s.Seats})
	}
	slices.SortFunc(list, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.more, b.more)) })
	return list
}

// together are the seats that spans hold, those of a group as one span wherever their number changes.
func together(spans []Span) (list []Span) {
	groups := map[string][]Span{}
	for _, s := range spans {
		if s.Group == "" {
			list = append(list, s)
		} else {
			groups[s.Group] = append(groups[s.Group], s)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		list = append(list, union(groups[group])...)
	}
	return list
}

// union is what the spans of one group hold at a time: at most its limit.
func union(spans []Span) (list []Span) {
	var borders []time.Time
	for _, s := range spans {
		borders = append(borders, s.From, s.Until)
	}
	slices.SortFunc(borders, time.Time.Compare)
	borders = slices.CompactFunc(borders, time.Time.Equal)
	slices.SortFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	var active []Span
	for n := range len(borders) - 1 {
		from := borders[n]
		active = slices.DeleteFunc(active, func(s Span) bool { return !from.Before(s.Until) })
		for len(spans) > 0 && !spans[0].From.After(from) {
			active, spans = append(active, spans[0]), spans[1:]
		}
		if seats := limited(active); seats > 0 {
			list = append(list, Span{Seats: seats, From: from, Until: borders[n+1]})
		}
	}
	return list
}

func limited(active []Span) (seats int) {
	most := 0
	for _, s := range active {
		seats, most = seats+s.Seats, max(most, s.Most)
	}
	if most > 0 {
		return min(seats, most)
	}
	return seats
}

// peakOf is the most seats that were held, and the spans that did.
func peakOf(held, spans []Span) Peak {
	var p Peak
	now := 0
	for _, s := range steps(held) {
		if now += s.more; now > p.Seats {
			p.Seats, p.At = now, s.at
		}
	}
	for _, s := range spans {
		if !s.From.After(p.At) && s.Until.After(p.At) {
			p.Holders = append(p.Holders, s)
		}
	}
	slices.SortFunc(p.Holders, func(a, b Span) int {
		return cmp.Or(-cmp.Compare(a.Seats, b.Seats), cmp.Compare(a.Workload, b.Workload))
	})
	return p
}

// week adds up seat-hours by hour of the week. The first and the last hour are counted in part.
func (f *Forecast) week(spans []Span, place *time.Location) {
	var hours [7][24]time.Duration
	each := func(from, until time.Time, add func(day, hour int, long time.Duration)) {
		for at := from; at.Before(until); {
			next := at.Truncate(time.Hour).Add(time.Hour)
			if next.After(until) {
				next = until
			}
			local := at.In(place)
			add(int(local.Weekday()), local.Hour(), next.Sub(at))
			at = next
		}
	}
	var held [7][24]float64
	each(f.From, f.To, func(d, h int, long time.Duration) { hours[d][h] += long; f.HoursSeen[d][h]++ })
	for _, s := range spans {
		each(s.From, s.Until, func(d, h int, long time.Duration) { held[d][h] += float64(s.Seats) * long.Hours() })
	}
	for d := range hours {
		for h := range hours[d] {
			if hours[d][h] > 0 {
				f.Week[d][h] = held[d][h] / hours[d][h].Hours()
			}
		}
	}
}

// trend is a straight line through the peaks of whole days, by least squares.
func (f *Forecast) trend(p Pool, spans []Span) {
	if f.Days < MinDays || p.Unknown || p.Seats <= 0 {
		return
	}
	f.FullKnown = true
	peaks := make([]float64, f.Days)
	begin := f.To.Add(-time.Duration(f.Days) * 24 * time.Hour)
	all, at, now := steps(spans), 0, 0
	for d := range peaks {
		end := begin.Add(time.Duration(d+1) * 24 * time.Hour)
		for at < len(all) && !all[at].at.After(begin.Add(time.Duration(d)*24*time.Hour)) {
			now += all[at].more
			at++
		}
		most := now
		for at < len(all) && all[at].at.Before(end) {
			now += all[at].more
			most = max(most, now)
			at++
		}
		peaks[d] = float64(most)
	}
	slope, last := line(peaks)
	switch {
	case last >= float64(p.Seats):
		f.FullIn = 0
	case slope <= 0 || (float64(p.Seats)-last)/slope > furthest:
		f.NotInSight = true
	default:
		f.FullIn = int(math.Ceil((float64(p.Seats) - last) / slope))
	}
}

// line gives slope and last value of the least-squares line through values one apart.
func line(values []float64) (slope, last float64) {
	n := float64(len(values))
	var sx, sy, sxx, sxy float64
	for i, y := range values {
		x := float64(i)
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	slope = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return slope, (sy-slope*sx)/n + slope*(n-1)
}

func (f *Forecast) ends(list []Entitlement, pool string, taken int, now time.Time) {
	for _, e := range Ends(list, pool, now) {
		if left := Total(list, pool, e.Until); left < taken {
			f.Expires, f.LeftAfter = e.Until, left
			return
		}
	}
}
