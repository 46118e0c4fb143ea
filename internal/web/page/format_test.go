package page

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func In(lang string) Words { return Words{Localizer: i18n.MustLoad().For(lang), Now: now} }

func TestMoney(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		money  usage.Money
		en, de string
	}{
		"euros":                         {usage.Money{Minor: 123450, Currency: "EUR"}, "€1,234.50", "1.234,50 €"},
		"cents":                         {usage.Money{Minor: 5, Currency: "EUR"}, "€0.05", "0,05 €"},
		"nothing":                       {usage.Money{Currency: "USD"}, "$0.00", "0,00 $"},
		"given back":                    {usage.Money{Minor: -250, Currency: "EUR"}, "−€2.50", "−2,50 €"},
		"a currency without a sign":     {usage.Money{Minor: 990, Currency: "CHF"}, "9.90 CHF", "9,90 CHF"},
		"no currency, no sign invented": {usage.Money{Minor: 990}, "9.90", "9,90"},
	}
	for name, c := range cases {
		if en, de := In("en").Money(c.money), In("de").Money(c.money); en != c.en || de != c.de {
			t.Errorf("%s: want %q and %q, got %q and %q", name, c.en, c.de, en, de)
		}
	}
	if got := In("de").MoneyPerHour(usage.Money{Minor: 55, Currency: "EUR"}); got != "0,55 €/h" {
		t.Errorf("want a price per hour, got %q", got)
	}
	if got := In("en").MoneyPerHour(usage.Money{Currency: "EUR"}); got != "free of charge" {
		t.Errorf("a price of nothing is said, got %q", got)
	}
}

// TestSignsOfCurrencies: the yuan and the yen share a sign; each reader knows their neighbour's by its country.
func TestSignsOfCurrencies(t *testing.T) {
	t.Parallel()
	for currency, want := range map[string]map[string]string{
		"CNY": {"en": "CN¥12.50", "de": "12,50 CN¥", "zh": "¥12.50", "ko": "CN¥12.50"},
		"JPY": {"en": "¥1,250", "de": "1.250 ¥", "zh": "JP¥1,250", "ko": "¥1,250"},
		"KRW": {"en": "₩1,250", "de": "1.250 ₩", "zh": "₩1,250", "ko": "₩1,250"},
	} {
		for lang, words := range want {
			if got := In(lang).Money(usage.Money{Minor: 1250, Currency: currency}); got != words {
				t.Errorf("%s in %s: want %q, got %q", currency, lang, words, got)
			}
		}
	}
}

func TestReadingsAreNeverASilentZero(t *testing.T) {
	t.Parallel()
	unknown, zero := gpumetrics.Reading{}, gpumetrics.Reading{Source: gpumetrics.Measured, At: now}
	if got := In("en").Reading(unknown, "W"); got != "unknown" {
		t.Errorf("want unknown, got %q", got)
	}
	if got := In("en").Reading(zero, "W"); got != "0 W" {
		t.Errorf("a measured zero is a zero, got %q", got)
	}
	if got := In("de").Reading(gpumetrics.Reading{Value: 1234.4, Source: gpumetrics.Measured}, "W"); got != "1.234 W" {
		t.Errorf("want whole watts with their separator, got %q", got)
	}
}

func TestTextsOfRulesBecomeReadable(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text i18n.Text
		want string
	}{
		"a time": {i18n.T("workload.lease_until", "Until", "2026-11-21T18:00:00Z"),
			"Lease until 21 Nov 2026, 18:00 UTC."},
		"a length of time": {i18n.T("request.lease_too_long", "Most", "7d", "Size", "Whole H100"),
			"Whole H100 is available for at most 7 d at a time. Enter a shorter time; you can extend later."},
		"how long something was open": {i18n.T("terminal.closed", "Container", "main", "For", "1h20m0s", "End", ""),
			"Container main, open for 1 h 20 min. "},
		"somebody for another": {i18n.T("request.for", "Name", "Anna Albers", "For", "Ben Bauer"),
			"Anna Albers, as delegate of Ben Bauer,"},
		"an amount of storage": {i18n.T("request.storage_too_much", "Most", "2048Gi"),
			"The maximum is 2048 GiB. Enter less."},
		"a number of characters": {i18n.T("request.reason_too_long", "Most", 500),
			"At most 500 characters. Shorten the text."},
		"an example stays as typed": {i18n.T("request.lease_unreadable", "Example", "8h"),
			"Enter a duration with its unit, such as 8h, 90m or 2d."},
		"a text in a text": {i18n.T("workload.moved", "From", i18n.T("state.queued"), "To",
			i18n.T("state.running")), "Queued → Running"},
		"money in a text": {i18n.T("budget.removed", "Before", usage.Money{Minor: 50_000, Currency: "EUR"}.Text()),
			"Was €500.00 per month."},
		"nothing":                     {i18n.Text{}, ""},
		"an administrator's own word": {i18n.Literal("Ask Carla first."), "Ask Carla first."},
	}
	for name, c := range cases {
		if got := In("en").Text(c.text); got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, got)
		}
	}
}

func TestInitials(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Anna Albers": "AA", "Änne": "Ä", "Pat Platform (as Ada)": "PA",
		"Ada (away)": "A", "Jean Luc de la Tour": "JT", "": "",
		"  ": ""} {
		if got := initials(name); got != want {
			t.Errorf("%q: want %q, got %q", name, want, got)
		}
	}
}

func TestWordsOfAShell(t *testing.T) {
	for text, want := range map[string]string{
		"train-resnet-0":                   "train-resnet-0",
		"http://gpu.example.org:8080/v1/a": "http://gpu.example.org:8080/v1/a",
		"":                                 "''",
		"two words":                        "'two words'",
		"$(reboot)":                        "'$(reboot)'",
		"a;b&c|d":                          "'a;b&c|d'",
		"~root":                            "'~root'",
		"{a,b}":                            "'{a,b}'",
		"it's":                             `'it'\''s'`,
		"line\nline":                       "'line\nline'",
	} {
		if got := ShellQuote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
