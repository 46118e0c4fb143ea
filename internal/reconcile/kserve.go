package reconcile

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/watchlist"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// clientset is a client that knows custom resources as well.
type clientset struct {
	kubernetes.Interface
	custom dynamic.Interface
}

// IsWatchListSemanticsUnSupported hands on what a fake client tells reflectors: it cannot begin a watch with a list.
func (c clientset) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(c.Interface)
}

// custom is the custom resources of one kind in one namespace. They are JSON, for they have no protobuf.
type custom struct {
	resource schema.GroupVersionResource
	client   dynamic.ResourceInterface // nil where the client knows no custom resources
}

var (
	inferenceServices = schema.GroupVersionResource{Group: "serving.kserve.io", Version: "v1beta1",
		Resource: "inferenceservices"}
	jobSets          = schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}
	leaderWorkerSets = schema.GroupVersionResource{Group: "leaderworkerset.x-k8s.io", Version: "v1",
		Resource: "leaderworkersets"}
	scaledObjects   = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	triggerAccesses = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1",
		Resource: "triggerauthentications"}
	volumeSnapshots = schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1",
		Resource: "volumesnapshots"}
	inferencePools = schema.GroupVersionResource{Group: "inference.networking.k8s.io", Version: "v1",
		Resource: "inferencepools"}
	httpRoutes   = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
	authPolicies = schema.GroupVersionResource{Group: "kuadrant.io", Version: "v1", Resource: "authpolicies"}
	rateLimits   = schema.GroupVersionResource{Group: "kuadrant.io", Version: "v1", Resource: "ratelimitpolicies"}
	tokenLimits  = schema.GroupVersionResource{Group: "kuadrant.io", Version: "v1alpha1",
		Resource: "tokenratelimitpolicies"}
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

func customIn(c kubernetes.Interface, resource schema.GroupVersionResource, namespace string) custom {
	if both, ok := c.(clientset); ok {
		return custom{resource, both.custom.Resource(resource).Namespace(namespace)}
	}
	return custom{resource: resource}
}

// customKind is a kind of custom resources in the table.
func customKind(name, api string, resource schema.GroupVersionResource) kind {
	return kind{name: name, api: api,
		watch:   func(c kubernetes.Interface, ns string) source { return customIn(c, resource, ns) },
		clients: func(c kubernetes.Interface, ns string) client { return customIn(c, resource, ns) }}
}

// absent is what the API server answers that has no such resource.
func (i custom) absent(name string) error {
	if i.client != nil {
		return nil
	}
	return apierrors.NewNotFound(i.resource.GroupResource(), name)
}

func (i custom) get(ctx context.Context, name string) (metav1.Object, error) {
	if err := i.absent(name); err != nil {
		return nil, err
	}
	return i.client.Get(ctx, name, metav1.GetOptions{})
}

func (i custom) patch(ctx context.Context, name string, how types.PatchType, body []byte,
	opts metav1.PatchOptions) (metav1.Object, error) {
	if err := i.absent(name); err != nil {
		return nil, err
	}
	return i.client.Patch(ctx, name, how, body, opts)
}

func (i custom) remove(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	if err := i.absent(name); err != nil {
		return err
	}
	return i.client.Delete(ctx, name, opts)
}

func (i custom) list(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	if err := i.absent(""); err != nil {
		return nil, err
	}
	opts.LabelSelector = ourSelector
	return i.client.List(ctx, opts)
}

func (i custom) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	if err := i.absent(""); err != nil {
		return nil, err
	}
	opts.LabelSelector = ourSelector
	return i.client.Watch(ctx, opts)
}

// hasAPI asks for an API itself: rights on what is behind it are there in tenants' namespaces only.
func hasAPI(client kubernetes.Interface, api string) (bool, error) {
	_, err := client.Discovery().ServerResourcesForGroupVersion(api)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return false, nil
	}
	return err == nil, err
}

// asInference is an InferenceService; nil for anything else.
func asInference(o metav1.Object) *unstructured.Unstructured {
	if u, ok := o.(*unstructured.Unstructured); ok && u != nil && u.GetKind() == kube.InferenceServiceKind {
		return u
	}
	return nil
}

// predictor is the Deployment that KServe has made of an InferenceService; nil before.
func (l *loop) predictor(service metav1.Object) *appsv1.Deployment {
	found, ok := l.caches().cached(Key{Kind: "Deployment", Namespace: service.GetNamespace(),
		Name: service.GetName() + workload.PredictorSuffix})
	if !ok {
		return nil
	}
	if owner := metav1.GetControllerOf(found); owner == nil || owner.UID != service.GetUID() {
		return nil
	}
	return found.(*appsv1.Deployment)
}

// madeSuffix is what the operators append to the name of an object of ours for those that they make of it.
var madeSuffix = map[string]string{kube.InferenceServiceKind: workload.PredictorSuffix,
	kube.JobSetKind: workload.NodesSuffix, kube.AIGatewayRouteKind: ""}

// madeOf is the InferenceService, JobSet, LeaderWorkerSet or AIGatewayRoute of ours that an operator has made an object
// of: a Deployment, a Service, a Job, a StatefulSet or an HTTPRoute, which carry the labels and the record of ours. nil
// for an object that nobody has made so.
func (l *loop) madeOf(o metav1.Object) metav1.Object {
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return nil
	}
	if owner.Kind == kube.LeaderWorkerSetKind || owner.Kind == "Pod" {
		return l.groupOf(o)
	}
	suffix, known := madeSuffix[owner.Kind]
	if !known || o.GetName() != owner.Name+suffix ||
		owner.Kind == kube.AIGatewayRouteKind && kindOf(o) != kube.HTTPRouteKind {
		return nil
	}
	found, ok := l.caches().cached(Key{Kind: owner.Kind, Namespace: o.GetNamespace(), Name: owner.Name})
	if !ok || found.GetUID() != owner.UID {
		return nil
	}
	return found
}

// minReplicas is how many pods an InferenceService asks for.
func minReplicas(service *unstructured.Unstructured) int32 {
	n, found, err := unstructured.NestedInt64(service.Object, "spec", "predictor", "minReplicas")
	if err != nil || !found {
		return 1
	}
	return int32(n)
}

// predictorTemplate is the pod that an InferenceService asks for; on a ServingRuntime it is what the portal adds to it.
func predictorTemplate(service *unstructured.Unstructured) (t corev1.PodTemplateSpec) {
	spec, _, _ := unstructured.NestedMap(service.Object, "spec", "predictor")
	t.Labels, _, _ = unstructured.NestedStringMap(spec, "labels")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &t.Spec); err != nil {
		return corev1.PodTemplateSpec{ObjectMeta: t.ObjectMeta} // somebody has broken it, and it will be repaired
	}
	model, onRuntime, _ := unstructured.NestedMap(spec, "model")
	var c corev1.Container
	if onRuntime && runtime.DefaultUnstructuredConverter.FromUnstructured(model, &c) == nil {
		t.Spec.Containers = append(t.Spec.Containers, c)
	}
	return t
}

// takenUp reports whether the Deployment is made of what the InferenceService now says.
func takenUp(service *unstructured.Unstructured, d *appsv1.Deployment) bool {
	want, _, _ := unstructured.NestedString(service.Object, "spec", "predictor", "annotations", kube.TemplateKey)
	return d != nil && d.Spec.Template.Annotations[kube.TemplateKey] == want && d.Spec.Replicas != nil &&
		*d.Spec.Replicas == minReplicas(service)
}

// inferenceTrouble is what KServe says of an InferenceService that is not ready; "" for nothing.
func inferenceTrouble(service *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
	words := ""
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		message, _ := condition["message"].(string)
		if condition["status"] == string(metav1.ConditionFalse) && message != "" && (words == "" ||
			condition["type"] == "PredictorReady") {
			words = message
		}
	}
	return words
}
