package reconcile_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"

	"github.com/gpu-portal/gpu-portal/charts"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// restricted is a controller on a real API server with the rights that the chart renders and no others.
type restricted struct {
	*real
	in     charts.Installed
	admin  reconciletest.Devstack
	adjust func(*reconcile.Options)
}

// newRestricted installs the rights; start starts the controller.
func newRestricted(t *testing.T, bindings string) *restricted {
	d := reconciletest.NeedDevstack(t)
	r := &restricted{real: &real{Devstack: d, t: t, store: reconciletest.NewStore()}, admin: d}
	r.namespace = r.Namespace(t)
	r.in = d.Rights(t, charts.Values{Instance: "of-" + r.namespace, Names: []string{r.namespace + "*"},
		Bindings: bindings, NoLogs: true})
	r.Config = r.in.Config
	r.adjust = func(o *reconcile.Options) {
		site := kube.Site{Cluster: reconciletest.Cluster, Instance: "of-" + r.namespace, Access: r.in.Access}
		o.KubeSite = func(string) kube.Site { return site }
	}
	return r
}

func (r *restricted) calls() []reconciletest.Call {
	r.t.Helper()
	calls, err := reconciletest.Calls(r.Audit, r.in.Access.Account)
	if err != nil {
		r.t.Fatal(err)
	}
	return calls
}

// life starts three workloads, stops and resumes them, and deletes them with their storage.
func (r *restricted) life(prefix string) {
	r.t.Helper()
	nb, ep, dra := reconciletest.WithStorage(r.notebook(prefix+"a")), reconciletest.Endpoint(r.notebook(prefix+"e")),
		r.claiming(prefix+"c")
	r.store.PutVolume(workload.Volume{Name: nb.Volume, Tenant: "vision", Cluster: reconciletest.Cluster,
		Namespace: r.namespace, Workload: nb.ID})
	job := reconciletest.Job(r.notebook(prefix+"j"), "sleep", "3600")
	all := []workload.Workload{nb, ep, dra}
	for _, w := range append(all, job) {
		r.store.Put(w)
	}
	r.state(job.ID, workload.Running)
	for _, w := range all {
		r.state(w.ID, workload.Running)
		r.want(w.ID, workload.Stop)
	}
	for _, w := range all {
		r.state(w.ID, workload.Stopped)
		r.want(w.ID, workload.Start)
	}
	for _, w := range all {
		r.state(w.ID, workload.Running)
	}
	r.unlabel()
	all = append(all, job)
	for _, w := range all {
		r.want(w.ID, workload.Delete)
	}
	for _, w := range all {
		r.state(w.ID, workload.Ended)
	}
	r.store.PutVolume(workload.Volume{Name: nb.Volume, Tenant: "vision", Cluster: reconciletest.Cluster,
		Namespace: r.namespace, Deleted: true})
	within(r.t, 2*time.Minute, "storage is gone", func() bool { return !r.store.HasVolume(nb.Volume) })
}

// labelled are the kinds that the controller repairs.
var labelled = []schema.GroupVersionResource{
	{Version: "v1", Resource: "serviceaccounts"}, {Version: "v1", Resource: "resourcequotas"},
	{Version: "v1", Resource: "limitranges"}, {Version: "v1", Resource: "persistentvolumeclaims"},
	{Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "services"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
	{Group: "batch", Version: "v1", Resource: "jobs"}, {Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
}

// unlabel takes our label from every object in the namespace, so that the watches lose sight of them, and waits until
// all have it again: each is asked for by name and repaired.
func (r *restricted) unlabel() {
	r.t.Helper()
	client, err := dynamic.NewForConfig(r.admin.Config)
	if err != nil {
		r.t.Fatal(err)
	}
	ours := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=gpu-portal"}
	patch := []byte(`{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
	var names []string
	list := func() (list []string) {
		for _, kind := range labelled {
			found, err := client.Resource(kind).Namespace(r.namespace).List(r.t.Context(), ours)
			if err != nil {
				r.t.Fatal(err)
			}
			for _, o := range found.Items {
				list = append(list, kind.Resource+" "+o.GetName())
			}
		}
		return list
	}
	names = list()
	if len(names) < len(labelled) {
		r.t.Fatalf("want one of each kind at least: %v", names)
	}
	for _, kind := range labelled {
		found, err := client.Resource(kind).Namespace(r.namespace).List(r.t.Context(), ours)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, o := range found.Items {
			if _, err := client.Resource(kind).Namespace(r.namespace).Patch(r.t.Context(), o.GetName(), types.MergePatchType,
				patch, metav1.PatchOptions{FieldManager: "kubectl-label"}); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	within(r.t, 3*time.Minute, "every object has its label again", func() bool {
		now := list()
		return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(now, name) })
	})
}

// TestDevstackRights (T-RBAC-1): the flows of the controller with the rights that the chart renders: nothing is
// refused, and every verb that is granted was used, read in the API server's audit log. The second round is that of an
// API server without streaming lists, where list stands for what watch does otherwise.
func TestDevstackRights(t *testing.T) {
	r := newRestricted(t, kube.BindSelf)
	r.start(r.adjust)
	r.life("nb-")
	r.stop()
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, false)
	r.start(r.adjust)
	r.life("again-")
	labelled := reconciletest.Refused(r.calls())
	if _, err := r.admin.Client.CoreV1().Namespaces().Patch(t.Context(), r.namespace, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	last := r.notebook("last")
	r.store.Put(last)
	within(t, time.Minute, "a namespace that lost our label stops what is in it from being kept", func() bool {
		return r.store.Get(last.ID).State != workload.Queued
	})
	calls := r.calls()
	for _, call := range reconciletest.Refused(calls) {
		// the namespace without its label is not taken back, see below; what the caches still call the portal's may be
		// written to it once more
		late := !slices.Contains(labelled, call) && strings.Contains(call, "/namespaces/"+r.namespace+"/")
		if !strings.Contains(call, r.namespace+"?") && !late {
			t.Error("refused: ", call)
		}
	}
	rights := reconcile.RightsFor(r.in.Access)
	if unused := reconciletest.Unused(slices.Concat(rights.Cluster, rights.Tenant), calls); len(unused) > 0 {
		t.Errorf("granted and never used: %s", strings.Join(unused, ", "))
	}
	t.Logf("%d calls", len(calls))
}

// TestDevstackAdminBinds: where an administrator binds, the controller says what is missing, writes neither namespace
// nor binding, and goes on as soon as both are there. When the rights are taken away, the tenant is told so.
func TestDevstackAdminBinds(t *testing.T) {
	r := newRestricted(t, kube.BindAdmin)
	r.start(r.adjust)
	nb := r.notebook("nb-a")
	r.store.Put(nb)
	within(t, time.Minute, "the namespace is asked for", func() bool {
		return r.store.Get(nb.ID).Reason.ID == "reconcile.no_namespace"
	})
	site := kube.Site{Instance: "of-" + r.namespace, Access: r.in.Access}
	objects, err := kube.TenantAccess(reconciletest.Site(r.namespace).Directory.Tenants[0], site)
	if err != nil {
		t.Fatal(err)
	}
	r.apply(objects[:1])
	within(t, 2*time.Minute, "the binding is asked for", func() bool {
		return r.store.Get(nb.ID).Reason.ID == "reconcile.no_rights"
	})
	r.apply(objects[1:])
	r.state(nb.ID, workload.Running)

	// Taken away again: what runs goes on, what is new is told why it does not start, and nothing is concluded.
	if err := r.admin.Client.RbacV1().RoleBindings(r.namespace).Delete(t.Context(), objects[1].GetName(),
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	other := r.notebook("nb-b")
	r.store.Put(other)
	within(t, 2*time.Minute, "the other is told", func() bool {
		got := r.store.Get(other.ID)
		return got.State == workload.Failed && got.Reason.ID == "reconcile.no_rights"
	})
	if got := r.store.Get(nb.ID); got.State != workload.Running || !got.Observed.PodPresent {
		t.Errorf("concluded from what cannot be seen: %s %+v", got.State, got.Observed)
	}
	if s := r.controller.Status()[0]; !s.OK {
		t.Errorf("one tenant's rights cost the whole cluster: %s", s.Err)
	}
	r.apply(objects[1:])
	r.state(other.ID, workload.Running)
	for _, call := range r.calls() {
		checkpoint := strings.Contains(call.RequestURI, "fieldManager=gpu-portal-checkpoint")
		if call.ResponseStatus.Code < 300 && (call.Verb == "patch" || call.Verb == "create") && !checkpoint &&
			(call.ObjectRef.Resource == "namespaces" || call.ObjectRef.Resource == "rolebindings") {
			t.Errorf("the portal wrote %s", call)
		}
	}
}

// apply is what an administrator does with the output of portal rbac.
func (r *restricted) apply(objects []kube.Object) {
	r.t.Helper()
	var list []*unstructured.Unstructured
	for _, o := range objects {
		content, err := kube.Content(o)
		if err != nil {
			r.t.Fatal(err)
		}
		list = append(list, &unstructured.Unstructured{Object: content})
	}
	if err := charts.Apply(r.t.Context(), r.admin.Config, list); err != nil {
		r.t.Fatal(err)
	}
}

// TestDevstackBindingIsKept: a binding that somebody takes away or changes is made anew, since the role's name and the
// account are all that the portal may bind.
func TestDevstackBindingIsKept(t *testing.T) {
	r := newRestricted(t, kube.BindSelf)
	r.start(r.adjust)
	nb := r.notebook("nb-a")
	r.store.Put(nb)
	r.state(nb.ID, workload.Running)
	bindings := r.admin.Client.RbacV1().RoleBindings(r.namespace)
	made, err := bindings.List(context.Background(), metav1.ListOptions{})
	if err != nil || len(made.Items) != 1 {
		t.Fatalf("want one binding: %+v, %v", made, err)
	}
	name := made.Items[0].Name
	if err := bindings.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	is := func(so func(*rbacv1.RoleBinding) bool) func() bool {
		return func() bool {
			b, err := bindings.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
			return err == nil && so(b)
		}
	}
	right := func(b *rbacv1.RoleBinding) bool {
		return len(b.Subjects) == 1 && b.Subjects[0].Name == charts.Release+"-controller" &&
			b.RoleRef.Name == r.in.Access.Role
	}
	within(t, 2*time.Minute, "the binding is made again", is(right))
	if _, err := bindings.Patch(t.Context(), name, types.MergePatchType,
		[]byte(`{"subjects":[{"kind":"ServiceAccount","name":"somebody","namespace":"default"}]}`),
		metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
	within(t, 3*time.Minute, "the binding is put right", is(right))
	other := r.notebook("nb-b")
	r.store.Put(other)
	r.state(other.ID, workload.Running)
}
