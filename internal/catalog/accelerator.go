package catalog

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// vendors are the makers of cards by the domain of their resources and device classes. Systems that share the cards of
// others are not among them.
var vendors = map[string]string{
	"nvidia.com": "nvidia", "amd.com": "amd", "gpu.intel.com": "intel", "gaudi.intel.com": "intel", "habana.ai": "intel",
	"cambricon.com": "cambricon",
	"hygon.com":     "hygon", "metax-tech.com": "metax", "huawei.com": "huawei", "kunlunxin.com": "kunlunxin",
	"enflame.com": "enflame", "mthreads.com": "mthreads",
	"birentech.com": "biren", "iluvatar.ai": "iluvatar", "vastaitech.com": "vastai", "aws.amazon.com": "aws",
}

// ownerOf is the maker behind a resource ("nvidia.com/gpu") or a device class ("gpu.nvidia.com").
func ownerOf(name string) (vendor string, known bool) {
	domain := domainOf(name)
	for d, vendor := range vendors {
		if domain == d || strings.HasSuffix(domain, "."+d) {
			return vendor, true
		}
	}
	return "", false
}

func (k *checker) vendor(at string, a Accelerator) {
	names := []string{a.Resource}
	for _, r := range a.Claim.alternatives() {
		names = append(names, r.DeviceClass)
	}
	for _, name := range names {
		owner, known := ownerOf(name)
		if known && a.Vendor != "" && a.Vendor != owner && !(a.Vendor == "habana" && domainOf(name) == "habana.ai") {
			k.at(at+".vendor", "%s is of %s, not of %s", name, owner, a.Vendor)
		}
	}
}

// cards are names of devices that one pod gets of one kind only. What else a domain has, such as the network cards of
// nvidia.com, may stand beside them.
var cards = []string{
	"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores",
	"nvidia.com/mig-*", "amd.com/gpu",
	"amd.com/*px_nps*", "gpu.intel.com/*", "habana.ai/*",
}

// extra: a GPU beside a GPU is a mistake, and RDMA is there to reach a GPU's memory from the network.
func (k *checker) extra(at string, s Size, data bool) {
	a := s.Accelerator
	for _, name := range slices.Sorted(maps.Keys(a.Extra)) {
		at := at + ".extra." + name
		switch {
		case !isExtended(name) && !isHugePages(name):
			k.at(at, "%q is not an extended resource such as rdma/hca", name)
		case name == a.Resource:
			k.at(at, "%s is the resource itself; its number is the count", name)
		case !data && matchesAny(cards, name):
			k.at(at, "a size of the technology %s has no second kind of GPU resource beside it", s.Technology)
		case strings.HasPrefix(name, "rdma/") && a.Resource == "" && a.Claim == nil:
			k.at(at, "there is no GPU in the pod that %s could reach: neither a resource nor a claim", name)
		}
		k.whole(at, name, a.Extra[name])
	}
}

// whole: extended resources have no fractions; a memory of 0 would give the whole card, so 0 is a slip.
func (k *checker) whole(at, name, text string) {
	q := k.quantity(at, text, true)
	if n, ok := q.AsInt64(); !q.IsZero() && (!ok || n < 1) {
		k.at(at, "%q of %s is not a whole number", text, name)
	}
}

// isHugePages: Gaudi cards want huge pages beside them, the one resource without a domain.
func isHugePages(name string) bool {
	ok, _ := path.Match("hugepages-[1-9]*[KMG]i", name)
	return ok
}
