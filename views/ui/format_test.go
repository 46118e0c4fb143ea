package ui

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
)

var (
	bundle  = i18n.MustLoad()
	english = bundle.For("en")
	german  = bundle.For("de")
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func TestDuration(t *testing.T) {
	cases := map[string]struct {
		d      time.Duration
		en, de string
	}{
		"nothing":                     {0, "0 s", "0\u00a0s"},
		"seconds":                     {45 * time.Second, "45 s", "45\u00a0s"},
		"almost a minute is a minute": {59*time.Second + 700*time.Millisecond, "1 min", "1\u00a0min"},
		"minutes":                     {12*time.Minute + 10*time.Second, "12 min", "12\u00a0min"},
		"hours and minutes":           {2*time.Hour + 10*time.Minute, "2 h 10 min", "2\u00a0h 10\u00a0min"},
		"whole hours":                 {8 * time.Hour, "8 h", "8\u00a0h"},
		"days and hours":              {76 * time.Hour, "3 d 4 h", "3\u00a0d 4\u00a0h"},
		"more than a week is days":    {12*24*time.Hour + 5*time.Hour, "12 d", "12\u00a0d"},
		"59 min 40 s is a whole hour": {59*time.Minute + 40*time.Second, "1 h", "1\u00a0h"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Duration(english, c.d); c.en != got {
				t.Errorf("want %q, got %q", c.en, got)
			}
			if got := Duration(german, c.d); c.de != got {
				t.Errorf("want %q, got %q", c.de, got)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	cases := map[string]struct{ want, got TimeModel }{
		"in the future": {
			TimeModel{"2026-11-21T14:10:00Z", "21 Nov 2026, 14:10 UTC", "in 2 h 10 min", TimeRelative},
			At(english, noon.Add(130*time.Minute), noon, time.UTC),
		},
		"in the past, in German": {
			TimeModel{"2026-11-21T11:48:00Z", "21. Nov. 2026, 11:48 UTC", "vor 12\u00a0min", TimeRelative},
			At(german, noon.Add(-12*time.Minute), noon, time.UTC),
		},
		"just now": {
			TimeModel{"2026-11-21T12:00:10Z", "21 Nov 2026, 12:00 UTC", "now", TimeRelative},
			At(english, noon.Add(10*time.Second), noon, time.UTC),
		},
		"a countdown that is over says nothing is left": {
			TimeModel{"2026-11-21T11:00:00Z", "21 Nov 2026, 11:00 UTC", "0 s", TimeCountdown},
			Countdown(english, noon.Add(-time.Hour), noon, time.UTC),
		},
		"no time is unknown, not the year 1": {
			TimeModel{Words: "unknown"},
			At(english, time.Time{}, noon, time.UTC),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	cases := map[string]struct {
		v        float64
		decimals int
		en, de   string
	}{
		"thousands":               {1234567.5, 1, "1,234,567.5", "1.234.567,5"},
		"three digits":            {999, 0, "999", "999"},
		"a minus that is a minus": {-1200, 0, "−1,200", "−1.200"},
		"nothing below nothing":   {-0.001, 2, "0.00", "0,00"},
		"unknown is not zero":     {math.NaN(), 0, "unknown", "unbekannt"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Number(english, c.v, c.decimals); c.en != got {
				t.Errorf("want %q, got %q", c.en, got)
			}
			if got := Number(german, c.v, c.decimals); c.de != got {
				t.Errorf("want %q, got %q", c.de, got)
			}
		})
	}
}

// TestChineseAndKorean: digits in threes with a point, per cent without a space, the year first, units without plural.
func TestChineseAndKorean(t *testing.T) {
	zh, ko := bundle.For("zh"), bundle.For("ko")
	at := time.Date(2026, 3, 7, 9, 5, 0, 0, time.UTC)
	cases := map[string]struct {
		say    func(*i18n.Localizer) string
		zh, ko string
	}{
		"a number": {func(l *i18n.Localizer) string { return Number(l, -1234567.5, 1) }, "−1,234,567.5", "−1,234,567.5"},
		"a share":  {func(l *i18n.Localizer) string { return Percent(l, 0.634) }, "63%", "63%"},
		"a value with a unit": {func(l *i18n.Localizer) string { return InUnit(l, "310", "W") + " " + InUnit(l, "7.5", "%") },
			"310 W 7.5%", "310 W 7.5%"},
		"a moment": {func(l *i18n.Localizer) string { return l.Moment(at, time.UTC) },
			"2026 年 3 月 7 日 09:05 UTC", "2026년 3월 7일 09:05 UTC"},
		"a day": {func(l *i18n.Localizer) string { return l.Day(at, time.UTC) }, "3 月 7 日", "3월 7일"},
		"a length of time": {func(l *i18n.Localizer) string { return Duration(l, 130*time.Minute) },
			"2 小时 10 分钟", "2시간 10분"},
		"what is to come": {func(l *i18n.Localizer) string { return Relative(l, noon.Add(3*24*time.Hour), noon) },
			"3 天后", "3일 후"},
		"what was": {func(l *i18n.Localizer) string { return Relative(l, noon.Add(-time.Minute), noon) },
			"1 分钟前", "1분 전"},
	}
	for name, c := range cases {
		if got := c.say(zh); got != c.zh {
			t.Errorf("%s: want %q, got %q", name, c.zh, got)
		}
		if got := c.say(ko); got != c.ko {
			t.Errorf("%s: want %q, got %q", name, c.ko, got)
		}
	}
	for _, count := range []int{0, 1, 2, 1000} { // one form for every number
		one, many := zh.S("fleet.held", "Count", 1), zh.S("fleet.held", "Count", count)
		if strings.Replace(one, "1", strconv.Itoa(count), 1) != many {
			t.Errorf("want %q as for one, got %q", one, many)
		}
	}
}

// TestAppendTenths: one decimal at most, as near as one can be, and a zero is not written.
func TestAppendTenths(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 12: "12", 3.54: "3.5", 3.56: "3.6", 9.97: "10", 100.1: "100.1",
		-12: "-12", -0.26: "-0.3", -0.04: "0", 0.05: "0.1"} {
		if got := string(appendTenths([]byte("L"), x)); got != "L"+want {
			t.Errorf("%v: want %s, got %s", x, want, got[1:])
		}
	}
}

// TestShareGlyph: a card in parts, the first of which are taken; what no card has is drawn as far as it goes.
func TestShareGlyph(t *testing.T) {
	for _, c := range []struct{ parts, filled, wantFilled, wantFree int }{
		{7, 2, 2, 5}, {0, 0, 0, 1}, {4, 9, 4, 0}, {40, 1, 1, mostParts - 1}, {4, -1, 0, 4}} {
		filled, free := ShareGlyphModel{Parts: c.parts, Filled: c.filled}.slices()
		if len(filled) != c.wantFilled || len(free) != c.wantFree {
			t.Errorf("%d of %d: want %d and %d, got %d and %d", c.filled, c.parts, c.wantFilled, c.wantFree,
				len(filled), len(free))
		}
	}
	filled, free := ShareGlyphModel{Parts: 2, Filled: 1}.slices()
	if filled[0] != (tile{x: "8.00", width: "23.40"}) || free[0] != (tile{x: "32.60", width: "23.40"}) {
		t.Errorf("two halves of a card: got %v %v", filled, free)
	}
}

// TestExactTimes: the words are the exact time, on a clock those of today's the time of day alone; no time is unknown.
func TestExactTimes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	words := german.Moment(at, time.UTC)
	exact := TimeModel{Machine: "2026-01-02T03:04:05Z", Exact: words, Words: words, Mode: TimeLocal}
	today, earlier := exact, exact
	today.Words, today.Mode, earlier.Mode = "03:04 UTC", TimeClock, TimeClock
	unknown := TimeModel{Words: german.S("ui.unknown")}
	for _, c := range []struct{ want, got TimeModel }{
		{exact, Exact(german, at, time.UTC)}, {unknown, Exact(german, time.Time{}, time.UTC)},
		{today, OnClock(german, at, at.Add(time.Hour), time.UTC)},
		{earlier, OnClock(german, at, at.AddDate(0, 0, 1), time.UTC)},
		{earlier, OnClock(german, at, at.AddDate(1, 0, 0), time.UTC)},
		{unknown, OnClock(german, time.Time{}, at, time.UTC)},
	} {
		if c.want != c.got {
			t.Errorf("want %+v, got %+v", c.want, c.got)
		}
	}
}
