package usage

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// share adds lines for the seats that one group holds together, as PriceList.Seats says.
func (m monthly) share(held []SeatInterval, currency string) {
	pieces := m.list.pieces(held, m.span.Until)
	before, upTo := settleShared(pieces, m.span.From), settleShared(pieces, m.span.Until)
	own := map[monthlyKey]Line{} // by the key of a line without its rate
	for _, h := range held {
		if of := h.line(currency); !h.Sharer {
			own[monthlyKey{workload: h.Workload, tenant: h.Tenant, owner: h.Owner, seats: of.Seats}] = of
		}
	}
	for key, account := range upTo {
		rateless := key
		rateless.rate = 0
		line, found := own[rateless]
		if !found {
			continue
		}
		past := before[key]
		line.Rate, line.Before, line.Held = key.rate, past.held, account.held-past.held
		line.Portion = Portion{Time: account.time - past.time, Minor: account.minor - past.minor}
		m.lines[key] = &line
	}
}

// piece is a stretch of time in which the same workloads held seats of a group, at the same prices.
type piece struct {
	from, until time.Time
	holders     []holder // in the order of compareHolders
	most        int64    // 0: no limit
}

// holder is one workload in a piece. Its key is that of its line.
type holder struct {
	key    monthlyKey
	priced bool
}

func (h holder) count() int64 { return h.key.seats.Count }

func compareHolders(a, b holder) int {
	return cmp.Or(strings.Compare(a.key.workload, b.key.workload), strings.Compare(a.key.tenant, b.key.tenant),
		strings.Compare(a.key.owner, b.key.owner), cmp.Compare(a.count(), b.count()), cmp.Compare(a.key.rate, b.key.rate))
}

// pieces cuts what a group held up to a moment where somebody begins or ends to hold seats, or a price changes. They
// depend on what was held alone, and not on how intervals are cut.
func (l PriceList) pieces(held []SeatInterval, end time.Time) []piece {
	held, borders := l.borders(held, end)
	var list []piece
	var active []SeatInterval
	for n := range len(borders) - 1 {
		from := borders[n]
		active = slices.DeleteFunc(active, func(h SeatInterval) bool { return !from.Before(h.Until) })
		for len(held) > 0 && !held[0].From.After(from) {
			active, held = append(active, held[0]), held[1:]
		}
		next := l.piece(active, from, borders[n+1])
		if last := len(list) - 1; last >= 0 && list[last].goesOn(next) {
			list[last].until = next.until
		} else if slices.ContainsFunc(next.holders, func(h holder) bool { return h.priced }) {
			list = append(list, next)
		}
	}
	return list
}

// borders are the moments at which anything can change, in order, and what was held before the end, by its beginning.
func (l PriceList) borders(all []SeatInterval, end time.Time) (held []SeatInterval, borders []time.Time) {
	for _, h := range all {
		if h.Until.IsZero() || h.Until.After(end) {
			h.Until = end
		}
		if h.From.Before(h.Until) {
			held, borders = append(held, h), append(borders, h.From, h.Until)
		}
	}
	if len(held) == 0 {
		return nil, nil
	}
	slices.SortFunc(held, func(a, b SeatInterval) int { return a.From.Compare(b.From) })
	last := slices.MaxFunc(borders, time.Time.Compare)
	for at := l.Change(held[0].From); !at.IsZero() && at.Before(last); at = l.Change(at) {
		borders = append(borders, at)
	}
	slices.SortFunc(borders, time.Time.Compare)
	return held, slices.CompactFunc(borders, time.Time.Equal)
}

func (l PriceList) piece(active []SeatInterval, from, until time.Time) piece {
	p := piece{from: from, until: until}
	for _, h := range active {
		price, priced := l.find(PriceSeat, h.Seats.Pool, h.Tenant, from)
		p.most = max(p.most, h.Seats.Most)
		h.Seats.Most = 0
		p.holders = append(p.holders, holder{priced: priced,
			key: monthlyKey{workload: h.Workload, tenant: h.Tenant, owner: h.Owner, seats: h.Seats, rate: price.Rate}})
	}
	slices.SortFunc(p.holders, compareHolders)
	return p
}

// goesOn reports whether another piece is the same one, going on.
func (p piece) goesOn(next piece) bool {
	return p.until.Equal(next.from) && p.most == next.most && slices.Equal(p.holders, next.holders)
}

// account is what one line has come to.
type account struct {
	held  time.Duration
	time  time.Duration // of seats
	minor int64
	// owed is what the line's time costs beyond what it was charged, in thousandths of a minor unit times microseconds of
	// a month, see owedUnit. It stays within a few minor units, so that the wrapping arithmetic of int64 gives it exactly
	// although neither of the two fits.
	owed int64
}

// owedUnit is one minor unit in what account.owed counts.
const owedUnit = int64(billingMonth/time.Microsecond) * 1000

// settleShared is what the lines of a group have come to at a moment.
func settleShared(pieces []piece, at time.Time) map[monthlyKey]account {
	accounts, seats := map[monthlyKey]account{}, map[UnitPrice]time.Duration{}
	for _, p := range pieces {
		if !p.from.Before(at) {
			break
		}
		length := earlier(p.until, at).Sub(p.from).Truncate(time.Microsecond)
		times := p.split(length)
		for _, rate := range p.rates() {
			p.charge(rate, times, length, accounts, seats)
		}
	}
	return accounts
}

// rates are those that holders pay, each once.
func (p piece) rates() (list []UnitPrice) {
	for _, h := range p.holders {
		if h.priced && !slices.Contains(list, h.key.rate) {
			list = append(list, h.key.rate)
		}
	}
	slices.Sort(list)
	return list
}

// split is what time of seats each holder is charged for. What does not divide goes to one or another by the place
// where it falls, so that parts always add up to the whole and grow with it.
func (p piece) split(length time.Duration) []time.Duration {
	var all, sum int64
	for _, h := range p.holders {
		all += h.count()
	}
	seats := all
	if p.most > 0 {
		seats = min(seats, p.most)
	}
	upTo := func(count int64) time.Duration {
		high, low := bits.Mul64(uint64(length.Microseconds())*uint64(seats), uint64(count))
		part, _ := bits.Div64(high, low, uint64(all))
		return time.Duration(part) * time.Microsecond
	}
	times := make([]time.Duration, len(p.holders))
	for n, h := range p.holders {
		times[n] = upTo(sum+h.count()) - upTo(sum)
		sum += h.count()
	}
	return times
}

// charge adds a piece to the accounts of those who pay a rate. What their time costs together, rounded as a line of its
// own, is dealt out unit by unit in turns, first to those who are owed most: nobody is ever charged less than before.
func (p piece) charge(rate UnitPrice, times []time.Duration, length time.Duration, accounts map[monthlyKey]account,
	seats map[UnitPrice]time.Duration) {
	var payers []holder
	was := rate.monthly(1, seats[rate])
	for n, h := range p.holders {
		if !h.priced || h.key.rate != rate {
			continue
		}
		payers = append(payers, h)
		seats[rate] += times[n]
		a := accounts[h.key]
		a.held, a.time = a.held+length, a.time+times[n]
		accounts[h.key] = a
	}
	slices.SortStableFunc(payers, func(a, b holder) int {
		return cmp.Compare(accounts[b.key].owed, accounts[a.key].owed)
	})
	units := deal(payers, rate.monthly(1, seats[rate])-was)
	for n, h := range p.holders {
		a := accounts[h.key]
		if at := slices.Index(payers, h); at >= 0 {
			a.minor += units[at]
			a.owed += int64(rate)*times[n].Microseconds() - units[at]*owedUnit
			accounts[h.key] = a
		}
	}
}

// deal gives so many units to holders in turns, to each as often in a round as it has seats.
func deal(payers []holder, units int64) []int64 {
	round := turns(payers)
	given := make([]int64, len(payers))
	full, rest := units/int64(len(round)), units%int64(len(round))
	for n, at := range round {
		given[at] += full
		if int64(n) < rest {
			given[at]++
		}
	}
	return given
}

// turns is one round: the places of holders, those with more seats more often, spread evenly.
func turns(payers []holder) []int {
	type turn struct {
		at   int
		when float64
	}
	var list []turn
	for at, h := range payers {
		for n := range h.count() {
			list = append(list, turn{at, (float64(n) + 0.5) / float64(h.count())})
		}
	}
	slices.SortStableFunc(list, func(a, b turn) int { return cmp.Compare(a.when, b.when) })
	round := make([]int, len(list))
	for n, t := range list {
		round[n] = t.at
	}
	return round
}
