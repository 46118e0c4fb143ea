package workload

import (
	"regexp"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// podNames are what the cluster makes of a workload's name: "name-0" of a StatefulSet, "name-7d9c5b6f7c-5wq8z" of a
// Deployment, "name-5wq8z" of a Job, "name-node-0-1-5wq8z" of a JobSet, "name-nodes-0" and "name-nodes-0-1" of a
// LeaderWorkerSet (kube.Objects).
var podNames = map[catalog.WorkloadKind]*regexp.Regexp{
	catalog.Notebook: regexp.MustCompile(`^(.+)-[0-9]+$`),
	catalog.Endpoint: regexp.MustCompile(`^(.+)-[0-9a-z]{6,10}-[0-9a-z]{5}$`),
	catalog.Job:      regexp.MustCompile(`^(.+)-[0-9a-z]{5}$`),
}

// endings are the same for a search: what RE2 and Lucene read alike.
var endings = map[catalog.WorkloadKind]string{
	catalog.Notebook: "-[0-9]+",
	catalog.Endpoint: "-[0-9a-z]{6,10}-[0-9a-z]{5}",
	catalog.Job:      "-[0-9a-z]{5}",
}

// PredictorSuffix ends the name of the Deployment and of the Service that KServe makes for an InferenceService.
const PredictorSuffix = "-predictor"

// NodesSuffix ends the name of the Job that JobSet makes for a JobSet: that of its one replicated job, "node", and the
// number of the Job.
const NodesSuffix = "-node-0"

// podOfJobSet is the name of one of its pods: the Job's, the index, and five characters.
var podOfJobSet = regexp.MustCompile(`^(.+` + NodesSuffix + `)-[0-9]+-[0-9a-z]{5}$`)

// GroupSuffix ends the name of the LeaderWorkerSet of an endpoint. Those of its StatefulSets are its own and "-0".
const GroupSuffix = "-nodes"

// podOfGroup is the name of one of its pods: its own with the number of the group, which is 0, and for all but the
// first the place in the group. Pods of a Deployment end with five characters.
var podOfGroup = regexp.MustCompile(`^(.+` + GroupSuffix + `)-0(-[1-9][0-9]{0,2})?$`)

// PodsName is what the workload's pods are called after: its own name, that of the Deployment which KServe makes, that
// of the Job which JobSet makes, or that of its LeaderWorkerSet.
func (w Workload) PodsName() string {
	switch {
	case w.Image.NeedsKServe():
		return w.Name + PredictorSuffix
	case w.Image.NeedsJobSet():
		return w.Name + NodesSuffix
	case w.Image.NeedsLeaderWorkerSet():
		return w.Name + GroupSuffix
	}
	return w.Name
}

// HasPod reports whether a pod of this name in its namespace is one of the workload's.
func (w Workload) HasPod(pod string) bool {
	return NameOfPod(w.Kind, pod) == w.PodsName() && (!w.Image.NeedsJobSet() || podOfJobSet.MatchString(pod)) &&
		(w.Kind != catalog.Endpoint || w.Image.NeedsLeaderWorkerSet() == podOfGroup.MatchString(pod))
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
	if kind == catalog.Endpoint {
		if found := podOfGroup.FindStringSubmatch(pod); found != nil {
			return found[1]
		}
	}
	found := pattern.FindStringSubmatch(pod)
	if found == nil {
		return ""
	}
	return found[1]
}

// PodPattern is a regular expression of the whole names that the workload's pods have, the present and the past ones.
// Pods of other workloads may fit as well: see Owns.
func (w Workload) PodPattern() string {
	pattern := regexp.QuoteMeta(w.PodsName())
	if w.Image.NeedsLeaderWorkerSet() {
		return pattern + "-0(-[1-9][0-9]*)?"
	}
	if w.Image.NeedsJobSet() {
		pattern += "-[0-9]+" // the index
	}
	return pattern + endings[w.Kind]
}

// Namesake is what is known of a workload by the name of which pods may be called.
type Namesake struct {
	ID        ID
	Kind      catalog.WorkloadKind
	Name      string
	CreatedAt time.Time
}

// madeSuffixes are what stands between the name of a workload and what an operator adds to it for a pod.
var madeSuffixes = map[catalog.WorkloadKind][]string{catalog.Endpoint: {PredictorSuffix, GroupSuffix},
	catalog.Job: {NodesSuffix}}

// NamesOfPod are the names of workloads that a pod of this name may be of, by what kind each would have to be; the
// longest first.
func NamesOfPod(pod string) map[catalog.WorkloadKind][]string {
	names := map[catalog.WorkloadKind][]string{}
	for kind := range podNames {
		if name := NameOfPod(kind, pod); name != "" {
			names[kind] = append(names[kind], name)
			for _, suffix := range madeSuffixes[kind] {
				if short, found := strings.CutSuffix(name, suffix); found {
					names[kind] = append(names[kind], short)
				}
			}
		}
	}
	return names
}

// Owns reports whether what a pod of this name did at a time was the workload's own, among all that have or had a name
// for which it could stand. Where that cannot be told, it was not.
func (w Workload) Owns(pod string, at time.Time, others []Namesake) bool {
	if !w.HasPod(pod) || at.Before(w.CreatedAt) {
		return false
	}
	names := NamesOfPod(pod)
	for _, o := range others {
		if o.ID == w.ID {
			continue
		}
		for _, name := range names[o.Kind] {
			switch {
			case name != o.Name:
			case o.Kind != w.Kind || o.Name != w.Name: // the two may have had pods at once
				return false
			case o.CreatedAt.After(w.CreatedAt) && !at.Before(o.CreatedAt): // the name was another's by then
				return false
			}
		}
	}
	return true
}
