package catalog

import (
	"fmt"
	"strings"
	"testing"
)

// A size with a claim, in place of the slice of the valid catalog; lines are counted from there.
const claiming = `sizes:
- name: claimed
  title: Claimed
  technology: dra
  isolation: hard
  accelerator:
    vendor: nvidia
    model: H100
    memoryGiB: 80
    share: 1
    claim:
      requests:
      - name: gpu
        deviceClass: gpu.nvidia.com
        count: 2
        selectors:
        - device.attributes['gpu.nvidia.com'].type == 'gpu' && device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0
      - name: other
        firstAvailable:
        - {name: big, deviceClass: gpu.nvidia.com}
        - {name: small, deviceClass: mig.nvidia.com, count: 2}
      constraints:
      - {requests: [gpu, other/big], matchAttribute: resource.kubernetes.io/pcieRoot}
  cpu: 4
  memory: 16Gi
`

func claimCatalog() string {
	_, rest, _ := strings.Cut(valid, "  memory: 16Gi\n")
	return claiming + rest
}

// claimOf is the lines of the claim.
func claimOf(text string) string {
	return text[strings.Index(text, "    claim:"):strings.Index(text, "  cpu: 4")]
}

func TestClaimsAreChecked(t *testing.T) {
	if problems := problemsOf(claimCatalog()); len(problems) > 0 {
		t.Fatal(problems)
	}
	many := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line, i)
		}
		return b.String()
	}
	cases := map[string]struct{ old, new, want string }{
		"no claim": {claimOf(claiming), "",
			"line 7: sizes[0].accelerator.claim: the technology dra needs a claim"},
		"a resource beside it": {"    share: 1\n", "    share: 1\n    resource: nvidia.com/gpu\n",
			"line 11: sizes[0].accelerator.resource: a size with a claim has no resource"},
		"a count beside it": {"    share: 1\n", "    share: 1\n    count: 2\n",
			"line 11: sizes[0].accelerator.count: how many devices a claim takes"},
		"foreign vendor": {"vendor: nvidia", "vendor: amd",
			"line 7: sizes[0].accelerator.vendor: gpu.nvidia.com is of nvidia, not of amd"},
		"request without a name": {"- name: gpu\n", "- name: GPU\n",
			"line 13: sizes[0].accelerator.claim.requests[0].name"},
		"name of another request": {"- name: other", "- name: gpu",
			"line 18: sizes[0].accelerator.claim.requests[1].name"},
		"name of another alternative": {"name: small", "name: big",
			"line 21: sizes[0].accelerator.claim.requests[1].firstAvailable[1].name"},
		"no class": {"        deviceClass: gpu.nvidia.com\n", "",
			"line 13: sizes[0].accelerator.claim.requests[0].deviceClass"},
		"no device": {"count: 2\n        sel", "count: 0\n        sel",
			"line 15: sizes[0].accelerator.claim.requests[0].count"},
		"more devices than a claim has": {"count: 2\n        sel", "count: 31\n        sel",
			"requests: 33 devices; a claim has at most 32"},
		"class beside alternatives": {"        firstAvailable:",
			"        deviceClass: gpu.nvidia.com\n        firstAvailable:",
			"line 19: sizes[0].accelerator.claim.requests[1].deviceClass"},
		"count beside alternatives": {"        firstAvailable:", "        count: 1\n        firstAvailable:",
			"line 19: sizes[0].accelerator.claim.requests[1].count"},
		"alternatives of alternatives": {"{name: big,", "{name: big, firstAvailable: [{name: x, deviceClass: y}],",
			"an alternative has no alternatives of its own"},
		"too many alternatives": {"        - {name: big", many(8, "        - {name: more-%d, deviceClass: x}\n") +
			"        - {name: big", "10 alternatives; a request has at most 8"},
		"constraint on nobody": {"requests: [gpu, ", "requests: [gpu, cpu, ",
			`constraints[0].requests[1]: the claim has no request "cpu"`},
		"constraint on no alternative": {"other/big]", "other/huge]", `the claim has no request "other/huge"`},
		"constraint twice on one":      {"requests: [gpu, ", "requests: [gpu, gpu, ", "stands here twice"},
		"attribute without a domain": {"resource.kubernetes.io/pcieRoot", "pcieRoot",
			"line 23: sizes[0].accelerator.claim.constraints[0].matchAttribute"},
		"attribute that is no identifier": {"io/pcieRoot", "io/pcie-root",
			"line 23: sizes[0].accelerator.claim.constraints[0].matchAttribute"},
		"unknown name in a request": {"        count: 2\n", "        number: 2\n",
			"line 15: sizes[0].accelerator.claim.requests[0].number: unknown name"},
		"selector with a slip": {"device.attributes[", "device.attribute[",
			"line 17: sizes[0].accelerator.claim.requests[0].selectors[0]: not a CEL expression over device"},
		"selector that ends early": {"== 'gpu' &&", "== 'gpu",
			"line 17: sizes[0].accelerator.claim.requests[0].selectors[0]"},
		"quantities compared as numbers": {"memory.compareTo(quantity('40Gi')) >= 0", "memory >= quantity('40Gi')",
			"found no matching overload"},
		"selector of text": {"device.attributes['gpu.nvidia.com'].type == 'gpu' && ", "device.driver + '' #",
			"a selector gives true or false, this one a value of type string"},
		"empty selector": {"- device.attributes['gpu.nvidia.com'].type == 'gpu' && " +
			"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0", `- ""`,
			"a selector is a CEL expression"},
		"a claim of another technology": {"technology: dra", "technology: full",
			"line 12: sizes[0].accelerator.claim: full does not claim devices"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := claimCatalog()
			if !strings.Contains(text, c.old) {
				t.Fatalf("the case replaces %q, which is not there", c.old)
			}
			all := strings.Join(problemsOf(strings.Replace(text, c.old, c.new, 1)), "\n")
			if !strings.Contains(all, c.want) {
				t.Errorf("want a problem with %q, got:\n%s", c.want, all)
			}
		})
	}
}

// Expressions that Kubernetes takes, from its documentation of the language and of drivers.
func TestSelectorsThatKubernetesTakes(t *testing.T) {
	for _, expression := range []string{
		`true`,
		`device.driver == 'gpu.nvidia.com'`,
		`device.attributes["gpu.nvidia.com"].healthy`,
		`has(device.attributes['gpu.nvidia.com'].profile) && device.attributes['gpu.nvidia.com'].profile == '1g.18gb'`,
		`device.attributes['gpu.nvidia.com'].productName.lowerAscii().contains('h200')`,
		`device.attributes['gpu.nvidia.com'].productName.matches('^.*a100.*$')`,
		`device.attributes['gpu.nvidia.com'].cudaComputeCapability.compareTo(semver('9.0.0')) >= 0`,
		`device.attributes['gpu.nvidia.com'].driverVersion.isGreaterThan(semver('580.0', true))`,
		`device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('10Gi').add(1))`,
		`device.capacity["gpu.nvidia.com"].memory.asApproximateFloat() > 1.0e9`,
		`'gpu.nvidia.com' in device.attributes && device.allowMultipleAllocations`,
		`cel.bind(nv, device.attributes["gpu.nvidia.com"], nv.type == "mig" && nv.profile in ["1g.10gb", "2g.20gb"])`,
		`device.attributes['gpu.nvidia.com'].?profile.orValue('') == '1g.10gb'`,
		`device.attributes['x'].all(k, k != 'y') && ['a'].exists(p, device.driver.startsWith(p))`,
	} {
		if mistake := selectorMistake(expression); mistake != "" {
			t.Errorf("%s: %s", expression, mistake)
		}
	}
}

// Each case changes the one slice of the valid catalog.
func TestImpossibleSizesAreRefused(t *testing.T) {
	const slice = "{vendor: nvidia, model: H100, profile: 1g.10gb, resource: nvidia.com/mig-1g.10gb, memoryGiB: 10, " +
		"share: 0.14}"
	product := func(name string) string { return "placement: {nodeSelector: {nvidia.com/gpu.product: " + name + "}}" }
	type change struct{ technology, isolation, accelerator, more string }
	cases := map[string]struct {
		change
		want string // "" for a size that is right
	}{
		"a slice with other nodes": {change{"mig", "hard", slice, product("NVIDIA-H100-80GB-HBM3")}, ""},
		"a slice that the model has not": {change{"mig", "hard", strings.ReplaceAll(slice, "1g.10gb", "1g.5gb"), ""},
			"line 6: sizes[0].accelerator.profile: H100 has no slice 1g.5gb"},
		"a slice that the product has not": {change{"mig", "hard", slice, product("NVIDIA-A30")},
			"NVIDIA-A30 has no slice 1g.10gb; it has 1g.6gb"},
		"a slice of some chosen products": {change{"mig", "hard", slice, "placement: {nodeMatch: [{key: " +
			"nvidia.com/gpu.product, operator: In, values: [NVIDIA-H100-PCIe, NVIDIA-H200]}]}"},
			"NVIDIA-H200 has no slice 1g.10gb"},
		"a slice of a card without MIG": {change{"mig", "hard", strings.Replace(slice, "H100", "Tesla T4", 1), ""},
			"a T4 cannot be cut into slices"},
		"a slice by its name under 535": {change{"mig", "hard",
			strings.ReplaceAll(strings.Replace(slice, "H100", "A100 80GB", 1), "1g.10gb", "3g.39gb"), ""}, ""},
		"a slice under strategy mixed": {change{"mig", "hard", slice, product("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb")},
			"under the strategy mixed the product is that of the card"},
		"two replicas": {change{"time-slicing", "none", "{model: L40S, resource: " +
			"nvidia.com/gpu.shared, count: 2, memoryGiB: 45, share: 0.25}", "placement: {nodeSelector: " +
			"{nvidia.com/gpu.sharing-strategy: time-slicing}}"},
			"line 6: sizes[0].accelerator.count: a workload gets one of time-slicing"},
		"two clients of MPS": {change{"mps", "memory", "{model: L40S, resource: nvidia.com/gpu.shared, " +
			"count: 2, memoryGiB: 11, share: 0.25}", "placement: {nodeSelector: {nvidia.com/gpu.sharing-strategy: mps}}"},
			"a workload gets one of mps"},
		"renamed and marked": {change{"time-slicing", "none", "{model: L40S, resource: " +
			"nvidia.com/gpu.shared, memoryGiB: 45, share: 0.25}", "placement: {nodeSelector: {nvidia.com/gpu.product: " +
			"NVIDIA-L40S-SHARED, nvidia.com/gpu.sharing-strategy: time-slicing}}"}, "no node has both"},
		"a shared slice that is not there": {change{"time-slicing", "none", "{model: A100 40GB, resource: " +
			"nvidia.com/mig-3g.40gb.shared, memoryGiB: 20, share: 0.2}", "placement: {nodeSelector: " +
			"{nvidia.com/mig-3g.40gb.sharing-strategy: time-slicing}}"}, "A100 40GB has no slice 3g.40gb"},
		"time slices that claim memory": {change{"time-slicing", "memory",
			"{model: L40S, resource: nvidia.com/gpu.shared, memoryGiB: 45, share: 0.25}",
			"placement: {nodeSelector: {nvidia.com/gpu.sharing-strategy: time-slicing}}"},
			`time-slicing does not give the isolation "memory"`},
		"MPS that claims hard": {change{"mps", "hard", "{model: L40S, resource: nvidia.com/gpu.shared, " +
			"memoryGiB: 11, share: 0.25}", "placement: {nodeSelector: {nvidia.com/gpu.sharing-strategy: mps}}"},
			`mps does not give the isolation "hard"`},
		"MPS on slices under single": {change{"mps", "memory", "{model: A100, resource: nvidia.com/gpu, memoryGiB: " +
			"1, share: 0.1}", "placement: {nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED, " +
			"nvidia.com/gpu.sharing-strategy: mps}}"}, "the device plugin does not offer MPS on MIG slices"},
		"vGPU": {change{"vgpu", "memory", "{model: L40S, profile: L40S-24Q, resource: " +
			"nvidia.com/gpu, memoryGiB: 24, share: 0.5}",
			`placement: {nodeSelector: {nvidia.com/vgpu.present: "true", nvidia.com/gpu.product: NVIDIA-L40S-24Q}}`}, ""},
		"vGPU type that is not": {change{"vgpu", "memory", "{model: L40S, profile: L40S-20Q, resource: " +
			"nvidia.com/gpu, memoryGiB: 20, share: 0.5}", `placement: {nodeSelector: {nvidia.com/vgpu.present: "true"}}`},
			"there is no vGPU type L40S-20Q"},
		"vGPU type of another card": {change{"vgpu", "memory", "{model: A40, profile: L40S-24Q, resource: " +
			"nvidia.com/gpu, memoryGiB: 24, share: 0.5}", `placement: {nodeSelector: {nvidia.com/vgpu.present: "true"}}`},
			"L40S-24Q is a type of another card than A40"},
		"vGPU that another node has": {change{"vgpu", "memory", "{model: L40S, profile: L40S-24Q, resource: " +
			"nvidia.com/gpu, memoryGiB: 24, share: 0.5}",
			`placement: {nodeSelector: {nvidia.com/vgpu.present: "true", nvidia.com/gpu.product: NVIDIA-L40S-12Q}}`},
			"the product ends in the type, -L40S-24Q"},
		"vGPU in turns that claims hard": {change{"vgpu", "hard", "{model: L40S, profile: L40S-24Q, resource: " +
			"nvidia.com/gpu, memoryGiB: 24, share: 0.5}", `placement: {nodeSelector: {nvidia.com/vgpu.present: "true"}}`},
			"L40S-24Q takes turns with others"},
		"vGPU on a slice of its own": {change{"vgpu", "hard", "{model: H100, profile: H100XM-1-10C, resource: " +
			"nvidia.com/gpu, memoryGiB: 10, share: 0.14}", `placement: {nodeSelector: {nvidia.com/vgpu.present: "true"}}`}, ""},
		"vGPU in turns on a slice": {change{"vgpu", "hard", "{model: RTX PRO 6000, profile: DC-1-8C, resource: " +
			"nvidia.com/gpu, memoryGiB: 8, share: 0.08}", `placement: {nodeSelector: {nvidia.com/vgpu.present: "true"}}`},
			"DC-1-8C takes turns with others"},
		"passed through, not told apart": {change{"passthrough", "hard", "{vendor: nvidia, model: A10, resource: " +
			"nvidia.com/gpu, memoryGiB: 24, share: 1}", product("NVIDIA-A10")},
			"passthrough: a card that is passed through looks like any other"},
		"passed through": {change{"passthrough", "hard", "{vendor: nvidia, model: A10, resource: " +
			"nvidia.com/gpu, memoryGiB: 24, share: 1}", "placement: {nodeSelector: {nvidia.com/gpu.product: NVIDIA-A10, " +
			"example.org/passthrough: 'true'}}"}, ""},
		"passed through, a share": {change{"passthrough", "hard", "{vendor: nvidia, model: A10, resource: " +
			"nvidia.com/gpu, memoryGiB: 24, share: 0.5}", "placement: {nodeSelector: {example.org/passthrough: 'true'}}"},
			"a whole card is a share of 1"},
		"whole Gaudi with huge pages": {change{"full", "hard", "{vendor: intel, model: Gaudi 3, resource: " +
			"habana.ai/gaudi, extra: {hugepages-2Mi: 9500Mi}, memoryGiB: 128, share: 1}", ""}, ""},
		"whole card of a sharing system": {change{"full", "hard", "{model: T4, resource: aliyun.com/gpu-mem, " +
			"memoryGiB: 16, share: 1}", ""}, "aliyun.com/gpu-mem is how gpushare shares cards"},
		"whole card that only watches": {change{"full", "hard", "{vendor: intel, model: Flex, resource: " +
			"gpu.intel.com/xe_monitoring, memoryGiB: 16, share: 1}", ""},
			"a whole card is not called gpu.intel.com/xe_monitoring"},
		"AMD by the name of NVIDIA": {change{"full", "hard", "{vendor: amd, model: MI300X, resource: " +
			"nvidia.com/gpu, memoryGiB: 192, share: 1}", product("x")}, "nvidia.com/gpu is of nvidia, not of amd"},
		"Intel by the name of AMD": {change{"full", "hard", "{vendor: intel, model: Flex, resource: amd.com/gpu, " +
			"memoryGiB: 16, share: 1}", ""}, "amd.com/gpu is of amd, not of intel"},
		"GPU with RDMA": {change{"full", "hard", "{vendor: nvidia, model: H100, resource: " +
			"nvidia.com/gpu, extra: {rdma/hca_a: '1'}, memoryGiB: 80, share: 1}", product("NVIDIA-H100-80GB-HBM3")}, ""},
		"RDMA without a GPU in the pod": {change{"kai", "none", "{model: H100, extra: {rdma/hca_a: '1'}, memoryGiB: " +
			"40, share: 0.5}", "placement: {schedulerName: kai-scheduler, podLabels: {kai.scheduler/queue: a}, " +
			"podAnnotations: {gpu-fraction: '0.5'}}"}, "there is no GPU in the pod that rdma/hca_a could reach"},
		"RDMA on a size without GPU": {change{"cpu", "none", "{extra: {rdma/hca_a: '1'}}", ""},
			"a size of the technology cpu has no accelerator"},
		"half an RDMA device": {change{"mig", "hard", strings.Replace(slice, "memoryGiB",
			"extra: {rdma/hca_a: 500m}, memoryGiB", 1), ""},
			`line 6: sizes[0].accelerator.extra.rdma/hca_a: "500m" of rdma/hca_a is not a whole number`},
		"no RDMA device": {change{"mig", "hard", strings.Replace(slice, "memoryGiB",
			"extra: {rdma/hca_a: 0}, memoryGiB", 1), ""}, "sizes[0].accelerator.extra.rdma/hca_a"},
		"extra that is no extended resource": {change{"mig", "hard", strings.Replace(slice, "memoryGiB",
			"extra: {memory: 4Gi}, memoryGiB", 1), ""}, `"memory" is not an extended resource`},
		"extra that is the resource": {change{"mig", "hard", strings.Replace(slice, "memoryGiB",
			"extra: {nvidia.com/mig-1g.10gb: 2}, memoryGiB", 1), ""}, "is the resource itself"},
		"a slice beside a card": {change{"mig", "hard", strings.Replace(slice, "memoryGiB",
			"extra: {nvidia.com/gpu: 1}, memoryGiB", 1), ""}, "has no second kind of GPU resource beside it"},
		"HAMi called whole": {change{"full", "hard", "{vendor: nvidia, model: V100, resource: nvidia.com/gpu, " +
			"extra: {nvidia.com/gpumem: 8000}, memoryGiB: 32, share: 1}", product("x")},
			"has no second kind of GPU resource beside it"},
		"spot": {change{"mig", "hard", slice, "preemptible: true\n  placement: {nodeSelector: " +
			"{cloud.google.com/gke-spot: 'true'}, tolerations: [{key: cloud.google.com/gke-spot}]}"}, ""},
		"spot without a toleration": {change{"mig", "hard", slice, "preemptible: true\n  placement: {nodeSelector: " +
			"{cloud.google.com/gke-spot: 'true'}}"}, "line 7: sizes[0].preemptible: nodes that can be taken away are tainted"},
		"spot anywhere": {change{"mig", "hard", slice, "preemptible: true\n  placement: {tolerations: [{key: " +
			"spot}]}"}, "nothing selects the nodes that can be taken away"},
		"spot that nobody is told of": {change{"mig", "hard", slice, "placement: {nodeSelector: " +
			"{eks.amazonaws.com/capacityType: SPOT}, tolerations: [{key: spot}]}"}, "say preemptible: true"},
		"unknown operator": {change{"mig", "hard", slice, "placement: {nodeMatch: [{key: a, operator: Equals, " +
			"values: [b]}]}"}, "line 7: sizes[0].placement.nodeMatch[0].operator"},
		"In nothing": {change{"mig", "hard", slice, "placement: {nodeMatch: [{key: a, operator: In}]}"},
			"nodeMatch[0].values: In takes 1 to 100 values"},
		"Exists with a value": {change{"mig", "hard", slice, "placement: {nodeMatch: [{key: a, operator: Exists, " +
			"values: [b]}]}"}, "nodeMatch[0].values"},
		"above two numbers": {change{"mig", "hard", slice,
			`placement: {nodeMatch: [{key: a, operator: Gt, values: ["1", "2"]}]}`},
			"nodeMatch[0].values: Gt takes 1 to 1 values"},
		"above a word": {change{"mig", "hard", slice,
			`placement: {nodeMatch: [{key: a, operator: Gt, values: [40Gi]}]}`},
			"nodeMatch[0].values[0]: Gt compares whole numbers"},
		"value that is none": {change{"mig", "hard", slice,
			`placement: {nodeMatch: [{key: a, operator: In, values: [a b]}]}`}, "nodeMatch[0].values[0]"},
		"key that is none": {change{"mig", "hard", slice,
			`placement: {nodeMatch: [{key: a b, operator: Exists}]}`}, "nodeMatch[0].key"},
		"selector against condition": {change{"mig", "hard", slice,
			`placement: {nodeSelector: {a: b}, nodeMatch: [{key: a, operator: NotIn, values: [b]}]}`},
			"no node has this and a=b"},
		"label of ours": {change{"mig", "hard", slice, "placement: {podLabels: " +
			"{gpu-portal.github.io/workload: w-1}}"}, "line 7: sizes[0].placement.podLabels.gpu-portal.github.io/workload"},
		"recommended label": {change{"mig", "hard", slice, "placement: {podLabels: " +
			"{app.kubernetes.io/managed-by: me}}"}, "sizes[0].placement.podLabels.app.kubernetes.io/managed-by"},
		"label that is none": {change{"mig", "hard", slice, "placement: {podLabels: {a: b c}}"},
			"sizes[0].placement.podLabels.a: a=b c is not a label"},
		"variable of the runtime": {change{"mig", "hard", slice, "placement: {env: {NVIDIA_VISIBLE_DEVICES: all}}"},
			"line 7: sizes[0].placement.env.NVIDIA_VISIBLE_DEVICES: NVIDIA_VISIBLE_DEVICES must not be set here"},
		"OrionX": {change{"orionx", "memory", "{model: pool, resource: virtaitech.com/gpu, " +
			"memoryGiB: 8, share: 0.5}", "placement: {env: {ORION_VGPU: '1', ORION_GMEM: '8192'}}"}, ""},
		"OrionX without its variables": {change{"orionx", "memory", "{model: pool, resource: virtaitech.com/gpu, " +
			"memoryGiB: 8, share: 0.5}", "placement: {env: {ORION_VGPU: '1'}}"},
			"line 4: sizes[0].technology: orionx: each size must set ORION_GMEM"},
		"toleration twice": {change{"mig", "hard", slice, "placement: {tolerations: [{key: a}, {key: a}]}"},
			"tolerations[1]: the toleration stands here twice"},
		"tenant twice": {change{"mig", "hard", slice, "tenants: [a, b, a]"}, `tenants[2]: "a" stands here twice`},
	}
	before, rest, _ := strings.Cut(valid, "  technology: mig")
	_, rest, _ = strings.Cut(rest, "  cpu: 4")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := before + "  technology: " + c.technology + "\n  isolation: " + c.isolation + "\n  accelerator: " +
				c.accelerator + "\n"
			if c.more != "" {
				text += "  " + c.more + "\n"
			}
			all := strings.Join(problemsOf(text+"  cpu: 4"+rest), "\n")
			if c.want == "" && all != "" || !strings.Contains(all, c.want) {
				t.Errorf("want a problem with %q, got:\n%s", c.want, all)
			}
		})
	}
}

func TestSuccessorsCanBeTaken(t *testing.T) {
	images := valid[strings.Index(valid, "images:"):]
	_, entry, _ := strings.Cut(strings.TrimSuffix(valid, images), "sizes:\n")
	catalog := func(sizes map[string]string) string {
		text := "sizes:\n"
		for _, name := range []string{"a", "b", "c"} {
			text += strings.Replace(entry, "name: slice", "name: "+name, 1)
			if more := sizes[name]; more != "" {
				text += "  " + more + "\n"
			}
		}
		return text + images
	}
	to := func(name string) string { return "deprecated: {message: It goes., successor: " + name + "}" }
	cases := map[string]struct {
		sizes map[string]string
		want  string
	}{
		"a chain":     {map[string]string{"a": to("b"), "b": to("c")}, ""},
		"none":        {map[string]string{"a": "deprecated: {message: It goes.}"}, ""},
		"itself":      {map[string]string{"a": to("a")}, `line 12: sizes[0].deprecated.successor: "a" is the size itself`},
		"nobody":      {map[string]string{"a": to("d")}, `there is no size "d"`},
		"hidden":      {map[string]string{"a": to("b"), "b": "hidden: true"}, `the size "b" is hidden`},
		"a circle":    {map[string]string{"a": to("b"), "b": to("c"), "c": to("a")}, `the successors of "b" lead back to it`},
		"no sentence": {map[string]string{"a": "deprecated: {successor: b}"}, "sizes[0].deprecated.message"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all := strings.Join(problemsOf(catalog(c.sizes)), "\n")
			if c.want == "" && all != "" || !strings.Contains(all, c.want) {
				t.Errorf("want a problem with %q, got:\n%s", c.want, all)
			}
		})
	}
	image := strings.Replace(valid, "  port: 8888", "  port: 8888\n  deprecated: {message: It goes., successor: lab}", 1)
	if all := strings.Join(problemsOf(image), "\n"); !strings.Contains(all,
		`line 20: images[0].deprecated.successor: "lab" is the image itself`) {
		t.Errorf("of images: got:\n%s", all)
	}
}

// Since a request for devices may hold requests, the depth of what is read is no longer that of a Go type: an alias
// that holds itself exhausted the stack, and nine aliases of ten of each other would have filled the memory.
func TestAliasesDoNoHarm(t *testing.T) {
	loop := strings.Replace(claimCatalog(), "      - name: other\n", "      - &loop\n        name: other\n", 1)
	loop = strings.Replace(loop, "        - {name: big,", "        - *loop\n        - {name: big,", 1)
	if all := strings.Join(problemsOf(loop), "\n"); !strings.Contains(all, "nested deeper than any catalog") {
		t.Errorf("an alias that holds itself: got:\n%s", all)
	}
	bomb := "a0: &a0 {name: x}\n"
	for i := range 8 {
		alias := fmt.Sprintf("*a%d", i)
		bomb += fmt.Sprintf("a%d: &a%d {name: x, firstAvailable: [%s]}\n", i+1, i+1,
			strings.Join([]string{alias, alias, alias, alias, alias, alias, alias, alias, alias, alias}, ", "))
	}
	bomb += "sizes: [" + strings.Repeat("{accelerator: {claim: {requests: ["+strings.Repeat("*a8, ", 100)+"]}}}, ", 100) +
		"]"
	if all := strings.Join(problemsOf(bomb), "\n"); !strings.Contains(all, "more than 100000 values") {
		t.Errorf("aliases of aliases: %d bytes of problems", len(all))
	}
}
