package kube

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// jobSetInput is a job of four pods.
func jobSetInput() Input {
	in := input("h100", "pytorch-job")
	in.Workload.Kind, in.Workload.Image = catalog.Job, onBackend(in.Workload.Image.ForJob(), catalog.OnJobSet)
	in.Workload.Job = &workload.Job{Command: []string{"torchrun", "train.py"}, Retries: 2}
	in.Workload.Replicas = workload.Replicas{Range: workload.Range{Min: 4, Max: 4}, Wanted: 4}
	return in
}

// jobSetOf is the JobSet of an input, and the template of its Job.
func jobSetOf(t *testing.T, in Input) (*unstructured.Unstructured, batchv1.JobSpec) {
	t.Helper()
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		var spec struct {
			ReplicatedJobs []struct {
				Template batchv1.JobTemplateSpec `json:"template"`
			} `json:"replicatedJobs"`
		}
		m, _, _ := unstructured.NestedMap(u.Object, "spec")
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &spec); err != nil {
			t.Fatal(err)
		}
		return u, spec.ReplicatedJobs[0].Template.Spec
	}
	t.Fatal("no JobSet")
	return nil, batchv1.JobSpec{}
}

// What can never be changed must not change with what does while the job is there: its lease and its generation.
func TestJobSetKeepsItsPods(t *testing.T) {
	in := jobSetInput()
	_, before := jobSetOf(t, in)
	in.Workload.Generation, in.Workload.LicenseSeats = 7, 3
	in.Workload.Lease.Until = in.Workload.Lease.Until.AddDate(0, 0, 1)
	_, after := jobSetOf(t, in)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("another spec is another pod: %s", diff)
	}
}

// A job that is stopped, that has ended, or whose time is over has no objects: nothing of them can be changed.
func TestJobSetGoes(t *testing.T) {
	for name, change := range map[string]func(*Input){
		"stopped":  func(in *Input) { in.Workload.Desired = workload.WantStopped },
		"finished": func(in *Input) { in.Workload.Desired = workload.Finished },
		"overdue":  func(in *Input) { in.Overdue = true },
	} {
		in := jobSetInput()
		change(&in)
		if objects, err := Objects(in); err != nil || len(objects) > 0 {
			t.Errorf("%s: %d objects, %v", name, len(objects), err)
		}
	}
}

// Kueue reads its label on the JobSet, and suspends it: the portal says nothing of that then.
func TestJobSetInAQueue(t *testing.T) {
	in := jobSetInput()
	set, _ := jobSetOf(t, in)
	if suspend, found, _ := unstructured.NestedBool(set.Object, "spec", "suspend"); !found || suspend {
		t.Errorf("without a queue: suspend %v, said %v", suspend, found)
	}
	in.Workload.Size.Placement.PodLabels = map[string]string{queueLabel: "vision", "team": "x"}
	set, job := jobSetOf(t, in)
	if _, found, _ := unstructured.NestedBool(set.Object, "spec", "suspend"); found ||
		set.GetLabels()[queueLabel] != "vision" || job.Template.Labels[queueLabel] != "" ||
		job.Template.Labels["team"] != "x" {
		t.Errorf("in a queue: said %v, labels %v and %v", found, set.GetLabels(), job.Template.Labels)
	}
}

// A person's own variables go before those by which pods find each other.
func TestJobSetVariables(t *testing.T) {
	in := jobSetInput()
	value := func(name string) (values []corev1.EnvVar) {
		_, job := jobSetOf(t, in)
		for _, e := range job.Template.Spec.Containers[0].Env {
			if e.Name == name {
				values = append(values, e)
			}
		}
		return values
	}
	for name, want := range map[string]string{"MASTER_ADDR": in.Workload.Name + "-node-0-0." + in.Workload.Name,
		"MASTER_PORT": "29500", "WORLD_SIZE": "4", "PET_NNODES": "4", "PET_NPROC_PER_NODE": "1"} {
		if got := value(name); len(got) != 1 || got[0].Value != want {
			t.Errorf("%s is %+v, want %s", name, got, want)
		}
	}
	if got := value("RANK"); len(got) != 1 || got[0].ValueFrom == nil ||
		!strings.Contains(got[0].ValueFrom.FieldRef.FieldPath, batchv1.JobCompletionIndexAnnotation) {
		t.Errorf("the rank is %+v", got)
	}
	in.Workload.Job.Env = map[string]string{"MASTER_PORT": "1234", "RANK": "7"}
	if port, rank := value("MASTER_PORT"), value("RANK"); len(port) != 1 || port[0].Value != "1234" || len(rank) != 1 ||
		rank[0].Value != "7" {
		t.Errorf("their own: %+v and %+v", port, rank)
	}
}

// Pods of one job reach each other, and those of no other.
func TestJobSetPeers(t *testing.T) {
	in := jobSetInput()
	objects, err := Objects(in)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(objects, func(o Object) bool {
		return o.GetObjectKind().GroupVersionKind().Kind == "NetworkPolicy"
	})
	if at < 0 {
		t.Fatal("no policy")
	}
	spec := objects[at].(*networkingv1.NetworkPolicy).Spec
	for _, peers := range [][]networkingv1.NetworkPolicyPeer{spec.Ingress[0].From, spec.Egress[0].To} {
		if len(peers) != 1 || peers[0].NamespaceSelector != nil || peers[0].IPBlock != nil ||
			peers[0].PodSelector.MatchLabels[WorkloadKey] != string(in.Workload.ID) {
			t.Errorf("they reach %+v", peers)
		}
	}
	_, job := jobSetOf(t, in)
	for key, value := range spec.PodSelector.MatchLabels {
		if job.Template.Labels[key] != value {
			t.Errorf("the policy is for pods with %s=%s, which these do not have", key, value)
		}
	}
}

func TestJobSetIsNotAskedForWhatItCannot(t *testing.T) {
	long := jobSetInput()
	long.Workload.Name = "a" + strings.Repeat("b", maxJobSetName)
	if _, err := Objects(long); err == nil {
		t.Error("a name too long for its pods is taken")
	}
	plain := jobSetInput()
	plain.Workload.Image.Backend = ""
	if _, err := Objects(plain); err == nil {
		t.Error("a Job of several pods is taken")
	}
}

func TestJobSetNames(t *testing.T) { allNamed(t, jobSetInput()) }
