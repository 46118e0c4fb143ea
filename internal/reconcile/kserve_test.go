package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubetest "k8s.io/client-go/testing"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var clusterServingRuntimes = schema.GroupVersionResource{Group: "serving.kserve.io", Version: "v1alpha1",
	Resource: "clusterservingruntimes"}

var inferenceServices = schema.GroupVersionResource{Group: "serving.kserve.io", Version: "v1beta1",
	Resource: "inferenceservices"}

// onKServe is an endpoint whose runtime has KServe for a backend.
func onKServe(w workload.Workload) workload.Workload {
	w = reconciletest.Endpoint(w)
	w.Image.Runtime = &catalog.Runtime{Engine: catalog.Other, Backend: catalog.OnKServe}
	return w
}

// onSite changes what is set of every cluster.
func onSite(o *reconcile.Options, change func(*kube.Site)) {
	site := o.KubeSite
	o.KubeSite = func(cluster string) kube.Site {
		s := site(cluster)
		change(&s)
		return s
	}
}

// withKServe lets endpoints run on KServe.
func withKServe(o *reconcile.Options) { onSite(o, func(s *kube.Site) { s.Access.KServe = true }) }

// A cluster without KServe says so of the endpoint that needs it, and one where it is not set up does.
func TestWithoutKServe(t *testing.T) {
	for name, adjust := range map[string]func(*reconcile.Options){"not installed": withKServe,
		"not set up": func(*reconcile.Options) {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ep, other := onKServe(notebook("ep-a")), notebook("nb-b")
			w.store.Put(ep)
			w.store.Put(other)
			c := w.run(adjust)
			w.state(ep.ID, workload.Failed)
			if got := w.store.Get(ep.ID).Reason; got.ID != "reconcile.no_kserve" ||
				got.Args["Cluster"] != reconciletest.Cluster {
				t.Errorf("reason %+v", got)
			}
			within(t, 2*time.Minute, "the other", func() bool {
				return slices.Contains(w.cluster.objects(namespace), "StatefulSet/nb-b")
			})
			if slices.Contains(w.cluster.objects(namespace), "Service/ep-a") {
				t.Error("a Service of an endpoint that cannot be")
			}
			if s := c.Status()[0]; !s.OK {
				t.Errorf("the cluster is called away: %s", s.Err)
			}
			if err := w.store.SetDesired(ep.ID, workload.Delete, time.Now()); err != nil {
				t.Fatal(err)
			}
			w.state(ep.ID, workload.Ended)
		})
	}
}

// custom is the InferenceServices of a fake cluster, and what leads a gateway of the site to endpoints. What is applied
// is stored whole but for the status, owned by who applied it.
func (w *world) custom() *dynamicfake.FakeDynamicClient {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{inferenceServices: "InferenceServiceList",
			clusterServingRuntimes: "ClusterServingRuntimeList",
			inferencePools:         "InferencePoolList", httpRoutes: "HTTPRouteList", authPolicies: "AuthPolicyList",
			rateLimits: "RateLimitPolicyList", tokenLimits: "TokenRateLimitPolicyList",
			envoyBackends: "BackendList", securityPolicies: "SecurityPolicyList", trafficPolicies: "BackendTrafficPolicyList",
			serviceBackends: "AIServiceBackendList", aiRoutes: "AIGatewayRouteList"})
	client.PrependReactor("patch", "*", func(a kubetest.Action) (bool, runtime.Object, error) {
		patch := a.(kubetest.PatchAction)
		applied := &unstructured.Unstructured{}
		if err := applied.UnmarshalJSON(patch.GetPatch()); err != nil {
			return true, nil, err
		}
		was, err := client.Tracker().Get(a.GetResource(), a.GetNamespace(), patch.GetName())
		applied.SetUID("uid-of-" + types.UID(patch.GetName()))
		applied.SetResourceVersion(w.cluster.version())
		applied.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: reconcile.FieldManager,
			Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{},"f:spec":{}}`)}})
		if apierrors.IsNotFound(err) {
			applied.SetCreationTimestamp(metav1.Now())
			return true, applied, client.Tracker().Create(a.GetResource(), applied, a.GetNamespace())
		}
		old := was.(*unstructured.Unstructured)
		applied.SetCreationTimestamp(old.GetCreationTimestamp())
		if status, told := old.Object["status"]; told { // is written by its own way
			applied.Object["status"] = status
		}
		return true, applied, client.Tracker().Update(a.GetResource(), applied, a.GetNamespace())
	})
	for _, api := range []string{kube.KServeAPI, kube.InferenceAPI, kube.GatewayAPI, kube.KuadrantAPI,
		kube.KuadrantTokensAPI, kube.EnvoyAPI, kube.EnvoyAIAPI} {
		w.cluster.Resources = append(w.cluster.Resources, &metav1.APIResourceList{GroupVersion: api})
	}
	return client
}

// predict makes of an InferenceService what KServe and Kubernetes make of it: a Deployment, its ReplicaSet and one pod
// that answers, or none.
func (w *world) predict(service *unstructured.Unstructured) {
	w.t.Helper()
	spec, _, _ := unstructured.NestedMap(service.Object, "spec", "predictor")
	replicas, _, _ := unstructured.NestedInt64(spec, "minReplicas")
	meta := metav1.ObjectMeta{Name: service.GetName() + "-predictor", Namespace: namespace, Labels: service.GetLabels(),
		Annotations: service.GetAnnotations(), UID: "uid-deployment", ResourceVersion: w.cluster.version(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(service, service.GroupVersionKind())}}
	labels, _, _ := unstructured.NestedStringMap(spec, "labels")
	notes, _, _ := unstructured.NestedStringMap(spec, "annotations")
	maps.Copy(meta.Labels, labels)
	maps.Copy(meta.Annotations, notes)
	d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(replicas)),
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels,
			Annotations: meta.Annotations}}},
		Status: appsv1.DeploymentStatus{Replicas: int32(replicas), UpdatedReplicas: int32(replicas)}}
	inside := metav1.ObjectMeta{Name: meta.Name + "-7d9c5b6f7c", Namespace: namespace, Labels: meta.Labels, UID: "uid-set",
		ResourceVersion: w.cluster.version(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d,
			appsv1.SchemeGroupVersion.WithKind("Deployment"))}}
	set := &appsv1.ReplicaSet{ObjectMeta: inside}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: inside.Name + "-5wq8z", Namespace: namespace,
		Labels: meta.Labels, Annotations: meta.Annotations, UID: "uid-pod", ResourceVersion: w.cluster.version(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set,
			appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
		Spec: corev1.PodSpec{NodeName: "node-1"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.64.0.9", Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}}}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	var gone error
	if replicas == 0 {
		gone = w.cluster.Tracker().Delete(pods, namespace, pod.Name)
	}
	for resource, o := range map[string]runtime.Object{"deployments": d, "replicasets": set, "pods": pod} {
		if resource == "pods" && replicas == 0 {
			continue
		}
		gvr := appsv1.SchemeGroupVersion.WithResource(resource)
		if resource == "pods" {
			gvr = pods
		}
		if err := w.cluster.Tracker().Add(o); err != nil {
			if err := w.cluster.Tracker().Update(gvr, o, namespace); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if gone != nil {
		w.t.Fatal(gone)
	}
}

// What KServe makes of an endpoint counts as the endpoint's, and as nothing else.
func TestKServeLife(t *testing.T) {
	w := newWorld(t)
	client := w.custom()
	services := client.Resource(inferenceServices).Namespace(namespace)
	ep := onKServe(notebook("ep-a"))
	w.store.Put(ep)
	w.run(withKServe, func(o *reconcile.Options) { o.Clusters[0].Client = reconcile.WithCustom(w.cluster, client) })
	asks := func(replicas int64) *unstructured.Unstructured {
		t.Helper()
		var found *unstructured.Unstructured
		waittest.Until(t, "the InferenceService", func() error {
			service, err := services.Get(t.Context(), "ep-a", metav1.GetOptions{})
			if err != nil {
				return err
			}
			n, _, _ := unstructured.NestedInt64(service.Object, "spec", "predictor", "minReplicas")
			if found = service; n != replicas {
				return fmt.Errorf("it asks for %d", n)
			}
			return nil
		})
		return found
	}
	service := asks(1)
	waittest.For(t, "that it waits for KServe is told", func() bool {
		return w.store.Get(ep.ID).Reason.ID == "reconcile.kserve_waits"
	})
	w.predict(service)
	w.state(ep.ID, workload.Running)
	if o := w.store.Get(ep.ID).Observed; len(o.Pods) != 1 || o.Pods[0].IP != "10.64.0.9" || o.Node != "node-1" ||
		o.Pod != "ep-a-predictor-7d9c5b6f7c-5wq8z" {
		t.Errorf("it runs as %+v", o)
	}

	if err := w.store.SetDesired(ep.ID, workload.Stop, time.Now()); err != nil {
		t.Fatal(err)
	}
	service = asks(0)
	compared(t, w.store, 2)
	if s := w.store.Get(ep.ID).State; s == workload.Stopped {
		t.Error("it is called stopped while its pod has the GPU")
	}
	w.predict(service)
	w.state(ep.ID, workload.Stopped)

	if err := w.store.SetDesired(ep.ID, workload.Delete, time.Now()); err != nil {
		t.Fatal(err)
	}
	waittest.For(t, "the InferenceService goes", func() bool {
		_, err := services.Get(t.Context(), "ep-a", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	w.state(ep.ID, workload.Ended)
	if told := w.store.EventsOf(audit.ObjectSpoofed); len(told) > 0 {
		t.Errorf("what KServe made is called a pretence: %+v", told)
	}
	if m := w.store.Meter(ep.ID); len(m) != 1 || m[0].Until.IsZero() {
		t.Errorf("metered: %+v", m)
	}
}

// kserve plays the controller of KServe in one namespace: a Deployment and a Service for each InferenceService, with
// the labels and annotations of both levels, as KServe's own does (v0.20, components/predictor.go).
type kserve struct {
	r        *real
	custom   dynamic.ResourceInterface
	runtimes dynamic.ResourceInterface // cluster-wide; nil where no endpoint is on one
}

// newKServe installs the definition.
func newKServe(t *testing.T, stack reconciletest.Devstack) dynamic.NamespaceableResourceInterface {
	t.Helper()
	return define(t, stack, kube.KServeAPI, inferenceServices)
}

// define installs the definition of a custom resource, the real one where it is at hand.
func define(t *testing.T, stack reconciletest.Devstack, api string,
	of schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	t.Helper()
	custom, err := dynamic.NewForConfig(stack.Config)
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("PORTAL_TEST_CRDS")
	if dir == "" {
		dir = "../../../shared/crds"
	}
	text, err := os.ReadFile(filepath.Join(dir, of.Group+"_"+of.Resource+".yaml"))
	if errors.Is(err, os.ErrNotExist) {
		t.Log("the definition of", api, "is not in", dir, "(PORTAL_TEST_CRDS): a small one of our own stands in")
		text, err = os.ReadFile(filepath.Join("testdata", of.Resource+".yaml"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(crd.Object, "status")
	unstructured.RemoveNestedField(crd.Object, "spec", "conversion") // by a webhook that is not here
	definitions := custom.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"})
	waittest.Until(t, "the definition of "+api, func() error {
		applied, err := definitions.Apply(t.Context(), crd.GetName(), &crd, metav1.ApplyOptions{FieldManager: "test",
			Force: true})
		if err == nil && applied.GetDeletionTimestamp() != nil {
			return errors.New("that of another test is still going away")
		}
		return err
	})
	t.Cleanup(func() {
		_ = definitions.Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{})
	})
	waittest.Until(t, "the API "+api, func() error {
		if _, err := stack.Client.Discovery().ServerResourcesForGroupVersion(api); err != nil {
			return err
		}
		_, err := custom.Resource(of).List(t.Context(), metav1.ListOptions{Limit: 1})
		return err
	})
	return custom.Resource(of)
}

// run acts on each change until the context ends.
func (k kserve) run(ctx context.Context) {
	for ctx.Err() == nil {
		changes, err := k.custom.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for e := range changes.ResultChan() {
			service, ok := e.Object.(*unstructured.Unstructured)
			if !ok || service.GetDeletionTimestamp() != nil || e.Type == "DELETED" {
				continue
			}
			if err := k.act(ctx, service); err != nil && ctx.Err() == nil {
				k.r.t.Errorf("the fake controller of KServe: %v", err)
			}
		}
	}
}

func (k kserve) act(ctx context.Context, service *unstructured.Unstructured) error {
	spec, _, err := unstructured.NestedMap(service.Object, "spec", "predictor")
	if err != nil {
		return err
	}
	labels, _, _ := unstructured.NestedStringMap(spec, "labels")
	notes, _, _ := unstructured.NestedStringMap(spec, "annotations")
	replicas, _, _ := unstructured.NestedInt64(spec, "minReplicas")
	var pod corev1.PodSpec
	var strategy struct{ DeploymentStrategy appsv1.DeploymentStrategy }
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &pod); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &strategy); err != nil {
		return err
	}
	if _, onRuntime := spec["model"]; onRuntime {
		served, err := k.serve(ctx, spec)
		if err != nil {
			return err
		}
		pod.Containers = []corev1.Container{served}
	}
	name := service.GetName() + "-predictor"
	meta := metav1.ObjectMeta{Name: name, Namespace: service.GetNamespace(), Labels: maps.Clone(service.GetLabels()),
		Annotations: maps.Clone(service.GetAnnotations())}
	maps.Copy(meta.Labels, labels)
	maps.Copy(meta.Labels, map[string]string{"serving.kserve.io/inferenceservice": service.GetName(),
		"component": "predictor", "app": "isvc." + name})
	maps.Copy(meta.Annotations, notes)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(meta.Labels),
		Annotations: maps.Clone(meta.Annotations)}, Spec: pod}
	for i := range template.Spec.Containers {
		c := &template.Spec.Containers[i]
		c.Env = append(c.Env, corev1.EnvVar{Name: "INFERENCE_SERVICE_NAME", Value: service.GetName()})
	}
	meta.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(service, service.GroupVersionKind())}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		deployments := k.r.Client.AppsV1().Deployments(meta.Namespace)
		d, err := deployments.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			d = &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(replicas)),
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "isvc." + name}}, Template: template,
				Strategy: strategy.DeploymentStrategy}}
			if _, err := deployments.Create(ctx, d, metav1.CreateOptions{}); err != nil {
				return err
			}
			_, err = k.r.Client.CoreV1().Services(meta.Namespace).Create(ctx, &corev1.Service{ObjectMeta: meta,
				Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": "isvc." + name},
					Ports: []corev1.ServicePort{{Name: name, Port: 8000}}}}, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		d.Labels, d.Annotations = meta.Labels, meta.Annotations
		d.Spec.Replicas, d.Spec.Template, d.Spec.Strategy = new(int32(replicas)), template, strategy.DeploymentStrategy
		_, err = deployments.Update(ctx, d, metav1.UpdateOptions{})
		return err
	})
}

// serve merges what an InferenceService says over the container of its ServingRuntime, as KServe's own does (v0.20,
// MergeRuntimeContainers).
func (k kserve) serve(ctx context.Context, spec map[string]any) (merged corev1.Container, err error) {
	model, _, _ := unstructured.NestedMap(spec, "model")
	if _, named := model["name"]; named {
		return merged, errors.New("the 'name' field is not allowed in standard predictor")
	}
	name, _, _ := unstructured.NestedString(model, "runtime")
	found, err := k.runtimes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return merged, err
	}
	containers, _, _ := unstructured.NestedSlice(found.Object, "spec", "containers")
	args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	said, err := json.Marshal(model)
	if err != nil {
		return merged, err
	}
	theirs, err := json.Marshal(containers[0])
	if err != nil {
		return merged, err
	}
	text, err := strategicpatch.StrategicMergePatch(theirs, said, merged)
	if err != nil {
		return merged, err
	}
	if err := json.Unmarshal(text, &merged); err != nil {
		return merged, err
	}
	ours, _, _ := unstructured.NestedStringSlice(model, "args")
	merged.Args = slices.Concat(args, ours)
	return merged, nil
}

// pods gives the UIDs of a workload's pods that stay.
func (r *real) pods(id workload.ID) []string {
	r.t.Helper()
	pods, err := r.Client.CoreV1().Pods(r.namespace).List(r.t.Context(),
		metav1.ListOptions{LabelSelector: kube.WorkloadKey + "=" + string(id)})
	if err != nil {
		r.t.Fatal(err)
	}
	var uids []string
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil {
			uids = append(uids, string(p.UID))
		}
	}
	slices.Sort(uids)
	return uids
}

// TestDevstackKServe: an endpoint whose pods KServe makes starts, scales, is repaired, gets another version, stops and
// ends like one of a Deployment; what KServe makes of it is taken for nobody's pretence.
func TestDevstackKServe(t *testing.T) {
	services := newKServe(t, reconciletest.NeedDevstack(t))
	r := newReal(t, withKServe)
	k := kserve{r: r, custom: services.Namespace(r.namespace)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.run(ctx) }()
	t.Cleanup(func() { stop(); <-done })

	ep := onKServe(r.notebook("ep-a"))
	ep.Replicas = workload.Replicas{Range: workload.Range{Min: 1, Max: 3}, Wanted: 1}
	r.store.Put(ep)
	got := r.state(ep.ID, workload.Running)
	if o := got.Observed; o.Node == "" || o.PodIP == "" || len(o.Pods) != 1 || !o.Pods[0].Ready ||
		!strings.HasPrefix(o.Pod, "ep-a-predictor-") || got.PlacedAt.IsZero() {
		t.Errorf("it runs as %+v", o)
	}
	first := r.pods(ep.ID)

	if err := r.store.SetDesired(ep.ID, func(w workload.Workload, _ identity.Actor, now time.Time) (workload.Workload,
		[]audit.Event, error) {
		w.Replicas.Wanted, w.Generation, w.UpdatedAt = 2, w.Generation+1, now
		return w, nil, nil
	}, time.Now()); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "two replicas", func() error {
		w := r.store.Get(ep.ID)
		if w.Observed.ReadyReplicas() != 2 || w.Observed.Generation != w.Generation || !w.Observed.Scaled {
			return fmt.Errorf("generation %d is observed as %+v", w.Generation, w.Observed)
		}
		return nil
	})
	if now := r.pods(ep.ID); len(now) != 2 || !slices.Contains(now, first[0]) {
		t.Errorf("a new spec has replaced the pod %v: %v", first, now)
	}

	meddle := []byte(`[{"op": "replace", "path": "/spec/predictor/minReplicas", "value": 3},
		{"op": "add", "path": "/spec/predictor/hostNetwork", "value": true},
		{"op": "replace", "path": "/spec/predictor/serviceAccountName", "value": "default"}]`)
	if _, err := k.custom.Patch(t.Context(), "ep-a", types.JSONPatchType, meddle,
		metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the edit is taken back", func() error {
		service, err := k.custom.Get(t.Context(), "ep-a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		spec, _, _ := unstructured.NestedMap(service.Object, "spec", "predictor")
		if _, has := spec["hostNetwork"]; has || spec["minReplicas"] != int64(2) ||
			spec["serviceAccountName"] != kube.AccountName {
			return errors.New("it is still there")
		}
		return nil
	})
	if len(r.store.EventsOf(audit.ObjectRepaired)) == 0 {
		t.Error("nobody is told of the edit")
	}

	r.want(ep.ID, version(r.store.Get(ep.ID), "vllm-2", true))
	r.served(ep.ID, false)
	waittest.For(t, "the second version alone", func() bool {
		return maps.Equal(r.revisionsOfPods(ep.ID), map[int]int{2: 2})
	})

	r.want(ep.ID, workload.Stop)
	r.state(ep.ID, workload.Stopped)
	if left := r.pods(ep.ID); len(left) > 0 {
		t.Errorf("stopped with pods %v", left)
	}
	if _, err := k.custom.Get(t.Context(), "ep-a", metav1.GetOptions{}); err != nil {
		t.Errorf("stopped, and what says what it was is gone: %v", err)
	}
	r.want(ep.ID, workload.Start)
	r.state(ep.ID, workload.Running)

	r.want(ep.ID, workload.Delete)
	r.state(ep.ID, workload.Ended)
	if _, err := k.custom.Get(t.Context(), "ep-a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("ended, and the InferenceService is there: %v", err)
	}
	if left := r.pods(ep.ID); len(left) > 0 {
		t.Errorf("ended with pods %v", left)
	}
	if told := r.store.EventsOf(audit.ObjectSpoofed); len(told) > 0 {
		t.Errorf("what KServe made is called a pretence: %+v", told)
	}
	for _, m := range r.store.Meter(ep.ID) {
		if m.Until.IsZero() {
			t.Errorf("still metered: %+v", m)
		}
	}
}

// servingRuntime is a ClusterServingRuntime which would let its container do more than the portal does.
func servingRuntime(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "serving.kserve.io/v1alpha1", "kind": "ClusterServingRuntime", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"supportedModelFormats": []any{map[string]any{"name": "huggingface", "autoSelect": true}},
			"containers": []any{map[string]any{"name": "kserve-container", "image": "registry.example.org/hf:v1",
				"args":            []any{"--model_dir=/mnt/models"},
				"securityContext": map[string]any{"privileged": true, "allowPrivilegeEscalation": true},
				"resources":       map[string]any{"limits": map[string]any{"cpu": "1", "memory": "2Gi"}}}}}}}
}

// TestDevstackServingRuntime: an endpoint on a ServingRuntime of the cluster runs in the runtime's container with the
// portal's limits on it, and goes; the inventory tells of the runtime.
func TestDevstackServingRuntime(t *testing.T) {
	stack := reconciletest.NeedDevstack(t)
	runtimes := define(t, stack, "serving.kserve.io/v1alpha1", clusterServingRuntimes)
	services := newKServe(t, stack)
	if _, err := runtimes.Create(t.Context(), servingRuntime("hf"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := newReal(t, withKServe)
	k := kserve{r: r, custom: services.Namespace(r.namespace), runtimes: runtimes}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.run(ctx) }()
	t.Cleanup(func() { stop(); <-done })

	ep := onKServe(r.notebook("ep-hf"))
	ep.Image.Reference, ep.Image.Home, ep.Image.HealthPath, ep.Volume = "", "", "", ""
	ep.Image.Args = []string{"--model_name={servedName}"}
	ep.Image.Runtime.ServingRuntime, ep.Image.Runtime.ModelFormat = "hf", "huggingface"
	ep.Image.Runtime.Sources = []catalog.Source{{Kind: catalog.FromHub}}
	ep.Model = &catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen2.5-7B", Revision: "a09a354"}
	r.store.Put(ep)
	r.state(ep.ID, workload.Running)

	service, err := k.custom.Get(t.Context(), "ep-hf", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	model, _, _ := unstructured.NestedMap(service.Object, "spec", "predictor", "model")
	if model["runtime"] != "hf" || model["storageUri"] != "hf://Qwen/Qwen2.5-7B:a09a354" {
		t.Errorf("the InferenceService says %v", model)
	}
	if _, has, _ := unstructured.NestedSlice(service.Object, "spec", "predictor", "containers"); has {
		t.Error("it has a container beside that of the runtime")
	}
	pods, err := r.Client.CoreV1().Pods(r.namespace).List(t.Context(),
		metav1.ListOptions{LabelSelector: kube.WorkloadKey + "=" + string(ep.ID)})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("pods %+v, %v", pods, err)
	}
	c := pods.Items[0].Spec.Containers[0]
	if c.Image != "registry.example.org/hf:v1" ||
		!slices.Equal(c.Args, []string{"--model_dir=/mnt/models", "--model_name=Qwen/Qwen2.5-7B"}) {
		t.Errorf("it runs %s %v", c.Image, c.Args)
	}
	if s := c.SecurityContext; *s.Privileged || *s.AllowPrivilegeEscalation || !*s.RunAsNonRoot {
		t.Errorf("the runtime has loosened %+v", s)
	}
	if got := c.Resources.Limits.Memory().String(); got != ep.Size.Memory {
		t.Errorf("the runtime has changed the memory to %s", got)
	}

	want := &[]inventory.ServingRuntime{{Name: "hf", Formats: []string{"huggingface"},
		Image: "registry.example.org/hf:v1"}}
	waittest.For(t, "the inventory tells of the runtime", func() bool {
		taken, ok := r.store.Snapshot(reconciletest.Cluster)
		return ok && cmp.Equal(want, taken.ServingRuntimes)
	})

	r.want(ep.ID, workload.Delete)
	r.state(ep.ID, workload.Ended)
}
