package reconcile_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	envoyBackends = schema.GroupVersionResource{Group: "gateway.envoyproxy.io", Version: "v1alpha1",
		Resource: "backends"}
	securityPolicies = schema.GroupVersionResource{Group: "gateway.envoyproxy.io", Version: "v1alpha1",
		Resource: "securitypolicies"}
	trafficPolicies = schema.GroupVersionResource{Group: "gateway.envoyproxy.io", Version: "v1alpha1",
		Resource: "backendtrafficpolicies"}
	serviceBackends = schema.GroupVersionResource{Group: "aigateway.envoyproxy.io", Version: "v1beta1",
		Resource: "aiservicebackends"}
	aiRoutes = schema.GroupVersionResource{Group: "aigateway.envoyproxy.io", Version: "v1beta1",
		Resource: "aigatewayroutes"}
)

// envoy is Envoy AI Gateway as the gateway of a site, and what the keys of an endpoint there may take.
type envoy struct{ kuadrant }

func (e *envoy) site(o *reconcile.Options) {
	e.kuadrant.site(o)
	onSite(o, func(s *kube.Site) {
		s.Access.Kuadrant, s.Access.EnvoyAIGateway = false, true
		s.ModelGateway.Kind = kube.GatewayEnvoyAI
	})
}

// host is where calls are led.
func (e *envoy) host() string {
	o := e.object(envoyBackends)
	if o == nil {
		return ""
	}
	endpoints, _, _ := unstructured.NestedSlice(o.Object, "spec", "endpoints")
	host, _, _ := unstructured.NestedString(endpoints[0].(map[string]any), "fqdn", "hostname")
	return host
}

func (e *envoy) rules() int {
	o := e.object(trafficPolicies)
	if o == nil {
		return 0
	}
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rateLimit", "global", "rules")
	return len(rules)
}

// of is the status of a policy.
func of(list ...string) map[string]any {
	return map[string]any{"ancestors": []any{map[string]any{"controllerName": "gateway.envoyproxy.io/gatewayclass-controller",
		"ancestorRef": map[string]any{"name": "models"}, "conditions": conditions(list...)}}}
}

// guard is the life of an endpoint there: calls are led to its pods only while the gateway asks about keys; limits
// follow the keys; all of it goes with the endpoint.
func (e *envoy) guard(ep workload.Workload) {
	t := e.t
	t.Helper()
	e.store.Put(ep)
	waittest.For(t, "the policy and the route", func() bool {
		return e.object(securityPolicies) != nil && e.object(aiRoutes) != nil && e.object(serviceBackends) != nil
	})
	const nowhere = "unguarded.invalid"
	if got := e.host(); got != nowhere || e.rules() != 0 {
		t.Errorf("calls are led to %s, and nobody asks for a key; %d limits", got, e.rules())
	}
	route := func(what string, is func(*workload.Route) bool) {
		t.Helper()
		waittest.Until(t, what, func() error {
			r := e.store.Get(ep.ID).Observed.Route
			if r == nil || !is(r) {
				return fmt.Errorf("the route is %+v", r)
			}
			return nil
		})
	}
	for _, r := range []schema.GroupVersionResource{envoyBackends, serviceBackends, aiRoutes} {
		e.status(r, map[string]any{"conditions": conditions("Accepted")})
	}
	e.status(securityPolicies, of("!Accepted"))
	route("that the policy is refused", func(r *workload.Route) bool {
		return !r.Accepted && r.Detail == "SecurityPolicy Overridden: by another" && r.Address == "https://ep-a.models.example.org"
	})
	if got := e.host(); got != nowhere {
		t.Errorf("calls are led to %s though the policy does not hold", got)
	}
	e.status(securityPolicies, of("Accepted"))
	waittest.For(t, "calls are led to the pods", func() bool { return e.host() == "ep-a."+e.namespace+".svc" })
	e.status(aiRoutes, map[string]any{"conditions": conditions("NotAccepted")})
	route("that the route is refused", func(r *workload.Route) bool {
		return !r.Accepted && r.Detail == "AIGatewayRoute Overridden: by another"
	})
	e.status(aiRoutes, map[string]any{"conditions": conditions("Accepted")})

	e.keys(ep.ID, endpointkey.LimitValues{Requests: []int{60, 600}, Tokens: []int{1000}})
	waittest.For(t, "the limits of its keys", func() bool { return e.rules() == 5 })
	e.keys(ep.ID, endpointkey.LimitValues{})
	waittest.For(t, "what no key has is gone", func() bool { return e.object(trafficPolicies) == nil })

	e.status(securityPolicies, of("!Accepted"))
	waittest.For(t, "calls are led nowhere when the policy holds no more", func() bool { return e.host() == nowhere })
	if err := e.store.SetDesired(ep.ID, workload.Delete, time.Now()); err != nil {
		t.Fatal(err)
	}
	waittest.For(t, "it ends", func() bool { return e.store.Get(ep.ID).State == workload.Ended })
	for _, r := range []schema.GroupVersionResource{envoyBackends, serviceBackends, securityPolicies, trafficPolicies,
		aiRoutes} {
		list, err := e.client.Resource(r).Namespace(e.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) > 0 {
			t.Errorf("it has ended, and its %s are left: %v", r.Resource, err)
		}
	}
}

func TestEndpointAtEnvoyAIGateway(t *testing.T) {
	w := newWorld(t)
	client := w.custom()
	e := &envoy{kuadrant{t: t, client: client, namespace: namespace, store: w.store,
		say: func(in dynamic.ResourceInterface, o *unstructured.Unstructured) error {
			o.SetResourceVersion(w.cluster.version())
			_, err := in.Update(t.Context(), o, metav1.UpdateOptions{})
			return err
		}}}
	w.run(e.site, func(o *reconcile.Options) { o.Clusters[0].Client = reconcile.WithCustom(w.cluster, client) })
	e.guard(reconciletest.Endpoint(notebook("ep-a")))
}

// TestDevstackEndpointAtEnvoyAIGateway: on a real API server, with the real definitions where they are at hand.
func TestDevstackEndpointAtEnvoyAIGateway(t *testing.T) {
	stack := reconciletest.NeedDevstack(t)
	for _, d := range []struct {
		api string
		of  schema.GroupVersionResource
	}{{kube.EnvoyAPI, envoyBackends}, {kube.EnvoyAPI, securityPolicies}, {kube.EnvoyAPI, trafficPolicies},
		{kube.EnvoyAIAPI, serviceBackends}, {kube.EnvoyAIAPI, aiRoutes}} {
		define(t, stack, d.api, d.of)
	}
	client, err := dynamic.NewForConfig(stack.Config)
	if err != nil {
		t.Fatal(err)
	}
	e := &envoy{kuadrant{t: t, client: client,
		say: func(in dynamic.ResourceInterface, o *unstructured.Unstructured) error {
			_, err := in.UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
			return err
		}}}
	r := newReal(t, func(o *reconcile.Options) { e.site(o) })
	e.namespace, e.store = r.namespace, r.store
	e.guard(reconciletest.Endpoint(r.notebook("ep-a")))
}

// TestEnvoyAIGatewayIsNotThere: an endpoint does not start where nothing would guard it.
func TestEnvoyAIGatewayIsNotThere(t *testing.T) {
	w := newWorld(t)
	client := w.custom()
	w.cluster.Resources = slices.DeleteFunc(w.cluster.Resources, func(l *metav1.APIResourceList) bool {
		return l.GroupVersion == kube.EnvoyAIAPI
	})
	e := &envoy{kuadrant{t: t, client: client, namespace: namespace, store: w.store}}
	ep := reconciletest.Endpoint(notebook("ep-a"))
	w.store.Put(ep)
	w.run(e.site, func(o *reconcile.Options) { o.Clusters[0].Client = reconcile.WithCustom(w.cluster, client) })
	w.state(ep.ID, workload.Failed)
	if got := w.store.Get(ep.ID).Reason.ID; got != "reconcile.no_envoy_ai_gateway" {
		t.Errorf("reason %s", got)
	}
}
