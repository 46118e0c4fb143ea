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

// TestMetricsHealthFindsTheSeries: with the devstack's exporters scraped, an administrator sees which series there are
// and that GPU use is known, in the page and in the API alike.
func TestMetricsHealthFindsTheSeries(t *testing.T) {
	admin := as(t, "pat")
	eventually(t, "Prometheus has scraped the exporters, and the memory of every device is known", waitForMetrics,
		func() bool {
			c := clusterMetrics(admin)
			cards, _ := c["cards"].(float64)
			views, _ := c["views"].([]any)
			for _, v := range views {
				// of a node that is only just there, it may be missing for a while
				if view := v.(map[string]any); view["name"] == "memory" {
					return c["ok"] == true && cards > 0 && view["state"] == "whole"
				}
			}
			return false
		})
	p := signIn(t, "pat", look{})
	p.click("[data-test=side-platform]")
	p.click("[data-test=nav-group-system]") // folded at first
	p.click("[data-test=nav-metrics]")
	p.reads("[data-test=source]", "Prometheus responds")
	p.reads("[data-test=series]", "DCGM_FI_DEV_FB_USED")
	p.sees("[data-test=views]")
	p.accessible()
	p.shot("metrics-health")
}

// TestMetricsHealthIsNoDevelopersBusiness: for them the page does not exist.
func TestMetricsHealthIsNoDevelopersBusiness(t *testing.T) {
	as(t, "dana").ok(http.StatusNotFound, http.MethodGet, "/metrics/health", nil)
}
