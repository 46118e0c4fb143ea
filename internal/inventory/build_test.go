package inventory

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// mixedNode is an H100 node whose cards are cut under the strategy "mixed": seven slices, one card left whole.
func mixedNode(change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{
			"kubernetes.io/hostname": "n1", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "2",
			"nvidia.com/gpu.replicas": "0",
			"nvidia.com/mig.strategy": "mixed", "nvidia.com/mig.config": "all-balanced",
			"nvidia.com/mig.config.state":     "success",
			"nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/mig.capable": "true", "nvidia.com/mps.capable": "false",
			"nvidia.com/vgpu.present":             "false",
			"nvidia.com/cuda.driver-version.full": "580.105.08",
			"nvidia.com/mig-1g.10gb.product":      "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb",
			"nvidia.com/mig-1g.10gb.count":        "7", "nvidia.com/mig-1g.10gb.replicas": "1",
			"nvidia.com/mig-1g.10gb.sharing-strategy": "none",
		}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule},
			{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule},
		}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Capacity: list("cpu", "64", "memory", "512Gi", "pods", "250", "nvidia.com/mig-1g.10gb", "7", "nvidia.com/gpu",
				"1", "hugepages-2Mi", "0", "devices.kubevirt.io/kvm", "1k"),
			Allocatable: list("cpu", "63500m", "memory", "500Gi", "pods", "250", "nvidia.com/mig-1g.10gb", "7", "nvidia.com/gpu",
				"1", "hugepages-2Mi", "0", "devices.kubevirt.io/kvm", "1k"),
		},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func pod(name string, requests corev1.ResourceList, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gpu-vision", Name: name, Annotations: map[string]string{"w": "w-" + name}},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{
			{Resources: corev1.ResourceRequirements{Requests: requests}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func ours(p *corev1.Pod) string {
	if p.Namespace == "gpu-vision" {
		return p.Annotations["w"]
	}
	return ""
}

func TestBuild(t *testing.T) {
	foreign := func(p *corev1.Pod) { p.Namespace = "training" }
	pods := []*corev1.Pod{
		pod("b", list("cpu", "4", "memory", "16Gi", "nvidia.com/mig-1g.10gb", "1")),
		pod("a", list("cpu", "500m", "memory", "1Gi", "nvidia.com/mig-1g.10gb", "1")),
		pod("x", list("cpu", "2", "memory", "8Gi", "nvidia.com/gpu", "1"), foreign),
		pod("done", list("cpu", "4", "nvidia.com/mig-1g.10gb", "1"), func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodSucceeded
		}),
		pod("broken", list("cpu", "4", "nvidia.com/mig-1g.10gb", "1"), func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
		}),
		pod("waiting", list("cpu", "4", "nvidia.com/mig-1g.10gb", "1"), func(p *corev1.Pod) { p.Spec.NodeName = "" }),
		pod("gone", list("cpu", "4", "nvidia.com/mig-1g.10gb", "1"), func(p *corev1.Pod) { p.Spec.NodeName = "n9" }),
		pod("ending", list("nvidia.com/mig-1g.10gb", "1"), func(p *corev1.Pod) {
			p.DeletionTimestamp = &metav1.Time{Time: now}
		}),
		pod("small", list("cpu", "100m")),
	}
	plain := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a0"}, Status: corev1.NodeStatus{
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		Allocatable: list("cpu", "8", "memory", "32Gi"),
	}}
	got := Build("main", now, Objects{Nodes: []*corev1.Node{mixedNode(), plain}, Pods: pods}, ours)
	kept := mixedNode().Labels
	delete(kept, "nvidia.com/cuda.driver-version.full")
	want := Snapshot{Cluster: "main", TakenAt: now, Nodes: []Node{
		{Name: "a0", Ready: true, Labels: map[string]string{}, CPU: Amount{Allocatable: 8000},
			Memory: Amount{Allocatable: 32 << 30}},
		{
			Name: "n1", Ready: true, Model: "NVIDIA-H100-80GB-HBM3", Labels: kept, Cards: Cards{Count: 2, Known: true},
			Taints: []Taint{{"nvidia.com/gpu", "present", "NoSchedule"}},
			Resources: []Resource{
				{Name: "nvidia.com/gpu", Capacity: 1, Allocatable: 1,
					Holders: []Holder{{Namespace: "training", Pod: "x", Count: 1}}},
				{Name: "nvidia.com/mig-1g.10gb", Capacity: 7, Allocatable: 7, Holders: []Holder{
					{"gpu-vision", "a", "w-a", 1}, {"gpu-vision", "b", "w-b", 1}, {"gpu-vision", "ending", "w-ending", 1},
				}},
			},
			CPU: Amount{Allocatable: 63_500, Requested: 6_600}, Memory: Amount{Allocatable: 500 << 30, Requested: 25 << 30},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The cases are those of the scheduler's own rule for init containers and sidecars.
func TestUsageOfPod(t *testing.T) {
	container := func(pairs ...string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: list(pairs...)}}
	}
	sidecar := func(pairs ...string) corev1.Container {
		c := container(pairs...)
		always := corev1.ContainerRestartPolicyAlways
		c.RestartPolicy = &always
		return c
	}
	const gpu = "nvidia.com/gpu"
	cases := map[string]struct {
		spec corev1.PodSpec
		cpu  int64
		gpus int64
	}{
		"containers add up": {corev1.PodSpec{Containers: []corev1.Container{container("cpu", "1", gpu, "1"),
			container("cpu", "500m", gpu, "2")}}, 1500, 3},
		"a greater init counts alone": {corev1.PodSpec{InitContainers: []corev1.Container{container("cpu", "4", gpu, "2"),
			container("cpu", "3", gpu, "1")}, Containers: []corev1.Container{container("cpu", "1", gpu, "1")}}, 4000, 2},
		"a smaller init does not": {corev1.PodSpec{InitContainers: []corev1.Container{container("cpu", "100m")},
			Containers: []corev1.Container{container("cpu", "1", gpu, "1")}}, 1000, 1},
		"sidecars add up": {corev1.PodSpec{InitContainers: []corev1.Container{sidecar("cpu", "1", gpu, "1")},
			Containers: []corev1.Container{container("cpu", "1", gpu, "1")}}, 2000, 2},
		"an init after a sidecar": {corev1.PodSpec{InitContainers: []corev1.Container{sidecar("cpu", "1"),
			container("cpu", "4")}, Containers: []corev1.Container{container("cpu", "1")}}, 5000, 0},
		"an init before a sidecar": {corev1.PodSpec{InitContainers: []corev1.Container{container("cpu", "4"),
			sidecar("cpu", "1")}, Containers: []corev1.Container{container("cpu", "1")}}, 4000, 0},
		"overhead is added": {corev1.PodSpec{Overhead: list("cpu", "250m"),
			Containers: []corev1.Container{container("cpu", "1")}}, 1250, 0},
		"a request of the pod decides": {corev1.PodSpec{Resources: &corev1.ResourceRequirements{Requests: list("cpu", "8")},
			Containers: []corev1.Container{container("cpu", "1", gpu, "1")}}, 8000, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := usageOf(&corev1.Pod{Spec: c.spec})
			if got.milliCPU != c.cpu || got.devices[gpu] != c.gpus {
				t.Errorf("want %d mCPU and %d GPUs, got %+v", c.cpu, c.gpus, got)
			}
		})
	}
}

func TestLabelsAreKeptAndBounded(t *testing.T) {
	labels := map[string]string{
		"nvidia.com/gpu.product": "x", "nvidia.com/mig.config": "y", "karpenter.sh/nodepool": "gpu",
		"cloud.google.com/gke-nodepool": "p", "pool": "mine", "gpu": "on",
		"nvidia.com/gfd.timestamp": "1", "nvidia.com/cuda.driver.major": "580", "nvidia.com/gpu.deploy.dcgm": "true",
		"beta.kubernetes.io/os":                        "linux",
		"feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true", "feature.node.kubernetes.io/pci-10de.present": "true",
	}
	want := map[string]string{
		"nvidia.com/gpu.product": "x", "nvidia.com/mig.config": "y", "karpenter.sh/nodepool": "gpu",
		"cloud.google.com/gke-nodepool": "p", "pool": "mine", "gpu": "on",
		"feature.node.kubernetes.io/pci-10de.present": "true",
	}
	if diff := cmp.Diff(want, relevant(labels, nil)); diff != "" {
		t.Error(diff)
	}
	want["feature.node.kubernetes.io/cpu-cpuid.AVX512F"] = "true"
	if diff := cmp.Diff(want, relevant(labels, []string{"feature.node.kubernetes.io/cpu-cpuid.AVX512F",
		"absent"})); diff != "" {
		t.Error("what a size selects on is kept:", diff)
	}
	for i := range 500 {
		labels[fmt.Sprintf("a.example/%03d", i)] = "v"
	}
	got := relevant(labels, []string{"a.example/499"})
	if len(got) > mostLabels || got["nvidia.com/gpu.product"] != "x" || got["nvidia.com/mig.config"] != "y" ||
		got["a.example/499"] != "v" {
		t.Errorf("%d labels are kept, vendors' among them: %v", len(got), got["nvidia.com/gpu.product"])
	}
}

// However nodes and pods come, the snapshot is the same, and each device is held once.
func TestBuildDoesNotDependOnOrder(t *testing.T) {
	nodes, pods := world(20, 200)
	want := Build("main", now, Objects{Nodes: nodes, Pods: pods}, ours)
	var sum, held int64
	for _, p := range pods {
		sum += usageOf(p).devices["nvidia.com/mig-1g.10gb"]
	}
	for _, n := range want.Nodes {
		for _, r := range n.Resources {
			for _, h := range r.Holders {
				held += h.Count
			}
		}
	}
	if sum != held {
		t.Errorf("pods hold %d, the snapshot says %d", sum, held)
	}
	for range 5 {
		rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		if diff := cmp.Diff(want, Build("main", now, Objects{Nodes: nodes, Pods: pods}, ours)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func world(nodes, pods int) ([]*corev1.Node, []*corev1.Pod) {
	var ns []*corev1.Node
	var ps []*corev1.Pod
	for i := range nodes {
		ns = append(ns, mixedNode(func(n *corev1.Node) { n.Name = fmt.Sprintf("n%04d", i) }))
	}
	for i := range pods {
		ps = append(ps, pod(fmt.Sprintf("p%05d", i), list("cpu", "4", "memory", "16Gi", "nvidia.com/mig-1g.10gb", "1"),
			func(p *corev1.Pod) {
				p.Spec.NodeName = fmt.Sprintf("n%04d", i%nodes)
			}))
	}
	return ns, ps
}
