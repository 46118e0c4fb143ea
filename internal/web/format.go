package web

import (
	"math"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// words puts values into the reader's language, with the formats of views/ui. Times are written in UTC; a script puts
// them into the reader's own zone.
type words struct {
	*i18n.Localizer
	now time.Time
}

func (w words) german() bool { return w.Lang() == "de" }

// symbols stand for currencies that people write with a sign.
var symbols = map[string]string{"EUR": "€", "USD": "$", "GBP": "£"}

// money is "€1,234.50" in English and "1.234,50 €" in German; a currency without a sign is written with its code.
func (w words) money(m usage.Money) string {
	sign, minor := "", m.Minor
	if minor < 0 {
		sign, minor = "−", -minor
	}
	amount := ui.Number(w.Localizer, usage.Money{Minor: minor, Currency: m.Currency}.Float(), usage.Digits(m.Currency))
	symbol, known := symbols[m.Currency]
	switch {
	case m.Currency == "":
		return sign + amount
	case known && !w.german():
		return sign + symbol + amount
	case known:
		return sign + amount + " " + symbol
	}
	return sign + amount + " " + m.Currency
}

// moneyPerHour is a price.
func (w words) moneyPerHour(m usage.Money) string {
	if m.Minor == 0 {
		return w.S("web.free_of_charge")
	}
	return w.S("web.per_hour", "Money", w.money(m))
}

// number has at most one digit after the point, and none where it would be a zero.
func (w words) number(v float64) string {
	if v == math.Trunc(v) {
		return ui.Number(w.Localizer, v, 0)
	}
	return ui.Number(w.Localizer, v, 1)
}

func (w words) gib(v float64) string { return w.number(v) + " GiB" }

// quantity reads a Kubernetes amount of memory ("16Gi", "512Mi") as people do; what it cannot read stays as it is.
func (w words) quantity(q string) string {
	for suffix, unit := range map[string]string{"Gi": "GiB", "Mi": "MiB", "Ti": "TiB"} {
		if head, found := strings.CutSuffix(q, suffix); found {
			return head + " " + unit
		}
	}
	return q
}

func (w words) percent(v float64) string { return ui.Percent(w.Localizer, v/100) }

// duration is "3 d 4 h", "2 h 10 min", "45 min", "40 s".
func (w words) duration(d time.Duration) string { return ui.Duration(w.Localizer, max(0, d)) }

// around shows a time as its distance from now; left as what remains; since as what has passed; clock as the time of
// day, today; at as the time itself.
func (w words) around(t time.Time) ui.TimeModel { return ui.At(w.Localizer, t, w.now, time.UTC) }
func (w words) ago(t time.Time) ui.TimeModel    { return ui.Past(w.Localizer, t, w.now, time.UTC) }
func (w words) left(t time.Time) ui.TimeModel   { return ui.Countdown(w.Localizer, t, w.now, time.UTC) }
func (w words) since(t time.Time) ui.TimeModel  { return ui.Elapsed(w.Localizer, t, w.now, time.UTC) }
func (w words) clock(t time.Time) ui.TimeModel  { return ui.OnClock(w.Localizer, t, w.now, time.UTC) }
func (w words) at(t time.Time) ui.TimeModel     { return ui.Exact(w.Localizer, t, time.UTC) }

// reading is a value with its unit, or the word for unknown: never a zero that nobody measured.
func (w words) reading(r gpumetrics.Reading, unit string) string {
	if !r.Known() {
		return w.S("web.unknown")
	}
	if unit == "%" {
		return w.percent(r.Value)
	}
	return w.number(math.Round(r.Value)) + " " + unit
}

// say puts a Text of a package with rules into words. Times and lengths of time travel in Texts as machines write them;
// here they become readable.
func (w words) say(t i18n.Text) string {
	args := make(map[string]any, len(t.Args))
	for name, value := range t.Args {
		args[name] = w.argument(name, value)
	}
	return w.Say(i18n.Text{ID: t.ID, Args: args})
}

func (w words) argument(name string, value any) any {
	switch v := value.(type) {
	case i18n.Text:
		return w.say(v)
	case float64:
		if name == "Count" {
			return v // chooses the plural form
		}
		return w.number(v)
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return w.at(at).Exact
		}
		if name != "Least" && name != "Most" {
			return v
		}
		if d, err := catalog.ParseDuration(v); err == nil {
			return w.duration(d.Std())
		}
		return w.quantity(v)
	}
	return value
}
