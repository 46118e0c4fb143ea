package reconcile_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	namespaces   = corev1.SchemeGroupVersion.WithResource("namespaces")
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
)

var administrator = identity.Actor{Person: identity.Person{ID: "p-ada", Name: "Ada"},
	Global: []identity.Role{identity.Admin}}

// differences are what the store has, "key kind [decision]", sorted.
func (w *world) differences() []string {
	list, _ := w.store.Differences(context.Background())
	names := []string{}
	for _, d := range list {
		names = append(names, strings.TrimSpace(d.Owner().Name+" "+string(d.Kind)+" "+string(d.Decision)))
	}
	slices.Sort(names)
	return names
}

func (w *world) until(want ...string) {
	w.t.Helper()
	var got []string
	within(w.t, 2*time.Minute, "the differences are "+strings.Join(want, ", "), func() bool {
		got = w.differences()
		return slices.Equal(got, want)
	})
}

func (w *world) holds() []drift.Hold {
	list, _ := w.store.Holds(context.Background())
	return list
}

// decide takes a decision as an administrator who saw what there is now.
func (w *world) decide(name string, decision drift.Decision) {
	w.t.Helper()
	list, _ := w.store.Differences(context.Background())
	for _, d := range list {
		if d.Owner().Name == name {
			s := drift.New(drift.Options{Store: w.store, Now: time.Now})
			if _, err := s.Decide(w.t.Context(), administrator, d.ID, decision, d.Version); err != nil {
				w.t.Fatalf("%s %s: %v", decision, name, err)
			}
			return
		}
	}
	w.t.Fatalf("no difference is called %s: %v", name, w.differences())
}

func (w *world) replicas(name string) int32 {
	set, err := w.cluster.AppsV1().StatefulSets(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return -1
	}
	return *set.Spec.Replicas
}

// running starts a notebook and plays its pod.
func (w *world) running(name string) workload.Workload {
	w.t.Helper()
	nb := notebook(name)
	w.store.Put(nb)
	within(w.t, 2*time.Minute, name+" is made", func() bool { return w.replicas(name) == 1 })
	w.cluster.play(w.t, name, "node-1", true)
	w.state(nb.ID, workload.Running)
	return nb
}

// restored is the world of the review's finding H3: a backup is taken, then r-c is made, r-a deleted and r-d stopped;
// the backup is restored, and a controller begins with it.
func restored(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.run()
	a, d := w.running("r-a"), w.running("r-d")
	w.settled()
	backup := w.store.Backup()
	w.running("r-c")
	for id, desired := range map[workload.ID]workload.Change{a.ID: workload.Delete, d.ID: workload.Stop} {
		if err := w.store.SetDesired(id, desired, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	within(t, 2*time.Minute, "r-a is gone and r-d has no replica", func() bool {
		return w.replicas("r-a") == -1 && w.replicas("r-d") == 0
	})
	w.cluster.unplay(t, "r-a")
	w.cluster.unplay(t, "r-d")
	w.state(a.ID, workload.Ended)
	w.state(d.ID, workload.Stopped)
	w.halt()
	w.store = backup
	return w
}

// T-DB-4, H3: the portal created r-a anew, started r-d again, and said nothing of r-c.
func TestRestoredBackupChangesNothing(t *testing.T) {
	w := restored(t)
	objects, writes := w.cluster.objects(namespace), w.cluster.writes.Load()
	meters := []int{len(w.store.Meter("w-r-a")), len(w.store.Meter("w-r-d"))}
	before := w.store.Get("w-r-d")
	w.run(func(o *reconcile.Options) { o.Every.Compare = 50 * time.Millisecond })
	w.until("r-a database", "r-c cluster", "r-d different")
	if h := w.holds(); len(h) != 1 || h[0].Cause != drift.Older || h[0].Checkpoint.Audit <= h[0].Database.Audit {
		t.Errorf("held: %+v", h)
	}
	w.settled() // with a full comparison every 50 ms
	if got := w.cluster.writes.Load(); got != writes {
		t.Errorf("%d writes to a cluster that is held", got-writes)
	}
	if got := w.cluster.objects(namespace); !cmp.Equal(objects, got) {
		t.Errorf("objects (-want +got)\n%s", cmp.Diff(objects, got))
	}
	if got := w.store.Get("w-r-d"); got.Version != before.Version {
		t.Errorf("the row of r-d was written: %+v", got)
	}
	for i, id := range []workload.ID{"w-r-a", "w-r-d"} {
		if m := w.store.Meter(id); len(m) != meters[i] || !m[len(m)-1].Until.IsZero() {
			t.Errorf("the meter of %s was touched: %+v", id, m)
		}
	}
	w.halt()
	w.run() // a second start of the old database is as careful as the first
	w.settled()
	if got := w.cluster.writes.Load(); got != writes || len(w.holds()) != 1 {
		t.Errorf("%d writes after a second start, held: %v", got-writes, w.holds())
	}
}

// Adopt: the database becomes what the cluster has, and nothing is changed there.
func TestAdoptAfterRestore(t *testing.T) {
	w := restored(t)
	w.run()
	w.until("r-a database", "r-c cluster", "r-d different")
	objects := w.cluster.objects(namespace)
	for _, name := range []string{"r-a", "r-c", "r-d"} {
		w.decide(name, drift.Adopt)
	}
	within(t, 2*time.Minute, "work goes on", func() bool { return len(w.holds()) == 0 })
	w.state("w-r-a", workload.Ended)
	w.state("w-r-c", workload.Running)
	w.state("w-r-d", workload.Stopped)
	if c := w.store.Get("w-r-c"); c.Owner != "dana" || c.Size.Name != reconciletest.Slice.Name || c.Tenant != "vision" {
		t.Errorf("r-c was taken up as %+v", c)
	}
	if got := w.cluster.objects(namespace); !cmp.Equal(objects, got) {
		t.Errorf("objects (-want +got)\n%s", cmp.Diff(objects, got))
	}
	if m := w.store.Meter("w-r-a"); len(m) != 1 || m[0].Until.IsZero() {
		t.Errorf("want the meter of what is gone closed, got %+v", m)
	}
	w.until()
	w.settled()
	w.halt()
	w.run() // the checkpoint is this database's again
	w.settled()
	if h := w.holds(); len(h) != 0 {
		t.Errorf("held again: %+v", h)
	}
}

// Apply: the cluster becomes what the database has. What it does not know is deleted.
func TestApplyAfterRestore(t *testing.T) {
	w := restored(t)
	w.run()
	w.until("r-a database", "r-c cluster", "r-d different")
	w.decide("r-d", drift.Apply)
	within(t, 2*time.Minute, "r-d runs again", func() bool { return w.replicas("r-d") == 1 })
	if len(w.holds()) != 1 || w.replicas("r-a") != -1 || w.replicas("r-c") != 1 {
		t.Error("want the others to wait for their own decision")
	}
	w.decide("r-a", drift.Apply)
	within(t, 2*time.Minute, "r-a is made anew", func() bool { return w.replicas("r-a") == 1 })
	w.decide("r-c", drift.Apply)
	within(t, 2*time.Minute, "r-c is deleted", func() bool {
		return w.replicas("r-c") == -1 && !slices.ContainsFunc(w.cluster.objects(namespace),
			func(name string) bool { return strings.HasSuffix(name, "/r-c") })
	})
	within(t, 2*time.Minute, "work goes on", func() bool { return len(w.holds()) == 0 })
	if w.replicas("r-a") != 1 || w.replicas("r-d") != 1 {
		t.Error("want what was applied to stay")
	}
}

// Release: rows end, objects stay, and are left alone also when work goes on.
func TestReleaseAfterRestore(t *testing.T) {
	w := restored(t)
	w.run()
	w.until("r-a database", "r-c cluster", "r-d different")
	objects := w.cluster.objects(namespace)
	for _, name := range []string{"r-a", "r-c", "r-d"} {
		w.decide(name, drift.Release)
	}
	within(t, 2*time.Minute, "work goes on", func() bool { return len(w.holds()) == 0 })
	w.until("r-c cluster release", "r-d different release")
	w.state("w-r-a", workload.Ended)
	w.state("w-r-d", workload.Ended)
	w.settled()
	if got := w.cluster.objects(namespace); !cmp.Equal(objects, got) {
		t.Errorf("objects (-want +got)\n%s", cmp.Diff(objects, got))
	}
	w.decide("r-c", drift.Adopt) // somebody thinks again
	w.state("w-r-c", workload.Running)
}

// Go on: rows are carried out as they are, and what the database does not know stays where it is and in the list.
func TestGoOnAfterRestore(t *testing.T) {
	w := restored(t)
	w.run()
	w.until("r-a database", "r-c cluster", "r-d different")
	list, _ := w.store.Differences(t.Context())
	s := drift.New(drift.Options{Store: w.store, Now: time.Now})
	if err := s.Resume(t.Context(), administrator, reconciletest.Cluster, "another list"); err == nil {
		t.Error("want nobody to go on with what they did not see")
	}
	if err := s.Resume(t.Context(), administrator, reconciletest.Cluster, drift.Fingerprint(list)); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "r-a and r-d run", func() bool { return w.replicas("r-a") == 1 && w.replicas("r-d") == 1 })
	w.until("r-c cluster")
	if w.replicas("r-c") != 1 {
		t.Error("want what nobody knows to stay")
	}
}

// What was not carried out in the cluster leaves the checkpoint alone to tell that it is lost; the cluster agrees with
// the old database, and still nobody goes on by themselves: it may be one that is not to be used any more.
func TestNothingDiffersAndTheDatabaseIsOld(t *testing.T) {
	w := newWorld(t)
	w.run(func(o *reconcile.Options) { o.Every.Checkpoint = 20 * time.Millisecond })
	w.running("r-a")
	backup := w.store.Backup()
	w.store.PutVolume(workload.Volume{Name: "elsewhere", Cluster: "west"})
	checkpointed := func() int64 {
		ns, err := w.cluster.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if err != nil {
			return 0
		}
		m, _ := drift.ParseCheckpoint(ns.Annotations[kube.CheckpointKey])
		return m.Outbox
	}
	at, _ := w.store.Position(t.Context())
	within(t, 2*time.Minute, "the checkpoint is at the database", func() bool { return checkpointed() >= at.Outbox })
	w.halt()
	w.store = backup
	w.run()
	within(t, 2*time.Minute, "it is held", func() bool { return len(w.holds()) == 1 })
	w.until()
	w.settled()
	if len(w.holds()) != 1 {
		t.Error("want an administrator to have the word")
	}
}

// Another leader on another history has written its checkpoint: this one stops before its next write.
func TestMarkOfAnotherTimeline(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.running("r-a")
	w.settled()
	ns, err := w.cluster.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := drift.ParseCheckpoint(ns.Annotations[kube.CheckpointKey])
	if err != nil {
		t.Fatal(err)
	}
	m.Link = "of another history"
	ns.Annotations[kube.CheckpointKey], ns.ResourceVersion = m.String(), w.cluster.version()
	if err := w.cluster.Tracker().Update(namespaces, ns, ""); err != nil {
		t.Fatal(err)
	}
	if err := w.store.SetDesired("w-r-a", workload.Stop, time.Now()); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "it is held", func() bool { return len(w.holds()) == 1 })
	w.settled()
	if h := w.holds()[0]; h.Cause != drift.Diverged {
		t.Errorf("cause %s", h.Cause)
	}
	if w.replicas("r-a") != 1 {
		t.Error("want the cluster left as the other leader has it")
	}
}

// Objects of ours that the database does not know are told at any time, with what they hold, and never touched.
func TestUnknownObjectsAreListed(t *testing.T) {
	w := newWorld(t)
	w.run(func(o *reconcile.Options) { o.Every.Compare = 50 * time.Millisecond })
	w.running("nb-a")
	set, err := w.cluster.AppsV1().StatefulSets(namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other := set.DeepCopy()
	other.Name, other.UID, other.ResourceVersion = "nb-x", "uid-x", w.cluster.version()
	other.Annotations[kube.WorkloadKey] = "w-nobody-knows"
	if err := w.cluster.Tracker().Add(other); err != nil {
		t.Fatal(err)
	}
	w.until("nb-x cluster")
	list, _ := w.store.Differences(t.Context())
	if want := []drift.Amount{{Resource: reconciletest.Slice.Accelerator.Resource, Count: 1}}; !cmp.Equal(want,
		list[0].Live.Holds) {
		t.Errorf("holds (-want +got)\n%s", cmp.Diff(want, list[0].Live.Holds))
	}
	if len(w.holds()) != 0 {
		t.Error("want work to go on: the checkpoint is this database's")
	}
	w.settled()
	if w.replicas("nb-x") != 1 {
		t.Error("want it left alone")
	}
	if err := w.cluster.Tracker().Delete(statefulSets, namespace, "nb-x"); err != nil {
		t.Fatal(err)
	}
	w.until()
}

// Without a checkpoint the objects are the evidence: an older database had none.
func TestAheadWithoutMark(t *testing.T) {
	w := restored(t)
	ns, err := w.cluster.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(ns.Annotations, kube.CheckpointKey)
	ns.ResourceVersion = w.cluster.version()
	if err := w.cluster.Tracker().Update(namespaces, ns, ""); err != nil {
		t.Fatal(err)
	}
	w.run()
	within(t, 2*time.Minute, "it is held", func() bool { return len(w.holds()) == 1 })
	if h := w.holds()[0]; h.Cause != drift.NoCheckpoint {
		t.Errorf("cause %s", h.Cause)
	}
	if kinds := w.store.EventKinds(); !slices.Contains(kinds, audit.ClusterHeld) {
		t.Errorf("want it on record, got %v", kinds)
	}
}
