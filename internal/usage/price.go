package usage

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// PriceKind says what a price is per: a size, a card, a CPU, memory, storage or a license seat.
type PriceKind string

// The kinds of price.
const (
	PriceSize    PriceKind = "size"    // of a size for an hour, whatever is in it
	PriceCard    PriceKind = "card"    // of a whole card of a model for an hour; a slice costs its share
	PriceCPU     PriceKind = "cpu"     // of a CPU for an hour
	PriceMemory  PriceKind = "memory"  // of a GiB of memory for an hour
	PriceStorage PriceKind = "storage" // of a GiB of storage for a month of 730 hours
	PriceSeat    PriceKind = "seat"    // of a seat of a license pool for a month of 730 hours
)

// PriceKinds lists every kind in the order of forms.
func PriceKinds() []PriceKind {
	return []PriceKind{PriceSize, PriceCard, PriceCPU, PriceMemory, PriceStorage, PriceSeat}
}

// UnitPrice is in thousandths of a minor unit (FOCUS: ContractedUnitPrice): a GiB of memory for an hour costs less than
// a cent.
type UnitPrice int64

// Price is one entry of the price list. From is in it, Until is not. What has been charged by it stays so: an entry
// begins now or later and is never taken back.
type Price struct {
	ID         string
	Kind       PriceKind
	Subject    string // name of a size or of a license pool, or model of a card; "" for the others
	Tenant     string // a team that pays this; "" for everybody
	Rate       UnitPrice
	From       time.Time
	Until      time.Time // zero: until further notice
	Author     string    // id of the person
	AuthorName string    // of the author, as it was then
	At         time.Time // when it was written
}

// Counts reports whether the price counts at a moment.
func (p Price) Counts(at time.Time) bool {
	return !at.Before(p.From) && (p.Until.IsZero() || at.Before(p.Until))
}

// SKU is a size as the price list sees it: its name, and quantities for prices by card, CPU and memory.
type SKU struct {
	Size      string
	Model     string  // of the card; "" without a GPU
	Share     float64 // of one card
	Count     int     // devices
	CPUs      float64
	MemoryGiB float64
	Agreed    Money // what it costs where the list has no price for it
}

// PriceList gives the price of a SKU at a moment.
type PriceList []Price

// PerHour is the price of a SKU for a team at a moment: that of its size; else what its parts come to, rounded half up
// to the minor unit, where its card has a price (without a GPU: its CPUs or its memory); else what was agreed.
// Everywhere a team's own price goes before the one for all, and of several the one that began last.
func (l PriceList) PerHour(w SKU, tenant string, at time.Time) Money {
	whole, ok := l.find(PriceSize, w.Size, tenant, at)
	if ok {
		return Money{Minor: rounded(float64(whole.Rate)), Currency: w.Agreed.Currency}
	}
	sum := 0.0
	for _, part := range w.parts() {
		if p, found := l.find(part.kind, part.subject, tenant, at); found {
			sum += float64(p.Rate) * part.amount
			ok = ok || part.names
		}
	}
	if !ok {
		return w.Agreed
	}
	return Money{Minor: rounded(sum), Currency: w.Agreed.Currency}
}

// costPart is what a price by parts counts.
type costPart struct {
	kind    PriceKind
	subject string
	amount  float64
	names   bool // whether its price alone makes the parts count
}

func (w SKU) parts() [3]costPart {
	return [...]costPart{
		{PriceCard, w.Model, w.Share * float64(w.Count), w.Model != ""}, {PriceCPU, "", w.CPUs, w.Model == ""},
		{PriceMemory, "", w.MemoryGiB, w.Model == ""},
	}
}

// Priced is what a price per hour is made of.
type Priced struct {
	Kind   PriceKind // "" for the catalog
	Rate   UnitPrice
	Amount float64 // how many of it, such as a seventh of a card
}

// Made is what PerHour is made of.
func (l PriceList) Made(w SKU, tenant string, at time.Time) []Priced {
	if whole, ok := l.find(PriceSize, w.Size, tenant, at); ok {
		return []Priced{{PriceSize, whole.Rate, 1}}
	}
	var list []Priced
	names := false
	for _, part := range w.parts() {
		if p, found := l.find(part.kind, part.subject, tenant, at); found {
			list, names = append(list, Priced{part.kind, p.Rate, part.amount}), names || part.names
		}
	}
	if !names {
		return []Priced{{}}
	}
	return list
}

// rounded is minor units, half up. A share such as a seventh is not exact; what is a hair below the half is the half.
func rounded(millis float64) int64 { return int64(math.Floor(millis/1000 + 0.5 + 1e-9)) }

func (l PriceList) find(kind PriceKind, subject, tenant string, at time.Time) (Price, bool) {
	var best Price
	found := false
	for _, p := range l {
		if p.Kind != kind || p.Subject != subject || p.Tenant != "" && p.Tenant != tenant || !p.Counts(at) {
			continue
		}
		if !found || closer(p, best) {
			best, found = p, true
		}
	}
	return best, found
}

// closer reports whether a price goes before another that counts too.
func closer(p, q Price) bool {
	if (p.Tenant == "") != (q.Tenant == "") {
		return p.Tenant != ""
	}
	return cmp.Or(p.From.Compare(q.From), p.At.Compare(q.At), strings.Compare(p.ID, q.ID)) > 0
}

// Change is the first moment after another at which a price of the list begins or ends; zero where there is none.
func (l PriceList) Change(after time.Time) (first time.Time) {
	for _, p := range l {
		for _, border := range []time.Time{p.From, p.Until} {
			if border.After(after) && (first.IsZero() || border.Before(first)) {
				first = border
			}
		}
	}
	return first
}

// Next is when the price of a SKU changes after a moment, and to what; the zero time where it stays.
func (l PriceList) Next(w SKU, tenant string, after time.Time) (time.Time, Money) {
	now := l.PerHour(w, tenant, after)
	for at := l.Change(after); !at.IsZero(); at = l.Change(at) {
		if then := l.PerHour(w, tenant, at); then != now {
			return at, then
		}
	}
	return time.Time{}, now
}

// Sorted is the list as people read it: by kind, what it is for, and team, the newest first.
func (l PriceList) Sorted() PriceList {
	list := slices.Clone(l)
	order := PriceKinds()
	slices.SortFunc(list, func(a, b Price) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			strings.Compare(a.Subject, b.Subject), strings.Compare(a.Tenant, b.Tenant),
			b.From.Compare(a.From), b.At.Compare(a.At), strings.Compare(a.ID, b.ID))
	})
	return list
}
