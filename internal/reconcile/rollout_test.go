package reconcile_test

import (
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// version is another version of an endpoint, with an image of that name.
func version(w workload.Workload, image string, stopFirst bool) workload.Change {
	u := workload.Update{Image: w.Image, Model: w.Model, StopFirst: stopFirst, ReadyWithin: time.Hour}
	u.Image.Reference = "registry.example.org/" + image + "@sha256:" +
		"5ce01f7b93a84d26e7f8c9013b65da42f81c70d9ae3645b2f09d7c186a3e54bd"
	return workload.Revise(u)
}

// served waits until no version is on its way, and checks at each look that the endpoint has answered all the time.
func (r *real) served(id workload.ID, always bool) workload.Workload {
	r.t.Helper()
	within(r.t, 3*time.Minute, "the version is settled", func() bool {
		w := r.store.Get(id)
		if always && (w.State != workload.Running || w.Observed.ReadyReplicas() == 0) {
			r.t.Fatalf("it does not answer: %s, %+v", w.State, w.Observed)
		}
		return w.Revisions.Rollout == nil && w.Observed.Generation == w.Generation
	})
	return r.store.Get(id)
}

// revisionsOfPods counts the pods that stay, by the version that they run.
func (r *real) revisionsOfPods(id workload.ID) map[int]int {
	r.t.Helper()
	pods, err := r.Client.CoreV1().Pods(r.namespace).List(r.t.Context(),
		metav1.ListOptions{LabelSelector: kube.WorkloadKey + "=" + string(id)})
	if err != nil {
		r.t.Fatal(err)
	}
	counts := map[int]int{}
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed {
			n, _ := strconv.Atoi(p.Labels[kube.RevisionKey])
			counts[max(1, n)]++
		}
	}
	return counts
}

// TestDevstackRollout: a version takes over without a break; one that cannot start takes no traffic, says why, and the
// one of before goes on; an older one comes back; one that stops the other first is never beside it.
func TestDevstackRollout(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	ep := reconciletest.Endpoint(r.notebook("ep-v"))
	r.store.Put(ep)
	first := r.state(ep.ID, workload.Running)

	r.want(ep.ID, version(ep, "second", false))
	w := r.served(ep.ID, true)
	if got := r.revisionsOfPods(ep.ID); w.Revision() != 2 || got[2] != 1 || got[1] != 0 ||
		w.Observed.Pod == first.Observed.Pod || w.Observed.Pods[0].Revision != 2 {
		t.Fatalf("want version 2 alone, got %d with pods %v, %+v", w.Revision(), got, w.Observed)
	}
	within(t, time.Minute, "the strategy of before is back", func() bool {
		d, err := r.Client.AppsV1().Deployments(r.namespace).Get(t.Context(), ep.Name, metav1.GetOptions{})
		return err == nil && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
	})
	within(t, time.Minute, "what was held beside it is given back", func() bool {
		return r.store.Get(ep.ID).Replicas.Hold() == 1
	})

	running := w.Observed.Pod
	r.want(ep.ID, version(ep, "does-not-exist", false))
	w = r.served(ep.ID, true)
	broken, _ := w.RevisionAt(3)
	if w.Revision() != 2 || broken.State != workload.RevisionFailed || broken.Reason.IsZero() ||
		w.Observed.Pod != running {
		t.Fatalf("want version 2 to go on in its pod %s, got %d in %s; version 3: %+v", running, w.Revision(),
			w.Observed.Pod, broken)
	}

	r.want(ep.ID, version(ep, "third", true))
	w = r.served(ep.ID, false)
	r.state(ep.ID, workload.Running)
	if got := r.revisionsOfPods(ep.ID); w.Revision() != 4 || got[4] != 1 || len(got) != 1 {
		t.Fatalf("want version 4 alone, got %d with pods %v", w.Revision(), got)
	}
	for kind, want := range map[audit.Kind]int{audit.RevisionServing: 2, audit.RevisionFailed: 1} {
		n := 0
		for _, k := range r.store.Events(ep.ID) {
			if k == kind {
				n++
			}
		}
		if n != want {
			t.Errorf("want %d of %s in the record, got %d", want, kind, n)
		}
	}
}

// TestDevstackCanary: a canary is ready beside the version that answers and stays there, though Kubernetes would have
// the previous pods go; promoted, it takes over without a break; aborted, it goes.
func TestDevstackCanary(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	ep := reconciletest.Endpoint(r.notebook("ep-c"))
	r.store.Put(ep)
	first := r.state(ep.ID, workload.Running)
	beside := func(number int) {
		t.Helper()
		within(t, time.Minute, "the canary is ready beside the other", func() bool {
			w := r.store.Get(ep.ID)
			if w.State != workload.Running {
				t.Fatalf("it does not answer: %s", w.State)
			}
			return w.CanPromote() && w.Observed.ReadyReplicas() == 2 && r.revisionsOfPods(ep.ID)[number] == 1
		})
	}
	canary := func(image string) {
		t.Helper()
		u := workload.Update{Image: ep.Image, Model: ep.Model, ReadyWithin: time.Hour, Percent: new(25)}
		u.Image.Reference = "registry.example.org/" + image + "@sha256:" +
			"5ce01f7b93a84d26e7f8c9013b65da42f81c70d9ae3645b2f09d7c186a3e54bd"
		r.want(ep.ID, workload.Revise(u))
	}

	canary("second")
	beside(2)
	r.want(ep.ID, workload.Split(50))
	r.want(ep.ID, workload.Abort)
	w := r.served(ep.ID, true)
	if got := r.revisionsOfPods(ep.ID); w.Revision() != 1 || got[1] != 1 || w.Observed.Pod != first.Observed.Pod {
		t.Fatalf("want version 1 in its pod, got %d with pods %v", w.Revision(), got)
	}

	canary("third")
	beside(3)
	r.want(ep.ID, workload.Promote)
	w = r.served(ep.ID, true)
	if got := r.revisionsOfPods(ep.ID); w.Revision() != 3 || got[3] != 1 || len(got) != 1 {
		t.Fatalf("want version 3 alone, got %d with pods %v", w.Revision(), got)
	}
}
