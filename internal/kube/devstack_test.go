package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// row is what a size must come to on a cluster that has nodes of every kind.
type row struct {
	pools    []string  // where the scheduler may bind the pod
	devices  []string  // patterns of the devices of its claim, in the order of their names
	request  string    // of the claim that was satisfied
	contract *contract // for sizes whose pods another scheduler binds
}

// contract is what a system documents that its pods look like.
type contract struct {
	source      string
	scheduler   string
	resources   map[string]string // requests and limits of the container
	annotations map[string]string
	labels      map[string]string
	env         map[string]string
}

// rows has one entry for each size of catalog.EveryRow.
var rows = map[string]row{
	// all of which have processors and no card of the three vendors
	"cpu":                {pools: []string{"cpu", "orionx", "bitfusion", "intel-gpu"}},
	"h100":               {pools: []string{"h100-nvlink"}},
	"h100-2":             {pools: []string{"h100-nvlink"}},
	"h100-4":             {pools: []string{"h100-nvlink"}},
	"h100-8":             {pools: []string{"h100-nvlink"}},
	"h200-8":             {pools: []string{"h200-nvlink"}},
	"h100-8-rdma":        {pools: []string{"h100-rdma"}},
	"a10-passthrough":    {pools: []string{"a10-passthrough"}},
	"mig-1g.5gb":         {pools: []string{"a100-mig-single"}},
	"mig-1g.10gb":        {pools: []string{"h100-mig", "h100-mig-custom"}},
	"mig-1g.10gb.me":     {pools: []string{"h100-mig-custom"}},
	"mig-3g.40gb":        {pools: []string{"h100-mig", "h100-mig-custom"}},
	"vgpu-12q":           {pools: []string{"a40-vgpu"}},
	"vgpu-10c":           {pools: []string{"h100-vgpu-mig"}},
	"l40s-shared":        {pools: []string{"l40s-shared"}},
	"t4-shared":          {pools: []string{"t4-shared"}},
	"vgpu-12q-shared":    {pools: []string{"a40-vgpu-shared"}},
	"mig-3g.20gb-shared": {pools: []string{"a100-mig-shared"}},
	"l40s-mps":           {pools: []string{"l40s-mps"}},
	"dra-h100": {pools: []string{"h100-dra", "h100-dra-nvlink"}, devices: []string{`gpu-[0123]`},
		request: "gpu"},
	"dra-1g.10gb":       {pools: []string{"h100-dra"}, devices: []string{`gpu-2-mig-1g10gb-.*`}, request: "slice"},
	"dra-40gb":          {pools: []string{"h100-dra", "h100-dra-nvlink"}, devices: []string{`gpu-[0123]`}, request: "gpu"},
	"dra-h100-pair":     {pools: []string{"h100-dra"}, devices: []string{`gpu-0`, `gpu-1`}, request: "pair"},
	"dra-h100-nvlink":   {pools: []string{"h100-dra-nvlink"}, devices: []string{`gpu-0`, `gpu-2`}, request: "pair"},
	"dra-slice-or-card": {pools: []string{"h100-dra"}, devices: []string{`gpu-[23]-mig-3g40gb-.*`}, request: "gpu/slice"},
	"vcuda-quarter":     {pools: []string{"tencent"}}, // the extender gpu-admission only picks the card
	"cgpu-4gb":          {pools: []string{"alibaba"}},
	"gpushare-4gb":      {pools: []string{"alibaba"}},
	"bitfusion-half":    {pools: []string{"bitfusion"}},
	"mi300x":            {pools: []string{"mi300x"}},
	"gaudi3":            {pools: []string{"gaudi3"}},
	"intel-xe":          {pools: []string{"intel-gpu"}},
	"l4-spot":           {pools: []string{"l4-spot"}},
	"gke-l4-4":          {pools: []string{"l4-spot"}},

	"hami-8gb": {contract: &contract{
		source: "github.com/Project-HAMi/HAMi v2.10.0: README, charts/hami/values.yaml (resourceName, resourceMem, " +
			"resourceCores)", scheduler: "hami-scheduler",
		// MiB and percent of one card
		resources:   map[string]string{"nvidia.com/gpu": "1", "nvidia.com/gpumem": "8192", "nvidia.com/gpucores": "25"},
		annotations: map[string]string{"nvidia.com/use-gputype": "V100", "hami.io/gpu-scheduler-policy": "binpack"},
	}},
	"volcano-8gb": {contract: &contract{
		source: "github.com/Project-HAMi/volcano-vgpu-device-plugin: README", scheduler: "volcano",
		resources: map[string]string{"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "8192",
			"volcano.sh/vgpu-cores": "25"},
		annotations: map[string]string{"volcano.sh/vgpu-mode": "hami-core"},
	}},
	"kai-quarter": {contract: &contract{
		source: "github.com/kai-scheduler/KAI-Scheduler v0.18: docs/gpu-sharing, docs/queues", scheduler: "kai-scheduler",
		annotations: map[string]string{"gpu-fraction": "0.25"},
		labels:      map[string]string{"kai.scheduler/queue": "gpu-portal"},
	}},
	"orionx-8gb": {contract: &contract{
		source:    "OrionX user documentation (VirtAI Tech): resources and environment of Kubernetes pods",
		scheduler: "orion-scheduler",
		resources: map[string]string{"virtaitech.com/gpu": "1"},
		env: map[string]string{"ORION_VGPU": "1", "ORION_GMEM": "8192", "ORION_RATIO": "50", "ORION_RESERVED": "1",
			"ORION_CROSS_NODE": "0",
			"ORION_GROUP_ID":   "$(POD_UID)"},
	}},
}

// everyKind is how many nodes a world needs to have one of each kind.
const everyKind = 29

// kindNote is where the devstack writes what kind a node is of.
const kindNote = "devstack.gpu-portal.example/kind"

// TestDevstackEveryRow applies each size to a real API server and lets the real scheduler bind its pod: on a node of
// the right kind, and with claims allocated by it. Where another scheduler would bind, the pod is there as that system
// documents it.
func TestDevstackEveryRow(t *testing.T) {
	each := map[string]int{}
	for _, size := range catalog.EveryRow().Sizes {
		each[size.Name] = 1
	}
	s := newSpace(t, each)
	sizes := catalog.EveryRow().Sizes
	for name := range rows {
		if !slices.ContainsFunc(sizes, func(s catalog.Size) bool { return s.Name == name }) {
			t.Errorf("no size is called %s", name)
		}
	}
	for i, size := range sizes {
		t.Run(size.Name, func(t *testing.T) {
			want, known := rows[size.Name]
			if !known {
				t.Fatal("no row says where a pod of this size belongs")
			}
			kind := catalog.Notebook
			if i%2 == 1 {
				kind = catalog.Endpoint // a StatefulSet's pods and a ReplicaSet's in turn
			}
			w := s.workload(size, kind)
			defer s.remove(t, w)
			s.start(t, w)
			if want.contract != nil {
				s.keeps(t, w, *want.contract)
				return
			}
			pod := s.bound(t, w)
			if kind := s.kinds[pod.Spec.NodeName]; !slices.Contains(want.pools, kind) {
				t.Errorf("bound to %s, of kind %q; want one of %v", pod.Spec.NodeName, kind, want.pools)
			}
			s.allocated(t, pod, want)
		})
	}
}

// TestDevstackQuotaCountsClaims: a team that may have one slice gets no second one, and no whole card either. The pod
// is made and its claim is refused.
func TestDevstackQuotaCountsClaims(t *testing.T) {
	s := newSpace(t, map[string]int{"dra-1g.10gb": 1})
	start := func(size, name string) workload.Workload {
		found, _ := s.catalog.Size(size)
		w := s.workload(found, catalog.Notebook)
		w.Name, w.ID = name, workload.ID("w-"+name)
		s.start(t, w)
		return w
	}
	first := start("dra-1g.10gb", "nb-first")
	defer s.remove(t, first)
	s.bound(t, first)
	for name, size := range map[string]string{"nb-second": "dra-1g.10gb", "nb-card": "dra-40gb"} {
		w := start(size, name)
		defer s.remove(t, w)
		within(t, name+" is refused by the quota", func() bool {
			events := s.events(w)
			return strings.Contains(events, "FailedResourceClaimCreation") &&
				strings.Contains(events, "exceeded quota: portal-gpu")
		})
	}
}

// TestDevstackNVLinkDomain: with cards 1 and 2 taken, the two that are left are on one PCIe root and in two partitions
// of Fabric Manager. A claim for two of one NVLink domain waits, until the other card of one domain is given back.
func TestDevstackNVLinkDomain(t *testing.T) {
	s := newSpace(t, map[string]int{"dra-h100": 2, "dra-h100-nvlink": 1})
	start := func(size, name string, selectors ...string) workload.Workload {
		found, _ := s.catalog.Size(size)
		claim := *found.Accelerator.Claim
		claim.Requests = slices.Clone(claim.Requests)
		claim.Requests[0].Selectors = slices.Concat(claim.Requests[0].Selectors, selectors)
		found.Accelerator.Claim = &claim
		w := s.workload(found, catalog.Notebook)
		w.Name, w.ID = name, workload.ID("w-"+name)
		s.start(t, w)
		return w
	}
	const module = "has(device.attributes['gpu.nvidia.com'].gpuModuleID) && " +
		"device.attributes['gpu.nvidia.com'].gpuModuleID == "
	first, second := start("dra-h100", "nb-one", module+"1"), start("dra-h100", "nb-two", module+"2")
	defer s.remove(t, first)
	s.allocated(t, s.bound(t, first), row{devices: []string{"gpu-0"}, request: "gpu"})
	s.allocated(t, s.bound(t, second), row{devices: []string{"gpu-1"}, request: "gpu"})
	pair := start("dra-h100-nvlink", "nb-pair")
	defer s.remove(t, pair)
	within(t, "the scheduler refuses the pair", func() bool {
		return slices.ContainsFunc(s.pods(pair), func(pod corev1.Pod) bool {
			return pod.Spec.NodeName == "" && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable &&
					strings.Contains(c.Message, "cannot allocate all claims")
			})
		})
	})
	s.remove(t, second)
	s.allocated(t, s.bound(t, pair), row{devices: []string{"gpu-1", "gpu-3"}, request: "pair"})
}

// space is a tenant's namespace on the real cluster.
type space struct {
	reconciletest.Devstack
	dynamic dynamic.Interface
	tenant  tenant.Tenant
	catalog catalog.Catalog
	kinds   map[string]string // of nodes
}

var site = kube.Site{Instance: "every-row"}

// newSpace makes it with a quota of so many of each size.
func newSpace(t *testing.T, quota map[string]int) *space {
	t.Helper()
	s := &space{Devstack: reconciletest.NeedDevstack(t), catalog: catalog.EveryRow(), kinds: map[string]string{}}
	nodes, err := s.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) < everyKind {
		t.Skipf("this world has %d nodes; one of each kind takes %d: withstack --nodes %d", len(nodes.Items), everyKind,
			everyKind)
	}
	for _, n := range nodes.Items {
		s.kinds[n.Name] = n.Annotations[kindNote]
	}
	if s.dynamic, err = dynamic.NewForConfig(s.Config); err != nil {
		t.Fatal(err)
	}
	s.tenant = tenant.Tenant{Name: "every-row", Namespace: s.Namespace(t), Quota: quota}
	objects, err := kube.TenantObjects(s.tenant, s.catalog, site)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		s.apply(t, o)
	}
	within(t, "the quota counts", func() bool {
		q, err := s.Client.CoreV1().ResourceQuotas(s.tenant.Namespace).Get(t.Context(), "portal-gpu", metav1.GetOptions{})
		return err == nil && len(q.Spec.Hard) > 0 && len(q.Status.Hard) == len(q.Spec.Hard)
	})
	return s
}

func (s *space) workload(size catalog.Size, kind catalog.WorkloadKind) workload.Workload {
	name := "nb-" + strings.ReplaceAll(size.Name, ".", "-")
	image, _ := s.catalog.Image("jupyterlab")
	return workload.Workload{
		ID: workload.ID("w-" + name), Name: name, Kind: kind, Tenant: s.tenant.Name, Owner: "anna", Size: size, Image: image,
		Cluster:   "local",
		Namespace: s.tenant.Namespace, Desired: workload.WantRunning, Generation: 1,
	}
}

func (s *space) start(t *testing.T, w workload.Workload) {
	t.Helper()
	objects, err := kube.Objects(kube.Input{Workload: w, Tenant: s.tenant, Site: site, Token: "not-a-secret"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		s.apply(t, o)
	}
}

// apply writes an object and demands back all that was written: the API server drops fields that it does not know
// without a word.
func (s *space) apply(t *testing.T, o kube.Object) {
	t.Helper()
	content, err := kube.Content(o)
	if err != nil {
		t.Fatal(err)
	}
	kind := o.GetObjectKind().GroupVersionKind()
	got, err := s.resource(kind, o.GetNamespace()).Apply(t.Context(), o.GetName(),
		&unstructured.Unstructured{Object: content},
		metav1.ApplyOptions{FieldManager: "gpu-portal", Force: true})
	if err != nil {
		t.Fatalf("%s %s: %v", kind.Kind, o.GetName(), err)
	}
	for _, lost := range missing("", content, plain(t, got.Object)) {
		if kind.Kind != "Secret" {
			t.Errorf("%s %s: the API server did not keep %s", kind.Kind, o.GetName(), lost)
		}
	}
}

func (s *space) resource(kind schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	if namespace == "" {
		return s.dynamic.Resource(resource)
	}
	return s.dynamic.Resource(resource).Namespace(namespace)
}

// plain is a value as JSON has it, with numbers alike.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// missing lists what of the wanted value is not in the other. Both may hold more; the order of a list may not change.
func missing(at string, want, got any) []string {
	var lost []string
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for name, value := range w {
			lost = append(lost, missing(at+"."+name, value, g[name])...)
		}
	case []any:
		g, _ := got.([]any)
		for i, value := range w {
			if i >= len(g) {
				return append(lost, fmt.Sprintf("%s[%d]", at, i))
			}
			lost = append(lost, missing(fmt.Sprintf("%s[%d]", at, i), value, g[i])...)
		}
	default:
		if fmt.Sprint(want) != fmt.Sprint(got) {
			return []string{fmt.Sprintf("%s: %v became %v", at, want, got)}
		}
	}
	return lost
}

func (s *space) pods(w workload.Workload) []corev1.Pod {
	list, err := s.Client.CoreV1().Pods(w.Namespace).List(context.Background(),
		metav1.ListOptions{LabelSelector: labels.Set(kube.PodSelector(w)).String()})
	if err != nil {
		return nil
	}
	return list.Items
}

// bound waits until the scheduler has bound the pod, and says what keeps it otherwise.
func (s *space) bound(t *testing.T, w workload.Workload) corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	if !eventually(func() bool {
		for _, pod = range s.pods(w) {
			if pod.Spec.NodeName != "" {
				return true
			}
		}
		return false
	}) {
		t.Fatalf("not bound: %+v\n%s", pod.Status.Conditions, s.events(w))
	}
	return pod
}

func (s *space) events(w workload.Workload) string {
	list, _ := s.Client.CoreV1().Events(w.Namespace).List(context.Background(), metav1.ListOptions{})
	var b strings.Builder
	for _, e := range list.Items {
		if strings.HasPrefix(e.InvolvedObject.Name, w.Name) && e.Type == corev1.EventTypeWarning {
			fmt.Fprintf(&b, "%s %s: %s\n", e.InvolvedObject.Kind, e.Reason, e.Message)
		}
	}
	return b.String()
}

// allocated compares the devices that the scheduler gave the pod's claim.
func (s *space) allocated(t *testing.T, pod corev1.Pod, want row) {
	t.Helper()
	if len(want.devices) == 0 {
		if n := len(pod.Spec.ResourceClaims); n > 0 {
			t.Errorf("%d claims that no row knows of", n)
		}
		return
	}
	fresh, err := s.Client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil || len(fresh.Status.ResourceClaimStatuses) != 1 ||
		fresh.Status.ResourceClaimStatuses[0].ResourceClaimName == nil {
		t.Fatalf("no claim was made for the pod: %v %v", fresh.Status.ResourceClaimStatuses, err)
	}
	claim, err := s.Client.ResourceV1().ResourceClaims(pod.Namespace).Get(t.Context(),
		*fresh.Status.ResourceClaimStatuses[0].ResourceClaimName, metav1.GetOptions{})
	if err != nil || claim.Status.Allocation == nil {
		t.Fatalf("the claim is not allocated: %v", err)
	}
	if claim.Labels[kube.TenantKey] != s.tenant.Name || claim.Labels[kube.WorkloadKey] != fresh.Labels[kube.WorkloadKey] {
		t.Errorf("the claim does not say whose it is: %v", claim.Labels)
	}
	var devices []string
	for _, r := range claim.Status.Allocation.Devices.Results {
		devices = append(devices, r.Device)
		if r.Request != want.request || r.Pool != pod.Spec.NodeName {
			t.Errorf("device %s of %s answers the request %s, want %s on %s", r.Device, r.Pool, r.Request, want.request,
				pod.Spec.NodeName)
		}
	}
	slices.Sort(devices)
	if len(devices) != len(want.devices) {
		t.Fatalf("devices %v, want %v", devices, want.devices)
	}
	for i, pattern := range want.devices {
		if !regexp.MustCompile("^" + pattern + "$").MatchString(devices[i]) {
			t.Errorf("devices %v, want %v", devices, want.devices)
		}
	}
}

// keeps compares the pod that Kubernetes made with what the other system documents; nobody binds it here.
func (s *space) keeps(t *testing.T, w workload.Workload, want contract) {
	t.Helper()
	if !eventually(func() bool { return len(s.pods(w)) == 1 }) {
		t.Fatalf("the pod was not admitted:\n%s", s.events(w))
	}
	pod := s.pods(w)[0]
	c := pod.Spec.Containers[0]
	got := contract{source: want.source, scheduler: pod.Spec.SchedulerName, annotations: among(pod.Annotations,
		want.annotations), labels: among(pod.Labels, want.labels)}
	for name, q := range c.Resources.Limits {
		if !strings.Contains(string(name), "/") {
			continue
		}
		if request := c.Resources.Requests[name]; request.Cmp(q) != 0 {
			t.Errorf("%s: request %s, limit %s", name, request.String(), q.String())
		}
		put(&got.resources, string(name), q.String())
	}
	for _, e := range c.Env {
		if strings.HasPrefix(e.Name, "ORION_") {
			put(&got.env, e.Name, e.Value)
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(contract{})); diff != "" {
		t.Errorf("as documented by %s (-want +got)\n%s", want.source, diff)
	}
}

func put(m *map[string]string, name, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[name] = value
}

// among is the part of m that is asked for.
func among(m, asked map[string]string) map[string]string {
	var out map[string]string
	for name := range asked {
		if value, has := m[name]; has {
			put(&out, name, value)
		}
	}
	return out
}

// remove deletes what was made and waits until the devices are free.
func (s *space) remove(t *testing.T, w workload.Workload) {
	ctx := context.Background()
	for _, ref := range kube.Names(w) {
		how := metav1.DeletePropagationBackground
		err := s.resource(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), ref.Namespace).Delete(ctx, ref.Name,
			metav1.DeleteOptions{PropagationPolicy: &how})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("delete %s %s: %v", ref.Kind, ref.Name, err)
		}
	}
	within(t, "pods and claims are gone", func() bool {
		claims, err := s.Client.ResourceV1().ResourceClaims(w.Namespace).List(ctx,
			metav1.ListOptions{LabelSelector: labels.Set(kube.PodSelector(w)).String()})
		return err == nil && len(claims.Items) == 0 && len(s.pods(w)) == 0
	})
}

// eventually waits for as long as a loaded machine may take.
func eventually(so func() bool) bool {
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if so() {
			return true
		}
	}
	return false
}

func within(t *testing.T, what string, so func() bool) {
	t.Helper()
	if !eventually(so) {
		t.Fatal("not in time: " + what)
	}
}
