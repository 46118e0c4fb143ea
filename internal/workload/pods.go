package workload

import (
	"regexp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// podNames are what the cluster makes of a workload's name: "name-0" of a StatefulSet, "name-7d9c5b6f7c-5wq8z" of a
// Deployment, "name-5wq8z" of a Job, "name-node-0-1-5wq8z" of a JobSet (kube.Objects).
var podNames = map[catalog.WorkloadKind]*regexp.Regexp{
	catalog.Notebook: regexp.MustCompile(`^(.+)-[0-9]+$`),
	catalog.Endpoint: regexp.MustCompile(`^(.+)-[0-9a-z]{6,10}-[0-9a-z]{5}$`),
	catalog.Job:      regexp.MustCompile(`^(.+)-[0-9a-z]{5}$`),
}

// PredictorSuffix ends the name of the Deployment and of the Service that KServe makes for an InferenceService.
const PredictorSuffix = "-predictor"

// NodesSuffix ends the name of the Job that JobSet makes for a JobSet: that of its one replicated job, "node", and the
// number of the Job.
const NodesSuffix = "-node-0"

// podOfJobSet is the name of one of its pods: the Job's, the index, and five characters.
var podOfJobSet = regexp.MustCompile(`^(.+` + NodesSuffix + `)-[0-9]+-[0-9a-z]{5}$`)

// PodsName is what the workload's pods are called after: its own name, or that of the Deployment which KServe makes, or
// of the Job which JobSet makes.
func (w Workload) PodsName() string {
	switch {
	case w.Image.NeedsKServe():
		return w.Name + PredictorSuffix
	case w.Image.NeedsJobSet():
		return w.Name + NodesSuffix
	}
	return w.Name
}

// HasPod reports whether a pod of this name in its namespace is one of the workload's.
func (w Workload) HasPod(pod string) bool {
	return NameOfPod(w.Kind, pod) == w.PodsName() && (!w.Image.NeedsJobSet() || podOfJobSet.MatchString(pod))
}

// NameOfPod is the PodsName of the workload that a pod of this name would be of, if it were of that kind; "" where it
// cannot be.
func NameOfPod(kind catalog.WorkloadKind, pod string) string {
	pattern := podNames[kind]
	if pattern == nil {
		return ""
	}
	if kind == catalog.Job {
		if found := podOfJobSet.FindStringSubmatch(pod); found != nil {
			return found[1] // no other workload is called so: see request.Check
		}
	}
	found := pattern.FindStringSubmatch(pod)
	if found == nil {
		return ""
	}
	return found[1]
}
