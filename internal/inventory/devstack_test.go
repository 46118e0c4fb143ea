package inventory_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
)

// pools is what the kinds of node in the devstack show, by the name of the pool: one resource of each, or with DRA one
// driver.
var pools = map[string]struct {
	resource  string
	unit      inventory.Unit
	isolation catalog.Isolation
	cards     int64 // -1: cannot be told
}{
	"h100-mig":        {"nvidia.com/mig-1g.10gb", inventory.Slice, catalog.IsolationHard, 8},
	"h100-mig-custom": {"nvidia.com/mig-3g.40gb", inventory.Slice, catalog.IsolationHard, 8},
	"a100-mig-single": {"nvidia.com/gpu", inventory.Slice, catalog.IsolationHard, -1},
	"l40s-shared":     {"nvidia.com/gpu.shared", inventory.Share, catalog.IsolationNone, 4},
	"a40-vgpu":        {"nvidia.com/gpu", inventory.VirtualCard, catalog.IsolationMemory, -1},
	"h100-nvlink":     {"nvidia.com/gpu", inventory.Card, catalog.IsolationHard, 8},
	"h100-rdma":       {"rdma/hca_shared_devices_a", inventory.Network, catalog.IsolationUnknown, 8},
	"l40s-mps":        {"nvidia.com/gpu", inventory.Share, catalog.IsolationMemory, 4},
	"h100-dra":        {"gpu.nvidia.com", inventory.Card, catalog.IsolationHard, 4}, "cpu": {"", "", "", -1},
	"l4-spot": {"nvidia.com/gpu", inventory.Card, catalog.IsolationHard, 4},
	"mi300x":  {"amd.com/gpu", inventory.Card, catalog.IsolationHard, 8}, "gaudi3": {"habana.ai/gaudi", inventory.Card,
		catalog.IsolationHard, 8},
	"t4-shared": {"nvidia.com/gpu", inventory.Share, catalog.IsolationNone, 4}, "h100-vgpu-mig": {"nvidia.com/gpu",
		inventory.VirtualCard, catalog.IsolationHard, -1},
	"a100-mig-shared": {"nvidia.com/mig-3g.20gb.shared", inventory.Share, catalog.IsolationNone, 8},
	"a10-passthrough": {"nvidia.com/gpu", inventory.Card, catalog.IsolationHard, 2},
	"a10-kubevirt":    {"nvidia.com/NVIDIA_A10-12Q", inventory.VMDevice, catalog.IsolationUnknown, -1},
	"h200-nvlink":     {"nvidia.com/gpu", inventory.Card, catalog.IsolationHard, 8},
	"hami":            {"nvidia.com/gpu", inventory.Share, catalog.IsolationMemory, 4},
	"volcano":         {"volcano.sh/vgpu-number", inventory.Share, catalog.IsolationUnknown, -1},
	"kai":             {"nvidia.com/gpu", inventory.Card, catalog.IsolationHard, 4}, "tencent": {"tencent.com/vcuda-core",
		inventory.Quantity, catalog.IsolationUnknown, 4},
	"alibaba":         {"aliyun.com/gpu-mem", inventory.Quantity, catalog.IsolationUnknown, 4},
	"orionx":          {"virtaitech.com/gpu", inventory.Share, catalog.IsolationUnknown, -1},
	"bitfusion":       {"bitfusion.io/gpu-amount", inventory.Share, catalog.IsolationUnknown, -1},
	"a40-vgpu-shared": {"nvidia.com/gpu.shared", inventory.Share, catalog.IsolationNone, -1},
	"h100-dra-nvlink": {"gpu.nvidia.com", inventory.Card, catalog.IsolationHard, 4},
	"intel-gpu":       {"gpu.intel.com/xe", inventory.Card, catalog.IsolationUnknown, -1},
}

// On nodes that are as they should be, of every kind there is, nothing is warned of and everything is recognised.
func TestDevstackNodes(t *testing.T) {
	s := inventory.Build("main", time.Now(), look(t), func(*corev1.Pod) string { return "" })
	words := i18n.MustLoad().For("en")
	seen := map[string]bool{}
	for _, n := range s.Nodes {
		pool := n.Name[:strings.LastIndex(n.Name, "-")]
		want, known := pools[pool]
		if !known {
			t.Errorf("the pool %s is new: what is it?", pool)
			continue
		}
		seen[pool] = true
		for _, warning := range n.Warnings {
			t.Errorf("%s: %s", n.Name, words.Say(warning))
		}
		if n.Cards.Known != (want.cards >= 0) || n.Cards.Known && n.Cards.Count != want.cards {
			t.Errorf("%s: want %d cards, got %+v", n.Name, want.cards, n.Cards)
		}
		check(t, n, want.resource, want.unit, want.isolation)
	}
	if len(seen) < 12 {
		t.Errorf("only %d pools were there", len(seen))
	}
	for _, x := range inventory.Totals(s) {
		if x.Held()+x.Free+x.Broken != x.Total || x.Total == 0 || x.Broken > 0 {
			t.Errorf("%+v", x)
		}
	}
}

// Of each size of the catalog with every row, the world with a node of every kind has some, unless its nodes cannot
// tell; nothing can never run, and the numbers of the portal agree with what the scheduler binds (internal/kube tries
// each).
func TestDevstackHasAPlaceForEverySize(t *testing.T) {
	every := catalog.EveryRow()
	var keep []string // what sizes select on, as the controller says
	for _, size := range every.Sizes {
		keep = slices.AppendSeq(keep, maps.Keys(size.Placement.NodeSelector))
	}
	s := inventory.Build("main", time.Now(), look(t), func(*corev1.Pod) string { return "" }, keep...)
	if len(s.Nodes) < 29 {
		t.Skip("this devstack has not a node of each kind: start it with --nodes 29")
	}
	for _, size := range every.Sizes {
		rule, _ := catalog.Rule(size.Technology)
		fit := capacity.Fit(s, size)
		if fit.Known == rule.Uncountable || fit.Known && fit.Total == 0 || fit.Free > fit.Total {
			t.Errorf("%s: %+v", size.Name, fit)
		}
		if told := capacity.Isolation(s, size); told != size.Isolation {
			t.Errorf("%s: the catalog says %s, the nodes say %s", size.Name, size.Isolation, told)
		}
	}
	for _, f := range capacity.Compare(every, []inventory.Snapshot{s}) {
		if f.Kind == capacity.NeverRuns {
			t.Errorf("%s can never run: %s", f.Size, i18n.MustLoad().For("en").Say(f.Reason))
		}
	}
}

func check(t *testing.T, n inventory.Node, resource string, unit inventory.Unit, isolation catalog.Isolation) {
	t.Helper()
	if i := slices.IndexFunc(n.Devices, func(d inventory.Device) bool { return d.Driver == resource }); i >= 0 {
		d := n.Devices[i]
		if k, level := inventory.KindOfDevice(d), inventory.IsolationOfDevice(n, d); k.Unit != unit || level != isolation ||
			k.Model == "" {
			t.Errorf("%s, %s: got %+v, %s", n.Name, d.Name, k, level)
		}
		return
	}
	if resource == "" {
		if len(n.Resources) > 0 {
			t.Errorf("%s has %v", n.Name, n.Resources)
		}
		return
	}
	if !slices.ContainsFunc(n.Resources, func(r inventory.Resource) bool { return r.Name == resource && r.Capacity > 0 }) {
		t.Errorf("%s does not have %s", n.Name, resource)
	}
	if k, level := inventory.KindOf(n, resource), inventory.Isolation(n, resource); k.Unit != unit || level != isolation {
		t.Errorf("%s, %s: got %+v, %s", n.Name, resource, k, level)
	}
}

func look(t *testing.T) inventory.Objects {
	d := reconciletest.NeedDevstack(t)
	all, ctx := metav1.ListOptions{}, t.Context()
	nodes, err1 := d.Client.CoreV1().Nodes().List(ctx, all)
	pods, err2 := d.Client.CoreV1().Pods("").List(ctx, all)
	published, err3 := d.Client.ResourceV1().ResourceSlices().List(ctx, all)
	claims, err4 := d.Client.ResourceV1().ResourceClaims("").List(ctx, all)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return inventory.Objects{Nodes: pointers(nodes.Items), Pods: pointers(pods.Items), Slices: pointers(published.Items),
		Claims: pointers(claims.Items)}
}

func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}
