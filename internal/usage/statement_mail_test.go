package usage

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
)

// books are a meter and what was told, with a clock.
type books struct {
	now       time.Time
	intervals []Interval
	asked     int
	told      []Month
	events    []audit.Event
	down      error
}

func (b *books) Statement(_ context.Context, f Filter) (Statement, error) {
	b.asked++
	var s Statement
	for _, u := range Uses(b.intervals, f.Span) {
		s.Lines = append(s.Lines, Line{Use: u, Devices: 1, Cards: 1, Kind: Kind{Technology: "full", Model: "H100 80GB",
			Known: true}})
	}
	return s, b.down
}

func (b *books) MeteredIntervals(context.Context, Filter) ([]Interval, error) {
	return b.intervals, nil
}

func (b *books) StorageIntervals(context.Context, Filter) ([]StorageInterval, error) { return nil, nil }

func (b *books) SeatIntervals(context.Context, Filter, time.Time) ([]SeatInterval, error) {
	return nil, nil
}

func (b *books) StatementMailSent(_ context.Context, m Month) (bool, error) {
	return slices.Contains(b.told, m), nil
}

func (b *books) SendStatementMail(_ context.Context, m Month, events ...audit.Event) error {
	b.told, b.events = append(b.told, m), append(b.events, events...)
	return nil
}

func (b *books) addInterval(tenant string, from, until time.Time) {
	b.intervals = append(b.intervals, Interval{Workload: "w-" + tenant, Tenant: tenant, Size: "h100",
		PerHour: Money{200, "EUR"}, From: from, Until: until})
}

// monthly is a fresh one, as after a restart.
func (b *books) monthly(zone *time.Location) *StatementMail {
	return &StatementMail{Store: b, Statements: &Service{Store: b, Zone: zone, Now: func() time.Time { return b.now }},
		Technology: word}
}

func word(technology string) i18n.Text { return i18n.T("technology." + technology) }

// sendMails is what one look writes: "team: sentence".
func (b *books) sendMails(t *testing.T, zone *time.Location) []string {
	t.Helper()
	b.events = nil
	if err := b.monthly(zone).Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, e := range b.events {
		if e.Kind != audit.StatementSent || e.Actor != "system" || !e.At.Equal(b.now) {
			t.Errorf("strange event %+v", e)
		}
		list = append(list, e.Tenant+": "+localized(t, e.Detail, "en"))
	}
	return list
}

// localized is a text as it comes back from a database.
func localized(t *testing.T, text i18n.Text, lang string) string {
	t.Helper()
	data, err := json.Marshal(text)
	var back i18n.Text
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bundle().For(lang).Say(back)
}

var bundle = sync.OnceValue(i18n.MustLoad)

func TestTell(t *testing.T) {
	utc := func(month time.Month, day, hour int) time.Time {
		return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
	}
	b := &books{now: utc(11, 30, 23)}
	b.addInterval("vision", utc(11, 2, 0), utc(11, 3, 0))
	b.addInterval("speech", utc(10, 30, 0), utc(10, 31, 0))
	b.addInterval("fleet", utc(12, 1, 0), time.Time{})
	b.addInterval("lost", utc(11, 1, 0), utc(11, 1, 0))
	b.intervals[3].UnknownUntil = utc(11, 2, 0)
	want := func(why string, lines ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, lines...), b.sendMails(t, time.UTC)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
	b.told = []Month{{2026, time.October}}
	want("the month runs, and the last one is told")
	b.now = utc(12, 1, 5)
	want("its last hours may still change")
	b.down = errors.New("no answer")
	b.now = utc(12, 1, 6)
	if err := b.monthly(time.UTC).Send(t.Context()); err == nil || len(b.told) != 1 {
		t.Errorf("want it tried again, got %v and %v", err, b.told)
	}
	b.down = nil
	want("it is over: for the team that held something", "vision: 48.00 EUR for 2026-11. GPU time: 24.0 h H100 80GB · "+
		"Whole GPU. GPU idle time is unknown.")
	want("once, whatever is restarted")
	asked := b.asked
	b.now = utc(12, 31, 23)
	want("still")
	if b.asked != asked {
		t.Errorf("the meter was added up for a month that is told: %d times", b.asked-asked)
	}
	b.now = utc(3, 20, 0).AddDate(1, 0, 0)
	want("switched off for months: the last one", "fleet: 1,344.00 EUR for 2027-02. GPU time: 672.0 h H100 80GB · Whole "+
		"GPU. GPU idle time is unknown.")
	if diff := cmp.Diff([]Month{{2026, time.October}, {2026, time.November}, {2027, time.February}}, b.told); diff != "" {
		t.Error(diff)
	}
}

func TestTellANewSite(t *testing.T) {
	b := &books{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	b.addInterval("vision", b.now.Add(-time.Hour), time.Time{})
	if got := b.sendMails(t, time.UTC); len(got) != 0 {
		t.Errorf("nothing was held in October, got %v", got)
	}
	b.now = time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC)
	if got := b.sendMails(t, time.UTC); len(got) != 1 || !strings.Contains(got[0], "for 2026-11") {
		t.Errorf("want November, got %v", got)
	}
}

// TestTellBySiteClocks: a month ends by the site's clocks, whatever its length, and with a change of them in it.
func TestTellBySiteClocks(t *testing.T) {
	zones := map[string]*time.Location{"UTC": time.UTC, "Nepal": time.FixedZone("NPT", 5*3600+45*60),
		"Samoa": time.FixedZone("SST", -11*3600), "Berlin": berlin(t)}
	for name, zone := range zones {
		for m := (Month{2027, time.December}); m.Before(Month{2029, time.January}); m = m.Add(1) {
			span := m.Span(zone)
			b := &books{}
			b.addInterval("before", span.From.Add(-time.Hour), span.From)
			b.addInterval("last", span.Until.Add(-time.Hour), span.Until.Add(time.Hour))
			b.addInterval("after", span.Until, time.Time{})
			b.told = []Month{m.Add(-1)}
			for _, early := range []time.Duration{-time.Second, 0, mailAfter - time.Second} {
				b.now = span.Until.Add(early)
				if got := b.sendMails(t, zone); len(got) != 0 {
					t.Errorf("%s %s: %s after its end is too early, got %v", name, m, early, got)
				}
			}
			b.now = span.Until.Add(mailAfter)
			if got := b.sendMails(t, zone); len(got) != 1 || !strings.HasPrefix(got[0], "last: 2.00 EUR for "+m.String()) {
				t.Errorf("%s %s: got %v", name, m, got)
			}
		}
	}
}

func TestTotalsInWords(t *testing.T) {
	price := Money{12345, "EUR"}
	line := func(kind Kind, hours int, change func(*Line)) Line {
		l := Line{Use: Use{Workload: "w", Tenant: "vision", PerHour: price, Held: time.Duration(hours) * time.Hour},
			Kind: kind, Devices: 1, Cards: 1}
		if change != nil {
			change(&l)
		}
		return l
	}
	whole, slice := Kind{Technology: "full", Model: "H100 80GB", Known: true}, Kind{Technology: "mig", Model: "H100 80GB",
		Profile: "1g.10gb", Known: true}
	cpu := func(l *Line) { l.Devices, l.Cards = 0, 0 }
	measured := func(l *Line) { l.Engine = EngineUse{Measured: l.Held / 2, Idle: l.Held / 4} }
	storage := func(l *Line) { l.Volume, l.GiB, l.Rate, l.Devices = "home", 100, 1_000_000, 0 }
	seats := func(l *Line) { l.Seats, l.Rate, l.Devices = Seats{Pool: "vws", Count: 2}, 10_000_000, 0 }
	dollars := func(l *Line) { l.PerHour.Currency = "USD" }
	free := func(l *Line) { l.PerHour.Minor = 0 }
	cases := map[string]struct {
		lines  []Line
		en, de string
	}{
		"GPUs, half of their use known": {[]Line{line(whole, 8, measured), line(slice, 2, measured)},
			"1,234.50 EUR for 2026-02. GPU time: 8.0 h H100 80GB · Whole GPU, 2.0 h H100 80GB · MIG 1g.10gb. Cost of idle " +
				"GPUs: 308.63 EUR, based on 50 % of the time with known utilization.",
			"1.234,50 EUR für 2026-02. GPU-Zeit: 8,0 h H100 80GB · Ganze GPU, 2,0 h H100 80GB · MIG 1g.10gb. " +
				"Leerlaufkosten: 308,63 EUR, soweit die Auslastung bekannt ist, nämlich für 50 % der Zeit."},
		"no GPU": {[]Line{line(Kind{Technology: "cpu", Known: true}, 1, cpu)}, "123.45 EUR for 2026-02.",
			"123,45 EUR für 2026-02."},
		"storage and seats": {[]Line{line(Kind{Technology: StorageSize, Known: true}, 730, storage),
			line(Kind{Technology: SeatTechnology, Known: true}, 73, seats)},
			"1,020.00 EUR for 2026-02. Storage: 1,000.00 EUR. License seats: 20.00 EUR.",
			"1.020,00 EUR für 2026-02. Datenspeicher: 1.000,00 EUR. Lizenzplätze: 20,00 EUR."},
		"two currencies, of which one is for nothing idle": {[]Line{line(whole, 1, measured), line(whole, 1, dollars)},
			"123.45 EUR + 123.45 USD for 2026-02. GPU time: 2.0 h H100 80GB · Whole GPU. Cost of idle GPUs: 30.86 EUR, " +
				"based on 25 % of the time with known utilization.",
			"123,45 EUR + 123,45 USD für 2026-02. GPU-Zeit: 2,0 h H100 80GB · Ganze GPU. Leerlaufkosten: 30,86 EUR, " +
				"soweit die Auslastung bekannt ist, nämlich für 25 % der Zeit."},
		"a site without prices, and a size that is gone": {[]Line{line(Kind{}, 3, free)},
			"Nothing is charged for 2026-02. GPU time: 3.0 h Unknown type.",
			"Nichts wird berechnet für 2026-02. GPU-Zeit: 3,0 h Art nicht aufgezeichnet."},
		"a silence": {[]Line{line(Kind{}, 1, func(l *Line) { cpu(l); l.Unknown = 90 * time.Minute })},
			"123.45 EUR for 2026-02. Unknown and not charged: 1.5 h.",
			"123,45 EUR für 2026-02. Unbekannt und nicht berechnet: 1,5 h."},
		"too many kinds to list": {[]Line{line(whole, 1, nil), line(slice, 1, nil),
			line(Kind{Technology: "vgpu", Model: "L40S", Known: true}, 1, nil),
			line(Kind{Technology: "time-slicing", Known: true}, 1, nil)},
			"493.80 EUR for 2026-02. GPU idle time is unknown.",
			"493,80 EUR für 2026-02. Ob GPUs ungenutzt waren, ist nicht bekannt."},
	}
	m := &StatementMail{Technology: word}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := m.totals(Month{2026, time.February}, Statement{Lines: c.lines}.Total())
			if diff := cmp.Diff([]string{c.en, c.de}, []string{localized(t, text, "en"), localized(t, text, "de")}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestKnownIsNeverMoreThanItIs: all is said only of all, and nothing never of something.
func TestKnownIsNeverMoreThanItIs(t *testing.T) {
	for measured, want := range map[float64]int{0.001: 1, 99.9: 99, 100: 100, 29: 29} {
		if got := known(CardUse{Held: 100, Measured: measured}); got != want {
			t.Errorf("%g of 100: want %d, got %d", measured, want, got)
		}
	}
}
