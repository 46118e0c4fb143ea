package kube

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// kserveInput is an endpoint whose pods KServe makes.
func kserveInput() Input {
	in := input("h100", "vllm")
	in.Workload.Image = onBackend(in.Workload.Image, catalog.OnKServe)
	in.Workload.Model = in.Workload.Image.Runtime.Default
	return in
}

// predictorOf is the part of the InferenceService that its pods are made from.
func predictorOf(t *testing.T, in Input) (spec map[string]any, notes map[string]string) {
	t.Helper()
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if u, ok := o.(*unstructured.Unstructured); ok {
			spec, _, _ := unstructured.NestedMap(u.Object, "spec", "predictor")
			return spec, u.GetAnnotations()
		}
	}
	t.Fatal("no InferenceService")
	return nil, nil
}

// KServe copies the annotations of an InferenceService into its pods unless the predictor has them as well: what
// changes without the pods must be there, or they would be replaced.
func TestKServeKeepsItsPods(t *testing.T) {
	in := kserveInput()
	before, _ := predictorOf(t, in)
	in.Workload.Generation = 7
	in.Workload.Lease = workload.Lease{From: time.Unix(0, 0), Until: time.Unix(7200, 0)}
	in.Workload.LicenseSeats = 3
	after, notes := predictorOf(t, in)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("another spec is another pod: %s", diff)
	}
	kept, _, _ := unstructured.NestedStringMap(after, "annotations")
	for key := range notes {
		if _, has := kept[key]; !has && strings.HasPrefix(key, LabelPrefix) {
			t.Errorf("%s would be copied into the pods", key)
		}
	}

	in.Workload.Size.CPU = "9"
	again, _ := predictorOf(t, in)
	print := func(spec map[string]any) string {
		text, _, _ := unstructured.NestedString(spec, "annotations", TemplateKey)
		return text
	}
	if print(again) == print(after) || print(after) == "" {
		t.Errorf("another pod has the same print: %q", print(after))
	}
}

// A stopped endpoint keeps its InferenceService, and asks for no pods.
func TestKServeStops(t *testing.T) {
	in := kserveInput()
	in.Workload.Desired = workload.WantStopped
	spec, notes := predictorOf(t, in)
	if spec["minReplicas"] != int64(0) || notes["serving.kserve.io/stop"] != "" {
		t.Errorf("it stops by %v and %v", spec["minReplicas"], notes)
	}
}

func TestKServeIsNotAskedForWhatItCannot(t *testing.T) {
	long := kserveInput()
	long.Workload.Name = "a" + strings.Repeat("b", maxKServeName)
	if _, err := Objects(long); err == nil {
		t.Error("a name too long for its labels is taken")
	}
	canary := kserveInput()
	canary.Workload.Revisions.Rollout = &workload.Rollout{From: 1, To: 2, Canary: &workload.Canary{Percent: 10}}
	if _, err := Objects(canary); err == nil {
		t.Error("a canary is taken")
	}
}

// allNamed insists that the names that are deleted are those that were made.
func allNamed(t *testing.T, in Input) {
	t.Helper()
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, ref := range Names(in.Workload) {
		named[ref.APIVersion+" "+ref.Kind+" "+ref.Name] = true
	}
	for _, o := range objects {
		version, kind := o.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		if !named[version+" "+kind+" "+o.GetName()] {
			t.Errorf("%s %s is made, and not deleted", version, kind)
		}
	}
}

func TestKServeNames(t *testing.T) {
	in := kserveInput()
	allNamed(t, in)
	if MainContainer(in.Workload) != KServeContainer || !Serves(KServeContainer) || !Serves(ContainerName) ||
		Serves("git") {
		t.Error("the container that serves is another one")
	}
}
