package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func defaultImage(t *testing.T, name string) Image {
	t.Helper()
	i, ok := Default().Image(name)
	if !ok {
		t.Fatalf("the first set has no image %s", name)
	}
	return i
}

func TestServing(t *testing.T) {
	card := Size{Technology: Full, Accelerator: Accelerator{Share: 1, Count: 2}}
	vllmEnv := map[string]string{"HF_HOME": "/models/hf", "HOME": "/tmp"}
	slice := Size{Technology: MIG, Accelerator: Accelerator{Share: 0.25, Count: 2}}
	for name, c := range map[string]struct {
		image string
		model *Model
		size  Size
		args  string
		env   map[string]string
	}{
		"everything said, on two cards": {"vllm", &Model{Source: FromHub, Name: "Qwen/Qwen2.5-7B-Instruct",
			Revision: "a09a354", ContextLength: 8192, Quantization: "fp8"}, card,
			"--model=Qwen/Qwen2.5-7B-Instruct --served-model-name=Qwen/Qwen2.5-7B-Instruct --revision=a09a354 --port=8000 " +
				"--gpu-memory-utilization=0.90 --max-model-len=8192 --quantization=fp8 --tensor-parallel-size=2",
			vllmEnv},
		"what was not said is left out, slices do not split": {"vllm", &Model{Source: FromStorage,
			Name: "/shared/models/qwen"}, slice, "--model=/shared/models/qwen --served-model-name=qwen --port=8000 " +
			"--gpu-memory-utilization=0.90 --tensor-parallel-size=1", vllmEnv},
		"what the source needs": {"vllm", &Model{Source: FromS3, Name: "s3://models/qwen"}, slice,
			"--model=s3://models/qwen --served-model-name=qwen --port=8000 --gpu-memory-utilization=0.90 " +
				"--tensor-parallel-size=1 --load-format=runai_streamer", vllmEnv},
		"a mounted image": {"vllm", &Model{Source: FromOCI, Name: "registry.example.org/models/qwen:1@sha256:" +
			strings.Repeat("a", 64)}, slice, "--model=/mnt/models --served-model-name=qwen --port=8000 " +
			"--gpu-memory-utilization=0.90 --tensor-parallel-size=1", vllmEnv},
		"a flag goes with its value": {"llama-cpp", &Model{Source: FromStorage, Name: "/shared/models/a.gguf"}, slice,
			"--host 0.0.0.0 --port 8080 --alias a.gguf --metrics --model /shared/models/a.gguf",
			map[string]string{"HOME": "/models", "LLAMA_CACHE": "/models"}},
		"the image's own model": {"nim-llama", nil, card, "", map[string]string{"HOME": "/tmp",
			"NIM_CACHE_PATH": "/model-store", "NIM_SERVER_PORT": "8000"}},
		"no runtime": {"model-demo", nil, slice, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := defaultImage(t, c.image)
			i := before.Serving(c.model, c.size, 1)
			if diff := cmp.Diff(c.args, strings.Join(i.Args, " ")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.env, i.Env); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(defaultImage(t, c.image), before); diff != "" {
				t.Error("the image itself has changed:", diff)
			}
		})
	}
}

// Names stand in arguments: none may be taken for a flag, be expanded, or be more than one word.
func TestCheckModel(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	r := Runtime{Sources: []Source{{Kind: FromHub, From: []string{"Qwen/", "meta-llama"}}, {Kind: FromStorage},
		{Kind: FromS3, From: []string{"s3://models"}}, {Kind: FromOCI, From: []string{"registry.example.org/models"}}},
		Quantizations: []string{"fp8"}}
	for _, c := range []struct {
		model Model
		wrong string // field
	}{
		{Model{Source: FromHub, Name: "Qwen/Qwen2.5-7B-Instruct", Revision: "refs/pr/3", ContextLength: 1,
			Quantization: "fp8"}, ""},
		{Model{Source: FromHub, Name: "meta-llama/Llama-3.1-8B"}, ""},
		{Model{Source: FromHub, Name: "QwenEvil/x"}, "name"},
		{Model{Source: FromHub, Name: "Qwen/--trust-remote-code"}, "name"},
		{Model{Source: FromHub, Name: "--model/x"}, "name"},
		{Model{Source: FromHub, Name: "Qwen/$(VLLM_API_KEY)"}, "name"},
		{Model{Source: FromHub, Name: "Qwen/a b"}, "name"},
		{Model{Source: FromHub, Name: "Qwen/a\n--x"}, "name"},
		{Model{Source: FromHub, Name: "Qwen/a\n"}, "name"},
		{Model{Source: FromHub, Name: "Qwen/{revision}"}, "name"},
		{Model{Source: FromHub, Name: "Qwen/../x"}, "name"},
		{Model{Source: FromHub}, "name"},
		{Model{Source: "ftp", Name: "Qwen/a"}, "source"},
		{Model{Source: FromStorage, Name: "/shared/models/qwen"}, ""},
		{Model{Source: FromStorage, Name: "/home/own/qwen"}, ""},
		{Model{Source: FromStorage, Name: "/home/ownother/qwen"}, "name"},
		{Model{Source: FromStorage, Name: "/shared/models"}, "name"},
		{Model{Source: FromStorage, Name: "/shared/models/../../etc/passwd"}, "name"},
		{Model{Source: FromStorage, Name: "/etc/passwd"}, "name"},
		{Model{Source: FromStorage, Name: "/shared/models/-x"}, "name"},
		{Model{Source: FromStorage, Name: "/shared/models/qwen", Revision: "main"}, "revision"},
		{Model{Source: FromS3, Name: "s3://models/qwen"}, ""},
		{Model{Source: FromS3, Name: "s3://models-of-others/qwen"}, "name"},
		{Model{Source: FromS3, Name: "s3://models"}, "name"},
		{Model{Source: FromS3, Name: "https://models/qwen"}, "name"},
		{Model{Source: FromOCI, Name: "registry.example.org/models/qwen:1" + digest}, ""},
		{Model{Source: FromOCI, Name: "registry.example.org/models/qwen:1"}, "name"},
		{Model{Source: FromOCI, Name: "registry.example.org/other/qwen:1" + digest}, "name"},
		{Model{Source: FromHub, Name: "Qwen/a", Revision: "--x"}, "revision"},
		{Model{Source: FromHub, Name: "Qwen/a", Revision: "a..b"}, "revision"},
		{Model{Source: FromHub, Name: "Qwen/a", ContextLength: -1}, "contextLength"},
		{Model{Source: FromHub, Name: "Qwen/a", ContextLength: MaxContext + 1}, "contextLength"},
		{Model{Source: FromHub, Name: "Qwen/a", Quantization: "awq"}, "quantization"},
	} {
		var fields []string
		for _, p := range r.CheckModel(c.model, "/home/own") {
			fields = append(fields, p.Field)
		}
		if got := strings.Join(fields, ","); got != c.wrong {
			t.Errorf("%+v: want %q, got %q", c.model, c.wrong, got)
		}
	}
}

func TestRuntimesAreChecked(t *testing.T) {
	text := string(defaultYAML)
	for name, c := range map[string]struct{ old, new, path string }{
		"an unknown engine":     {"engine: vllm", "engine: vlm", "images[3].runtime.engine"},
		"an unknown backend":    {"engine: vllm", "engine: vllm\n    backend: knative", "images[3].runtime.backend"},
		"an unknown autoscaler": {"engine: vllm", "engine: vllm\n    autoscaler: hpa", "images[3].runtime.autoscaler"},
		"KEDA beside KServe": {"engine: vllm", "engine: vllm\n    backend: kserve\n    autoscaler: keda",
			"images[3].runtime.autoscaler"},
		"a backend of no job":         {"kind: notebook", "kind: notebook\n  backend: jobset", "images[0].backend"},
		"an unknown backend of a job": {"kind: job", "kind: job\n  backend: volcano", "images[8].backend"},
		"a variable of KServe's own": {"{env: NGC_API_KEY, secret: ngc-api-key, key: NGC_API_KEY}]",
			"{env: STORAGE_URI, secret: ngc-api-key, key: NGC_API_KEY}]\n    backend: kserve",
			"images[4].runtime.secrets[0].env"},
		"an unknown placeholder": {"--revision={revision}", "--revision={commit}", "images[3].args[2]"},
		"a placeholder in the environment": {"NIM_MODEL_PATH: \"hf://{model}\"", "NIM_MODEL_PATH: \"hf://{modl}\"",
			"images[4].env.NIM_MODEL_PATH"},
		"a secret in an argument": {"--gpu-memory-utilization=0.90", "\"--api-key=$(VLLM_API_KEY)\"", "images[3].args[4]"},
		"an unknown source":       {"- kind: storage", "- kind: disk", "images[3].runtime.sources[1].kind"},
		"a source twice":          {"- kind: storage", "- {kind: hub, args: [--twice]}", "images[3].runtime.sources[1].kind"},
		"no source":               {"sources: [{kind: storage}, {kind: s3", "sources: [] # [{kind: s3", ""},
		"a model that goes nowhere": {"\"--model={model}\"", "--quiet",
			"images[3].runtime.sources[0]"},
		"a default of no source": {"default: {source: hub, name: Qwen/Qwen2.5-1.5B-Instruct", "default: {source: s4, name: x",
			"images[3].runtime.default.source"},
		"a default that is none": {"name: Qwen/Qwen2.5-1.5B-Instruct", "name: qwen", "images[3].runtime.default.name"},
		"a reserved variable":    {"env: HF_TOKEN", "env: LD_PRELOAD", "images[3].runtime.sources[0].secrets[0].env"},
		"no name of a Secret": {"secret: hub-token", "secret: Hub_Token",
			"images[3].runtime.sources[0].secrets[0].secret"},
		"no metric":      {"vllm:num_requests_waiting", "vllm num", "images[3].runtime.metrics.queue"},
		"no path":        {"readyPath: /v1/health/ready", "readyPath: ready", "images[4].runtime.readyPath"},
		"a quantization": {"[awq, gptq", "[--x, gptq", "images[3].runtime.quantizations[0]"},
		"a notebook": {"  kind: endpoint\n  reference: docker.io/vllm", "  kind: notebook\n  reference: docker.io/vllm",
			"images[3].runtime"},
		"no port": {"  port: 9000\n", "", "images[5].port"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(text, c.old, c.new, 1)
			if changed == text {
				t.Fatalf("%q is not in the first set", c.old)
			}
			_, problems := Parse([]byte(changed), DefaultPools()...)
			paths := map[string]bool{}
			for _, p := range problems {
				paths[p.Path] = true
			}
			if len(problems) == 0 || c.path != "" && !paths[c.path] {
				t.Errorf("want a problem with %s, got %v", c.path, slices.Sorted(maps.Keys(paths)))
			}
		})
	}
}

// A job runs in any image, and has nothing to do with what its server would serve.
func TestAJobServesNoModel(t *testing.T) {
	i := defaultImage(t, "nim-llama").ForJob()
	if want := map[string]string{"HOME": "/tmp", "NIM_CACHE_PATH": "/model-store", "NIM_SERVER_PORT": "8000"}; i.Runtime !=
		nil || cmp.Diff(want, i.Env) != "" {
		t.Errorf("got %+v", i)
	}
}

// oneSize begins a catalog.
const oneSize = `sizes:
- name: cpu
  title: CPU
  technology: cpu
  isolation: none
  cpu: "1"
  memory: 1Gi
  pricePerHour: {minor: 1, currency: EUR}
  defaultLease: 8h
  maxLease: 7d
`

// onServingRuntime is an image whose container is that of a ServingRuntime of the cluster.
const onServingRuntime = oneSize + `images:
- name: hf
  title: Hugging Face
  kind: endpoint
  args: ["--model_name={servedName}"]
  port: 8080
  runtime:
    engine: other
    backend: kserve
    servingRuntime: kserve-huggingfaceserver
    modelFormat: huggingface
    sources: [{kind: hub, secrets: [{env: HF_TOKEN, secret: hub-token, key: HF_TOKEN}]}]
`

func TestServingRuntimesAreChecked(t *testing.T) {
	if _, problems := Parse([]byte(onServingRuntime)); len(problems) > 0 {
		t.Fatalf("an image without reference and health path of its own: %v", problems)
	}
	for name, c := range map[string]struct{ old, new, path string }{
		"without KServe":    {"    backend: kserve\n", "", "images[0].runtime.servingRuntime"},
		"no name":           {"kserve-huggingfaceserver", "Hugging_Face", "images[0].runtime.servingRuntime"},
		"no format":         {"    modelFormat: huggingface\n", "", "images[0].runtime.modelFormat"},
		"a format alone":    {"    servingRuntime: kserve-huggingfaceserver\n", "", "images[0].runtime.modelFormat"},
		"a command":         {"  port: 8080\n", "  port: 8080\n  command: [serve]\n", "images[0].command"},
		"storage":           {"  port: 8080\n", "  port: 8080\n  home: /models\n", "images[0].home"},
		"no port":           {"  port: 8080\n", "", "images[0].port"},
		"half a probe":      {"    engine: other\n", "    engine: other\n    readyPath: /ready\n", "images[0].healthPath"},
		"an open reference": {"  port: 8080\n", "  port: 8080\n  reference: vllm:latest\n", "images[0].reference"},
		"KServe's template": {"{servedName}", "{{.Name}}", "images[0].args[0]"},
		"another key":       {"key: HF_TOKEN", "key: token", "images[0].runtime.sources[0].secrets[0]"},
		"two Secrets": {"key: HF_TOKEN}", "key: HF_TOKEN}, {env: A, secret: b, key: A}",
			"images[0].runtime.sources[0].secrets[1]"},
		"a revision that hf:// cannot say": {"    engine: other\n",
			"    engine: other\n    default: {source: hub, name: a/b, revision: refs/pr/1}\n",
			"images[0].runtime.default.revision"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(onServingRuntime, c.old, c.new, 1)
			if changed == onServingRuntime {
				t.Fatalf("%q is not in the image", c.old)
			}
			_, problems := Parse([]byte(changed))
			if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Path == c.path }) {
				t.Errorf("want a problem with %s, got %v", c.path, problems)
			}
		})
	}
}

// The server finds a model where KServe has put it, and a job needs an image.
func TestServingRuntimeServes(t *testing.T) {
	c, _ := Parse([]byte(onServingRuntime))
	i := c.Images[0]
	i.Args = []string{"--model_dir={model}", "--model_name={servedName}"}
	got := i.Serving(&Model{Source: FromHub, Name: "Qwen/Qwen3-8B"}, Size{}, 1).Args
	if want := []string{"--model_dir=/mnt/models", "--model_name=Qwen/Qwen3-8B"}; !slices.Equal(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
	if i.RunsAs(Job) || !i.RunsAs(Endpoint) {
		t.Error("a job in the container of a ServingRuntime")
	}
	if i.Reference = "registry.example.org/hf@sha256:" + strings.Repeat("0", 64); !i.RunsAs(Job) {
		t.Error("no job in an image of its own")
	}
}

// onNodes is an image whose pods serve one model together.
const onNodes = oneSize + `images:
- name: nodes
  title: Several nodes
  kind: endpoint
  reference: registry.example.org/vllm@sha256:0000000000000000000000000000000000000000000000000000000000000000
  command: [serve]
  args: ["{model}", "--nodes={nodes}", "--rank={nodeRank}"]
  env: {WORLD: "{nodes}"}
  port: 8000
  healthPath: /health
  runtime:
    engine: vllm
    backend: leaderworkerset
    maxNodes: 4
    workerCommand: [join]
    workerArgs: ["--address={leaderAddress}:6379", "--rank={nodeRank}"]
    sources: [{kind: hub, args: [--trust], env: {HUB: "yes"}}]
`

func TestGroupsAreChecked(t *testing.T) {
	if _, problems := Parse([]byte(onNodes)); len(problems) > 0 {
		t.Fatalf("an image over several nodes: %v", problems)
	}
	for name, c := range map[string]struct{ old, new, path string }{
		"no bound":             {"    maxNodes: 4\n", "", "images[0].runtime.maxNodes"},
		"a bound out of reach": {"maxNodes: 4", "maxNodes: 65", "images[0].runtime.maxNodes"},
		"a placeholder":        {"{leaderAddress}", "{leader}", "images[0].runtime.workerArgs[0]"},
		"what Kubernetes would expand": {"{leaderAddress}", "$(LWS_LEADER_ADDRESS)",
			"images[0].runtime.workerArgs[0]"},
		"a bound without groups":     {"backend: leaderworkerset", "backend: kserve", "images[0].runtime.maxNodes"},
		"a placeholder without them": {"backend: leaderworkerset", "backend: deployment", "images[0].runtime.backend"},
		"nothing for the others to run": {"    workerCommand: [join]\n" +
			"    workerArgs: [\"--address={leaderAddress}:6379\", \"--rank={nodeRank}\"]\n", "",
			"images[0].runtime.workerArgs"},
	} {
		changed := strings.Replace(onNodes, c.old, c.new, 1)
		if changed == onNodes {
			t.Fatalf("%q is not in the image", c.old)
		}
		_, problems := Parse([]byte(changed))
		if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Path == c.path }) {
			t.Errorf("%s: want a problem with %s, got %v", name, c.path, problems)
		}
	}
}

// The first pod of a group serves, the others do what the runtime says of them, and a job is in no group.
func TestGroupsServe(t *testing.T) {
	c, _ := Parse([]byte(onNodes))
	i, m := c.Images[0], &Model{Source: FromHub, Name: "Qwen/Qwen3-8B"}
	first, other := i.Serving(m, Size{}, 3), i.Working(m, Size{}, 3)
	if want := []string{"Qwen/Qwen3-8B", "--nodes=3", "--rank=$(LWS_WORKER_INDEX)", "--trust"}; !slices.Equal(first.Args,
		want) || first.Command[0] != "serve" {
		t.Errorf("the first runs %v %v", first.Command, first.Args)
	}
	if want := []string{"--address=$(LWS_LEADER_ADDRESS):6379", "--rank=$(LWS_WORKER_INDEX)"}; !slices.Equal(other.Args,
		want) || other.Command[0] != "join" || other.Port != 0 || other.HealthPath != "" {
		t.Errorf("the others run %v %v and answer on %d", other.Command, other.Args, other.Port)
	}
	if want := map[string]string{"WORLD": "3", "HUB": "yes"}; cmp.Diff(want, first.Env)+cmp.Diff(want, other.Env) != "" {
		t.Errorf("they have %v and %v", first.Env, other.Env)
	}
	if job := i.ForJob(); len(job.Env) > 0 {
		t.Errorf("a job has %v", job.Env)
	}
}
