package request

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// served is an image of a server that KServe runs.
func served() catalog.Image {
	return catalog.Image{Name: "served", Title: "Served", Kind: catalog.Endpoint, Port: 8000,
		Runtime: &catalog.Runtime{Engine: catalog.Other, Backend: catalog.OnKServe, Optional: true}}
}

func problemOf(fields []fault.Field, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Reason.ID
		}
	}
	return ""
}

// An image that KServe runs goes to a cluster that has it, and is refused where none has.
func TestKServeIsNotOnEveryCluster(t *testing.T) {
	for _, c := range []struct {
		name, image, cluster      string
		kserve                    []string
		on, wrongImage, wrongName string
	}{
		{"ep", "served", "", nil, "main", "request.no_kserve", ""},
		{"ep", "served", "", []string{"other"}, "other", "", ""},
		{"ep", "served", "main", []string{"other"}, "main", "request.no_kserve", ""},
		{"ep", "llm", "", []string{"other"}, "main", "", ""},
		{"ep-predictor", "served", "other", []string{"other"}, "other", "", "request.kserve_name"},
		{"ep-predictor", "llm", "other", []string{"other"}, "other", "", "request.kserve_name"},
		{"ep-predictor", "llm", "main", []string{"other"}, "main", "", ""},
	} {
		o, d := offering(), draft()
		o.Clusters, o.KServe = []string{"main", "other"}, c.kserve
		o.Catalog.Images = append(o.Catalog.Images, served())
		d.Kind, d.Image, d.Cluster, d.Name, d.Storage = catalog.Endpoint, c.image, c.cluster, c.name, ""
		w, fields := Check(d, o)
		if w.Cluster != c.on || problemOf(fields, "image") != c.wrongImage || problemOf(fields, "name") != c.wrongName {
			t.Errorf("%+v: on %s with %v", c, w.Cluster, fields)
		}
	}
}

// A job on JobSet goes to a cluster that has it, and is refused where none has; it alone has several pods.
func TestJobSetIsNotOnEveryCluster(t *testing.T) {
	for _, c := range []struct {
		name, image, cluster string
		jobSet               []string
		nodes                int
		on, field, reason    string
	}{
		{"run", "nodes", "", nil, 2, "main", "image", "request.no_jobset"},
		{"run", "nodes", "", []string{"other"}, 2, "other", "", ""},
		{"run", "nodes", "main", []string{"other"}, 2, "main", "image", "request.no_jobset"},
		{"run", "nodes", "", []string{"other"}, 0, "other", "", ""},
		{"run", "nodes", "", []string{"other"}, 33, "other", "nodes", "request.nodes_range"},
		{"run", "nodes", "", []string{"other"}, -1, "other", "nodes", "request.nodes_range"},
		{"run", "pytorch", "", []string{"other"}, 2, "main", "nodes", "request.nodes_one"},
		{"run", "pytorch", "", []string{"other"}, 1, "main", "", ""},
		{"run-node-0", "pytorch", "", nil, 0, "main", "name", "request.jobset_name"},
		{"run-node-0-12", "pytorch", "", nil, 0, "main", "name", "request.jobset_name"},
	} {
		o, d := offering(), draft()
		o.Clusters, o.JobSet = []string{"main", "other"}, c.jobSet
		o.Catalog.Images = append(o.Catalog.Images, catalog.Image{Name: "pytorch", Title: "PyTorch", Kind: catalog.Job},
			catalog.Image{Name: "nodes", Title: "PyTorch", Kind: catalog.Job, Backend: catalog.OnJobSet})
		d.Kind, d.Image, d.Cluster, d.Name, d.Storage = catalog.Job, c.image, c.cluster, c.name, ""
		d.Nodes = c.nodes
		w, fields := Check(d, o)
		if w.Cluster != c.on || c.field != "" && problemOf(fields, c.field) != c.reason || c.field == "" && len(fields) > 0 {
			t.Errorf("%+v: on %s with %v", c, w.Cluster, fields)
		}
		if want := max(1, c.nodes); c.field == "" && (w.Replicas.Least() != want || w.Replicas.Most() != want) {
			t.Errorf("%+v: %+v", c, w.Replicas)
		}
	}
}

// What several pods of a job cannot have together is refused.
func TestJobSetShares(t *testing.T) {
	o, d := offering(), draft()
	o.JobSet = o.Clusters
	o.Catalog.Images = append(o.Catalog.Images, catalog.Image{Name: "nodes", Title: "PyTorch", Kind: catalog.Job,
		Backend: catalog.OnJobSet, Home: "/data"})
	d.Kind, d.Image, d.Storage, d.Nodes = catalog.Job, "nodes", "10Gi", 2
	if _, fields := Check(d, o); problemOf(fields, "nodes") != "replicas.storage" {
		t.Errorf("with storage of its own: %v", fields)
	}
}

// A version cannot move an endpoint to another backend, and KServe has no place for a canary.
func TestKServeHasNoCanary(t *testing.T) {
	o := offering()
	o.Catalog.Images = append(o.Catalog.Images, served())
	s := &Service{core: &core{site: func() Site {
		return Site{Catalog: o.Catalog, Clusters: o.Clusters, KServe: o.Clusters, Limits: o.Limits}
	}, now: func() time.Time { return now }}}
	w := workload.Workload{Kind: catalog.Endpoint, Size: slice, Image: served(), Cluster: "main"}
	percent := 10
	if ask := s.revised(w, vision, RevisionDraft{Percent: &percent}); problemOf(ask.fields,
		"percent") != "versions.kserve_whole" {
		t.Errorf("a canary on KServe: %v", ask.fields)
	}
	if ask := s.revised(w, vision, RevisionDraft{}); len(ask.fields) > 0 {
		t.Errorf("a version on KServe: %v", ask.fields)
	}
	if ask := s.revised(w, vision, RevisionDraft{Image: "llm"}); problemOf(ask.fields, "image") != "versions.backend" {
		t.Errorf("off KServe: %v", ask.fields)
	}
	w.Image = llm
	if ask := s.revised(w, vision, RevisionDraft{Image: "served"}); problemOf(ask.fields, "image") != "versions.backend" {
		t.Errorf("onto KServe: %v", ask.fields)
	}
}
