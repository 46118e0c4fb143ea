package usage

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// DailyCost is what one day cost, by group: a team, a person, a size or a workload, as Groupings have them.
type DailyCost struct {
	Day  Span // ends at midnight, or now
	Cost map[string]Money
}

func (d DailyCost) add(group string, m Money) {
	if sum := d.Cost[group].Add(m); sum.Minor != 0 {
		d.Cost[group] = sum
	} else {
		delete(d.Cost, group)
	}
}

// Days cuts a span at every midnight of a zone.
func (s Span) Days(zone *time.Location) (days []Span) {
	for at := s.From; at.Before(s.Until); {
		next := earlier(NextDay(at, zone), s.Until)
		days = append(days, Span{at, next})
		at = next
	}
	return days
}

// heldByDay is how long each line of the meter was held on each day.
func heldByDay(days []Span, intervals []Interval) map[useKey][]time.Duration {
	held := map[useKey][]time.Duration{}
	for _, i := range intervals {
		key := useKey{i.Workload, i.Tenant, i.Size, i.PerHour}
		line := held[key]
		if line == nil {
			line = make([]time.Duration, len(days))
			held[key] = line
		}
		from, _ := slices.BinarySearchFunc(days, i.From, func(d Span, at time.Time) int {
			if d.Until.After(at) {
				return 1
			}
			return -1
		})
		for d := from; d < len(days); d++ {
			until := i.Until
			if until.IsZero() {
				until = days[d].Until
			}
			if !days[d].From.Before(until) {
				break
			}
			line[d] += i.times(days[d].overlap(i.From, until))
		}
	}
	return held
}

// dailyCosts are the costs of what is metered by the hour: each line of the statement, rounded as all are (see Use).
func (s Statement) dailyCosts(days []Span, intervals []Interval, group func(Line) string, currency string) []DailyCost {
	costs := make([]DailyCost, len(days))
	for d := range days {
		costs[d] = DailyCost{Day: days[d], Cost: map[string]Money{}}
	}
	held := heldByDay(days, intervals)
	for _, l := range s.Lines {
		if l.Monthly() || l.PerHour.Currency != currency {
			continue
		}
		key, u := group(l), l.Use
		for d, on := range held[useKey{l.Workload, l.Tenant, l.Size, l.PerHour}] {
			if u.Held = on; on > 0 {
				costs[d].add(key, u.Cost())
			}
			u.Before += on
		}
	}
	return costs
}

// addMonthly adds the lines of storage and seats on the days.
func addMonthly(costs []DailyCost, group func(Line) string, currency string, lines func(Span) []Line) {
	for _, day := range costs {
		for _, l := range lines(day.Day) {
			if c := l.Cost(); c.Currency == currency {
				day.add(group(l), c)
			}
		}
	}
}

// rest makes the last day what the days before it leave of the groups of a statement, so that the days always add up to
// them.
func rest(closed []DailyCost, last Span, groups []Sum, currency string) []DailyCost {
	today := DailyCost{Day: last, Cost: map[string]Money{}}
	for _, g := range groups {
		for _, c := range g.Cost {
			if c.Currency == currency && c.Minor != 0 {
				today.add(g.Key, c)
			}
		}
	}
	for _, day := range closed {
		for key, c := range day.Cost {
			today.add(key, Money{Minor: -c.Minor, Currency: c.Currency})
		}
	}
	return append(slices.Clone(closed), today)
}

// Daily is what each day of a statement cost in a currency, oldest first, by one of the Groupings. Days without cost
// are there as well. The days add up to the statement; see DailyTTL for how old all but the last may be.
func (s *Service) Daily(ctx context.Context, a identity.Actor, scope Scope, st Statement, by,
	currency string) ([]DailyCost, error) {
	f, err := s.filter(a, scope)
	if err != nil {
		return nil, err
	}
	group, ok := Groupings[by]
	if !ok {
		return nil, fault.New(fault.Invalid, i18n.T("usage.by_invalid", "By", by))
	}
	days := st.Span.Days(s.Zone)
	if len(days) == 0 {
		return nil, nil
	}
	last := days[len(days)-1]
	f.Span, f.Month = Span{st.Span.From, last.From}, st.Month
	key := strings.Join([]string{f.Owner, strings.Join(f.Tenants, "\x00"), string(scope), by, currency,
		last.From.Format(time.RFC3339)}, "\x01")
	closed, err := s.daily.get(key, s.Now(), func() ([]DailyCost, error) {
		return s.closedDays(ctx, f, st, days[:len(days)-1], group, currency)
	})
	if err != nil {
		return nil, err
	}
	return rest(closed, last, st.Grouped(by), currency), nil
}

func (s *Service) closedDays(ctx context.Context, f Filter, st Statement, days []Span, group func(Line) string,
	currency string) ([]DailyCost, error) {
	if len(days) == 0 {
		return nil, nil
	}
	intervals, err := s.Store.MeteredIntervals(ctx, f)
	if err != nil {
		return nil, err
	}
	costs := st.dailyCosts(days, intervals, group, currency)
	if s.Prices == nil {
		return costs, nil
	}
	list, site := s.Prices.List(), s.Prices.Currency()
	if _, priced := list.First(PriceStorage); priced {
		kept, err := s.Store.StorageIntervals(ctx, f)
		if err != nil {
			return nil, err
		}
		addMonthly(costs, group, currency, func(day Span) []Line { return list.Storage(kept, day, site) })
	}
	if first, priced := list.First(PriceSeat); priced {
		held, err := s.Store.SeatIntervals(ctx, f, first)
		if err != nil {
			return nil, err
		}
		addMonthly(costs, group, currency, func(day Span) []Line { return list.Seats(held, day, site) })
	}
	return costs, nil
}

// DailyTTL is how long the costs of days that are over are remembered. They change only where a cluster tells late when
// something ended; until then the last day shows the difference.
const DailyTTL = 10 * time.Minute

// dailyMost bounds how many answers are remembered: those of a month for some readers.
const dailyMost = 128

// dailyCache remembers days that are over.
type dailyCache struct {
	mu    sync.Mutex
	known map[string]dailyEntry
}

type dailyEntry struct {
	until time.Time
	costs []DailyCost
}

func (c *dailyCache) get(key string, now time.Time, read func() ([]DailyCost, error)) ([]DailyCost, error) {
	c.mu.Lock()
	e, ok := c.known[key]
	c.mu.Unlock()
	if ok && now.Before(e.until) {
		return e.costs, nil
	}
	costs, err := read()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= dailyMost || c.known == nil {
		c.known = map[string]dailyEntry{}
	}
	c.known[key] = dailyEntry{now.Add(DailyTTL), costs}
	return costs, nil
}

// paceDays is how much of the days before now says what the days to come cost: a week has one of each day.
const paceDays = 7

// Pace is what an hour cost in the last seven days before today and today so far, in minor units of their currency.
// False before a whole day is over.
func Pace(days []DailyCost) (perHour float64, known bool) {
	if len(days) < 2 {
		return 0, false
	}
	recent, total := days[max(0, len(days)-1-paceDays):], Money{}
	for _, day := range recent {
		for _, c := range day.Cost {
			total = total.Add(c)
		}
	}
	return float64(total.Minor) / recent[len(recent)-1].Day.Until.Sub(recent[0].Day.From).Hours(), true
}

// Expected is what a statement comes to when its month ends and the days to come cost as the last seven did. False for
// a month that is over, and before a whole day is.
func (s Statement) Expected(days []DailyCost) (Money, bool) {
	pace, known := Pace(days)
	if s.Final() || !known {
		return Money{}, false
	}
	total := Money{}
	for _, day := range days {
		for _, c := range day.Cost {
			total = total.Add(c)
		}
	}
	ahead := pace * s.Whole.Until.Sub(s.Span.Until).Hours()
	return Money{Minor: total.Minor + int64(math.Round(ahead)), Currency: total.Currency}, total.Currency != ""
}
