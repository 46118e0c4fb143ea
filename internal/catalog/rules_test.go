package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// problemsOf parses a catalog and gives its problems as lines.
func problemsOf(text string, pools ...license.Pool) []string {
	_, problems := Parse([]byte(text), pools...)
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Error()
	}
	return lines
}

func TestTechnologiesYAMLIsFreeOfProblems(t *testing.T) {
	var rules []TechnologyRule
	k := checker{reader: newReader()}
	k.read(technologiesYAML, &rules)
	k.technologies("", rules, nil)
	for _, p := range k.problems {
		t.Error(p)
	}
	for _, r := range rules {
		if r.Source == "" {
			t.Errorf("%s: no source", r.Name)
		}
	}
	if len(rules) < 10 || len(Rules()) != len(rules) {
		t.Errorf("want the rules of the file, got %d of %d", len(Rules()), len(rules))
	}
}

// A technology that nobody who wrote the portal has heard of: a resource, an annotation, a scheduler.
const invented = `technologies:
- name: slicer-3000
  title: Slicer 3000
  isolation: [memory]
  resources: [slicer.example/card, slicer.example/mem-*]
  needs: [slicer.example/mem-gib, slicer.example/mode]
  scheduler: slicer
  single: true
  source: https://slicer.example/docs
sizes:
- name: sliced
  title: Sliced
  technology: slicer-3000
  isolation: memory
  accelerator: {model: H100, resource: slicer.example/card, extra: {slicer.example/mem-gib: "8"}, memoryGiB: 8, share: 0.1}
  placement: {schedulerName: slicer, podAnnotations: {slicer.example/mode: fast}}
`

func inventedCatalog() string {
	_, rest, _ := strings.Cut(valid, "  cpu: 4")
	return invented + "  cpu: 4" + rest
}

func TestASiteAddsATechnologyWithoutAProgram(t *testing.T) {
	c, problems := Parse([]byte(inventedCatalog()))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if rule, found := c.Rule("slicer-3000"); !found || rule.Scheduler != "slicer" || !rule.Single {
		t.Errorf("the catalog does not know its own technology: %+v", rule)
	}
	if diff := cmp.Diff([]string{"slicer.example/card", "slicer.example/mem-gib"}, c.Resources()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatATechnologyAsksForIsChecked(t *testing.T) {
	cases := map[string]struct{ old, new, want string }{
		"foreign resource": {"resource: slicer.example/card", "resource: nvidia.com/gpu",
			"line 15: sizes[0].accelerator.resource: the resource of slicer-3000 is one of"},
		"resource with a slip": {"{slicer.example/mem-gib: \"8\"}", "{slicer.example/men-gib: \"8\"}",
			"sizes[0].accelerator.extra.slicer.example/men-gib: slicer-3000 does not know"},
		"needs": {"podAnnotations: {slicer.example/mode: fast}", "runtimeClass: x",
			"line 13: sizes[0].technology: slicer-3000: each size must set slicer.example/mode"},
		"other scheduler": {"schedulerName: slicer", "schedulerName: other",
			"line 16: sizes[0].placement.schedulerName: slicer-3000 is handed out by the scheduler slicer"},
		"no scheduler": {"{schedulerName: slicer, ", "{", "line 16: sizes[0].placement.schedulerName"},
		"better isolation": {"isolation: memory\n", "isolation: hard\n",
			`line 14: sizes[0].isolation: slicer-3000 does not give the isolation "hard"`},
		"two of one": {"share: 0.1}", "share: 0.1, count: 2}", "line 15: sizes[0].accelerator.count"},
		"name of ours": {"- name: slicer-3000", "- name: mig",
			`line 2: technologies[0].name: there is a technology "mig" already`},
		"name that is brought": {"- name: slicer-3000", "- name: hami",
			`line 2: technologies[0].name: there is a technology "hami" already`},
		"name that is none": {"- name: slicer-3000", "- name: Slicer 3000", "line 2: technologies[0].name"},
		"no title":          {"  title: Slicer 3000\n", "", "line 2: technologies[0].title"},
		"unknown isolation": {"isolation: [memory]", "isolation: [perfect]",
			"line 4: technologies[0].isolation[0]"},
		"no isolation": {"  isolation: [memory]\n", "", "line 2: technologies[0].isolation"},
		"pattern that is none": {"slicer.example/mem-*]", "'slicer.example/[']",
			"line 5: technologies[0].resources[1]"},
		"resource of Kubernetes": {"slicer.example/mem-*]", "kubernetes.io/gpu]",
			"line 5: technologies[0].resources[1]"},
		"need that is no name": {"needs: [slicer.example/mem-gib,", "needs: ['a b',",
			"line 6: technologies[0].needs[0]"},
		"scheduler that is no name": {"scheduler: slicer\n", "scheduler: The Slicer\n",
			"line 7: technologies[0].scheduler"},
		"text for true or false": {"single: true", `single: "true"`,
			"line 8: technologies[0].single: true or false is wanted"},
		"unknown technology of sizes": {"technology: slicer-3000", "technology: slicer-4000",
			`line 13: sizes[0].technology: "slicer-4000" is none of amd-partition`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := inventedCatalog()
			if !strings.Contains(text, c.old) {
				t.Fatalf("the case replaces %q, which is not there", c.old)
			}
			if all := strings.Join(problemsOf(strings.Replace(text, c.old, c.new, 1)), "\n"); !strings.Contains(all, c.want) {
				t.Errorf("want a problem with %q, got:\n%s", c.want, all)
			}
		})
	}
}

func TestTechnologiesHaveTheirNames(t *testing.T) {
	c, _ := Parse([]byte(inventedCatalog()))
	want := map[Technology]string{"slicer-3000": "Slicer 3000", "hami": "HAMi", "vcuda": "Tencent vCUDA", MIG: "MIG",
		Passthrough: "Durchgereichte GPU", "gone": "gone"}
	got := map[Technology]string{}
	say := i18n.MustLoad().For("de")
	for technology := range want {
		got[technology] = say.Say(c.TechnologyWord(technology))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := say.Say(TechnologyWord("hami")); got != "HAMi" {
		t.Errorf("without a catalog: got %q", got)
	}
}

// What each technology that is brought asks for, right, and without one part of it.
func TestBroughtTechnologies(t *testing.T) {
	cases := map[string]struct {
		size string // from technology to placement
		lack string // what is taken out
		want string
	}{
		"HAMi": {`
  technology: hami
  isolation: memory
  accelerator: {vendor: nvidia, model: H200, resource: nvidia.com/gpu, extra: {nvidia.com/gpumem: "8192", nvidia.com/gpucores: "25"}, memoryGiB: 8, share: 0.06}
`, `nvidia.com/gpumem: "8192", `, "hami: each size must set nvidia.com/gpumem or nvidia.com/gpumem-percentage"},
		"Volcano": {`
  technology: volcano-vgpu
  isolation: memory
  accelerator: {vendor: nvidia, model: V100, resource: volcano.sh/vgpu-number, extra: {volcano.sh/vgpu-memory: "8192"}, memoryGiB: 8, share: 0.25}
  placement: {schedulerName: volcano}
`, "schedulerName: volcano", "is handed out by the scheduler volcano"},
		"KAI": {`
  technology: kai
  isolation: none
  accelerator: {vendor: nvidia, model: L40S, memoryGiB: 11, share: 0.25}
  placement: {schedulerName: kai-scheduler, podLabels: {kai.scheduler/queue: team}, podAnnotations: {gpu-fraction: "0.25"}}
`, `gpu-fraction: "0.25"`, "kai: each size must set gpu-fraction or gpu-memory"},
		"KAI that claims memory": {`
  technology: kai
  isolation: none
  accelerator: {vendor: nvidia, model: L40S, memoryGiB: 11, share: 0.25}
  placement: {schedulerName: kai-scheduler, podLabels: {kai.scheduler/queue: team}, podAnnotations: {gpu-memory: "8192"}}
`, "isolation: none", `is none of hard, memory, none, unknown`},
		"AMD": {`
  technology: amd-partition
  isolation: hard
  accelerator: {vendor: amd, model: MI300X, resource: amd.com/cpx_nps4, memoryGiB: 24, share: 0.125}
`, "_nps4", "the resource of amd-partition is one of"},
		"Tencent": {`
  technology: vcuda
  isolation: memory
  accelerator: {model: T4, resource: tencent.com/vcuda-core, count: 25, extra: {tencent.com/vcuda-memory: "32"}, memoryGiB: 8, share: 0.25}
`, "-core", "the resource of vcuda is one of"},
	}
	before, rest, _ := strings.Cut(valid, "  technology: mig")
	_, rest, _ = strings.Cut(rest, "  cpu: 4")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text := strings.TrimSuffix(before, "\n") + c.size + "  cpu: 4" + rest
			if problems := problemsOf(text); len(problems) > 0 {
				t.Fatal(problems)
			}
			if all := strings.Join(problemsOf(strings.Replace(text, c.lack, "", 1)), "\n"); !strings.Contains(all, c.want) {
				t.Errorf("without %q: want a problem with %q, got:\n%s", c.lack, c.want, all)
			}
		})
	}
}

func TestSelectorsFollowTheConditions(t *testing.T) {
	p := Placement{NodeSelector: map[string]string{"a": "1"},
		NodeMatch: []NodeMatch{{Key: "b", Operator: "In", Values: []string{"x", "y"}},
			{Key: "a", Operator: "In", Values: []string{"1"}}, {Key: "c", Operator: "Exists"}}}
	want := []map[string]string{{"a": "1", "b": "x"}, {"a": "1", "b": "y"}}
	if diff := cmp.Diff(want, p.selectors()); diff != "" {
		t.Error(diff)
	}
	if !slices.EqualFunc((Placement{}).selectors(), []map[string]string{nil},
		func(a, b map[string]string) bool { return len(a) == len(b) }) {
		t.Error("no condition is one empty selector")
	}
}
