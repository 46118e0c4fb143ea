package license

import (
	"strings"
	"testing"
)

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
		for _, d := range DeviceKinds() {
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

func TestRulesOfASite(t *testing.T) {
	p := Pool{Product: NVAIE, Rules: []Rule{{Device: MIGBackedVGPU, Unit: PerGPU, UpTo: 16, Source: "contract 17"},
		{Device: WholeCard, Unit: PerWorkload, Source: "contract 17"}}}
	for sentence, c := range map[string]struct {
		device        DeviceKind
		devices, want int
	}{
		"sixteen on one license":         {MIGBackedVGPU, 16, 1},
		"one more":                       {MIGBackedVGPU, 17, 2},
		"none":                           {MIGBackedVGPU, 0, 1},
		"a workload, however many cards": {WholeCard, 8, 1},
		"what the site does not change":  {TimeSlicedVGPU, 3, 3},
	} {
		if got := p.Takes(c.device, c.devices); got != c.want {
			t.Errorf("%s: want %d, got %d", sentence, c.want, got)
		}
	}
	if r := p.Rule(MIGBackedVGPU); r.Source != "contract 17" {
		t.Errorf("the rule in force names its source, got %+v", r)
	}
}

func TestRulesOfASiteAreChecked(t *testing.T) {
	good := Rule{Device: MIGBackedVGPU, Unit: PerGPU, UpTo: 16, Source: "contract"}
	if errs := CheckRules([]Rule{good, {Device: WholeCard, Unit: PerUser, Source: "contract"}}); len(errs) > 0 {
		t.Error(errs)
	}
	for want, r := range map[string]Rule{
		"rules[1].device: ": {Device: "card8", Unit: PerGPU, Source: "contract"},
		"rules[1].unit: ":   {Device: WholeCard, Source: "contract"},
		"rules[1].upTo: ":   {Device: WholeCard, Unit: PerUser, UpTo: 2, Source: "contract"},
		"rules[1].source: ": {Device: WholeCard, Unit: PerGPU, Source: " "},
		"already":           good,
	} {
		errs := CheckRules([]Rule{good, r})
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("want one error with %q, got %v", want, errs)
		}
	}
}

func TestSeriesThatAPoolLicenses(t *testing.T) {
	for _, c := range []struct {
		pool Pool
		fits string // of ABCQ
	}{
		{Pool{Product: VApps}, "A"}, {Pool{Product: VPC}, "B"}, {Pool{Product: VWS}, "BQ"}, {Pool{Product: VCS}, "C"},
		{Pool{Product: NVAIE}, "C"}, {Pool{Feature: "NVIDIA RTX Virtual Workstation"}, "BQ"},
		{Pool{Feature: "our own"}, "ABCQ"}, {Pool{Product: VWS, Series: []Series{SeriesC, SeriesQ}}, "CQ"},
	} {
		for _, s := range AllSeries() {
			if got := c.pool.Fits(s); got != strings.Contains(c.fits, string(s)) {
				t.Errorf("%+v and series %s: got %v", c.pool, s, got)
			}
		}
		if !c.pool.Fits("") {
			t.Errorf("%+v refuses what is no vGPU", c.pool)
		}
	}
}
