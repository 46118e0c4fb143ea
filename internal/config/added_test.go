package config

import (
	"strings"
	"testing"
)

// TestSettingsOfAnAddedCluster: as of an entry of clusters, but no file of this machine and no proxy.
func TestSettingsOfAnAddedCluster(t *testing.T) {
	k, err := AddedCluster("west", "prometheus: https://prometheus.example.org\nopenShift: true\n")
	if err != nil || k.Name != "west" || k.PodAccess != "direct" || k.GatewayNamespace != "gpu-portal" || !k.OpenShift {
		t.Errorf("got %+v, %v", k, err)
	}
	if k, err = AddedCluster("west", ""); err != nil || k.PodAccess != "direct" {
		t.Errorf("nothing: got %+v, %v", k, err)
	}
	for text, want := range map[string]string{
		"name: east": "name: ", "kubeconfig: /x": "kubeconfig: ", "context: c": "context: ",
		"prometheusTokenFile: /x":                           "prometheusTokenFile: ",
		"logStore: {kind: loki, url: http://10.0.0.1:3100}": "logStore: ", "metrics: {caFile: /x}": "metrics.caFile: ",
		"agents: {tokenFile: /x}": "agents.tokenFile: ", "podAccess: socks5://10.0.0.1:1": "podAccess: ",
		"podAccess: ssh": "podAccess: ", "prometheus: nowhere": "prometheus: ", "openshift: true": "unknown field",
		"openShift: true\nopenShift: true": "already set", "- a": "",
	} {
		if _, err := AddedCluster("west", text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: want one line with %q, got %v", text, want, err)
		}
	}
}
