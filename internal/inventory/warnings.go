package inventory

import (
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// facts is what a check may look at.
type facts struct {
	Node
	raw   *corev1.Node
	found devicesOfNode
	say   func(id string, pairs ...any)
}

func (f *facts) label(key string) string { return f.raw.Labels[key] }

// state of the layout: while it changes, the device plugin is away and nothing has to agree.
func (f *facts) changing() bool {
	state := f.label("nvidia.com/mig.config.state")
	return state == "pending" || state == "rebooting"
}

// checks is the table of what an administrator should look at on a node, the most important first. Each row says one
// thing, with its reason.
var checks = []func(*facts){
	notReady, cordoned, migState, migInvalid, pluginGone, unhealthy, overcommitted, staleResources, advertisedTwice,
	offeredTwice,
	ownScheduler, twoSystems, poolTroubles, devicesTainted, devicesGone,
	labelsContradict, sharingContradicts, strategiesMixed, virtualContradicts, machinesOnly, noDriver, driverUpgrade,
	noLabels, tooMuch,
}

// warnings goes through the table.
func warnings(n *corev1.Node, node Node, found devicesOfNode) []i18n.Text {
	var list []i18n.Text
	f := &facts{Node: node, raw: n, found: found, say: func(id string, pairs ...any) {
		list = append(list, i18n.T("inventory."+id, pairs...))
	}}
	for _, check := range checks {
		check(f)
	}
	return list
}

func notReady(f *facts) {
	if !f.Ready {
		f.say("not_ready")
	}
}

func cordoned(f *facts) {
	if f.Cordoned {
		f.say("cordoned")
	}
}

func migState(f *facts) {
	switch state := f.label("nvidia.com/mig.config.state"); state {
	case "pending", "rebooting", "failed":
		f.say("mig_"+state, "Config", clip(f.label("nvidia.com/mig.config")))
	}
}

func migInvalid(f *facts) {
	if ParseProduct(f.Model).Invalid {
		f.say("mig_invalid")
	}
}

// discoveries say which vendor's labels promise which resources.
var discoveries = []struct {
	product, pattern, vendor string
}{
	{"nvidia.com/gpu.product", "nvidia.com/*", "NVIDIA"},
	{"amd.com/gpu.product-name", "amd.com/*", "AMD"},
	{"gpu.intel.com/product", "gpu.intel.com/*", "Intel"},
	{"habana.ai/hpu.product", "habana.ai/*", "Gaudi"},
}

// pluginGone: the kubelet keeps a resource's capacity and gives out nothing when the plugin's socket is gone; after its
// own restart it knows nothing of it.
func pluginGone(f *facts) {
	if f.changing() {
		return
	}
	for _, r := range f.Resources {
		if r.Present() > 0 && r.Allocatable == 0 {
			f.say("plugin_gone", "Resource", clip(r.Name))
		}
	}
	for _, d := range discoveries {
		product := f.label(d.product)
		if product == "" || ParseProduct(product).Invalid || len(f.Devices) > 0 || otherSystem(f.Node) ||
			promised(f, d.pattern) || f.label("nvidia.com/gpu.count") == "0" {
			continue
		}
		f.say("nothing_advertised", "Vendor", d.vendor)
	}
}

// promised reports whether the node shows a resource of the vendor, be it with the value 0: then another row speaks of
// it.
func promised(f *facts, pattern string) bool {
	for name := range f.raw.Status.Capacity {
		if ok, _ := path.Match(pattern, string(name)); ok {
			return true
		}
	}
	return false
}

func unhealthy(f *facts) {
	for _, r := range f.Resources {
		if r.Capacity > r.Allocatable && r.Allocatable > 0 {
			count := int(r.Capacity - r.Allocatable)
			if KindOf(f.Node, r.Name).Unit == Card {
				f.say("gpus_unhealthy", "Count", count)
			} else {
				f.say("unhealthy", "Count", count, "Resource", clip(r.Name))
			}
		}
	}
}

func overcommitted(f *facts) {
	for _, r := range f.Resources {
		if held := r.held(); held > r.Allocatable {
			f.say("overcommitted", "Held", int(held), "Allocatable", int(r.Allocatable), "Resource", clip(r.Name))
		}
	}
}

func (r Resource) held() int64 {
	var sum int64
	for _, h := range r.Holders {
		sum += h.Count
	}
	return sum
}

// staleResources: a former layout leaves its names behind until the kubelet starts again, with the value 0 or with the
// old capacity and nothing allocatable.
func staleResources(f *facts) {
	for _, r := range f.Resources {
		if r.LeftOver {
			f.say("left_over", "Resource", clip(r.Name), "Count", int(r.Capacity))
		}
	}
	var names []string
	for name, q := range f.raw.Status.Capacity {
		if accelerator(string(name)) && q.IsZero() {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), mostNamed)] {
		f.say("stale_resource", "Resource", clip(name))
	}
}

// advertisedTwice: device plugin and DRA driver must not own the cards of one node together, for each gives them out
// without asking the other.
func advertisedTwice(f *facts) {
	if published(f.Node) {
		f.say("twice")
	}
}

// offeredTwice: whole cards and slices of the same cards.
func offeredTwice(f *facts) {
	if c, ok := cutsOf(f.Node); ok && c.twice() && !f.changing() {
		f.say("cut_twice", "Whole", int(c.whole), "Sliced", int(math.Ceil(c.sliced-rounding)), "Cards", int(c.cards))
	}
}

// ownScheduler: the numbers of this node do not say what is free.
func ownScheduler(f *facts) {
	if f.ownScheduler() {
		f.say("own_scheduler", "Pods", len(f.Outside))
	}
}

// published reports whether a vendor's cards are devices of a DRA driver and a resource of the device plugin at once.
func published(n Node) bool {
	for driver, pattern := range map[string]string{"gpu.nvidia.com": "nvidia.com/*", "gpu.amd.com": "amd.com/*",
		"gpu.intel.com": "gpu.intel.com/*", "gaudi.intel.com": "habana.ai/*"} {
		devices := slices.ContainsFunc(n.Devices, func(d Device) bool { return d.Driver == driver && !d.Gone })
		if devices && slices.ContainsFunc(n.Resources, func(r Resource) bool {
			ok, _ := path.Match(pattern, r.Name)
			return ok && r.Present() > 0
		}) {
			return true
		}
	}
	return false
}

// rivals are the systems that hand out the same cards on a node, each by its own resource.
func rivals(n Node) []string {
	systems := map[string]bool{}
	for _, r := range n.Resources {
		if r.Present() == 0 {
			continue
		}
		for _, s := range []struct{ pattern, name string }{
			{"nvidia.com/gpu*", "NVIDIA"}, {"nvidia.com/mig-*", "NVIDIA"}, {"mig.das.com/*", "DAS"},
			{"volcano.sh/vgpu-*", "Volcano"}, {"tencent.com/vcuda-*", "gpu-manager"},
			{"aliyun.com/gpu-*", "Alibaba"},
		} {
			if ok, _ := path.Match(s.pattern, r.Name); ok {
				systems[s.name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(systems))
}

func twoSystems(f *facts) {
	if systems := rivals(f.Node); len(systems) > 1 {
		f.say("two_systems", "Systems", strings.Join(systems, ", "))
	}
}

func poolTroubles(f *facts) {
	for _, g := range f.found.incomplete {
		f.say("pool_incomplete", "Driver", clip(g.driver), "Found", int(g.found), "Expected", int(g.expected))
	}
	for _, g := range f.found.twice {
		f.say("pool_invalid", "Driver", clip(g.driver), "Device", clip(g.device))
	}
}

func devicesTainted(f *facts) {
	for _, c := range countDevices(f.Devices, func(d Device) bool { return d.Tainted }) {
		f.say("device_tainted", "Count", c.count, "Driver", clip(c.driver))
	}
}

func devicesGone(f *facts) {
	for _, c := range countDevices(f.Devices, func(d Device) bool { return d.Gone }) {
		f.say("device_gone", "Count", c.count, "Driver", clip(c.driver))
	}
}

type driverCount struct {
	driver string
	count  int
}

func countDevices(devices []Device, what func(Device) bool) []driverCount {
	var list []driverCount
	for _, d := range devices { // they are ordered by driver
		switch {
		case !what(d):
		case len(list) > 0 && list[len(list)-1].driver == d.Driver:
			list[len(list)-1].count++
		default:
			list = append(list, driverCount{d.Driver, 1})
		}
	}
	return list
}

func labelsContradict(f *facts) {
	if f.changing() {
		return
	}
	for _, c := range contradictionsOf(f.Node, "") {
		f.say("labels_contradict", "Labels", int(c.labels), "Advertised", int(c.advertised), "Resource", clip(c.resource))
	}
}

type contradiction struct {
	resource           string
	labels, advertised int64
}

// contradictionsOf compares what GPU feature discovery wrote with what the device plugin advertises, for one resource
// or, with "", for all. Under the strategy "mixed" nvidia.com/gpu.count counts cards with and without MIG, and says
// nothing of the resource. Nodes of HAMi multiply their cards on purpose, and where others own the cards there is no
// plugin of NVIDIA's.
func contradictionsOf(n Node, only string) []contradiction {
	if otherSystem(n) || ParseProduct(n.Labels["nvidia.com/gpu.product"]).Invalid || len(n.Devices) > 0 {
		return nil
	}
	var prefixes []string
	for key := range n.Labels {
		prefix, isCount := strings.CutSuffix(key, ".count")
		if isCount && (only == "" || prefix == only) &&
			(strings.HasPrefix(prefix, "nvidia.com/mig-") || prefix == "nvidia.com/gpu" &&
				n.Labels["nvidia.com/mig.strategy"] != "mixed") {
			prefixes = append(prefixes, prefix)
		}
	}
	slices.Sort(prefixes)
	var found []contradiction
	for _, prefix := range prefixes {
		wanted, ok := described(n.Labels, prefix)
		if has := n.capacity(prefix) + n.capacity(prefix+".shared"); ok && has != wanted {
			found = append(found, contradiction{resource: prefix, labels: wanted, advertised: has})
		}
	}
	return found
}

// otherSystem reports whether somebody else than the vendor's plugin owns the cards.
func otherSystem(n Node) bool {
	return n.System != "" || strings.HasPrefix(n.Labels["nvidia.com/gpu.workload.config"], "vm-") ||
		slices.ContainsFunc(rivals(n), func(s string) bool { return s != "NVIDIA" })
}

// described is count times replicas; ok is false when a label is no number.
func described(labels map[string]string, prefix string) (units int64, ok bool) {
	cards := count(labels, prefix+".count")
	replicas := int64(1)
	if text := labels[prefix+".replicas"]; text != "" {
		replicas = count(labels, prefix+".replicas")
	}
	return cards * replicas, cards >= 0 && replicas >= 0
}

// sharingContradicts: the mark in the product, the label of the strategy, the replicas and the name of the resource
// must tell one story.
func sharingContradicts(f *facts) {
	prefixes := map[string]bool{"nvidia.com/gpu": true}
	for key := range f.raw.Labels {
		if prefix, ok := strings.CutSuffix(key, ".sharing-strategy"); ok && strings.HasPrefix(prefix, "nvidia.com/") {
			prefixes[prefix] = true
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(prefixes)) {
		marked := ParseProduct(f.label(prefix + ".product")).Shared
		renamed := f.capacity(prefix+".shared") > 0
		strategy := f.label(prefix + ".sharing-strategy")
		replicas := count(f.raw.Labels, prefix+".replicas")
		shared := strategy == "time-slicing" || strategy == "mps"
		switch {
		case (marked || renamed) && !shared, marked && renamed, shared && !marked && !renamed && f.capacity(prefix) > 0,
			shared && replicas >= 0 && replicas < 2, !shared && replicas > 1:
			f.say("sharing_contradicts", "Resource", clip(prefix), "Strategy", orDash(strategy), "Replicas",
				orDash(f.label(prefix+".replicas")))
		case renamed && f.capacity(prefix) > 0 && f.label("nvidia.com/mig.strategy") != "mixed":
			f.say("half_renamed", "Resource", clip(prefix))
		}
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return clip(text)
}

// strategiesMixed: resources and labels of one strategy for MIG on a node that says it has another, or a card that
// cannot be cut.
func strategiesMixed(f *facts) {
	strategy := f.label("nvidia.com/mig.strategy")
	mixed := slices.ContainsFunc(f.Resources, func(r Resource) bool {
		return strings.HasPrefix(r.Name, "nvidia.com/mig-") && r.Present() > 0
	})
	single := ParseProduct(f.label("nvidia.com/gpu.product")).Profile != ""
	switch {
	case mixed && strategy != "mixed" && strategy != "", single && strategy != "single", mixed && single:
		f.say("strategies_mixed", "Strategy", orDash(strategy))
	case (mixed || single) && f.label("nvidia.com/mig.capable") == "false":
		f.say("not_capable", "Model", clip(ParseProduct(f.Model).Card))
	}
}

// virtualContradicts: a product named like a vGPU type belongs into a virtual machine that says so, and the other way
// round.
func virtualContradicts(f *facts) {
	present := f.label("nvidia.com/vgpu.present")
	product := ParseProduct(f.label("nvidia.com/gpu.product")).Card
	if is, _ := hardware.VGPUType(product); product != "" && present != "" && is != (present == "true") {
		f.say("vgpu_contradicts", "Product", clip(product), "Present", clip(present))
	}
}

// machinesOnly: a node serves containers or virtual machines. Pods that are offered cards of a node for machines never
// start.
func machinesOnly(f *facts) {
	config := f.label("nvidia.com/gpu.workload.config")
	for _, r := range f.Resources {
		if strings.HasPrefix(config, "vm-") && strings.HasPrefix(r.Name, "nvidia.com/gpu") && r.Capacity > 0 ||
			config == "container" && r.NotForPods {
			f.say("workload_config", "Config", clip(config), "Resource", clip(r.Name))
		}
	}
}

// vendorsPCI are the labels by which node feature discovery tells that a vendor's card is in the machine.
var vendorsPCI = []struct{ id, vendor, pattern string }{
	{"10de", "NVIDIA", "nvidia.com/*"}, {"1002", "AMD", "amd.com/*"}, {"1da3", "Gaudi", "habana.ai/*"},
}

// noDriver: a card is in the machine, and nothing speaks for it: neither labels nor resources nor devices. Or labels
// speak that the driver did not write.
func noDriver(f *facts) {
	if len(f.Devices) > 0 || f.changing() {
		return
	}
	for _, v := range vendorsPCI {
		there := f.label("feature.node.kubernetes.io/pci-"+v.id+".present") == "true" ||
			f.label("feature.node.kubernetes.io/pci-0302_"+v.id+".present") == "true"
		if there && len(f.Resources) == 0 && f.Model == "" && !promised(f, v.pattern) {
			f.say("no_driver", "Vendor", v.vendor)
		}
	}
	if f.label("nvidia.com/gpu.product") != "" && f.label("nvidia.com/cuda.driver-version.full") == "" &&
		f.label("nvidia.com/cuda.driver.major") == "" &&
		f.label("nvidia.com/cuda.driver-version.major") == "" {
		f.say("driver_unknown")
	}
}

// driverUpgrade: states of the GPU operator's upgrade controller that do not pass by themselves, or keep pods away
// meanwhile.
func driverUpgrade(f *facts) {
	switch state := f.label("nvidia.com/gpu-driver-upgrade-state"); state {
	case "", "upgrade-done":
	case "upgrade-failed":
		f.say("upgrade_failed")
	default:
		f.say("upgrading", "State", clip(state))
	}
}

// noLabels: resources without the labels that sizes select on; GPU feature discovery is away.
func noLabels(f *facts) {
	if f.label("nvidia.com/gpu.product") != "" || otherSystem(f.Node) || f.changing() {
		return
	}
	for _, r := range f.Resources {
		if r.Present() > 0 && (strings.HasPrefix(r.Name, "nvidia.com/gpu") || strings.HasPrefix(r.Name, "nvidia.com/mig-")) {
			f.say("no_labels", "Resource", clip(r.Name))
			return
		}
	}
}

// tooMuch: more than one node can sensibly have is cut off, and that is said.
func tooMuch(f *facts) {
	if f.found.more > 0 {
		f.say("too_many_devices", "Shown", strconv.Itoa(len(f.Devices)), "More", f.found.more)
	}
}
