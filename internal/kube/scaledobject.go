package kube

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// What KEDA calls its objects, as of v2.20 (apis/keda/v1alpha1 of kedacore/keda).
const (
	KEDAAPI                   = "keda.sh/v1alpha1"
	ScaledObjectKind          = "ScaledObject"
	TriggerAuthenticationKind = "TriggerAuthentication"
)

// KEDA is how KEDA in a cluster reaches the portal.
type KEDA struct {
	// where KEDA asks for the load of an endpoint, http[s]://HOST[:PORT]; default the portal's own address
	Address string `json:"address,omitempty"`
}

// Check says what is wrong with the settings.
func (k KEDA) Check() error {
	if k.Address != "" && !isAddress(k.Address) {
		return fmt.Errorf("address: want http[s]://HOST[:PORT], got %q", k.Address)
	}
	return nil
}

// longestWindow is the longest stabilization window of a HorizontalPodAutoscaler (pkg/apis/autoscaling/validation of
// Kubernetes).
const longestWindow = time.Hour

// loadEvery is how often KEDA asks for the load; the HorizontalPodAutoscaler asks every 15 seconds besides.
const loadEvery = 30 * time.Second

// loadKey is the key of the Secret with the token by which KEDA asks.
const loadKey = "token"

// ScalingName is the name of the Secret with the token by which KEDA asks for the load of an endpoint.
func ScalingName(w workload.Workload) string { return w.Name + ".scaling" }

// scaling hands the number of replicas to KEDA: a ScaledObject, and what lets it ask the portal for the load. Nothing
// for an endpoint that KEDA does not scale, and for one that sleeps: the portal's gateway holds the request that wakes
// it, so that zero stays the portal's.
func (r renderer) scaling() []Object {
	if !r.Workload.ScaledByKEDA() {
		return nil
	}
	meta := r.meta()
	meta.Name = ScalingName(r.Workload)
	token := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta,
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{loadKey: []byte(r.LoadToken)}}
	access := r.custom(KEDAAPI, TriggerAuthenticationKind, map[string]any{"secretTargetRef": []any{
		map[string]any{"parameter": "token", "name": meta.Name, "key": loadKey}}})
	return []Object{token, access, r.scaledObject()}
}

// scaledObject bounds the number by what the owner agreed to and by what there is room for now. The load and its target
// are those by which the portal scales itself: a sum over all replicas, and what each of them is there for.
func (r renderer) scaledObject() *unstructured.Unstructured {
	w := r.Workload
	p := w.Replicas.Scaling
	window := min(p.ScaleDownAfter.Std(), longestWindow)
	return r.custom(KEDAAPI, ScaledObjectKind, map[string]any{
		"scaleTargetRef":  map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": w.Name},
		"pollingInterval": int64(loadEvery / time.Second),
		"minReplicaCount": int64(w.Replicas.Least()),
		"maxReplicaCount": int64(w.Replicas.Top()),
		"advanced": map[string]any{"horizontalPodAutoscalerConfig": map[string]any{"behavior": map[string]any{
			"scaleDown": map[string]any{"stabilizationWindowSeconds": int64(window / time.Second)}}}},
		"triggers": []any{map[string]any{
			"type": "metrics-api", "name": string(p.Metric), "metricType": "AverageValue",
			"metadata": map[string]any{"url": autoscale.LoadURL(r.Site.KEDA.Address, string(w.ID)),
				"valueLocation": autoscale.LoadField, "targetValue": strconv.FormatFloat(p.Target, 'f', -1, 64),
				"authMode": "bearer"},
			"authenticationRef": map[string]any{"name": w.Name},
		}},
	})
}
