package nodes

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations with which the devstack remembers on a node what it is.
const (
	KindAnnotation   = "devstack.gpu-portal.example/kind"
	LayoutAnnotation = "devstack.gpu-portal.example/layout"
	FailedAnnotation = "devstack.gpu-portal.example/failed"
	// UnlicensedAnnotation is on a node with vGPUs whose license is gone.
	UnlicensedAnnotation = "devstack.gpu-portal.example/unlicensed"
	// AppliedAnnotation is the name of the MIG layout that was last acted on, so that a restart does nothing twice.
	AppliedAnnotation = "devstack.gpu-portal.example/mig-config-applied"
)

// Build is the Node object as the kubelet, GFD, NFD and the operator would have written it.
func Build(n Named) (*corev1.Node, error) {
	layout, err := n.Kind.Layout()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(layout)
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{
		"kwok.x-k8s.io/node": "fake", KindAnnotation: n.Kind.Pool, LayoutAnnotation: string(text),
		"node.alpha.kubernetes.io/ttl": "0",
	}
	if n.Kind.MIGConfig != "" {
		annotations[AppliedAnnotation] = n.Kind.MIGConfig
	}
	if n.Kind.HAMi {
		annotations["hami.io/node-nvidia-register"] = hamiRegister(n.Name, n.Kind.Model, n.Kind.GPUs)
	}
	resources := n.Kind.Resources(n.Name, layout)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name, Labels: n.Kind.AllLabels(n.Name, layout), Annotations: annotations,
		},
		Spec: corev1.NodeSpec{Taints: n.Kind.taints(), ProviderID: "kwok://" + n.Name},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources, NodeInfo: systemInfo(n.Name),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.63.%d.%d", n.Number/250, n.Number%250+1)},
				{Type: corev1.NodeHostName, Address: n.Name},
			},
		},
	}, nil
}

// Read tells from a Node object its kind and its present layout.
func Read(node *corev1.Node) (Kind, Layout, error) {
	kind, ok := FindKind(node.Annotations[KindAnnotation])
	if !ok {
		return Kind{}, nil, fmt.Errorf("node %s is not ours", node.Name)
	}
	var layout Layout
	if err := json.Unmarshal([]byte(node.Annotations[LayoutAnnotation]), &layout); err != nil {
		return Kind{}, nil, fmt.Errorf("layout of node %s: %w", node.Name, err)
	}
	if config := node.Labels["nvidia.com/mig.config"]; config != "" {
		kind.MIGConfig = config
	}
	return kind, layout, nil
}

// Resources are capacity and allocatable; the two are the same, for every device is healthy.
func (k Kind) Resources(node string, layout Layout) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(k.CPU), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(int64(k.MemGiB)<<30, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(250, resource.DecimalSI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(1<<40, resource.BinarySI),
	}
	for name, count := range k.Units(node, layout) {
		list[corev1.ResourceName(name)] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	if _, gaudi := k.Extra["habana.ai/gaudi"]; gaudi { // Gaudi containers ask for huge pages too
		list["hugepages-2Mi"] = resource.MustParse("128Gi")
	}
	return list
}

// Units counts the extended resources.
func (k Kind) Units(node string, layout Layout) map[string]int64 {
	units := maps.Clone(k.Extra)
	if units == nil {
		units = map[string]int64{}
	}
	for _, d := range k.Devices(node, layout) {
		units[d.Resource]++
	}
	return units
}

func (k Kind) taints() []corev1.Taint {
	var taints []corev1.Taint
	if k.Reserved {
		taints = append(taints, corev1.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule})
	}
	for _, t := range k.Taints {
		key, value, _ := strings.Cut(t, "=")
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule})
	}
	return taints
}

func systemInfo(node string) corev1.NodeSystemInfo {
	return corev1.NodeSystemInfo{
		MachineID: strings.ReplaceAll(uuidOf("machine", node), "-", ""), SystemUUID: uuidOf("system", node),
		BootID: uuidOf("boot", node), Architecture: "amd64", OperatingSystem: "linux",
		KernelVersion: "5.15.0-140-generic", OSImage: "Ubuntu 22.04.5 LTS", ContainerRuntimeVersion: "containerd://2.1.4",
		KubeletVersion: "v1.36.3", KubeProxyVersion: "v1.36.3",
	}
}
