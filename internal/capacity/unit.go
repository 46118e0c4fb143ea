package capacity

import (
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// unit says what one of a resource is on a node, as the labels beside it tell.
type unit struct {
	technology  catalog.Technology
	isolation   catalog.Isolation
	vendor      string
	model       string // display name of the card: "H100 80GB HBM3"
	profile     string
	resource    string
	claim       *catalog.Claim
	extra       map[string]string
	scheduler   string
	selector    map[string]string
	memoryGiB   float64
	share       float64 // of one card
	preemptible bool
	problem     i18n.Text // why no size can be written for it; zero when one can
}

const (
	productLabel  = "nvidia.com/gpu.product"
	memoryLabel   = "nvidia.com/gpu.memory" // MiB
	vgpuLabel     = "nvidia.com/vgpu.present"
	configLabel   = "nvidia.com/mig.config"
	workloadLabel = "nvidia.com/gpu.workload.config" // GPU Operator: container, vm-passthrough, vm-vgpu
)

// unitOf is not ok for what nobody asks for by itself: companions of another resource, and devices that only virtual
// machines can take.
func unitOf(n *inventory.Node, r inventory.Resource) (unit, bool) {
	if r.NotForPods {
		return unit{}, false
	}
	if n.System == inventory.HAMi && r.Name == "nvidia.com/gpu" {
		u, ok := manual(n, r)
		u.resource = r.Name
		return u, ok
	}
	for _, k := range kinds {
		if !strings.HasPrefix(r.Name, k.prefix) {
			continue
		}
		u, ok := k.read(n, r)
		u.resource = r.Name
		return spot(n, u), ok
	}
	return unit{}, false
}

// kinds is the table of resource names, the more special before the more general. Names: shared facts of the vendors'
// device plugins, see package inventory.
var kinds = []struct {
	prefix string
	read   func(*inventory.Node, inventory.Resource) (unit, bool)
}{
	{"nvidia.com/gpumem", auxiliary},
	{"nvidia.com/gpucores", auxiliary},
	{"nvidia.com/priority", auxiliary},
	{"nvidia.com/mig-", migUnit},
	{"nvidia.com/gpu", nvidiaUnit},
	{"nvidia.com/", auxiliary}, // mediated and passed-through devices of KubeVirt: NVIDIA_A10-12Q, GA102GL_A10
	{"amd.com/gpu", amdUnit},
	{"habana.ai/gaudi", gaudiUnit},
	{"gpu.intel.com/xe_monitoring", auxiliary},
	{"gpu.intel.com/i915_monitoring", auxiliary},
	{"gpu.intel.com/xe", intelUnit},
	{"gpu.intel.com/i915", intelUnit},
	{"volcano.sh/vgpu-number", manual},
	{"tencent.com/vcuda-core", manual},
	{"aliyun.com/gpu-mem", manual},
	{"virtaitech.com/gpu", manual},
	{"bitfusion.io/gpu-amount", manual},
}

func auxiliary(*inventory.Node, inventory.Resource) (unit, bool) { return unit{}, false }

// manual is for systems that cut a card as a person asks: how large a share to offer is the site's choice, not a fact
// of the node.
func manual(n *inventory.Node, _ inventory.Resource) (unit, bool) {
	return unit{model: display(n.Model), problem: i18n.T("capacity.manual")}, true
}

func nvidiaUnit(n *inventory.Node, r inventory.Resource) (unit, bool) {
	product := n.Labels[productLabel]
	u := unit{vendor: "nvidia", model: card(product), selector: map[string]string{productLabel: product},
		memoryGiB: labelGiB(n, memoryLabel), share: 1}
	plain, shared := strings.CutSuffix(product, "-SHARED")
	base, profile, single := strings.Cut(plain, "-MIG-")
	switch {
	case strings.HasPrefix(n.Labels[workloadLabel], "vm-"):
		return u, false
	case product == "":
		u.problem = i18n.T("capacity.no_labels", "Resource", r.Name)
	case profile == "INVALID":
		u.problem = i18n.T("inventory.mig_invalid")
	case single && (shared || strings.HasSuffix(r.Name, ".shared")): // the turns are on slices
		u.model = card(base)
		if u = sliced(u, profile); u.problem.IsZero() {
			u = sharedUnit(n, u, "nvidia.com/gpu")
			u.profile = "mig-" + profile
		}
	case n.Labels[vgpuLabel] == "true" && (shared || strings.HasSuffix(r.Name, ".shared")):
		if u = vgpuUnit(u, plain); u.problem.IsZero() {
			profile := u.profile
			u = sharedUnit(n, u, "nvidia.com/gpu")
			u.profile = profile
		}
	case shared || strings.HasSuffix(r.Name, ".shared"):
		u = sharedUnit(n, u, "nvidia.com/gpu")
	case single:
		u.model = card(base)
		u = sliced(u, profile)
	case n.Labels[vgpuLabel] == "true":
		u = vgpuUnit(u, product)
	case !agrees(n, r):
		u.problem = i18n.T("capacity.multiplied", "Resource", r.Name)
	default:
		u.technology, u.isolation = catalog.Full, catalog.IsolationHard
		if config := n.Labels[configLabel]; config != "" {
			u.selector[configLabel] = config // whole cards beside slices are another offer than whole cards alone
		}
	}
	return known(u), true
}

// agrees: more units than cards means that another system has multiplied them, as HAMi does, and that one of them is no
// whole card.
func agrees(n *inventory.Node, r inventory.Resource) bool {
	count, err := strconv.ParseInt(n.Labels["nvidia.com/gpu.count"], 10, 32)
	return err != nil || r.Capacity <= count
}

func migUnit(n *inventory.Node, r inventory.Resource) (unit, bool) {
	name, shared := strings.CutSuffix(r.Name, ".shared")
	prefix := name
	product := n.Labels[productLabel]
	u := unit{vendor: "nvidia", model: card(product), selector: map[string]string{productLabel: product}, share: 1,
		memoryGiB: labelGiB(n, prefix+".memory")}
	u = sliced(u, strings.TrimPrefix(name, "nvidia.com/mig-"))
	if product == "" {
		u.problem = i18n.T("capacity.no_labels", "Resource", r.Name)
	} else if shared || n.Labels[prefix+".sharing-strategy"] == "time-slicing" {
		u = sharedUnit(n, u, prefix)
	}
	return known(u), true
}

func sliced(u unit, spelled string) unit {
	u.technology, u.isolation, u.profile = catalog.MIG, catalog.IsolationHard, spelled
	profile, ok := hardware.ParseResourceProfile(spelled)
	if ok {
		u.profile = profile.String()
	} else if profile, ok = hardware.ParseResourceProfile(strings.SplitN(spelled, "-", 2)[0]); !ok {
		u.problem = i18n.T("capacity.profile_unreadable", "Profile", spelled)
		return u
	}
	u.share = round6(min(1, profile.Slices/float64(hardware.SlicesOf(u.model))))
	if u.memoryGiB == 0 {
		u.memoryGiB = profile.GB
	}
	return u
}

// sharedUnit is a turn on a card or slice. Time-slicing lets each see all the memory and keeps nobody from it; MPS
// gives each an equal part.
func sharedUnit(n *inventory.Node, u unit, prefix string) unit {
	replicas, err := strconv.ParseFloat(n.Labels[prefix+".replicas"], 64)
	strategy := n.Labels[prefix+".sharing-strategy"]
	u.profile = strings.TrimPrefix(strings.TrimPrefix(prefix, "nvidia.com/gpu"), "nvidia.com/")
	switch {
	case err != nil || replicas < 1 || (strategy != "time-slicing" && strategy != "mps"):
		u.problem = i18n.T("capacity.sharing_unknown", "Label", prefix+".sharing-strategy")
		return u
	case strategy == "mps":
		u.technology, u.isolation = catalog.MPS, catalog.IsolationMemory
		u.memoryGiB = math.Floor(u.memoryGiB / replicas)
	default:
		u.technology, u.isolation = catalog.TimeSlicing, catalog.IsolationNone
	}
	u.share = round6(u.share / replicas)
	u.selector[prefix+".sharing-strategy"] = strategy
	return u
}

func vgpuUnit(u unit, product string) unit {
	u.technology, u.isolation = catalog.VGPU, catalog.IsolationMemory
	u.profile = strings.TrimPrefix(product, "NVIDIA-")
	kind, ok := hardware.ParseVGPU(u.profile)
	if !ok {
		u.problem = i18n.T("capacity.profile_unreadable", "Profile", u.profile)
		return u
	}
	board, known := hardware.BoardMemory(kind.Board, u.profile)
	if !known {
		u.problem = i18n.T("capacity.board_unknown", "Profile", u.profile)
		return u
	}
	u.model = kind.Board
	if kind.Slices > 0 {
		u.isolation = catalog.IsolationHard // a MIG instance behind it
	}
	u.memoryGiB = kind.GB
	u.share = round6(min(1, u.memoryGiB/board))
	u.selector[vgpuLabel] = "true"
	return u
}

// amdUnit is a whole Instinct; a partitioned one shows under the same name, and then each is a part of it (ROCm
// k8s-device-plugin).
func amdUnit(n *inventory.Node, r inventory.Resource) (unit, bool) {
	product, partition := n.Labels["amd.com/gpu.product-name"], n.Labels["amd.com/compute-memory-partition"]
	u := unit{vendor: "amd", technology: catalog.Full, isolation: catalog.IsolationHard, model: display(product), share: 1,
		selector: map[string]string{"amd.com/gpu.product-name": product}}
	gigabytes, _ := strconv.ParseFloat(strings.TrimSuffix(n.Labels["amd.com/gpu.vram"], "G"), 64)
	u.memoryGiB = gigabytes
	switch {
	case product == "":
		u.problem = i18n.T("capacity.no_labels", "Resource", r.Name)
	case partition != "" && !strings.HasPrefix(partition, "spx"):
		u.problem = i18n.T("capacity.manual")
	}
	return known(u), true
}

// gaudiUnit: Habana's label names the card; without it nothing on the node does.
func gaudiUnit(n *inventory.Node, r inventory.Resource) (unit, bool) {
	return labelled(n, r, "habana.ai/hpu.product")
}

func intelUnit(n *inventory.Node, r inventory.Resource) (unit, bool) {
	return labelled(n, r, "gpu.intel.com/product")
}

// labelled is a whole card whose memory only its name tells.
func labelled(n *inventory.Node, r inventory.Resource, label string) (unit, bool) {
	product := n.Labels[label]
	u := unit{vendor: "intel", technology: catalog.Full, isolation: catalog.IsolationHard, model: display(product),
		share: 1, memoryGiB: hardware.MemoryOf(product), selector: map[string]string{label: product}}
	if strings.HasPrefix(r.Name, "habana.ai/") {
		u.vendor = "habana"
	}
	if product == "" {
		u.problem = i18n.T("capacity.no_labels", "Resource", r.Name)
	}
	return known(u), true
}

// known refuses to write a size of which the first thing that people choose by cannot be told.
func known(u unit) unit {
	if u.problem.IsZero() && u.memoryGiB <= 0 {
		u.problem = i18n.T("capacity.memory_unknown", "Model", u.model)
	}
	return u
}

// pools are the labels by which clouds mark nodes that can be taken away, with the value that says so.
var pools = []struct{ label, value string }{
	{"cloud.google.com/gke-spot", "true"}, {"cloud.google.com/gke-preemptible", "true"}, {"eks.amazonaws.com/capacityType",
		"SPOT"},
	{"karpenter.sh/capacity-type", "spot"}, {"kubernetes.azure.com/scalesetpriority", "spot"},
}

func spot(n *inventory.Node, u unit) unit {
	for _, p := range pools {
		if n.Labels[p.label] == p.value && u.selector != nil {
			u.selector[p.label], u.preemptible = p.value, true
		}
	}
	return u
}

// card is the display name of a card by its product label: without maker, strategy and sharing.
func card(product string) string {
	name, _ := strings.CutSuffix(product, "-SHARED")
	name, _, _ = strings.Cut(name, "-MIG-")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "NVIDIA-"), "Tesla-")
	return display(name)
}

func display(name string) string {
	return strings.TrimSpace(strings.NewReplacer("-", " ", "_", " ").Replace(name))
}

// labelGiB reads a label in MiB as people say it: an H100 of 81,559 MiB has 80.
func labelGiB(n *inventory.Node, label string) float64 {
	mib, err := strconv.ParseFloat(n.Labels[label], 64)
	if err != nil || mib < 0 || mib > 1<<30 {
		return 0
	}
	return math.Round(mib / 1024)
}

func round6(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// deviceUnit says what a device of a DRA driver is. It is not ok for devices that are no accelerators for pods:
// channels between nodes, cards for virtual machines.
func deviceUnit(d *inventory.Device) (unit, bool) {
	read := driversOf[d.Driver]
	if read == nil || d.Tainted && d.Claim == "" {
		return unit{}, false
	}
	u, ok := read(d)
	u.resource = d.Driver
	return u, ok
}

var driversOf = map[string]func(*inventory.Device) (unit, bool){
	"gpu.nvidia.com": nvidiaDevice,
	"gpu.amd.com":    func(d *inventory.Device) (unit, bool) { return otherDevice(d, "amd"), true },
	"gpu.intel.com":  func(d *inventory.Device) (unit, bool) { return otherDevice(d, "intel"), true },
	"gaudi.intel.com": func(d *inventory.Device) (unit, bool) {
		return otherDevice(d, "intel"), true
	},
}

// nvidiaDevice: a card or a slice, each with a class of its own (dra-driver-nvidia-gpu v0.4.1).
func nvidiaDevice(d *inventory.Device) (unit, bool) {
	product, profile := textOf(d, "gpu.nvidia.com/productName"), textOf(d, "gpu.nvidia.com/profile")
	u := unit{vendor: "nvidia", model: card(strings.ReplaceAll(product, " ", "-")), share: 1}
	selectors := []string{"device.attributes['gpu.nvidia.com'].productName == " + strconv.Quote(product)}
	class := ""
	switch textOf(d, "gpu.nvidia.com/type") {
	case "gpu":
		class = "gpu.nvidia.com"
	case "mig":
		class = "mig.nvidia.com"
		u = sliced(u, profile)
		u.memoryGiB = 0 // the device says it
		selectors = append(selectors, "device.attributes['gpu.nvidia.com'].profile == "+strconv.Quote(profile))
	default:
		return u, false
	}
	u.technology, u.isolation, u.memoryGiB = catalog.DRA, catalog.IsolationHard, capacityGiB(d, "gpu.nvidia.com/memory")
	u.claim = &catalog.Claim{Requests: []catalog.DeviceRequest{{Name: "gpu", DeviceClass: class, Count: 1,
		Selectors: selectors}}}
	return known(u), true
}

// otherDevice is one of which the portal knows the driver, not the parts it may be cut into.
func otherDevice(d *inventory.Device, vendor string) unit {
	u := unit{vendor: vendor, technology: catalog.DRA, isolation: catalog.IsolationUnknown, share: 1,
		memoryGiB: capacityGiB(d, d.Driver+"/memory")}
	request := catalog.DeviceRequest{Name: "gpu", DeviceClass: d.Driver, Count: 1}
	for _, name := range []string{"productName", "model"} {
		if product := textOf(d, d.Driver+"/"+name); product != "" && u.model == "" {
			u.model = display(product)
			request.Selectors = []string{"device.attributes['" + d.Driver + "']." + name + " == " + strconv.Quote(product)}
		}
	}
	if u.model == "" {
		u.problem = i18n.T("capacity.no_labels", "Resource", d.Driver)
	}
	u.claim = &catalog.Claim{Requests: []catalog.DeviceRequest{request}}
	return known(u)
}

func textOf(d *inventory.Device, attribute string) string {
	if a := d.Attributes[attribute]; a.String != nil {
		return *a.String
	}
	return ""
}

func capacityGiB(d *inventory.Device, name string) float64 {
	q, err := resource.ParseQuantity(d.Capacity[name])
	if err != nil || q.Sign() < 0 {
		return 0
	}
	return math.Round(q.AsApproximateFloat64() / (1 << 30))
}
