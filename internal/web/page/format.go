package page

import (
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// InUnit is an amount of a budget as people read it.
func (w Words) InUnit(u budget.Unit, amount int64) string {
	if u == budget.GPUHours {
		return w.S("budget.hours", "Hours", ui.Number(w.Localizer, float64(amount)/float64(u.Parts()), 2))
	}
	return w.Money(usage.Money{Minor: amount, Currency: string(u)})
}

// Words puts values into the reader's language, with the formats of views/ui. Times are written in UTC; a script puts
// them into the reader's own zone.
type Words struct {
	*i18n.Localizer
	Now time.Time
}

// German reports whether the reader reads German.
func (w Words) German() bool { return w.Lang() == "de" }

// symbols stand for currencies that people write with a sign. Two share one: it is that of the yuan in Chinese and of
// the yen elsewhere, and the other has its country before it (Unicode CLDR).
var symbols = map[string]string{"EUR": "€", "USD": "$", "GBP": "£", "KRW": "₩", "JPY": "¥", "CNY": "CN¥"}

func (w Words) symbol(currency string) (string, bool) {
	if w.Lang() == "zh" {
		switch currency {
		case "CNY":
			return "¥", true
		case "JPY":
			return "JP¥", true
		}
	}
	s, known := symbols[currency]
	return s, known
}

// CurrencyMarks are what stands before an amount, and what behind it.
func (w Words) CurrencyMarks(currency string) (before, behind string) {
	symbol, known := w.symbol(currency)
	switch {
	case !known:
		return "", currency
	case w.German():
		return "", symbol
	}
	return symbol, ""
}

// Money is "€1,234.50" in English, Chinese and Korean, and "1.234,50 €" in German; a currency without a sign is written
// with its code.
func (w Words) Money(m usage.Money) string { return w.money(m, usage.Digits(m.Currency)) }

// WholeMoney is Money of a round amount: "€10".
func (w Words) WholeMoney(m usage.Money) string { return w.money(m, 0) }

func (w Words) money(m usage.Money, digits int) string {
	sign, minor := "", m.Minor
	if minor < 0 {
		sign, minor = "−", -minor
	}
	amount := ui.Number(w.Localizer, usage.Money{Minor: minor, Currency: m.Currency}.Float(), digits)
	return sign + w.marked(amount, m.Currency)
}

// UnitPrice is a price with as many digits as were typed: "€0.00012".
func (w Words) UnitPrice(m usage.UnitPrice, currency string) string {
	_, fraction, _ := strings.Cut(m.Amount(currency), ".")
	return w.marked(ui.Number(w.Localizer, float64(m)/1000/float64(usage.Units(currency)), len(fraction)), currency)
}

// marked is an amount with the sign or the code of its currency.
func (w Words) marked(amount, currency string) string {
	symbol, known := w.symbol(currency)
	switch {
	case currency == "":
		return amount
	case known && !w.German():
		return symbol + amount
	case known:
		return amount + " " + symbol
	}
	return amount + " " + currency
}

// Card is a card's name as people write it: GFD spells it with dashes.
func (w Words) Card(model string) string {
	if model == "" {
		return w.S("fleet.model_unknown")
	}
	return strings.TrimPrefix(cardWords.Replace(model), "NVIDIA ")
}

var cardWords = strings.NewReplacer("-", " ", "_", " ")

// SizeTitle is the title of a size in the reader's language.
func (w Words) SizeTitle(s catalog.Size) string { return s.TitleIn(w.Lang()) }

// ImageTitle is the title of an image in the reader's language; of a member's own with what it is started like.
func (w Words) ImageTitle(i catalog.Image) string {
	if i.IsCustom() {
		return w.S("web.custom_image", "Title", i.Title, "Like", i.Like())
	}
	return i.TitleIn(w.Lang())
}

// MoneyPerHour is a price.
func (w Words) MoneyPerHour(m usage.Money) string {
	if m.Minor == 0 {
		return w.S("web.free_of_charge")
	}
	return w.S("web.per_hour", "Money", w.Money(m))
}

// Number has at most one digit after the point, and none where it would be a zero.
func (w Words) Number(v float64) string {
	if v == math.Trunc(v) {
		return ui.Number(w.Localizer, v, 0)
	}
	return ui.Number(w.Localizer, v, 1)
}

// ShortNumber is a number that is read at a glance: one of a million and more in millions.
func (w Words) ShortNumber(v float64) string {
	switch {
	case v >= 1e9:
		return w.S("ui.billions", "Number", w.Number(math.Round(v/1e8)/10))
	case v >= 1e6:
		return w.S("ui.millions", "Number", w.Number(math.Round(v/1e5)/10))
	}
	return w.Number(v)
}

// GiB is an amount of memory or storage.
func (w Words) GiB(v float64) string { return w.Number(v) + " GiB" }

// Bytes is the size of a file: 512 B, 1.5 KiB, 3 GiB.
func (w Words) Bytes(n int64) string {
	v, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, next
	}
	return w.Number(v) + " " + unit
}

// Quantity reads a Kubernetes amount of memory ("16Gi", "512Mi") as people do; what it cannot read stays as it is.
func (w Words) Quantity(q string) string {
	for suffix, unit := range map[string]string{"Gi": "GiB", "Mi": "MiB", "Ti": "TiB"} {
		if head, found := strings.CutSuffix(q, suffix); found {
			return head + " " + unit
		}
	}
	return q
}

// Percent takes 0 to 100.
func (w Words) Percent(v float64) string { return ui.Percent(w.Localizer, v/100) }

// Duration is "3 d 4 h", "2 h 10 min", "45 min", "40 s".
func (w Words) Duration(d time.Duration) string { return ui.Duration(w.Localizer, max(0, d)) }

// Around shows a time as its distance from now.
func (w Words) Around(t time.Time) ui.TimeModel { return ui.At(w.Localizer, t, w.Now, time.UTC) }

// Ago shows what has passed since.
func (w Words) Ago(t time.Time) ui.TimeModel { return ui.Past(w.Localizer, t, w.Now, time.UTC) }

// Left shows what remains.
func (w Words) Left(t time.Time) ui.TimeModel { return ui.Countdown(w.Localizer, t, w.Now, time.UTC) }

// Since counts up while the page is open.
func (w Words) Since(t time.Time) ui.TimeModel { return ui.Elapsed(w.Localizer, t, w.Now, time.UTC) }

// Clock is the time of day, today.
func (w Words) Clock(t time.Time) ui.TimeModel { return ui.OnClock(w.Localizer, t, w.Now, time.UTC) }

// At is the time itself.
func (w Words) At(t time.Time) ui.TimeModel { return ui.Exact(w.Localizer, t, time.UTC) }

// Reading is a value with its unit, or the word for unknown: never a zero that nobody measured.
func (w Words) Reading(r gpumetrics.Reading, unit string) string {
	if !r.Known() {
		return w.S("web.unknown")
	}
	if unit == "%" {
		return w.Percent(r.Value)
	}
	return w.Number(math.Round(r.Value)) + " " + unit
}

// Text puts a Text of a package with rules into words. Times and lengths of time travel in Texts as machines write
// them; here they become readable.
func (w Words) Text(t i18n.Text) string {
	args := make(map[string]any, len(t.Args))
	for name, value := range t.Args {
		args[name] = w.argument(name, value)
	}
	return w.Say(i18n.Text{ID: t.ID, Args: args})
}

func (w Words) argument(name string, value any) any {
	switch v := value.(type) {
	case i18n.Text:
		if number, currency, is := usage.MoneyOf(v); is {
			return w.marked(w.Say(number), currency)
		}
		return w.Text(v)
	case float64:
		if name == "Count" {
			return v // chooses the plural form
		}
		return w.Number(v)
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return w.At(at).Exact
		}
		switch name {
		case "For", "Left", "Lease", "Least", "Most":
			if d, err := catalog.ParseDuration(v); err == nil {
				return w.Duration(d.Std())
			}
		}
		if name == "Least" || name == "Most" {
			return w.Quantity(v)
		}
	}
	return value
}

// ClockOn is a time of the day, with the day where it is another one.
func ClockOn(say Words, t time.Time) string {
	if t.UTC().Truncate(24 * time.Hour).Equal(say.Now.UTC().Truncate(24 * time.Hour)) {
		return ui.Clock(t, time.UTC) + " UTC"
	}
	return say.At(t).Exact
}

// DayOf is "21 Nov 2026"; a bound that is not there is a dash.
func DayOf(say Words, t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return say.Say(i18n.Date(t.UTC()))
}

// Amount is a value with the unit that people use for it.
func (w Words) Amount(r gpumetrics.Reading) string {
	switch {
	case !r.Known():
		return w.S("web.unknown")
	case r.Unit == gpumetrics.Percent:
		return w.Percent(r.Value)
	case r.Unit == gpumetrics.MiB:
		return w.GiB(math.Round(r.Value/102.4) / 10)
	}
	return w.Number(math.Round(r.Value)) + " " + string(r.Unit)
}

// UpperFirst begins a sentence with a word that stands in the middle of others.
func UpperFirst(s string) string { return ui.UpperFirst(s) }

// IDs are the values of a list as texts.
func IDs[T ~string](list []T) []string {
	ids := make([]string, len(list))
	for i, id := range list {
		ids[i] = string(id)
	}
	return ids
}

// OrElse is value, or otherwise where value is empty.
func OrElse(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}

// RoleWord is the name of a role.
func RoleWord(r identity.Role) i18n.Text { return i18n.T("role." + string(r)) }

// SeatHours is how long seats were held: "12.5 seat hours".
func (w Words) SeatHours(d time.Duration) string {
	return w.S("usage.seat_hours", "Hours", ui.Number(w.Localizer, d.Hours(), 1))
}

// FullCoverage is from which coverage on nothing need be said of it: the first minutes of what starts have no samples.
const FullCoverage = 0.99

// Share is a part of a whole in per cent, of which a little less than all is not all.
func (w Words) Share(part float64) string {
	if part < 1 {
		part = min(part, FullCoverage)
	}
	return w.Percent(100 * part)
}

// GiBMonths is storage for a time: "12.5 GiB-months".
func (w Words) GiBMonths(t usage.GiBTime) string {
	return w.S("usage.gib_months", "Amount", ui.Number(w.Localizer, t.Months(), 2))
}

// Hours is a length of time as people are charged for it: "12.5 h".
func (w Words) Hours(d time.Duration) string {
	return w.S("usage.hours", "Hours", ui.Number(w.Localizer, d.Hours(), 1))
}

// Monies is an amount, or several where there are several currencies.
func (w Words) Monies(list []usage.Money) string {
	if len(list) == 0 {
		return "–"
	}
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = w.Money(m)
	}
	return strings.Join(texts, " + ")
}

// Month is "November 2026".
func (w Words) Month(m usage.Month) string { return w.Say(m.Text()) }

// ShellQuote keeps a name or an address one word in a shell, whatever a site put into it. What is plain stays as it is.
func ShellQuote(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// plainWord has no character that a POSIX shell gives a meaning to.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]+$`)
