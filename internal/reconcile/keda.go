package reconcile

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// scaledTo is how many replicas KEDA, or somebody else, has set on the Deployment of an endpoint that KEDA scales; 0
// where it does not, or where there is none.
func (l *loop) scaledTo(w workload.Workload) int {
	if !w.ScaledByKEDA() {
		return 0
	}
	return int(replicasOf(l.gather(w).deployment))
}

func replicasOf(d *appsv1.Deployment) int32 {
	if d == nil || d.Spec.Replicas == nil {
		return 0
	}
	return *d.Spec.Replicas
}

// scaledByOther keeps with a rendered Deployment how many replicas it was rendered with.
func scaledByOther(w workload.Workload, objects []Object) []Object {
	if !w.ScaledByKEDA() {
		return objects
	}
	for i, o := range objects {
		if spec, ok := o.content["spec"].(map[string]any); ok && o.Kind == "Deployment" {
			if n, ok := spec["replicas"].(float64); ok {
				objects[i].replicas = int32(n)
			}
		}
	}
	return objects
}

// rescaled reports whether KEDA has set another number of replicas since an object was rendered, which must not be
// taken back.
func (o Object) rescaled(found metav1.Object) bool {
	d, ok := found.(*appsv1.Deployment)
	return ok && o.replicas > 0 && replicasOf(d) != o.replicas
}

// autoscaler is what KEDA does to an endpoint; nil where it does not scale it. Nothing is known before its ScaledObject
// is there.
func (l *loop) autoscaler(w workload.Workload, m ownedObjects) *workload.Autoscaler {
	if !w.ScaledByKEDA() || m.deployment == nil {
		return nil
	}
	scaled := l.ofWorkload(kube.ScaledObjectKind, w)
	if len(scaled) == 0 {
		return nil
	}
	return &workload.Autoscaler{Replicas: int(replicasOf(m.deployment)),
		Detail: kedaTrouble(scaled[0].(*unstructured.Unstructured))}
}

// kedaTrouble is what KEDA says of a ScaledObject by which it cannot scale; "" for nothing.
func kedaTrouble(scaled *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(scaled.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] == "Ready" && condition["status"] == string(metav1.ConditionFalse) {
			message, _ := condition["message"].(string)
			return message
		}
	}
	return ""
}
