package gpumetrics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestRecordedHealth: what the room of health tells of each card of each recorded exposition. "?" is unknown: none of
// them has ECC, reasons of slow clocks or errors of NVLink, as the exporter's own list of counters has them in
// comments, and nothing stands in for them.
func TestRecordedHealth(t *testing.T) {
	for file, want := range map[string][]string{
		"dcgm-plain.prom": {"node-a100-01 1f0e: fine, ecc ?/?, remapped 0/0, failed 0, slow ?, nvlink ?",
			"node-a100-01 7c9d: fine, ecc ?/?, remapped 0/0, failed 0, slow ?, nvlink ?"},
		"dcgm-k8s.prom": {
			"worker-h100-02 a35b: warning, ecc ?/?, remapped 0/1, failed 0, slow ?, nvlink ?",
			"- warning: Memory rows remapped after uncorrectable errors: 1.",
			"worker-h100-02 7c9d: noticed, ecc ?/?, remapped 0/0, failed 0, slow ?, nvlink ?",
			"- info: XID 31 (an application error), 2 times recently.",
			"worker-h100-02 1f0e: fine, ecc ?/?, remapped 0/0, failed 0, slow ?, nvlink ?"},
		"dcgm-mig.prom": {
			"worker-h100-03 1f0e: noticed, ecc ?/?, remapped 0/0, failed 0, slow ?, nvlink ?", "- info: The last error since " +
				"the driver was loaded is XID 43: an application error. Its time is unknown.",
			"worker-h100-03 7c9d: fine, ecc ?/?, remapped 0/0, failed 0, slow ?, nvlink ?"},
		"dcgm-timeslicing.prom": {"worker-l4-01 1f0e: fine, ecc ?/?, remapped 0/0, failed 0, slow ?, nvlink ?"},
		"dcgm-vgpu.prom": {"vm-vgpu-node-01 1f0e: fine, ecc ?/?, remapped ?/?, failed ?, slow ?, nvlink ?",
			"vm-vgpu-node-01 7c9d: fine, ecc ?/?, remapped ?/?, failed ?, slow ?, nvlink ?"},
		"dcgm-dra.prom": {"worker-h100-04 1f0e: fine, ecc ?/?, remapped 0/0, failed 0, slow ?, nvlink ?",
			"worker-h100-04 7c9d: fine, ecc ?/?, remapped 0/0, failed 0, slow ?, nvlink ?"},
	} {
		for _, honour := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, honor_labels %t", file, honour), func(t *testing.T) {
				if diff := cmp.Diff(want, healthLines(t, gpumetrics.ReportOf(t, file, honour))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// healthLines is one line for each card, followed by what is the matter with it.
func healthLines(t *testing.T, r gpumetrics.Report) (lines []string) {
	t.Helper()
	site := silentSite{r}
	s := health.New(health.Options{Store: site, Sources: map[string]health.Source{"main": site},
		Now: func() time.Time { return r.HealthAt }})
	admin := identity.Actor{Person: identity.Person{ID: "p-pat"}, Global: []identity.Role{identity.Admin}}
	report, err := s.Report(t.Context(), admin, "main")
	if err != nil {
		t.Fatal(err)
	}
	say := i18n.MustLoad().For("en")
	for _, n := range report.Nodes {
		for _, c := range n.Cards {
			d := c.DCGM
			lines = append(lines, fmt.Sprintf("%s %s: %s, ecc %s/%s, remapped %s/%s, failed %s, slow %s, nvlink %s", n.Name,
				c.UUID[4:8], c.Level(), describe(d.ECCCorrected), describe(d.ECCUncorrected),
				describe(d.RemapCorrected), describe(d.RemapUncorrected), describe(d.RemapFailed), describe(d.Throttle),
				describe(d.NVLinkErrors)))
			for _, x := range c.Issues {
				lines = append(lines, "- "+x.Severity.String()+": "+say.Say(x.What))
			}
		}
	}
	return lines
}

func describe(r gpumetrics.Reading) string {
	if !r.Known() {
		return "?"
	}
	return strings.TrimSuffix(fmt.Sprint(r.Value), ".0")
}

// silentSite has no agents, no marks and nobody who works; only DCGM speaks.
type silentSite struct{ report gpumetrics.Report }

func (s silentSite) Report() gpumetrics.Report { return s.report }
func (silentSite) Fleet() *gpumetrics.Fleet    { return nil }

func (silentSite) SaveQuarantine(context.Context, health.Quarantine, ...audit.Event) error {
	return nil
}
func (silentSite) DeleteQuarantine(context.Context, health.Target, ...audit.Event) error { return nil }

func (silentSite) Quarantines(context.Context) ([]health.Quarantine, error) { return nil, nil }
func (silentSite) Living(context.Context) ([]workload.Workload, error)      { return nil, nil }
func (silentSite) Snapshot(context.Context, string) (inventory.Snapshot, bool) {
	return inventory.Snapshot{}, false
}
