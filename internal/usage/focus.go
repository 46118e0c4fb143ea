package usage

import (
	"encoding/json"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/sheet"
)

// FocusVersion is the version of the FinOps Open Cost and Usage Specification that ExportFocus follows, dataset "Cost
// and Usage": the newest one, ratified on 4 June 2026 (https://focus.finops.org/focus-specification/v1-4/).
const FocusVersion = "1.4"

// FocusSite fills FOCUS's columns of provider, publisher, invoice issuer and billing account.
type FocusSite struct {
	Provider string              // who offers, hosts and bills: with an internal platform all three are one
	Account  string              // id of what the bill is for: the portal's instance
	Team     func(string) string // display name of a team
}

// focusColumn is one column and where its value comes from. An empty value is null.
type focusColumn struct {
	name  string
	value func(f FocusSite, s Statement, l Line) string
}

func always(text string) func(FocusSite, Statement, Line) string {
	return func(FocusSite, Statement, Line) string { return text }
}

func provider(f FocusSite, _ Statement, _ Line) string { return f.Provider }

// focusColumns are those that the specification asks of a provider which measures use, has unit prices, resources and
// sub accounts, and neither commitments, invoices, regions nor negotiated prices. Custom columns begin with x_ and
// stand last.
//
// BilledCost and EffectiveCost are what the ledger charges, in whole minor units. ListCost and ContractedCost must be
// the exact product of price and quantity, so they have more digits; they differ from what is charged by the rounding
// to whole seconds and minor units, which does not gather over the months of a line. Of license seats that several
// workloads hold together a line has the quantity and the cost of its part: see PriceList.Seats.
var focusColumns = []focusColumn{
	{"BilledCost", func(_ FocusSite, _ Statement, l Line) string { return l.Cost().Amount() }},
	{"BillingAccountId", func(f FocusSite, _ Statement, _ Line) string { return f.Account }},
	{"BillingAccountName", provider},
	{"BillingCurrency", func(_ FocusSite, _ Statement, l Line) string { return l.PerHour.Currency }},
	{"BillingPeriodEnd", func(_ FocusSite, s Statement, _ Line) string { return focusTime(s.Whole.Until) }},
	{"BillingPeriodStart", func(_ FocusSite, s Statement, _ Line) string { return focusTime(s.Whole.From) }},
	{"ChargeCategory", always("Usage")},
	{"ChargeClass", always("")},
	{"ChargeDescription", either(func(l Line) string { return l.SizeTitle + " held by " + l.Name },
		func(l Line) string { return strconv.FormatInt(l.GiB, 10) + " GiB of storage kept as " + l.Name },
		func(l Line) string {
			return strconv.FormatInt(l.Seats.Count, 10) + " license seats of " + l.Seats.Pool + " held by " + l.Name
		})},
	{"ChargeFrequency", always("Usage-Based")},
	{"ChargePeriodEnd", func(_ FocusSite, s Statement, _ Line) string { return focusTime(s.Span.Until) }},
	{"ChargePeriodStart", func(_ FocusSite, s Statement, _ Line) string { return focusTime(s.Span.From) }},
	{"ConsumedQuantity", func(_ FocusSite, _ Statement, l Line) string { return focusHours(l) }},
	{"ConsumedUnit", either(fixed("Hours"), fixed("GiB-Months"), fixed("Seat-Months"))},
	{"ContractedCost", func(_ FocusSite, _ Statement, l Line) string { return focusListCost(l) }},
	{"EffectiveCost", func(_ FocusSite, _ Statement, l Line) string { return l.Cost().Amount() }},
	{"HostProviderName", provider},
	{"InvoiceIssuerName", provider},
	{"ListCost", func(_ FocusSite, _ Statement, l Line) string { return focusListCost(l) }},
	{"ListUnitPrice", either(func(l Line) string { return l.PerHour.Amount() }, rate, rate)},
	{"PricingQuantity", func(_ FocusSite, _ Statement, l Line) string { return focusHours(l) }},
	{"PricingUnit", either(fixed("Hours"), fixed("GiB-Months"), fixed("Seat-Months"))},
	{"ResourceId", either(func(l Line) string { return l.Workload }, func(l Line) string { return l.Volume },
		func(l Line) string { return l.Workload })},
	{"ResourceName", func(_ FocusSite, _ Statement, l Line) string { return l.Name }},
	{"ResourceType", either(fixed("Workload"), fixed("Volume"), fixed("Workload"))},
	{"ServiceCategory", either(fixed("Compute"), fixed("Storage"), fixed("Other"))},
	{"ServiceName", either(fixed("GPU workloads"), fixed("Volumes"), fixed("License seats"))},
	{"ServiceProviderName", provider},
	// block or file, as the storage class has it
	{"ServiceSubcategory", either(fixed("Containers"), fixed("Other (Storage)"), fixed("Other (Other)"))},
	{"SkuId", func(_ FocusSite, _ Statement, l Line) string { return l.Size }},
	{"SkuMeter", either(fixed("Time held"), fixed("Capacity kept"), fixed("Seats held"))},
	{"SkuPriceDetails", func(_ FocusSite, _ Statement, l Line) string { return focusDetails(l) }},
	{"SkuPriceId", func(_ FocusSite, _ Statement, l Line) string { return l.Size }},
	{"SubAccountId", func(_ FocusSite, _ Statement, l Line) string { return l.Tenant }},
	{"SubAccountName", func(f FocusSite, _ Statement, l Line) string { return f.Team(l.Tenant) }},
	{"x_HoursIdle", func(_ FocusSite, _ Statement, l Line) string { return measured(l, hours(l.Engine.Idle)) }},
	{"x_HoursMeasured", func(_ FocusSite, _ Statement, l Line) string { return measured(l, hours(l.Engine.Measured)) }},
	{"x_HoursUnknown", func(_ FocusSite, _ Statement, l Line) string { return hours(l.Unknown) }},
	{"x_IdleCost", func(_ FocusSite, _ Statement, l Line) string { return measured(l, l.IdleCost().Amount()) }},
	{"x_MeanUsePercent", func(_ FocusSite, _ Statement, l Line) string { return measured(l, percent(l)) }},
	{"x_OwnerId", func(_ FocusSite, _ Statement, l Line) string { return l.Owner }},
	{"x_OwnerName", func(_ FocusSite, _ Statement, l Line) string { return l.OwnerName }},
}

// either is one thing for what runs, another for storage, and another for license seats.
func either(runs, kept, seated func(Line) string) func(FocusSite, Statement, Line) string {
	return func(_ FocusSite, _ Statement, l Line) string {
		switch {
		case l.Volume != "":
			return kept(l)
		case l.Seats.Pool != "":
			return seated(l)
		}
		return runs(l)
	}
}

func rate(l Line) string { return l.Rate.Amount(l.PerHour.Currency) }

func fixed(text string) func(Line) string { return func(Line) string { return text } }

// ExportFocus writes a statement in the FOCUS format as comma-separated values, one charge for each line of the ledger
// that was held at all.
func (s Statement) ExportFocus(to io.Writer, f FocusSite) error {
	out := sheet.NewWriter(to)
	row := make([]string, len(focusColumns))
	for i, c := range focusColumns {
		row[i] = c.name
	}
	if err := out.Write(row); err != nil {
		return err
	}
	for _, l := range s.Lines {
		if l.Held == 0 {
			continue
		}
		for i, c := range focusColumns {
			row[i] = c.value(f, s, l)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Flush()
}

// focusTime is ISO 8601 in UTC with a Z.
func focusTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// focusHours are hours with nine digits after the point, four millionths of a second; of storage GiB-months and of
// seats seat-months, with as many.
func focusHours(l Line) string { return focusQuantity(l).FloatString(9) }

func focusQuantity(l Line) *big.Rat {
	exact := big.NewRat(int64(l.Held), int64(time.Hour))
	if l.Volume != "" {
		exact = big.NewRat(int64(l.GiBTime()), billingMonth.Milliseconds())
	}
	if l.Seats.Pool != "" {
		exact = big.NewRat(l.SeatTime().Microseconds(), billingMonth.Microseconds())
	}
	q, _ := new(big.Rat).SetString(exact.FloatString(9))
	return q
}

// focusListCost is the price times the quantity as it is written, to the last digit.
func focusListCost(l Line) string {
	digits := Digits(l.PerHour.Currency)
	price := big.NewRat(l.PerHour.Minor, tens(digits))
	if l.Monthly() {
		price = big.NewRat(int64(l.Rate), tens(digits+3))
		return new(big.Rat).Mul(price, focusQuantity(l)).FloatString(digits + 12)
	}
	exact := new(big.Rat).Mul(price, focusQuantity(l)).FloatString(digits + 9)
	return strings.TrimSuffix(strings.TrimSuffix(exact, "000000000"), ".")
}

// focusDetails are properties of the size; null where it is not on record any more. GpuCount is for whole cards: a
// slice is none.
func focusDetails(l Line) string {
	if !l.Kind.Known {
		return ""
	}
	if l.Volume != "" {
		return `{"x_GiB":` + strconv.FormatInt(l.GiB, 10) + `}`
	}
	if l.Seats.Pool != "" {
		shared := ""
		if l.Seats.Group != "" {
			shared = `,"x_Shared":true`
		}
		return `{"x_LicensePool":` + strconv.Quote(l.Seats.Pool) + `,"x_Seats":` + strconv.FormatInt(l.Seats.Count, 10) +
			shared + `}`
	}
	details := map[string]any{"x_Technology": l.Kind.Technology, "x_DeviceCount": l.Devices}
	for key, value := range map[string]string{"x_Model": l.Kind.Model, "x_Profile": l.Kind.Profile} {
		if value != "" {
			details[key] = value
		}
	}
	if l.Kind.Technology == "full" || l.Kind.Technology == "passthrough" {
		details["GpuCount"] = l.Devices
	}
	text, err := json.Marshal(details) // keys in order
	if err != nil {
		return strconv.Quote(err.Error()) // cannot be: text and numbers only
	}
	return string(text)
}
