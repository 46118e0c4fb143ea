package reconcile_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubetest "k8s.io/client-go/testing"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// twoTenants is a controller whose rights are bound by somebody in each namespace; may says where they are.
func (w *world) twoTenants(bindings string, may func(namespace string) bool) *reconcile.Controller {
	w.t.Helper()
	w.cluster.PrependReactor("create", "selfsubjectaccessreviews", func(a kubetest.Action) (bool, runtime.Object, error) {
		review := a.(kubetest.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = may(review.Spec.ResourceAttributes.Namespace)
		return true, review, nil
	})
	site := kube.Site{Cluster: reconciletest.Cluster, Instance: "test", Access: kube.Access{Bindings: bindings,
		Role: "portal-tenant", Account: "system:serviceaccount:portal:portal"}}
	return w.run(func(o *reconcile.Options) {
		o.KubeSite = func(string) kube.Site { return site }
		o.Site = func() reconcile.Site {
			s := reconciletest.Site(namespace)
			other := s.Directory.Tenants[0]
			other.Name, other.Namespace = "speech", "gpu-speech"
			s.Directory.Tenants = []tenant.Tenant{s.Directory.Tenants[0], other}
			return s
		}
	})
}

func ofSpeech(name string) workload.Workload {
	w := notebook(name)
	w.Tenant, w.Namespace = "speech", "gpu-speech"
	return w
}

func (w *world) administer(name, space string) {
	w.t.Helper()
	objects, err := kube.TenantAccess(tenant.Tenant{Name: name, Namespace: space}, kube.Site{Instance: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	ns := objects[0].(*corev1.Namespace)
	ns.ResourceVersion, ns.UID = w.cluster.version(), types.UID("uid-ns-"+ns.Name)
	if err := w.cluster.Tracker().Add(ns); err != nil {
		w.t.Fatal(err)
	}
}

// TestRightsOfOneTenant: a namespace that is missing or that lets us do nothing costs its tenant, who is told, and
// nobody else; as soon as the rights are there everything is made, with no event of the workload's.
func TestRightsOfOneTenant(t *testing.T) {
	w := newWorld(t)
	var allowed atomic.Bool
	w.administer("vision", namespace)
	c := w.twoTenants(kube.BindAdmin, func(ns string) bool { return ns == namespace || allowed.Load() })
	fine, poor := notebook("nb-a"), ofSpeech("nb-b")
	w.store.Put(poor)
	w.store.Put(fine)
	within(t, 2*time.Minute, "the other tenant's objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a", "StatefulSet/nb-a")
	})
	within(t, 2*time.Minute, "no namespace", func() bool {
		got := w.store.Get(poor.ID)
		return got.State == workload.Failed && got.Reason.ID == "reconcile.no_namespace" &&
			got.Reason.Args["Tenant"] == "speech"
	})
	w.administer("speech", "gpu-speech")
	within(t, 2*time.Minute, "no rights", func() bool {
		got := w.store.Get(poor.ID)
		return got.State == workload.Failed && got.Reason.ID == "reconcile.no_rights"
	})
	if s := c.Status()[0]; !s.OK {
		t.Errorf("the whole cluster is called away: %s", s.Err)
	}
	for _, a := range w.cluster.Actions() {
		if a.GetNamespace() == "gpu-speech" {
			t.Errorf("asked for what is not granted: %s %s", a.GetVerb(), a.GetResource().Resource)
		}
		if patch, ok := a.(kubetest.PatchAction); ok && patch.GetPatchType() == types.ApplyPatchType &&
			a.GetResource().Resource == "namespaces" {
			t.Errorf("wrote a namespace that is the administrator's")
		}
	}
	allowed.Store(true)
	within(t, 2*time.Minute, "everything is made", func() bool {
		return w.cluster.has("gpu-speech", "Secret/nb-b", "Service/nb-b", "StatefulSet/nb-b")
	})
}

// TestPortalBindsItself before it writes anything into a namespace, and waits until that counts.
func TestPortalBindsItself(t *testing.T) {
	w := newWorld(t)
	bound := func() bool {
		list, err := w.cluster.Tracker().List(rolebindings, rolebindings.GroupVersion().WithKind("RoleBinding"), namespace)
		return err == nil && strings.Contains(textOf(list), "portal-tenant")
	}
	w.twoTenants(kube.BindSelf, func(string) bool { return bound() })
	nb := notebook("nb-a")
	w.store.Put(nb)
	within(t, 2*time.Minute, "everything is made", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a", "StatefulSet/nb-a")
	})
	w.halt()
	var order []string
	for _, a := range w.cluster.Actions() {
		if a.GetVerb() == "patch" {
			order = append(order, a.GetResource().Resource)
		}
	}
	if slices.Index(order, "namespaces") != 0 || slices.Index(order, "rolebindings") != 1 {
		t.Errorf("the namespace, then the binding, then everything else: %v", order)
	}
}

// TestDeletedWithoutItsNamespace: what shall be deleted, and whose namespace is somebody else's or gone, has ended:
// asking for its objects there would be refused.
func TestDeletedWithoutItsNamespace(t *testing.T) {
	for name, space := range map[string]*corev1.Namespace{"gone": nil, "foreign": foreignNamespace()} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if space != nil {
				if err := w.cluster.Tracker().Add(space); err != nil {
					t.Fatal(err)
				}
			}
			w.twoTenants(kube.BindAdmin, func(string) bool { return false })
			nb := notebook("nb-a")
			nb.Desired, nb.Generation = workload.WantDeleted, 2
			w.store.Put(nb)
			w.state(nb.ID, workload.Ended)
			for _, a := range w.cluster.Actions() {
				if a.GetNamespace() == namespace && a.GetResource().Resource != "pods" {
					t.Errorf("asked for %s in a namespace without rights", a.GetResource().Resource)
				}
			}
		})
	}
}

var rolebindings = rbacv1.SchemeGroupVersion.WithResource("rolebindings")

func textOf(o runtime.Object) string {
	text, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func foreignNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, UID: "uid-foreign", ResourceVersion: "7"}}
}
