package request

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// An endpoint that KEDA scales goes to a cluster that has KEDA, and is refused where none has.
func TestKEDAIsNotOnEveryCluster(t *testing.T) {
	for _, c := range []struct {
		cluster  string
		keda     []string
		on, want string
	}{
		{"", nil, "main", "request.no_keda"},
		{"", []string{"other"}, "other", ""},
		{"main", []string{"other"}, "main", "request.no_keda"},
		{"other", []string{"other"}, "other", ""},
	} {
		o, d := offering(), draft()
		o.Clusters, o.KEDA = []string{"main", "other"}, c.keda
		o.Catalog.Images = append(o.Catalog.Images, catalog.Image{Name: "scaled", Title: "Scaled", Kind: catalog.Endpoint,
			Port: 8000, Runtime: &catalog.Runtime{Engine: catalog.Other, Optional: true, Autoscaler: catalog.ByKEDA}})
		d.Kind, d.Image, d.Name, d.Storage, d.Cluster = catalog.Endpoint, "scaled", "ep", "", c.cluster
		w, fields := Check(d, o)
		if w.Cluster != c.on || c.want != "" && problemOf(fields, "image") != c.want || c.want == "" && len(fields) > 0 {
			t.Errorf("%+v: on %s with %v", c, w.Cluster, fields)
		}
	}
}
