package explain

import (
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podTerminating: a pod that is being deleted. Its time is over when the grace period has passed; then the node does
// not answer, and its GPU is not free.
func podTerminating(f Facts) finding {
	if f.Pod == nil || f.Pod.DeletionTimestamp == nil {
		return finding{}
	}
	late := f.Now.Sub(f.Pod.DeletionTimestamp.Time) > stuckAfter
	switch {
	case late || f.NodeLost:
		return newFinding("", "explain.stopping_stuck")
	case !f.wantsToRun():
		return newFinding("", "explain.stopping")
	}
	if found := disrupted(f); found.found() {
		return found
	}
	return newFinding("", "explain.replacing")
}

// disruptions are the reasons of the condition DisruptionTarget: somebody else ended the pod.
var disruptions = map[string]string{
	"PreemptionByScheduler":        "explain.preempted",
	"DeletionByTaintManager":       "explain.node_taken",
	"DeletionByDeviceTaintManager": "explain.device_taken",
	"EvictionByEvictionAPI":        "explain.node_drained",
	"TerminationByKubelet":         "explain.node_short",
	"DeletionByPodGC":              "explain.node_gone",
}

func disrupted(f Facts) finding {
	c := condition(f.Pod, corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue || disruptions[c.Reason] == "" {
		return finding{}
	}
	return newFinding(c.Message, disruptions[c.Reason])
}

var lowOn = regexp.MustCompile(`low on resource: ([a-z-]{1,40})`)

// podEnded: the pod is over. Its owner makes a new one, so none of this is permanent.
func podEnded(f Facts) finding {
	if f.Pod == nil || !f.wantsToRun() {
		return finding{}
	}
	p := f.Pod.Status
	switch p.Phase {
	case corev1.PodSucceeded:
		if f.Workload.IsJob() {
			return newFinding(p.Message, "explain.job_ending")
		}
		return newFinding(p.Message, "explain.ended_itself")
	case corev1.PodFailed:
	default:
		return finding{}
	}
	if p.Reason == "Evicted" {
		return evicted(p.Message)
	}
	if found := disrupted(f); found.found() {
		return found
	}
	switch {
	case p.Reason == "UnexpectedAdmissionError":
		return notAdmitted(f, p.Message)
	case strings.HasPrefix(p.Reason, "OutOf"):
		return newFinding(p.Message, "explain.lost_race")
	case p.Reason == "NodeLost", p.Reason == "Shutdown", p.Reason == "Terminated", p.Reason == "NodeShutdown",
		p.Reason == "NodeAffinity":
		return newFinding(p.Message, "explain.node_gone")
	case p.Reason == "DeadlineExceeded":
		return newFinding(p.Message, "explain.deadline")
	}
	for _, c := range p.ContainerStatuses {
		switch {
		case c.State.Terminated == nil:
		case f.Workload.IsJob():
			return again(f, c.State.Terminated)
		default:
			return ended(f, c.State.Terminated)
		}
	}
	return newFinding(strings.TrimSpace(p.Reason+": "+p.Message), "explain.cluster_says")
}

// admissions are the causes behind UnexpectedAdmissionError. Sources: pkg/kubelet/cm/devicemanager of Kubernetes 1.36;
// the Allocate of NVIDIA's device plugin v0.18 and its errors from NVML.
var admissions = []row{
	{[]string{"maximum request size for shared resources"}, "explain.shared_one", true},
	{[]string{"Insufficient Permissions", "ERROR_NO_PERMISSION"}, "explain.device_permission", false},
	{[]string{"Driver/library version mismatch", "Driver Not Loaded", "ERROR_LIBRARY_NOT_FOUND",
		"Uninitialized"}, "explain.gpu_runtime", false},
	{[]string{"MPS"}, "explain.device_preparing", false},
	{[]string{"number of devices unavailable", "no healthy devices present", "unknown device"},
		"explain.device_vanished", false},
}

// notAdmitted: the kubelet did not take the pod that the scheduler gave it.
func notAdmitted(f Facts, text string) finding {
	r, ok := match(admissions, text)
	if !ok {
		return newFinding(text, "explain.node_refused")
	}
	found := newFinding(text, r.id, "Size", f.size())
	found.failed = r.failed
	return found
}

// evicted by the kubelet: it used more disk than it may, or the node ran short of something.
func evicted(text string) finding {
	if containsAny(text, "ephemeral local storage", "local ephemeral storage", "Usage of EmptyDir") {
		return newFinding(text, "explain.too_much_disk")
	}
	if m := lowOn.FindStringSubmatch(text); m != nil {
		return newFinding(text, "explain.evicted", "Resource", name(m[1]))
	}
	return newFinding(text, "explain.node_short")
}

// nodeProblem: the pod runs, as far as anyone can tell, on a node that does not answer.
func nodeProblem(f Facts) finding {
	if f.Pod == nil || f.Pod.Spec.NodeName == "" {
		return finding{}
	}
	if f.NodeLost || f.Pod.Status.Reason == "NodeLost" {
		return newFinding(f.Pod.Status.Message, "explain.node_lost")
	}
	return finding{}
}

// since is a time, or zero for a condition that does not hold.
func since(c *corev1.PodCondition) time.Time {
	if c == nil || c.Status != corev1.ConditionTrue {
		return time.Time{}
	}
	return c.LastTransitionTime.UTC()
}
