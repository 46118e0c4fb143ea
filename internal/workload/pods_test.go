package workload

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// A pod is known by its name to be a workload's, whatever makes it.
func TestHasPod(t *testing.T) {
	plain := Workload{Name: "train", Kind: catalog.Job, Image: catalog.Image{Kind: catalog.Job}}
	several := plain
	several.Image.Backend = catalog.OnJobSet
	notebook := Workload{Name: "train", Kind: catalog.Notebook}
	endpoint := Workload{Name: "train", Kind: catalog.Endpoint, Image: catalog.Image{Kind: catalog.Endpoint}}
	group := endpoint
	group.Image.Runtime = &catalog.Runtime{Backend: catalog.OnLeaderWorkerSet}
	for pod, of := range map[string]*Workload{"train-5wq8z": &plain, "train-node-0-0-5wq8z": &several,
		"train-node-0-11-5wq8z": &several, "train-0": &notebook, "train-node-0-5wq8z": nil, "other-node-0-1-5wq8z": nil,
		"train-7d9c5b6f7c-5wq8z": &endpoint, "train-nodes-0": &group, "train-nodes-0-1": &group,
		"train-nodes-0-11": &group, "train-nodes-1": nil, "train-nodes-0-0": nil, "other-nodes-0-1": nil} {
		for name, w := range map[string]*Workload{"a Job": &plain, "a JobSet": &several, "a notebook": &notebook,
			"an endpoint": &endpoint, "a group": &group} {
			if w.HasPod(pod) != (w == of) {
				t.Errorf("%s is a pod of %s: %v", pod, name, w.HasPod(pod))
			}
		}
	}
}

// An endpoint on a Deployment may be called as another one's group is.
func TestPodsOfAGroupAreNoOthers(t *testing.T) {
	group := Workload{ID: "a", Name: "llm", Kind: catalog.Endpoint, Image: catalog.Image{Kind: catalog.Endpoint,
		Runtime: &catalog.Runtime{Backend: catalog.OnLeaderWorkerSet}}}
	other := Workload{ID: "b", Name: "llm-nodes", Kind: catalog.Endpoint, Image: catalog.Image{Kind: catalog.Endpoint}}
	if !group.HasPod("llm-nodes-0-1") || other.HasPod("llm-nodes-0-1") || other.HasPod("llm-nodes-0") {
		t.Error("the pods of a group are taken for another's")
	}
	if got := NamesOfPod("llm-nodes-0-1")[catalog.Endpoint]; len(got) != 2 || got[0] != "llm-nodes" || got[1] != "llm" {
		t.Errorf("names %v", got)
	}
}
