package budget

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Unit is what a budget counts: a currency by its ISO 4217 code, or GPUHours. Amounts are whole numbers of its smallest
// part: minor units of the currency; for GPU-hours the 840th part of a card (usage.Parts) for a second, so that a slice
// of a seventh of a card takes exactly what its statement says.
type Unit string

// GPUHours are hours of a whole card: a seventh of one for seven hours is one of them.
const GPUHours Unit = "gpu-hours"

// perGPUHour is how many of its smallest parts a GPU-hour has.
const perGPUHour = usage.Parts * 3600

// PerHour is what an hour of a size takes. A price in another currency than the budget's cannot be compared with it and
// takes nothing; a catalog has one currency.
func (u Unit) PerHour(s catalog.Size) usage.Money {
	switch {
	case u == GPUHours:
		return usage.Money{Minor: s.SKU().Parts() * 3600, Currency: string(u)}
	case s.PricePerHour.Currency != string(u):
		return usage.Money{Currency: string(u)}
	}
	return s.PricePerHour
}

// Say is an amount for people, with its unit.
func (u Unit) Say(amount int64) i18n.Text {
	if u == GPUHours {
		return i18n.T("budget.hours", "Hours", usage.Number(hours(amount)))
	}
	return usage.Money{Minor: amount, Currency: string(u)}.Text()
}

// Parts is how many of its smallest parts make one of the unit.
func (u Unit) Parts() int64 {
	if u == GPUHours {
		return perGPUHour
	}
	return usage.Units(string(u))
}

// hours are GPU-hours to the thousandth, as people type and read them.
func hours(amount int64) float64 { return math.Round(float64(amount)*1000/perGPUHour) / 1000 }

// decimals is how many places after the point people type: thousandths of a GPU-hour, the digits of a currency.
func (u Unit) decimals() int {
	if u == GPUHours {
		return 3
	}
	return usage.Digits(string(u))
}

// Format gives an amount as it is typed: "12.40".
func (u Unit) Format(amount int64) string {
	return strconv.FormatFloat(float64(amount)/float64(u.Parts()), 'f', u.decimals(), 64)
}

// Parse reads what Format gives, with a point or a comma and as many places as the unit has; false for anything else.
func (u Unit) Parse(text string) (amount int64, ok bool) {
	whole, part, _ := strings.Cut(strings.Replace(strings.TrimSpace(text), ",", ".", 1), ".")
	if len(part) > u.decimals() || whole == "" || strings.Trim(whole+part, "0123456789") != "" {
		return 0, false
	}
	typed, err := strconv.ParseInt(whole+part+strings.Repeat("0", u.decimals()-len(part)), 10, 64)
	if u == GPUHours { // of which a thousandth is a whole number of the smallest parts
		return typed * (perGPUHour / 1000), err == nil && typed <= math.MaxInt64/perGPUHour
	}
	return typed, err == nil
}

// Limit is what happens to a start or an extension beyond the budget: it is refused, or needs an approval.
type Limit string

// The limits.
const (
	Stop     Limit = "stop"     // it is refused
	Approval Limit = "approval" // an approver has to agree
)

// Budget is the amount that a team may use each month.
type Budget struct {
	Tenant  string
	Unit    Unit
	Amount  int64 // for each month
	AtLimit Limit
	By      identity.PersonID // who set it
	ByName  string
	SetAt   time.Time
	Version int64 // optimistic lock; 0: not saved yet
}

// Claim is what a workload or volume takes of a budget, or would take. A start with new storage is one claim for both
// until it is granted.
type Claim struct {
	Workload         string // its id, or the VolumeID of storage
	Tenant           string
	Size             catalog.Size
	Replicas         int  // that are wanted of the size; 0 counts as 1
	Holds            bool // counts against the team: from the decision until its pod is gone
	Wanted           bool // shall run until the end of its lease
	Placed           bool // a node was found once; before that the lease has not begun, and is pushed on
	From             time.Time
	Until            time.Time
	Intervals        []usage.Interval        // its meter
	Seats            usage.Seats             // license seats that it takes while it runs, alone
	Sharers          usage.Sharers           // who held the seats of its meter with it
	StorageIntervals []usage.StorageInterval // when the storage was there, and is
}

// Start is the claim of a new workload.
func Start(tenant string, size catalog.Size, now time.Time, lease time.Duration) Claim {
	return Claim{Tenant: tenant, Size: size, Holds: true, Wanted: true, From: now, Until: now.Add(lease)}
}

// WithStorage adds storage that begins with the claim; none where gib is 0.
func (c Claim) WithStorage(gib int64) Claim {
	if gib > 0 {
		c.StorageIntervals = append(c.StorageIntervals, usage.StorageInterval{Volume: usage.StorageSize, Tenant: c.Tenant,
			GiB: gib, From: c.From})
	}
	return c
}

const volumePrefix = "volume:"

// VolumeID is what storage is called where claims are. A name is free again when its storage is gone, and then another
// team can have it.
func VolumeID(tenant, volume string) string { return volumePrefix + tenant + "/" + volume }

// VolumeOf is what VolumeID was made of; false for the id of a workload.
func VolumeOf(id string) (tenant, volume string, ok bool) {
	rest, is := strings.CutPrefix(id, volumePrefix)
	tenant, volume, cut := strings.Cut(rest, "/")
	return tenant, volume, is && cut
}

// SettleEvery is how often what a running workload has used is moved from held to spent. What is left of the budget
// does not depend on it.
const SettleEvery = time.Hour

// Share is the part of a month's budget that one workload holds or has spent.
type Share struct {
	Held  int64
	Spent int64
}

// Sum is what is taken from the budget.
func (s Share) Sum() int64 { return s.Held + s.Spent }

// Wanted is what the share of a workload should be now: spent by the meter, and held what the rest of its lease takes
// within the month, each stretch at what the price list says of it. Storage is held for until the end of the month: it
// costs until somebody removes it. The share is the same however often, and however late, it is asked, and whether or
// not the meter has seen yet that a price has changed. What is settled up to the last full hour stays so: a price
// begins now or later.
//
// Seats that it holds together with others are settled by its part of them (usage.PriceList.Seats). For the rest of the
// lease they are held as if it had them alone: nobody knows how long the others stay, so that is the most that they can
// come to.
func Wanted(c Claim, u Unit, prices usage.PriceList, month usage.Span, now time.Time) Share {
	upTo := now
	if c.Holds {
		upTo = now.Truncate(SettleEvery)
	}
	used := c.used(u, prices, upTo)
	spent := c.cost(u, prices, used, upTo, month)
	if !c.Holds || !c.Wanted {
		return Share{Spent: spent}
	}
	from, until := later(c.From, upTo), c.Until
	if !c.Placed {
		until = from.Add(c.Until.Sub(c.From))
	}
	if from.Before(until) {
		used = append(used, c.rest(u, prices, from, until)...)
	}
	return Share{Spent: spent, Held: max(0, c.cost(u, prices, used, later(month.Until, upTo), month)-spent)}
}

// used is the meter up to a moment, at what the unit says: money at what each interval is priced at, cards at what each
// interval held, which a resize changes.
func (c Claim) used(u Unit, prices usage.PriceList, upTo time.Time) []usage.Interval {
	var list []usage.Interval
	for _, i := range c.Intervals {
		switch {
		case u == GPUHours:
			i.PerHour = usage.Money{Minor: i.Parts / i.Count() * 3600, Currency: string(u)}
			list = append(list, i)
		case i.PerHour.Currency != string(u):
		case i.Until.IsZero() && i.Size == c.Size.Name:
			list = append(list, prices.Split(i, c.Size.SKU(), upTo)...)
		default:
			list = append(list, i)
		}
	}
	for n, i := range list {
		if i.Until.IsZero() || i.Until.After(upTo) {
			list[n].Until = later(i.From, upTo)
		}
	}
	return list
}

// rest is what of a lease the meter has not counted yet.
func (c Claim) rest(u Unit, prices usage.PriceList, from, until time.Time) []usage.Interval {
	size := c.Size
	size.PricePerHour = prices.PerHour(size.SKU(), c.Tenant, from)
	list := []usage.Interval{{Workload: c.Workload, Tenant: c.Tenant, Size: size.Name, PerHour: u.PerHour(size),
		Seats: c.Seats, Replicas: int64(c.Replicas), From: from}}
	if u != GPUHours && size.PricePerHour.Currency == string(u) {
		list = prices.Split(list[0], c.Size.SKU(), until)
	}
	list[len(list)-1].Until = until
	return list
}

// cost is what stretches and the storage up to a moment come to in a span, seats with them, line by line as a statement
// has it. GPU-hours are those of stretches alone.
func (c Claim) cost(u Unit, prices usage.PriceList, stretches []usage.Interval, keptTo time.Time,
	span usage.Span) (sum int64) {
	for _, use := range usage.Uses(stretches, span) {
		sum += use.Cost().Minor
	}
	if u == GPUHours {
		return sum
	}
	kept := slices.Clone(c.StorageIntervals)
	for n, k := range kept {
		if k.Until.IsZero() || k.Until.After(keptTo) {
			kept[n].Until = later(k.From, keptTo)
		}
	}
	for _, line := range append(prices.SeatsOf(stretches, c.Sharers, span, string(u)),
		prices.Storage(kept, span, string(u))...) {
		sum += line.Cost().Minor
	}
	return sum
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Status is what a team's budget says at a moment. The zero Status is that of a team without one: nothing is
// limited.
type Status struct {
	Budget  Budget
	Balance Balance
	Span    usage.Span // of the month
	Prices  usage.PriceList
	Now     time.Time
}

// Set reports whether there is a budget.
func (s Status) Set() bool { return s.Budget.Tenant != "" }

// Used is the share of the month's amount that is spent or held, in per cent, rounded down. All of an amount of nothing
// is used.
func (s Status) Used() int {
	if s.Budget.Amount <= 0 {
		return 100
	}
	return int(max(0, s.Budget.Amount-s.Balance.Left) * 100 / s.Budget.Amount)
}

// Ask says what a claim would take beyond the share that its workload has.
func (s Status) Ask(c Claim, has Share) Ask {
	if !s.Set() {
		return Ask{}
	}
	want := Wanted(c, s.Budget.Unit, s.Prices, s.Span, s.Now)
	return Ask{Budget: s.Budget, Left: s.Balance.Left, Cost: max(0, want.Sum()-has.Sum())}
}

// Ask is what a decision would take of this month's budget. Zero for a team without one.
type Ask struct {
	Budget Budget
	Left   int64 // before this
	Cost   int64 // of this month; what a lease takes of the next one is held when that begins
}

// Set reports whether there is a budget.
func (a Ask) Set() bool { return a.Budget.Tenant != "" }

// After is what would be left.
func (a Ask) After() int64 { return a.Left - a.Cost }

// Fits reports whether there is enough left. What costs nothing always fits.
func (a Ask) Fits() bool { return !a.Set() || a.Cost == 0 || a.Cost <= a.Left }

// Stops reports whether it is to be refused.
func (a Ask) Stops() bool { return !a.Fits() && a.Budget.AtLimit == Stop }

// NeedsApproval reports whether an approver has to agree.
func (a Ask) NeedsApproval() bool { return !a.Fits() && a.Budget.AtLimit == Approval }

// Sentence says how much is left and how much this takes.
func (a Ask) Sentence(id string) i18n.Text {
	return i18n.T(id, "Left", a.Budget.Unit.Say(a.Left), "Cost", a.Budget.Unit.Say(a.Cost))
}

// LeftShare and CostShare are shares of the month's amount, for the rules. Of an amount of nothing all is gone.
func (a Ask) LeftShare() float64 { return a.share(a.Left, 1) }

// CostShare is what this takes, as a share of the month's amount.
func (a Ask) CostShare() float64 { return a.share(a.Cost, 0) }

func (a Ask) share(of int64, unlimited float64) float64 {
	switch {
	case !a.Set():
		return unlimited
	case a.Budget.Amount == 0 && of > 0:
		return 1
	case a.Budget.Amount == 0:
		return 0
	}
	return float64(of) / float64(a.Budget.Amount)
}
