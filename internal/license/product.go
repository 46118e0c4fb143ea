package license

import (
	"slices"
	"strings"
)

// Product is what is licensed; it decides how seats are counted.
type Product string

// The products that have a rule. Any other name is counted like "": one seat a workload.
const (
	VCS   Product = "vcs"   // Virtual Compute Server, until vGPU 15
	VWS   Product = "vws"   // RTX Virtual Workstation
	VPC   Product = "vpc"   // Virtual PC
	VApps Product = "vapps" // Virtual Applications
	NVAIE Product = "nvaie" // NVIDIA AI Enterprise, which holds vGPU for Compute since vGPU 16
)

// Unit is what takes one seat.
type Unit string

// The units.
const (
	PerWorkload Unit = "workload" // no rule is known: one for each workload
	PerMachine  Unit = "machine"  // one for each running virtual machine, which has one user, however many vGPUs it has
	PerVGPU     Unit = "vgpu"     // one for each vGPU given to a virtual machine
	PerGPU      Unit = "gpu"      // one for each physical GPU
)

// Rule says how seats of a product are counted for one kind of device, and who says so.
type Rule struct {
	Product Product
	Device  DeviceKind
	Unit    Unit // "" for none at all
	Source  string
}

// DeviceKind is how a workload comes to its GPU, as far as licenses care.
type DeviceKind string

// The kinds.
const (
	TimeSlicedVGPU DeviceKind = "vgpu"
	MIGBackedVGPU  DeviceKind = "mig-vgpu"
	WholeCard      DeviceKind = "card" // bare metal or passed through to a virtual machine
	PartOfCard     DeviceKind = "part" // MIG, time-slicing or MPS without vGPU
)

// Where the rules come from.
const (
	guidePPL = "NVIDIA Virtual GPU Software Packaging, Pricing and Licensing Guide " +
		"(docs.nvidia.com/vgpu/packaging-pricing-licensing-guide)"
	guideNVAIE = "NVIDIA AI Enterprise, vGPU licensing (docs.nvidia.com/ai-enterprise, licensing)"
	guideEntr  = "NVIDIA Enterprise Licensing Guide, as summarised in public on 2026-04-29"
	observed   = "observed: four machines with one T4-4C each leased four licenses " +
		"(github.com/NVIDIA/gpu-operator/issues/267)"
	guideVCL = "Virtual GPU Client Licensing User Guide (vWS on passthrough is enforced by software, vApps by contract)"
)

// rules is the one place where counting is decided. A pair that is missing takes one seat a workload: a site's own
// pool.
var rules = []Rule{
	{VApps, TimeSlicedVGPU, PerMachine, guidePPL}, {VApps, MIGBackedVGPU, PerMachine, guidePPL},
	{VApps, WholeCard, PerMachine, guideVCL}, {VApps, PartOfCard, "", guidePPL},
	{VPC, TimeSlicedVGPU, PerMachine, guidePPL}, {VPC, MIGBackedVGPU, PerMachine, guidePPL},
	{VPC, WholeCard, "", guidePPL}, {VPC, PartOfCard, "", guidePPL},
	{VWS, TimeSlicedVGPU, PerMachine, guidePPL}, {VWS, MIGBackedVGPU, PerMachine, guidePPL},
	{VWS, WholeCard, PerMachine, guideVCL}, {VWS, PartOfCard, "", guidePPL},
	{VCS, TimeSlicedVGPU, PerVGPU, observed}, {VCS, MIGBackedVGPU, PerVGPU, guideNVAIE}, {VCS, WholeCard, "", guidePPL},
	{VCS, PartOfCard, "", guidePPL},
	// The software leases one license a C-series vGPU; the contract counts physical GPUs. Parts of one card need one
	// license together, and before a workload is placed nobody knows which card it will share: each reserves one, which is
	// never too few.
	{NVAIE, TimeSlicedVGPU, PerVGPU, guideNVAIE}, {NVAIE, MIGBackedVGPU, PerVGPU, guideNVAIE},
	{NVAIE, WholeCard, PerGPU, guideEntr}, {NVAIE, PartOfCard, PerGPU, guideEntr},
}

// Rules lists how seats are counted, for people to read.
func Rules() []Rule { return slices.Clone(rules) }

// Products lists what has rules.
func Products() []Product { return []Product{NVAIE, VCS, VWS, VPC, VApps} }

// RuleOf is the rule of a product for a kind of device.
func RuleOf(p Product, d DeviceKind) Rule {
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.Product == p && r.Device == d }); i >= 0 {
		return rules[i]
	}
	return Rule{Product: p, Device: d, Unit: PerWorkload}
}

// Takes is how many seats of the pool a workload with that many devices takes. A pool's own word that a size needs it
// stands above the rule: a size that names the pool takes at least one.
func (p Pool) Takes(d DeviceKind, devices int) int {
	switch RuleOf(p.Product, d).Unit {
	case PerVGPU, PerGPU:
		return max(1, devices)
	default:
		return 1
	}
}

// products are the words by which NVIDIA's servers and drivers call a product, the longer ones first.
var products = []struct {
	words   string
	product Product
}{
	{"nvidia ai enterprise", NVAIE}, {"vgpu for compute", NVAIE}, {"virtual compute server", VCS},
	{"virtual workstation", VWS}, {"rtx vws", VWS}, {"quadro virtual data center workstation", VWS},
	{"virtual pc", VPC}, {"grid virtual pc", VPC}, {"virtual applications", VApps}, {"virtual apps", VApps},
	{"nvaie", NVAIE}, {"vcs", VCS}, {"vws", VWS}, {"vpc", VPC}, {"vapps", VApps},
}

// ProductOf guesses a product from the name of a feature, "" where it is none of NVIDIA's known ones: drivers write
// NVIDIA-Virtual-Compute-Server,9.0 where servers write NVIDIA Virtual Compute Server.
func ProductOf(feature string) Product {
	is := plain(feature)
	for _, p := range products {
		if is == p.words || strings.Contains(is, p.words) && strings.Contains(p.words, " ") {
			return p.product
		}
	}
	return ""
}

// plain makes two spellings of a feature equal: case, dashes and a version behind a comma do not count.
func plain(feature string) string {
	feature, _, _ = strings.Cut(feature, ",")
	return strings.Join(strings.Fields(strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(feature))), " ")
}

// SameFeature reports whether two spellings mean one feature.
func SameFeature(a, b string) bool { return plain(a) != "" && plain(a) == plain(b) }
