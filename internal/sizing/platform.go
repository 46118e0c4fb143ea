package sizing

import (
	"cmp"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Platform is what the GPU nodes run on.
type Platform string

// The platforms.
const (
	BareMetal Platform = "bare-metal"
	KVM       Platform = "kvm"     // nodes are virtual machines of KVM: OpenShift Virtualization, Proxmox, OpenStack
	VSphere   Platform = "vsphere" // nodes are virtual machines of VMware
	Cloud     Platform = "cloud"   // nodes are instances of a provider
	Edge      Platform = "edge"    // one node, often with one small card
)

// Platforms lists them in the order in which people are asked.
func Platforms() []Platform { return []Platform{BareMetal, KVM, VSphere, Cloud, Edge} }

// Fitness says whether a technology is a choice.
type Fitness string

// The levels.
const (
	Recommended Fitness = "recommended"
	Possible    Fitness = "possible"
	Unsuited    Fitness = "unsuited" // not there on the platform, or wrong for the work
)

// Way is one technology for what was answered, and why.
type Way struct {
	Technology catalog.Technology
	Fitness    Fitness
	Reasons    []i18n.Text // of the platform, and where the work speaks against it, of the work
	Source     string      // of what is said of the platform
}

// Where the table comes from.
const (
	guideMIG     = "NVIDIA MIG User Guide, Supported Configurations (docs.nvidia.com/datacenter/tesla/mig-user-guide)"
	guideVGPU    = "NVIDIA vGPU Software User Guide and Packaging, Pricing and Licensing Guide (docs.nvidia.com/vgpu)"
	guideSharing = "NVIDIA GPU Operator, Time-Slicing GPUs in Kubernetes " +
		"(docs.nvidia.com/datacenter/cloud-native/gpu-operator)"
	readmePlugin = "NVIDIA/k8s-device-plugin v0.20, README: shared access to GPUs with MPS"
	guideVirt    = "NVIDIA GPU Operator with OpenShift Virtualization and KubeVirt " +
		"(docs.nvidia.com/datacenter/cloud-native)"
	guideDRA   = "kubernetes-sigs/dra-driver-nvidia-gpu, README; resource.k8s.io/v1 is there from Kubernetes 1.34 on"
	guideCloud = "GPU machine types and MIG node pools of GKE, EKS and AKS, in the documentation of the providers"
)

// row is what a platform makes of a technology. The sentence is sizing.on.<why>.
type row struct {
	technology catalog.Technology
	fitness    Fitness
	why        string
	source     string
}

// guest is what virtual machines of a hypervisor have in common; how a card gets into one is the hypervisor's.
func guest(passed string) []row {
	return []row{
		{catalog.Passthrough, Recommended, passed, guideVirt},
		{catalog.VGPU, Recommended, "vgpu_host", guideVGPU},
		{catalog.MIG, Possible, "mig_guest", guideMIG},
		{catalog.TimeSlicing, Possible, "shared_guest", guideSharing},
		{catalog.MPS, Possible, "mps_guest", readmePlugin},
		{catalog.DRA, Possible, "dra", guideDRA},
		{catalog.Full, Unsuited, "whole_guest", guideVirt},
	}
}

// platforms is the table, the better choice first.
var platforms = map[Platform][]row{
	BareMetal: {
		{catalog.MIG, Recommended, "mig_metal", guideMIG},
		{catalog.Full, Recommended, "whole_metal", guideSharing},
		{catalog.DRA, Possible, "dra", guideDRA},
		{catalog.MPS, Possible, "mps_metal", readmePlugin},
		{catalog.TimeSlicing, Possible, "shared_metal", guideSharing},
		{catalog.VGPU, Unsuited, "no_hypervisor", guideVGPU},
		{catalog.Passthrough, Unsuited, "no_hypervisor", guideVirt},
	},
	KVM:     guest("passed_kvm"),
	VSphere: guest("passed_vsphere"),
	Cloud: {
		{catalog.Full, Recommended, "whole_cloud", guideCloud},
		{catalog.MIG, Possible, "mig_cloud", guideCloud},
		{catalog.TimeSlicing, Possible, "shared_metal", guideSharing},
		{catalog.MPS, Possible, "mps_metal", readmePlugin},
		{catalog.DRA, Possible, "dra_cloud", guideDRA},
		{catalog.VGPU, Unsuited, "vgpu_cloud", guideVGPU},
		{catalog.Passthrough, Unsuited, "passed_cloud", guideCloud},
	},
	Edge: {
		{catalog.MPS, Recommended, "mps_edge", readmePlugin},
		{catalog.TimeSlicing, Recommended, "shared_edge", guideSharing},
		{catalog.Full, Possible, "whole_edge", guideSharing},
		{catalog.MIG, Possible, "mig_edge", guideMIG},
		{catalog.DRA, Possible, "dra", guideDRA},
		{catalog.VGPU, Unsuited, "vgpu_edge", guideVGPU},
		{catalog.Passthrough, Unsuited, "no_hypervisor", guideVirt},
	},
}

// typical is what a size of a technology is like, for the rules to look at. With claims one gets what one asks for.
func typical(t catalog.Technology) catalog.Size {
	s := catalog.Size{Technology: t, Isolation: catalog.IsolationHard, Accelerator: catalog.Accelerator{Share: 1}}
	switch t {
	case catalog.MIG:
		s.Accelerator.Share = 0.25
	case catalog.VGPU, catalog.MPS:
		s.Accelerator.Share, s.Isolation = 0.25, catalog.IsolationMemory
	case catalog.TimeSlicing:
		s.Accelerator.Share, s.Isolation = 0.25, catalog.IsolationNone
	}
	return s
}

// Choose ranks the technologies on a platform for checked answers: first those that the platform has and the work
// suits, the liking of the work before that of the platform; then those that are no choice, with why. Nil without a
// platform.
func Choose(a Answers) []Way {
	e := EstimateFor(a)
	var ways []Way
	for _, r := range platforms[a.Platform] {
		w := Way{Technology: r.technology, Fitness: r.fitness, Reasons: []i18n.Text{i18n.T("sizing.on." + r.why)},
			Source: r.source}
		if r.fitness != Unsuited {
			for _, id := range refusals(a, e, typical(r.technology)) {
				w.Fitness = Unsuited
				w.Reasons = append(w.Reasons, i18n.T("sizing.not."+id))
			}
		}
		if w.Fitness == Recommended && likes(a.Work, r.technology) > 1 {
			w.Fitness = Possible
		}
		ways = append(ways, w)
	}
	order := []Fitness{Recommended, Possible, Unsuited}
	slices.SortStableFunc(ways, func(x, y Way) int {
		return cmp.Or(cmp.Compare(slices.Index(order, x.Fitness), slices.Index(order, y.Fitness)),
			cmp.Compare(likes(a.Work, x.Technology), likes(a.Work, y.Technology)))
	})
	return ways
}
