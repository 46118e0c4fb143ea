package charts_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
)

// TestDevstackTakesTheChart: a real API server would take every object, field by field; nothing is written. Kinds that
// the server does not know are told.
func TestDevstackTakesTheChart(t *testing.T) {
	d := reconciletest.NeedDevstack(t)
	groups, err := restmapper.GetAPIGroupResources(d.Client.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	client, err := dynamic.NewForConfig(d.Config)
	if err != nil {
		t.Fatal(err)
	}
	own := d.Namespace(t) // taken away after the test
	if _, err := d.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: own}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for site, values := range sites {
		objects, err := renderIn(t, own, strings.Replace(values, "namespace: gpu-agents, ", "", 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			mapping, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
			if meta.IsNoMatchError(err) && slices.Contains(foreign, o.GetKind()) {
				t.Logf("%s: %s %s is not tried: this API server has no such kind", site, o.GetKind(), o.GetName())
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", site, err)
				continue
			}
			body, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			options := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "chart",
				FieldValidation: metav1.FieldValidationStrict}
			var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
			if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
				resource = client.Resource(mapping.Resource).Namespace(o.GetNamespace())
			}
			if _, err := resource.Patch(t.Context(), o.GetName(), types.ApplyPatchType, body, options); err != nil {
				t.Errorf("%s: %s %s: %v", site, o.GetKind(), o.GetName(), err)
			}
		}
	}
}
