package license

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Origin says where a number of seats comes from: settings, a form, an imported file or a license server.
type Origin string

// The origins.
const (
	Configured Origin = "configured" // the settings file
	Manual     Origin = "manual"
	Imported   Origin = "csv"
	FromServer Origin = "server"
)

// Entitlement is a number of seats that a site may use for a time, as it was bought.
type Entitlement struct {
	ID         string
	Pool       string
	Reference  string // the vendor's number or a purchase order; two lines with one reference are one purchase
	Seats      int
	From       time.Time // zero: since ever
	Until      time.Time // the first moment at which it does not hold any more; zero: without end
	Origin     Origin
	Author     string // who entered it
	AuthorName string
	At         time.Time
}

// Holds reports whether it counts at a moment.
func (e Entitlement) Holds(at time.Time) bool {
	return !at.Before(e.From) && (e.Until.IsZero() || at.Before(e.Until))
}

func (e Entitlement) overlaps(o Entitlement) bool {
	return (o.Until.IsZero() || e.From.Before(o.Until)) && (e.Until.IsZero() || o.From.Before(e.Until))
}

// MostSeats is more than anybody has bought: what is above is a slip.
const MostSeats = 1_000_000

// Check says what is wrong with an entitlement beside those of the same pool that are there.
func Check(e Entitlement, beside []Entitlement) []fault.Field {
	var fields []fault.Field
	no := func(name, id string, pairs ...any) {
		fields = append(fields, fault.Field{Name: name, Reason: i18n.T(id, pairs...)})
	}
	switch {
	case e.Seats <= 0:
		no("seats", "licenses.seats_too_few", "Seats", e.Seats)
	case e.Seats > MostSeats:
		no("seats", "licenses.seats_too_many", "Seats", e.Seats, "Most", MostSeats)
	}
	if !e.Until.IsZero() && !e.From.Before(e.Until) {
		no("until", "licenses.ends_before")
	}
	if len(e.Reference) > 200 {
		no("reference", "licenses.too_long", "Most", 200)
	}
	for _, o := range beside {
		if o.ID != e.ID && o.Pool == e.Pool && e.Reference != "" && o.Reference == e.Reference && e.overlaps(o) {
			no("reference", "licenses.overlaps", "Reference", e.Reference, "Seats", o.Seats)
			break
		}
	}
	return fields
}

// Total is how many seats the entitlements of a pool give at a moment.
func Total(list []Entitlement, pool string, at time.Time) int {
	total := 0
	for _, e := range list {
		if e.Pool == pool && e.Holds(at) {
			total += max(0, e.Seats)
		}
	}
	return total
}

// Ends lists the entitlements of a pool that hold at a moment and will end, the first to end first.
func Ends(list []Entitlement, pool string, at time.Time) []Entitlement {
	var ending []Entitlement
	for _, e := range list {
		if e.Pool == pool && e.Holds(at) && !e.Until.IsZero() {
			ending = append(ending, e)
		}
	}
	slices.SortFunc(ending, func(a, b Entitlement) int {
		return cmp.Or(a.Until.Compare(b.Until),
			cmp.Compare(a.ID, b.ID))
	})
	return ending
}

// Days are those from a moment until the entitlement ends; one that has begun counts. It has to have an end.
func (e Entitlement) Days(at time.Time) int {
	const day = 24 * time.Hour
	return int((e.Until.Sub(at) + day - 1) / day)
}

// Fill gives each pool the seats that count at a moment: the license server's where the pool names one, else what was
// entered or imported, else what the settings say. A pool whose server has never answered and which has no other number
// is unknown.
func Fill(pools []Pool, entered []Entitlement, answers map[string]Answer, at time.Time) []Pool {
	out := slices.Clone(pools)
	for i := range out {
		p := &out[i]
		if p.Product == "" {
			p.Product = ProductOf(p.Feature)
		}
		list, _ := p.Entitlements(entered, answers)
		switch {
		case len(list) > 0:
			p.Seats = Total(list, p.Name, at)
		case p.Server != "" && p.Seats == 0:
			p.Unknown = true
		}
	}
	return out
}

// Entitlements are those that count for the pool, and where they come from.
func (p Pool) Entitlements(entered []Entitlement, answers map[string]Answer) ([]Entitlement, Origin) {
	if a, ok := answers[p.Server]; ok && p.Server != "" && !a.At.IsZero() {
		if list := a.entitlements(p); len(list) > 0 {
			return list, FromServer
		}
	}
	var own []Entitlement
	for _, e := range entered {
		if e.Pool == p.Name {
			own = append(own, e)
		}
	}
	if len(own) == 0 {
		return nil, Configured
	}
	slices.SortFunc(own, func(a, b Entitlement) int { return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.ID, b.ID)) })
	return own, own[0].Origin
}
