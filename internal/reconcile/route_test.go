package reconcile_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	inferencePools = schema.GroupVersionResource{Group: "inference.networking.k8s.io", Version: "v1",
		Resource: "inferencepools"}
	httpRoutes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
)

// inferences is a gateway of the site that takes InferencePools.
var inferences = kube.ModelGateway{Kind: kube.GatewayInferences, Address: "https://models.example.org",
	Gateway: kube.GatewayRef{Namespace: "gateways", Name: "models"}}

// published lets a site publish endpoints, as long as the switch is on.
func published(on *atomic.Bool) func(*reconcile.Options) {
	return func(o *reconcile.Options) {
		site := o.KubeSite
		o.KubeSite = func(cluster string) kube.Site {
			s := site(cluster)
			s.Access.ModelGateway, s.ModelGateway = true, kube.ModelGateway{Kind: kube.GatewayEmbedded}
			if on.Load() {
				s.ModelGateway = inferences
			}
			return s
		}
	}
}

// accept is what a gateway says of an HTTPRoute or InferencePool.
func accept(t *testing.T, client dynamic.NamespaceableResourceInterface, name string, status metav1.ConditionStatus) {
	t.Helper()
	in := client.Namespace(namespace)
	o, err := in.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o = o.DeepCopy()
	o.SetResourceVersion(o.GetResourceVersion() + "0")
	o.Object["status"] = map[string]any{"parents": []any{map[string]any{"conditions": []any{map[string]any{
		"type": "Accepted", "status": string(status), "reason": "NotAllowedByListeners", "message": "not this namespace"}}}}}
	if _, err := in.Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestPublishedEndpoint: where a gateway of the site carries calls, an endpoint that speaks OpenAI gets a route and a
// pool beside its pods, which ask for no token; what the gateway says of them is told; a change by hand is taken back.
// They go when the site gives its gateway up, while the pods run on, and with the endpoint.
func TestPublishedEndpoint(t *testing.T) {
	w := newWorld(t)
	client := w.custom()
	var on atomic.Bool
	on.Store(true)
	ep, nb := reconciletest.Endpoint(notebook("ep-a")), notebook("nb-b")
	w.store.Put(ep)
	w.store.Put(nb)
	w.run(published(&on), func(o *reconcile.Options) { o.Clusters[0].Client = reconcile.WithCustom(w.cluster, client) })
	exists := func(r schema.GroupVersionResource) bool {
		_, err := client.Resource(r).Namespace(namespace).Get(t.Context(), "ep-a", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	waittest.For(t, "the route and the pool", func() bool { return exists(httpRoutes) && exists(inferencePools) })
	if l, err := client.Resource(httpRoutes).Namespace(namespace).List(t.Context(), metav1.ListOptions{}); err != nil ||
		len(l.Items) != 1 {
		t.Errorf("%d routes, %v: a notebook has none", len(l.Items), err)
	}
	var made *appsv1.Deployment
	waittest.Until(t, "its pods", func() (err error) {
		made, err = w.cluster.AppsV1().Deployments(namespace).Get(t.Context(), "ep-a", metav1.GetOptions{})
		return err
	})
	if asksForToken(made) {
		t.Error("its pods ask for a token that no caller has")
	}

	accept(t, client.Resource(inferencePools), "ep-a", metav1.ConditionTrue)
	accept(t, client.Resource(httpRoutes), "ep-a", metav1.ConditionFalse)
	told := func(what string, is func(*workload.Route) bool) {
		t.Helper()
		waittest.For(t, what, func() bool { return is(w.store.Get(ep.ID).Observed.Route) })
	}
	told("that the gateway refuses", func(r *workload.Route) bool {
		return r != nil && !r.Accepted && r.Detail == "HTTPRoute NotAllowedByListeners: not this namespace"
	})
	accept(t, client.Resource(httpRoutes), "ep-a", metav1.ConditionTrue)
	told("that the gateway carries", func(r *workload.Route) bool {
		return r != nil && r.Accepted && r.Detail == "" && r.Address == "https://models.example.org/"+namespace+"/ep-a"
	})

	in := client.Resource(httpRoutes).Namespace(namespace)
	edited, err := in.Get(t.Context(), "ep-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	edited = edited.DeepCopy()
	edited.SetResourceVersion(edited.GetResourceVersion() + "1")
	edited.Object["spec"].(map[string]any)["hostnames"] = []any{"elsewhere.example.org"}
	if _, err := in.Update(t.Context(), edited, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.For(t, "the change is taken back", func() bool {
		o, err := in.Get(t.Context(), "ep-a", metav1.GetOptions{})
		return err == nil && o.Object["spec"].(map[string]any)["hostnames"].([]any)[0] == "models.example.org"
	})

	on.Store(false)
	waittest.For(t, "they go with the setting", func() bool { return !exists(httpRoutes) && !exists(inferencePools) })
	told("that there is none", func(r *workload.Route) bool { return r == nil })
	if d, err := w.cluster.AppsV1().Deployments(namespace).Get(t.Context(), "ep-a", metav1.GetOptions{}); err != nil ||
		asksForToken(d) {
		t.Errorf("its pods are made anew: %v", err)
	}

	on.Store(true)
	waittest.For(t, "they come back", func() bool { return exists(httpRoutes) && exists(inferencePools) })
	if err := w.store.SetDesired(ep.ID, workload.Delete, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.state(ep.ID, workload.Ended)
	if exists(httpRoutes) || exists(inferencePools) {
		t.Error("it has ended, and calls are still led to it")
	}
	if told := w.store.EventsOf(audit.ObjectSpoofed); len(told) > 0 {
		t.Errorf("its own objects are called a pretence: %+v", told)
	}
}

// TestPublishingWithoutTheAPI: a cluster without the Inference Extension says so of the endpoint that is to be
// published.
func TestPublishingWithoutTheAPI(t *testing.T) {
	w := newWorld(t)
	var on atomic.Bool
	on.Store(true)
	ep := reconciletest.Endpoint(notebook("ep-a"))
	w.store.Put(ep)
	w.run(published(&on))
	w.state(ep.ID, workload.Failed)
	if got := w.store.Get(ep.ID).Reason.ID; got != "reconcile.no_model_gateway" {
		t.Errorf("reason %s", got)
	}
	if slices.Contains(w.cluster.objects(namespace), "Deployment/ep-a") {
		t.Error("pods without a token, and nothing that leads to them")
	}
}

func asksForToken(d *appsv1.Deployment) bool {
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		if e.Name == "VLLM_API_KEY" {
			return true
		}
	}
	return false
}
