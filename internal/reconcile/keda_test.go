package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	scaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	triggerAuths  = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1",
		Resource: "triggerauthentications"}
)

// byKEDA is an endpoint of one to four replicas that KEDA scales, with room for three.
func byKEDA(w workload.Workload) workload.Workload {
	w = reconciletest.Endpoint(w)
	w.Image.Runtime = &catalog.Runtime{Engine: catalog.Other, Autoscaler: catalog.ByKEDA}
	w.Replicas = workload.Replicas{Range: workload.Range{Min: 0, Max: 4}, Wanted: 1, Held: 1, Ceiling: 3,
		Scaling: autoscale.Policy{Metric: autoscale.Concurrency, Target: 4, ScaleDownAfter: catalog.Duration(time.Minute)}}
	return w
}

// withKEDA lets KEDA scale endpoints.
func withKEDA(o *reconcile.Options) {
	onSite(o, func(s *kube.Site) { s.Access.KEDA = true })
}

// A cluster without KEDA says so of the endpoint that needs it, and one where it is not set up does.
func TestWithoutKEDA(t *testing.T) {
	withoutOperator(t, byKEDA(notebook("ep-a")), withKEDA, "reconcile.no_keda")
}

// keda plays KEDA's operator and the HorizontalPodAutoscaler that it makes: see pkg/reconciler/scaledobject of KEDA and
// pkg/controller/podautoscaler of Kubernetes.
type keda struct {
	r      *real
	custom dynamic.ResourceInterface
	name   string
}

// scale sets a number of replicas by the Deployment's scale, as the HorizontalPodAutoscaler does.
func (k keda) scale(t *testing.T, replicas int32) {
	t.Helper()
	deployments := k.r.Client.AppsV1().Deployments(k.r.namespace)
	waittest.Until(t, "the Deployment is scaled", func() error {
		now, err := deployments.GetScale(t.Context(), k.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = deployments.UpdateScale(t.Context(), k.name, &autoscalingv1.Scale{ObjectMeta: now.ObjectMeta,
			Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}, metav1.UpdateOptions{FieldManager: "kube-controller-manager"})
		return err
	})
}

// takesUp writes on a ScaledObject what KEDA does when it has seen it.
func (k keda) takesUp(t *testing.T) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata": {"labels": {"scaledobject.keda.sh/name": %q},
		"finalizers": ["finalizer.keda.sh"]}}`, k.name)
	waittest.Until(t, "the ScaledObject", func() error {
		_, err := k.custom.Patch(t.Context(), k.name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: "keda"})
		return err
	})
}

// letsGo lets a ScaledObject that is deleted go.
func (k keda) letsGo(ctx context.Context) error {
	o, err := k.custom.Get(ctx, k.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case o.GetDeletionTimestamp() == nil:
		return errors.New("the ScaledObject is still there")
	}
	_, err = k.custom.Patch(ctx, k.name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`),
		metav1.PatchOptions{FieldManager: "keda"})
	return err
}

// replicas waits until a Deployment has so many pods that are ready, and until that was seen.
func (k keda) replicas(t *testing.T, id workload.ID, want int) workload.Workload {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("%d replicas", want), func() error {
		d, err := k.r.Client.AppsV1().Deployments(k.r.namespace).Get(t.Context(), k.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		o := k.r.store.Get(id).Observed
		if int(*d.Spec.Replicas) != want || o.ReadyReplicas() != want || o.Autoscaler == nil ||
			o.Autoscaler.Replicas != want {
			return fmt.Errorf("the Deployment asks for %d, %d are ready, seen %+v", *d.Spec.Replicas, o.ReadyReplicas(),
				o.Autoscaler)
		}
		return nil
	})
	return k.r.store.Get(id)
}

func (k keda) most(t *testing.T) int64 {
	t.Helper()
	o, err := k.custom.Get(t.Context(), k.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "maxReplicaCount")
	return n
}

// changed is a change without events.
func changed(by func(*workload.Workload)) workload.Change {
	return func(w workload.Workload, _ identity.Actor, _ time.Time) (workload.Workload, []audit.Event, error) {
		by(&w)
		return w, nil, nil
	}
}

// TestDevstackKEDA: what KEDA sets stays, up to what there is room for; what others do to the ScaledObject is taken
// back; the endpoint sleeps by the portal's will alone, wakes, stops and ends, and nothing of KEDA's is left behind.
func TestDevstackKEDA(t *testing.T) {
	stack := reconciletest.NeedDevstack(t)
	scaled := define(t, stack, kube.KEDAAPI, scaledObjects)
	define(t, stack, kube.KEDAAPI, triggerAuths)
	r := newReal(t, withKEDA)
	ep := byKEDA(r.notebook("ep-k"))
	k := keda{r: r, custom: scaled.Namespace(r.namespace), name: ep.Name}
	r.store.Put(ep)
	r.state(ep.ID, workload.Running)
	k.takesUp(t)
	if n := k.most(t); n != 3 {
		t.Errorf("KEDA may set %d", n)
	}

	k.scale(t, 2)
	got := k.replicas(t, ep.ID, 2)
	if len(got.Observed.Edits) > 0 {
		t.Errorf("KEDA's own labels and numbers are called edits: %+v", got.Observed.Edits)
	}
	r.want(ep.ID, changed(func(w *workload.Workload) {
		w.Replicas.Wanted, w.Replicas.Held, w.Lease.Until = 2, 2, w.Lease.Until.Add(time.Hour)
	}))
	k.replicas(t, ep.ID, 2) // another change does not take it back
	k.scale(t, 4)
	k.replicas(t, ep.ID, 3) // there is no room for the fourth

	if _, err := k.custom.Patch(t.Context(), k.name, types.MergePatchType, []byte(`{"spec": {"maxReplicaCount": 50}}`),
		metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	waittest.For(t, "the edit is taken back", func() bool { return k.most(t) == 3 })

	r.want(ep.ID, workload.Scale(0))
	waittest.Until(t, "KEDA's object goes", func() error { return k.letsGo(t.Context()) })
	waittest.For(t, "no pods", func() bool { return len(r.pods(ep.ID)) == 0 })
	r.want(ep.ID, workload.Scale(1))
	k.replicas(t, ep.ID, 1)
	k.takesUp(t)

	r.want(ep.ID, workload.Delete)
	waittest.Until(t, "KEDA's object goes at the end", func() error { return k.letsGo(t.Context()) })
	r.state(ep.ID, workload.Ended)
	for what, left := range map[string]func() error{
		"Secret": func() error {
			_, err := r.Client.CoreV1().Secrets(r.namespace).Get(t.Context(), kube.ScalingName(ep), metav1.GetOptions{})
			return err
		},
		"ScaledObject": func() error {
			_, err := k.custom.Get(t.Context(), k.name, metav1.GetOptions{})
			return err
		},
	} {
		if err := left(); !apierrors.IsNotFound(err) {
			t.Errorf("the %s is left: %v", what, err)
		}
	}
}
