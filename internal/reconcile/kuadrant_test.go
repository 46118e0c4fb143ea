package reconcile_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	authPolicies = schema.GroupVersionResource{Group: "kuadrant.io", Version: "v1", Resource: "authpolicies"}
	rateLimits   = schema.GroupVersionResource{Group: "kuadrant.io", Version: "v1", Resource: "ratelimitpolicies"}
	tokenLimits  = schema.GroupVersionResource{Group: "kuadrant.io", Version: "v1alpha1",
		Resource: "tokenratelimitpolicies"}
)

// kuadrant is a gateway of a site that Kuadrant guards, and what the keys of an endpoint there may take.
type kuadrant struct {
	t         *testing.T
	client    dynamic.Interface
	namespace string
	store     *reconciletest.Store
	// say writes a status: of a real API server by its own way
	say func(in dynamic.ResourceInterface, o *unstructured.Unstructured) error

	mu     sync.Mutex
	limits endpointkey.LimitValues
}

func (k *kuadrant) site(o *reconcile.Options) {
	onSite(o, func(s *kube.Site) {
		s.Access.ModelGateway, s.Access.Kuadrant = true, true
		s.ModelGateway = inferences
		s.ModelGateway.Kind, s.ModelGateway.KeyCheck = kube.GatewayKuadrant, "http://gpu-portal.gpu-portal.svc:8080"
	})
	o.KeyLimits = func(context.Context, workload.ID) (endpointkey.LimitValues, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.limits, nil
	}
}

// keys changes what keys may take, and tells as the store does.
func (k *kuadrant) keys(id workload.ID, l endpointkey.LimitValues) {
	k.mu.Lock()
	k.limits = l
	k.mu.Unlock()
	k.store.Hub.Publish(live.Change{Topic: live.TopicWorkload, ID: string(id)})
}

func (k *kuadrant) object(r schema.GroupVersionResource) *unstructured.Unstructured {
	k.t.Helper()
	o, err := k.client.Resource(r).Namespace(k.namespace).Get(k.t.Context(), "ep-a", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return o
}

// status is what Kuadrant or the gateway says of an object; a change in between is tried again.
func (k *kuadrant) status(r schema.GroupVersionResource, status map[string]any) {
	k.t.Helper()
	waittest.Until(k.t, "the status of "+r.Resource, func() error {
		o := k.object(r)
		if o == nil {
			return fmt.Errorf("no %s", r.Resource)
		}
		o = o.DeepCopy()
		o.Object["status"] = status
		return k.say(k.client.Resource(r).Namespace(k.namespace), o)
	})
}

func conditions(list ...string) []any {
	var all []any
	for _, kind := range list {
		status := "True"
		if kind[0] == '!' {
			kind, status = kind[1:], "False"
		}
		all = append(all, map[string]any{"type": kind, "status": status, "reason": "Overridden", "message": "by another",
			"lastTransitionTime": "2026-11-26T12:00:00Z"})
	}
	return all
}

func accepted() map[string]any {
	return map[string]any{"parents": []any{map[string]any{"controllerName": "example.org/gateway",
		"parentRef": map[string]any{"name": "models"}, "conditions": conditions("Accepted")}}}
}

// led reports whether the route leads to the pods.
func (k *kuadrant) led() bool {
	o := k.object(httpRoutes)
	if o == nil {
		return false
	}
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	_, led := rules[0].(map[string]any)["backendRefs"]
	return led
}

func (k *kuadrant) names(r schema.GroupVersionResource) (names []string) {
	if o := k.object(r); o != nil {
		limits, _, _ := unstructured.NestedMap(o.Object, "spec", "limits")
		for name := range limits {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// guard is the life of an endpoint there: calls are led to its pods only while Kuadrant enforces that they need a key;
// limits follow the keys; all of it goes with the endpoint.
func (k *kuadrant) guard(ep workload.Workload) {
	t := k.t
	t.Helper()
	k.store.Put(ep)
	waittest.For(t, "the policy and the route", func() bool {
		return k.object(authPolicies) != nil && k.object(httpRoutes) != nil
	})
	if k.led() {
		t.Error("calls are led to the pods, and nobody asks for a key")
	}
	if k.object(rateLimits) != nil || k.object(tokenLimits) != nil {
		t.Error("limits that no key has")
	}
	route := func(what string, is func(*workload.Route) bool) {
		t.Helper()
		waittest.Until(t, what, func() error {
			r := k.store.Get(ep.ID).Observed.Route
			if r == nil || !is(r) {
				return fmt.Errorf("the route is %+v", r)
			}
			return nil
		})
	}
	k.status(inferencePools, accepted())
	k.status(httpRoutes, accepted())
	k.status(authPolicies, map[string]any{"conditions": conditions("Accepted")})
	route("accepted is not enforced", func(r *workload.Route) bool { return !r.Accepted && r.Detail == "" })
	k.status(authPolicies, map[string]any{"conditions": conditions("Accepted", "!Enforced")})
	route("that another policy goes first", func(r *workload.Route) bool {
		return !r.Accepted && r.Detail == "AuthPolicy Overridden: by another"
	})
	if k.led() {
		t.Error("calls are led to the pods though the policy does not hold")
	}
	k.status(authPolicies, map[string]any{"conditions": conditions("Accepted", "Enforced")})
	waittest.For(t, "calls are led to the pods", k.led)
	route("that the gateway carries", func(r *workload.Route) bool { return r.Accepted && r.Detail == "" })

	k.keys(ep.ID, endpointkey.LimitValues{Requests: []int{60, 600}, Tokens: []int{1000}})
	waittest.For(t, "the limits of its keys", func() bool {
		return slices.Equal(k.names(rateLimits), []string{"requests-60", "requests-600", "requests-other"}) &&
			slices.Equal(k.names(tokenLimits), []string{"tokens-1000", "tokens-other"})
	})
	k.status(rateLimits, map[string]any{"conditions": conditions("!Accepted")})
	route("that a limit is refused", func(r *workload.Route) bool {
		return !r.Accepted && r.Detail == "RateLimitPolicy Overridden: by another"
	})
	k.keys(ep.ID, endpointkey.LimitValues{Tokens: []int{500}})
	waittest.For(t, "what no key has is gone, what is new is there", func() bool {
		return k.object(rateLimits) == nil && slices.Equal(k.names(tokenLimits), []string{"tokens-500", "tokens-other"})
	})

	k.status(authPolicies, map[string]any{"conditions": conditions("Accepted", "!Enforced")})
	waittest.For(t, "calls are led nowhere when the policy holds no more", func() bool { return !k.led() })

	if err := k.store.SetDesired(ep.ID, workload.Delete, time.Now()); err != nil {
		t.Fatal(err)
	}
	waittest.For(t, "it ends", func() bool { return k.store.Get(ep.ID).State == workload.Ended })
	for _, r := range []schema.GroupVersionResource{inferencePools, authPolicies, rateLimits, tokenLimits, httpRoutes} {
		if k.object(r) != nil {
			t.Errorf("it has ended, and its %s are left", r.Resource)
		}
	}
}

// siteGateway is the gateway of a site beside a fake cluster, which stores what is said of objects.
func (w *world) siteGateway(client dynamic.Interface) kuadrant {
	return kuadrant{t: w.t, client: client, namespace: namespace, store: w.store,
		say: func(in dynamic.ResourceInterface, o *unstructured.Unstructured) error {
			o.SetResourceVersion(w.cluster.version())
			_, err := in.Update(w.t.Context(), o, metav1.UpdateOptions{})
			return err
		}}
}

// defined is a resource and the API that it is of.
type defined struct {
	api string
	of  schema.GroupVersionResource
}

// realSiteGateway is that of a site on a real API server, which gets the definitions of its objects.
func realSiteGateway(t *testing.T, stack reconciletest.Devstack, definitions ...defined) kuadrant {
	t.Helper()
	for _, d := range definitions {
		define(t, stack, d.api, d.of)
	}
	client, err := dynamic.NewForConfig(stack.Config)
	if err != nil {
		t.Fatal(err)
	}
	return kuadrant{t: t, client: client,
		say: func(in dynamic.ResourceInterface, o *unstructured.Unstructured) error {
			_, err := in.UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
			return err
		}}
}

func TestGuardedEndpoint(t *testing.T) {
	w := newWorld(t)
	client := w.custom()
	k := w.siteGateway(client)
	w.run(k.site, func(o *reconcile.Options) { o.Clusters[0].Client = reconcile.WithCustom(w.cluster, client) })
	k.guard(reconciletest.Endpoint(notebook("ep-a")))
}

// TestDevstackGuardedEndpoint: on a real API server, with Kuadrant's own definitions where they are at hand.
func TestDevstackGuardedEndpoint(t *testing.T) {
	k := realSiteGateway(t, reconciletest.NeedDevstack(t), defined{kube.InferenceAPI, inferencePools},
		defined{kube.GatewayAPI, httpRoutes}, defined{kube.KuadrantAPI, authPolicies},
		defined{kube.KuadrantAPI, rateLimits}, defined{kube.KuadrantTokensAPI, tokenLimits})
	r := newReal(t, func(o *reconcile.Options) { k.site(o) })
	k.namespace, k.store = r.namespace, r.store
	k.guard(reconciletest.Endpoint(r.notebook("ep-a")))
}

// TestGuardWithoutKuadrant: a cluster that has routes and pools, and no policies, starts nothing that nobody would
// guard.
func TestGuardWithoutKuadrant(t *testing.T) {
	w := newWorld(t)
	client := w.custom()
	w.cluster.Resources = slices.DeleteFunc(w.cluster.Resources, func(l *metav1.APIResourceList) bool {
		return l.GroupVersion == kube.KuadrantAPI || l.GroupVersion == kube.KuadrantTokensAPI
	})
	k := &kuadrant{t: t, client: client, namespace: namespace, store: w.store}
	ep := reconciletest.Endpoint(notebook("ep-a"))
	w.store.Put(ep)
	w.run(k.site, func(o *reconcile.Options) { o.Clusters[0].Client = reconcile.WithCustom(w.cluster, client) })
	w.state(ep.ID, workload.Failed)
	if got := w.store.Get(ep.ID).Reason.ID; got != "reconcile.no_kuadrant" {
		t.Errorf("reason %s", got)
	}
	if k.led() {
		t.Error("calls are led to pods that nobody guards")
	}
}
