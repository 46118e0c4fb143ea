package usage

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// PriceDraft is a price as typed.
type PriceDraft struct {
	Kind    string
	Subject string
	Tenant  string
	Amount  string // in the currency's unit: "2.50", "0.0042"
	From    string // a day of the site's zone, "2026-12-01"; empty for now
}

// Known lists the sizes, card models, pools and tenants that a price can name.
type Known struct {
	Sizes, Models, Pools, Tenants []string
}

// Price reads a draft. Fields say what is wrong with it. A price begins now or later: what has been charged stays.
func (d PriceDraft) Price(known Known, currency string, zone *time.Location, now time.Time) (Price, []fault.Field) {
	p := Price{Kind: PriceKind(d.Kind), Subject: strings.TrimSpace(d.Subject), Tenant: strings.TrimSpace(d.Tenant),
		From: now, At: now}
	var fields []fault.Field
	no := func(name, reason string) { fields = append(fields, fault.Field{Name: name, Reason: i18n.T(reason)}) }
	subjects, wanted := map[PriceKind][]string{PriceSize: known.Sizes, PriceCard: known.Models,
		PriceSeat: known.Pools}[p.Kind]
	switch {
	case !slices.Contains(PriceKinds(), p.Kind):
		no("kind", "prices.no_kind")
	case wanted && !slices.Contains(subjects, p.Subject):
		no("subject", "prices.no_subject")
	case !wanted && p.Subject != "":
		no("subject", "prices.no_subject_here")
	}
	if p.Tenant != "" && !slices.Contains(known.Tenants, p.Tenant) {
		no("tenant", "prices.no_team")
	}
	var ok bool
	if p.Rate, ok = ParseRate(d.Amount, currency); !ok {
		no("amount", "prices.no_amount")
	}
	if text := strings.TrimSpace(d.From); text != "" {
		date, err := time.Parse(time.DateOnly, text)
		switch day := DayStart(date.Year(), date.Month(), date.Day(), zone); {
		case err != nil:
			no("from", "prices.no_day")
		case day.Format(time.DateOnly) < now.In(zone).Format(time.DateOnly):
			no("from", "prices.past")
		case day.After(now):
			p.From = day
		}
	}
	return p, fields
}

// dearest is the highest price in a currency's unit, a million: what is above it is a slip.
const dearest = 1_000_000

// ParseRate reads an amount in a currency's unit with up to three digits after the point or comma more than the
// currency has: five for EUR, three for JPY, six for KWD.
func ParseRate(text, currency string) (UnitPrice, bool) {
	most := Digits(currency) + 3
	units, rest, point := strings.Cut(strings.Replace(strings.TrimSpace(text), ",", ".", 1), ".")
	if point && rest == "" || len(rest) > most || !digits(units) || rest != "" && !digits(rest) {
		return 0, false
	}
	n, err := strconv.ParseInt(units+rest+strings.Repeat("0", most-len(rest)), 10, 64)
	return UnitPrice(n), err == nil && n <= dearest*tens(most)
}

func digits(text string) bool {
	return text != "" && len(text) <= 9 && strings.Trim(text, "0123456789") == ""
}

// Amount is the amount in a currency's unit with at least as many digits after the point as the currency has: "2.50"
// and "0.0042" of EUR, "500" of JPY.
func (m UnitPrice) Amount(currency string) string {
	least := Digits(currency)
	text := strconv.FormatInt(int64(m), 10)
	text = strings.Repeat("0", max(0, least+4-len(text))) + text
	units, rest := text[:len(text)-least-3], text[len(text)-least-3:]
	return strings.TrimSuffix(units+"."+rest[:least]+strings.TrimRight(rest[least:], "0"), ".")
}
