package budget_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// history is some months of a site, by chance: workloads start, are resized, end and are lost sight of, storage grows,
// prices change. What happened is kept apart from what the meter made of it, so that an independent sum can be
// compared.
type history struct {
	t        *testing.T
	r        *rand.Rand
	zone     *time.Location
	currency string
	sizes    []catalog.Size
	list     usage.PriceList
	now      time.Time
	claims   map[string]budget.Claim
	seats    map[string]usage.Seats // those of each workload, with whom it shares them
	seen     map[string]time.Time   // when the cluster last confirmed a workload that holds a GPU
	happened []held
	kept     []usage.StorageInterval
	books    map[budget.Unit]*world
}

// held is a stretch in which a workload really held a size, as far as anybody can tell.
type held struct {
	workload, tenant string
	size             catalog.Size
	seats            usage.Seats
	from, until      time.Time
	unknownUntil     time.Time
}

var agreeZones = []string{"UTC", "Europe/Berlin", "America/Santiago", "Asia/Kolkata", "Pacific/Apia",
	"Australia/Lord_Howe"}

func newHistory(t *testing.T, seed uint64) *history {
	r := rand.New(rand.NewPCG(seed, 133))
	zone, err := time.LoadLocation(agreeZones[r.IntN(len(agreeZones))])
	if err != nil {
		t.Fatal(err)
	}
	currency := []string{"EUR", "JPY", "KWD"}[r.IntN(3)]
	h := &history{t: t, r: r, zone: zone, currency: currency, claims: map[string]budget.Claim{},
		seen:  map[string]time.Time{},
		seats: map[string]usage.Seats{},
		now:   time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC),
		books: map[budget.Unit]*world{}}
	for n, share := range []float64{1, 1. / 7, 0.25, 0} {
		size := catalog.Size{Name: fmt.Sprint("size-", n), CPU: fmt.Sprint(1 + n), Memory: fmt.Sprint(4*(1+n), "Gi"),
			PricePerHour: usage.Money{Minor: int64(r.IntN(2000)), Currency: currency}}
		if share > 0 {
			size.Technology = catalog.MIG
			size.Accelerator = catalog.Accelerator{Model: fmt.Sprint("card-", n%2), Count: 1 + r.IntN(3), Share: share}
		} else {
			size.Technology = catalog.CPUOnly
		}
		h.sizes = append(h.sizes, size)
	}
	for _, unit := range []budget.Unit{budget.Unit(currency), budget.GPUHours} {
		w := newWorld()
		w.now, w.claims, w.service.Zone = h.now, h.claims, zone
		w.service.Money = func() budget.Unit { return budget.Unit(currency) }
		w.service.Prices = func() usage.PriceList { return h.list }
		w.set(t, unit, 1_000_000_000, budget.Approval)
		h.books[unit] = w
	}
	h.claims[budget.VolumeID("vision", "home")] = budget.Claim{Workload: budget.VolumeID("vision", "home"),
		Tenant: "vision",
		Holds:  true, Wanted: true}
	h.grow()
	return h
}

// grow makes the storage, or makes it larger.
func (h *history) grow() {
	gib := int64(1 + h.r.IntN(5000))
	if n := len(h.kept); n > 0 {
		h.kept[n-1].Until = h.now
		gib += h.kept[n-1].GiB
	}
	h.kept = append(h.kept, usage.StorageInterval{Volume: "home", Tenant: "vision", GiB: gib, From: h.now})
	c := h.claims[budget.VolumeID("vision", "home")]
	c.StorageIntervals = slices.Clone(h.kept)
	h.claims[c.Workload] = c
}

// price writes an entry that begins now or later, or ends one now: what has been charged stays so.
func (h *history) price(step int) {
	if n := len(h.list); n > 0 && h.r.IntN(4) == 0 {
		if p := &h.list[h.r.IntN(n)]; p.Until.IsZero() {
			p.Until = h.now
			if p.From.After(h.now) {
				p.Until = p.From // it never counts
			}
		}
		return
	}
	size := h.sizes[h.r.IntN(len(h.sizes))]
	kind := usage.PriceKinds()[h.r.IntN(len(usage.PriceKinds()))]
	subject := map[usage.PriceKind]string{usage.PriceSize: size.Name, usage.PriceCard: size.Accelerator.Model,
		usage.PriceSeat: "vws"}[kind]
	h.list = append(h.list, usage.Price{ID: fmt.Sprint("p-", step), Kind: kind, Subject: subject,
		Tenant: []string{"", "vision", "speech"}[h.r.IntN(3)], Rate: usage.UnitPrice(h.r.IntN(3_000_000)), At: h.now,
		From: h.now.Add(time.Duration(h.r.IntN(2)*h.r.IntN(72*3600)) * time.Second)})
}

// run lets a workload start, be resized, be confirmed, end, or be found gone after the cluster was silent.
func (h *history) run(id, tenant string) {
	c, exists := h.claims[id]
	if !exists || !c.Holds {
		h.begin(id, tenant)
		return
	}
	switch h.r.IntN(5) {
	case 0: // resized, and seen to hold the other size at once
		c.Size = h.sizes[h.r.IntN(len(h.sizes))]
		c.Seats = h.take(id)
		h.claims[id] = c
		h.end(id, h.now)
		h.holds(c, h.now)
		h.look(id, true)
	case 1:
		h.end(id, h.now)
		if silence := h.now.Sub(h.seen[id]); silence > usage.LostFor {
			last := &h.happened[h.last(id)]
			last.until, last.unknownUntil = h.seen[id], h.now
			if last.until.Before(last.from) {
				last.until = last.from
			}
		}
		h.look(id, false)
		c = h.claims[id]
		c.Holds, c.Wanted = false, false
		h.claims[id] = c
	case 2: // nobody looks: the cluster is silent, and what it held is confirmed later, or not
	default:
		h.look(id, true)
	}
}

// take gives a workload seats: of its own, or turns on the vGPUs of a virtual machine that has one of them, or two.
// What it takes alone is what its claim says.
func (h *history) take(id string) usage.Seats {
	taken := []usage.Seats{{}, {Pool: "vws", Count: int64(1 + h.r.IntN(3))},
		{Pool: "vws", Count: 1, Group: "vm-1", Most: 1}, {Pool: "vws", Count: 1, Group: "vm-1", Most: 1},
		{Pool: "vws", Count: 1, Group: "vm-2", Most: 2}}[h.r.IntN(5)]
	h.seats[id] = taken
	return usage.Seats{Pool: taken.Pool, Count: taken.Count}
}

func (h *history) begin(id, tenant string) {
	c := h.claims[id]
	c.Workload, c.Tenant, c.Size, c.Seats = id, tenant, h.sizes[h.r.IntN(len(h.sizes))], h.take(id)
	c.Holds, c.Wanted, c.Placed = true, true, true
	c.From, c.Until = h.now, h.now.Add(time.Duration(1+h.r.IntN(200))*time.Hour)
	h.claims[id] = c
	h.holds(c, h.now)
	h.look(id, true)
}

func (h *history) holds(c budget.Claim, from time.Time) {
	h.happened = append(h.happened, held{workload: c.Workload, tenant: c.Tenant, size: c.Size,
		seats: h.seats[c.Workload], from: from})
}

func (h *history) last(id string) int {
	for n := len(h.happened) - 1; n >= 0; n-- {
		if h.happened[n].workload == id {
			return n
		}
	}
	return -1
}

func (h *history) end(id string, at time.Time) { h.happened[h.last(id)].until = at }

// look is what the controller does whenever it comes by.
func (h *history) look(id string, placed bool) {
	c := h.claims[id]
	intervals := slices.Clone(c.Intervals)
	var open *usage.Interval
	former := usage.SKU{}
	if n := len(intervals); n > 0 && intervals[n-1].Until.IsZero() {
		open = &intervals[n-1]
		for _, size := range h.sizes {
			if size.Name == open.Size {
				former = size.SKU()
				former.Agreed = size.PricePerHour
			}
		}
	}
	change := usage.Meter(open, usage.Allocation{Workload: id, Tenant: c.Tenant, Size: c.Size.Name,
		PerHour: c.Size.PricePerHour,
		Prices:  h.list, SKU: c.Size.SKU(), PreviousSKU: former, Seats: h.seats[id],
		Placed: placed, SeenAt: h.seen[id]}, h.now)
	if change != nil && open != nil {
		*open, change = *change, change.Then
		open.Then = nil
	}
	for ; change != nil; change = change.Then {
		piece := *change
		piece.Then = nil
		intervals = append(intervals, piece)
	}
	c.Intervals = intervals
	h.claims[id] = c
	h.seen[id] = h.now
}

// sharers is what the store gives with the claims.
func (h *history) sharers() usage.Sharers {
	sharers := usage.Sharers{}
	for _, c := range h.claims {
		for _, i := range c.Intervals {
			if group := i.Seats.Group; group != "" {
				sharers[group] = append(sharers[group], i)
			}
		}
	}
	return sharers
}

func (h *history) settle() {
	sharers := h.sharers()
	for id, c := range h.claims {
		c.Sharers = sharers
		h.claims[id] = c
	}
	for _, w := range h.books {
		w.now = h.now
		w.settle(h.t)
	}
}

// play goes on for some months; books are settled when the chore comes by, at least once in each month.
func (h *history) play() (months []usage.Month) {
	months = []usage.Month{usage.MonthOf(h.now, h.zone)}
	for step := range 150 {
		h.now = h.now.Add(time.Duration(h.r.IntN(36*3600)) * time.Second)
		if m := usage.MonthOf(h.now, h.zone); m != months[len(months)-1] {
			months = append(months, m)
			h.settle()
		}
		switch h.r.IntN(5) {
		case 0:
			h.price(step)
		case 1:
			h.grow()
		default:
			id := h.r.IntN(4)
			h.run(fmt.Sprint("w-", id), []string{"vision", "vision", "vision", "speech"}[id])
		}
		if h.r.IntN(2) == 0 {
			h.settle()
		}
	}
	for id, c := range h.claims {
		if len(c.StorageIntervals) == 0 && c.Holds {
			h.look(id, true)
		}
	}
	h.settle()
	return months
}

// charged is what the stretches come to in a month by an independent sum: exact fractions, rounded half up at the
// borders of the month for each line of the ledger. Seats that a machine's turns hold together are one line of the
// machine, for how the minor units of a machine are dealt out is not decided by the exact sum: of one tenant, shared is
// the exact fraction of its lines, and lines how many these are.
func (h *history) charged(month usage.Span, tenant string) (minor int64, partSeconds *big.Int, shared *big.Rat,
	lines int) {
	type line struct {
		workload, kind string
		amount         int64 // GiB or seats; 0 for a size
		rate           string
	}
	rates, before, after := map[line]*big.Rat{}, map[line]*big.Rat{}, map[line]*big.Rat{}
	partSeconds, shared = new(big.Int), new(big.Rat)
	sharing := map[string]bool{}
	add := func(l line, perSecond, weight *big.Rat, from, until time.Time) {
		l.rate = perSecond.RatString()
		rates[l] = perSecond
		for at, sums := range map[time.Time]map[line]*big.Rat{month.From: before, month.Until: after} {
			if sums[l] == nil {
				sums[l] = new(big.Rat)
			}
			end := until
			if at.Before(end) {
				end = at
			}
			if end.After(from) {
				seconds := big.NewRat(int64(end.Sub(from)/time.Second), 1)
				sums[l].Add(sums[l], seconds.Mul(seconds, weight))
			}
		}
	}
	over := func(from, until time.Time, fn func(from, until time.Time)) {
		borders := []time.Time{from, until}
		for _, p := range h.list {
			for _, b := range []time.Time{p.From, p.Until} {
				if b.After(from) && b.Before(until) {
					borders = append(borders, b)
				}
			}
		}
		slices.SortFunc(borders, time.Time.Compare)
		for n := range len(borders) - 1 {
			fn(borders[n], borders[n+1])
		}
	}
	one := big.NewRat(1, 1)
	end := func(until time.Time) time.Time {
		if until.IsZero() {
			return h.now
		}
		return until
	}
	seat := func(s held, rate *big.Rat, from, until time.Time) {
		if s.seats.Group == "" {
			add(line{workload: s.workload, kind: "seats", amount: s.seats.Count},
				new(big.Rat).Mul(rate, big.NewRat(s.seats.Count, 1)), one, from, until)
			return
		}
		h.beside(s, from, until, func(from, until time.Time, there int64) {
			part := big.NewRat(min(s.seats.Most, there), there)
			if tenant == "" {
				add(line{workload: s.seats.Group, kind: "shared"}, rate, part, from, until)
				return
			}
			sharing[s.workload+s.seats.Group+rate.RatString()] = true
			if from, until := later(from, month.From), earlier(until, month.Until); from.Before(until) {
				cost := new(big.Rat).Mul(rate, part)
				shared.Add(shared, cost.Mul(cost, big.NewRat(int64(until.Sub(from)/time.Second), 1)))
			}
		})
	}
	for _, s := range h.happened {
		if tenant != "" && s.tenant != tenant {
			continue
		}
		sku := s.size.SKU()
		sku.Agreed = s.size.PricePerHour
		seconds := min(end(s.until).Unix(), month.Until.Unix()) - max(s.from.Unix(), month.From.Unix())
		if s.size.Technology != catalog.CPUOnly {
			partSeconds.Add(partSeconds, big.NewInt(max(0, seconds)*sku.Parts()))
		}
		over(s.from, end(s.until), func(from, until time.Time) {
			add(line{workload: s.workload, kind: s.size.Name}, big.NewRat(h.list.PerHour(sku, s.tenant, from).Minor, 3600),
				one, from, until)
			if rate, priced := h.monthly(usage.PriceSeat, s.tenant, from); priced && s.seats.Count > 0 {
				seat(s, rate, from, until)
			}
		})
	}
	for _, k := range h.kept {
		over(k.From, end(k.Until), func(from, until time.Time) {
			if rate, priced := h.monthly(usage.PriceStorage, k.Tenant, from); priced && tenant != "speech" {
				add(line{workload: "home", kind: "storage", amount: k.GiB}, new(big.Rat).Mul(rate, big.NewRat(k.GiB, 1)), one,
					from, until)
			}
		})
	}
	for l, rate := range rates {
		minor += halfUp(new(big.Rat).Mul(after[l], rate)) - halfUp(new(big.Rat).Mul(before[l], rate))
	}
	return minor, partSeconds, shared, len(sharing)
}

// beside cuts a stretch at every moment at which somebody comes to its machine or leaves it, with how many are there.
func (h *history) beside(s held, from, until time.Time, fn func(from, until time.Time, there int64)) {
	for at := from; at.Before(until); {
		next, there := until, int64(0)
		for _, o := range h.happened {
			if o.seats.Group != s.seats.Group {
				continue
			}
			last := o.until
			if last.IsZero() {
				last = h.now
			}
			if !o.from.After(at) && last.After(at) {
				there++
			}
			for _, b := range []time.Time{o.from, last} {
				if b.After(at) && b.Before(next) {
					next = b
				}
			}
		}
		fn(at, next, there)
		at = next
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// monthly is the rate of a seat or a GiB for a second, in minor units; false where there is no price. A tenant's own
// goes before the one for all, and of several the one that began last.
func (h *history) monthly(kind usage.PriceKind, tenant string, at time.Time) (*big.Rat, bool) {
	var best *usage.Price
	for n := range h.list {
		p := &h.list[n]
		if p.Kind != kind || p.Tenant != "" && p.Tenant != tenant || at.Before(p.From) ||
			!p.Until.IsZero() && !at.Before(p.Until) {
			continue
		}
		own := best != nil && (p.Tenant != "") != (best.Tenant != "")
		switch {
		case best == nil, own && p.Tenant != "", !own && p.From.After(best.From),
			!own && p.From.Equal(best.From) && p.At.After(best.At):
			best = p
		}
	}
	if best == nil {
		return nil, false
	}
	return big.NewRat(int64(best.Rate), 1000*usage.MonthHours*3600), true
}

func halfUp(exact *big.Rat) int64 {
	twice := new(big.Rat).Add(exact, big.NewRat(1, 2))
	return new(big.Int).Div(twice.Num(), twice.Denom()).Int64()
}

// statement is that of a month, as usage.Service makes it of what a store gives.
func (h *history) statement(m usage.Month) usage.Statement {
	whole := m.Span(h.zone)
	s := usage.Statement{Month: m, Whole: whole, Span: whole.To(h.now)}
	var intervals []usage.Interval
	for _, id := range slices.Sorted(maps.Keys(h.claims)) {
		intervals = append(intervals, h.claims[id].Intervals...)
	}
	for _, use := range usage.Uses(intervals, s.Span) {
		s.Lines = append(s.Lines, usage.Line{Use: use, Name: use.Workload, SizeTitle: use.Size, Devices: 1})
	}
	s.Lines = append(s.Lines, h.list.SeatsOf(intervals, h.sharers(), s.Span, h.currency)...)
	s.Lines = append(s.Lines, h.list.Storage(h.kept, s.Span, h.currency)...)
	s.Sort()
	return s
}

// sumOf adds up a column of amounts of a file, in minor units.
func (h *history) sumOf(write func(io.Writer) error, column string) (sum int64) {
	h.t.Helper()
	var file bytes.Buffer
	if err := write(&file); err != nil {
		h.t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file.String(), "\ufeff"))).ReadAll()
	if err != nil {
		h.t.Fatal(err)
	}
	n := slices.Index(rows[0], column)
	if n < 0 {
		h.t.Fatalf("no column %s in %v", column, rows[0])
	}
	for _, row := range rows[1:] {
		amount, ok := new(big.Rat).SetString(row[n])
		if !ok {
			h.t.Fatalf("%s is %q", column, row[n])
		}
		amount.Mul(amount, big.NewRat(usage.Units(h.currency), 1))
		if !amount.IsInt() {
			h.t.Fatalf("%s: %q is no amount of %s", column, row[n], h.currency)
		}
		sum += amount.Num().Int64()
	}
	return sum
}

// TestMeterStatementFilesAndBooksAgree holds meter, price list, statement, CSV, FOCUS and the books of a budget in
// money and in GPU-hours together: over zones, months, silences of a cluster, resizes, growing storage, seats (also
// those that several share) and prices that change, each month comes to what an independent exact sum says, to the
// minor unit and to the part of a card-second.
func TestMeterStatementFilesAndBooksAgree(t *testing.T) {
	for seed := range seeds(40) {
		h := newHistory(t, seed)
		for _, m := range h.play() {
			h.compare(seed, m)
		}
		if t.Failed() {
			t.Fatalf("seed %d, %s, %s", seed, h.zone, h.currency)
		}
	}
}

func (h *history) compare(seed uint64, m usage.Month) {
	whole := m.Span(h.zone)
	all, _, _, _ := h.charged(whole.To(h.now), "")
	own, partSeconds, shared, lines := h.charged(whole.To(h.now), "vision")
	s := h.statement(m)
	var total, vision int64
	for _, money := range s.Total().Cost {
		total += money.Minor
	}
	for _, sum := range s.By(usage.Groupings["team"]) {
		if sum.Key == "vision" && len(sum.Cost) > 0 {
			vision = sum.Cost[0].Minor
		}
	}
	focus := func(to io.Writer) error {
		return s.ExportFocus(to, usage.FocusSite{Provider: "site", Account: "portal",
			Team: func(name string) string { return name }})
	}
	book := func(unit budget.Unit) int64 {
		balance, err := h.books[unit].BudgetBalance(h.t.Context(), budget.Book{Tenant: "vision", Month: m, Unit: unit})
		if err != nil {
			h.t.Fatal(err)
		}
		return balance.Spent
	}
	for name, pair := range map[string][2]int64{
		"statement": {total, all}, "CSV": {h.sumOf(s.ExportCSV, "cost"), all},
		"FOCUS": {h.sumOf(focus, "BilledCost"), all},
	} {
		if pair[0] != pair[1] {
			h.t.Errorf("seed %d, %s: %s says %d, what happened costs %d", seed, m, name, pair[0], pair[1])
		}
	}
	parts, _ := new(big.Rat).Sub(big.NewRat(vision-own, 1), shared).Float64()
	if math.Abs(parts) > 2*float64(lines) {
		h.t.Errorf("seed %d, %s: the tenant is charged %f more than its part of shared seats", seed, m, parts)
	}
	// The books are settled to the full hour while something is held.
	money, gpu := book(budget.Unit(h.currency)), book(budget.GPUHours)
	if whole.Until.After(h.now) {
		for id, c := range h.claims {
			if c.Holds {
				c.Holds, c.Wanted = false, false
				h.claims[id] = c
			}
		}
		h.settle()
		money, gpu = book(budget.Unit(h.currency)), book(budget.GPUHours)
	}
	if money != vision {
		h.t.Errorf("seed %d, %s: the book has spent %d, the statement of the tenant says %d", seed, m, money, vision)
	}
	if !partSeconds.IsInt64() || gpu != partSeconds.Int64() {
		h.t.Errorf("seed %d, %s: the book has spent %d parts of a GPU-hour, held were %s", seed, m, gpu, partSeconds)
	}
}
