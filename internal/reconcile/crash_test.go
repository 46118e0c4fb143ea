package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// T-CRASH-1: a controller is killed at its n-th crash point, before or after a write to the cluster or the commit of a
// transaction, for every n of a story; another one begins with nothing but the database and the cluster. The end is the
// same as that of the undisturbed story. T-CRASH-2: the second one is killed as well.

var errKilled = errors.New("killed")

// fuse counts crash points and burns at the n-th. Those with odd numbers are before a write, which does not happen
// then; those with even numbers are after it, and the controller does not hear that it did. Nothing later happens.
type fuse struct {
	n      int64 // 0: never
	points atomic.Int64
	burnt  atomic.Bool
	dead   chan struct{}
	once   sync.Once
}

func newFuse(n int64) *fuse { return &fuse{n: n, dead: make(chan struct{})} }

func (f *fuse) point() error {
	if f.burnt.Load() {
		return errKilled
	}
	if count := f.points.Add(1); f.n > 0 && count >= f.n {
		f.burnt.Store(true)
		f.once.Do(func() { close(f.dead) })
		return errKilled
	}
	return nil
}

// stage is where a story plays: a fake cluster or a real one.
type stage struct {
	t         *testing.T
	namespace string
	store     *reconciletest.Store
	cluster   func(*fuse) reconcile.Cluster // a client that asks the fuse before each write
	client    kubernetes.Interface          // one that does not
	patience  time.Duration

	stop func()
}

// begin starts a controller; when its fuse burns, the next one is started.
func (s *stage) begin(fuses ...*fuse) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for _, f := range fuses {
			s.run(ctx, f)
		}
	}()
	s.stop = func() { cancel(); <-over }
	s.t.Cleanup(s.stop)
}

// run is one controller from its start to its violent or peaceful end.
func (s *stage) run(ctx context.Context, f *fuse) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.store.BeforeWrite(f.point)
	s.store.AfterWrite(f.point)
	c := reconcile.New(reconciletest.Options(s.store, s.namespace, s.cluster(f)))
	go func() {
		select {
		case <-ctx.Done():
		case <-f.dead:
			cancel()
		}
	}()
	if err := c.Run(ctx); err != nil {
		s.t.Error(err)
	}
}

func (s *stage) notebook(name string) workload.Workload {
	w := reconciletest.Notebook(name, s.namespace, reconciletest.CPU, time.Now().UTC().Truncate(time.Second))
	w.ID = workload.ID("w-" + s.namespace + "-" + name)
	return w
}

func (s *stage) await(w workload.Workload, want workload.State) {
	s.t.Helper()
	within(s.t, s.patience, w.Name+" is "+string(want), func() bool { return s.store.Get(w.ID).State == want })
}

func (s *stage) want(w workload.Workload, change workload.Change) {
	s.t.Helper()
	if err := s.store.SetDesired(w.ID, change, time.Now()); err != nil {
		s.t.Fatal(err)
	}
}

// story: three workloads start, one is stopped and resumed, one is deleted with its storage, one stops permanently.
func (s *stage) story() string {
	a, b, c := reconciletest.WithStorage(s.notebook("nb-a")), reconciletest.WithStorage(s.notebook("nb-b")),
		reconciletest.Endpoint(s.notebook("ep-c"))
	for _, w := range []workload.Workload{a, b, c} {
		if w.Volume != "" {
			s.store.PutVolume(workload.Volume{Name: w.Volume, Tenant: w.Tenant, Cluster: w.Cluster, Namespace: w.Namespace,
				Workload: w.ID})
		}
		s.store.Put(w)
	}
	for _, w := range []workload.Workload{a, b, c} {
		s.await(w, workload.Running)
	}
	s.want(a, workload.Stop)
	s.want(b, workload.Delete)
	s.store.PutVolume(workload.Volume{Name: b.Volume, Tenant: b.Tenant, Cluster: b.Cluster, Namespace: b.Namespace,
		Deleted: true})
	s.await(a, workload.Stopped)
	s.await(b, workload.Ended)
	s.want(a, workload.Start)
	s.want(c, workload.Stop)
	s.await(a, workload.Running)
	s.await(c, workload.Stopped)
	within(s.t, s.patience, "deleted storage is gone", func() bool { return !s.store.HasVolume(b.Volume) })
	return s.picture(a, b, c)
}

// picture is the end state without what differs from run to run: times, versions, addresses.
func (s *stage) picture(workloads ...workload.Workload) string {
	var b strings.Builder
	for _, w := range workloads {
		got := s.store.Get(w.ID)
		fmt.Fprintf(&b, "%s %s %s generation %d seen %d pod %t\n", got.Name, got.Desired, got.State, got.Generation,
			got.Observed.Generation, got.Observed.PodPresent)
		open := 0
		for _, i := range s.store.Meter(w.ID) {
			if i.Until.IsZero() {
				open++
			}
		}
		fmt.Fprintf(&b, "  meter: %d intervals, %d open\n", len(s.store.Meter(w.ID)), open)
		kinds := slices.DeleteFunc(s.store.Events(w.ID), func(k audit.Kind) bool { return k == audit.WorkloadObserved })
		fmt.Fprintf(&b, "  audit: %v\n", kinds)
	}
	for _, line := range s.clusterPicture() {
		fmt.Fprintln(&b, strings.ReplaceAll(line, s.namespace, "NAMESPACE"))
	}
	return b.String()
}

func (s *stage) clusterPicture() []string {
	ctx, all := context.Background(), metav1.ListOptions{}
	var lines []string
	add := func(kind string, o metav1.Object, more ...any) {
		notes := o.GetAnnotations()
		lines = append(lines, fmt.Sprint(kind, " ", o.GetName(), " applied ", notes[reconcile.HashAnnotation] != "",
			" generation ", generation(notes), " ", more))
	}
	sets, _ := s.client.AppsV1().StatefulSets(s.namespace).List(ctx, all)
	for _, o := range sets.Items {
		add("StatefulSet", &o, *o.Spec.Replicas, o.Spec.Template.Labels, o.Spec.Template.Spec.Containers[0].Image)
	}
	deployments, _ := s.client.AppsV1().Deployments(s.namespace).List(ctx, all)
	for _, o := range deployments.Items {
		add("Deployment", &o, *o.Spec.Replicas, o.Spec.Template.Labels, o.Spec.Template.Spec.Containers[0].Image)
	}
	services, _ := s.client.CoreV1().Services(s.namespace).List(ctx, all)
	for _, o := range services.Items {
		add("Service", &o, o.Spec.Selector)
	}
	secrets, _ := s.client.CoreV1().Secrets(s.namespace).List(ctx, all)
	for _, o := range secrets.Items {
		add("Secret", &o, string(o.Data["token"]))
	}
	claims, _ := s.client.CoreV1().PersistentVolumeClaims(s.namespace).List(ctx, all)
	for _, o := range claims.Items {
		add("PersistentVolumeClaim", &o, o.DeletionTimestamp != nil)
	}
	pods, _ := s.client.CoreV1().Pods(s.namespace).List(ctx, all)
	lines = append(lines, fmt.Sprintf("%d pods", len(pods.Items)))
	slices.Sort(lines)
	return lines
}

// fakeStage plays on the fake cluster; a goroutine makes and removes pods as the controllers of Kubernetes would.
func fakeStage(t *testing.T) *stage {
	c := newFakeCluster()
	s := &stage{t: t, namespace: namespace, store: reconciletest.NewStore(), client: c, patience: 5 * time.Minute}
	s.cluster = func(f *fuse) reconcile.Cluster {
		ask := func(string) error { return f.point() }
		c.before.Store(&ask)
		c.after.Store(&ask)
		return reconcile.Cluster{Client: c}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			c.playAll(t)
			time.Sleep(5 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return s
}

func TestCrashAtEveryWrite(t *testing.T) {
	undisturbed := newFuse(0)
	s := fakeStage(t)
	s.begin(undisturbed)
	want := s.story()
	s.stop()
	points := undisturbed.points.Load()
	t.Logf("%d crash points in the undisturbed story, which ends in\n%s", points, want)
	step := int64(1)
	if testing.Short() {
		step = 13
	}
	for n := int64(1); n <= points; n += step {
		t.Run(fmt.Sprint("killed at point ", n), func(t *testing.T) {
			t.Parallel()
			s := fakeStage(t)
			s.begin(newFuse(n), newFuse(0))
			got := s.story()
			s.stop()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("another end (-undisturbed +killed)\n%s", diff)
			}
		})
	}
}

// TestSecondCrash: the controller that recovers is killed too, for pairs of crash points of a fixed seed.
func TestSecondCrash(t *testing.T) {
	undisturbed := newFuse(0)
	s := fakeStage(t)
	s.begin(undisturbed)
	want := s.story()
	s.stop()
	points, pairs := undisturbed.points.Load(), 100
	if testing.Short() {
		pairs = 8
	}
	random := rand.New(rand.NewPCG(20261122, 2))
	for range pairs {
		first := 1 + random.Int64N(points)
		second := 1 + random.Int64N(points-first+4) // what is left of the story, and a little more
		t.Run(fmt.Sprint("killed at point ", first, " and at ", second, " of the recovery"), func(t *testing.T) {
			t.Parallel()
			s := fakeStage(t)
			s.begin(newFuse(first), newFuse(second), newFuse(0))
			got := s.story()
			s.stop()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("another end (-undisturbed +killed)\n%s", diff)
			}
		})
	}
}

// realStage plays on the real API server.
func realStage(t *testing.T) *stage {
	d := reconciletest.NeedDevstack(t)
	return &stage{t: t, namespace: d.Namespace(t), store: reconciletest.NewStore(), client: d.Client,
		patience: 3 * time.Minute,
		cluster: func(f *fuse) reconcile.Cluster {
			config := rest.CopyConfig(d.Config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fused{next, f} })
			c, err := reconcile.NewCluster(reconciletest.Cluster, config)
			if err != nil {
				t.Error(err)
			}
			return c
		}}
}

// fused is a connection that asks the fuse before each write.
type fused struct {
	http.RoundTripper
	fuse *fuse
}

func (f fused) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return f.RoundTripper.RoundTrip(r)
	}
	if err := f.fuse.point(); err != nil {
		return nil, err
	}
	answer, err := f.RoundTripper.RoundTrip(r)
	if killed := f.fuse.point(); killed != nil {
		if err == nil {
			answer.Body.Close()
		}
		return nil, killed
	}
	return answer, err
}

// TestDevstackCrash kills at every fifth crash point, or at every one with CRASH_EVERY=1.
func TestDevstackCrash(t *testing.T) {
	undisturbed := newFuse(0)
	s := realStage(t)
	s.begin(undisturbed)
	want := s.story()
	s.stop()
	points := undisturbed.points.Load()
	t.Logf("%d crash points in the undisturbed story, which ends in\n%s", points, want)
	step := int64(5)
	if os.Getenv("CRASH_EVERY") == "1" {
		step = 1
	}
	for n := int64(1); n <= points; n += step {
		t.Run(fmt.Sprint("killed at point ", n), func(t *testing.T) {
			t.Parallel()
			s := realStage(t)
			s.begin(newFuse(n), newFuse(0))
			got := s.story()
			s.stop()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("another end (-undisturbed +killed)\n%s", diff)
			}
		})
	}
}

// playAll makes one ready pod for each object that wants one, and removes the others.
func (c *fakeCluster) playAll(t testing.TB) {
	wanted := map[string]*corev1.Pod{}
	sets, err := c.Tracker().List(appsv1.SchemeGroupVersion.WithResource("statefulsets"),
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"), namespace)
	if err != nil {
		t.Error(err)
		return
	}
	for _, o := range sets.(*appsv1.StatefulSetList).Items {
		if *o.Spec.Replicas > 0 {
			wanted[o.Name+"-0"] = c.podOf(o.Name+"-0", "StatefulSet", o.Name, o.UID, o.Spec.Template)
		}
	}
	deployments, err := c.Tracker().List(appsv1.SchemeGroupVersion.WithResource("deployments"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"), namespace)
	if err != nil {
		t.Error(err)
		return
	}
	for _, o := range deployments.(*appsv1.DeploymentList).Items {
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: o.Name + "-1", Namespace: namespace,
			UID: "set-" + o.UID, Labels: o.Spec.Template.Labels,
			OwnerReferences: controlled("Deployment", o.Name, o.UID)}}
		_ = c.Tracker().Add(set) // it may be there
		if *o.Spec.Replicas > 0 {
			wanted[o.Name+"-1-0"] = c.podOf(o.Name+"-1-0", "ReplicaSet", set.Name, set.UID, o.Spec.Template)
		}
	}
	pods, err := c.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"),
		corev1.SchemeGroupVersion.WithKind("Pod"), namespace)
	if err != nil {
		t.Error(err)
		return
	}
	for _, p := range pods.(*corev1.PodList).Items {
		if wanted[p.Name] == nil {
			_ = c.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), namespace, p.Name)
		}
		delete(wanted, p.Name)
	}
	for _, p := range wanted {
		_ = c.Tracker().Add(p)
	}
}

func (c *fakeCluster) podOf(name, kind, owner string, uid types.UID, template corev1.PodTemplateSpec) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: template.Labels,
			Annotations: template.Annotations,
			UID:         types.UID(fmt.Sprint("pod-", c.serial.Add(1))), ResourceVersion: fmt.Sprint(c.serial.Add(1)),
			OwnerReferences: controlled(kind, owner, uid)},
		Spec: template.Spec,
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.64.0.9",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.Now()}}},
	}
	p.Spec.NodeName = "node-1"
	return p
}

func controlled(kind, name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: new(true)}}
}

// Two controllers at once, as when a leader was asleep and does not know that another one leads: untidy, but with the
// same end.
func TestTwoAtOnce(t *testing.T) {
	s := fakeStage(t)
	s.begin(newFuse(0))
	want := s.story()
	s.stop()

	s = fakeStage(t)
	s.begin(newFuse(0))
	s.begin(newFuse(0))
	if diff := cmp.Diff(want, s.story()); diff != "" {
		t.Errorf("another end (-one +two)\n%s", diff)
	}
}
