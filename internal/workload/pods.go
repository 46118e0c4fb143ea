package workload

import (
	"regexp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// podNames are what the cluster makes of a workload's name: "name-0" of a StatefulSet, "name-7d9c5b6f7c-5wq8z" of a
// Deployment, "name-5wq8z" of a Job (kube.Objects).
var podNames = map[catalog.WorkloadKind]*regexp.Regexp{
	catalog.Notebook: regexp.MustCompile(`^(.+)-[0-9]+$`),
	catalog.Endpoint: regexp.MustCompile(`^(.+)-[0-9a-z]{6,10}-[0-9a-z]{5}$`),
	catalog.Job:      regexp.MustCompile(`^(.+)-[0-9a-z]{5}$`),
}

// PredictorSuffix ends the name of the Deployment and of the Service that KServe makes for an InferenceService.
const PredictorSuffix = "-predictor"

// PodsName is what the workload's pods are called after: its own name, or that of the Deployment which KServe makes.
func (w Workload) PodsName() string {
	if w.Image.NeedsKServe() {
		return w.Name + PredictorSuffix
	}
	return w.Name
}

// NameOfPod is the PodsName of the workload that a pod of this name would be of, if it were of that kind; "" where it
// cannot be.
func NameOfPod(kind catalog.WorkloadKind, pod string) string {
	pattern := podNames[kind]
	if pattern == nil {
		return ""
	}
	found := pattern.FindStringSubmatch(pod)
	if found == nil {
		return ""
	}
	return found[1]
}
