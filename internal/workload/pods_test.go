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
	for pod, of := range map[string]*Workload{"train-5wq8z": &plain, "train-node-0-0-5wq8z": &several,
		"train-node-0-11-5wq8z": &several, "train-0": &notebook, "train-node-0-5wq8z": nil, "other-node-0-1-5wq8z": nil} {
		for name, w := range map[string]*Workload{"a Job": &plain, "a JobSet": &several, "a notebook": &notebook} {
			if w.HasPod(pod) != (w == of) {
				t.Errorf("%s is a pod of %s: %v", pod, name, w.HasPod(pod))
			}
		}
	}
}
