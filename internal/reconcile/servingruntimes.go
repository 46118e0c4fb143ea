package reconcile

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/kube"
)

var clusterServingRuntimes = schema.GroupVersionResource{Group: "serving.kserve.io", Version: "v1alpha1",
	Resource: "clusterservingruntimes"}

// mostRuntimes bounds what a snapshot keeps; KServe itself brings a dozen.
const mostRuntimes = 200

// lookForRuntimes lists the ClusterServingRuntimes now and then, where the settings let endpoints run on KServe. They
// change with KServe's version and by administrators, so that nothing watches them.
func (l *loop) lookForRuntimes(ctx context.Context) {
	beat := l.o.Watchdog.Begin(ctx, "cluster/"+l.name+"/runtimes", passWithin+jobs.Overrun)
	defer beat.End()
	for {
		beat.Beat(ctx, passWithin+jobs.Overrun)
		pause := l.o.Every.Inventory
		switch {
		case !l.caches().access.KServe:
		case !l.status.ok():
			pause = l.o.Every.Debounce
		default:
			err := bounded(ctx, l.listRuntimes)
			if err != nil && ctx.Err() == nil {
				l.log.WarnContext(ctx, "list the ClusterServingRuntimes", "error", err)
			}
		}
		if !jobs.Sleep(ctx, beat, jitter(pause)) {
			return
		}
	}
}

// listRuntimes takes down what there is. Without the right, and without KServe, nothing is known.
func (l *loop) listRuntimes(ctx context.Context) error {
	found, err := customIn(l.cluster.Client, clusterServingRuntimes, "").all(ctx)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		l.setRuntimes(nil)
		return nil
	}
	if err != nil {
		return err
	}
	list := make([]inventory.ServingRuntime, 0, len(found))
	for i := range found[:min(len(found), mostRuntimes)] {
		list = append(list, servingRuntimeOf(&found[i]))
	}
	slices.SortFunc(list, func(a, b inventory.ServingRuntime) int { return strings.Compare(a.Name, b.Name) })
	l.setRuntimes(&list)
	return nil
}

// all lists what is there of everybody's.
func (i custom) all(ctx context.Context) ([]unstructured.Unstructured, error) {
	if err := i.absent(""); err != nil {
		return nil, err
	}
	list, err := i.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// setRuntimes has the inventory saved anew where they are others.
func (l *loop) setRuntimes(now *[]inventory.ServingRuntime) {
	if before := l.runtimes.Swap(now); !reflect.DeepEqual(before, now) {
		l.dirty.fire()
	}
}

// servingRuntimeOf reads what an administrator sees of a runtime, and what the catalog is held against.
func servingRuntimeOf(o *unstructured.Unstructured) inventory.ServingRuntime {
	r := inventory.ServingRuntime{Name: o.GetName()}
	r.Disabled, _, _ = unstructured.NestedBool(o.Object, "spec", "disabled")
	formats, _, _ := unstructured.NestedSlice(o.Object, "spec", "supportedModelFormats")
	for _, f := range formats {
		format, _ := f.(map[string]any)
		if name, _ := format["name"].(string); name != "" && !slices.Contains(r.Formats, name) {
			r.Formats = append(r.Formats, name)
		}
	}
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "containers")
	resources := map[string]bool{}
	for _, c := range containers {
		var container corev1.Container
		said, _ := c.(map[string]any)
		if runtime.DefaultUnstructuredConverter.FromUnstructured(said, &container) != nil {
			continue // KServe cannot read it either
		}
		if container.Name == kube.KServeContainer {
			r.Image = container.Image
		}
		for name := range container.Resources.Limits {
			if strings.Contains(string(name), "/") {
				resources[string(name)] = true
			}
		}
	}
	r.Resources = slices.Sorted(maps.Keys(resources))
	return r
}
