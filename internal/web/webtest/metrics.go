package webtest

import (
	"errors"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Troubled is a busy world where the metrics are not as they should be, and a card neither.
func Troubled(s Scope) *World {
	w := Busy(s)
	w.Reports = map[string]gpumetrics.Report{"local": {
		Status: gpumetrics.Status{Since: Now.Add(-4 * time.Minute), Err: errors.New("ask Prometheus: connection refused")},
		Cards:  8, Slices: 14, Pods: 9, Rows: 1234, Bytes: 3 << 20, Took: 41 * time.Millisecond,
		Series: []gpumetrics.SeriesReport{
			{Name: "engine", Title: i18n.T("gpumetrics.series.engine"), Found: []string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE"},
				Devices: 20, Expected: 22, Invalid: 2},
			{Name: "power", Title: i18n.T("gpumetrics.series.power"), Expected: 8},
		},
		Views: []gpumetrics.ViewReport{
			{Name: "work", Title: i18n.T("gpumetrics.view.work"), State: gpumetrics.Partly, Missing: []string{"engine"}},
			{Name: "memory", Title: i18n.T("gpumetrics.view.memory"), State: gpumetrics.Whole},
			{Name: "card", Title: i18n.T("gpumetrics.view.card"), State: gpumetrics.Nothing,
				Missing: []string{"power", "temperature"}},
			{Name: "licenses", Title: i18n.T("gpumetrics.view.licenses"), State: gpumetrics.Idle},
		},
		Findings: []gpumetrics.Finding{
			{ID: "invalid", Severity: gpumetrics.Warning, What: i18n.T("gpumetrics.finding.invalid", "Number", 2),
				Todo: i18n.T("gpumetrics.finding_todo.invalid")},
			{ID: "exported", Severity: gpumetrics.Info, What: i18n.T("gpumetrics.finding.exported")},
		},
		Health: []gpumetrics.Card{
			{UUID: "GPU-5f0f7a41-8f0c-4f5c-9b5f-0c1a2b3c4d5e", Model: "NVIDIA H100 80GB HBM3", Node: "gpu-01", At: Now,
				Issues: []gpumetrics.Issue{
					{Severity: gpumetrics.Danger, What: i18n.T("gpumetrics.xid_since", "Code", 79, "Class",
						i18n.T("gpumetrics.xid.bus"), "Time", i18n.MomentUTC(Now.Add(-3*time.Hour))),
						Todo: i18n.T("gpumetrics.todo.bus")}}},
			{UUID: "GPU-well", Model: "NVIDIA L4", Node: "gpu-02", At: Now},
		},
	}}
	return w
}
