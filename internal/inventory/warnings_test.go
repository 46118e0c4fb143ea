package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// label sets labels; one with the value "-" is taken away.
func label(pairs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for i := 0; i < len(pairs); i += 2 {
			if n.Labels[pairs[i]] = pairs[i+1]; pairs[i+1] == "-" {
				delete(n.Labels, pairs[i])
			}
		}
	}
}

// resourcesOf sets everything that the node has.
func resourcesOf(pairs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Capacity, n.Status.Allocatable = list(pairs...), list(pairs...) }
}

// only replaces all labels.
func only(pairs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Labels = map[string]string{}
		label(pairs...)(n)
	}
}

const (
	gpu   = "nvidia.com/gpu"
	slice = "nvidia.com/mig-1g.10gb"
)

// wholeCard is a node with one card as GPU feature discovery describes it.
func wholeCard(n *corev1.Node) {
	only("nvidia.com/gpu.product", "NVIDIA-L40S", "nvidia.com/gpu.count", "1", "nvidia.com/gpu.replicas", "1",
		"nvidia.com/gpu.sharing-strategy", "none",
		"nvidia.com/mig.capable", "false", "nvidia.com/mps.capable", "false", "nvidia.com/vgpu.present", "false",
		"nvidia.com/cuda.driver-version.full", "580.105.08")(n)
	resourcesOf(gpu, "1")(n)
}

func TestWarnings(t *testing.T) {
	advertise := func(capacity, allocatable string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Capacity[slice], n.Status.Allocatable[slice] = resource.MustParse(capacity), resource.MustParse(allocatable)
		}
	}
	held := func(n int) []*corev1.Pod {
		var pods []*corev1.Pod
		for i := range n {
			pods = append(pods, pod(fmt.Sprint(i), list(slice, "1")))
		}
		return pods
	}
	dra := func(n *corev1.Node) {
		only("feature.node.kubernetes.io/pci-10de.present", "true")(n)
		resourcesOf("cpu", "64")(n)
	}
	node := func(c ...func(*corev1.Node)) []func(*corev1.Node) { return c }
	say := func(id string, pairs ...any) i18n.Text { return i18n.T("inventory."+id, pairs...) }
	texts := func(list ...i18n.Text) []i18n.Text { return list }
	cases := map[string]struct {
		change []func(*corev1.Node)
		pods   []*corev1.Pod
		slices []*resourcev1.ResourceSlice
		want   []i18n.Text
	}{
		"all is well":  {nil, held(7), nil, nil},
		"a whole card": {node(wholeCard), nil, nil, nil},
		"not ready": {node(func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }), nil, nil,
			texts(say("not_ready"))},
		"no condition":     {node(func(n *corev1.Node) { n.Status.Conditions = nil }), nil, nil, texts(say("not_ready"))},
		"cordoned":         {node(func(n *corev1.Node) { n.Spec.Unschedulable = true }), nil, nil, texts(say("cordoned"))},
		"unhealthy device": {node(advertise("7", "6")), nil, nil, texts(say("unhealthy", "Count", 1, "Resource", slice))},
		"more held than there is": {node(advertise("7", "5")), held(6), nil,
			texts(say("unhealthy", "Count", 2, "Resource", slice), say("overcommitted", "Held", 6, "Allocatable", 5, "Resource",
				slice))},
		"the device plugin is gone": {node(advertise("7", "0")), nil, nil, texts(say("plugin_gone", "Resource", slice))},
		"a profile of a former layout": {node(advertise("7", "7"), func(n *corev1.Node) {
			n.Status.Capacity["nvidia.com/mig-3g.40gb"] = resource.MustParse("1")
			n.Status.Allocatable["nvidia.com/mig-3g.40gb"] = resource.MustParse("0")
		}), held(7), nil, texts(say("left_over", "Resource", "nvidia.com/mig-3g.40gb", "Count", 1))},
		"whole cards of before all were cut": {node(func(n *corev1.Node) {
			n.Status.Allocatable[gpu] = resource.MustParse("0")
		}), nil, nil, texts(say("left_over", "Resource", gpu, "Count", 1))},
		"a profile that labels still name has lost its plugin": {node(advertise("7", "0")), nil, nil,
			texts(say("plugin_gone", "Resource", slice))},
		"the layout failed, nothing is known to be left over": {node(label("nvidia.com/mig.config.state", "failed",
			slice+".count", "-", slice+".product", "-", slice+".replicas", "-", slice+".sharing-strategy", "-"),
			advertise("7", "0")), nil, nil, texts(say("mig_failed", "Config", "all-balanced"), say("plugin_gone", "Resource",
			slice))},
		"whole cards and slices of the same cards": {node(resourcesOf(gpu, "2", slice, "7")), nil, nil,
			texts(say("cut_twice", "Whole", 2, "Sliced", 1, "Cards", 2))},
		"the device plugin never came": {node(wholeCard, resourcesOf("cpu", "64")), nil, nil,
			texts(say("nothing_advertised", "Vendor", "NVIDIA"), say("labels_contradict", "Labels", 1, "Advertised", 0,
				"Resource", gpu))},
		"AMD's plugin never came": {node(only("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"),
			resourcesOf("cpu", "64")), nil, nil, texts(say("nothing_advertised", "Vendor", "AMD"))},
		"Intel's plugin never came": {node(only("gpu.intel.com/product", "Max_1550"), resourcesOf("cpu", "64")), nil, nil,
			texts(say("nothing_advertised", "Vendor", "Intel"))},
		"layout failed": {node(label("nvidia.com/mig.config.state", "failed")), nil, nil,
			texts(say("mig_failed", "Config", "all-balanced"))},
		"layout changes, nothing is advertised": {node(label("nvidia.com/mig.config.state", "pending"), advertise("0", "0")),
			nil, nil,
			texts(say("mig_pending", "Config", "all-balanced"), say("stale_resource", "Resource", slice))},
		"node restarts": {node(label("nvidia.com/mig.config.state", "rebooting")), nil, nil,
			texts(say("mig_rebooting", "Config", "all-balanced"))},
		"labels say more": {node(label(slice+".count", "14")), nil, nil,
			texts(say("labels_contradict", "Labels", 14, "Advertised", 7, "Resource", slice))},
		"labels of a layout that is gone": {node(resourcesOf("cpu", "64", gpu, "1", slice, "0", "nvidia.com/mig-2g.20gb",
			"3")), nil, nil,
			texts(say("stale_resource", "Resource", slice), say("labels_contradict", "Labels", 7, "Advertised", 0, "Resource",
				slice))},
		"pods on a layout that is gone": {node(resourcesOf("cpu", "64", gpu, "1"), label(slice+".count", "-")), held(1), nil,
			texts(say("overcommitted", "Held", 1, "Allocatable", 0, "Resource", slice))},
		"a label that is no number":                            {node(label(slice+".count", "seven")), nil, nil, nil},
		"under mixed the count of cards is not the resource's": {node(label("nvidia.com/gpu.count", "8")), nil, nil, nil},
		"replicas under another name": {node(wholeCard, label("nvidia.com/gpu.replicas", "4",
			"nvidia.com/gpu.sharing-strategy", "time-slicing"), resourcesOf("nvidia.com/gpu.shared", "4")),
			nil, nil, nil},
		"replicas under the same name": {node(wholeCard, label("nvidia.com/gpu.replicas", "4",
			"nvidia.com/gpu.sharing-strategy", "time-slicing", "nvidia.com/gpu.product", "NVIDIA-L40S-SHARED"),
			resourcesOf(gpu, "4")), nil, nil, nil},
		"marked as shared, the strategy says none": {node(wholeCard, label("nvidia.com/gpu.product", "NVIDIA-L40S-SHARED")),
			nil, nil,
			texts(say("sharing_contradicts", "Resource", gpu, "Strategy", "none", "Replicas", "1"))},
		"shared without a mark": {node(wholeCard, label("nvidia.com/gpu.sharing-strategy", "mps", "nvidia.com/gpu.replicas",
			"4"), resourcesOf(gpu, "4")), nil, nil,
			texts(say("sharing_contradicts", "Resource", gpu, "Strategy", "mps", "Replicas", "4"))},
		"renamed and marked at once": {node(wholeCard, label("nvidia.com/gpu.product", "NVIDIA-L40S-SHARED",
			"nvidia.com/gpu.sharing-strategy", "time-slicing", "nvidia.com/gpu.replicas", "4"),
			resourcesOf("nvidia.com/gpu.shared", "4")), nil, nil,
			texts(say("sharing_contradicts", "Resource", gpu, "Strategy", "time-slicing", "Replicas", "4"))},
		"renamed, and the old name stayed": {node(wholeCard, label("nvidia.com/gpu.sharing-strategy", "time-slicing",
			"nvidia.com/gpu.replicas", "4"), resourcesOf("nvidia.com/gpu.shared", "3", gpu, "1")),
			nil, nil, texts(say("half_renamed", "Resource", gpu))},
		"sharing of slices contradicts": {node(label(slice+".replicas", "2"), resourcesOf(gpu, "1", slice, "14")), nil, nil,
			texts(say("sharing_contradicts", "Resource", slice, "Strategy", "none", "Replicas", "2"))},
		"whole cards went away": {node(wholeCard, label("nvidia.com/gpu.count", "4")), nil, nil,
			texts(say("labels_contradict", "Labels", 4, "Advertised", 1, "Resource", gpu))},
		"HAMi multiplies on purpose": {node(wholeCard, label("nvidia.com/gpu.count", "4"), func(n *corev1.Node) {
			n.Annotations = map[string]string{"hami.io/node-nvidia-register": "[]"}
		}), nil, nil, nil},
		"layout that does not fit the strategy": {node(label("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID",
			"nvidia.com/gpu.count", "0", "nvidia.com/gpu.replicas", "0",
			"nvidia.com/mig.strategy", "single", slice+".count", "-"), resourcesOf("cpu", "64")), nil, nil,
			texts(say("mig_invalid"))},
		"slices of mixed under single": {node(label("nvidia.com/mig.strategy", "single", "nvidia.com/gpu.count", "1",
			"nvidia.com/gpu.replicas", "1")), nil, nil,
			texts(say("cut_twice", "Whole", 1, "Sliced", 1, "Cards", 1), say("strategies_mixed", "Strategy", "single"))},
		"a product of single under mixed": {node(label("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb")),
			nil, nil, texts(say("strategies_mixed", "Strategy", "mixed"))},
		"slices of a card that cannot be cut": {node(label("nvidia.com/mig.capable", "false")), nil, nil,
			texts(say("not_capable", "Model", "NVIDIA-H100-80GB-HBM3"))},
		"a vGPU on bare metal": {node(wholeCard, label("nvidia.com/gpu.product", "NVIDIA-A40-12Q")), nil, nil,
			texts(say("vgpu_contradicts", "Product", "NVIDIA-A40-12Q", "Present", "false"))},
		"a whole card as vGPU": {node(wholeCard, label("nvidia.com/vgpu.present", "true")), nil, nil,
			texts(say("vgpu_contradicts", "Product", "NVIDIA-L40S", "Present", "true"))},
		"a node for machines offers cards to pods": {node(wholeCard, label("nvidia.com/gpu.workload.config",
			"vm-passthrough")), nil, nil,
			texts(say("workload_config", "Config", "vm-passthrough", "Resource", gpu))},
		"a node for machines": {node(only("nvidia.com/gpu.workload.config", "vm-vgpu",
			"feature.node.kubernetes.io/pci-10de.present", "true"), resourcesOf("nvidia.com/NVIDIA_A10-12Q", "4")), nil, nil,
			nil},
		"no driver": {node(only("feature.node.kubernetes.io/pci-10de.present", "true"),
			resourcesOf("cpu", "64")), nil, nil, texts(say("no_driver", "Vendor", "NVIDIA"))},
		"no driver for Gaudi": {node(only("feature.node.kubernetes.io/pci-1da3.present", "true"),
			resourcesOf("cpu", "64")), nil, nil, texts(say("no_driver", "Vendor", "Gaudi"))},
		"labels of a card without its driver": {node(wholeCard, label("nvidia.com/cuda.driver-version.full", "-")), nil, nil,
			texts(say("driver_unknown"))},
		"the upgrade failed": {node(wholeCard, label("nvidia.com/gpu-driver-upgrade-state", "upgrade-failed")),
			nil, nil, texts(say("upgrade_failed"))},
		"an upgrade": {node(wholeCard, label("nvidia.com/gpu-driver-upgrade-state", "drain-required")),
			nil, nil, texts(say("upgrading", "State", "drain-required"))},
		"the upgrade is done": {node(wholeCard, label("nvidia.com/gpu-driver-upgrade-state", "upgrade-done")),
			nil, nil, nil},
		"feature discovery is away": {node(only(), resourcesOf(gpu, "4")), nil, nil,
			texts(say("no_labels", "Resource", gpu))},
		"Gaudi without labels": {node(only("feature.node.kubernetes.io/pci-1da3.present", "true"),
			resourcesOf("habana.ai/gaudi", "8")), nil, nil, nil},
		"Volcano owns the cards": {node(only("feature.node.kubernetes.io/pci-10de.present", "true"),
			resourcesOf("volcano.sh/vgpu-number", "40")), nil, nil, nil},
		"Volcano and NVIDIA own the cards": {node(wholeCard, resourcesOf(gpu, "1", "volcano.sh/vgpu-number", "40")), nil, nil,
			texts(say("two_systems", "Systems", "NVIDIA, Volcano"))},
		"DRA": {node(dra), nil, []*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0), card(1))},
			nil},
		"DRA and the device plugin": {node(wholeCard), nil, []*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0))},
			texts(say("twice"))},
		"a pool that is being published": {node(dra), nil, []*resourcev1.ResourceSlice{draSlice("n1", 1, 3, card(0))},
			texts(say("pool_incomplete", "Driver", "gpu.nvidia.com", "Found", 1, "Expected", 3),
				say("no_driver", "Vendor", "NVIDIA"))},
		"a device twice": {node(dra), nil, []*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0), card(0))},
			texts(say("pool_invalid", "Driver", "gpu.nvidia.com", "Device", "gpu-0"), say("no_driver", "Vendor", "NVIDIA"))},
		"tainted devices": {node(dra), nil, []*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0),
			tainted(card(1), "NoSchedule"), tainted(card(2), "None"))},
			texts(say("device_tainted", "Count", 1, "Driver", "gpu.nvidia.com"))},
	}
	words := i18n.MustLoad()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Build("main", now, Objects{Nodes: []*corev1.Node{mixedNode(c.change...)}, Pods: c.pods, Slices: c.slices},
				ours).Nodes[0].Warnings
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, lang := range []string{"en", "de"} {
				for _, text := range got {
					if said := words.For(lang).Say(text); said == text.ID || said == "" || strings.Contains(said, "<no value>") {
						t.Errorf("%s has no words in %s: %s", text.ID, lang, said)
					}
				}
			}
		})
	}
}
