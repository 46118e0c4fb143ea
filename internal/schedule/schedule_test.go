package schedule

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// zones are those with odd rules beside usual ones.
var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Seoul", "Asia/Shanghai", "Asia/Kolkata",
	"Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "Pacific/Kiritimati", "America/St_Johns",
	"America/Sao_Paulo", "Africa/Casablanca", "Africa/Cairo", "Asia/Tehran", "Asia/Gaza", "Antarctica/Troll",
	"America/Scoresbysund", "Europe/Dublin", "Pacific/Norfolk", "Etc/GMT+12", "Pacific/Kwajalein", "Asia/Beirut"}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func calendar(t *testing.T, h Hours, holidays ...Holiday) Calendar {
	t.Helper()
	if f := h.Check(); f != "" {
		t.Fatalf("%+v: %s", h, f)
	}
	c, err := New(h, holidays)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func daily(zone, from, until string) Hours {
	f, err := ParseClock(from)
	u, err2 := ParseClock(until)
	if err != nil || err2 != nil {
		panic(fmt.Sprint(err, err2))
	}
	return Hours{Zone: zone, Windows: []Window{{Days: Week(), From: f, Until: u}}}
}

// said are changes as clocks on the wall and offsets tell them.
func said(list []Change) (lines []string) {
	for _, c := range list {
		word := "stop"
		if c.On {
			word = "start"
		}
		line := c.At.Format("Mon 2006-01-02 15:04 -0700 ") + word
		if c.Holiday != "" {
			line += " after " + c.Holiday
		}
		lines = append(lines, line)
	}
	return lines
}

func want(t *testing.T, got []Change, lines ...string) {
	t.Helper()
	if is := said(got); !slices.Equal(is, lines) {
		t.Errorf("want\n%s\ngot\n%s", strings.Join(lines, "\n"), strings.Join(is, "\n"))
	}
}

// TestAWeekAcrossADaylightChange: office hours stay those of the clock on the wall, while the instants move by an hour.
func TestAWeekAcrossADaylightChange(t *testing.T) {
	c := calendar(t, Office("Europe/Berlin"), Holiday{"2026-04-03", "Good Friday"}, Holiday{"2026-04-06", "Easter Monday"})
	from := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	want(t, c.Between(from, from.AddDate(0, 0, 4), 100),
		"Fri 2026-03-27 19:00 +0100 stop", "Mon 2026-03-30 08:00 +0200 start", "Mon 2026-03-30 19:00 +0200 stop",
		"Tue 2026-03-31 08:00 +0200 start")
	from = time.Date(2026, 4, 2, 12, 0, 0, 0, time.UTC)
	want(t, c.Between(from, from.AddDate(0, 0, 6), 2),
		"Thu 2026-04-02 19:00 +0200 stop", "Tue 2026-04-07 08:00 +0200 start after Good Friday")
}

// TestATimeThatComesTwiceOrNever: what package doc says of clocks that are put forward and back.
func TestATimeThatComesTwiceOrNever(t *testing.T) {
	for name, x := range map[string]struct {
		hours Hours
		from  string // a day; the next is looked at as well
		want  []string
	}{
		"a start in the gap is the jump": {daily("Europe/Berlin", "02:30", "05:00"), "2026-03-29",
			[]string{"Sun 2026-03-29 03:00 +0200 start", "Sun 2026-03-29 05:00 +0200 stop"}},
		"a stop in the gap is the jump": {daily("Europe/Berlin", "01:00", "02:30"), "2026-03-29",
			[]string{"Sun 2026-03-29 01:00 +0100 start", "Sun 2026-03-29 03:00 +0200 stop"}},
		"a window within the gap is left out": {daily("Europe/Berlin", "02:10", "02:50"), "2026-03-29", nil},
		"a start that comes twice is the first, a stop the second": {daily("Europe/Berlin", "02:15", "02:45"), "2026-10-25",
			[]string{"Sun 2026-10-25 02:15 +0200 start", "Sun 2026-10-25 02:45 +0100 stop"}},
		"half an hour on Lord Howe, back": {daily("Australia/Lord_Howe", "01:40", "01:50"), "2026-04-05",
			[]string{"Sun 2026-04-05 01:40 +1100 start", "Sun 2026-04-05 01:50 +1030 stop"}},
		"half an hour on Lord Howe, forward": {daily("Australia/Lord_Howe", "02:15", "03:00"), "2026-10-04",
			[]string{"Sun 2026-10-04 02:30 +1100 start", "Sun 2026-10-04 03:00 +1100 stop"}},
		"a zone without daylight time": {daily("Asia/Seoul", "02:30", "05:00"), "2026-03-29",
			[]string{"Sun 2026-03-29 02:30 +0900 start", "Sun 2026-03-29 05:00 +0900 stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := calendar(t, x.hours)
			day, err := time.ParseInLocation(time.DateOnly, x.from, c.Location())
			if err != nil {
				t.Fatal(err)
			}
			want(t, c.Between(day, day.AddDate(0, 0, 1), 10), x.want...)
		})
	}
}

// TestTheDayThatSamoaLeftOut: 30 December 2011 was not there, and neither are its hours.
func TestTheDayThatSamoaLeftOut(t *testing.T) {
	c := calendar(t, daily("Pacific/Apia", "08:00", "19:00"))
	from := time.Date(2011, 12, 29, 0, 0, 0, 0, c.Location())
	want(t, c.Between(from, from.Add(60*time.Hour), 4),
		"Thu 2011-12-29 08:00 -1000 start", "Thu 2011-12-29 19:00 -1000 stop", "Sat 2011-12-31 08:00 +1400 start",
		"Sat 2011-12-31 19:00 +1400 stop")
	over := calendar(t, daily("Pacific/Apia", "20:00", "06:00"))
	want(t, over.Between(from.Add(12*time.Hour), from.Add(50*time.Hour), 10),
		"Thu 2011-12-29 20:00 -1000 start", "Sat 2011-12-31 06:00 +1400 stop", "Sat 2011-12-31 20:00 +1400 start")
}

// TestWindowsOverMidnightAndSideBySide: what touches is one stretch, and a night belongs to the day on which it begins.
func TestWindowsOverMidnightAndSideBySide(t *testing.T) {
	h := Hours{Zone: "UTC", Holidays: true, Windows: []Window{{Days: []Day{"fri"}, From: 22 * 60, Until: 6 * 60},
		{Days: []Day{"sat"}, From: 6 * 60, Until: 24 * 60}, {Days: []Day{"sun"}, From: 0, Until: 60}}}
	from := time.Date(2026, 1, 8, 0, 0, 0, 0, time.UTC)
	want(t, calendar(t, h).Between(from, from.AddDate(0, 0, 7), 10), "Fri 2026-01-09 22:00 +0000 start",
		"Sun 2026-01-11 01:00 +0000 stop")
	want(t, calendar(t, h, Holiday{"2026-01-10", "A day"}).Between(from, from.AddDate(0, 0, 7), 10),
		"Fri 2026-01-09 22:00 +0000 start", "Sat 2026-01-10 06:00 +0000 stop", "Sun 2026-01-11 00:00 +0000 start after A day",
		"Sun 2026-01-11 01:00 +0000 stop")
}

// TestChangesOfManyZones: for random hours in many zones and years, changes alternate, Next, Last, NextTo, On and
// Between agree, clocks show what was asked for unless they jumped, and no stretch is shorter than the wall says.
func TestChangesOfManyZones(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	begin := time.Date(2005, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 120 {
		name := zones[i%len(zones)]
		h := Hours{Zone: name}
		for range 1 + r.IntN(2) {
			from := Clock(r.IntN(96) * 15)
			until := (from + Clock(15*(1+r.IntN(60)))) % wholeDay
			h.Windows = append(h.Windows, Window{Days: Week()[:1+r.IntN(7)], From: from, Until: until})
		}
		if h.Check() == NeverStops {
			continue
		}
		c := calendar(t, h)
		at := begin.Add(time.Duration(r.IntN(30*365*24)) * time.Hour)
		on, list := c.On(at), c.Between(at.Add(time.Second), at.AddDate(0, 0, 400), 250)
		before := at
		for _, e := range list {
			if e.On == on || !e.At.After(before) || c.On(e.At) != e.On || c.On(e.At.Add(-time.Second)) != on {
				t.Fatalf("%+v: after %s comes %v, on before: %v", h, before, e, on)
			}
			middle := before.Add(e.At.Sub(before) / 2).Truncate(time.Second)
			if next, ok := c.Next(middle); !ok || !next.At.Equal(e.At) || next.On != e.On {
				t.Fatalf("%+v: after %s want %v, got %v %v", h, middle, e, next, ok)
			}
			if was, ok := c.Last(e.At.Add(time.Millisecond)); !ok || !was.At.Equal(e.At) || was.On != e.On {
				t.Fatalf("%+v: at %s the last is %v %v", h, e.At, was, ok)
			}
			if next, ok := c.NextTo(!e.On, e.At); !ok || next.On == e.On || !next.At.After(e.At) {
				t.Fatalf("%+v: after %v the other comes at %v %v", h, e, next, ok)
			}
			if !asked(h, e) && !jumps(e.At) {
				t.Fatalf("%+v: nobody asked for %v in %s", h, e, e.At.Location())
			}
			on, before = e.On, e.At
		}
		if len(list) < 20 {
			t.Fatalf("%+v: %d changes", h, len(list))
		}
	}
}

// asked reports whether the clocks show a time that a window names.
func asked(h Hours, e Change) bool {
	at := Clock(e.At.Hour()*60 + e.At.Minute())
	return slices.ContainsFunc(h.Windows, func(w Window) bool {
		if e.On {
			return w.From == at
		}
		return w.Until%wholeDay == at
	})
}

// jumps reports whether clocks are changed within a day of a moment.
func jumps(t time.Time) bool {
	_, a := t.Add(-24 * time.Hour).Zone()
	_, b := t.Add(24 * time.Hour).Zone()
	return a != b
}

// TestFirstAndLastOfEveryMinute: beside a search minute by minute, for the hours around every jump of many zones.
func TestFirstAndLastOfEveryMinute(t *testing.T) {
	for _, name := range zones {
		loc := zone(t, name)
		at := time.Date(2009, 1, 1, 0, 0, 0, 0, loc)
		for n := 0; n < 4; n++ {
			_, ends := at.ZoneBounds()
			if ends.IsZero() {
				break
			}
			for x := wall(ends) - 3*3600; x <= wall(ends)+3*3600; x += 600 {
				var earliest, latest time.Time
				for s := ends.Add(-30 * time.Hour); s.Before(ends.Add(30 * time.Hour)); s = s.Add(10 * time.Minute) {
					if wall(s) >= x && earliest.IsZero() {
						earliest = s
					}
					if wall(s) < x {
						latest = s.Add(10 * time.Minute)
					}
				}
				if got := first(loc, x); !got.Equal(earliest) {
					t.Fatalf("%s: the first %s is %s, want %s", name, time.Unix(x, 0).UTC(), got, earliest)
				}
				if got := last(loc, x); !got.Equal(latest) {
					t.Fatalf("%s: the last %s is %s, want %s", name, time.Unix(x, 0).UTC(), got, latest)
				}
			}
			at = ends
		}
	}
}

func TestWhatIsWrongWithHours(t *testing.T) {
	good := Office("Europe/Berlin")
	for want, change := range map[Fault]func(*Hours){
		"": func(*Hours) {}, NoZone: func(h *Hours) { h.Zone = "Europe/Nowhere" },
		NoWindows: func(h *Hours) { h.Windows = nil }, NoDays: func(h *Hours) { h.Windows[0].Days = []Day{"today"} },
		NoClock: func(h *Hours) { h.Windows[0].From = 1440 }, TooMany: func(h *Hours) { h.Windows = make([]Window, 15) },
		NeverStops: func(h *Hours) {
			h.Windows = []Window{{Days: Week(), From: 0, Until: 24 * 60}}
		},
	} {
		h := Office("Europe/Berlin")
		change(&h)
		if got := h.Check(); got != want {
			t.Errorf("%+v: want %q, got %q", h, want, got)
		}
	}
	for _, z := range []string{"", "Local", "../etc/passwd", "CET-1CEST"} {
		if _, err := New(Hours{Zone: z, Windows: good.Windows}, nil); err == nil {
			t.Errorf("%q is taken for a zone", z)
		}
	}
}

func TestHoursAreReadAsTheyAreWritten(t *testing.T) {
	h := Hours{Zone: "Asia/Seoul", Windows: []Window{{Days: Workdays(), From: 8*60 + 30, Until: 1440}}, StopOnly: true}
	text, err := json.Marshal(h)
	if err != nil || !strings.Contains(string(text), `"from":"08:30","until":"24:00"`) {
		t.Fatal(string(text), err)
	}
	var back Hours
	if err := json.Unmarshal(text, &back); err != nil || fmt.Sprint(back) != fmt.Sprint(h) {
		t.Error(back, err)
	}
	for _, bad := range []string{"", "8", "24:01", "08:60", "8:5", "-1:00", "+1:00", "08:30:00", "ab:cd"} {
		if c, err := ParseClock(bad); err == nil {
			t.Errorf("%q is read as %s", bad, c)
		}
	}
}

func TestHolidaysAreReadLineByLine(t *testing.T) {
	list := ParseHolidays("2026-12-25 Christmas Day\n\n 2026-01-01  New Year ")
	all := []Holiday{{"2026-12-25", "Christmas Day"}, {"2026-01-01", "New Year"}}
	if CheckHolidays(list) != 0 || !slices.Equal(list, all) {
		t.Error(list)
	}
	for _, bad := range []string{"25.12.2026 Christmas", "2026-12-25", "2026-02-30 No day", "2026-01-01 A\n2026-01-01 B"} {
		if list := ParseHolidays(bad); CheckHolidays(list) == 0 {
			t.Errorf("%q is read as %v", bad, list)
		}
	}
	if got := Sorted(list, []Holiday{{"2026-12-25", "Feiertag"}}); len(got) != 2 || got[1].Name != "Christmas Day" {
		t.Error(got)
	}
}

// TestYearsOfHolidays: who names every day a holiday gets no start, and no endless search.
func TestYearsOfHolidays(t *testing.T) {
	var all []Holiday
	from := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i := range 3000 {
		all = append(all, Holiday{from.AddDate(0, 0, i).Format(time.DateOnly), "Off"})
	}
	if next, ok := calendar(t, Office("UTC"), all...).Next(from.AddDate(0, 0, 5)); ok {
		t.Error(next)
	}
}

func TestTheCalendarOfOtherPrograms(t *testing.T) {
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, zone(t, "Europe/Berlin"))
	text := ICS("GPUs, mine", now, []Event{{ID: "w-1-stop", At: now.Add(time.Hour), Summary: "train; stops\r\nEND:VEVENT",
		Detail: strings.Repeat("Große Freude 노트북 ", 20), URL: "https://gpu.example/workloads/w-1"}})
	for _, l := range strings.SplitAfter(text, "\r\n") {
		if len(strings.TrimSuffix(l, "\r\n")) > 75 || strings.Contains(strings.TrimSuffix(l, "\r\n"), "\n") {
			t.Errorf("line %q", l)
		}
	}
	flat := strings.ReplaceAll(text, "\r\n ", "")
	for _, part := range []string{"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n", "X-WR-CALNAME:GPUs\\, mine\r\n",
		"DTSTART:20260329T110000Z\r\n", "SUMMARY:train\\; stops\\nEND:VEVENT\r\n", strings.Repeat("Große Freude 노트북 ", 20),
		"URL:https://gpu.example/workloads/w-1\r\n", "END:VCALENDAR\r\n"} {
		if !strings.Contains(flat, part) {
			t.Errorf("no %q in\n%s", part, flat)
		}
	}
	if strings.Count(text, "\r\nEND:VEVENT\r\n") != 1 {
		t.Error("words end the event")
	}
}

func BenchmarkNext(b *testing.B) {
	c, err := New(Office("Europe/Berlin"), nil)
	if err != nil {
		b.Fatal(err)
	}
	at := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for b.Loop() {
		c.Next(at)
	}
}

// wall is what clocks show, in seconds since the beginning of 1970 as they show that.
func wall(t time.Time) int64 {
	_, offset := t.Zone()
	return t.Unix() + int64(offset)
}
