package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// groupInput is an endpoint over three nodes.
func groupInput() Input {
	in := input("h100", "vllm")
	in.Workload.Name, in.Workload.Image = "llm", onBackend(in.Workload.Image, catalog.OnLeaderWorkerSet)
	r := in.Workload.Image.Runtime
	r.MaxNodes, r.WorkerCommand, r.WorkerArgs = 4, []string{"ray"}, []string{"start", "--address={leaderAddress}:6379"}
	in.Workload.Model = r.Default
	in.Workload.Replicas = workload.Replicas{Range: workload.Range{Min: 3, Max: 3}, Wanted: 3}
	return in
}

// groupOf is the LeaderWorkerSet of an input with its two templates, and the Service and the policy beside it.
func groupOf(t *testing.T, in Input) (set *unstructured.Unstructured, of groupTemplate, service *corev1.Service,
	policy *networkingv1.NetworkPolicy) {
	t.Helper()
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			service = o
		case *networkingv1.NetworkPolicy:
			policy = o
		case *unstructured.Unstructured:
			m, _, _ := unstructured.NestedMap(o.Object, "spec", "leaderWorkerTemplate")
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &of); err != nil {
				t.Fatal(err)
			}
			set = o
		}
	}
	if set == nil || service == nil || policy == nil {
		t.Fatal("something is missing")
	}
	return set, of, service, policy
}

// The first pod answers, and nothing leads to the others; all of them reach each other.
func TestGroupAnswersAtItsFirst(t *testing.T) {
	in := groupInput()
	set, of, service, policy := groupOf(t, in)
	if set.GetName() == service.Name || set.GetName() != in.Workload.PodsName() {
		t.Errorf("the group is called %s beside a Service %s", set.GetName(), service.Name)
	}
	leader, worker := of.LeaderTemplate, of.WorkerTemplate
	if service.Spec.Selector[WorkerIndexLabel] != LeaderIndex || leader.Labels[ExposedKey] == "" ||
		worker.Labels[ExposedKey] != "" || of.Size != 3 {
		t.Errorf("the Service leads to %v; of %d pods the labels are %v and %v", service.Spec.Selector, of.Size,
			leader.Labels, worker.Labels)
	}
	for key, value := range policy.Spec.PodSelector.MatchLabels {
		if leader.Labels[key] != value || worker.Labels[key] != value {
			t.Errorf("the policy is for pods with %s=%s", key, value)
		}
	}
	c := worker.Spec.Containers[0]
	if len(c.Ports) > 0 || c.ReadinessProbe != nil || c.StartupProbe != nil || c.LivenessProbe != nil ||
		c.Lifecycle != nil {
		t.Errorf("a worker answers: %+v", c)
	}
	if c.Command[0] != "ray" || !strings.Contains(strings.Join(c.Args, " "), "$(LWS_LEADER_ADDRESS):6379") {
		t.Errorf("a worker runs %v %v", c.Command, c.Args)
	}
	c.Command, c.Args, c.Env = nil, nil, nil
	first := leader.Spec.Containers[0]
	first.Command, first.Args, first.Env, first.Ports, first.Lifecycle = nil, nil, nil, nil, nil
	first.ReadinessProbe, first.StartupProbe, first.LivenessProbe = nil, nil, nil
	leader.Spec.Containers, worker.Spec.Containers = []corev1.Container{first}, []corev1.Container{c}
	if diff := cmp.Diff(leader.Spec, worker.Spec); diff != "" {
		t.Errorf("beside that the pods differ: %s", diff)
	}
}

// Stopping leaves no group, and what lies beside it stays.
func TestGroupStops(t *testing.T) {
	in := groupInput()
	_, before, _, _ := groupOf(t, in)
	in.Workload.Desired, in.Workload.Generation = workload.WantStopped, 2
	set, after, _, _ := groupOf(t, in)
	if n, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas"); n != 0 {
		t.Errorf("stopped with %d groups", n)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("stopping changes the pods: %s", diff)
	}
}

// Kueue reads its label on the LeaderWorkerSet.
func TestGroupInAQueue(t *testing.T) {
	in := groupInput()
	in.Workload.Size.Placement.PodLabels = map[string]string{queueLabel: "vision", "team": "x"}
	set, of, _, _ := groupOf(t, in)
	for _, labels := range []map[string]string{of.LeaderTemplate.Labels, of.WorkerTemplate.Labels} {
		if set.GetLabels()[queueLabel] != "vision" || labels[queueLabel] != "" || labels["team"] != "x" {
			t.Errorf("labels %v and %v", set.GetLabels(), labels)
		}
	}
}

func TestGroupIsNotAskedForWhatItCannot(t *testing.T) {
	long := groupInput()
	long.Workload.Name = "a" + strings.Repeat("b", maxGroupName)
	if _, err := Objects(long); err == nil {
		t.Error("a name too long for its pods is taken")
	}
	twice := groupInput()
	twice.Workload.Revisions.Rollout = &workload.Rollout{From: 1, To: 2}
	if _, err := Objects(twice); err == nil {
		t.Error("two versions beside each other are taken")
	}
}

func TestGroupNames(t *testing.T) { allNamed(t, groupInput()) }
