package request

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// grouped is an image of a server that several pods run together.
func grouped() catalog.Image {
	return catalog.Image{Name: "grouped", Title: "Grouped", Kind: catalog.Endpoint, Port: 8000, Home: "/data",
		Runtime: &catalog.Runtime{Engine: catalog.Other, Backend: catalog.OnLeaderWorkerSet, Optional: true, MaxNodes: 4}}
}

// overNodes is a draft of an endpoint on a site whose clusters have LeaderWorkerSet as said.
func overNodes(image string, clusters ...string) (Draft, Offering) {
	o, d := offering(), draft()
	o.Clusters, o.LeaderWorkerSet = []string{"main", "other"}, clusters
	o.Catalog.Images = append(o.Catalog.Images, grouped())
	d.Kind, d.Image, d.Name, d.Storage = catalog.Endpoint, image, "ep", ""
	return d, o
}

// An endpoint over several nodes goes to a cluster that has LeaderWorkerSet, and is refused where none has; it alone
// has several nodes, and each of them counts as a replica.
func TestLeaderWorkerSetIsNotOnEveryCluster(t *testing.T) {
	for _, c := range []struct {
		name, image, cluster string
		groups               []string
		nodes                int
		on, field, reason    string
	}{
		{"ep", "grouped", "", nil, 2, "main", "image", "request.no_leaderworkerset"},
		{"ep", "grouped", "", []string{"other"}, 2, "other", "", ""},
		{"ep", "grouped", "main", []string{"other"}, 2, "main", "image", "request.no_leaderworkerset"},
		{"ep", "grouped", "", []string{"other"}, 0, "other", "", ""},
		{"ep", "grouped", "", []string{"other"}, 4, "other", "", ""},
		{"ep", "grouped", "", []string{"other"}, 5, "other", "nodes", "request.nodes_range"},
		{"ep", "grouped", "", []string{"other"}, -1, "other", "nodes", "request.nodes_range"},
		{"ep", "llm", "", []string{"other"}, 2, "main", "nodes", "request.nodes_one"},
		{"ep", "llm", "", []string{"other"}, 1, "main", "", ""},
		{"ep-nodes", "llm", "other", []string{"other"}, 0, "other", "name", "request.leaderworkerset_name"},
		{"ep-nodes-0", "llm", "other", []string{"other"}, 0, "other", "name", "request.leaderworkerset_name"},
		{"ep-nodes", "llm", "main", []string{"other"}, 0, "main", "", ""},
	} {
		d, o := overNodes(c.image, c.groups...)
		d.Cluster, d.Name, d.Nodes = c.cluster, c.name, c.nodes
		w, fields := Check(d, o)
		if w.Cluster != c.on || c.field != "" && problemOf(fields, c.field) != c.reason || c.field == "" && len(fields) > 0 {
			t.Errorf("%+v: on %s with %v", c, w.Cluster, fields)
		}
		if want := max(1, c.nodes); c.field == "" && (w.Replicas.Least() != want || w.Replicas.Most() != want ||
			workload.NewReplicas(w.Replicas, autoscale.Policy{}).Hold() != want) {
			t.Errorf("%+v: %+v", c, w.Replicas)
		}
	}
}

// What a group of pods cannot have is refused, each at its field.
func TestGroupsShare(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(*Draft)
		field, reason string
	}{
		"several groups": {func(d *Draft) { d.Replicas = &workload.Range{Min: 1, Max: 2} }, "replicas",
			"replicas.one_group"},
		"sleep":       {func(d *Draft) { d.Replicas = &workload.Range{Max: 1} }, "replicas", "replicas.one_group"},
		"storage":     {func(d *Draft) { d.Nodes, d.Storage = 2, "10Gi" }, "nodes", "replicas.storage"},
		"one replica": {func(d *Draft) { d.Replicas, d.Nodes = &workload.Range{Min: 1, Max: 1}, 2 }, "", ""},
		"a notebook": {func(d *Draft) { d.Kind, d.Image, d.Nodes = catalog.Notebook, "jupyter", 2 }, "nodes",
			"request.nodes_only"},
		"replicas of nodes": {func(d *Draft) { d.Image, d.Nodes, d.Replicas = "llm", 2, &workload.Range{Min: 1, Max: 2} },
			"nodes", "request.nodes_only"},
	} {
		d, o := overNodes("grouped", "main", "other")
		c.change(&d)
		_, fields := Check(d, o)
		if c.field != "" && problemOf(fields, c.field) != c.reason || c.field == "" && len(fields) > 0 {
			t.Errorf("%s: %v", name, fields)
		}
	}
}

// A version of a group has its nodes and no canary beside it.
func TestGroupsHaveNoCanary(t *testing.T) {
	small := grouped()
	small.Name, small.Runtime = "small", &catalog.Runtime{Engine: catalog.Other, Backend: catalog.OnLeaderWorkerSet,
		Optional: true, MaxNodes: 2}
	o := offering()
	o.Catalog.Images = append(o.Catalog.Images, grouped(), small)
	s := &Service{core: &core{site: func() Site {
		return Site{Catalog: o.Catalog, Clusters: o.Clusters, LeaderWorkerSet: o.Clusters, Limits: o.Limits}
	}, now: func() time.Time { return now }}}
	w := workload.Workload{Kind: catalog.Endpoint, Size: slice, Image: grouped(), Cluster: "main",
		Replicas: workload.Replicas{Range: workload.Range{Min: 3, Max: 3}, Wanted: 3}}
	percent := 10
	for name, c := range map[string]struct {
		d             RevisionDraft
		field, reason string
	}{
		"a canary":        {RevisionDraft{Percent: &percent}, "percent", "versions.group_whole"},
		"a version":       {RevisionDraft{}, "", ""},
		"too few nodes":   {RevisionDraft{Image: "small"}, "image", "request.nodes_range"},
		"another backend": {RevisionDraft{Image: "llm"}, "image", "versions.backend"},
	} {
		ask := s.revised(w, vision, c.d)
		if got := problemOf(ask.fields, c.field); got != c.reason || c.field == "" && len(ask.fields) > 0 {
			t.Errorf("%s: %v", name, ask.fields)
		}
	}
	w.Image = llm
	ask := s.revised(w, vision, RevisionDraft{Image: "grouped"})
	if problemOf(ask.fields, "image") != "versions.backend" {
		t.Errorf("onto nodes: %v", ask.fields)
	}
}
