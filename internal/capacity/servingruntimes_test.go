package capacity

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// An image whose ServingRuntime no cluster has as it needs it is a finding; where nobody could look there is none.
func TestServingRuntimesThatCannotServe(t *testing.T) {
	image := catalog.Image{Name: "hf", Kind: catalog.Endpoint, Runtime: &catalog.Runtime{Backend: catalog.OnKServe,
		ServingRuntime: "kserve-hf", ModelFormat: "huggingface"}}
	hidden, other := image, image
	hidden.Hidden = true
	other.Runtime = &catalog.Runtime{Backend: catalog.OnKServe}
	good := inventory.ServingRuntime{Name: "kserve-hf", Formats: []string{"huggingface"}}
	change := func(f func(*inventory.ServingRuntime)) []inventory.ServingRuntime {
		r := good
		f(&r)
		return []inventory.ServingRuntime{r}
	}
	on := func(cluster string, list ...inventory.ServingRuntime) inventory.Snapshot {
		return inventory.Snapshot{Cluster: cluster, ServingRuntimes: &list}
	}
	for name, c := range map[string]struct {
		image     catalog.Image
		snapshots []inventory.Snapshot
		want      []string // cluster and reason
	}{
		"it serves":      {image, []inventory.Snapshot{on("a", good)}, nil},
		"nobody looked":  {image, []inventory.Snapshot{{Cluster: "a"}}, nil},
		"hidden":         {hidden, []inventory.Snapshot{on("a")}, nil},
		"its own server": {other, []inventory.Snapshot{on("a")}, nil},
		"absent":         {image, []inventory.Snapshot{on("a")}, []string{"a capacity.runtime_absent"}},
		"on another one": {image, []inventory.Snapshot{on("a"), on("b", good)}, nil},
		"on none of two": {image, []inventory.Snapshot{on("a"), on("b")}, []string{" capacity.runtime_absent"}},
		"one tells":      {image, []inventory.Snapshot{{Cluster: "a"}, on("b")}, []string{"b capacity.runtime_absent"}},
		"disabled": {image, []inventory.Snapshot{on("a", change(func(r *inventory.ServingRuntime) {
			r.Disabled = true
		})...)}, []string{"a capacity.runtime_disabled"}},
		"another format": {image, []inventory.Snapshot{on("a", change(func(r *inventory.ServingRuntime) {
			r.Formats = []string{"onnx"}
		})...)}, []string{"a capacity.runtime_format"}},
		"its own devices": {image, []inventory.Snapshot{on("a", change(func(r *inventory.ServingRuntime) {
			r.Resources = []string{"nvidia.com/gpu"}
		})...)}, []string{"a capacity.runtime_devices"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Compare(catalog.Catalog{Images: []catalog.Image{c.image}}, c.snapshots) {
				if f.Kind != Unserved || f.Image != "hf" || f.Resource != "kserve-hf" {
					t.Errorf("found %+v", f)
				}
				got = append(got, f.Cluster+" "+f.Reason.ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
