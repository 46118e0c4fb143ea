package usage

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// focusRule is what FOCUS 1.4, dataset Cost and Usage, says of a column: how it is written, whether it may be null, and
// which values it may have. Written from the column definitions of the specification
// (https://focus.finops.org/focus-specification/v1-4/), not from the exporter.
type focusRule struct {
	// the column must be there: mandatory, or its condition holds for an internal platform with unit prices, use,
	// resources and sub accounts
	must    bool
	kind    string
	null    bool
	allowed []string
	also    func(row map[string]string) string // what else must hold; "" for all is well
}

const (
	isText     = "String"
	isDecimal  = "Decimal"
	isDateTime = "Date/Time"
	isJSON     = "JSON"
)

// The subcategories that the specification has of two categories.
var (
	ofCompute = []string{"Containers", "End User Computing", "Quantum Compute", "Serverless Compute", "Virtual Machines",
		"Other (Compute)"}
	ofStorage = []string{"Backup Storage", "Block Storage", "File Storage", "Object Storage", "Storage Platforms",
		"Other (Storage)"}
)

func ofItsCategory(row map[string]string) string {
	if list, ok := map[string][]string{"Compute": ofCompute, "Storage": ofStorage,
		"Other": {"Other (Other)"}}[row["ServiceCategory"]]; !ok || !slices.Contains(list, row["ServiceSubcategory"]) {
		return "is none of " + row["ServiceCategory"]
	}
	return ""
}

var focusRules = map[string]focusRule{
	"BilledCost":         {must: true, kind: isDecimal},
	"BillingAccountId":   {must: true, kind: isText},
	"BillingAccountName": {must: true, kind: isText, null: true},
	"BillingCurrency":    {must: true, kind: isText, also: matches("BillingCurrency", `^[A-Z]{3}$`)},
	"BillingPeriodEnd":   {must: true, kind: isDateTime, also: after("BillingPeriodEnd", "BillingPeriodStart")},
	"BillingPeriodStart": {must: true, kind: isDateTime},
	"ChargeCategory": {must: true, kind: isText, allowed: []string{"Usage", "Purchase", "Tax", "Credit",
		"Adjustment"}},
	"ChargeClass":       {must: true, kind: isText, null: true, allowed: []string{"Correction"}},
	"ChargeDescription": {must: true, kind: isText, null: true},
	"ChargeFrequency": {kind: isText, allowed: []string{"One-Time", "Recurring", "Usage-Based"},
		also: notWhen("ChargeFrequency", "Usage-Based", "ChargeCategory", "Purchase")},
	"ChargePeriodEnd":   {must: true, kind: isDateTime, also: after("ChargePeriodEnd", "ChargePeriodStart")},
	"ChargePeriodStart": {must: true, kind: isDateTime},
	"ConsumedQuantity":  {must: true, kind: isDecimal, null: true, also: forUse("ConsumedQuantity")},
	"ConsumedUnit":      {must: true, kind: isText, null: true, also: together("ConsumedUnit", "ConsumedQuantity")},
	// no negotiated prices
	"ContractedCost":    {must: true, kind: isDecimal, also: same("ContractedCost", "ListCost")},
	"EffectiveCost":     {must: true, kind: isDecimal, also: same("EffectiveCost", "BilledCost")}, // no commitments
	"HostProviderName":  {must: true, kind: isText, null: true},
	"InvoiceIssuerName": {must: true, kind: isText},
	"ListCost":          {must: true, kind: isDecimal, also: product("ListCost", "ListUnitPrice", "PricingQuantity")},
	"ListUnitPrice":     {must: true, kind: isDecimal, null: true, also: together("ListUnitPrice", "SkuPriceId")},
	"PricingQuantity":   {must: true, kind: isDecimal, null: true, also: forUse("PricingQuantity")},
	"PricingUnit":       {must: true, kind: isText, null: true, also: together("PricingUnit", "PricingQuantity")},
	"ResourceId":        {must: true, kind: isText, null: true},
	"ResourceName":      {must: true, kind: isText, null: true},
	"ResourceType":      {must: true, kind: isText, null: true, also: together("ResourceType", "ResourceId")},
	"ServiceCategory": {must: true, kind: isText, allowed: []string{"AI and Machine Learning", "Analytics",
		"Business Applications", "Compute", "Databases", "Developer Tools", "Multicloud", "Identity", "Integration",
		"Internet of Things", "Management and Governance", "Media", "Migration", "Mobile", "Networking", "Security",
		"Storage", "Web", "Other"}},
	"ServiceName":         {must: true, kind: isText},
	"ServiceProviderName": {must: true, kind: isText},
	"ServiceSubcategory": {kind: isText, allowed: slices.Concat(ofCompute, ofStorage, []string{"Other (Other)"}),
		also: ofItsCategory},
	"SkuId":           {must: true, kind: isText, null: true, also: together("SkuId", "SkuPriceId")},
	"SkuMeter":        {must: true, kind: isText, null: true, also: together("SkuMeter", "SkuId")},
	"SkuPriceDetails": {must: true, kind: isJSON, null: true, also: customKeys},
	"SkuPriceId":      {must: true, kind: isText, null: true, also: forUse("SkuPriceId")},
	"SubAccountId":    {must: true, kind: isText, null: true},
	"SubAccountName":  {must: true, kind: isText, null: true, also: together("SubAccountName", "SubAccountId")},
}

func matches(column, pattern string) func(map[string]string) string {
	return func(row map[string]string) string {
		if !regexp.MustCompile(pattern).MatchString(row[column]) {
			return "must match " + pattern
		}
		return ""
	}
}

func after(end, start string) func(map[string]string) string {
	return func(row map[string]string) string {
		if row[end] <= row[start] { // both in UTC and of one format, so text is in the order of time
			return "must be after " + start
		}
		return ""
	}
}

func together(a, b string) func(map[string]string) string {
	return func(row map[string]string) string {
		if (row[a] == "") != (row[b] == "") {
			return "must be null when " + b + " is, and only then"
		}
		return ""
	}
}

func forUse(column string) func(map[string]string) string {
	return func(row map[string]string) string {
		if row["ChargeCategory"] == "Usage" && row["ChargeClass"] != "Correction" && row[column] == "" {
			return "must not be null for usage"
		}
		return ""
	}
}

func same(a, b string) func(map[string]string) string {
	return func(row map[string]string) string {
		if row[a] != row[b] {
			return "must equal " + b
		}
		return ""
	}
}

func notWhen(column, value, other, is string) func(map[string]string) string {
	return func(row map[string]string) string {
		if row[column] == value && row[other] == is {
			return "must not be " + value + " when " + other + " is " + is
		}
		return ""
	}
}

func product(of, a, b string) func(map[string]string) string {
	return func(row map[string]string) string {
		x, _ := new(big.Rat).SetString(row[a])
		y, _ := new(big.Rat).SetString(row[b])
		z, _ := new(big.Rat).SetString(row[of])
		if x == nil || y == nil || z == nil || z.Cmp(new(big.Rat).Mul(x, y)) != 0 {
			return "must be " + a + " times " + b
		}
		return ""
	}
}

// customKeys: a property that the specification does not define begins with x_, and values are text, numbers or truths.
func customKeys(row map[string]string) string {
	var details map[string]any
	if row["SkuPriceDetails"] == "" {
		return ""
	}
	if err := json.Unmarshal([]byte(row["SkuPriceDetails"]), &details); err != nil {
		return err.Error()
	}
	for key, value := range details {
		if key != "GpuCount" && !strings.HasPrefix(key, "x_") {
			return "has the property " + key
		}
		if _, nested := value.(map[string]any); nested {
			return "nests " + key
		}
	}
	return ""
}

// numeric: no thousands, no currency, at most an exponent.
var numeric = regexp.MustCompile(`^-?\d+(\.\d+)?(E-?\d+)?$`)

func (r focusRule) wrong(value string) string {
	switch {
	case value == "" && !r.null:
		return "must not be null"
	case value == "":
		return ""
	case r.allowed != nil && !slices.Contains(r.allowed, value):
		return "is not one of the allowed values"
	case r.kind == isDecimal && !numeric.MatchString(value):
		return "is not a number as the specification writes them"
	case r.kind == isText && value != strings.TrimSpace(value):
		return "has space around it"
	}
	if _, err := time.Parse("2006-01-02T15:04:05Z", value); r.kind == isDateTime && err != nil {
		return "is not a time in UTC as the specification writes them"
	}
	return ""
}

// checkFocus gives everything in a file that the rules do not allow.
func checkFocus(text string) (problems []string) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		return []string{fmt.Sprint("not a table: ", err)}
	}
	head := rows[0]
	custom := false
	for i, name := range head {
		_, known := focusRules[name]
		switch {
		case slices.Index(head, name) != i:
			problems = append(problems, name+" is there twice")
		case strings.HasPrefix(name, "x_"):
			custom = true
		case !known:
			problems = append(problems, name+" is no column of the specification that fits here")
		case custom:
			problems = append(problems, name+" stands behind a custom column")
		}
	}
	for name, rule := range focusRules {
		if rule.must && !slices.Contains(head, name) {
			problems = append(problems, name+" is missing")
		}
	}
	for n, cells := range rows[1:] {
		row := map[string]string{}
		for i, name := range head {
			row[name] = cells[i]
		}
		for name, rule := range focusRules {
			wrong := rule.wrong(row[name])
			if wrong == "" && rule.also != nil {
				wrong = rule.also(row)
			}
			if wrong != "" {
				problems = append(problems, fmt.Sprintf("row %d: %s %q %s", n+1, name, row[name], wrong))
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// charges is a statement of a month with every sort of line.
func charges(seed uint64, zone *time.Location) Statement {
	r := rand.New(rand.NewPCG(seed, 9))
	m := Month{2026, time.May}
	s := Statement{Month: m, Whole: m.Span(zone), Span: m.Span(zone)}
	kinds := []Kind{{"full", "H100 80GB", "", true}, {"mig", "H100 80GB", "1g.10gb", true}, {"cpu", "", "", true}, {}}
	for _, u := range Uses(ledger(r), s.Span) {
		s.Lines = append(s.Lines, Line{Use: u, Name: "train", Owner: "p-1", OwnerName: "Anna \"Ann\", Albers",
			SizeTitle: "MIG slice 10 GB", Kind: kinds[r.IntN(4)], Devices: r.IntN(3)})
	}
	s.Lines = append(s.Lines, storagePrices(r).Storage(storageKept(r), s.Span, "EUR")...)
	s.Lines = append(s.Lines, seatPrices(r).Seats(seatsHeld(r), s.Span, "EUR")...)
	return s
}

var focusSite = FocusSite{Provider: "Example Corp", Account: "default", Team: strings.ToUpper}

func TestFocusColumnByColumn(t *testing.T) {
	rows := 0
	for seed := range uint64(40) {
		s := charges(seed, berlin(t))
		var out strings.Builder
		if err := s.ExportFocus(&out, focusSite); err != nil {
			t.Fatal(err)
		}
		if problems := checkFocus(out.String()); len(problems) > 0 {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(problems[:min(20, len(problems))], "\n"))
		}
		rows += len(s.Lines)
	}
	if rows < 50 {
		t.Errorf("only %d charges were looked at", rows)
	}
}

// TestFocusBillsTheStatement: what is billed adds up to the statement, and the exact list cost is never a minor unit
// away from it.
func TestFocusBillsTheStatement(t *testing.T) {
	for seed := range uint64(40) {
		s := charges(seed, time.UTC)
		var out strings.Builder
		if err := s.ExportFocus(&out, focusSite); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		billed, list := slices.Index(rows[0], "BilledCost"), slices.Index(rows[0], "ListCost")
		sum := new(big.Rat)
		for _, row := range rows[1:] {
			b, _ := new(big.Rat).SetString(row[billed])
			l, _ := new(big.Rat).SetString(row[list])
			if d := new(big.Rat).Sub(b, l); d.Abs(d).Cmp(big.NewRat(1, 100)) > 0 {
				t.Fatalf("seed %d: %s is billed for %s", seed, row[billed], row[list])
			}
			sum.Add(sum, b)
		}
		if total := s.Total().Cost; len(total) > 0 && sum.Cmp(big.NewRat(total[0].Minor, 100)) != 0 {
			t.Fatalf("seed %d: billed %s of %s", seed, sum.FloatString(2), total[0])
		}
	}
}

// TestTheCheckerFindsSlips: a checker that says yes to everything would prove nothing.
func TestTheCheckerFindsSlips(t *testing.T) {
	var out strings.Builder
	if err := charges(1, time.UTC).ExportFocus(&out, focusSite); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"a column is missing":    {"BilledCost", "x_BilledCost"},
		"a column is unknown":    {"ChargeFrequency", "ProviderName"}, // removed in 1.4
		"a value is not allowed": {"Usage-Based", "Hourly"},
		"a time is local":        {"T00:00:00Z", "T00:00:00+02:00"},
		"a currency is a sign":   {",EUR,", ",€,"},
		"a mandatory null":       {"Example Corp", ""},
		"a custom property":      {"x_Technology", "Technology"},
		"a quantity without SKU": {",Hours,", ",,"},
	} {
		spoilt := strings.ReplaceAll(out.String(), change[0], change[1])
		if spoilt == out.String() || len(checkFocus(spoilt)) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
}
