package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gpu-portal/gpu-portal/internal/explain"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// ownedObjects is what the cluster has of a workload.
type ownedObjects struct {
	// the StatefulSet, Deployment, InferenceService, LeaderWorkerSet, Job or JobSet; nil for none of ours
	object metav1.Object
	// the Deployment itself, or the one that KServe has made of the InferenceService; nil for none
	deployment *appsv1.Deployment
	job        *batchv1.Job          // the Job itself, or the one that JobSet has made of the JobSet; nil for none
	groups     []*appsv1.StatefulSet // that LeaderWorkerSet has made of the LeaderWorkerSet: leader's, workers'
	sets       []*appsv1.ReplicaSet
	pods       []*corev1.Pod // newest first, those that are not being deleted before those that are
}

// gather finds what is ours of a workload: the object of its name with its record, and by UID what that object has
// made.
func (l *loop) gather(w workload.Workload) ownedObjects {
	o := l.runnerOf(w)
	object, exists := l.caches().cached(o.Key)
	if !exists || !o.mayTouch(existing(object)) {
		return ownedObjects{}
	}
	m := ownedObjects{object: object}
	switch o.Kind {
	case "Deployment":
		m.deployment = object.(*appsv1.Deployment)
	case kube.InferenceServiceKind:
		m.deployment = l.predictor(object)
	case kube.LeaderWorkerSetKind:
		m.groups = l.groupSets(object)
		m.pods = l.groupPods(object, m.groups)
	case kube.JobSetKind:
		if m.job = l.jobOf(object); m.job != nil {
			m.pods = lookup[*corev1.Pod](l.caches().pods.GetIndexer(), byOwner, string(m.job.UID))
		}
	default:
		m.job, _ = object.(*batchv1.Job)
		m.pods = lookup[*corev1.Pod](l.caches().pods.GetIndexer(), byOwner, string(object.GetUID()))
	}
	if m.deployment != nil {
		m.sets = lookup[*appsv1.ReplicaSet](l.caches().sets, byOwner, string(m.deployment.UID))
		for _, set := range m.sets {
			m.pods = append(m.pods, lookup[*corev1.Pod](l.caches().pods.GetIndexer(), byOwner, string(set.UID))...)
		}
	}
	slices.SortFunc(m.pods, func(a, b *corev1.Pod) int {
		if leaving := cmp.Compare(leavingRank(a), leavingRank(b)); leaving != 0 {
			return leaving
		}
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	if m.several() {
		slices.SortStableFunc(m.pods, telling)
	}
	return m
}

// several reports whether the pods belong together: all of them run, or none does.
func (m ownedObjects) several() bool { return asJobSet(m.object) != nil || asGroup(m.object) != nil }

// runnerOf is what makes the pods of a workload, as far as it must be known to tell it from another's.
func (l *loop) runnerOf(w workload.Workload) Object {
	return Object{Key: runner(w), Owner: kube.Owner{Instance: l.o.KubeSite(l.name).Instance, Tenant: w.Tenant,
		Workload: w.ID}}
}

func leavingRank(p *corev1.Pod) int {
	if p.DeletionTimestamp != nil {
		return 1
	}
	return 0
}

// uids are those of what makes the pods.
func (m ownedObjects) uids() []string {
	if m.object == nil {
		return nil
	}
	uids := []string{string(m.object.GetUID())}
	if m.deployment != nil && m.deployment.UID != m.object.GetUID() {
		uids = append(uids, string(m.deployment.UID))
	}
	if m.job != nil && m.job.UID != m.object.GetUID() {
		uids = append(uids, string(m.job.UID))
	}
	for _, set := range m.groups {
		uids = append(uids, string(set.UID))
	}
	for _, set := range m.sets {
		uids = append(uids, string(set.UID))
	}
	return uids
}

// pod is the one that counts, of several replicas one that answers; nil for none.
func (m ownedObjects) pod() *corev1.Pod {
	if len(m.pods) == 0 {
		return nil
	}
	if m.deployment != nil {
		if i := slices.IndexFunc(m.pods, answers); i > 0 {
			return m.pods[i]
		}
	}
	return m.pods[0]
}

// answers reports whether a pod is ready and stays.
func answers(p *corev1.Pod) bool {
	ready := condition(p, corev1.PodReady)
	return p.DeletionTimestamp == nil && ready != nil && ready.Status == corev1.ConditionTrue
}

// replicas are the pods of an endpoint, the one that counts first; and whether Kubernetes has made or begun to delete
// as many as there shall be.
func (m ownedObjects) replicas(w workload.Workload) (list []workload.Replica, scaled bool) {
	d := m.deployment
	if d == nil && !m.several() {
		return nil, false
	}
	first := m.pod()
	for _, p := range m.pods {
		r := workload.Replica{Pod: p.Name, IP: p.Status.PodIP, Node: nodeOf(p), Ready: answers(p),
			Revision: revisionOf(p.Labels), Worker: kube.Works(p.Labels), Leaving: p.DeletionTimestamp != nil || over(p)}
		if p == first {
			list = slices.Insert(list, 0, r)
		} else {
			list = append(list, r)
		}
	}
	if m.several() {
		return list, false // it never has another number
	}
	return list, d.Status.ObservedGeneration >= d.Generation && d.Spec.Replicas != nil &&
		int(*d.Spec.Replicas) == w.Replicas.Want() && int(d.Status.Replicas) <= w.Replicas.Want()
}

// observe says what the cluster has of a workload, from the caches. It answers false when that cannot be told.
func (l *loop) observe(ctx context.Context, w workload.Workload, m ownedObjects,
	t applyError) (workload.Observation, bool) {
	obs := workload.Observation{At: l.o.Now().UTC().Truncate(time.Second), Generation: min(w.Observed.Generation,
		w.Generation), PodPresent: m.podPresent(w)}
	if pod := m.pod(); pod != nil {
		describe(&obs, pod)
	}
	if m.several() {
		obs.Ready = together(m.pods, w.Replicas.Want())
	}
	obs.Pods, obs.Scaled = m.replicas(w)
	switch {
	case m.object == nil && (w.Desired == workload.WantDeleted || w.Desired == workload.WantStopped &&
		(w.Image.NeedsJobSet() || l.caches().within(w.Namespace) == nil)):
		gone, err := l.gone(ctx, w)
		if err != nil {
			return obs, false
		}
		if gone {
			obs.Generation = w.Generation
		}
	case w.Desired != workload.WantDeleted && m.rolledOut():
		// caches that lag behind take nothing back
		obs.Generation = max(obs.Generation, kube.OwnerOf(m.object.GetAnnotations()).Generation)
	}
	obs.Result = m.result()
	var err error
	if obs.ProgramEnded, err = l.programEnded(ctx, w, m); err != nil {
		return obs, false
	}
	if l.overdue(w) && m.object == nil {
		if gone, err := l.gone(ctx, w); err != nil {
			return obs, false
		} else if gone {
			obs.Result = &workload.Result{At: w.Deadline().UTC()}
		}
	}
	if w.Desired == workload.WantRunning {
		obs.Activity = l.lastActivity(w.ID)
	}
	obs.Edits, obs.Route = l.edits.of(w, obs.At), l.routeOf(w)
	obs.Autoscaler = l.autoscaler(w, m)
	l.explain(&obs, w, m, t)
	l.explainReplicas(&obs, w, m)
	obs.Rollout = l.rollout(w, m, t)
	return obs, true
}

func describe(obs *workload.Observation, p *corev1.Pod) {
	obs.Pod, obs.PodIP = p.Name, p.Status.PodIP
	obs.Node = nodeOf(p)
	obs.Ready = answers(p)
	for _, c := range p.Status.ContainerStatuses {
		obs.Restarts += c.RestartCount
	}
}

// nodeOf is where a pod holds its GPU; "" for nowhere, also when it has ended.
func nodeOf(p *corev1.Pod) string {
	if over(p) {
		return ""
	}
	return p.Spec.NodeName
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// rolledOut reports whether Kubernetes has acted on what the object now says: its controller has seen it, and the pod,
// if there is one, is made from it.
func (m ownedObjects) rolledOut() bool {
	switch o := m.object.(type) {
	case *appsv1.StatefulSet:
		if o.DeletionTimestamp != nil || o.Status.ObservedGeneration < o.Generation {
			return false
		}
		pod := m.pod()
		return pod == nil || o.Status.UpdateRevision == "" ||
			pod.Labels[appsv1.ControllerRevisionHashLabelKey] == o.Status.UpdateRevision
	case *appsv1.Deployment:
		return settled(o)
	case *unstructured.Unstructured:
		if asJobSet(o) != nil {
			return o.GetDeletionTimestamp() == nil && (m.job != nil || jobSetEnded(o) != nil || queued(o))
		}
		if asGroup(o) != nil {
			return o.GetDeletionTimestamp() == nil && groupSettled(o)
		}
		return o.GetDeletionTimestamp() == nil && takenUp(o, m.deployment) && settled(m.deployment)
	case *batchv1.Job:
		return o.DeletionTimestamp == nil && (!suspended(o) || o.Status.Active == 0 && jobCondition(o,
			batchv1.JobSuspended) != nil || ended(o) != nil)
	}
	return false
}

// settled reports whether the pods of a Deployment are made from what it now says.
func settled(d *appsv1.Deployment) bool {
	return d.DeletionTimestamp == nil && d.Status.ObservedGeneration >= d.Generation &&
		d.Status.UpdatedReplicas >= d.Status.Replicas
}

// gone asks the API server itself, for the caches may lag behind and what is called ended is never looked at again.
func (l *loop) gone(ctx context.Context, w workload.Workload) (bool, error) {
	if l.caches().within(w.Namespace) == nil {
		if absent, err := l.namespaceAbsent(ctx, w.Tenant, w.Namespace); err != nil || !absent {
			return false, err
		}
		return l.noPods(ctx, w)
	}
	goes := leaving(w, l.o.KubeSite(l.name).Instance)
	for _, o := range slices.Concat(goes, l.replaced(w, DesiredObjects{Objects: goes})) {
		found, err := kinds[rank(o.Kind)].clients(l.cluster.Client, o.Namespace).get(ctx, o.Name)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return false, err
		case o.mayTouch(existing(found)):
			return false, nil
		}
	}
	return l.noPods(ctx, w)
}

// noPods asks the API server whether pods of a workload are left.
func (l *loop) noPods(ctx context.Context, w workload.Workload) (bool, error) {
	selector := labels.SelectorFromSet(kube.PodSelector(w)).String()
	pods, err := l.cluster.Client.CoreV1().Pods(w.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return false, err
	}
	for _, p := range pods.Items {
		if owner := metav1.GetControllerOf(&p); owner != nil && (ownedBy(owner, w.Name) || ownedBy(owner, w.PodsName()) ||
			orphaned(&p, w.PodsName(), w.ID)) {
			return false, nil
		}
	}
	return true, nil
}

// ownedBy tells pods of a StatefulSet, of a Job, or of a ReplicaSet of a Deployment, of that name from pods that only
// carry a copy of our label.
func ownedBy(owner *metav1.OwnerReference, name string) bool {
	if owner.Kind == "ReplicaSet" {
		return len(owner.Name) > len(name) && owner.Name[:len(name)+1] == name+"-"
	}
	return (owner.Kind == "StatefulSet" || owner.Kind == jobKind) && owner.Name == name
}

// rendered is when the present spec was made and when its objects were first there; both are kept from one observation
// to the next.
func rendered(w workload.Workload, f explain.Facts) (decided, created time.Time) {
	for _, s := range w.Observed.Steps {
		switch s.Name {
		case workload.StepDecided:
			decided = s.At
		case workload.StepCreated:
			created = s.At
		}
	}
	if decided.IsZero() {
		decided = w.UpdatedAt
	}
	if created.IsZero() && f.Generation >= w.Generation {
		created = f.Now.UTC().Truncate(time.Second)
	}
	return decided, created
}

// worthSaving reports whether the new value says something that the old one did not. The time of an observation alone
// is worth a write only now and then, and so is the cluster's wording, which counts nodes and seconds.
func worthSaving(before, after workload.Workload, confirm time.Duration) bool {
	if after.State != before.State || after.Desired != before.Desired || after.Generation != before.Generation ||
		!same(after.Reason, before.Reason) ||
		!after.Lease.Until.Equal(before.Lease.Until) || !after.PlacedAt.Equal(before.PlacedAt) ||
		!after.WarnedAt.Equal(before.WarnedAt) || !same(after.Replicas, before.Replicas) ||
		!same(after.Revisions, before.Revisions) ||
		!same(after.Result, before.Result) {
		return true
	}
	a, b := after.Observed, before.Observed
	if !a.At.Before(b.At.Add(confirm)) && (a.PodPresent || after.Desired == workload.WantRunning || a.Detail != b.Detail ||
		!same(a.Activity, b.Activity)) {
		return true
	}
	a.At, a.Detail = b.At, b.Detail
	if sameKernels(a.Activity, b.Activity) {
		a.Activity = b.Activity
	}
	return !same(a, b)
}

// sameKernels: what a notebook did last changes all the time while it works; that alone can wait for the next
// confirmation.
func sameKernels(a, b *workload.Activity) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Kernels, b.Kernels, func(x, y workload.Kernel) bool {
		return x.Name == y.Name &&
			x.State == y.State
	})
}

// same compares as the database keeps things: numbers and times change their Go form on the way there and back.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
