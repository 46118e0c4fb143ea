package inventory

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// FuzzNode reads nodes with any labels and annotations: nothing may panic, no count is below zero, and the same node
// read again is the same.
func FuzzNode(f *testing.F) {
	for _, seed := range []string{
		`{"labels":{"nvidia.com/gpu.product":"NVIDIA-L40S-SHARED","nvidia.com/gpu.replicas":"4","nvidia.com/gpu.count":"-1"}}`,
		`{"labels":{"nvidia.com/gpu.product":"A100-MIG-3g.20gb-SHARED","nvidia.com/mig.strategy":"mixed","nvidia.com/mig-3g.20gb.count":"99999999999999999999"}}`,
		`{"labels":{"nvidia.com/gpu.product":"-MIG-INVALID","nvidia.com/mig.config.state":"failed"}}`,
		`{"labels":{"nvidia.com/gpu.memory":"1e309","nvidia.com/cuda.driver-version.full":"\u202e"}}`,
		`{"annotations":{"hami.io/node-nvidia-register":"[{},{}]"}}`,
		`{"annotations":{"hami.io/node-nvidia-register":"a,1:b,2:"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var meta struct{ Labels, Annotations map[string]string }
		if json.Unmarshal(data, &meta) != nil {
			return
		}
		look := func(n *corev1.Node) {
			wholeCard(n)
			n.Annotations = meta.Annotations
			for name, value := range meta.Labels {
				n.Labels[name] = value
			}
		}
		node := built(look)
		if node.Cards.Count < 0 {
			t.Errorf("%d cards", node.Cards.Count)
		}
		if diff := cmp.Diff(node, built(look)); diff != "" {
			t.Errorf("read again it is another: %s", diff)
		}
	})
}

// FuzzSlice reads what any DRA driver may publish.
func FuzzSlice(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"s"},"spec":{"driver":"gpu.nvidia.com","nodeName":"node-1","pool":{"name":"node-1","resourceSliceCount":1},"devices":[{"name":"gpu-0","attributes":{"uuid":{"string":"GPU-1"},"type":{"string":"gpu"}},"capacity":{"memory":{"value":"80Gi"}}}]}}`,
		`{"metadata":{"name":"s"},"spec":{"driver":"x","pool":{"name":"p","generation":-1,"resourceSliceCount":-5},"devices":[{"name":"a"},{"name":"a"}]}}`,
		`{"spec":{"devices":[{"name":"mig","attributes":{"parentUUID":{"string":"GPU-1"},"profile":{"string":"9g.999gb"}},"capacity":{"memory":{"value":"-1"}}}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s resourcev1.ResourceSlice
		if json.Unmarshal(data, &s) != nil {
			return
		}
		seen := Objects{Nodes: []*corev1.Node{mixedNode()}, Slices: []*resourcev1.ResourceSlice{&s}}
		first := Build("main", now, seen, ours)
		if len(first.Nodes) == 0 {
			t.Error("the node is gone")
		}
		for _, n := range first.Nodes {
			if n.Cards.Count < 0 || len(n.Devices) > mostDevices {
				t.Errorf("%d cards, %d devices", n.Cards.Count, len(n.Devices))
			}
		}
		if diff := cmp.Diff(first, Build("main", now, seen, ours)); diff != "" {
			t.Errorf("read again it is another: %s", diff)
		}
	})
}
