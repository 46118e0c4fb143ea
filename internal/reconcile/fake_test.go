package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	kubetest "k8s.io/client-go/testing"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const namespace = "gpu-vision"

// fakeCluster is the fake clientset with what a real API server adds and controllers depend on: UIDs and versions. No
// controller runs in it: pods are played by the tests.
type fakeCluster struct {
	*fake.Clientset
	writes atomic.Int64
	before atomic.Pointer[func(verb string) error]           // called before each write
	refuse atomic.Pointer[func(verb, resource string) error] // likewise, for some kinds of object only
	after  atomic.Pointer[func(verb string) error]           // called after each write of the controller
	serial atomic.Int64
	away   atomic.Bool
	news   sync.RWMutex // locked: what changes is heard of later
	// called after each patch, as a mutating admission webhook is; reports whether it changed the object
	mutate atomic.Pointer[func(runtime.Object) bool]

	listing sync.Mutex
	listed  map[schema.GroupVersionResource]map[types.NamespacedName]runtime.Object // what lists have given
}

// Discovery fails while the cluster is away, and so does everything else.
func (c *fakeCluster) setAway(away bool) { c.away.Store(away) }

func newFakeCluster() *fakeCluster {
	c := &fakeCluster{Clientset: fake.NewClientset(),
		listed: map[schema.GroupVersionResource]map[types.NamespacedName]runtime.Object{}}
	c.PrependReactor("list", "*", c.list)
	c.PrependReactor("*", "*", func(a kubetest.Action) (bool, runtime.Object, error) {
		verb := a.GetVerb()
		if c.away.Load() {
			return true, nil, errors.New("connection refused")
		}
		if verb == "get" || verb == "list" || verb == "watch" {
			return false, nil, nil
		}
		c.writes.Add(1)
		if before := c.before.Load(); before != nil {
			if err := (*before)(verb); err != nil {
				return true, nil, err
			}
		}
		if refuse := c.refuse.Load(); refuse != nil {
			if err := (*refuse)(verb, a.GetResource().Resource); err != nil {
				return true, nil, err
			}
		}
		after := c.after.Load()
		if verb != "patch" && after == nil {
			return false, nil, nil
		}
		handled, obj, err := c.write(a)
		if err == nil && after != nil {
			err = (*after)(verb)
		}
		return handled, obj, err
	})
	c.PrependWatchReactor("*", c.watch)
	return c
}

func (c *fakeCluster) write(a kubetest.Action) (bool, runtime.Object, error) {
	patch, ok := a.(kubetest.PatchActionImpl)
	switch {
	case !ok:
		return kubetest.ObjectReaction(c.Tracker())(a)
	case patch.GetPatchType() == types.JSONPatchType:
		return c.identifyOps(patch)
	}
	return c.identify(patch)
}

// watch gives copies, as a connection does. The tracker hands out what was there when a watch began as it keeps it, and
// the controller, which drops the contents of what it hears of, emptied a Secret that was made between its list and its
// watch.
func (c *fakeCluster) watch(a kubetest.Action) (bool, watch.Interface, error) {
	original, err := c.Tracker().Watch(a.GetResource(), a.GetNamespace(), a.(kubetest.WatchActionImpl).ListOptions)
	if err != nil {
		return true, nil, err
	}
	own := watch.Filter(original, func(e watch.Event) (watch.Event, bool) {
		c.news.RLock()
		defer c.news.RUnlock()
		e.Object = e.Object.DeepCopyObject()
		return e, true
	})
	return true, copies{replay(c.gone(a.GetResource(), a.GetNamespace()), own)}, nil
}

// list remembers what it gives: a watch that begins from a list tells what was deleted in between, as an API server
// does by the resource version, and the tracker does not.
func (c *fakeCluster) list(a kubetest.Action) (bool, runtime.Object, error) {
	handled, list, err := kubetest.ObjectReaction(c.Tracker())(a)
	if err != nil {
		return handled, list, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return true, nil, err
	}
	c.listing.Lock()
	defer c.listing.Unlock()
	known := c.listed[a.GetResource()]
	if known == nil {
		known = map[types.NamespacedName]runtime.Object{}
		c.listed[a.GetResource()] = known
	}
	for _, o := range items {
		named := o.(metav1.Object)
		known[types.NamespacedName{Namespace: named.GetNamespace(), Name: named.GetName()}] = o.DeepCopyObject()
	}
	return true, list, nil
}

// gone are the objects that a list has given and that are not there any more.
func (c *fakeCluster) gone(resource schema.GroupVersionResource, space string) (list []runtime.Object) {
	c.listing.Lock()
	defer c.listing.Unlock()
	for name, o := range c.listed[resource] {
		if space != "" && space != name.Namespace {
			continue
		}
		if _, err := c.Tracker().Get(resource, name.Namespace, name.Name); apierrors.IsNotFound(err) {
			list = append(list, o.DeepCopyObject())
		}
	}
	return list
}

// replay is a watch that begins with the deletion of some objects.
func replay(gone []runtime.Object, then watch.Interface) watch.Interface {
	out := make(chan watch.Event)
	w := watch.NewProxyWatcher(out)
	go func() {
		defer close(out)
		defer copies{then}.Stop()
		send := func(e watch.Event) bool {
			select {
			case out <- e:
				return true
			case <-w.StopChan():
				return false
			}
		}
		for _, o := range gone {
			if !send(watch.Event{Type: watch.Deleted, Object: o}) {
				return
			}
		}
		for {
			select {
			case e, more := <-then.ResultChan():
				if !more || !send(e) {
					return
				}
			case <-w.StopChan():
				return
			}
		}
	}()
	return w
}

// copies is a watch whose last events, when nobody takes them any more, hold up nobody.
type copies struct{ watch.Interface }

func (c copies) Stop() {
	c.Interface.Stop()
	go func() {
		for range c.ResultChan() {
		}
	}()
}

// identify puts uid and version into the patch itself, so that what is stored and watched carries them.
func (c *fakeCluster) identify(a kubetest.PatchActionImpl) (bool, runtime.Object, error) {
	var content map[string]any
	if err := json.Unmarshal(a.Patch, &content); err != nil {
		return true, nil, err
	}
	meta := content["metadata"].(map[string]any)
	found, err := c.Tracker().Get(a.Resource, a.Namespace, a.Name)
	switch {
	case err == nil:
		uid := string(found.(metav1.Object).GetUID())
		if wanted, named := meta["uid"]; named && wanted != uid {
			return true, nil, apierrors.NewConflict(a.Resource.GroupResource(), a.Name, fmt.Errorf("uid is %s", uid))
		}
		version := found.(metav1.Object).GetResourceVersion()
		if wanted, named := meta["resourceVersion"]; named && wanted != version {
			return true, nil, apierrors.NewConflict(a.Resource.GroupResource(), a.Name, fmt.Errorf("version is %s", version))
		}
		meta["uid"] = uid
	case apierrors.IsNotFound(err):
		meta["uid"] = fmt.Sprintf("uid-%s-%s-%d", a.Resource.Resource, a.Name, c.serial.Add(1))
	default:
		return true, nil, err
	}
	meta["resourceVersion"] = fmt.Sprint(c.serial.Add(1))
	a.Patch, err = json.Marshal(content)
	if err != nil {
		return true, nil, err
	}
	obj, err := c.apply(a)
	return true, obj, err
}

// identifyOps checks uid and version that a JSON patch replaces, and gives a new version.
func (c *fakeCluster) identifyOps(a kubetest.PatchActionImpl) (bool, runtime.Object, error) {
	found, err := c.Tracker().Get(a.Resource, a.Namespace, a.Name)
	if err != nil {
		return true, nil, err
	}
	var ops []map[string]any
	if err := json.Unmarshal(a.Patch, &ops); err != nil {
		return true, nil, err
	}
	for _, op := range ops {
		switch op["path"] {
		case "/metadata/uid":
			if op["value"] != string(found.(metav1.Object).GetUID()) {
				return true, nil, apierrors.NewConflict(a.Resource.GroupResource(), a.Name, errors.New("uid"))
			}
		case "/metadata/resourceVersion":
			if op["value"] != found.(metav1.Object).GetResourceVersion() {
				return true, nil, apierrors.NewConflict(a.Resource.GroupResource(), a.Name, errors.New("version"))
			}
			op["value"] = fmt.Sprint(c.serial.Add(1))
		}
	}
	if a.Patch, err = json.Marshal(ops); err != nil {
		return true, nil, err
	}
	obj, err := c.apply(a)
	return true, obj, err
}

func (c *fakeCluster) apply(a kubetest.PatchActionImpl) (runtime.Object, error) {
	handled, obj, err := kubetest.ObjectReaction(c.Tracker())(a)
	if !handled {
		return nil, fmt.Errorf("the tracker did not handle %s", a.GetVerb())
	}
	if mutate := c.mutate.Load(); err == nil && mutate != nil && (*mutate)(obj) {
		err = c.Tracker().Update(a.Resource, obj, a.Namespace)
	}
	return obj, err
}

// play makes the pod that a StatefulSet would make, on a node, ready or not.
func (c *fakeCluster) play(t testing.TB, name, node string, ready bool) {
	t.Helper()
	set, err := c.AppsV1().StatefulSets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-0", Namespace: namespace, Labels: set.Spec.Template.Labels,
			Annotations: set.Spec.Template.Annotations,
			UID:         types.UID("uid-pod-" + name), ResourceVersion: fmt.Sprint(c.serial.Add(1)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name, UID: set.UID,
				Controller: new(true)}}},
		Spec: set.Spec.Template.Spec,
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.64.0.9", Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
			{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()}}},
	}
	pod.Spec.NodeName = node
	gvr := corev1.SchemeGroupVersion.WithResource("pods")
	if err := c.Tracker().Add(pod); err != nil {
		if err := c.Tracker().Update(gvr, pod, namespace); err != nil {
			t.Fatal(err)
		}
	}
}

// replay changes the pod of a workload.
func (c *fakeCluster) replay(t testing.TB, name string, change func(*corev1.Pod)) {
	t.Helper()
	gvr := corev1.SchemeGroupVersion.WithResource("pods")
	obj, err := c.Tracker().Get(gvr, namespace, name+"-0")
	if err != nil {
		t.Fatal(err)
	}
	pod := obj.(*corev1.Pod).DeepCopy()
	pod.ResourceVersion = fmt.Sprint(c.serial.Add(1))
	change(pod)
	if err := c.Tracker().Update(gvr, pod, namespace); err != nil {
		t.Fatal(err)
	}
}

func (c *fakeCluster) unplay(t *testing.T, name string) {
	t.Helper()
	if err := c.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), namespace, name+"-0"); err != nil {
		t.Fatal(err)
	}
}

// world is a controller on a fake cluster.
type world struct {
	t       *testing.T
	cluster *fakeCluster
	store   *reconciletest.Store
	now     atomic.Pointer[time.Time]
	stop    context.CancelFunc
	done    chan struct{}
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, cluster: newFakeCluster(), store: reconciletest.NewStore()}
	w.setNow(time.Now())
	return w
}

func (w *world) setNow(now time.Time) { w.now.Store(&now) }

// run starts a controller; adjust may change its options.
func (w *world) run(adjust ...func(*reconcile.Options)) *reconcile.Controller {
	o := reconciletest.Options(w.store, namespace, reconcile.Cluster{Client: w.cluster})
	begun, started := *w.now.Load(), time.Now()
	o.Now = func() time.Time {
		if now := *w.now.Load(); !now.Equal(begun) {
			return now
		}
		return begun.Add(time.Since(started))
	}
	for _, a := range adjust {
		a(&o)
	}
	c := reconcile.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	w.stop, w.done = cancel, done
	w.t.Cleanup(func() { cancel(); <-done })
	return c
}

func (w *world) halt() { w.stop(); <-w.done }

var within = waittest.Within

// compared waits until every living workload was compared with the cluster so many times more. The pass that one
// comparison asks for is over when the next but one begins: the queue holds each workload once.
func compared(t testing.TB, s *reconciletest.Store, times int) {
	t.Helper()
	before := s.Comparisons()
	waittest.For(t, "more comparisons", func() bool { return s.Comparisons() >= before+times })
}

// settled waits until nothing has been written for a while, and gives how much was.
func (w *world) settled() (writes int64, saves int) {
	w.t.Helper()
	since := time.Now()
	within(w.t, 2*time.Minute, "nothing is written any more", func() bool {
		if now, also := w.cluster.writes.Load(), w.store.Saves(); now != writes || also != saves {
			writes, saves, since = now, also, time.Now()
		}
		return time.Since(since) > time.Second
	})
	return writes, saves
}

// notYet tells how a workload is while it is not in a state.
func notYet(got workload.Workload, want workload.State) error {
	if got.State == want {
		return nil
	}
	return fmt.Errorf("%s is %s: %+v, observed %+v", got.Name, got.State, got.Reason, got.Observed)
}

func (w *world) state(id workload.ID, want workload.State) {
	w.t.Helper()
	waittest.Until(w.t, "state "+string(want), func() error { return notYet(w.store.Get(id), want) })
}

// objects lists what the cluster has of ours, "Kind/name", sorted.
func (c *fakeCluster) objects(ns string) []string {
	ctx, all := context.Background(), metav1.ListOptions{}
	var names []string
	add := func(kind, name string) { names = append(names, kind+"/"+name) }
	if l, err := c.AppsV1().StatefulSets(ns).List(ctx, all); err == nil {
		for _, o := range l.Items {
			add("StatefulSet", o.Name)
		}
	}
	if l, err := c.AppsV1().Deployments(ns).List(ctx, all); err == nil {
		for _, o := range l.Items {
			add("Deployment", o.Name)
		}
	}
	if l, err := c.CoreV1().Services(ns).List(ctx, all); err == nil {
		for _, o := range l.Items {
			add("Service", o.Name)
		}
	}
	if l, err := c.CoreV1().Secrets(ns).List(ctx, all); err == nil {
		for _, o := range l.Items {
			add("Secret", o.Name)
		}
	}
	if l, err := c.ResourceV1().ResourceClaimTemplates(ns).List(ctx, all); err == nil {
		for _, o := range l.Items {
			add("ResourceClaimTemplate", o.Name)
		}
	}
	if l, err := c.CoreV1().PersistentVolumeClaims(ns).List(ctx, all); err == nil {
		for _, o := range l.Items {
			add("PersistentVolumeClaim", o.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (c *fakeCluster) has(ns string, want ...string) bool {
	return strings.Join(c.objects(ns), " ") == strings.Join(want, " ")
}

func generation(annotations map[string]string) int64 { return kube.OwnerOf(annotations).Generation }

// version is one that no object has had.
func (c *fakeCluster) version() string { return fmt.Sprint(c.serial.Add(1)) }
