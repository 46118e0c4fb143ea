package kube

import (
	"encoding/json"
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// What JobSet calls itself, as of v0.12 (api/jobset/v1alpha2 of kubernetes-sigs/jobset).
const (
	JobSetAPI  = "jobset.x-k8s.io/v1alpha2"
	JobSetKind = "JobSet"

	// replicatedJob is the one list of Jobs that a JobSet of the portal has; workload.NodesSuffix has its name.
	replicatedJob = "node"

	// queueLabel is Kueue's: it suspends what has it until there is room for all of its pods. Kueue reads it on the
	// JobSet, not on its pods.
	queueLabel = "kueue.x-k8s.io/queue-name"
)

// maxJobSetName keeps "NAME-node-0-INDEX-abcde", the name of a pod, within 63 characters: JobSet refuses others.
const maxJobSetName = 45

// masterPort is where rank 0 waits for the others: the usual port of torchrun (torch/distributed/run.py,
// --master-port) and of Kubeflow Trainer.
const masterPort = 29500

type (
	jobSetSpec struct {
		Suspend                 *bool         `json:"suspend,omitempty"`
		Network                 jobSetNetwork `json:"network"`
		SuccessPolicy           jobSetSuccess `json:"successPolicy"`
		FailurePolicy           jobSetFailure `json:"failurePolicy"`
		TTLSecondsAfterFinished int32         `json:"ttlSecondsAfterFinished"`
		ReplicatedJobs          []jobSetJobs  `json:"replicatedJobs"`
	}
	jobSetNetwork struct {
		EnableDNSHostnames       bool   `json:"enableDNSHostnames"`
		Subdomain                string `json:"subdomain"`
		PublishNotReadyAddresses bool   `json:"publishNotReadyAddresses"`
	}
	jobSetSuccess struct {
		Operator string `json:"operator"`
	}
	jobSetFailure struct {
		MaxRestarts     int          `json:"maxRestarts"`
		RestartStrategy string       `json:"restartStrategy"`
		Rules           []jobSetRule `json:"rules"`
	}
	jobSetRule struct {
		Name                string   `json:"name"`
		Action              string   `json:"action"`
		OnJobFailureReasons []string `json:"onJobFailureReasons"`
	}
	jobSetJobs struct {
		Name     string                  `json:"name"`
		Replicas int                     `json:"replicas"`
		Template batchv1.JobTemplateSpec `json:"template"`
	}
)

// jobSet runs a program in several pods that begin together: one Job, indexed, of as many pods as there are replicas.
// JobSet makes a headless Service beside it, so that each pod has a name that stays: NAME-node-0-INDEX.NAME. The Job
// has no retries of its own. Where one pod fails, JobSet deletes all of them and makes the Job anew, as often as the
// job may be retried, and only when no pod of the last attempt is left; a node that is drained and a preemption cost
// no retry.
//
// Nothing of it but suspend can be changed. Stopping deletes it: Kueue, where it is used, would go on with what
// somebody else has suspended. The time limit cannot be written later, as that of a Job is: see Input.Overdue.
func (r renderer) jobSet() (*unstructured.Unstructured, error) {
	w := r.Workload
	meta, template := r.runnerMeta(), r.template()
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	queue := template.Labels[queueLabel]
	delete(template.Labels, queueLabel)
	pods := int32(w.Replicas.Want())
	job := batchv1.JobTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: r.owner.labels(r.component()), Annotations: maps.Clone(
			Owner{Instance: r.owner.Instance, Tenant: r.owner.Tenant, Workload: r.owner.Workload}.annotations())},
		Spec: batchv1.JobSpec{
			Parallelism: &pods, Completions: &pods, CompletionMode: new(batchv1.IndexedCompletion),
			BackoffLimit: new(int32(0)), PodReplacementPolicy: new(batchv1.Failed),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionFailJob,
				OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget,
					Status: corev1.ConditionTrue}},
			}}},
			Template: template,
		},
	}
	spec := jobSetSpec{
		Network:       jobSetNetwork{EnableDNSHostnames: true, Subdomain: w.Name, PublishNotReadyAddresses: true},
		SuccessPolicy: jobSetSuccess{Operator: "All"},
		FailurePolicy: jobSetFailure{MaxRestarts: w.Job.Retries, RestartStrategy: "BlockingRecreate",
			Rules: []jobSetRule{{Name: "disruption", Action: "RestartJobSetAndIgnoreMaxRestarts",
				OnJobFailureReasons: []string{batchv1.JobReasonPodFailurePolicy}}}},
		TTLSecondsAfterFinished: int32(keptFor.Seconds()),
		ReplicatedJobs:          []jobSetJobs{{Name: replicatedJob, Replicas: 1, Template: job}},
	}
	if queue != "" {
		meta.Labels[queueLabel] = queue // Kueue suspends it and resumes it
	} else {
		spec.Suspend = new(bool)
	}
	text, err := json.Marshal(struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              jobSetSpec `json:"spec"`
	}{metav1.TypeMeta{APIVersion: JobSetAPI, Kind: JobSetKind}, meta, spec})
	if err != nil {
		return nil, err
	}
	set := &unstructured.Unstructured{}
	return set, set.UnmarshalJSON(text)
}

// peerPolicy lets the pods of a job or of a group reach each other on every port, and nobody else: the tenant's own
// policies refuse all that they do not name.
func (r renderer) peerPolicy() *networkingv1.NetworkPolicy {
	own := []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: PodSelector(r.Workload)}}}
	meta := r.meta()
	meta.Name = PeerPolicyName(r.Workload)
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, ObjectMeta: meta,
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: PodSelector(r.Workload)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: own}},
			Egress:      []networkingv1.NetworkPolicyEgressRule{{To: own}},
		},
	}
}

// PeerPolicyName is the name of the NetworkPolicy of a job or an endpoint of several pods.
func PeerPolicyName(w workload.Workload) string { return w.Name + "-peers" }

// peerEnv is how the pods of a job find each other, under the names that PyTorch reads. MASTER_ADDR, MASTER_PORT,
// WORLD_SIZE and RANK are those of init_process_group with one process in each pod
// (https://docs.pytorch.org/docs/stable/distributed.html, environment variable initialization). torchrun takes its
// arguments from PET_NNODES and so on (torch/distributed/argparse_util.py) and sets the others anew for each of its
// processes. Kubeflow Trainer sets the same (pkg/runtime/framework/plugins/torch of kubeflow/trainer v2.3). The rank is
// the index of the pod, which Kubernetes writes on it.
func (r renderer) peerEnv() (values map[string]string, rank []corev1.EnvVar) {
	w := r.Workload
	if !w.Image.NeedsJobSet() {
		return nil, nil
	}
	master, port := w.Name+workload.NodesSuffix+"-0."+w.Name, strconv.Itoa(masterPort)
	nodes := strconv.Itoa(w.Replicas.Want())
	values = map[string]string{"MASTER_ADDR": master, "MASTER_PORT": port, "WORLD_SIZE": nodes,
		"PET_MASTER_ADDR": master, "PET_MASTER_PORT": port, "PET_NNODES": nodes,
		"PET_NPROC_PER_NODE": strconv.Itoa(w.Size.TensorParallel())}
	index := corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1",
		FieldPath: "metadata.annotations['" + batchv1.JobCompletionIndexAnnotation + "']"}}
	return values, []corev1.EnvVar{{Name: "PET_NODE_RANK", ValueFrom: &index}, {Name: "RANK", ValueFrom: &index}}
}
