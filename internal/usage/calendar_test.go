package usage_test

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the test, whatever the machine has

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// zones are all names of the tz database, see testdata/zones.txt.
func zones(t *testing.T) (list []*time.Location) {
	t.Helper()
	file, err := os.Open("testdata/zones.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name := strings.TrimSpace(lines.Text())
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, zone)
	}
	if len(list) < 300 {
		t.Fatalf("want the zones of the tz database, got %d", len(list))
	}
	return list
}

// changes are the moments at which the clocks of a zone were or will be changed, from 2000 to 2040.
func changes(zone *time.Location) (list []time.Time) {
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for at.Year() < 2041 {
		_, next := at.In(zone).ZoneBounds()
		if next.IsZero() {
			return list
		}
		if !next.After(at) { // where the rules of a zone take over from its table
			at = at.Add(time.Hour)
			continue
		}
		list = append(list, next)
		at = next
	}
	return list
}

// dateOf compares as its date does.
func dateOf(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.DateOnly) }

// The day after a moment comes later, is the first of its day, and everything before it belongs to the day of the
// moment or, where clocks are put back over midnight, an earlier one. Where midnight is skipped, time.Date answers with
// an hour before: the controller counted the fleet without end.
func TestNextDayInEveryZoneAndAtEveryChange(t *testing.T) {
	t.Parallel()
	for _, zone := range zones(t) {
		for _, change := range changes(zone) {
			for _, before := range []time.Duration{-time.Second, 0, time.Second, time.Hour, 12 * time.Hour, 25 * time.Hour} {
				at := change.Add(-before)
				next := usage.NextDay(at, zone)
				if !next.After(at) || next.Sub(at) > 50*time.Hour || dateOf(next, zone) <= dateOf(at, zone) {
					t.Fatalf("%s: after %s comes %s", zone, at.In(zone), next)
				}
				for _, earlier := range []time.Duration{time.Nanosecond, time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour} {
					if t0 := next.Add(-earlier); t0.After(at) && dateOf(t0, zone) > dateOf(at, zone) {
						t.Fatalf("%s: after %s comes %s, and %s is earlier", zone, at.In(zone), next, t0.In(zone))
					}
				}
			}
		}
	}
}

// Months follow each other without a gap or an overlap, and each begins with its own first moment: all months of some
// zones, and of every zone those that begin within two days of a change of its clocks.
func TestMonthsInEveryZone(t *testing.T) {
	t.Parallel()
	whole := map[string]bool{"America/Santiago": true, "America/Havana": true, "America/Asuncion": true,
		"Pacific/Apia": true, "Asia/Kathmandu": true, "Europe/Berlin": true, "UTC": true}
	for _, zone := range zones(t) {
		if whole[zone.String()] {
			for m := (usage.Month{Year: 2000, Month: time.January}); m.Year < 2041; m = m.Add(1) {
				monthIsWhole(t, m, zone)
			}
			continue
		}
		for _, change := range changes(zone) {
			if m := usage.MonthOf(change.Add(48*time.Hour), zone); m != usage.MonthOf(change.Add(-48*time.Hour), zone) {
				monthIsWhole(t, m, zone)
			}
		}
	}
}

func monthIsWhole(t *testing.T, m usage.Month, zone *time.Location) {
	t.Helper()
	span, next := m.Span(zone), m.Add(1).Span(zone)
	if !span.Until.Equal(next.From) {
		t.Fatalf("%s: %s ends at %s, and the next begins at %s", zone, m, span.Until, next.From)
	}
	if usage.MonthOf(span.From, zone) != m || !usage.MonthOf(span.From.Add(-1), zone).Before(m) {
		t.Fatalf("%s: %s begins at %s", zone, m, span.From)
	}
	if length := span.Length(); length < 27*24*time.Hour || length > 32*24*time.Hour {
		t.Fatalf("%s: %s lasts %s", zone, m, length)
	}
}

// Each day of a span is counted once, and together they are the span, also where midnight is skipped.
func TestChargedDaysWhereMidnightIsSkipped(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"America/Santiago", "America/Havana", "Atlantic/Azores", "Pacific/Apia",
		"Europe/Berlin"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for year := 2009; year < 2031; year++ {
			from := usage.DayStart(year, time.January, 1, zone)
			until := usage.DayStart(year+1, time.January, 1, zone)
			days := usage.ChargedDays([]usage.Charge{{Cluster: "main", Step: from, Parts: 1}},
				usage.Span{From: from, Until: until}, zone)
			var sum usage.CardTime
			seen := map[string]bool{}
			for _, d := range days {
				if seen[d.Day] {
					t.Errorf("%s: %s is there twice", name, d.Day)
				}
				seen[d.Day] = true
				sum += d.Charged
			}
			if len(days) < 364 || len(days) > 366 || int64(sum) != until.Sub(from).Milliseconds() {
				t.Errorf("%s %d: %d days with %d ms, want %d", name, year, len(days), sum, until.Sub(from).Milliseconds())
			}
		}
	}
}
