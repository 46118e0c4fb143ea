package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// runtimeInput is an endpoint on a ServingRuntime of the cluster.
func runtimeInput(m *catalog.Model, mounts ...workload.Mount) Input {
	in := kserveInput()
	i := in.Workload.Image
	i.Reference, i.Home, i.HealthPath, i.Args = "", "", "", []string{"--model_dir={model}"}
	r := *i.Runtime
	r.ServingRuntime, r.ModelFormat = "kserve-huggingfaceserver", "huggingface"
	r.ReadyPath, r.LivePath = "", ""
	i.Runtime = &r
	in.Workload.Image, in.Workload.Model, in.Workload.Mounts = i, m, mounts
	return in
}

var teamVolume = workload.Mount{Claim: "vision.models", GiB: 500,
	TeamShare: workload.TeamShare{Name: "models", Class: "nfs", Access: "ReadOnlyMany", ReadOnly: true}}

// What KServe gets is written as KServe reads it; what it cannot get safely the portal mounts itself.
func TestModelsAsKServeWritesThem(t *testing.T) {
	image := "registry.example.org/models/qwen@sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		model *catalog.Model
		uri   string
	}{
		"none":    {nil, ""},
		"the hub": {&catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen3-8B"}, "hf://Qwen/Qwen3-8B"},
		"a revision": {&catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen3-8B", Revision: "v1"},
			"hf://Qwen/Qwen3-8B:v1"},
		"a bucket": {&catalog.Model{Source: catalog.FromS3, Name: "s3://models/qwen"}, "s3://models/qwen"},
		"a team's volume": {&catalog.Model{Source: catalog.FromStorage, Name: "/shared/models/a/b"},
			"pvc://vision.models/a/b"},
		"an image": {&catalog.Model{Source: catalog.FromOCI, Name: image}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec, _ := predictorOf(t, runtimeInput(c.model, teamVolume))
			model := spec["model"].(map[string]any)
			if name, named := model["name"]; named { // validatePredictor of KServe v0.20 refuses it
				t.Errorf("the container has the name %q", name)
			}
			if got, _ := model["storageUri"].(string); got != c.uri {
				t.Errorf("want %q, got %q", c.uri, got)
			}
			mounted := map[string]bool{}
			for _, m := range model["volumeMounts"].([]any) {
				mounted[m.(map[string]any)["mountPath"].(string)] = true
			}
			if want := c.model != nil && c.model.Source == catalog.FromOCI; mounted[catalog.ModelDir] != want {
				t.Errorf("mounted by the portal: %v", mounted)
			}
			if want := c.model == nil || c.model.Source != catalog.FromStorage; mounted["/shared/models"] != want {
				t.Errorf("the claim is in the pod a second time, or not at all: %v", mounted)
			}
		})
	}
}

func TestModelsThatKServeCannotGet(t *testing.T) {
	model := &catalog.Model{Source: catalog.FromStorage, Name: "/shared/models/a"}
	if _, err := Objects(runtimeInput(model)); err == nil {
		t.Error("a model on a volume that is not there is taken")
	}
	dataset := teamVolume
	dataset.Dataset, dataset.SubPath = "faces", "faces"
	if _, err := Objects(runtimeInput(model, teamVolume, dataset)); err == nil {
		t.Error("one claim twice in a pod is taken")
	}
}

// Another model or another runtime is another pod.
func TestServingRuntimeChangesThePrint(t *testing.T) {
	print := func(in Input) string {
		spec, _ := predictorOf(t, in)
		text, _, _ := unstructured.NestedString(spec, "annotations", TemplateKey)
		return text
	}
	hub := &catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen3-8B"}
	before := print(runtimeInput(hub))
	other := runtimeInput(hub)
	other.Workload.Image.Runtime.ServingRuntime = "another"
	if before == "" || print(other) == before ||
		print(runtimeInput(&catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen3-4B"})) == before {
		t.Error("it keeps its print")
	}
	if print(runtimeInput(hub)) != before {
		t.Error("the same has another print")
	}
}

// A ServingRuntime's container conforms to "restricted" whatever the runtime says of it.
func TestServingRuntimeIsRestricted(t *testing.T) {
	spec, _ := predictorOf(t, runtimeInput(&catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen3-8B"}))
	for _, field := range []string{"privileged", "allowPrivilegeEscalation"} {
		value, said, _ := unstructured.NestedBool(spec, "model", "securityContext", field)
		if value || !said {
			t.Errorf("%s is left to the runtime", field)
		}
	}
	if yes, _, _ := unstructured.NestedBool(spec, "model", "securityContext", "runAsNonRoot"); !yes {
		t.Error("the runtime may run as root")
	}
}

// TestInferenceServicesAreValid against KServe's definition, which is not part of this repository.
func TestInferenceServicesAreValid(t *testing.T) {
	schema := definition(t, "serving.kserve.io_inferenceservices.yaml")
	hub := &catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen3-8B", Revision: "v1"}
	onVolume := &catalog.Model{Source: catalog.FromStorage, Name: "/shared/models/a"}
	for name, in := range map[string]Input{"a container": kserveInput(), "a runtime": runtimeInput(hub),
		"a volume": runtimeInput(onVolume, teamVolume)} {
		objects, err := Objects(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			made, ok := o.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			if err := validate.AgainstSchema(schema, made.Object, strfmt.Default); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			dropped(t, schema.Properties["spec"], made.Object["spec"], name+": spec")
			unstructured.RemoveNestedField(made.Object, "spec", "predictor", "model", "modelFormat", "name")
			if name != "a container" && validate.AgainstSchema(schema, made.Object, strfmt.Default) == nil {
				t.Errorf("%s: the definition allows anything", name)
			}
		}
	}
}
