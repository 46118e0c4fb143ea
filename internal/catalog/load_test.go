package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/license"
)

func TestDefaultIsFreeOfProblems(t *testing.T) {
	_, problems := Parse(defaultYAML, DefaultPools()...)
	for _, p := range problems {
		t.Error(p)
	}
}

// Each size of the first set against the labels of each kind of node that advertises the same resource: it may choose
// only its own.
func TestDefaultSizesChooseOneKindOfNode(t *testing.T) {
	gfd := func(product string, more ...string) map[string]string {
		labels := map[string]string{"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": product,
			"nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/vgpu.present": "false"}
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		return labels
	}
	nodes := map[string]map[string]string{
		"whole H100": gfd("NVIDIA-H100-80GB-HBM3", "nvidia.com/mig.config", "all-disabled"),
		"mixed H100": gfd("NVIDIA-H100-80GB-HBM3", "nvidia.com/mig.config", "all-balanced", "nvidia.com/mig.strategy",
			"mixed"),
		"single H100": gfd("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "nvidia.com/mig.config", "all-1g.10gb",
			"nvidia.com/mig.strategy", "single"),
		"shared H100": gfd("NVIDIA-H100-80GB-HBM3-SHARED", "nvidia.com/mig.config", "all-disabled",
			"nvidia.com/gpu.sharing-strategy", "time-slicing"),
		"mixed A100": gfd("NVIDIA-A100-SXM4-40GB", "nvidia.com/mig.config", "all-balanced", "nvidia.com/mig.strategy",
			"mixed"),
		"time-sliced L40S": gfd("NVIDIA-L40S", "nvidia.com/gpu.sharing-strategy", "time-slicing"),
		"MPS L40S":         gfd("NVIDIA-L40S", "nvidia.com/gpu.sharing-strategy", "mps"),
		"vGPU A40":         gfd("NVIDIA-A40-12Q", "nvidia.com/vgpu.present", "true"),
		"vGPU H100":        gfd("NVIDIA-H100XM-1-10C", "nvidia.com/vgpu.present", "true"),
		"HAMi":             {"gpu": "on", "nvidia.com/gpu.present": "true"},
	}
	want := map[string][]string{
		"mig-1g.10gb": {"mixed H100", "shared H100", "whole H100"}, // the resource tells these apart
		"mig-3g.40gb": {"mixed H100", "whole H100"},
		"gpu-shared":  {"time-sliced L40S"},
		"vgpu-12q":    {"vGPU A40"},
		"h100":        {"whole H100"},
	}
	want["mig-1g.10gb"] = want["mig-3g.40gb"]
	for _, s := range Default().Sizes {
		if s.Accelerator.Resource == "" {
			continue
		}
		got := []string{}
		for name, labels := range nodes {
			if matches(s.Placement.NodeSelector, labels) {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(sorted(want[s.Name]), sorted(got)); diff != "" {
			t.Errorf("size %s chooses other nodes (-want +got):\n%s", s.Name, diff)
		}
	}
}

func matches(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}

func sorted(names []string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return set
}

func TestDefaultIsWhatItSays(t *testing.T) {
	c := Default()
	var sizes, images []string
	for _, s := range c.Sizes {
		sizes = append(sizes, s.Name)
	}
	for _, i := range c.Images {
		images = append(images, i.Name)
	}
	if diff := cmp.Diff([]string{"cpu", "mig-1g.10gb", "mig-3g.40gb", "gpu-shared", "vgpu-12q", "h100"},
		sizes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"jupyterlab", "pytorch", "jupyter-notebook", "vllm", "nim-llama", "triton", "llama-cpp",
		"model-demo", "pytorch-job",
		"ngc-pytorch", "ngc-nemo"}, images); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb",
		"nvidia.com/mig-3g.40gb"}, c.Resources()); diff != "" {
		t.Error(diff)
	}
}

// A valid catalog of one size and one image; a case replaces a line of it.
const valid = `sizes:
- name: slice
  title: A slice
  technology: mig
  isolation: hard
  accelerator: {vendor: nvidia, model: H100, profile: 1g.10gb, resource: nvidia.com/mig-1g.10gb, memoryGiB: 10, share: 0.14}
  cpu: 4
  memory: 16Gi
  pricePerHour: {minor: 10, currency: EUR}
  defaultLease: 8h
  maxLease: 7d
images:
- name: lab
  title: Lab
  kind: notebook
  reference: quay.io/jupyter/base-notebook:x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  tokenEnv: JUPYTER_TOKEN
  auth: token
  port: 8888
  healthPath: /api
`

func TestValidCatalogParses(t *testing.T) {
	c, problems := Parse([]byte(valid))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if c.Sizes[0].CPU != "4" || c.Sizes[0].MaxLease.String() != "7d" {
		t.Errorf("read %+v", c.Sizes[0])
	}
}

func TestProblemsHaveLineAndPath(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	cases := map[string]struct{ old, new, want string }{
		"unknown name": {"  cpu: 4", "  cpus: 4", "line 7: sizes[0].cpus: unknown name"},
		"doubled name": {"  cpu: 4", "  cpu: 4\n  cpu: 5",
			"line 8: sizes[0].cpu: the name stands here twice"},
		"null":          {"  cpu: 4", "  cpu:", "line 7: sizes[0].cpu: the value is missing"},
		"list for text": {"  cpu: 4", "  cpu: [4]", "line 7: sizes[0].cpu: a single value"},
		"boolean for text": {"  title: A slice", "  title: true",
			`line 3: sizes[0].title: text is wanted: write "true" in quotes`},
		"quantity below zero":  {"  cpu: 4", `  cpu: "-4"`, "line 7: sizes[0].cpu: \"-4\" is not a quantity"},
		"quantity with a slip": {"16Gi", "16Gib", "line 8: sizes[0].memory"},
		"shared memory beyond memory": {"  memory: 16Gi", "  memory: 16Gi\n  sharedMemory: 17Gi",
			"line 9: sizes[0].sharedMemory"},
		"price below zero": {"minor: 10", "minor: -1", "line 9: sizes[0].pricePerHour.minor"},
		"price with decimals": {"minor: 10", "minor: 1.5",
			"line 9: sizes[0].pricePerHour.minor: a whole number"},
		"unknown currency":                 {"EUR", "EURO", "line 9: sizes[0].pricePerHour.currency"},
		"currency in small letters":        {"EUR", "eur", "line 9: sizes[0].pricePerHour.currency"},
		"default lease beyond the longest": {"8h", "8d", "line 10: sizes[0].defaultLease: 8d is longer"},
		"unreadable lease":                 {"8h", "eight hours", "line 10: sizes[0].defaultLease: a length of time"},
		"no lease":                         {"  maxLease: 7d\n", "", "line 2: sizes[0].maxLease"},
		"upper case name":                  {"name: slice", "name: Slice", "line 2: sizes[0].name"},
		"name with a line feed":            {"name: slice", `name: "a\nb"`, "line 2: sizes[0].name"},
		"unknown technology":               {"technology: mig", "technology: magic", "line 4: sizes[0].technology"},
		"isolation it does not give":       {"isolation: hard", "isolation: memory", "line 5: sizes[0].isolation"},
		"unknown isolation":                {"isolation: hard", "isolation: perfect", "line 5: sizes[0].isolation"},
		"profile spelled otherwise": {"resource: nvidia.com/mig-1g.10gb", "resource: nvidia.com/mig-1g.20gb",
			"profile 1g.10gb is the resource nvidia.com/mig-1g.10gb"},
		"plus in the resource": {"profile: 1g.10gb, resource: nvidia.com/mig-1g.10gb",
			"profile: 1g.10gb+me, resource: nvidia.com/mig-1g.10gb+me", "is the resource nvidia.com/mig-1g.10gb.me"},
		"two slices":       {"share: 0.14", "share: 0.14, count: 2", "line 6: sizes[0].accelerator.count"},
		"count zero":       {"share: 0.14", "share: 0.14, count: 0", "line 6: sizes[0].accelerator.count"},
		"count below zero": {"share: 0.14", "share: 0.14, count: -1", "line 6: sizes[0].accelerator.count"},
		"half a device": {"share: 0.14", "share: 0.14, count: 0.5",
			"line 6: sizes[0].accelerator.count: a whole number"},
		"share above one":         {"share: 0.14", "share: 1.4", "line 6: sizes[0].accelerator.share"},
		"share that is no number": {"share: 0.14", "share: .nan", "line 6: sizes[0].accelerator.share"},
		"a shared slice called mig": {"nvidia.com/mig-1g.10gb,", "nvidia.com/mig-1g.10gb.shared,",
			"a slice that is shared again"},
		"strategy single without selector": {"resource: nvidia.com/mig-1g.10gb", "resource: nvidia.com/gpu",
			"ending in -MIG-1g.10gb"},
		"foreign vendor": {"vendor: nvidia", "vendor: amd", "sizes[0].accelerator.vendor"},
		"unknown license pool": {"  cpu: 4", "  cpu: 4\n  licensePool: other",
			`line 8: sizes[0].licensePool: there is no license pool "other"; known are: vws`},
		"toleration of everything": {"  cpu: 4", "  cpu: 4\n  placement: {tolerations: [{operator: Exists}]}",
			"line 8: sizes[0].placement.tolerations[0].key"},
		"annotation of ours": {"  cpu: 4",
			"  cpu: 4\n  placement: {podAnnotations: {gpu-portal.github.io/workload: w-1}}",
			"line 8: sizes[0].placement.podAnnotations"},
		"selector that is a boolean": {"  cpu: 4", "  cpu: 4\n  placement: {nodeSelector: {nvidia.com/vgpu.present: true}}",
			`write "true" in quotes`},
		"image by tag":               {digest, "", "line 16: images[0].reference"},
		"image with a short digest":  {digest, "@sha256:0123", "line 16: images[0].reference"},
		"image with user":            {"quay.io/", "user:pass@quay.io/", "line 16: images[0].reference"},
		"image without registry":     {"quay.io/jupyter/", "jupyter/", "line 16: images[0].reference"},
		"image that climbs":          {"quay.io/jupyter/", "quay.io/../", "line 16: images[0].reference"},
		"image with a blank":         {"quay.io/jupyter/", `quay.io/jup yter/`, "line 16: images[0].reference"},
		"image with foreign letters": {"quay.io/jupyter/", "quay.io/jupytеr/", "line 16: images[0].reference"},
		"NVIDIA variable": {"  port: 8888", "  port: 8888\n  env: {NVIDIA_VISIBLE_DEVICES: all}",
			"line 20: images[0].env.NVIDIA_VISIBLE_DEVICES"},
		"loader variable": {"  port: 8888", "  port: 8888\n  env: {ld_preload: /x.so}",
			"line 20: images[0].env.ld_preload"},
		"secret in a loader variable": {"JUPYTER_TOKEN", "LD_AUDIT", "line 17: images[0].tokenEnv"},
		"secret set twice": {"  port: 8888", "  port: 8888\n  env: {JUPYTER_TOKEN: x}",
			"line 20: images[0].env.JUPYTER_TOKEN"},
		"auth without secret": {"  tokenEnv: JUPYTER_TOKEN\n", "", "line 17: images[0].auth"},
		"port zero":           {"port: 8888", "port: 0", "line 19: images[0].port"},
		"port too high":       {"port: 8888", "port: 65536", "line 19: images[0].port"},
		"port beyond 32 bits": {"port: 8888", "port: 4294967297", "line 19: images[0].port: a whole number"},
		"health elsewhere":    {"healthPath: /api", "healthPath: //evil.example/api", "line 20: images[0].healthPath"},
		"health with scheme":  {"healthPath: /api", "healthPath: http://evil.example/", "line 20: images[0].healthPath"},
		"open path with backslash": {"  port: 8888", "  port: 8888\n  openPath: '/\\evil.example'",
			"line 20: images[0].openPath"},
		"no port of ssh":      {"  port: 8888", "  port: 8888\n  ssh: {user: jovyan}", "line 20: images[0].ssh.port"},
		"ssh where pages are": {"  port: 8888", "  port: 8888\n  ssh: {port: 8888, user: a}", "line 20: images[0].ssh.port"},
		"ssh with no user":    {"  port: 8888", "  port: 8888\n  ssh: {port: 2222}", "line 20: images[0].ssh.user"},
		"ssh of an option": {"  port: 8888", "  port: 8888\n  ssh: {port: 2222, user: -oX}",
			"line 20: images[0].ssh.user"},
		"ssh of several lines": {"  port: 8888", "  port: 8888\n  ssh: {port: 2222, user: \"a\\nb\"}", "images[0].ssh.user"},
		"ssh of an endpoint": {"kind: notebook", "kind: endpoint\n  ssh: {port: 2222, user: jovyan}",
			"images[0].ssh: only a notebook"},
		"a port of two names": {"  port: 8888", "  port: 8888\n  ports: {a: 6006, b: 6006}",
			"line 20: images[0].ports.b: 6006 is another port"},
		"a port of the pages":         {"  port: 8888", "  port: 8888\n  ports: {a: 8888}", "line 20: images[0].ports.a"},
		"a port called http":          {"  port: 8888", "  port: 8888\n  ports: {http: 80}", "line 20: images[0].ports.http"},
		"a port called as nothing is": {"  port: 8888", "  port: 8888\n  ports: {Board_1: 80}", "images[0].ports.Board_1"},
		"a port beyond the last":      {"  port: 8888", "  port: 8888\n  ports: {a: 65536}", "line 20: images[0].ports.a"},
		"ports of an endpoint": {"kind: notebook", "kind: endpoint\n  ports: {a: 6006}",
			"images[0].ports: only a notebook"},
		"pages on no port":   {"  port: 8888", "  ports: {a: 6006}", "images[0].port: healthPath, openPath and auth"},
		"home of the system": {"  port: 8888", "  port: 8888\n  home: /etc/jupyter", "line 20: images[0].home"},
		"home that climbs":   {"  port: 8888", "  port: 8888\n  home: /home/../etc", "line 20: images[0].home"},
		"root":               {"  port: 8888", "  port: 8888\n  runAsUser: 0", "line 20: images[0].runAsUser"},
		"second document":    {"images:\n", "---\nimages:\n", "here begins a second"},
		"not YAML":           {"sizes:", "sizes: [", "not readable as YAML"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(valid, c.old) {
				t.Fatalf("the case replaces %q, which is not there", c.old)
			}
			_, problems := Parse([]byte(strings.Replace(valid, c.old, c.new, 1)), license.Pool{Name: "vws"})
			lines := make([]string, len(problems))
			for i, p := range problems {
				lines[i] = p.Error()
			}
			if all := strings.Join(lines, "\n"); !strings.Contains(all, c.want) {
				t.Errorf("want a problem with %q, got:\n%s", c.want, all)
			}
		})
	}
}

// TestANotebookMayHaveNoPages: ports by name, or an SSH server, are enough.
func TestANotebookMayHaveNoPages(t *testing.T) {
	const pages = "  tokenEnv: JUPYTER_TOKEN\n  auth: token\n  port: 8888\n  healthPath: /api\n"
	for _, other := range []string{"  ports: {dask: 8786, grpc: 8001}\n", "  ssh: {port: 2222, user: jovyan}\n"} {
		if _, problems := Parse([]byte(strings.Replace(valid, pages, other, 1))); len(problems) > 0 {
			t.Errorf("%s: %v", other, problems)
		}
	}
	if _, problems := Parse([]byte(strings.Replace(valid, pages, "", 1))); len(problems) == 0 {
		t.Error("want an image at which nothing answers refused")
	}
	var many strings.Builder
	for i := range mostPorts + 1 {
		fmt.Fprintf(&many, "p%d: %d, ", i, 6000+i)
	}
	_, problems := Parse([]byte(strings.Replace(valid, pages, "  ports: {"+many.String()+"}\n", 1)))
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "images[0].ports: these are 17") {
		t.Errorf("want too many ports refused, got %v", problems)
	}
}

// TestWhereATunnelLeads: a name or a number of what the image has, and nowhere else.
func TestWhereATunnelLeads(t *testing.T) {
	i := Image{Port: 8888, SSH: &SSH{Port: 2222, User: "jovyan"}, Ports: map[string]int32{"tensorboard": 6006, "a": 80}}
	for port, want := range map[string]int32{"": 2222, "ssh": 2222, "2222": 2222, "tensorboard": 6006, "6006": 6006,
		"80": 80, "8888": 0, "http": 0, "0": 0, "-1": 0, "Tensorboard": 0, "06006": 0} {
		if got, known := i.Tunneled(port); got != want || known != (want != 0) {
			t.Errorf("%q: want %d, got %d %v", port, want, got, known)
		}
	}
	if got := i.PortNames(); !slices.Equal(got, []string{"a", "ssh", "tensorboard"}) {
		t.Errorf("got %v", got)
	}
	if got := i.ForJob().PortNames(); len(got) != 0 {
		t.Errorf("want none of a job, got %v", got)
	}
	if _, known := (Image{Port: 8888}).Tunneled(""); known {
		t.Error("want no SSH server where there is none")
	}
}

func TestEveryProblemIsListed(t *testing.T) {
	text := strings.NewReplacer("cpu: 4", "cpu: x", "8h", "x", "EUR", "X", "port: 8888", "port: 0", "kind: notebook",
		"kind: x").Replace(valid)
	_, problems := Parse([]byte(text))
	if len(problems) != 5 {
		t.Errorf("want 5 problems, got %v", problems)
	}
	for i := 1; i < len(problems); i++ {
		if problems[i].Line < problems[i-1].Line {
			t.Errorf("not in the order of the file: %v", problems)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	sizes, images, _ := strings.Cut(valid, "images:\n")
	_, entry, _ := strings.Cut(sizes, "sizes:\n")
	_, problems := Parse([]byte(sizes + strings.Replace(entry, "EUR", "USD", 1) + "images:\n" + images + images))
	want := []Problem{
		{Line: 12, Path: "sizes[1].name", Message: `"slice" is the name of another size`},
		{Line: 19, Path: "sizes[1].pricePerHour.currency", Message: "all prices must be in one currency, this one is " +
			"not in EUR: amounts of different currencies are never added"},
		{Line: 31, Path: "images[1].name", Message: `"lab" is the name of another image`},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
}

// The technology rows of the table, right and wrong.
func TestTechnologyAgreesWithResource(t *testing.T) {
	select1 := func(key, value string) map[string]string { return map[string]string{key: value} }
	cases := map[string]struct {
		technology Technology
		profile    string
		resource   string
		selector   map[string]string
		wrong      bool
	}{
		"whole, product selected": {Full, "", "nvidia.com/gpu", select1(productLabel, "NVIDIA-L40S"), false},
		"whole, nothing selected": {Full, "", "nvidia.com/gpu", nil, true},
		"whole, shared product": {Full, "", "nvidia.com/gpu", select1(productLabel, "NVIDIA-L40S-SHARED"),
			true},
		"whole, slice product": {Full, "", "nvidia.com/gpu", select1(productLabel, "NVIDIA-H100-MIG-1g.10gb"),
			true},
		"whole, vGPU":                  {Full, "", "nvidia.com/gpu", select1(vgpuLabel, "true"), true},
		"whole, of AMD":                {Full, "", "amd.com/gpu", nil, false},
		"whole, slice resource":        {Full, "", "nvidia.com/mig-1g.10gb", select1(productLabel, "x"), true},
		"slice":                        {MIG, "1g.10gb", "nvidia.com/mig-1g.10gb", nil, false},
		"slice with media engines":     {MIG, "1g.10gb+me", "nvidia.com/mig-1g.10gb.me", nil, false},
		"slice without media engines":  {MIG, "1g.24gb-me", "nvidia.com/mig-1g.24gb-me", nil, false},
		"slice with all media engines": {MIG, "1g.24gb+me.all", "nvidia.com/mig-1g.24gb.me.all", nil, false},
		"slice, strategy single": {MIG, "1g.5gb", "nvidia.com/gpu",
			select1(productLabel, "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), false},
		"slice, strategy single, other slice": {MIG, "1g.5gb", "nvidia.com/gpu",
			select1(productLabel, "NVIDIA-A100-SXM4-40GB-MIG-2g.10gb"), true},
		"vGPU":               {VGPU, "L40S-24Q", "nvidia.com/gpu", select1(vgpuLabel, "true"), false},
		"vGPU, not selected": {VGPU, "L40S-24Q", "nvidia.com/gpu", select1(productLabel, "x"), true},
		"time slices, renamed": {TimeSlicing, "", "nvidia.com/gpu.shared",
			select1("nvidia.com/gpu.sharing-strategy", "time-slicing"), false},
		"time slices, by product": {TimeSlicing, "", "nvidia.com/gpu",
			map[string]string{productLabel: "Tesla-T4-SHARED", "nvidia.com/gpu.sharing-strategy": "time-slicing"}, false},
		"time slices of a slice": {TimeSlicing, "3g.20gb", "nvidia.com/mig-3g.20gb.shared",
			select1("nvidia.com/mig-3g.20gb.sharing-strategy", "time-slicing"), false},
		"time slices, strategy not told": {TimeSlicing, "", "nvidia.com/gpu.shared", nil, true},
		"time slices on whole cards": {TimeSlicing, "", "nvidia.com/gpu", select1("nvidia.com/gpu.sharing-strategy",
			"time-slicing"), true},
		"turns on a vGPU": {TimeSlicing, "A40-12Q", "nvidia.com/gpu.shared", map[string]string{vgpuLabel: "true",
			productLabel: "NVIDIA-A40-12Q", "nvidia.com/gpu.sharing-strategy": "time-slicing"}, false},
		"turns on a vGPU, not renamed": {TimeSlicing, "A40-12Q", "nvidia.com/gpu", map[string]string{vgpuLabel: "true",
			productLabel: "NVIDIA-A40-12Q-SHARED", "nvidia.com/gpu.sharing-strategy": "time-slicing"}, false},
		"turns on a vGPU, whose type is not said": {TimeSlicing, "", "nvidia.com/gpu.shared",
			map[string]string{vgpuLabel: "true", "nvidia.com/gpu.sharing-strategy": "time-slicing"}, true},
		"turns on a vGPU, not selected": {TimeSlicing, "A40-12Q", "nvidia.com/gpu.shared",
			select1("nvidia.com/gpu.sharing-strategy", "time-slicing"), true},
		"turns on another vGPU": {TimeSlicing, "A40-12Q", "nvidia.com/gpu.shared", map[string]string{vgpuLabel: "true",
			productLabel: "NVIDIA-A40-24Q", "nvidia.com/gpu.sharing-strategy": "time-slicing"}, true},
		"MPS": {MPS, "", "nvidia.com/gpu.shared", select1("nvidia.com/gpu.sharing-strategy", "mps"), false},
		"MPS on a slice": {MPS, "", "nvidia.com/mig-1g.10gb.shared", select1("nvidia.com/mig-1g.10gb.sharing-strategy",
			"mps"), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := technologies[c.technology].mistake(Accelerator{Profile: c.profile, Resource: c.resource}, c.selector)
			if (got != "") != c.wrong {
				t.Errorf("want wrong=%v, got %q", c.wrong, got)
			}
		})
	}
}

func TestEveryWordHasItsMessage(t *testing.T) {
	for _, lang := range []string{"en", "de"} {
		say := i18n.MustLoad().For(lang)
		var texts []i18n.Text
		for tech := range technologies {
			texts = append(texts, TechnologyWord(tech))
		}
		for _, i := range []Isolation{IsolationHard, IsolationMemory, IsolationNone, IsolationUnknown} {
			texts = append(texts, IsolationWord(i), IsolationText(i))
		}
		for _, kind := range []WorkloadKind{Notebook, Endpoint} {
			texts = append(texts, i18n.T("kind."+string(kind)))
		}
		for _, text := range texts {
			if words := say.Say(text); words == text.ID || words == "" {
				t.Errorf("%s: %s has no words", lang, text.ID)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(valid))
	f.Add(defaultYAML)
	f.Add([]byte("a: &a [*a]\nsizes: *a"))
	f.Add([]byte(claimCatalog()))
	f.Add([]byte(inventedCatalog()))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems := Parse(data)
		if len(problems) == 0 && len(c.Sizes) == 0 {
			t.Error("an empty catalog without a problem")
		}
		for i, p := range problems {
			if p.Line < 1 {
				t.Errorf("no line: %v", p)
			}
			if i > 0 && p.Line < problems[i-1].Line {
				t.Errorf("not in the order of the file: %v after %v", p, problems[i-1])
			}
		}
		if diff := cmp.Diff(problems, second(Parse(data))); diff != "" {
			t.Errorf("read again, the problems are others: %s", diff)
		}
	})
}

func second(_ Catalog, problems []Problem) []Problem { return problems }
