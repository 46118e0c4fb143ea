package reconcile

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// A pod that the quota refused is tried again by Kubernetes with growing pauses. When the quota has room again, the
// controller of the owner is woken by an annotation instead: a person who was told "your team's quota is full" must not
// wait for a quarter of an hour after it no longer is.
const (
	nudgeNote    = kube.NudgedKey
	nudgeManager = FieldManager + "-nudge" // not ours: apply would take the annotation away again
	firstNudge   = 10 * time.Second
	longestNudge = 5 * time.Minute
)

type nudge struct {
	namespace string
	at        time.Time
	times     int
}

// nudgeRefused wakes the owner of a pod that could exist now. The time is when to look again.
func (l *loop) nudgeRefused(ctx context.Context, w workload.Workload, m ownedObjects) time.Duration {
	if w.Desired != workload.WantRunning || m.object == nil || len(m.pods) >= w.Replicas.Want() ||
		!l.refusedByQuota(w, m) {
		l.mu.Lock()
		delete(l.refused, w.ID)
		l.mu.Unlock()
		return 0
	}
	l.mu.Lock()
	n := l.refused[w.ID]
	n.namespace = w.Namespace
	l.refused[w.ID] = n
	l.mu.Unlock()
	now := l.o.Now()
	wait := min(longestNudge, firstNudge<<min(n.times, 8)) - now.Sub(n.at)
	if !n.at.IsZero() && wait > 0 {
		return wait
	}
	if !fits(m.template(), lookupNamespace[*corev1.ResourceQuota](l.caches(), "ResourceQuota", w.Namespace)) {
		return 0 // a change of the quota wakes us
	}
	if err := l.touch(ctx, m, now); err != nil {
		l.log.WarnContext(ctx, "wake the owner of a refused pod", "workload", w.ID, "error", err)
		return firstNudge
	}
	l.mu.Lock()
	l.refused[w.ID] = nudge{namespace: w.Namespace, at: now, times: n.times + 1}
	l.mu.Unlock()
	return firstNudge
}

// touch changes what makes the pods. Operators hand no note on, so that it is what they have made there: of a group the
// StatefulSet that they made last.
func (l *loop) touch(ctx context.Context, m ownedObjects, now time.Time) error {
	object := m.object
	if m.deployment != nil {
		object = m.deployment
	}
	if m.job != nil {
		object = m.job
	}
	if n := len(m.groups); n > 0 {
		object = m.groups[n-1]
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": string(object.GetUID()), "annotations": map[string]string{nudgeNote: now.UTC().Format(time.RFC3339)},
	}})
	if err != nil {
		return err
	}
	_, err = kinds[rank(kindOf(object))].clients(l.cluster.Client, object.GetNamespace()).patch(ctx, object.GetName(),
		types.MergePatchType, body, metav1.PatchOptions{FieldManager: nudgeManager})
	return err
}

// refusedByQuota: the newest refusal of a pod names a quota. A denied pod never exists, so only the event on its owner
// tells.
func (l *loop) refusedByQuota(w workload.Workload, m ownedObjects) bool {
	var newest *corev1.Event
	for _, e := range l.eventsAbout(w.Namespace, m.uids()...) {
		if e.Reason == "FailedCreate" && (newest == nil || lastSeen(e).After(lastSeen(newest))) {
			newest = e
		}
	}
	return newest != nil && strings.Contains(newest.Message, "exceeded quota")
}

func (l *loop) eventsAbout(namespace string, uids ...string) []*corev1.Event {
	events := l.caches().eventsIn(namespace)
	var list []*corev1.Event
	for _, uid := range uids {
		list = append(list, lookup[*corev1.Event](events, byInvolved, uid)...)
	}
	return list
}

func lastSeen(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// template is the pod that could not be made.
func (m ownedObjects) template() corev1.PodSpec {
	if m.deployment != nil {
		return m.deployment.Spec.Template.Spec
	}
	if set, ok := m.object.(*appsv1.StatefulSet); ok {
		return set.Spec.Template.Spec
	}
	if n := len(m.groups); n > 0 {
		return m.groups[n-1].Spec.Template.Spec
	}
	if m.job != nil {
		return m.job.Spec.Template.Spec
	}
	return corev1.PodSpec{}
}

// fits reports whether the pod's requests are within what every known quota has left.
func fits(pod corev1.PodSpec, quotas []*corev1.ResourceQuota) bool {
	for _, q := range quotas {
		for name, hard := range q.Status.Hard {
			resource, counts := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
			if !counts {
				continue
			}
			left, asked := hard.DeepCopy(), false
			left.Sub(q.Status.Used[name])
			for _, c := range pod.Containers {
				request, asks := c.Resources.Requests[corev1.ResourceName(resource)]
				left.Sub(request)
				asked = asked || asks
			}
			if asked && left.Sign() < 0 { // a line that was lowered below its use keeps only those out who ask for more of it
				return false
			}
		}
	}
	return true
}
