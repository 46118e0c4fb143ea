package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kubetest "k8s.io/client-go/testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func claiming(name string) workload.Workload {
	return reconciletest.Notebook(name, namespace, reconciletest.Claim, time.Now().UTC())
}

// A template cannot be changed: another claim is another template, the pods change over to it, and the old one goes.
func TestClaimChanges(t *testing.T) {
	w := newWorld(t)
	nb := claiming("nb-a")
	first := kube.ClaimTemplateName(nb)
	w.store.Put(nb)
	w.run()
	within(t, 2*time.Minute, "all objects", func() bool {
		return w.cluster.has(namespace, "ResourceClaimTemplate/"+first, "Secret/nb-a", "Service/nb-a", "StatefulSet/nb-a")
	})
	if got := claimed(w.cluster, "nb-a"); got != first {
		t.Errorf("the pods claim by %q", got)
	}

	nb = w.store.Get(nb.ID)
	nb.Size.Accelerator.Claim = &catalog.Claim{Requests: []catalog.DeviceRequest{{Name: "slice",
		DeviceClass: "mig.nvidia.com"}}}
	nb.Generation++
	second := kube.ClaimTemplateName(nb)
	var order []string
	w.cluster.PrependReactor("*", "*", func(a kubetest.Action) (bool, runtime.Object, error) {
		switch a := a.(type) {
		case kubetest.PatchActionImpl:
			order = append(order, "write "+a.Name)
		case kubetest.DeleteActionImpl:
			order = append(order, "delete "+a.Name)
		}
		return false, nil, nil
	})
	w.store.Put(nb)
	within(t, 2*time.Minute, "the new template alone", func() bool {
		return w.cluster.has(namespace, "ResourceClaimTemplate/"+second, "Secret/nb-a", "Service/nb-a", "StatefulSet/nb-a")
	})
	if got := claimed(w.cluster, "nb-a"); got != second {
		t.Errorf("the pods claim by %q", got)
	}

	if err := w.store.SetDesired(nb.ID, workload.Delete, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.state(nb.ID, workload.Ended)
	if got := w.cluster.objects(namespace); len(got) > 0 {
		t.Errorf("left in the cluster: %v", got)
	}
	w.halt()
	made, gone := slices.Index(order, "write "+second), slices.Index(order, "delete "+first)
	pods := slices.Index(order, "write nb-a")
	if made < 0 || pods < 0 || gone < made || gone < pods {
		t.Errorf("order of writing: %v", order)
	}
}

// claimed is the template that the pods of a StatefulSet claim by.
func claimed(c *fakeCluster, name string) string {
	obj, err := c.Tracker().Get(appsv1.SchemeGroupVersion.WithResource("statefulsets"), namespace, name)
	if err != nil {
		return err.Error()
	}
	claims := obj.(*appsv1.StatefulSet).Spec.Template.Spec.ResourceClaims
	if len(claims) != 1 || claims[0].ResourceClaimTemplateName == nil {
		return ""
	}
	return *claims[0].ResourceClaimTemplateName
}

// A cluster that is too old for claims runs everything else, and says what is wrong with those that need them; so does
// one that does not let us make them.
func TestWithoutClaims(t *testing.T) {
	templates := resourcev1.SchemeGroupVersion.WithResource("resourceclaimtemplates").GroupResource()
	for name, refusal := range map[string]error{
		"too old":     apierrors.NewGenericServerResponse(404, "list", templates, "", "", 0, true),
		"not allowed": apierrors.NewForbidden(templates, "", nil),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.PrependReactor("*", "resourceclaimtemplates", func(kubetest.Action) (bool, runtime.Object, error) {
				return true, nil, refusal
			})
			nb, old := claiming("nb-a"), notebook("nb-b")
			w.store.Put(nb)
			w.store.Put(old)
			c := w.run()
			w.state(nb.ID, workload.Failed)
			if got := w.store.Get(nb.ID); got.Reason.ID != "reconcile.unserved" ||
				got.Reason.Args["Cluster"] != reconciletest.Cluster {
				t.Errorf("reason %+v", got.Reason)
			}
			within(t, 2*time.Minute, "the other", func() bool {
				return w.cluster.has(namespace, "Secret/nb-b", "Service/nb-b",
					"StatefulSet/nb-b")
			})
			w.cluster.play(t, "nb-b", "node-1", true)
			w.state(old.ID, workload.Running)
			if s := c.Status()[0]; !s.OK {
				t.Errorf("the cluster is called away: %s", s.Err)
			}
		})
	}
}

// When claims are offered later, without the API server having been away, it is noticed in time.
func TestClaimsComeLater(t *testing.T) {
	w := newWorld(t)
	refused := true
	var gate = make(chan struct{}, 1)
	gate <- struct{}{}
	w.cluster.PrependReactor("*", "resourceclaimtemplates", func(a kubetest.Action) (bool, runtime.Object, error) {
		<-gate
		defer func() { gate <- struct{}{} }()
		return refused, nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaimtemplates"), "")
	})
	nb := claiming("nb-a")
	w.store.Put(nb)
	w.run(func(o *reconcile.Options) { o.Every.Probe, o.Every.Compare = 20*time.Millisecond, 50*time.Millisecond })
	w.state(nb.ID, workload.Failed)
	<-gate
	refused = false
	gate <- struct{}{}
	w.setNow(time.Now().Add(10 * time.Minute))
	within(t, 2*time.Minute, "the template", func() bool {
		return slices.ContainsFunc(w.cluster.objects(namespace),
			func(o string) bool { return strings.HasPrefix(o, "ResourceClaimTemplate/") })
	})
}
