package inventory

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// cluster is what is there, by name, while random things happen to it.
type cluster struct {
	r      *rand.Rand
	nodes  map[string]*corev1.Node
	pods   map[string]*corev1.Pod
	slices map[string]*resourcev1.ResourceSlice
	claims map[string]*resourcev1.ResourceClaim
}

func newCluster(r *rand.Rand) *cluster {
	return &cluster{r: r, nodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{},
		slices: map[string]*resourcev1.ResourceSlice{}, claims: map[string]*resourcev1.ResourceClaim{}}
}

func (c *cluster) pick(prefix string, n int) string { return fmt.Sprintf("%s%d", prefix, c.r.IntN(n)) }

// strike does one random thing and tells the builder of it.
func (c *cluster) strike(b *Builder) {
	switch c.r.IntN(10) {
	case 0, 1:
		n := c.node(c.pick("n", 4))
		c.nodes[n.Name] = n
		b.SetNode(n)
	case 2, 3, 4:
		p := c.pod(c.pick("p", 8))
		c.pods[p.Name] = p
		b.SetPod(p)
	case 5:
		s := c.slice(c.pick("s", 6))
		c.slices[s.Name] = s
		b.SetSlice(s)
	case 6:
		k := c.claim(c.pick("c", 6))
		c.claims[k.Name] = k
		b.SetClaim(k)
	case 7:
		name := c.pick("n", 4)
		delete(c.nodes, name)
		b.DropNode(name)
	case 8:
		name := c.pick("p", 8)
		delete(c.pods, name)
		b.DropPod("gpu-vision", name)
	default:
		name, claim := c.pick("s", 6), c.pick("c", 6)
		delete(c.slices, name)
		delete(c.claims, claim)
		b.DropSlice(name)
		b.DropClaim("gpu-vision", claim)
	}
}

func (c *cluster) node(name string) *corev1.Node {
	return mixedNode(func(n *corev1.Node) {
		n.Name, n.Spec.Unschedulable = name, c.r.IntN(4) == 0
		n.Labels["rack"] = c.pick("r", 3)
		if c.r.IntN(3) == 0 {
			n.Status.Allocatable[slice] = *q(int64(c.r.IntN(8)))
		}
	})
}

func (c *cluster) pod(name string) *corev1.Pod {
	return withUID(pod(name, list("cpu", "1", slice, fmt.Sprint(c.r.IntN(3))), func(p *corev1.Pod) {
		p.Spec.NodeName = []string{"", "n0", "n1", "n2", "n3", "n9"}[c.r.IntN(6)]
		p.Annotations["w"] = c.pick("w", 3)
		p.Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, corev1.PodRunning,
			corev1.PodSucceeded}[c.r.IntN(4)]
	}))
}

func (c *cluster) slice(name string) *resourcev1.ResourceSlice {
	pool := c.pick("n", 5)
	s := draSlice(pool, int64(1+c.r.IntN(2)), int64(1+c.r.IntN(2)), dynamic(c.r.IntN(3))...)
	s.Spec.SharedCounters = countersOf(3)
	return named(s, name, func(s *resourcev1.ResourceSliceSpec) {
		switch c.r.IntN(4) {
		case 0:
			s.NodeName, s.AllNodes = nil, ptr(true)
		case 1:
			s.NodeName = nil
			s.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "rack", Operator: corev1.NodeSelectorOpIn,
					Values: []string{c.pick("r", 3)}}}}}}
		case 2:
			s.NodeName = ptr(c.pick("n", 4))
		}
	})
}

func (c *cluster) claim(name string) *resourcev1.ResourceClaim {
	var devices []string
	for range c.r.IntN(3) {
		devices = append(devices, dynamic(c.r.IntN(3))[c.r.IntN(10)].Name)
	}
	return claim(name, c.pick("n", 6), devices, []string{c.pick("p", 8), c.pick("p", 8)}[:c.r.IntN(3)]...)
}

func (c *cluster) seen() Objects {
	return Objects{Nodes: slices.Collect(maps.Values(c.nodes)), Pods: slices.Collect(maps.Values(c.pods)),
		Slices: slices.Collect(maps.Values(c.slices)), Claims: slices.Collect(maps.Values(c.claims))}
}

// Whatever happens in whatever order, and however often one looks meanwhile, the builder says what it would say of what
// is there now, seen for the first time.
func TestBuilderEqualsBuild(t *testing.T) {
	attached := 0
	for seed := range uint64(30) {
		c := newCluster(rand.New(rand.NewPCG(seed, 7)))
		b := NewBuilder("main", ours)
		for step := range 120 {
			c.strike(b)
			if c.r.IntN(5) != 0 {
				continue
			}
			want, got := Build("main", now, c.seen(), ours), b.Snapshot(now)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, step %d (-scratch +builder)\n%s", seed, step, diff)
			}
			attached += len(got.Attached)
			checkTotals(t, got)
		}
		c.leave(b)
		if len(b.nodes)+len(b.pods)+len(b.dra.pools)+len(b.dra.slices)+len(b.dra.claims)+len(b.dra.byPod)+len(b.dra.byNode)+
			len(b.dra.orphan)+len(b.Snapshot(now).Attached) > 0 {
			t.Fatalf("seed %d: everything is gone, and the builder remembers %+v", seed, b)
		}
	}
	if attached == 0 {
		t.Error("no world had attached devices")
	}
}

// leave takes everything away.
func (c *cluster) leave(b *Builder) {
	for name := range c.nodes {
		b.DropNode(name)
	}
	for name := range c.pods {
		b.DropPod("gpu-vision", name)
	}
	for name := range c.slices {
		b.DropSlice(name)
	}
	for name := range c.claims {
		b.DropClaim("gpu-vision", name)
	}
}

// The object that proves whose a pod is may be seen after the pod.
func TestRecheck(t *testing.T) {
	known := false
	b := NewBuilder("main", func(p *corev1.Pod) string {
		if known {
			return ours(p)
		}
		return ""
	})
	b.SetNode(mixedNode())
	b.SetSlice(draSlice("n1", 1, 1, card(0)))
	b.SetPod(withUID(pod("a", list(slice, "1"))))
	b.SetPod(withUID(pod("b", list("cpu", "1"))))
	b.SetClaim(claim("c", "n1", []string{"gpu-0"}, "b"))
	holders := func() [2]string {
		n := b.Snapshot(now).Nodes[0]
		return [2]string{n.Resources[1].Holders[0].Workload, n.Devices[0].Holders[0].Workload}
	}
	if got := holders(); got != [2]string{} {
		t.Fatalf("nobody is known yet, got %v", got)
	}
	known = true
	b.Recheck()
	if got, want := holders(), [2]string{"w-a", "w-b"}; got != want {
		t.Errorf("want %v, got %v", want, got)
	}
}

func TestKeep(t *testing.T) {
	b := NewBuilder("main", ours)
	b.SetNode(mixedNode(label("nvidia.com/cuda.runtime.major", "13")))
	if _, is := b.Snapshot(now).Nodes[0].Labels["nvidia.com/cuda.runtime.major"]; is {
		t.Fatal("noise is not kept")
	}
	b.Keep([]string{"nvidia.com/cuda.runtime.major"})
	if _, is := b.Snapshot(now).Nodes[0].Labels["nvidia.com/cuda.runtime.major"]; !is {
		t.Error("what a size selects on now is kept")
	}
}

// bigWorld is a thousand nodes of eight cards cut into seven slices each, and ten thousand pods.
func bigWorld(withDRA bool) Objects {
	var w Objects
	for i := range 1_000 {
		name := fmt.Sprintf("n%04d", i)
		w.Nodes = append(w.Nodes, mixedNode(label(slice+".count", "56", "nvidia.com/gpu.count", "8"),
			resourcesOf("cpu", "192", "memory", "2Ti", slice, "56"), func(n *corev1.Node) { n.Name = name }))
		if withDRA {
			var devices []resourcev1.Device
			for c := range 8 {
				for s := range 7 {
					devices = append(devices, cut(c, "1g.10gb", s, 1))
				}
			}
			w.Slices = append(w.Slices, draSlice(name, 1, 1, devices...))
		}
	}
	for i := range 10_000 {
		w.Pods = append(w.Pods, pod(fmt.Sprintf("p%05d", i), list("cpu", "4", "memory", "16Gi", slice, "1"),
			func(p *corev1.Pod) { p.Spec.NodeName = fmt.Sprintf("n%04d", i%1_000) }))
		if withDRA {
			w.Claims = append(w.Claims, claim(fmt.Sprintf("c%05d", i), fmt.Sprintf("n%04d", i%1_000),
				[]string{cut(i/1_000%8, "1g.10gb", i%7, 1).Name}, fmt.Sprintf("p%05d", i)))
		}
	}
	return w
}

// BenchmarkBuild is a cluster seen at once; the bar is one second. heap-MB is what the builder and its snapshot keep,
// beside the objects of the caches.
func BenchmarkBuild(b *testing.B) {
	for name, withDRA := range map[string]bool{"plugin": false, "dra": true} {
		b.Run(name, func(b *testing.B) {
			w := bigWorld(withDRA)
			b.ReportAllocs()
			for b.Loop() {
				Build("main", now, w, ours)
			}
			b.StopTimer()
			before := heap()
			builder := fill(w)
			s := builder.Snapshot(now)
			b.ReportMetric(float64(heap()-before)/1e6, "heap-MB")
			runtime.KeepAlive(s)
			runtime.KeepAlive(builder)
			runtime.KeepAlive(w)
		})
	}
}

// BenchmarkPodEvent is one pod that comes, and the snapshot that follows; the bar is one millisecond.
func BenchmarkPodEvent(b *testing.B) {
	for name, withDRA := range map[string]bool{"plugin": false, "dra": true} {
		b.Run(name, func(b *testing.B) {
			w := bigWorld(withDRA)
			builder := fill(w)
			builder.Snapshot(now)
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				builder.SetPod(w.Pods[i%len(w.Pods)])
				builder.Snapshot(now)
				i++
			}
		})
	}
}

func fill(w Objects) *Builder {
	b := NewBuilder("main", ours)
	for _, n := range w.Nodes {
		b.SetNode(n)
	}
	for _, p := range w.Pods {
		b.SetPod(p)
	}
	for _, s := range w.Slices {
		b.SetSlice(s)
	}
	for _, c := range w.Claims {
		b.SetClaim(c)
	}
	return b
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
