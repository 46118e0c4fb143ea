package reconcile

import (
	"context"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// acts reports whether what is known of the cluster is fresh.
func (l *loop) acts() bool { return l.status.ok() && l.caches().synced() }

// may reports whether something may be changed in the cluster, and its row by what is seen there.
func (l *loop) may(t drift.ResourceKind, key string) bool { return l.acts() && l.gate.may(t, key) }

// verify compares the checkpoints in the cluster with the database before anything is done there. Without a checkpoint
// the objects themselves are the evidence.
func (l *loop) verify(ctx context.Context) error {
	holds, err := l.o.Store.Holds(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(holds, func(h drift.Hold) bool { return h.Cluster == l.name }) {
		l.gate.set(true)
		l.drifted.fire()
		return nil
	}
	found := false
	for _, cached := range l.namespaces() {
		if cached.Annotations[kube.CheckpointKey] == "" {
			continue
		}
		ns, err := l.cluster.Client.CoreV1().Namespaces().Get(ctx, cached.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		cause, checkpoint, err := l.judge(ctx, ns)
		if err != nil {
			return err
		}
		if cause != "" {
			return l.hold(ctx, cause, checkpoint)
		}
		found = true
	}
	if !found {
		list, err := l.compareDrift(ctx)
		if err != nil {
			return err
		}
		if drift.ClusterAhead(list) {
			return l.hold(ctx, drift.NoCheckpoint, drift.Checkpoint{})
		}
	}
	if err := l.takeUpDecisions(ctx); err != nil {
		return err
	}
	l.gate.set(false)
	l.drifted.fire()
	return nil
}

// hold begins: nothing is done in the cluster from now on.
func (l *loop) hold(ctx context.Context, cause drift.Cause, checkpoint drift.Checkpoint) error {
	l.gate.set(true)
	p, err := l.o.Store.Position(ctx)
	if err != nil {
		return err
	}
	l.log.ErrorContext(ctx, "the cluster carries more than the database knows: nothing is changed there until an "+
		"administrator has decided", "cause", string(cause), "checkpoint", checkpoint.String(), "database", p)
	now := l.o.Now()
	e := audit.By(identity.System(), audit.ClusterHeld, now)
	e.Detail = i18n.T("drift.cause."+string(cause), "Cluster", l.name)
	err = l.o.Store.SaveHold(ctx, drift.Hold{Cluster: l.name, Since: now, Cause: cause, Checkpoint: checkpoint,
		Database: p}, e)
	l.drifted.fire()
	return err
}

// driftWhileHeld is how often a held cluster is compared though nothing is heard of it.
const driftWhileHeld = 5 * time.Second

// driftPause is the least time between two comparisons: each reads every living row.
const driftPause = time.Second

// watchDrift keeps the list of differences, and carries decisions out.
func (l *loop) watchDrift(ctx context.Context) {
	beat := l.o.Watchdog.Begin(ctx, "cluster/"+l.name+"/drift", passWithin+jobs.Overrun)
	defer beat.End()
	for {
		pause := l.o.Every.Compare
		if l.gate.isHeld() {
			pause = min(pause, driftWhileHeld)
		}
		if _, why := jobs.Await(ctx, beat, l.drifted, jitter(pause)); why == jobs.Ended {
			return
		}
		if !l.acts() || !l.gate.wasChecked() {
			continue
		}
		beat.Beat(ctx, passWithin+jobs.Overrun)
		if err := bounded(ctx, l.reportDrift); err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "compare the cluster with the database", "error", err)
			time.AfterFunc(jitter(time.Second), l.drifted.fire)
		}
		if !jobs.Sleep(ctx, beat, driftPause) {
			return
		}
	}
}

func (l *loop) reportDrift(ctx context.Context) error {
	if err := l.takeUpDecisions(ctx); err != nil {
		return err
	}
	held, err := l.stillHeld(ctx)
	if err != nil {
		return err
	}
	list, err := l.compareDrift(ctx)
	if err != nil {
		return err
	}
	known, err := l.knownDrift(ctx)
	if err != nil {
		return err
	}
	released := map[string]bool{}
	for _, d := range known {
		released[d.ID] = d.Decision == drift.Release
	}
	if held == nil {
		list = drift.Lasting(list, released)
	}
	if err := l.o.Store.SaveDifferences(ctx, l.name, list); err != nil {
		return err
	}
	if err := l.removeDecided(ctx); err != nil {
		return err
	}
	if held != nil && held.Decided > 0 {
		return l.goOn(ctx)
	}
	return nil
}

// knownDrift is what the database has of this cluster's differences.
func (l *loop) knownDrift(ctx context.Context) ([]drift.Difference, error) {
	all, err := l.o.Store.Differences(ctx)
	return drift.Report{Differences: all}.Of(l.name), err
}

// takeUpDecisions lets workers look after what was decided.
func (l *loop) takeUpDecisions(ctx context.Context) error {
	known, err := l.knownDrift(ctx)
	if err != nil {
		return err
	}
	for _, d := range l.gate.decide(known) {
		if d.ResourceKind == drift.Workload {
			l.queue.Add(workload.ID(d.Key))
		} else {
			l.volumes.fire()
		}
	}
	return nil
}

// stillHeld gives the hold of the cluster; nil for none. Where an administrator has ended it, work goes on.
func (l *loop) stillHeld(ctx context.Context) (*drift.Hold, error) {
	holds, err := l.o.Store.Holds(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		if h.Cluster == l.name {
			l.gate.set(true)
			return &h, nil
		}
	}
	if !l.gate.isHeld() {
		return nil, nil
	}
	if err := l.checkpoints.renew(ctx); err != nil {
		return nil, err
	}
	l.gate.set(false)
	l.log.InfoContext(ctx, "work in the cluster goes on")
	l.tenants.invalidateAll()
	l.home.compare(ctx)
	l.volumes.fire()
	return nil, nil
}

// goOn ends the hold once everything is decided. A hold under which nobody has decided anything is not ended: the
// cluster may agree with a database that is not to be used any more.
func (l *loop) goOn(ctx context.Context) error {
	known, err := l.knownDrift(ctx)
	if err != nil || slices.ContainsFunc(known, drift.Difference.Open) {
		return err
	}
	e := audit.By(identity.System(), audit.ClusterResumed, l.o.Now())
	e.Detail = i18n.T("drift.resumed", "Cluster", l.name, "Count", 0)
	if err := l.o.Store.EndHold(ctx, l.name, e); err != nil {
		return err
	}
	_, err = l.stillHeld(ctx)
	return err
}

// removeDecided deletes objects that the database does not know and that an administrator wants gone.
func (l *loop) removeDecided(ctx context.Context) error {
	known, err := l.knownDrift(ctx)
	if err != nil {
		return err
	}
	for _, d := range known {
		if d.Kind != drift.ClusterOnly || d.Decision != drift.Apply {
			continue
		}
		if err := l.removeUnknown(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// removeUnknown deletes what was shown, by UID, what makes pods first. What became known meanwhile stays.
func (l *loop) removeUnknown(ctx context.Context, d drift.Difference) error {
	rows, err := l.rowsFor(ctx, nil, []drift.ClusterState{*d.Live})
	if err != nil || len(rows.Workloads)+len(rows.Volumes) > 0 {
		return err
	}
	if err := l.checkpoints.cover(ctx, d.Live.Namespace); err != nil {
		return err
	}
	objects := slices.SortedFunc(slices.Values(d.Live.Objects),
		func(a, b drift.Object) int { return rank(b.Kind) - rank(a.Kind) })
	for _, o := range objects {
		if rank(o.Kind) < 0 || o.Kind == claimKind && l.used(workload.Volume{Namespace: d.Live.Namespace, Name: o.Name}) {
			continue
		}
		is := Object{Key: Key{Kind: o.Kind, Namespace: d.Live.Namespace, Name: o.Name},
			Owner: kube.Owner{Instance: l.o.KubeSite(l.name).Instance, Tenant: d.Live.Tenant}}
		if d.ResourceKind == drift.Workload {
			is.Workload = workload.ID(d.Key)
		} else {
			is.Volume = d.Key
		}
		c := kinds[rank(o.Kind)].clients(l.cluster.Client, is.Namespace)
		found, err := c.get(ctx, o.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		e := existing(found)
		if e.UID != o.UID || e.Deleting || !is.mayTouch(e) {
			continue
		}
		if err := l.writer.delete(ctx, c, Step{Verb: Delete, Object: is, UID: e.UID, Version: e.Version}); err != nil {
			return err
		}
		l.writer.wrote(Delete, o.Kind)
	}
	return nil
}

// compareDrift compares the caches with the database.
func (l *loop) compareDrift(ctx context.Context) ([]drift.Difference, error) {
	living, err := l.o.Store.Living(ctx)
	if err != nil {
		return nil, err
	}
	seen := l.seenObjects() // after the rows: what is made meanwhile has a row that is asked for
	rows, err := l.rowsFor(ctx, living, seen)
	if err != nil {
		return nil, err
	}
	return drift.Compare(l.name, seen, rows, l.o.Now()), nil
}

// rowsFor is the database's side: the living, the storage, and each row that an object names.
func (l *loop) rowsFor(ctx context.Context, living []workload.Workload, seen []drift.ClusterState) (drift.Rows, error) {
	rows := drift.Rows{Workloads: map[workload.ID]workload.Workload{}, Volumes: map[string]workload.Volume{}}
	for _, w := range living {
		if w.Cluster == l.name {
			rows.Workloads[w.ID] = w
		}
	}
	if living != nil {
		kept, err := l.o.Store.Volumes(ctx, workload.VolumeFilter{Cluster: l.name})
		if err != nil {
			return rows, err
		}
		for _, v := range kept {
			rows.Volumes[v.Name] = v
		}
	}
	for _, s := range seen {
		if err := l.lookUp(ctx, s, rows); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (l *loop) lookUp(ctx context.Context, s drift.ClusterState, rows drift.Rows) error {
	if s.ResourceKind == drift.Storage {
		if _, known := rows.Volumes[s.Key]; known {
			return nil
		}
		v, err := l.o.Store.Volume(ctx, s.Key)
		if err == nil {
			rows.Volumes[s.Key] = v
		}
		return unlessNotFound(err)
	}
	if _, known := rows.Workloads[workload.ID(s.Key)]; known {
		return nil
	}
	w, err := l.o.Store.Workload(ctx, workload.ID(s.Key))
	if err == nil {
		rows.Workloads[w.ID] = w
	}
	return unlessNotFound(err)
}

func unlessNotFound(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// seenObjects gathers by owner record what the cluster has of workloads and storage.
func (l *loop) seenObjects() []drift.ClusterState {
	found := map[string]*drift.ClusterState{}
	of := func(t drift.ResourceKind, key string, o metav1.Object) *drift.ClusterState {
		name := resourceKey(t, key)
		if found[name] == nil {
			found[name] = &drift.ClusterState{ResourceKind: t, Key: key, Tenant: kube.OwnerOf(o.GetAnnotations()).Tenant,
				Namespace: o.GetNamespace(), Name: o.GetName(), Since: o.GetCreationTimestamp().UTC()}
		}
		return found[name]
	}
	for _, k := range kinds {
		for _, obj := range l.caches().ours[k.name].List() {
			o, ok := obj.(metav1.Object)
			if !ok || !l.isOurs(o) || l.madeOf(o) != nil {
				continue
			}
			owner := kube.OwnerOf(o.GetAnnotations())
			switch {
			case k.name == claimKind && owner.Volume != "":
				l.seeClaim(of(drift.Storage, owner.Volume, o), o)
			case k.name == kube.VolumeSnapshotKind:
				l.seeSnapshot(found[resourceKey(drift.Storage, owner.Volume)], o)
			case owner.Workload != "":
				l.seeObject(of(drift.Workload, string(owner.Workload), o), k.name, o)
			}
		}
	}
	list := make([]drift.ClusterState, 0, len(found))
	for _, s := range found {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b drift.ClusterState) int {
		return strings.Compare(resourceKey(a.ResourceKind, a.Key), resourceKey(b.ResourceKind, b.Key))
	})
	return list
}

func (l *loop) seeObject(s *drift.ClusterState, kind string, o metav1.Object) {
	s.Objects = append(s.Objects, drift.Object{Kind: kind, Name: o.GetName(), UID: string(o.GetUID())})
	if at := o.GetCreationTimestamp().UTC(); at.Before(s.Since) {
		s.Since = at
	}
	slices.SortFunc(s.Objects, func(a, b drift.Object) int {
		return strings.Compare(a.Kind+a.Name, b.Kind+b.Name)
	})
	var replicas *int32
	running := func() bool { return replicas == nil || *replicas > 0 }
	switch r := o.(type) {
	case *appsv1.StatefulSet:
		replicas = r.Spec.Replicas
		l.seeTemplate(s, r.Spec.Template)
	case *appsv1.Deployment:
		replicas = r.Spec.Replicas
		l.seeTemplate(s, r.Spec.Template)
	case *unstructured.Unstructured:
		switch kind {
		case kube.InferenceServiceKind:
			replicas = new(minReplicas(r))
			l.seeTemplate(s, predictorTemplate(r))
		case kube.JobSetKind:
			l.seeTemplate(s, jobSetTemplate(r))
		case kube.LeaderWorkerSetKind:
			replicas = new(groupsWanted(r))
			l.seeTemplate(s, groupTemplate(r))
		default:
			return
		}
	case *batchv1.Job:
		running = func() bool { return !suspended(r) }
		l.seeTemplate(s, r.Spec.Template)
	default:
		return
	}
	s.Kind, s.Name, s.Leaving = kind, strings.TrimSuffix(o.GetName(), ownSuffix[kind]), o.GetDeletionTimestamp() != nil
	s.Running = running()
	s.Generation, s.Lease = kube.OwnerOf(o.GetAnnotations()).Generation, kube.LeaseOf(o.GetAnnotations())
	if spec, ok := kube.SpecOf(o.GetAnnotations()); ok {
		s.Spec = &spec
	}
	for _, p := range l.podsOf(kind, o) {
		if node := nodeOf(p); node != "" {
			s.Node = node
			if c := condition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionTrue {
				s.Placed = c.LastTransitionTime.UTC()
			}
		}
	}
}

// ownSuffix is what the portal itself appends to the name of a workload for what makes its pods.
var ownSuffix = map[string]string{kube.LeaderWorkerSetKind: workload.GroupSuffix}

func (l *loop) podsOf(kind string, o metav1.Object) []*corev1.Pod {
	if kind == kube.InferenceServiceKind {
		made := l.predictor(o)
		if made == nil {
			return nil
		}
		kind, o = "Deployment", made
	}
	if kind == kube.LeaderWorkerSetKind {
		return l.groupPods(o, l.groupSets(o))
	}
	if kind == kube.JobSetKind {
		made := l.jobOf(o)
		if made == nil {
			return nil
		}
		kind, o = jobKind, made
	}
	if kind != "Deployment" {
		return lookup[*corev1.Pod](l.caches().pods.GetIndexer(), byOwner, string(o.GetUID()))
	}
	var pods []*corev1.Pod
	for _, set := range lookup[*appsv1.ReplicaSet](l.caches().sets, byOwner, string(o.GetUID())) {
		pods = append(pods, lookup[*corev1.Pod](l.caches().pods.GetIndexer(), byOwner, string(set.UID))...)
	}
	return pods
}

// seeTemplate is what one pod asks for: extended resources, and claims for devices.
func (l *loop) seeTemplate(s *drift.ClusterState, t corev1.PodTemplateSpec) {
	s.Size, s.Holds = t.Labels[kube.SizeKey], nil
	for _, c := range t.Spec.Containers {
		for name, q := range c.Resources.Requests {
			if strings.Contains(string(name), "/") {
				s.Holds = append(s.Holds, drift.Amount{Resource: string(name), Count: q.Value()})
			}
		}
	}
	if n := len(t.Spec.ResourceClaims); n > 0 {
		s.Holds = append(s.Holds, drift.Amount{Resource: "resource.k8s.io/claims", Count: int64(n)})
	}
	slices.SortFunc(s.Holds, func(a, b drift.Amount) int { return strings.Compare(a.Resource, b.Resource) })
}

func (l *loop) seeClaim(s *drift.ClusterState, o metav1.Object) {
	claim, ok := o.(*corev1.PersistentVolumeClaim)
	if !ok {
		return
	}
	s.Objects = []drift.Object{{Kind: claimKind, Name: o.GetName(), UID: string(o.GetUID())}}
	s.Leaving, s.GiB = o.GetDeletionTimestamp() != nil, int(requested(claim)>>30)
	if claim.Spec.StorageClassName != nil {
		s.Class = *claim.Spec.StorageClassName
	}
	if len(claim.Spec.AccessModes) > 0 {
		s.Access = string(claim.Spec.AccessModes[0])
	}
	if spec, ok := kube.SpecOf(o.GetAnnotations()); ok {
		s.Spec = &spec
	}
}
