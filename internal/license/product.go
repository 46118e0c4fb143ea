package license

import (
	"fmt"
	"slices"
	"strings"
)

// Product is a licensed product, such as NVIDIA RTX vWS or AI Enterprise; it decides how seats are counted.
type Product string

// The products that have a rule. Any other name is counted like "": one seat a workload.
const (
	VCS   Product = "vcs"   // Virtual Compute Server, until vGPU 15
	VWS   Product = "vws"   // RTX Virtual Workstation
	VPC   Product = "vpc"   // Virtual PC
	VApps Product = "vapps" // Virtual Applications
	NVAIE Product = "nvaie" // NVIDIA AI Enterprise, which holds vGPU for Compute since vGPU 16
)

// Unit is what takes one seat, a machine, a vGPU, a GPU, a user or a workload, by the product's license terms.
type Unit string

// The units.
const (
	PerWorkload Unit = "workload" // no rule is known: one for each workload
	PerMachine  Unit = "machine"  // one for each running virtual machine, which has one user, however many vGPUs it has
	PerVGPU     Unit = "vgpu"     // one for each vGPU given to a virtual machine
	PerGPU      Unit = "gpu"      // one for each physical GPU
	PerUser     Unit = "user"     // one for each concurrent user, however many workloads of theirs run
)

// Units are those that a rule of a site's own may have.
func Units() []Unit { return []Unit{PerWorkload, PerMachine, PerVGPU, PerGPU, PerUser} }

// Rule says how seats of a product are counted for one kind of device, and who says so.
type Rule struct {
	Product Product    `json:"-"`
	Device  DeviceKind `json:"device"`         // vgpu, mig-vgpu, vgpu-share, card or part
	Unit    Unit       `json:"unit"`           // one seat for each workload, machine, vgpu, gpu or user; "": no seat
	UpTo    int        `json:"upTo,omitempty"` // devices of one workload that one seat covers; default 1
	Source  string     `json:"source"`         // who says so: a document, or the contract
}

// DeviceKind is how a workload comes to its GPU, as far as licenses care.
type DeviceKind string

// The kinds.
const (
	TimeSlicedVGPU DeviceKind = "vgpu"
	MIGBackedVGPU  DeviceKind = "mig-vgpu"
	WholeCard      DeviceKind = "card" // bare metal or passed through to a virtual machine
	PartOfCard     DeviceKind = "part" // MIG, time-slicing or MPS without vGPU
	// A time slice of a vGPU: the device plugin of the virtual machine shares it by time-slicing. The license belongs to
	// the vGPU, so that all slices of one take one seat together.
	SharedVGPU DeviceKind = "vgpu-share"
)

// DeviceKinds lists every kind in the order of tables.
func DeviceKinds() []DeviceKind {
	return []DeviceKind{TimeSlicedVGPU, MIGBackedVGPU, SharedVGPU, WholeCard, PartOfCard}
}

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
var rules = slices.Concat(
	each(VApps, guidePPL, TimeSlicedVGPU, PerMachine, MIGBackedVGPU, PerMachine, SharedVGPU, PerMachine,
		PartOfCard, Unit("")),
	each(VApps, guideVCL, WholeCard, PerMachine),
	each(VPC, guidePPL, TimeSlicedVGPU, PerMachine, MIGBackedVGPU, PerMachine, SharedVGPU, PerMachine, WholeCard, Unit(""),
		PartOfCard, Unit("")),
	each(VWS, guidePPL, TimeSlicedVGPU, PerMachine, MIGBackedVGPU, PerMachine, SharedVGPU, PerMachine,
		PartOfCard, Unit("")),
	each(VWS, guideVCL, WholeCard, PerMachine),
	each(VCS, observed, TimeSlicedVGPU, PerVGPU),
	each(VCS, guideNVAIE, MIGBackedVGPU, PerVGPU, SharedVGPU, PerVGPU),
	each(VCS, guidePPL, WholeCard, Unit(""), PartOfCard, Unit("")),
	// The software leases one license a C-series vGPU; the contract counts physical GPUs. Parts of one card need one
	// license together, and before a workload is placed nobody knows which card it will share: each reserves one, which is
	// never too few.
	each(NVAIE, guideNVAIE, TimeSlicedVGPU, PerVGPU, MIGBackedVGPU, PerVGPU, SharedVGPU, PerVGPU),
	each(NVAIE, guideEntr, WholeCard, PerGPU, PartOfCard, PerGPU),
)

// each makes the rules of one product and source; pairs are kinds of device and their units.
func each(p Product, source string, pairs ...any) []Rule {
	var list []Rule
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, Rule{Product: p, Device: pairs[i].(DeviceKind), Unit: pairs[i+1].(Unit), Source: source})
	}
	return list
}

// Rules lists how seats are counted, for people to read.
func Rules() []Rule { return slices.Clone(rules) }

// Products lists the products of which the rules of counting are known.
func Products() []Product { return []Product{NVAIE, VCS, VWS, VPC, VApps} }

// RuleOf is the rule of a product for a kind of device.
func RuleOf(p Product, d DeviceKind) Rule {
	for i := range rules { // asked for each checkout, and a rule is much to pass on
		if rules[i].Product == p && rules[i].Device == d {
			return rules[i]
		}
	}
	return Rule{Product: p, Device: d, Unit: PerWorkload}
}

// Rule is how the pool counts a kind of device: its own rule, or else that of its product.
func (p Pool) Rule(d DeviceKind) Rule {
	if i := slices.IndexFunc(p.Rules, func(r Rule) bool { return r.Device == d }); i >= 0 {
		return p.Rules[i]
	}
	return RuleOf(p.Product, d)
}

// OwnRule reports whether the site counts a kind of device by a rule of its own.
func (p Pool) OwnRule(d DeviceKind) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Device == d })
}

// Takes is how many seats of the pool a workload with that many devices takes by itself. A pool's own word that a size
// needs it stands above the rule: a size that names the pool takes at least one.
func (p Pool) Takes(d DeviceKind, devices int) int {
	switch r := p.Rule(d); r.Unit {
	case PerVGPU, PerGPU:
		covers := max(1, r.UpTo)
		return max(1, (devices+covers-1)/covers)
	default:
		return 1
	}
}

// CheckRules says what is wrong with a site's own rules, one error a problem.
func CheckRules(list []Rule) []error {
	var all []error
	for i, r := range list {
		at := fmt.Sprintf("rules[%d]", i)
		switch {
		case !slices.Contains(DeviceKinds(), r.Device):
			all = append(all, fmt.Errorf("%s.device: %q is none of %v", at, r.Device, DeviceKinds()))
		case slices.ContainsFunc(list[:i], func(o Rule) bool { return o.Device == r.Device }):
			all = append(all, fmt.Errorf("%s.device: there is a rule for %s already", at, r.Device))
		}
		if !slices.Contains(Units(), r.Unit) {
			all = append(all, fmt.Errorf("%s.unit: %q is none of %v", at, r.Unit, Units()))
		}
		if r.UpTo != 0 && (r.UpTo < 1 || r.UpTo > 1024 || r.Unit != PerVGPU && r.Unit != PerGPU) {
			all = append(all, fmt.Errorf("%s.upTo: want 1 to 1024, with the unit vgpu or gpu", at))
		}
		if strings.TrimSpace(r.Source) == "" {
			all = append(all, fmt.Errorf("%s.source: say where this is written: a document, or the contract", at))
		}
	}
	return all
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
