package reconcile_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
type envoy struct {
	kuadrant
	givenUp atomic.Bool                             // the site goes back to the portal's own gateway
	version func(*unstructured.Unstructured) string // of an object that is edited
}

func (e *envoy) site(o *reconcile.Options) {
	e.kuadrant.site(o)
	onSite(o, func(s *kube.Site) {
		s.Access.Kuadrant, s.Access.EnvoyAIGateway = false, true
		s.ModelGateway.Kind = kube.GatewayEnvoyAI
		if e.givenUp.Load() {
			s.ModelGateway = kube.ModelGateway{Kind: kube.GatewayEmbedded}
		}
	})
}

// controller makes the HTTPRoute of the AIGatewayRoute, as Envoy AI Gateway does: with its name, labels and
// annotations.
func (e *envoy) controller() {
	e.t.Helper()
	of := e.object(aiRoutes)
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	for _, field := range []string{"parentRefs", "hostnames"} {
		made.Object["spec"].(map[string]any)[field] = of.Object["spec"].(map[string]any)[field]
	}
	made.SetAPIVersion(kube.GatewayAPI)
	made.SetKind(kube.HTTPRouteKind)
	made.SetName(of.GetName())
	made.SetNamespace(of.GetNamespace())
	made.SetLabels(of.GetLabels())
	made.SetAnnotations(of.GetAnnotations())
	made.SetUID("made-of-" + of.GetUID()) // a real API server gives its own
	made.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(of, of.GroupVersionKind())})
	_, err := e.client.Resource(httpRoutes).Namespace(e.namespace).Create(e.t.Context(), made, metav1.CreateOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
}

// asked says that the gateway can ask the portal about keys.
func (e *envoy) asked() {
	e.t.Helper()
	in := e.client.Resource(envoyBackends).Namespace(e.namespace)
	waittest.Until(e.t, "the status of the portal's Backend", func() error {
		o, err := in.Get(e.t.Context(), "ep-a.key", metav1.GetOptions{})
		if err != nil {
			return err
		}
		o = o.DeepCopy()
		o.Object["status"] = map[string]any{"conditions": conditions("Accepted")}
		return e.say(in, o)
	})
}

// written are the objects of the portal at the gateway.
var written = []schema.GroupVersionResource{envoyBackends, serviceBackends, securityPolicies, trafficPolicies, aiRoutes}

// left are the resources of which there are still some.
func (e *envoy) left(resources ...schema.GroupVersionResource) (left []string) {
	e.t.Helper()
	for _, r := range resources {
		list, err := e.client.Resource(r).Namespace(e.namespace).List(e.t.Context(), metav1.ListOptions{})
		if err != nil {
			e.t.Fatal(err)
		}
		if len(list.Items) > 0 {
			left = append(left, r.Resource)
		}
	}
	return left
}

// edit changes an object by hand, as somebody with kubectl does.
func (e *envoy) edit(r schema.GroupVersionResource, value any, path ...string) {
	e.t.Helper()
	waittest.Until(e.t, "an edit of "+r.Resource, func() error {
		o := e.object(r).DeepCopy()
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			return err
		}
		o.SetResourceVersion(e.version(o))
		_, err := e.client.Resource(r).Namespace(e.namespace).Update(e.t.Context(), o, metav1.UpdateOptions{})
		return err
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
	return map[string]any{"ancestors": []any{map[string]any{
		"controllerName": "gateway.envoyproxy.io/gatewayclass-controller", "ancestorRef": map[string]any{"name": "models"},
		"conditions": conditions(list...)}}}
}

// guard is the life of an endpoint there: calls are led to its pods only while the gateway asks about keys; limits
// follow the keys; all of it goes with the endpoint.
func (e *envoy) guard(ep workload.Workload) {
	t := e.t
	t.Helper()
	e.store.Put(ep)
	waittest.For(t, "the policy and the route", func() bool {
		return e.object(securityPolicies) != nil && e.object(aiRoutes) != nil &&
			e.object(serviceBackends) != nil && e.object(envoyBackends) != nil
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
	e.asked()
	e.controller()
	uid := e.object(httpRoutes).GetUID()
	e.status(securityPolicies, of("!Accepted"))
	route("that the policy is refused", func(r *workload.Route) bool {
		return !r.Accepted && r.Detail == "SecurityPolicy Overridden: by another" &&
			r.Address == "https://ep-a.models.example.org"
	})
	if got := e.host(); got != nowhere {
		t.Errorf("calls are led to %s though the policy does not hold", got)
	}
	e.status(securityPolicies, of("Accepted"))
	route("that no listener has said anything", func(r *workload.Route) bool { return !r.Accepted && r.Detail == "" })
	refused := accepted()
	refused["parents"].([]any)[0].(map[string]any)["conditions"] = conditions("!Accepted")
	e.status(httpRoutes, refused)
	route("that no listener takes the route", func(r *workload.Route) bool {
		return !r.Accepted && r.Detail == "HTTPRoute Overridden: by another"
	})
	e.status(httpRoutes, accepted())
	waittest.For(t, "calls are led to the pods", func() bool { return e.host() == "ep-a."+e.namespace+".svc" })
	e.status(aiRoutes, map[string]any{"conditions": conditions("NotAccepted")})
	route("that the route is refused", func(r *workload.Route) bool {
		return !r.Accepted && r.Detail == "AIGatewayRoute Overridden: by another"
	})
	e.status(aiRoutes, map[string]any{"conditions": conditions("Accepted")})
	route("that the gateway carries", func(r *workload.Route) bool { return r.Accepted && r.Detail == "" })
	e.edit(securityPolicies, true, "spec", "extAuth", "failOpen")
	waittest.For(t, "a change by hand is taken back", func() bool {
		open, _, _ := unstructured.NestedBool(e.object(securityPolicies).Object, "spec", "extAuth", "failOpen")
		return !open
	})

	e.keys(ep.ID, endpointkey.LimitValues{Requests: []int{60, 600}, Tokens: []int{1000}})
	waittest.For(t, "the limits of its keys", func() bool { return e.rules() == 5 })
	e.keys(ep.ID, endpointkey.LimitValues{})
	waittest.For(t, "what no key has is gone", func() bool { return e.object(trafficPolicies) == nil })

	e.status(securityPolicies, of("!Accepted"))
	waittest.For(t, "calls are led nowhere when the policy holds no more", func() bool { return e.host() == nowhere })
	if made := e.object(httpRoutes); made == nil || made.GetUID() != uid {
		t.Error("the portal took away what the gateway made of its route")
	}

	e.givenUp.Store(true)
	waittest.For(t, "all of it goes with the setting", func() bool { return len(e.left(written...)) == 0 })
	waittest.For(t, "there is no route", func() bool { return e.store.Get(ep.ID).Observed.Route == nil })
	waittest.For(t, "what was made of it goes too", func() bool { return e.object(httpRoutes) == nil })
	e.givenUp.Store(false)
	waittest.For(t, "it comes back, and leads nowhere yet", func() bool {
		return e.host() == nowhere && e.object(aiRoutes) != nil
	})
	if err := e.store.SetDesired(ep.ID, workload.Delete, time.Now()); err != nil {
		t.Fatal(err)
	}
	waittest.For(t, "it ends", func() bool { return e.store.Get(ep.ID).State == workload.Ended })
	if left := e.left(written...); len(left) > 0 {
		t.Errorf("it has ended, and these are left: %v", left)
	}
}

func TestEndpointAtEnvoyAIGateway(t *testing.T) {
	w := newWorld(t)
	client := w.custom()
	e := &envoy{version: func(*unstructured.Unstructured) string { return w.cluster.version() },
		kuadrant: w.siteGateway(client)}
	w.run(e.site, func(o *reconcile.Options) { o.Clusters[0].Client = reconcile.WithCustom(w.cluster, client) })
	e.guard(reconciletest.Endpoint(notebook("ep-a")))
}

// TestDevstackEndpointAtEnvoyAIGateway: on a real API server, with the real definitions where they are at hand.
func TestDevstackEndpointAtEnvoyAIGateway(t *testing.T) {
	e := &envoy{version: (*unstructured.Unstructured).GetResourceVersion,
		kuadrant: realSiteGateway(t, reconciletest.NeedDevstack(t), defined{kube.EnvoyAPI, envoyBackends},
			defined{kube.EnvoyAPI, securityPolicies}, defined{kube.EnvoyAPI, trafficPolicies},
			defined{kube.EnvoyAIAPI, serviceBackends}, defined{kube.EnvoyAIAPI, aiRoutes},
			defined{kube.GatewayAPI, httpRoutes})}
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
	e := &envoy{kuadrant: kuadrant{t: t, client: client, namespace: namespace, store: w.store}}
	ep := reconciletest.Endpoint(notebook("ep-a"))
	w.store.Put(ep)
	w.run(e.site, func(o *reconcile.Options) { o.Clusters[0].Client = reconcile.WithCustom(w.cluster, client) })
	w.state(ep.ID, workload.Failed)
	if got := w.store.Get(ep.ID).Reason.ID; got != "reconcile.no_envoy_ai_gateway" {
		t.Errorf("reason %s", got)
	}
}
