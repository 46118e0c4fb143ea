package reconcile

import (
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// onChange maps a change in the cluster to the workloads that it concerns. Pods, ReplicaSets and events are followed up
// to the object of ours that made them; a label alone proves nothing.
func (l *loop) onChange(before, after any) {
	obj := after
	if after == nil {
		obj = before
		l.onDelete(before)
	}
	if o, ok := obj.(metav1.Object); ok && l.gate.isHeld() && l.isOurs(o) {
		l.drifted.fire()
	}
	switch o := obj.(type) {
	case *corev1.Event:
		l.wakeInvolved(o)
	case *corev1.ResourceQuota:
		l.quotaSeen(before, o)
	case *corev1.Pod:
		l.wakeOwner(o, 2)
		if l.spoofed(o) || after == nil && l.pretends(o) && l.holder(o) == "" {
			l.patrol.trigger.fire()
		}
	case *appsv1.ReplicaSet:
		l.wakeOwner(o, 2)
	case metav1.Object:
		l.wakeRecorded(o)
	}
}

// gather is how long changes in the cluster are gathered: a pod that starts makes a dozen of them, and one pass can
// take in several.
const gather = 100 * time.Millisecond

// onDelete lets an object that vanished be made again.
func (l *loop) onDelete(obj any) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return
	}
	l.writer.ledger.gone(Key{Kind: kindOf(obj), Namespace: o.GetNamespace(), Name: o.GetName()}, l.o.Now())
}

func kindOf(obj any) string {
	switch o := obj.(type) {
	case *corev1.Namespace:
		return "Namespace"
	case *rbacv1.RoleBinding:
		return bindingKind
	case *corev1.ServiceAccount:
		return "ServiceAccount"
	case *corev1.ResourceQuota:
		return "ResourceQuota"
	case *corev1.LimitRange:
		return "LimitRange"
	case *networkingv1.NetworkPolicy:
		return "NetworkPolicy"
	case *corev1.PersistentVolumeClaim:
		return "PersistentVolumeClaim"
	case *corev1.Secret:
		return "Secret"
	case *resourcev1.ResourceClaimTemplate:
		return "ResourceClaimTemplate"
	case *corev1.Service:
		return "Service"
	case *appsv1.StatefulSet:
		return "StatefulSet"
	case *appsv1.Deployment:
		return "Deployment"
	case *batchv1.Job:
		return jobKind
	case *unstructured.Unstructured:
		return o.GetKind()
	}
	return ""
}

// wakeRecorded wakes the workload in the owner record, or everyone of the tenant when it is the tenant's own object.
func (l *loop) wakeRecorded(o metav1.Object) {
	r := kube.OwnerOf(o.GetAnnotations())
	l.ringShared(r.Volume)
	if r.Volume != "" && kindOf(o) == kube.VolumeSnapshotKind {
		time.AfterFunc(gather, l.volumes.fire)
	}
	if r.Volume != "" {
		l.drifted.fire()
	}
	switch {
	case r.Instance == "":
	case r.Workload != "":
		l.queue.AddAfter(r.Workload, gather)
	case r.Tenant != "":
		l.tenants.invalidate(r.Tenant, time.Second)
	}
}

// wakeOwner wakes the workload that a pod or ReplicaSet belongs to.
func (l *loop) wakeOwner(o metav1.Object, steps int) {
	if made, ok := l.maker(o, steps); ok {
		l.wakeRecorded(made)
	}
}

// maker climbs from a pod or ReplicaSet to what we made.
func (l *loop) maker(o metav1.Object, steps int) (metav1.Object, bool) {
	owner := metav1.GetControllerOf(o)
	if owner == nil || steps == 0 {
		return nil, false
	}
	if owner.Kind == "ReplicaSet" {
		obj, exists, err := l.caches().sets.GetByKey(o.GetNamespace() + "/" + owner.Name)
		if err != nil || !exists {
			return nil, false
		}
		return l.maker(obj.(metav1.Object), steps-1)
	}
	made, ok := l.caches().cached(Key{Kind: owner.Kind, Namespace: o.GetNamespace(), Name: owner.Name})
	if ok && made.GetUID() == owner.UID {
		if service := l.madeOf(made); service != nil {
			return service, true
		}
	}
	return made, ok && made.GetUID() == owner.UID
}

// wakeInvolved wakes the workload that an event is about.
func (l *loop) wakeInvolved(e *corev1.Event) {
	about := e.InvolvedObject
	name := about.Namespace + "/" + about.Name
	switch about.Kind {
	case "Pod":
		if obj, exists, _ := l.caches().pods.GetStore().GetByKey(name); exists {
			l.wakeOwner(obj.(metav1.Object), 2)
		}
	case "ReplicaSet":
		if obj, exists, _ := l.caches().sets.GetByKey(name); exists {
			l.wakeOwner(obj.(metav1.Object), 1)
		}
	case "StatefulSet", "Deployment", kube.InferenceServiceKind, jobKind, kube.JobSetKind, kube.LeaderWorkerSetKind,
		"PersistentVolumeClaim":
		if made, ok := l.caches().cached(Key{Kind: about.Kind, Namespace: about.Namespace, Name: about.Name}); ok {
			l.wakeRecorded(made)
		}
	}
}

// quotaSeen looks after a quota of ours: its limits are the tenant's, and when its use falls, those who were refused
// are looked at.
func (l *loop) quotaSeen(before any, after *corev1.ResourceQuota) {
	old, ok := before.(*corev1.ResourceQuota)
	if !ok || old.Annotations[HashAnnotation] != after.Annotations[HashAnnotation] || !sameFields(old, after) ||
		!reflect.DeepEqual(old.Spec, after.Spec) {
		l.wakeRecorded(after)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, n := range l.refused {
		if n.namespace == after.Namespace {
			l.queue.Add(id)
		}
	}
}

// sameFields reports whether nobody has set anything but the status in between.
func sameFields(a, b metav1.Object) bool {
	return slices.EqualFunc(a.GetManagedFields(), b.GetManagedFields(), func(x, y metav1.ManagedFieldsEntry) bool {
		return x.Manager == y.Manager && x.Operation == y.Operation && x.Time.Equal(y.Time) &&
			x.FieldsV1.String() == y.FieldsV1.String()
	})
}
