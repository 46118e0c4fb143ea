package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhoExportsMetrics: by name or image, on nodes with accelerators only, with what a scrape target may be called.
func TestWhoExportsMetrics(t *testing.T) {
	gpu := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	node := func(name string, list corev1.ResourceList) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: "h-" +
			name}}, Status: corev1.NodeStatus{Capacity: list, Allocatable: list, Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeHostName, Address: name}}}}
	}
	pod := func(name, node, image string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "mon", Name: name},
			Spec:   corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: image}}},
			Status: corev1.PodStatus{PodIP: "10.244.0.9"}}
	}
	s := Build("main", time.Unix(0, 0), Objects{Nodes: []*corev1.Node{node("gpu", gpu), node("cpu", nil)},
		Pods: []*corev1.Pod{pod("nvidia-dcgm-exporter-x", "gpu", "a"), pod("watch-1", "gpu", "docker.io/rocm/"+
			"device-metrics-exporter:v1.4.0"), pod("web", "gpu", "nginx"), pod("nvidia-dcgm-exporter-y", "cpu", "a")}},
		func(*corev1.Pod) string { return "" })
	want := []Exporter{{"mon", "nvidia-dcgm-exporter-x", "10.244.0.9"}, {"mon", "watch-1", "10.244.0.9"}}
	if diff := cmp.Diff(want, s.Nodes[1].Exporters); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"10.0.0.1", "h-gpu"}, s.Nodes[1].Addresses); diff != "" {
		t.Error(diff)
	}
	if len(s.Nodes[0].Exporters)+len(s.Nodes[0].Addresses) > 0 {
		t.Errorf("want nothing of a node without accelerators: %+v", s.Nodes[0])
	}
}
