package kube

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// What LeaderWorkerSet calls itself, as of v0.10 (api/leaderworkerset/v1 of kubernetes-sigs/lws).
const (
	LeaderWorkerSetAPI  = "leaderworkerset.x-k8s.io/v1"
	LeaderWorkerSetKind = "LeaderWorkerSet"

	// GroupLabel is on every pod of a LeaderWorkerSet, and on the StatefulSets that make them: its name.
	GroupLabel = "leaderworkerset.sigs.k8s.io/name"
	// WorkerIndexLabel is the place of a pod in its group; that of the first, the leader, is LeaderIndex.
	WorkerIndexLabel = "leaderworkerset.sigs.k8s.io/worker-index"
	LeaderIndex      = "0"
)

// maxGroupName keeps "NAME-nodes-0-0123456789", the label of a revision of the StatefulSet of the workers, within 63
// characters.
const maxGroupName = 44

type (
	groupSpec struct {
		Replicas             int32         `json:"replicas"`
		StartupPolicy        string        `json:"startupPolicy"`
		LeaderWorkerTemplate groupTemplate `json:"leaderWorkerTemplate"`
	}
	groupTemplate struct {
		Size           int                    `json:"size"`
		RestartPolicy  string                 `json:"restartPolicy"`
		LeaderTemplate corev1.PodTemplateSpec `json:"leaderTemplate"`
		WorkerTemplate corev1.PodTemplateSpec `json:"workerTemplate"`
	}
)

// leaderWorkerSet runs an endpoint in one group of several pods, which begin together: LeaderWorkerSet makes a
// StatefulSet of one pod, the leader, and for this pod another StatefulSet with the workers. The leader serves; it and
// the workers find each other by LWS_LEADER_ADDRESS. Where a pod restarts or goes, all of them are made anew, for what
// is left of a model's parts serves nobody. Another revision takes the group away first. Zero stops it.
//
// It has a name of its own, for LeaderWorkerSet makes a headless Service of that name, and the endpoint's is there.
func (r renderer) leaderWorkerSet() (*unstructured.Unstructured, error) {
	meta, leader, worker := r.runnerMeta(), r.template(), r.working().template()
	meta.Name = GroupName(r.Workload)
	delete(worker.Labels, ExposedKey)
	if queue := leader.Labels[queueLabel]; queue != "" { // Kueue reads it there, and admits the group as a whole
		meta.Labels[queueLabel] = queue
		delete(leader.Labels, queueLabel)
		delete(worker.Labels, queueLabel)
	}
	spec := groupSpec{Replicas: min(1, *r.replicas()), StartupPolicy: "LeaderCreated",
		LeaderWorkerTemplate: groupTemplate{Size: r.Workload.Replicas.Nodes(r.Workload.Image),
			RestartPolicy: "RecreateGroupOnPodRestart", LeaderTemplate: leader, WorkerTemplate: worker}}
	text, err := json.Marshal(struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              groupSpec `json:"spec"`
	}{metav1.TypeMeta{APIVersion: LeaderWorkerSetAPI, Kind: LeaderWorkerSetKind}, meta, spec})
	if err != nil {
		return nil, err
	}
	set := &unstructured.Unstructured{}
	return set, set.UnmarshalJSON(text)
}

// GroupName is the name of the LeaderWorkerSet of an endpoint.
func GroupName(w workload.Workload) string { return w.Name + workload.GroupSuffix }

// working renders the pods of a group that answer nobody.
func (r renderer) working() renderer {
	r.worker = true
	return r
}

// AnswerSelector finds the pods of a workload that answer: of a group the first alone.
func AnswerSelector(w workload.Workload) map[string]string {
	selector := maps.Clone(PodSelector(w))
	if w.Image.NeedsLeaderWorkerSet() {
		selector[WorkerIndexLabel] = LeaderIndex
	}
	return selector
}

// Works reports whether a pod with these labels works for another one of its group, and answers nobody.
func Works(labels map[string]string) bool {
	index, grouped := labels[WorkerIndexLabel]
	return grouped && index != LeaderIndex
}
