package request

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// An image whose server wants a secret goes to a cluster where the gateway can show it, and is refused where an API
// server would take it out of every call; a job, which nobody opens, is not.
func TestWhatCouldNotBeOpenedIsRefused(t *testing.T) {
	for _, c := range []struct {
		auth, cluster string
		kind          catalog.WorkloadKind
		proxied       []string
		on, wrong     string
	}{
		{"token", "", catalog.Notebook, nil, "main", ""},
		{"token", "", catalog.Notebook, []string{"main"}, "other", ""},
		{"token", "main", catalog.Notebook, []string{"main"}, "main", "request.proxied"},
		{"token", "", catalog.Notebook, []string{"main", "other"}, "main", "request.proxied"},
		{"bearer", "main", catalog.Endpoint, []string{"main"}, "main", "request.proxied"},
		{"", "main", catalog.Notebook, []string{"main"}, "main", ""},
		{"token", "main", catalog.Job, []string{"main"}, "main", ""},
	} {
		o, d := offering(), draft()
		o.Clusters, o.Proxied = []string{"main", "other"}, c.proxied
		kind := c.kind
		if kind == catalog.Job {
			kind = catalog.Notebook
		}
		o.Catalog.Images = append(o.Catalog.Images, catalog.Image{Name: "server", Title: "Server", Kind: kind, Auth: c.auth})
		d.Kind, d.Image, d.Cluster, d.Storage = c.kind, "server", c.cluster, ""
		w, fields := Check(d, o)
		got := problemOf(fields, "image")
		if w.Cluster != c.on || got != c.wrong {
			t.Errorf("%+v: on %s with %v", c, w.Cluster, fields)
		}
	}
}
