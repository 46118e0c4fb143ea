package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// What KServe calls itself, as of v0.20 (pkg/constants of kserve/kserve).
const (
	KServeAPI            = "serving.kserve.io/v1beta1"
	InferenceServiceKind = "InferenceService"
	// KServeContainer is the name that KServe gives the container that serves, whatever it was called before.
	KServeContainer = "kserve-container"

	deploymentModeKey = "serving.kserve.io/deploymentMode"
	autoscalerKey     = "serving.kserve.io/autoscalerClass"
	visibilityLabel   = "networking.kserve.io/visibility"

	// rawDeployment is called Standard from v0.16 on; KServe still takes the older name, and writes it nowhere anew.
	rawDeployment = "RawDeployment"
	noAutoscaler  = "none" // replicas are the predictor's minReplicas, and no HPA is made
	clusterLocal  = "cluster-local"
)

// maxKServeName keeps the label "isvc.NAME-predictor" of KServe's pods within 63 characters.
const maxKServeName = 48

// TemplateKey is the annotation of what KServe makes that changes with the pod that was asked for: by it one knows that
// KServe has taken up what its InferenceService says.
const TemplateKey = LabelPrefix + "template"

// Serves reports whether a container of this name is the one that a workload's image runs in.
func Serves(container string) bool { return container == ContainerName || container == KServeContainer }

// MainContainer is the name of the container that a workload's image runs in.
func MainContainer(w workload.Workload) string {
	if w.Image.NeedsKServe() {
		return KServeContainer
	}
	return ContainerName
}

// predictor is the part of an InferenceService's spec that the portal writes: a container of the portal's own making
// or what it adds to that of a ServingRuntime, with everything that a pod may have beside it.
type predictor struct {
	Labels             map[string]string         `json:"labels"`
	Annotations        map[string]string         `json:"annotations"`
	MinReplicas        int32                     `json:"minReplicas"`
	MaxReplicas        int32                     `json:"maxReplicas"`
	DeploymentStrategy appsv1.DeploymentStrategy `json:"deploymentStrategy"`
	Model              *servingModel             `json:"model,omitempty"` // in place of containers
	corev1.PodSpec     `json:",inline"`
}

// inferenceService runs an endpoint on KServe, without Knative: KServe makes a Deployment of it, with the same pods as
// those of deployment. The portal sets how many there are, so KServe's autoscaler is off; zero stops it. The annotation
// serving.kserve.io/stop would delete the Deployment, and with it the way to find pods that still hold a GPU.
// Revisions, canaries and who gets which call are the portal's as well: spec.canary and canaryTrafficPercent are never
// set. No route leads to it but the portal's own gateway.
func (r renderer) inferenceService() (*unstructured.Unstructured, error) {
	meta, template := r.runnerMeta(), r.template()
	meta.Annotations[deploymentModeKey], meta.Annotations[autoscalerKey] = rawDeployment, noAutoscaler
	meta.Labels[visibilityLabel] = clusterLocal
	replicas := *r.replicas()
	var model *servingModel
	made := []any{&template}
	if r.Workload.Image.OnServingRuntime() {
		model = r.servingModel(&template)
		made = append(made, model)
	}
	notes := maps.Clone(template.Annotations)
	for _, key := range changing {
		notes[key] = ""
	}
	if r.Published {
		notes[PublishedKey] = ""
	}
	var err error
	if notes[TemplateKey], err = printOf(made...); err != nil {
		return nil, err
	}
	spec := predictor{Labels: template.Labels, Annotations: notes, MinReplicas: replicas,
		MaxReplicas: max(1, replicas, int32(r.Workload.Replicas.Most())), DeploymentStrategy: r.strategy(),
		Model: model, PodSpec: template.Spec}
	text, err := json.Marshal(struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              map[string]predictor `json:"spec"`
	}{metav1.TypeMeta{APIVersion: KServeAPI, Kind: InferenceServiceKind}, meta, map[string]predictor{"predictor": spec}})
	if err != nil {
		return nil, err
	}
	service := &unstructured.Unstructured{}
	if err := service.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	if model != nil { // Kubernetes writes "containers" even where there are none
		unstructured.RemoveNestedField(service.Object, "spec", "predictor", "containers")
	}
	return service, nil
}

// changing are annotations of an object that makes pods which change while its pods must stay. KServe copies the
// annotations of an InferenceService into its pods, where the predictor's own go before: there they are always empty.
var changing = []string{GenerationKey, LeaseKey, SpecKey, AvoidKey, MirrorKey, AppliedKey, NudgedKey}

// printOf tells whether what pods are made of is another one.
func printOf(made ...any) (string, error) {
	sum := sha256.New()
	for _, part := range made {
		text, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12]), nil
}
