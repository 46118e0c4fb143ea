package blocks

import (
	"net/url"
	"reflect"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestHoursStayOverASignIn: what was typed into the form for a start comes back from its address.
func TestHoursStayOverASignIn(t *testing.T) {
	office := schedule.Office("Asia/Seoul")
	for _, hours := range []HoursForm{{}, {Mode: string(workload.NoHours)}, HoursOf(ownMode, &office, "UTC"),
		{Mode: ownMode, Days: []string{"sun"}, From: "8", Until: "", Zone: "Nowhere"}} {
		f := ReadStartForm(StartForm{Hours: hours}.Values())
		if !reflect.DeepEqual(f.Hours, hours) {
			t.Errorf("want %+v, got %+v", hours, f.Hours)
		}
	}
	if got := HoursOf(ownMode, &office, "UTC").Hours(); got == nil || !got.Equal(office) {
		t.Errorf("want %+v, got %+v", office, got)
	}
	if h := ReadHours(url.Values{"mode": {ownMode}, "from": {"8"}}, "").Hours(); h == nil || h.Check() == "" {
		t.Errorf("what is no time is taken: %+v", h)
	}
}

// TestHoursInWords: three days and more in a row are joined.
func TestHoursInWords(t *testing.T) {
	bundle, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	say := page.Words{Localizer: bundle.For("en")}
	for want, h := range map[string]schedule.Hours{
		"Mon–Fri 08:00–19:00, Europe/Berlin, not on holidays": schedule.Office("Europe/Berlin"),
		"Mon Tue Sat Sun 20:00–06:00, UTC, started manually": {Zone: "UTC", StopOnly: true, Windows: []schedule.Window{
			{Days: []schedule.Day{"sun", "mon", "tue", "sat"}, From: 20 * 60, Until: 6 * 60}}},
		"Wed–Sun 00:00–24:00, Mon 12:00–13:00, UTC": {Zone: "UTC", Windows: []schedule.Window{
			{Days: []schedule.Day{"wed", "thu", "fri", "sat", "sun"}, Until: 24 * 60},
			{Days: []schedule.Day{"mon"}, From: 12 * 60, Until: 13 * 60}}},
	} {
		if got := HoursWords(say, h); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
