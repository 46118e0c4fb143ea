package reconcile

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/explain"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// explain puts reason and steps into an observation. What the controller itself refused comes first: nothing else can
// follow from it.
func (l *loop) explain(obs *workload.Observation, w workload.Workload, m ownedObjects, t applyError) {
	e := explain.Explain(l.facts(*obs, w, m, m.pod(), t))
	obs.Reason, obs.Detail, obs.Failed = e.Reason, e.Detail, e.Failed
	if w.Desired == workload.WantRunning {
		obs.Steps = e.Steps
	}
	if service := asInference(m.object); service != nil && m.deployment == nil && w.Desired == workload.WantRunning &&
		!t.any() {
		obs.Reason, obs.Detail = i18n.T("reconcile.kserve_waits"), inferenceTrouble(service)
	}
	if set := asJobSet(m.object); set != nil && w.Desired == workload.WantRunning && !t.any() {
		switch {
		case queued(set): // its Job is there, suspended as well
			obs.Reason, obs.Detail = i18n.T("reconcile.jobset_queued"), jobSetWords(set)
		case m.job == nil:
			obs.Reason, obs.Detail = i18n.T("reconcile.jobset_waits"), jobSetWords(set)
		}
	}
	if asGroup(m.object) != nil && len(m.pods) == 0 && w.Desired == workload.WantRunning && !t.any() &&
		obs.Reason.IsZero() {
		obs.Reason = i18n.T("reconcile.leaderworkerset_waits")
	}
	running := w.Desired == workload.WantRunning && obs.Ready && obs.Generation >= w.Generation
	if t.own && !running || t.any() && obs.Reason.IsZero() {
		obs.Reason, obs.Detail = t.reason, t.detail
	}
	if t.terminal && w.Desired == workload.WantRunning && !obs.Ready {
		obs.Failed = true
	}
}

// mostExplained bounds the replicas of one endpoint whose reasons are kept; more have hardly ever more causes.
const mostExplained = 10

// explainReplicas says of an endpoint that answers why other replicas of it do not, and why there are too few.
func (l *loop) explainReplicas(obs *workload.Observation, w workload.Workload, m ownedObjects) {
	if m.deployment == nil || !obs.Ready || w.Desired != workload.WantRunning {
		return
	}
	staying, explained := 0, 0
	var waiting *explain.Facts // of a pod without a node: what nodes have room for is the same for all
	for i, r := range obs.Pods {
		if r.Leaving {
			continue
		}
		staying++
		if r.Ready || explained == mostExplained {
			continue
		}
		at := slices.IndexFunc(m.pods, func(p *corev1.Pod) bool { return p.Name == r.Pod })
		// what the API server has against a change of the workload explains no pod of before
		alone := workload.Observation{At: obs.At, Node: r.Node}
		var f explain.Facts
		if r.Node == "" && waiting != nil {
			f = *waiting
			f.Pod, f.PodEvents = m.pods[at], l.eventsAbout(w.Namespace, string(m.pods[at].UID))
		} else if f = l.facts(alone, w, m, m.pods[at], applyError{}); r.Node == "" {
			waiting = &f
		}
		obs.Pods[i].Reason = explain.Explain(f).Reason
		explained++
	}
	if staying < w.Replicas.Want()+w.Replicas.Surge {
		obs.Missing = explain.Missing(explain.Facts{Now: l.o.Now(), Workload: w,
			OwnerEvents: l.eventsAbout(w.Namespace, m.uids()...)})
	}
}

// facts is everything that the caches hold of a workload and one of its pods.
func (l *loop) facts(obs workload.Observation, w workload.Workload, m ownedObjects, pod *corev1.Pod,
	t applyError) explain.Facts {
	f := explain.Facts{Now: l.o.Now(), Workload: w, Pod: pod}
	switch {
	case !t.any():
		f.Generation = w.Generation // what was to be written has been, though the caches may not show it yet
	case m.object != nil:
		f.Generation = kube.OwnerOf(m.object.GetAnnotations()).Generation
	}
	f.RequestedAt, f.AppliedAt = rendered(w, f)
	if t.any() && !t.own {
		f.ApplyError = &explain.ApplyError{Reason: t.status, Message: t.detail}
	}
	if obj, ok := l.caches().cached(Key{Kind: "Namespace", Name: w.Namespace}); ok {
		f.Namespace = obj.(*corev1.Namespace).Status.Phase
	}
	if f.JobEnd = m.jobEnd(); f.JobEnd == nil && m.object == nil && l.overdue(w) {
		f.JobEnd = &batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue,
			Reason: batchv1.JobReasonDeadlineExceeded, LastTransitionTime: metav1.NewTime(w.Deadline())}
	}
	if obs.Ready {
		return f // nothing to explain, and many workloads are ready
	}
	f.OwnerEvents = l.eventsAbout(w.Namespace, m.uids()...)
	if f.Pod != nil {
		f.PodEvents = l.eventsAbout(w.Namespace, string(f.Pod.UID))
		f.NodeLost = l.nodeLost(f.Pod.Spec.NodeName)
	}
	if claim := l.claimOf(w); claim != nil {
		f.Claim, f.ClaimEvents = claim, l.eventsAbout(w.Namespace, string(claim.UID))
	}
	if snapshot, known := l.snapshot(); known && obs.Node == "" && w.Desired == workload.WantRunning {
		f.Fit, f.Quarantined = capacity.Fit(snapshot, w.Size), capacity.WithoutQuarantined(snapshot, w.Size)
		f.NeverFits = capacity.NeverFits(snapshot, w.Size)
	}
	return f
}

// claimOf is the claim that a workload waits for, else that of its own storage; nil for none.
func (l *loop) claimOf(w workload.Workload) *corev1.PersistentVolumeClaim {
	names := []string{w.Volume}
	for _, m := range w.Mounts {
		names = append(names, m.Claim)
	}
	var first *corev1.PersistentVolumeClaim
	for _, name := range names {
		obj, ok := l.caches().cached(Key{Kind: "PersistentVolumeClaim", Namespace: w.Namespace, Name: name})
		if !ok {
			continue
		}
		claim := obj.(*corev1.PersistentVolumeClaim)
		if claim.Status.Phase == corev1.ClaimPending {
			return claim
		}
		if first == nil {
			first = claim
		}
	}
	return first
}

func (l *loop) nodeLost(name string) bool {
	if name == "" {
		return false
	}
	obj, exists, err := l.caches().nodes.GetStore().GetByKey(name)
	if err != nil || !exists {
		return err == nil
	}
	for _, c := range obj.(*corev1.Node).Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status != corev1.ConditionTrue
		}
	}
	return true
}

// holder gives the workload that a pod belongs to, followed up by UID to an object of ours with its record.
func (l *loop) holder(p *corev1.Pod) string {
	made, ok := l.maker(p, 2)
	if !ok {
		return ""
	}
	o := kube.OwnerOf(made.GetAnnotations())
	if o.Instance != l.o.KubeSite(l.name).Instance {
		return ""
	}
	return string(o.Workload)
}
