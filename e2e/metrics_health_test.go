package e2e

import (
	"net/http"
	"testing"
)

// clusterMetrics is what the API says of the metrics of the first cluster.
func clusterMetrics(p client) map[string]any {
	v := p.ok(http.StatusOK, http.MethodGet, "/metrics/health", nil)
	list, _ := v["clusters"].([]any)
	if len(list) == 0 {
		return nil
	}
	first, _ := list[0].(map[string]any)
	return first
}

// TestMetricsHealthFindsTheSeries: with the devstack's exporters scraped, an administrator sees which series there are and that GPU use is known, in the page and in the API alike.
func TestMetricsHealthFindsTheSeries(t *testing.T) {
	admin := as(t, "pat")
	eventually(t, "Prometheus has scraped the exporters", waitForMetrics, func() bool {
		c := clusterMetrics(admin)
		cards, _ := c["cards"].(float64)
		return c["ok"] == true && cards > 0
	})
	for _, v := range clusterMetrics(admin)["views"].([]any) {
		if view := v.(map[string]any); view["name"] == "memory" && view["state"] != "whole" {
			t.Errorf("want the memory of every device known, got %v", view)
		}
	}
	p := signIn(t, "pat", look{})
	p.click("[data-test=nav-metrics]")
	p.reads("[data-test=source]", "Prometheus answers")
	p.reads("[data-test=series]", "DCGM_FI_DEV_FB_USED")
	p.sees("[data-test=views]")
	p.accessible()
	p.shot("metrics-health")
}

// TestMetricsHealthIsNoDevelopersBusiness: for them the page does not exist.
func TestMetricsHealthIsNoDevelopersBusiness(t *testing.T) {
	as(t, "dana").ok(http.StatusNotFound, http.MethodGet, "/metrics/health", nil)
}
