package explain

import (
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// schedulerGrace is how old a pod must be before "unschedulable" counts: the scheduler's caches lag behind what was
// just freed.
const schedulerGrace = 3 * time.Second

// SchedulerGrace is how much of schedulerGrace is left to a pod; 0 for a pod that has a node.
func SchedulerGrace(p *corev1.Pod, now time.Time) time.Duration {
	if p == nil || p.Spec.NodeName != "" {
		return 0
	}
	return max(0, schedulerGrace-now.Sub(p.CreationTimestamp.Time))
}

// unscheduled looks at a pod that has no node.
func unscheduled(f Facts) finding {
	if f.Pod == nil || f.Pod.Spec.NodeName != "" || f.Pod.Status.Phase == corev1.PodFailed ||
		f.Pod.Status.Phase == corev1.PodSucceeded {
		return finding{}
	}
	scheduled := condition(f.Pod, corev1.PodScheduled)
	if scheduled != nil && scheduled.Reason == corev1.PodReasonSchedulingGated {
		return newFinding(scheduled.Message, "explain.queued")
	}
	if e := event(f.PodEvents, "FailedResourceClaimCreation"); e != nil {
		if found := refusal(f, e.Message); found.found() {
			return found
		}
		return newFinding(e.Message, "explain.cluster_says")
	}
	said := f.schedulerSays(scheduled)
	others := f.otherSchedulers()
	if said == "" && len(others) == 0 {
		if f.age() > stuckAfter {
			return newFinding("", "explain.scheduler_silent", "Scheduler", name(schedulerOf(f.Pod)))
		}
		return newFinding("", "explain.searching", "Size", f.size())
	}
	found := unschedulable(f, said)
	if said == "" {
		found = newFinding(nodeList.ReplaceAllString(others[0].Message, ""), "explain.cluster_says")
	}
	if other := bySchedulers(f, others); other.found() {
		found = other
	}
	if SchedulerGrace(f.Pod, f.Now) > 0 && found.reason.ID != "explain.node_coming" {
		return newFinding(found.detail, "explain.searching", "Size", f.size())
	}
	return found
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func schedulerOf(p *corev1.Pod) string {
	if p.Spec.SchedulerName == "" {
		return corev1.DefaultSchedulerName
	}
	return p.Spec.SchedulerName
}

// schedulerSays is the message of the condition, or of the newest event where the condition has none. Karpenter writes
// events of the same reason.
func (f Facts) schedulerSays(scheduled *corev1.PodCondition) string {
	if scheduled != nil && scheduled.Status == corev1.ConditionFalse && scheduled.Message != "" {
		return scheduled.Message
	}
	for _, e := range f.PodEvents {
		if e.Reason == "FailedScheduling" && !fromKarpenter(e) || e.Reason == kaiEvent {
			return e.Message
		}
	}
	return ""
}

func fromKarpenter(e *corev1.Event) bool {
	return strings.Contains(e.ReportingController, "karpenter") || strings.Contains(e.Source.Component, "karpenter")
}

// clauses are the scheduler's reasons that stand for themselves, the most telling first: a node that lacks only what
// stands here has passed every check before. Sources: pkg/scheduler/framework/plugins of Kubernetes 1.35 and 1.36.
// Devices, CPU and kinds of node are weighed in unschedulable.
var clauses = []row{
	{[]string{"unavailable due to PersistentVolumeClaim with ReadWriteOncePod",
		"ReadWriteOncePod access mode already in-use"}, "explain.disk_busy", false},
	{[]string{"is being deleted"}, "explain.disk_deleting", true},
	{[]string{"persistentvolumeclaim \""}, "explain.disk_missing", true}, // "persistentvolumeclaim "x" not found"
	{[]string{"bound to non-existent pv"}, "explain.disk_lost", true},
	{[]string{"didn't match PersistentVolume's node affinity", "had no available volume zone",
		"volume node affinity conflict"}, "explain.disk_elsewhere", false},
	{[]string{"unbound immediate PersistentVolumeClaims", "didn't find available persistent volumes to bind"},
		"explain.disk_making", false},
	{[]string{"did not have enough free storage"}, "explain.storage_full", false},
	{[]string{"exceed max volume count"}, "explain.too_many_disks", false},
	{[]string{"waiting for scheduling gates"}, "explain.queued", false},
	{[]string{"device class"}, "explain.size_withdrawn", true}, // "device class x does not exist"
	{[]string{"is in the process of being allocated", "ResourceClaim not created yet",
		"waiting for dynamic resource controller"}, "explain.device_moment", false},
	{[]string{"resourceclaim in use"}, "explain.claim_in_use", false},
	{[]string{"resourceclaim not available on the node"}, "explain.claim_elsewhere", false},
	{[]string{"timed out trying to allocate devices"}, "explain.device_slow", false},
	{[]string{"no such key", "runtime error"}, "explain.size_wrong", true}, // CEL of a device class
}

// fallbackClauses are reasons that only count when nothing better is said.
var fallbackClauses = []row{
	{[]string{"free ports"}, "explain.size_wrong", true},
	{[]string{"topology spread constraints", "anti-affinity rules", "pod affinity rules", "affinity rules"},
		"explain.spread", false},
}

// unschedulable weighs the scheduler's message.
func unschedulable(f Facts, said string) finding {
	s, ok := ParseSchedule(said)
	if !ok {
		if r, known := match(kai, said); known {
			return newFinding(said, r.id, "Size", f.size())
		}
		return newFinding(said, "explain.cluster_says")
	}
	if s.Nodes == 0 {
		return newFinding(said, "explain.no_nodes")
	}
	if strings.Contains(s.Preempt, "terminating pod on the nominated node") {
		return newFinding(said, "explain.making_room", "Size", f.size())
	}
	if found := byRows(f, clauses, s, said); found.found() {
		return found
	}
	if found := onlyQuarantined(f, s, said); found.found() {
		return found
	}
	if found := insufficient(f, s, said); found.found() {
		return found
	}
	if found := byRows(f, fallbackClauses, s, said); found.found() {
		return found
	}
	return wrongNodes(f, s, said)
}

// byRows takes the first row that any clause matches.
func byRows(f Facts, rows []row, s Schedule, said string) finding {
	for _, r := range rows {
		if s.has(r.fragments...) {
			found := newFinding(said, r.id, "Size", f.size())
			found.failed = r.failed
			return found
		}
	}
	return finding{}
}

// onlyQuarantined: there would be room on nodes that the pod goes around because an administrator has quarantined them.
func onlyQuarantined(f Facts, s Schedule, said string) finding {
	if len(f.Quarantined) == 0 || !s.has("node affinity/selector") {
		return finding{}
	}
	names := strings.Join(f.Quarantined[:min(len(f.Quarantined), mostNamed)], ", ")
	return newFinding(said, "explain.quarantined", "Size", f.size(), "Nodes", names, "Count", len(f.Quarantined))
}

// mostNamed nodes stand in a sentence.
const mostNamed = 3

// insufficient: devices before CPU, for a node without the one is of no use with the other. Whether the size exists at
// all is for the inventory to say.
func insufficient(f Facts, s Schedule, said string) finding {
	absent := f.Fit.Known && f.Fit.Total == 0 || f.NeverFits
	switch {
	case s.has("enough resources: GPU memory"):
		if absent {
			return newFinding(said, "explain.absent", "Size", f.size())
		}
		return newFinding(said, "explain.card_memory", "Size", f.size())
	case f.resource() != "" && (s.lacks(f.resource()) || s.has("cannot allocate all claims", "enough resources: GPUs",
		"enough of mig profile")):
		switch {
		case absent:
			return newFinding(said, "explain.absent", "Size", f.size())
		case f.Fit.Known:
			return newFinding(said, "explain.in_use", "Size", f.size(), "Count", f.Fit.Total)
		}
		return newFinding(said, "explain.in_use_unknown", "Size", f.size())
	case s.lacks("cpu", "memory", "ephemeral-storage", "pods") || s.has("Too many pods", "enough resources: CPU cores",
		"enough resources: memory", "max pod number exceeded"):
		if f.resource() == "" {
			return newFinding(said, "explain.nodes_full")
		}
		return newFinding(said, "explain.node_full", "Size", f.size())
	case s.has("Insufficient "):
		return newFinding(said, "explain.other_in_use", "Resource", name(s.lacking()[0]))
	}
	return finding{}
}

// wrongNodes: no node passed even the first checks. Tainted and other nodes are in every cluster; so a taint counts
// only where no node is of another kind.
func wrongNodes(f Facts, s Schedule, said string) finding {
	switch {
	case s.has("were unschedulable"):
		return newFinding(said, "explain.nodes_drained", "Size", f.size())
	case s.has("unknown conditions", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
		return newFinding(said, "explain.nodes_down", "Size", f.size())
	case s.has("didn't match Pod's node affinity/selector", "didn't match scheduler-enforced node affinity",
		"didn't match the requested node name"),
		f.Fit.Known && f.Fit.Total == 0 && s.has("taint"):
		return newFinding(said, "explain.absent", "Size", f.size())
	case s.has("untolerated taint", "had taints that the pod didn't tolerate"):
		return newFinding(said, "explain.nodes_reserved", "Size", f.size())
	}
	return newFinding(said, "explain.cluster_says")
}

// otherSchedulers are the events of autoscalers and of schedulers that are not Kubernetes' own, the newest first.
func (f Facts) otherSchedulers() []*corev1.Event {
	return slices.DeleteFunc(slices.Clone(f.PodEvents), func(e *corev1.Event) bool {
		switch e.Reason {
		case "TriggeredScaleUp", "Nominated", "NotTriggerScaleUp", "FilteringFailed", "BindingFailed":
			return false
		}
		return e.Reason != "FailedScheduling" || !fromKarpenter(e)
	})
}

// kaiEvent is what the KAI scheduler calls its event on a pod that it found no node for. Its message has the form of
// kaiHead (v0.18).
const kaiEvent = "Unschedulable"

// kai is what KAI says of limits of its queues, without looking at nodes.
var kai = []row{
	{[]string{"quota has reached the allowable limit", "Non-preemptible workload is over quota"},
		"explain.quota_unknown", false},
}

// growth is why a cluster does not grow, in the words of Karpenter and the Cluster Autoscaler.
var growth = []row{
	{[]string{"max node group size reached", "max total nodes in cluster reached", "exceed limits for nodepool",
		"exceeded quota", "max cluster cpu", "max cluster memory"}, "explain.growth_limit", false},
	{[]string{"in backoff after failed scale-up"}, "explain.growth_no_machines", false},
	{[]string{"no instance type"}, "explain.growth_no_type", true},
}

// hami is HAMi's words for what a node or a card lacks (pkg/device/common, v2.10).
var hami = []row{
	{[]string{"ResourceQuotaNotFit"}, "explain.quota_unknown", false},
	{[]string{"CardTypeMismatch", "CardUuidMismatch", "CardNotFoundCustomFilterRule"}, "explain.absent", false},
	{[]string{"NodeInsufficientDevice", "AllocatedCardsInsufficientRequest"}, "explain.absent", false},
	{[]string{"CardInsufficientMemory"}, "explain.card_memory", false},
	{[]string{"CardInsufficientCore", "CardComputeUnitsExhausted"}, "explain.card_compute", false},
	{[]string{"CardTimeSlicingExhausted", "ExclusiveDeviceAllocateConflict", "CardMigTopologyInfeasible", "NumaNotFit"},
		"explain.in_use_unknown", false},
	{[]string{"CardNotHealth", "CardCordoned"}, "explain.nodes_down", false},
}

var nodeList = regexp.MustCompile(`\([^()]*\)`)

// nodeLock is when HAMi breaks a lock of a node that nobody released (HAMI_NODELOCK_EXPIRE, v2.10): what still fails to
// bind after that waits for no neighbour.
const nodeLock = 5 * time.Minute

// scalingUp is how long a node may take to come.
const scalingUp = 15 * time.Minute

// bySchedulers takes the newest event that says something. HAMi writes an event for each reason and then one that sums
// them up and names none.
func bySchedulers(f Facts, events []*corev1.Event) finding {
	for _, e := range events {
		found := byScheduler(f, e)
		if found.found() || e.Reason != "FilteringFailed" {
			return found
		}
	}
	return finding{}
}

// byScheduler reads one event. HAMi lists names of nodes in brackets, which are nobody's business.
func byScheduler(f Facts, e *corev1.Event) finding {
	text, rows := e.Message, growth
	switch e.Reason {
	case "TriggeredScaleUp", "Nominated":
		if f.Now.Sub(at(e)) > scalingUp {
			return finding{}
		}
		return newFinding(text, "explain.node_coming", "Size", f.size())
	case "BindingFailed":
		if f.age() > nodeLock {
			return newFinding(text, "explain.bind_slow")
		}
		return newFinding(text, "explain.searching", "Size", f.size())
	case "FilteringFailed":
		text, rows = nodeList.ReplaceAllString(text, ""), hami
	}
	r, ok := match(rows, text)
	if !ok {
		return finding{}
	}
	found := newFinding(text, r.id, "Size", f.size())
	found.failed = r.failed
	return found
}
