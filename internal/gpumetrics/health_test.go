package gpumetrics

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
)

// ReportOf is the report on a recorded exposition, for tests of what others make of it.
func ReportOf(t *testing.T, file string, honour bool) Report {
	t.Helper()
	return reportOf(t, recorded(t, file), honour)
}

// reportOf is the report on an exposition.
func reportOf(t *testing.T, exposition string, honour bool) Report {
	t.Helper()
	clock := newClock()
	f := newFake(t, clock.Now)
	f.scrape(exposition, honour)
	p := newPoller(t, f.URL, clock)
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p.Report()
}

// TestRecordedReports asks of every recorded exposition what the page about the metrics says of it.
func TestRecordedReports(t *testing.T) {
	for file, want := range map[string]struct {
		cards, slices, pods int
		views               map[string]Coverage
	}{
		"dcgm-plain.prom": {2, 0, 0, map[string]Coverage{"work": Whole, "memory": Whole, "card": Whole, "errors": Whole,
			"licenses": Idle}},
		"dcgm-k8s.prom": {3, 0, 2, map[string]Coverage{"work": Whole, "card": Whole, "errors": Whole,
			"licenses": Idle}},
		"dcgm-mig.prom": {2, 4, 4, map[string]Coverage{"work": Whole, "memory": Whole, "card": Whole,
			"errors": Whole}},
		"dcgm-timeslicing.prom": {1, 0, 3, map[string]Coverage{"work": Whole, "memory": Whole, "card": Whole}},
		"dcgm-vgpu.prom": {2, 0, 1, map[string]Coverage{"work": Whole, "memory": Whole, "card": Idle,
			"licenses": Whole}},
		"dcgm-dra.prom": {2, 1, 2, map[string]Coverage{"work": Whole, "memory": Whole, "card": Whole}},
	} {
		t.Run(file, func(t *testing.T) {
			r := reportOf(t, recorded(t, file), true)
			if r.Cards != want.cards || r.Slices != want.slices || r.Pods != want.pods {
				t.Errorf("want %d cards, %d slices and %d pods, got %d, %d, %d", want.cards, want.slices, want.pods, r.Cards,
					r.Slices, r.Pods)
			}
			for _, v := range r.Views {
				if w, ok := want.views[v.Name]; ok && v.State != w {
					t.Errorf("%s: want %s, got %s without %v", v.Name, w, v.State, v.Missing)
				}
			}
			for _, s := range r.Series {
				if s.Devices > s.Expected && s.Name != "engine" {
					t.Errorf("%s: %d of %d devices", s.Name, s.Devices, s.Expected)
				}
			}
		})
	}
}

func TestLicenseIsAGuestsWord(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	f.scrape(recorded(t, "dcgm-vgpu.prom"), true)
	p := newPoller(t, f.URL, clock)
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := p.Live("tenant-red", "viz-0").Devices[0].License; !l.Known() || l.Value != 1 {
		t.Errorf("want a license, got %+v", l)
	}
	f.scrape(recorded(t, "dcgm-k8s.prom"), true) // where 0 is written for cards that need none
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := p.Live("tenant-red", "nb-anna-0").Devices[0].License; l.Known() {
		t.Errorf("want nothing known of a license of a card that needs none, got %+v", l)
	}
	for model, want := range map[string]bool{"NVIDIA A40-12Q": true, "GRID T4-4C": true, "NVIDIA A100-1-5C": true,
		"NVIDIA H100XM-1-10CME": true, "NVIDIA RTX Pro 6000 Blackwell DC-1-24QGFX": true, "NVIDIA A16-2B": true,
		"NVIDIA A100-SXM4-80GB": false, "NVIDIA H100 80GB HBM3": false, "NVIDIA L4": false, "": false} {
		if guest(model) != want {
			t.Errorf("%q: want %v", model, want)
		}
	}
}

// TestIssues: each kind of error has its severity and something to do, in every language.
func TestIssues(t *testing.T) {
	base := rows(whole, usedName, 1, freeName, 1)
	bundle := i18n.MustLoad()
	for name, c := range map[string]struct {
		rows  string
		worst Severity
		none  bool
	}{
		"no error": {rows(whole, "DCGM_FI_DEV_XID_ERRORS", 0, "DCGM_FI_DEV_ROW_REMAP_FAILURE", 0), 0,
			true},
		"a program's mistake":             {rows(whole, "DCGM_FI_DEV_XID_ERRORS", 31), Info, false},
		"fallen off the bus":              {rows(whole, "DCGM_FI_DEV_XID_ERRORS", 79), Danger, false},
		"a code nobody knows":             {rows(whole, "DCGM_FI_DEV_XID_ERROR", 888), Warning, false},
		"an XID that is no number of one": {rows(whole, "DCGM_FI_DEV_XID_ERRORS", 31.5), 0, true},
		"errors of late": {rows(whole+`,xid="63",window_size_in_ms="300000"`, "DCGM_EXP_XID_ERRORS_COUNT",
			2), Warning, false},
		"a row that could not be replaced": {rows(whole, "DCGM_FI_DEV_ROW_REMAP_FAILED", 1), Danger, false},
		"double-bit errors":                {rows(whole, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 3), Danger, false},
		"hot":                              {rows(whole, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 0x40), Danger, false},
		"idle clocks":                      {rows(whole, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", 0x1), 0, true},
		"a blank":                          {rows(whole, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "9223372036854775794"), 0, true},
	} {
		r := reportOf(t, base+c.rows, true)
		worst, any := r.Health[0].Worst()
		if any == c.none || worst != c.worst {
			t.Errorf("%s: want %v (none %v), got %+v", name, c.worst, c.none, r.Health[0].Issues)
		}
		for _, x := range r.Health[0].Issues {
			for _, lang := range []string{"en", "de"} {
				l := bundle.For(lang)
				if l.Say(x.What) == "" || l.Say(x.Todo) == "" {
					t.Errorf("%s: no words in %s for %+v", name, lang, x)
				}
			}
		}
	}
}

// TestIssuesOfTheNode: what begins with the node in its words is of the node, and nothing else.
func TestIssuesOfTheNode(t *testing.T) {
	words := i18n.MustLoad().For("en")
	for _, todo := range []string{"bus", "contained", "ecc_uncorrected", "firmware", "link", "memory", "nvlink_errors",
		"other", "program", "recovery", "remap", "remap_failed", "remap_uncorrected"} {
		i := Issue{Todo: i18n.T("gpumetrics.todo." + todo)}
		if text := words.Say(i.Todo); i.OfNode() != strings.HasPrefix(text, "Quarantine the node") {
			t.Errorf("%s: of the node %t, says %q", todo, i.OfNode(), text)
		}
	}
}
