package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// patrol looks for objects that carry this portal's labels and are not the portal's: a pod that no object of ours made,
// an object of a known workload or tenant that it does not have. They are told and left alone. What belongs to a
// workload that the database does not know is no spoof: the database may be the older one.
type patrol struct {
	trigger trigger

	mu       sync.Mutex
	since    map[types.UID]time.Time // when a suspect was first seen
	reported map[types.UID]bool
}

// spoofGrace is for how long a suspect is given the benefit of the doubt: the watch of pods may be ahead of the watch
// of what makes them.
const spoofGrace = 5 * time.Second

func newPatrol() *patrol {
	return &patrol{trigger: make(trigger, 1), since: map[types.UID]time.Time{}, reported: map[types.UID]bool{}}
}

// spoof is an object that pretends to be ours.
type spoof struct {
	Key
	uid    types.UID
	tenant string // of the namespace
}

func (l *loop) patrolAlways(ctx context.Context) {
	beat := l.o.Watchdog.Begin(ctx, "cluster/"+l.name+"/patrol", passWithin+jobs.Overrun)
	defer beat.End()
	for {
		if l.status.ok() && l.caches().synced() {
			beat.Beat(ctx, passWithin+jobs.Overrun)
			if again := l.lookOnce(ctx); again > 0 {
				time.AfterFunc(again, l.patrol.trigger.fire)
			}
		}
		switch _, why := jobs.Await(ctx, beat, l.patrol.trigger, jitter(l.o.Every.Compare)); why {
		case jobs.Ended:
			return
		case jobs.Rung:
			if !jobs.Sleep(ctx, beat, time.Second) { // many pods come at once
				return
			}
		}
	}
}

// lookOnce is look with a deadline.
func (l *loop) lookOnce(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, passWithin)
	defer cancel()
	return l.patrolOnce(ctx)
}

// cached goes round once. The time is when a suspect that is too new is looked at again.
func (l *loop) patrolOnce(ctx context.Context) (again time.Duration) {
	living, err := l.o.Store.Living(ctx)
	if err != nil {
		return spoofGrace
	}
	suspects := l.suspects(living)
	now, counts := l.o.Now(), map[string]int{}
	for _, s := range suspects {
		wait := spoofGrace - now.Sub(l.patrol.firstSeen(s.uid, now))
		if wait > 0 {
			again = sooner(again, wait)
			continue
		}
		counts[s.Kind]++
		if err := l.reportSpoof(ctx, s, now); err != nil {
			l.log.WarnContext(ctx, "record a spoofed object", "object", s.Key.String(), "error", err)
			again = sooner(again, spoofGrace)
		}
	}
	l.stats.spoofed.DeletePartialMatch(map[string]string{"cluster": l.name})
	for kind, n := range counts {
		l.stats.spoofed.WithLabelValues(l.name, kind).Set(float64(n))
	}
	l.patrol.forget(suspects)
	return again
}

func (p *patrol) firstSeen(uid types.UID, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.since[uid]; !known {
		p.since[uid] = now
	}
	return p.since[uid]
}

// forget drops what is gone, or has turned out to be ours.
func (p *patrol) forget(suspects []spoof) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for uid := range p.since {
		if !slices.ContainsFunc(suspects, func(s spoof) bool { return s.uid == uid }) {
			delete(p.since, uid)
			delete(p.reported, uid)
		}
	}
}

func (l *loop) reportSpoof(ctx context.Context, s spoof, now time.Time) error {
	l.patrol.mu.Lock()
	defer l.patrol.mu.Unlock()
	if l.patrol.reported[s.uid] {
		return nil
	}
	e := audit.By(identity.System(), audit.ObjectSpoofed, now)
	e.Tenant = s.tenant
	e.Detail = i18n.T("reconcile.object_spoofed", "Object", s.Key.String(), "Cluster", l.name)
	if err := l.o.Store.Append(ctx, e); err != nil {
		return err
	}
	l.log.WarnContext(ctx, "an object carries the portal's labels and is not the portal's; it is left alone",
		"object",
		s.Key.String())
	l.patrol.reported[s.uid] = true
	return nil
}

// suspects are the objects in the caches that pretend to be ours.
func (l *loop) suspects(living []workload.Workload) []spoof {
	known := l.knownObjects(living)
	var list []spoof
	add := func(kind string, o metav1.Object) {
		s := spoof{Key: Key{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}, uid: o.GetUID()}
		if ns, ok := l.caches().cached(Key{Kind: "Namespace", Name: o.GetNamespace()}); ok {
			s.tenant = kube.OwnerOf(ns.GetAnnotations()).Tenant
		}
		list = append(list, s)
	}
	for _, p := range listed[*corev1.Pod](l.caches().pods.GetStore()) {
		if l.spoofed(p) {
			add("Pod", p)
		}
	}
	for _, k := range kinds {
		for _, o := range listed[metav1.Object](l.caches().ours[k.name]) {
			if o.GetDeletionTimestamp() == nil && known.disowns(k.name, o) && l.madeOf(o) == nil {
				add(k.name, o)
			}
		}
	}
	return list
}

// spoofed reports whether a pod carries this portal's labels though no object of ours made it, or those of another
// workload than the one whose object made it.
func (l *loop) spoofed(p *corev1.Pod) bool {
	if !l.pretends(p) || p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed ||
		p.Status.Phase == corev1.PodSucceeded {
		return false
	}
	holder := l.holder(p)
	return holder == "" || p.Labels[kube.WorkloadKey] != holder
}

// pretends reports whether the labels say that a pod is this portal's. Those of another portal on the cluster are its
// business.
func (l *loop) pretends(p *corev1.Pod) bool {
	instance, named := p.Labels[kube.InstanceKey]
	if named {
		return instance == l.o.KubeSite(l.name).Instance
	}
	return p.Labels[kube.WorkloadKey] != "" || p.Labels[kube.ExposedKey] != ""
}

// known is what the database's workloads and tenants have in the cluster.
type known struct {
	instance  string
	workloads map[workload.ID]bool
	objects   map[Key]bool
	tenants   map[string]map[Key]bool
	tenantOf  func(name string) ([]Object, error)
}

func (l *loop) knownObjects(living []workload.Workload) known {
	k := known{instance: l.o.KubeSite(l.name).Instance, workloads: map[workload.ID]bool{}, objects: map[Key]bool{},
		tenants: map[string]map[Key]bool{}, tenantOf: l.tenantOwn}
	for _, w := range living {
		k.workloads[w.ID] = true
		if w.Cluster != l.name {
			continue
		}
		for _, ref := range slices.Concat(kube.Names(w), kube.RouteNames(w)) {
			k.objects[Key{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}] = true
		}
	}
	return k
}

// disowns reports whether an object that the watches of ours show is not ours.
func (k known) disowns(kind string, o metav1.Object) bool {
	r := kube.OwnerOf(o.GetAnnotations())
	if r.Instance == "" {
		r.Instance = o.GetLabels()[kube.InstanceKey]
	}
	key := Key{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
	switch {
	case r.Instance != k.instance:
		return false
	case r.Tenant == "":
		return true // no record beside the labels
	case r.Volume != "":
		if kind == kube.VolumeSnapshotKind {
			_, ok := workload.SnapshotName(r.Volume, o.GetName())
			return !ok
		}
		return kind != claimKind || r.Volume != o.GetName()
	case r.Workload == "":
		return !k.ofTenant(r.Tenant, key)
	}
	// an older claim template of a workload goes when its pod has gone
	return k.workloads[r.Workload] && !k.objects[key] && kind != "ResourceClaimTemplate"
}

func (k known) ofTenant(name string, key Key) bool {
	if k.tenants[name] == nil {
		objects, err := k.tenantOf(name)
		if err != nil {
			return true // it is not configured any more: nothing can be said
		}
		k.tenants[name] = map[Key]bool{}
		for _, o := range objects {
			k.tenants[name][o.Key] = true
		}
	}
	return k.tenants[name][key]
}
