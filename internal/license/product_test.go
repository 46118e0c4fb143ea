package license

import "testing"

func TestSeatsThatASizeTakes(t *testing.T) {
	for sentence, c := range map[string]struct {
		product Product
		device  DeviceKind
		devices int
		want    int
	}{
		"several vGPUs in one machine, by the user":    {VWS, TimeSlicedVGPU, 3, 1},
		"several vGPUs in one machine, each by itself": {VCS, TimeSlicedVGPU, 3, 3},
		"a vGPU that MIG backs is one":                 {VCS, MIGBackedVGPU, 1, 1},
		"vGPU for Compute leases each vGPU":            {NVAIE, TimeSlicedVGPU, 2, 2},
		"passthrough cards under NVAIE":                {NVAIE, WholeCard, 4, 4},
		"a part of a card under NVAIE":                 {NVAIE, PartOfCard, 1, 1},
		"passthrough with workstation features":        {VWS, WholeCard, 2, 1},
		"a pool of the site's own":                     {"", TimeSlicedVGPU, 3, 1},
		"a size that names a pool takes a seat":        {VCS, WholeCard, 2, 1},
		"no devices at all":                            {VCS, TimeSlicedVGPU, 0, 1},
	} {
		if got := (Pool{Product: c.product}).Takes(c.device, c.devices); got != c.want {
			t.Errorf("%s: want %d seats, got %d", sentence, c.want, got)
		}
	}
}

func TestEveryProductHasARuleForEveryDevice(t *testing.T) {
	for _, p := range Products() {
		for _, d := range []DeviceKind{TimeSlicedVGPU, MIGBackedVGPU, WholeCard, PartOfCard} {
			if r := RuleOf(p, d); r.Unit == PerWorkload || r.Source == "" {
				t.Errorf("%s with %s has no rule with a source", p, d)
			}
		}
	}
}

func TestProductOfAFeature(t *testing.T) {
	for feature, want := range map[string]Product{
		"NVIDIA RTX Virtual Workstation": VWS, "NVIDIA Virtual Compute Server": VCS, "NVIDIA-Virtual-Compute-Server,9.0": VCS,
		"NVIDIA AI Enterprise": NVAIE,
		"NVIDIA Virtual PC":    VPC, "NVIDIA Virtual Applications": VApps, "vWS": VWS, "NVIDIA Cloud Gaming": "", "": "",
		"Evcso": "",
	} {
		if got := ProductOf(feature); got != want {
			t.Errorf("%q: want %q, got %q", feature, want, got)
		}
	}
}
