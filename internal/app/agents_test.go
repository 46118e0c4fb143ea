package app

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/agentreport"
	"github.com/gpu-portal/gpu-portal/internal/config"
)

// TestWayToAgents: an address of a pod is asked, and never one that is the portal's own machine or its cloud's.
func TestWayToAgents(t *testing.T) {
	direct := config.Cluster{PodAccess: "direct", Agents: config.Agents{Namespace: "gpu-portal", Port: 9410}}
	through := direct
	through.PodAccess = "apiserver"
	for sentence, c := range map[string]struct {
		cluster config.Cluster
		ip      string
		want    string // "": refused
	}{
		"a pod":              {direct, "10.64.0.9", "http://10.64.0.9:9410/v1/report"},
		"a pod with IPv6":    {direct, "fd12::9", "http://[fd12::9]:9410/v1/report"},
		"loopback":           {direct, "127.0.0.1", ""},
		"loopback with IPv6": {direct, "::1", ""},
		"cloud's metadata":   {direct, "169.254.169.254", ""},
		"a name":             {direct, "example.org", ""},
		"a zone":             {direct, "fe80::1%eth0", ""},
		"nothing":            {direct, "", ""},
		"more than an IP":    {direct, "10.64.0.9:80/", ""},
		"through the API": {through, "10.64.0.9",
			"https://api.example.org:6443/api/v1/namespaces/gpu-portal/pods/agent-x:9410/proxy/v1/report"},
		"unspecified address": {direct, "0.0.0.0", ""},
	} {
		url, _, err := wayToAgents(c.cluster, &rest.Config{Host: "https://api.example.org:6443"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := url(agentreport.Pod{Name: "agent-x", Node: "node-1", IP: c.ip})
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: want %q, got %q (%v)", sentence, c.want, got, err)
		}
	}
}
