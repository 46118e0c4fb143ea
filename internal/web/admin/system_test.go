package admin

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// A check leads to the page that says more of what it found; one that is well, or that no page says more of, does not.
func TestAFindingLeadsToItsPage(t *testing.T) {
	t.Parallel()
	bundle, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	say := page.Words{Localizer: bundle.For("en")}
	for check, want := range map[string]string{"nodes": page.FleetPath, "series": page.MetricsPath,
		"prometheus": page.MetricsPath, "cluster": page.ClustersPath, "licenses": page.LicensesPath,
		"admins": page.PeoplePath, "signin": ""} {
		got := ""
		if m := findingModel(say, doctor.Finding{Check: check, State: doctor.Warning}, 1); m.More != nil {
			got = m.More.Href
		}
		if got != want {
			t.Errorf("%s: want %q, got %q", check, want, got)
		}
		if m := findingModel(say, doctor.Finding{Check: check, State: doctor.OK}, 1); m.More != nil {
			t.Errorf("%s is well and leads to %s", check, m.More.Href)
		}
	}
}

// What is to be written into the configuration can be copied, and where it is so has a place of its own.
func TestAFindingHasItsValue(t *testing.T) {
	t.Parallel()
	say := page.Words{Localizer: i18n.MustLoad().For("en")}
	m := findingModel(say, doctor.Finding{Check: "signin", State: doctor.Failed, Value: "https://a/", Process: "web-1"},
		2)
	if m.Copy != "https://a/" || m.Only != "in 1 of 2 processes" || m.Process != "web-1" || m.Name.Detail != "" {
		t.Errorf("got %+v", m)
	}
}
