package reconcile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubetest "k8s.io/client-go/testing"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// What is there is told in the inventory; without the right to look nothing is known, which is not the same as none.
func TestServingRuntimesAreListed(t *testing.T) {
	w := newWorld(t)
	client := w.custom()
	asked := servingRuntime("asks-itself")
	container := asked.Object["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
	container["resources"] = map[string]any{"limits": map[string]any{"nvidia.com/gpu": "1", "cpu": "1"}}
	off := servingRuntime("off")
	_ = unstructured.SetNestedField(off.Object, true, "spec", "disabled")
	for _, r := range []*unstructured.Unstructured{off, asked} {
		if _, err := client.Resource(clusterServingRuntimes).Create(t.Context(), r, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.run(withKServe, func(o *reconcile.Options) { o.Clusters[0].Client = reconcile.WithCustom(w.cluster, client) })
	want := &[]inventory.ServingRuntime{
		{Name: "asks-itself", Formats: []string{"huggingface"}, Image: "registry.example.org/hf:v1",
			Resources: []string{"nvidia.com/gpu"}},
		{Name: "off", Formats: []string{"huggingface"}, Image: "registry.example.org/hf:v1", Disabled: true}}
	told := func(want *[]inventory.ServingRuntime) func() bool {
		return func() bool {
			taken, ok := w.store.Snapshot(reconciletest.Cluster)
			return ok && cmp.Equal(want, taken.ServingRuntimes)
		}
	}
	waittest.For(t, "the inventory tells of both", told(want))
	client.PrependReactor("list", clusterServingRuntimes.Resource, func(kubetest.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(clusterServingRuntimes.GroupResource(), "", nil)
	})
	waittest.For(t, "the inventory says that nobody knows", told(nil))
}
