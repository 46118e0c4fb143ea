package usage

import (
	"fmt"
	"strconv"
	"time"
)

// Money is an amount in minor units of one currency (cents, yen, fils; see Digits). Amounts of different currencies are
// never added.
type Money struct {
	Minor    int64  `json:"minor"`
	Currency string `json:"currency"`
}

// String is the plain form "12.40 EUR"; pages format by language.
func (m Money) String() string { return m.Amount() + " " + m.Currency }

// Amount is the number alone with the digits of its currency: "12.40", "500" of JPY, "0.125" of KWD.
func (m Money) Amount() string {
	sign, v := "", uint64(m.Minor)
	if m.Minor < 0 {
		sign, v = "-", -v
	}
	digits, units := Digits(m.Currency), uint64(Units(m.Currency))
	if digits == 0 {
		return sign + strconv.FormatUint(v, 10)
	}
	return fmt.Sprintf("%s%d.%0*d", sign, v/units, digits, v%units)
}

// Float is the amount in the currency's unit, for rules and pictures; sums are made of minor units.
func (m Money) Float() float64 { return float64(m.Minor) / float64(Units(m.Currency)) }

// Add is the sum. Adding to the zero Money gives the other; adding different currencies panics, it is a slip in code.
func (m Money) Add(n Money) Money {
	switch {
	case m.Currency == "":
		return n
	case n.Currency == "":
		return m
	case m.Currency != n.Currency:
		panic("usage: adding " + m.Currency + " and " + n.Currency)
	}
	return Money{Minor: m.Minor + n.Minor, Currency: m.Currency}
}

// For is the price of a stretch of time at this price per hour, rounded half up to the minor unit.
func (m Money) For(d time.Duration) Money {
	if d < 0 {
		d = 0
	}
	seconds := int64(d / time.Second)
	return Money{Minor: (m.Minor*seconds + 1800) / 3600, Currency: m.Currency}
}

// Interval is a stretch of time in which a workload held its size. Until is zero while it still does.
type Interval struct {
	Workload string
	Tenant   string
	Size     string
	PerHour  Money
	From     time.Time
	Until    time.Time
	Then     *Interval // in a change of the meter: what begins where this one ends. Never set in what a store gives
	Seats    Seats     // license seats that were held with it; zero for none
	Parts    int64     // of cards that were held, by all replicas together, see Parts; 0 without a GPU
	Replicas int64     // of the size that were held at a time; 0 where it was one
	// after Until: up to here nobody can tell whether it was still held, see LostFor. It is not charged. Zero: no such
	// time
	UnknownUntil time.Time
}

// Count is how many of the size were held at a time, at least one.
func (i Interval) Count() int64 { return max(1, i.Replicas) }

// times is time that all replicas held it, added up: two of them for an hour are two hours.
func (i Interval) times(d time.Duration) time.Duration { return time.Duration(i.Count()) * d }

// Cost is what the intervals cost up to now: time is added per line of the ledger first, so that many short ones do not
// gather rounding. It is what the statements of all months add up to.
func Cost(intervals []Interval, now time.Time) Money {
	var total Money
	if len(intervals) == 1 { // most have one, and lists are sorted by what it costs
		if u, ok := soleUse(&intervals[0], Span{Until: now}); ok {
			total = u.Cost()
		}
	} else {
		for _, u := range Uses(intervals, Span{Until: now}) {
			total = total.Add(u.Cost())
		}
	}
	if total.Currency == "" && len(intervals) > 0 {
		total.Currency = intervals[0].PerHour.Currency
	}
	return total
}
