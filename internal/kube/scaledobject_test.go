package kube

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// kedaInput is an endpoint of one to five replicas that KEDA scales, with room for four.
func kedaInput() Input {
	in := input("h100", "vllm")
	r := *in.Workload.Image.Runtime
	r.Autoscaler = catalog.ByKEDA
	in.Workload.Name, in.Workload.Image.Runtime, in.Workload.Model = "llm", &r, r.Default
	in.Workload.Replicas = workload.Replicas{Range: workload.Range{Min: 1, Max: 5}, Wanted: 2, Ceiling: 4,
		Scaling: autoscale.Policy{Metric: autoscale.Concurrency, Target: 8, ScaleDownAfter: catalog.Duration(time.Minute)}}
	in.Site.KEDA.Address = "https://gpu.example.org"
	return in
}

// renderedByKEDA is the number of replicas of the Deployment, and what there is of KEDA's by kind.
func renderedByKEDA(t *testing.T, in Input) (replicas int32, of map[string]Object) {
	t.Helper()
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	of = map[string]Object{}
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			replicas = *o.Spec.Replicas
		case *unstructured.Unstructured:
			of[o.GetKind()] = o
		case *corev1.Secret:
			if o.Name == ScalingName(in.Workload) {
				of["Secret"] = o
			}
		}
	}
	return replicas, of
}

// KEDA's number stays, within what was agreed to and what there is room for; without one it is the portal's.
func TestKEDASetsTheReplicas(t *testing.T) {
	for scaled, want := range map[int]int32{0: 2, 1: 1, 3: 3, 4: 4, 5: 4, 100: 4} {
		in := kedaInput()
		in.Scaled = scaled
		if got, _ := renderedByKEDA(t, in); got != want {
			t.Errorf("KEDA has set %d: want %d replicas, got %d", scaled, want, got)
		}
	}
}

// Zero is the portal's: what sleeps, stops, is scaled by its owner or has one number has no ScaledObject.
func TestKEDAScalesWhatItCan(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*workload.Workload)
		want   int32
		scaled bool
	}{
		"by KEDA":      {func(*workload.Workload) {}, 3, true},
		"asleep":       {func(w *workload.Workload) { w.Replicas.Asleep = true }, 0, false},
		"stopped":      {func(w *workload.Workload) { w.Desired = workload.WantStopped }, 0, false},
		"by its owner": {func(w *workload.Workload) { w.Replicas.Scaling = autoscale.Policy{} }, 2, false},
		"one number":   {func(w *workload.Workload) { w.Replicas.Range = workload.Range{Min: 2, Max: 2} }, 2, false},
		"one or none": {func(w *workload.Workload) {
			w.Replicas.Range, w.Replicas.Wanted = workload.Range{Max: 1}, 1
		}, 1, false},
		"another runtime": {func(w *workload.Workload) {
			r := *w.Image.Runtime
			r.Autoscaler = catalog.ByPortal
			w.Image.Runtime = &r
		}, 2, false},
	} {
		in := kedaInput()
		in.Scaled = 3
		c.change(&in.Workload)
		got, of := renderedByKEDA(t, in)
		wantObjects := map[bool]int{true: 3}[c.scaled]
		if got != c.want || len(of) != wantObjects {
			t.Errorf("%s: want %d replicas and %d objects, got %d and %v", what, c.want, wantObjects, got, of)
		}
	}
}

// Without a way to ask for the load nothing is rendered that could never scale.
func TestKEDANeedsTheLoad(t *testing.T) {
	for what, change := range map[string]func(*Input){
		"no address": func(in *Input) { in.Site.KEDA.Address = "" },
		"no token":   func(in *Input) { in.LoadToken = "" },
	} {
		in := kedaInput()
		change(&in)
		if _, err := Objects(in); err == nil {
			t.Errorf("%s: rendered all the same", what)
		}
	}
}

// A HorizontalPodAutoscaler takes an hour at most.
func TestKEDAWindow(t *testing.T) {
	in := kedaInput()
	in.Workload.Replicas.Scaling.ScaleDownAfter = catalog.Duration(24 * time.Hour)
	_, of := renderedByKEDA(t, in)
	got, found, err := unstructured.NestedInt64(of[ScaledObjectKind].(*unstructured.Unstructured).Object, "spec",
		"advanced", "horizontalPodAutoscalerConfig", "behavior", "scaleDown", "stabilizationWindowSeconds")
	if err != nil || !found || got != 3600 {
		t.Errorf("want 3600, got %d (%v)", got, err)
	}
}

func TestCheckKEDA(t *testing.T) {
	for address, ok := range map[string]bool{"": true, "https://gpu.example.org": true,
		"http://gpu-portal.gpu-portal.svc:8080": true, "gpu.example.org": false, "https://gpu.example.org/here": false,
		"ftp://gpu.example.org": false, "https://me:secret@gpu.example.org": false} {
		if err := (KEDA{Address: address}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// What is rendered fits KEDA's own definitions.
func TestKEDAByItsDefinitions(t *testing.T) {
	_, of := renderedByKEDA(t, kedaInput())
	for kind, c := range map[string]struct{ file, required string }{
		ScaledObjectKind:          {"keda.sh_scaledobjects.yaml", "triggers"},
		TriggerAuthenticationKind: {"keda.sh_triggerauthentications.yaml", "secretTargetRef"}} {
		schema, made := definition(t, c.file), of[kind].(*unstructured.Unstructured)
		if err := validate.AgainstSchema(schema, made.Object, strfmt.Default); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		spec := made.Object["spec"].(map[string]any)
		dropped(t, schema.Properties["spec"], spec, kind+": spec")
		spec[c.required] = "none"
		if validate.AgainstSchema(schema, made.Object, strfmt.Default) == nil {
			t.Errorf("%s: the definition allows anything", kind)
		}
	}
}
