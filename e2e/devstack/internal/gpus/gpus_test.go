package gpus

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/dcgm"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

func node(t *testing.T, pool string) *corev1.Node {
	t.Helper()
	kind, _ := nodes.FindKind(pool)
	n, err := nodes.Build(nodes.Named{Name: pool + "-01", Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func pod(name, node, resourceName string) *corev1.Pod {
	started := metav1.NewTime(time.Now().Add(-time.Hour))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main",
			Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{corev1.ResourceName(resourceName): resource.MustParse("1")}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started},
	}
}

func hardware(t *testing.T, file string, objects ...runtime.Object) *Hardware {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	cluster, err := world.New(fake.NewClientset(objects...))
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return New(cluster, file)
}

// on finds the entity on which a pod is.
func on(entities []dcgm.Entity, pod string) *dcgm.Entity {
	for i, e := range entities {
		for _, s := range e.Shares {
			if s.Pod == pod {
				return &entities[i]
			}
		}
	}
	return nil
}

func TestLoadIsWhatTheExporterShows(t *testing.T) {
	n := node(t, "h100-mig")
	file := filepath.Join(t.TempDir(), "devices.json")
	h := hardware(t, file, n, pod("nb", n.Name, "nvidia.com/mig-1g.10gb"))
	now := time.Now()
	for _, load := range []float64{0, 0.9} {
		h.Loads.Set("red/nb", load)
		entities, err := h.Entities(n, now)
		if err != nil {
			t.Fatal(err)
		}
		e := on(entities, "nb")
		if e == nil || e.Profile != "1g.10gb" {
			t.Fatalf("want the pod on a 1g.10gb, got %+v", e)
		}
		if e.Busy < load-0.02 || e.Busy > load+0.02 || load == 0 && e.Busy != 0 {
			t.Errorf("want a load near %g, got %g", load, e.Busy)
		}
		if e.UsedMiB <= 0 || e.UsedMiB >= e.MemoryMiB {
			t.Errorf("want memory held, busy or not, got %g of %g", e.UsedMiB, e.MemoryMiB)
		}
	}
	again := hardware(t, file, n, pod("an-older-one", n.Name, "nvidia.com/mig-1g.10gb"),
		pod("nb", n.Name, "nvidia.com/mig-1g.10gb"))
	before, _ := h.Entities(n, now)
	after, err := again.Entities(n, now)
	if err != nil || on(before, "nb").InstanceID != on(after, "nb").InstanceID {
		t.Errorf("want the pod to keep its instance over a restart, got %v", err)
	}
}

func TestSharedCardIsSharedOut(t *testing.T) {
	n := node(t, "l40s-shared")
	var objects []runtime.Object
	for _, name := range []string{"a", "b", "c", "d", "e"} { // five pods on four cards: two of them share one
		objects = append(objects, pod(name, n.Name, "nvidia.com/gpu.shared"))
	}
	h := hardware(t, filepath.Join(t.TempDir(), "devices.json"), append(objects, n)...)
	entities, err := h.Entities(n, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entities {
		used := 0.0
		for _, s := range e.Shares {
			used += s.UsedMiB
		}
		if used > e.UsedMiB || e.UsedMiB > e.MemoryMiB || e.Busy > 1 {
			t.Errorf("card %d: want the shares within the card, got %+v", e.GPU, e)
		}
	}
	if got := len(on(entities, "e").Shares); got != 2 {
		t.Errorf("want the fifth pod to share a card with one other, got %d on it", got)
	}
}

func TestEnergyGrows(t *testing.T) {
	n := node(t, "h100-nvlink")
	h := hardware(t, filepath.Join(t.TempDir(), "devices.json"), n)
	now := time.Now()
	first, _ := h.Entities(n, now)
	second, _ := h.Entities(n, now.Add(10*time.Second))
	grown := second[0].Board.Millijoules - first[0].Board.Millijoules
	if grown < 10*60e3 || grown > 10*90e3 { // an idle H100 draws about 72 W
		t.Errorf("want about 720 kJ/1000 in ten seconds, got %g mJ", grown)
	}
}

func TestEveryExportedKindHasAPage(t *testing.T) {
	for _, kind := range nodes.Kinds() {
		n := node(t, kind.Pool)
		if !Exported(n) {
			continue
		}
		h := hardware(t, filepath.Join(t.TempDir(), "devices.json"), n)
		var page bytes.Buffer
		if err := h.Page(&page, n, time.Now()); err != nil || !strings.Contains(page.String(), "DCGM_FI_DEV_FB_USED{") {
			t.Errorf("%s: want a page with readings, got %v", kind.Pool, err)
		}
	}
}
