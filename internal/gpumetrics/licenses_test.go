package gpumetrics

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// The recorded exposition of a machine with two vGPUs, one with a license and one without, which no pod holds.
func TestLicensesOfARecordedMachine(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	f.scrape(recorded(t, "dcgm-vgpu.prom"), true)
	until := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	f.instead = func(w http.ResponseWriter, r *http.Request) bool {
		var result []any
		query := r.FormValue("query")
		if strings.Contains(query, "gpu_portal_agent") {
			result = append(result, map[string]any{"metric": map[string]string{
				"uuid": "GPU-1f0e8a52-6b1c-4c0e-9a53-0d7f6c2b9e01"}, "value": []any{1, fmt.Sprint(until.Unix())}})
		} else {
			for _, row := range f.max("DCGM_FI_DEV_VGPU_LICENSE_STATUS", slices.Concat(f.labels.UUID, f.labels.Model,
				f.labels.Node, []string{"gpu"}), "") {
				if value := row.value; strings.Contains(query, "timestamp(") {
					result = append(result, map[string]any{"metric": row.labels, "value": []any{1, fmt.Sprint(f.scraped.Unix())}})
				} else {
					result = append(result, map[string]any{"metric": row.labels, "value": []any{1, value}})
				}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector",
			"result": result}})
		return true
	}
	p := newPoller(t, f.URL, clock)
	got, err := p.Licenses(t.Context())
	slices.SortFunc(got, func(a, b LicenseSample) int { return cmp.Compare(a.Index, b.Index) })
	if err != nil || len(got) != 2 || !got[0].Licensed || got[1].Licensed || got[0].Node != "vm-vgpu-node-01" ||
		got[1].Index != "1" || got[0].Model != "NVIDIA A40-12Q" ||
		!got[0].Expires.Equal(until) || !got[1].Expires.IsZero() {
		t.Errorf("want GPU 0 with a license and GPU 1 without, got %v %+v", err, got)
	}
	f.scraped = clock.Now().Add(-time.Hour)
	if got, err = p.Licenses(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("an hour old is not known any more, got %v %+v", err, got)
	}
}
