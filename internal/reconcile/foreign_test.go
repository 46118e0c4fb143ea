package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var kubectl = metav1.UpdateOptions{FieldManager: "kubectl-edit"}

// T-VIEW-3: additions to fields that carry security stayed forever, because server-side apply leaves what others own.
func TestAdditionsAreTakenBack(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run()
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a", "StatefulSet/nb-a")
	})
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state(nb.ID, workload.Running)
	ctx := t.Context()

	sets, services := w.cluster.AppsV1().StatefulSets(namespace), w.cluster.CoreV1().Services(namespace)
	policies := w.cluster.NetworkingV1().NetworkPolicies(namespace)
	set, err := sets.Get(ctx, "nb-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &set.Spec.Template.Spec
	pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "LD_PRELOAD", Value: "/x.so"})
	pod.Containers = append(pod.Containers, corev1.Container{Name: "miner", Image: "miner"})
	pod.NodeSelector = map[string]string{"a": "b"}
	set.Labels["cost-center"], set.ResourceVersion = "7", w.cluster.version()
	if _, err := sets.Update(ctx, set, kubectl); err != nil {
		t.Fatal(err)
	}
	service, err := services.Get(ctx, "nb-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service.Spec.ExternalIPs, service.ResourceVersion = []string{"192.0.2.1"}, w.cluster.version()
	if _, err := services.Update(ctx, service, kubectl); err != nil {
		t.Fatal(err)
	}
	policy, err := policies.Get(ctx, "portal-default-deny", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{}}
	policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
	policy.ResourceVersion = w.cluster.version()
	if _, err := policies.Update(ctx, policy, kubectl); err != nil {
		t.Fatal(err)
	}

	within(t, 2*time.Minute, "everything is as rendered", func() bool {
		set, setErr := sets.Get(ctx, "nb-a", metav1.GetOptions{})
		service, serviceErr := services.Get(ctx, "nb-a", metav1.GetOptions{})
		policy, policyErr := policies.Get(ctx, "portal-default-deny", metav1.GetOptions{})
		if setErr != nil || serviceErr != nil || policyErr != nil {
			return false
		}
		pod := set.Spec.Template.Spec
		return len(pod.Containers) == 1 && len(pod.Containers[0].Env) == 1+len(nb.Image.Env)+envOfCPU(nb) &&
			len(pod.NodeSelector) == 0 && len(service.Spec.ExternalIPs) == 0 && len(policy.Spec.Ingress) == 0 &&
			len(policy.Spec.Egress) == 0
	})
	if set, err := sets.Get(ctx, "nb-a", metav1.GetOptions{}); err != nil || set.Labels["cost-center"] != "7" {
		t.Errorf("a label of others must stay: %v, %v", set.Labels, err)
	}
	var got []string
	within(t, 2*time.Minute, "it is told", func() bool { return len(w.store.EventsOf(audit.ObjectRepaired)) >= 3 })
	for _, e := range w.store.EventsOf(audit.ObjectRepaired) {
		by := fmt.Sprint(e.Detail.Args["By"])
		if !strings.HasPrefix(by, "kubectl-edit") || e.Tenant != "vision" {
			t.Errorf("who did it is not told: %+v", e)
		}
		if strings.Contains(fmt.Sprint(e.Detail.Args), "/x.so") {
			t.Errorf("a value is told: %+v", e)
		}
		got = append(got, fmt.Sprint(e.Workload, " ", e.Detail.Args["Object"], ": ", e.Detail.Args["Paths"]))
	}
	want := map[string]bool{
		"w-nb-a StatefulSet gpu-vision/nb-a: spec.template.spec.containers[main].env[LD_PRELOAD], " +
			"spec.template.spec.containers[miner], spec.template.spec.nodeSelector": true,
		"w-nb-a Service gpu-vision/nb-a: spec.externalIPs":                         true,
		" NetworkPolicy gpu-vision/portal-default-deny: spec.egress, spec.ingress": true,
	}
	for _, line := range got {
		if !want[line] {
			t.Errorf("told: %s", line)
		}
		delete(want, line)
	}
	if len(want) > 0 {
		t.Errorf("not told, or not once: %v, got %q", want, got)
	}
	within(t, 2*time.Minute, "the page has it", func() bool {
		var removed, shown int
		for _, e := range w.store.Get(nb.ID).Observed.Edits {
			removed += map[workload.EditAction]int{workload.EditRemoved: 1}[e.Outcome]
			shown += map[workload.EditAction]int{workload.EditShown: 1}[e.Outcome]
		}
		return removed == 4 && shown == 1
	})
	w.settled()
}

// envOfCPU is what a size without GPU adds.
func envOfCPU(w workload.Workload) int {
	if w.Size.CPUOnly() {
		return 1
	}
	return 0
}

// What the cluster itself adds on each write, as an admission plugin or a default of a later version does, is not
// fought.
func TestAdditionsOfThePlatformStay(t *testing.T) {
	w := newWorld(t)
	sidecar := func(o runtime.Object) bool {
		set, ok := o.(*appsv1.StatefulSet)
		if !ok || len(set.Spec.Template.Spec.HostAliases) > 0 {
			return false
		}
		set.Spec.Template.Spec.HostAliases = []corev1.HostAlias{{IP: "192.0.2.1"}}
		set.ResourceVersion = w.cluster.version()
		return true
	}
	w.cluster.mutate.Store(&sidecar)
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run(func(o *reconcile.Options) { o.Every.Compare = 200 * time.Millisecond })
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a", "StatefulSet/nb-a")
	})
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state(nb.ID, workload.Running)
	var writes int64
	within(t, 2*time.Minute, "twenty rounds without a write", func() bool {
		if now := w.cluster.writes.Load(); now != writes {
			writes = now
			return false
		}
		compared(t, w.store, 20)
		return w.cluster.writes.Load() == writes
	})
	set, err := w.cluster.AppsV1().StatefulSets(namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
	if err != nil || len(set.Spec.Template.Spec.HostAliases) != 1 {
		t.Errorf("want what the platform added: %+v, %v", set.Spec.Template.Spec.HostAliases, err)
	}
	// The API server names no field manager for what admission adds, and then nothing is told. The fake names one.
	if told := w.store.EventsOf(audit.ObjectRepaired); len(told) > 1 {
		t.Errorf("the platform is told of over and over: %+v", told)
	}
}

// A fight over an object is told when it begins, when it has become one, and once an hour from then on.
func TestFightIsFolded(t *testing.T) {
	m := reconcile.NewEdits()
	k := reconcile.Key{Kind: "Service", Name: "a"}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var got []string
	for n := range 300 { // one a minute
		if kind := reconcile.KindOfEvent(m, k, audit.ObjectRepaired, "fields",
			now.Add(time.Duration(n)*time.Minute)); kind != "" {
			got = append(got, fmt.Sprint(n, " ", kind))
		}
	}
	want := []string{"0 object.repaired", "3 object.contested", "63 object.contested", "123 object.contested",
		"183 object.contested", "243 object.contested"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if kind := reconcile.KindOfEvent(m, k, audit.ObjectRepaired, "other",
		now.Add(301*time.Minute)); kind != audit.ObjectRepaired {
		t.Errorf("other fields are news, got %q", kind)
	}
	later := now.Add(10 * time.Hour)
	if kind := reconcile.KindOfEvent(m, k, audit.ObjectRepaired, "other", later); kind != audit.ObjectRepaired {
		t.Errorf("hours later it is news again, got %q", kind)
	}
}

// T-LABEL-3: objects with a copy of our labels are told once, counted, and left alone.
func TestSpoofedObjects(t *testing.T) {
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run(func(o *reconcile.Options) { o.Metrics = registry; o.Every.Compare = 200 * time.Millisecond })
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a", "StatefulSet/nb-a")
	})
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state(nb.ID, workload.Running)
	ctx := t.Context()
	real, err := w.cluster.CoreV1().Pods(namespace).Get(ctx, "nb-a-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	thief := real.DeepCopy()
	thief.Name, thief.UID, thief.OwnerReferences, thief.Status.PodIP = "thief", "uid-thief", nil, "10.64.0.66"
	forger := thief.DeepCopy() // names an owner that there is not
	forger.Name, forger.UID = "forger", "uid-forger"
	forger.OwnerReferences = controlled("StatefulSet", "nb-a", "another-uid")
	other := thief.DeepCopy() // of another portal
	other.Name, other.UID, other.Labels = "other", "uid-other", map[string]string{"gpu-portal.github.io/instance": "x"}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "door", Namespace: namespace, UID: "uid-door",
		Labels: real.Labels, Annotations: real.Annotations, ResourceVersion: w.cluster.version()}}
	for _, o := range []runtime.Object{thief, forger, other, service} {
		if err := w.cluster.Tracker().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	within(t, 2*time.Minute, "three are told", func() bool { return len(w.store.EventsOf(audit.ObjectSpoofed)) >= 3 })
	within(t, 2*time.Minute, "and counted", func() bool {
		families, err := registry.Gather()
		total := 0.
		for _, f := range families {
			if f.GetName() == "gpu_portal_spoofed_objects" {
				for _, m := range f.GetMetric() {
					total += m.GetGauge().GetValue()
				}
			}
		}
		return err == nil && total == 3
	})
	want := map[string]int{"Pod gpu-vision/thief": 1, "Pod gpu-vision/forger": 1, "Service gpu-vision/door": 1}
	got := map[string]int{}
	for _, e := range w.store.EventsOf(audit.ObjectSpoofed) {
		got[fmt.Sprint(e.Detail.Args["Object"])]++
		if e.Tenant != "vision" {
			t.Errorf("the team is not told: %+v", e)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if is := w.store.Get(nb.ID).Observed; is.Pod != "nb-a-0" || is.PodIP != "10.64.0.9" {
		t.Errorf("another pod is taken for ours: %+v", is)
	}
	if err := w.store.SetDesired(nb.ID, workload.Delete, time.Now()); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "ours goes", func() bool { return w.cluster.has(namespace, "Service/door") })
	// the garbage collector takes away what names an owner that there is not
	if err := w.cluster.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), namespace,
		forger.Name); err != nil {
		t.Fatal(err)
	}
	w.cluster.unplay(t, "nb-a")
	w.state(nb.ID, workload.Ended)
	if _, err := w.cluster.CoreV1().Pods(namespace).Get(ctx, thief.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("a pod that is not ours was deleted: %v", err)
	}
}
