package reconcile

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// routeOf is what the gateway of the site says of the way to an endpoint; nil where there is none.
func (l *loop) routeOf(w workload.Workload) *workload.Route {
	g := l.o.KubeSite(l.name).ModelGateway
	if !g.Publishes() || !kube.CanPublish(w) {
		return nil
	}
	seen := workload.Route{Address: g.URL(w.Namespace, w.Name), Accepted: true}
	for _, kind := range []string{kube.HTTPRouteKind, kube.InferencePoolKind} {
		found, ok := l.caches().cached(Key{Kind: kind, Namespace: w.Namespace, Name: w.Name})
		o, is := found.(*unstructured.Unstructured)
		if !ok || !is || kube.OwnerOf(o.GetAnnotations()).Workload != w.ID {
			return nil
		}
		if refused, told := refusal(o); seen.Detail == "" {
			seen.Accepted, seen.Detail = seen.Accepted && told && refused == "", refused
		}
	}
	return &seen
}

// refusal is why a gateway does not take an HTTPRoute or InferencePool; told is false while none has said anything.
func refusal(o *unstructured.Unstructured) (words string, told bool) {
	parents, _, _ := unstructured.NestedSlice(o.Object, "status", "parents")
	for _, p := range parents {
		parent, _ := p.(map[string]any)
		conditions, _, _ := unstructured.NestedSlice(parent, "conditions")
		for _, c := range conditions {
			condition, _ := c.(map[string]any)
			switch condition["type"] {
			case "Accepted", "ResolvedRefs":
			default:
				continue
			}
			told = true
			if condition["status"] == string(metav1.ConditionFalse) {
				reason, _ := condition["reason"].(string)
				message, _ := condition["message"].(string)
				return o.GetKind() + " " + reason + ": " + message, true
			}
		}
	}
	return "", told
}
