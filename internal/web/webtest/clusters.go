package webtest

import (
	"context"
	"net/url"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/secret"
)

// newClusters has the cluster of the configuration, and asks clusters that answer nothing.
func (w *World) newClusters() *cluster.Service {
	plain := func(_, text string) (string, error) { return text, nil }
	return cluster.New(cluster.Options{Store: w.Store, Keys: secret.Keyring{{ID: "k", Seal: plain, Open: plain}},
		Configured: []string{"local"}, Settings: func(string) error { return nil },
		Test: func(_ context.Context, name string, a cluster.Access, _ string) doctor.Facts {
			return doctor.Facts{At: Now, Clusters: []doctor.Cluster{{Name: name, Err: "dial tcp 10.20.0.5:6443: i/o timeout"}}}
		}, InUse: func() []string { return []string{"local", "annex", "lab"} }, Now: w.now})
}

// KubeconfigText is one that is well.
const KubeconfigText = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://api.annex.example.org:6443"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: canary-kubeconfig}}]
current-context: c
`

// severalClusters are one of the configuration, and three that were added: one answers, one does not, one is new.
func severalClusters(s Scope) *World {
	w := Busy(s)
	for name, ago := range map[string]time.Duration{"annex": 50 * 24 * time.Hour, "lab": 3 * time.Hour,
		"north": time.Minute} {
		check(w.Store.CreateCluster(bg, cluster.Cluster{Name: name, Server: "https://api." + name + ".example.org:6443",
			Sealed: "k.{}", AddedBy: Dora.ID, AdderName: Dora.Name, AddedAt: Now.Add(-ago)}, cluster.Most,
			audit.Event{At: Now, Kind: audit.ClusterAdded}))
	}
	f := facts("portal-0", "web", "gateway", "controller")
	annex := f.Clusters[0]
	annex.Name, annex.Version, annex.Nodes.All, annex.Nodes.WithGPU = "annex", "v1.34.1", 4, 2
	annex.Nodes.Resources = map[string]int64{"nvidia.com/gpu": 8, "nvidia.com/mig-1g.10gb": 14}
	lab := doctor.Cluster{Name: "lab", Err: "dial tcp 10.20.0.5:6443: connect: no route to host"}
	f.Clusters = append(f.Clusters, annex, lab)
	w.reported(leading(), f)
	return w
}

var clusterScenes = []Scene{
	{"clusters", "several", Dora, severalClusters, "/admin/clusters", nil},
	{"clusters", "an auditor's look", Eli, severalClusters, "/admin/clusters", nil},
	{"clusters", "one, of the configuration", Dora, Busy, "/admin/clusters", nil},
	{"clusters", "other credentials", Dora, severalClusters, "/admin/clusters?replace=annex", nil},
	{"clusters", "it does not answer", Dora, Busy, "/admin/clusters", url.Values{"name": {"annex"},
		"kubeconfig": {KubeconfigText}, "settings": {"podAccess: direct\n"}}},
	{"clusters", "what is wrong", Dora, Busy, "/admin/clusters", url.Values{"name": {"Local Lab"},
		"kubeconfig": {"clusters: []"}}},
}
