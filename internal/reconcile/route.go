package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// routeOf is what the gateway of the site says of the way to an endpoint; nil where there is none.
func (l *loop) routeOf(w workload.Workload) *workload.Route {
	g := l.o.KubeSite(l.name).ModelGateway
	if !g.Publishes() || !kube.CanPublish(w) {
		return nil
	}
	seen := workload.Route{Address: g.URL(w.Namespace, w.Name), Accepted: true, AsksForKeys: g.AsksForKeys()}
	for _, ref := range kube.RouteNames(w) {
		o := l.ofRoute(ref.Kind, ref.Name, w)
		if o == nil && g.Needs(ref.Kind) {
			return nil
		}
		if o == nil {
			seen.Accepted = seen.Accepted && !g.Makes(ref.Kind)
			continue
		}
		if refused, told := refusal(o); seen.Detail == "" {
			seen.Accepted, seen.Detail = seen.Accepted && told && refused == "", refused
		}
	}
	return &seen
}

// ofRoute is an object of a workload at a gateway of the site; nil for none.
func (l *loop) ofRoute(kind, name string, w workload.Workload) *unstructured.Unstructured {
	found, ok := l.caches().cached(Key{Kind: kind, Namespace: w.Namespace, Name: name})
	o, is := found.(*unstructured.Unstructured)
	if !ok || !is || kube.OwnerOf(o.GetAnnotations()).Workload != w.ID {
		return nil
	}
	return o
}

// guarded reports whether the gateway keeps everybody from an endpoint whom the portal does not let in.
func (l *loop) guarded(w workload.Workload, g kube.ModelGateway) bool {
	kind := kube.AuthPolicyKind
	if g.Needs(kube.SecurityPolicyKind) {
		kind = kube.SecurityPolicyKind
	}
	o := l.ofRoute(kind, w.Name, w)
	if o == nil || o.GetDeletionTimestamp() != nil {
		return false
	}
	refused, told := refusal(o)
	return told && refused == ""
}

// keyLimits are what policies of an endpoint are made of; none where no gateway reads them.
func (l *loop) keyLimits(ctx context.Context, w workload.Workload,
	g kube.ModelGateway) (endpointkey.LimitValues, error) {
	if l.o.KeyLimits == nil || !g.AsksForKeys() || !kube.CanPublish(w) {
		return endpointkey.LimitValues{}, nil
	}
	return l.o.KeyLimits(ctx, w.ID)
}

// refusal is why a gateway does not take an object of an endpoint; told is false while it has not said that it does.
func refusal(o *unstructured.Unstructured) (words string, told bool) {
	switch o.GetKind() {
	case kube.AuthPolicyKind, kube.RateLimitPolicyKind, kube.TokenRateLimitPolicyKind:
		return refusedPolicy(o)
	}
	for _, c := range conditionsOf(o) {
		condition, _ := c.(map[string]any)
		isTrue := condition["status"] == string(metav1.ConditionTrue)
		switch condition["type"] {
		case "Accepted", "ResolvedRefs":
			told = true
			if condition["status"] == string(metav1.ConditionFalse) {
				return conditionWords(o, condition), true
			}
		case "NotAccepted": // of Envoy AI Gateway, in place of Accepted
			if isTrue {
				return conditionWords(o, condition), true
			}
		}
	}
	return "", told
}

// conditionsOf are those of an object itself, of the gateways that a route or pool belongs to (parents), and of those
// that a policy does (ancestors).
func conditionsOf(o *unstructured.Unstructured) []any {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, of := range []string{"parents", "ancestors"} {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", of)
		for _, p := range list {
			parent, _ := p.(map[string]any)
			conditions, _, _ := unstructured.NestedSlice(parent, "conditions")
			all = append(all, conditions...)
		}
	}
	return all
}

// refusedPolicy is why a policy of Kuadrant does not hold: one that is accepted limits nothing before it is enforced.
func refusedPolicy(o *unstructured.Unstructured) (words string, told bool) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] != "Accepted" && condition["type"] != "Enforced" {
			continue
		}
		if condition["status"] == string(metav1.ConditionFalse) {
			return conditionWords(o, condition), true
		}
		told = told || condition["type"] == "Enforced" && condition["status"] == string(metav1.ConditionTrue)
	}
	return "", told
}

func conditionWords(o *unstructured.Unstructured, condition map[string]any) string {
	reason, _ := condition["reason"].(string)
	message, _ := condition["message"].(string)
	return o.GetKind() + " " + reason + ": " + message
}
