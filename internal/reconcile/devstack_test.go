package reconcile_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// real is a controller on a real API server, in a namespace of its own.
type real struct {
	reconciletest.Devstack
	t          *testing.T
	store      *reconciletest.Store
	namespace  string
	controller *reconcile.Controller
	stop       func()
}

func newReal(t *testing.T, adjust ...func(*reconcile.Options)) *real {
	r := &real{Devstack: reconciletest.NeedDevstack(t), t: t, store: reconciletest.NewStore()}
	r.namespace = r.Namespace(t)
	r.start(adjust...)
	return r
}

func (r *real) start(adjust ...func(*reconcile.Options)) {
	cluster, err := reconcile.NewCluster(reconciletest.Cluster, r.Config)
	if err != nil {
		r.t.Fatal(err)
	}
	o := reconciletest.Options(r.store, r.namespace, cluster)
	for _, a := range adjust {
		a(&o)
	}
	r.controller = reconcile.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.controller.Run(ctx) }()
	r.stop = func() { cancel(); <-done }
	r.t.Cleanup(r.stop)
}

func (r *real) notebook(name string) workload.Workload {
	w := reconciletest.Notebook(name, r.namespace, reconciletest.CPU, time.Now().UTC().Truncate(time.Second))
	w.ID = workload.ID("w-" + r.namespace + "-" + name)
	return w
}

// claiming is a notebook that claims a whole card.
func (r *real) claiming(name string) workload.Workload {
	w := r.notebook(name)
	w.Size = reconciletest.Claim
	return w
}

func (r *real) state(id workload.ID, want workload.State) workload.Workload {
	r.t.Helper()
	waittest.Until(r.t, "state "+string(want), func() error { return notYet(r.store.Get(id), want) })
	return r.store.Get(id)
}

func (r *real) want(id workload.ID, change workload.Change) {
	r.t.Helper()
	if err := r.store.SetDesired(id, change, time.Now()); err != nil {
		r.t.Fatal(err)
	}
}

func TestDevstackLife(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	nb := reconciletest.WithStorage(r.notebook("nb-a"))
	ep := reconciletest.Endpoint(r.notebook("ep-a"))
	r.store.Put(nb)
	r.store.Put(ep)
	r.store.PutVolume(workload.Volume{Name: nb.Volume, Tenant: "vision", Cluster: reconciletest.Cluster,
		Namespace: r.namespace, Workload: nb.ID})
	for _, w := range []workload.Workload{nb, ep} {
		got := r.state(w.ID, workload.Running)
		if got.Observed.Node == "" || got.Observed.PodIP == "" || got.PlacedAt.IsZero() {
			t.Errorf("%s runs without node, address or time: %+v", w.Name, got.Observed)
		}
		r.want(w.ID, workload.Stop)
		r.state(w.ID, workload.Stopped)
		r.want(w.ID, workload.Start)
		r.state(w.ID, workload.Running)
	}
	for _, w := range []workload.Workload{nb, ep} {
		r.want(w.ID, workload.Delete)
	}
	for _, w := range []workload.Workload{nb, ep} {
		r.state(w.ID, workload.Ended)
		if pods, err := r.Client.CoreV1().Pods(r.namespace).List(t.Context(),
			metav1.ListOptions{LabelSelector: "gpu-portal.github.io/workload=" + string(w.ID)}); err != nil ||
			len(pods.Items) > 0 {
			t.Errorf("%s ended with %d pods, %v", w.Name, len(pods.Items), err)
		}
		if m := r.store.Meter(w.ID); len(m) != 2 || m[0].Until.IsZero() || m[1].Until.IsZero() {
			t.Errorf("%s: want two closed intervals, got %+v", w.Name, m)
		}
	}
	claim, err := r.Client.CoreV1().PersistentVolumeClaims(r.namespace).Get(t.Context(), nb.Volume, metav1.GetOptions{})
	if err != nil || claim.DeletionTimestamp != nil {
		t.Fatalf("storage must stay: %v", err)
	}
	r.store.PutVolume(workload.Volume{Name: nb.Volume, Tenant: "vision", Cluster: reconciletest.Cluster,
		Namespace: r.namespace, Deleted: true})
	within(t, 2*time.Minute, "storage and its row are gone", func() bool { return !r.store.HasVolume(nb.Volume) })
}

// A claim is made with the pod and allocated by the scheduler; stopping gives the device back, deleting takes the
// template away too.
func TestDevstackClaim(t *testing.T) {
	r := newReal(t)
	nb := r.claiming("nb-a")
	r.store.Put(nb)
	ran := r.state(nb.ID, workload.Running)
	ctx, all := t.Context(), metav1.ListOptions{}
	templates, claims := r.Client.ResourceV1().ResourceClaimTemplates(r.namespace),
		r.Client.ResourceV1().ResourceClaims(r.namespace)
	list, err := claims.List(ctx, all)
	if err != nil || len(list.Items) != 1 || list.Items[0].Status.Allocation == nil {
		t.Fatalf("want one claim that is allocated: %+v, %v", list, err)
	}
	if d := list.Items[0].Status.Allocation.Devices.Results; len(d) != 1 || d[0].Driver != "gpu.nvidia.com" ||
		d[0].Pool != ran.Observed.Node {
		t.Errorf("allocated on %s: %+v", ran.Observed.Node, d)
	}
	within(t, 2*time.Minute, "the inventory shows who holds it", func() bool {
		snapshot, _ := r.store.Snapshot(reconciletest.Cluster)
		text, err := json.Marshal(snapshot)
		return err == nil && strings.Contains(string(text), string(nb.ID))
	})
	r.want(nb.ID, workload.Stop)
	r.state(nb.ID, workload.Stopped)
	within(t, 2*time.Minute, "the device is free", func() bool {
		list, err := claims.List(ctx, all)
		return err == nil && len(list.Items) == 0
	})
	if _, err := templates.Get(ctx, kube.ClaimTemplateName(nb), metav1.GetOptions{}); err != nil {
		t.Errorf("stopped is not deleted: %v", err)
	}
	r.want(nb.ID, workload.Start)
	r.state(nb.ID, workload.Running)

	// Another claim: the pod is replaced, the old template goes, and nothing else needs a hand.
	other := r.store.Get(nb.ID)
	other.Size.Accelerator.Claim = &catalog.Claim{Requests: []catalog.DeviceRequest{{Name: "big",
		DeviceClass: "gpu.nvidia.com",
		Selectors:   []string{"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"}}}}
	other.Generation++
	r.store.Put(other)
	within(t, 2*time.Minute, "another card in place of the first", func() bool {
		list, err := claims.List(ctx, all)
		left, listErr := templates.List(ctx, all)
		if err != nil || listErr != nil || len(list.Items) != 1 || list.Items[0].Status.Allocation == nil {
			return false
		}
		d := list.Items[0].Status.Allocation.Devices.Results
		return len(left.Items) == 1 && left.Items[0].Name == kube.ClaimTemplateName(other) && d[0].Request == "big" &&
			r.store.Get(nb.ID).Observed.Generation == other.Generation && r.store.Get(nb.ID).State == workload.Running
	})
	r.want(nb.ID, workload.Delete)
	r.state(nb.ID, workload.Ended)
	if left, err := templates.List(ctx, all); err != nil || len(left.Items) > 0 {
		t.Errorf("%d templates are left, %v", len(left.Items), err)
	}
}

// T-ROUND: an undisturbed object is not written again, whatever the API server and its controllers add to it.
func TestDevstackQuiet(t *testing.T) {
	r := newReal(t, func(o *reconcile.Options) { o.Every.Compare = 100 * time.Millisecond })
	nb, ep, dra := reconciletest.WithStorage(r.notebook("nb-a")), reconciletest.Endpoint(r.notebook("ep-a")),
		r.claiming("nb-c")
	r.store.Put(nb)
	r.store.Put(ep)
	r.store.Put(dra)
	r.state(nb.ID, workload.Running)
	r.state(dra.ID, workload.Running)
	r.state(ep.ID, workload.Running)
	before := r.settled()
	saves := r.store.Saves()
	r.stop()
	r.start(func(o *reconcile.Options) { o.Every.Compare = 100 * time.Millisecond }) // without its memory
	// longer than what has just been written is taken on trust
	time.Sleep(13 * time.Second)
	for name, version := range r.versions() {
		if before[name] != version {
			t.Errorf("%s was written while nothing happened", name)
		}
	}
	if got := r.store.Saves() - saves; got > 0 {
		t.Errorf("%d saves while nothing happened", got)
	}
}

// settled waits until Kubernetes' own controllers have written what they write after a start: for two seconds nothing
// changes. It gives the versions then.
func (r *real) settled() map[string]string {
	r.t.Helper()
	before, since := r.versions(), time.Now()
	within(r.t, 2*time.Minute, "the objects settle", func() bool {
		if now := r.versions(); !maps.Equal(now, before) {
			before, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
	return before
}

// versions are the resourceVersions of everything of ours in the namespace.
func (r *real) versions() map[string]string {
	ctx, all, v := context.Background(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=gpu-portal"},
		map[string]string{}
	sets, _ := r.Client.AppsV1().StatefulSets(r.namespace).List(ctx, all)
	for _, o := range sets.Items {
		v["StatefulSet "+o.Name] = o.ResourceVersion
	}
	deployments, _ := r.Client.AppsV1().Deployments(r.namespace).List(ctx, all)
	for _, o := range deployments.Items {
		v["Deployment "+o.Name] = o.ResourceVersion
	}
	services, _ := r.Client.CoreV1().Services(r.namespace).List(ctx, all)
	for _, o := range services.Items {
		v["Service "+o.Name] = o.ResourceVersion
	}
	secrets, _ := r.Client.CoreV1().Secrets(r.namespace).List(ctx, all)
	for _, o := range secrets.Items {
		v["Secret "+o.Name] = o.ResourceVersion
	}
	claims, _ := r.Client.CoreV1().PersistentVolumeClaims(r.namespace).List(ctx, all)
	for _, o := range claims.Items {
		v["PersistentVolumeClaim "+o.Name] = o.ResourceVersion
	}
	templates, _ := r.Client.ResourceV1().ResourceClaimTemplates(r.namespace).List(ctx, all)
	for _, o := range templates.Items {
		v["ResourceClaimTemplate "+o.Name] = o.ResourceVersion
	}
	policies, _ := r.Client.NetworkingV1().NetworkPolicies(r.namespace).List(ctx, all)
	for _, o := range policies.Items {
		v["NetworkPolicy "+o.Name] = o.ResourceVersion
	}
	quotas, _ := r.Client.CoreV1().ResourceQuotas(r.namespace).List(ctx, all)
	for _, o := range quotas.Items {
		v["ResourceQuota "+o.Name] = o.ResourceVersion
	}
	if ns, err := r.Client.CoreV1().Namespaces().Get(ctx, r.namespace, metav1.GetOptions{}); err == nil {
		v["Namespace"] = ns.ResourceVersion
	}
	return v
}

// T-VIEW-3 on the real thing: values, labels, the owner record, Secrets, a deleted object, and the tenant's own
// objects.
func TestDevstackRepair(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	nb := r.notebook("nb-a")
	r.store.Put(nb)
	r.state(nb.ID, workload.Running)
	r.settled()
	ctx, as := t.Context(), metav1.PatchOptions{FieldManager: "kubectl-edit"}
	sets, services, secrets := r.Client.AppsV1().StatefulSets(r.namespace), r.Client.CoreV1().Services(r.namespace),
		r.Client.CoreV1().Secrets(r.namespace)
	quotas, namespaces := r.Client.CoreV1().ResourceQuotas(r.namespace), r.Client.CoreV1().Namespaces()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(sets.Patch(ctx, "nb-a", types.StrategicMergePatchType,
		[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"evil"}]}}}}`), as))
	must(services.Patch(ctx, "nb-a", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`), as))
	must(secrets.Patch(ctx, "nb-a", types.MergePatchType, []byte(`{"data":{"token":"YQ=="}}`), as))
	must(quotas.Patch(ctx, "portal-gpu", types.MergePatchType,
		[]byte(`{"spec":{"hard":{"requests.nvidia.com/mig-1g.10gb":"99"}}}`), as))
	must(namespaces.Patch(ctx, r.namespace, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`), as))
	must(nil, r.Client.NetworkingV1().NetworkPolicies(r.namespace).Delete(ctx, "portal-default-deny",
		metav1.DeleteOptions{}))
	within(t, 2*time.Minute, "everything is put right", func() bool {
		set, err1 := sets.Get(ctx, "nb-a", metav1.GetOptions{})
		service, err2 := services.Get(ctx, "nb-a", metav1.GetOptions{})
		secret, err3 := secrets.Get(ctx, "nb-a", metav1.GetOptions{})
		quota, err4 := quotas.Get(ctx, "portal-gpu", metav1.GetOptions{})
		ns, err5 := namespaces.Get(ctx, r.namespace, metav1.GetOptions{})
		_, err6 := r.Client.NetworkingV1().NetworkPolicies(r.namespace).Get(ctx, "portal-default-deny", metav1.GetOptions{})
		for _, err := range []error{err1, err2, err3, err4, err5, err6} {
			if err != nil {
				return false
			}
		}
		hard := quota.Spec.Hard["requests.nvidia.com/mig-1g.10gb"]
		return set.Spec.Template.Spec.Containers[0].Image == nb.Image.Reference &&
			service.Labels["app.kubernetes.io/managed-by"] == "gpu-portal" &&
			string(secret.Data["token"]) == "token-of-"+string(nb.ID) && hard.Value() == 4 &&
			ns.Labels["pod-security.kubernetes.io/enforce"] == "restricted"
	})
}

// A pod that the quota refuses is explained, and runs soon after there is room; Kubernetes alone would wait for
// minutes.
func TestDevstackQuota(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	first := r.notebook("nb-a")
	r.store.Put(first)
	r.state(first.ID, workload.Running)
	ctx := t.Context()
	hard := corev1.ResourceList{"requests.cpu": resource.MustParse("100m")}
	_, err := r.Client.CoreV1().ResourceQuotas(r.namespace).Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "of-the-admin"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "the quota counts", func() bool {
		q, err := r.Client.CoreV1().ResourceQuotas(r.namespace).Get(ctx, "of-the-admin", metav1.GetOptions{})
		used := q.Status.Used["requests.cpu"]
		return err == nil && !used.IsZero()
	})
	second := r.notebook("nb-b")
	r.store.Put(second)
	within(t, 2*time.Minute, "the refusal is explained",
		func() bool { return strings.Contains(r.store.Get(second.ID).Reason.ID, "quota") })
	time.Sleep(15 * time.Second) // the pauses of Kubernetes have grown
	r.want(first.ID, workload.Stop)
	r.state(first.ID, workload.Stopped)
	freed := time.Now()
	r.state(second.ID, workload.Running)
	t.Logf("ran %s after there was room", time.Since(freed).Round(100*time.Millisecond))
}

// T-API-1: the API server is killed and comes back; nothing is concluded meanwhile, everything is done afterwards.
func TestDevstackServerKilled(t *testing.T) {
	r := newReal(t)
	a, b := r.notebook("nb-a"), r.notebook("nb-b")
	r.store.Put(a)
	r.state(a.ID, workload.Running)
	r.Part(t, "stop", "apiserver?signal=KILL")
	stopped := true
	defer func() {
		if stopped {
			r.Part(t, "start", "apiserver")
		}
	}()
	within(t, 2*time.Minute, "it is noticed", func() bool { return !r.controller.Status()[0].OK })
	r.store.Put(b)
	r.want(a.ID, workload.Stop)
	compared(t, r.store, 4)
	if got := r.store.Get(a.ID); got.State != workload.Stopping || !got.Observed.PodPresent {
		t.Errorf("concluded from silence: %s %+v", got.State, got.Observed)
	}
	if m := r.store.Meter(a.ID); len(m) != 1 || !m[0].Until.IsZero() {
		t.Errorf("the meter moved: %+v", m)
	}
	r.Part(t, "start", "apiserver")
	stopped = false
	back := time.Now()
	within(t, 2*time.Minute, "what was requested is written", func() bool {
		set, err := r.Client.AppsV1().StatefulSets(r.namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
		_, other := r.Client.AppsV1().StatefulSets(r.namespace).Get(t.Context(), "nb-b", metav1.GetOptions{})
		return err == nil && other == nil && *set.Spec.Replicas == 0
	})
	t.Logf("all specs written %s after the API server was back", time.Since(back).Round(100*time.Millisecond))
	within(t, 2*time.Minute, "the other controllers are back too", func() bool {
		return r.store.Get(a.ID).State == workload.Stopped && r.store.Get(b.ID).State == workload.Running
	})
	t.Logf("all done after %s", time.Since(back).Round(100*time.Millisecond))
}

// T-LABEL-2 on the real thing: a namespace that we did not make is not adopted, and nothing is put into it.
func TestDevstackForeignNamespace(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	_, err := r.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nb := r.notebook("nb-a")
	r.store.Put(nb)
	got := r.state(nb.ID, workload.Failed)
	if got.Reason.ID != "reconcile.foreign" || got.Reason.Args["Kind"] != "Namespace" {
		t.Errorf("reason %+v", got.Reason)
	}
	secrets, err := r.Client.CoreV1().Secrets(r.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(secrets.Items) > 0 {
		t.Errorf("%d Secrets in a foreign namespace, %v", len(secrets.Items), err)
	}
	ns, err := r.Client.CoreV1().Namespaces().Get(t.Context(), r.namespace, metav1.GetOptions{})
	if err != nil || len(ns.Labels) > 1 || len(ns.Annotations) > 0 {
		t.Errorf("the namespace was changed: %+v %+v %v", ns.Labels, ns.Annotations, err)
	}
}

// T-LABEL-3: a pod with a copy of our labels and owner record is not counted as ours, and does not keep a deleted
// workload alive.
func TestDevstackStolenLabels(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	nb := r.notebook("nb-a")
	r.store.Put(nb)
	r.state(nb.ID, workload.Running)
	real, err := r.Client.CoreV1().Pods(r.namespace).Get(t.Context(), "nb-a-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	thief := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "thief", Namespace: r.namespace, Labels: map[string]string{},
		Annotations: real.Annotations}, Spec: real.Spec}
	for key, value := range real.Labels {
		// a ReplicaSet's or StatefulSet's selector would adopt it with our workload's label: then it is ours by UID
		if key != "controller-revision-hash" {
			thief.Labels[key] = value
		}
	}
	thief.Labels["gpu-portal.github.io/workload"] = string(nb.ID) + "-x"
	thief.Spec.NodeName = ""
	if _, err := r.Client.CoreV1().Pods(r.namespace).Create(t.Context(), thief, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	compared(t, r.store, 3)
	if got := r.store.Get(nb.ID).Observed.Pod; got != "nb-a-0" {
		t.Errorf("pod %s was taken for ours", got)
	}
	r.want(nb.ID, workload.Delete)
	r.state(nb.ID, workload.Ended)
	if _, err := r.Client.CoreV1().Pods(r.namespace).Get(t.Context(), "thief", metav1.GetOptions{}); err != nil {
		t.Errorf("a pod that is not ours was deleted: %v", err)
	}
}

// A namespace that is being deleted is explained; afterwards everything is made again.
func TestDevstackNamespaceDeleted(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	nb := r.notebook("nb-a")
	r.store.Put(nb)
	r.state(nb.ID, workload.Running)
	if err := r.Client.CoreV1().Namespaces().Delete(t.Context(), r.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "it no longer runs", func() bool { return r.store.Get(nb.ID).State != workload.Running })
	within(t, 2*time.Minute, "it runs again", func() bool { return r.store.Get(nb.ID).State == workload.Running })
	t.Logf("meter: %d intervals", len(r.store.Meter(nb.ID)))
}
