package workloads

import (
	"slices"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/static"
)

func TestEveryEventHasAnIcon(t *testing.T) {
	for _, kind := range audit.Kinds() {
		if icon := eventIcon(kind); icon == "" {
			t.Errorf("%s has no icon", kind)
		} else if _, ok := static.IconNamed(icon); !ok {
			t.Errorf("%s: there is no icon %q", kind, icon)
		}
	}
	for kind, want := range map[audit.Kind]string{audit.WorkloadExtended: "extend", audit.LeaseEnded: "stop",
		audit.LeaseWarned: "clock", audit.CatalogSaved: "audit"} {
		if got := eventIcon(kind); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

func TestADayIsSaidOnce(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 0, 5, 0, 0, time.UTC)
	var events []audit.Event
	for _, after := range []time.Duration{time.Hour, 0, -10 * time.Minute} {
		events = append(events, audit.Event{Kind: audit.WorkloadStarted, At: at.Add(after)})
	}
	var days, times []string
	for _, e := range historyModel(page.Words{Localizer: i18n.MustLoad().For("en"), Now: at}, "", "", events).Events {
		times = append(times, e.Time.Words)
		if e.NewDay {
			days = append(days, e.Day.Words)
		}
	}
	if want := []string{"21 Nov 2026", "20 Nov 2026"}; !slices.Equal(days, want) {
		t.Errorf("want %q, got %q", want, days)
	}
	if want := []string{"01:05", "00:05", "23:55"}; !slices.Equal(times, want) {
		t.Errorf("want %q, got %q", want, times)
	}
}
