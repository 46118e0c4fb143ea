package cadvisor

import (
	"bytes"
	"context"
	"math"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/expositiontest"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

func podOf(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: name, UID: "1-2-uid"},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "main", Image: "example/notebook:1",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}}},
			{Name: "ssh", Image: "example/ssh:1"}}},
		Status: corev1.PodStatus{Phase: phase, QOSClass: corev1.PodQOSBurstable}}
}

func pageOf(t *testing.T, c *Counters, now time.Time) map[string]*dto.MetricFamily {
	t.Helper()
	var page bytes.Buffer
	if err := c.Page(&page, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, now); err != nil {
		t.Fatal(err)
	}
	return expositiontest.Parse(t, &page)
}

// TestWhatAPodUses: a pod that works and then waits, by the rows of its container, of all of it and of its network.
func TestWhatAPodUses(t *testing.T) {
	cluster, err := world.New(fake.NewClientset(podOf("nb", corev1.PodRunning), podOf("over", corev1.PodSucceeded),
		podOf("waits", corev1.PodPending)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	if err := cluster.Start(ctx); err != nil {
		t.Fatal(err)
	}
	c := New(cluster)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	pageOf(t, c, noon)
	c.Loads.Set("red/nb", 0.5)
	worked := pageOf(t, c, noon.Add(10*time.Second))
	c.Loads.Set("red/nb", 0)
	waited := pageOf(t, c, noon.Add(20*time.Second))

	const cpu, in, out = "container_cpu_usage_seconds_total", "container_network_receive_bytes_total",
		"container_network_transmit_bytes_total"
	value := func(page map[string]*dto.MetricFamily, name, container, id string) float64 {
		for _, m := range page[name].GetMetric() {
			if expositiontest.Label(m, "container") == container && (id == "" || expositiontest.Label(m, "id") == id) {
				return m.GetCounter().GetValue()
			}
		}
		return math.NaN()
	}
	const whole = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2_uid.slice"
	for name, of := range map[string]struct{ got, least, most float64 }{
		"a core for ten seconds":            {value(worked, cpu, "main", ""), 9, 11},
		"of the pod":                        {value(worked, cpu, "", whole), 9, 11},
		"the second container does nothing": {value(worked, cpu, "ssh", ""), 0, 0},
		"as much again would be more":       {value(waited, cpu, "main", "") - value(worked, cpu, "main", ""), 0.01, 0.03},
		"bytes that came":                   {value(worked, in, "", ""), 9e6, 11e6},
		"bytes that went":                   {value(worked, out, "", ""), 2e6, 3e6},
		"bytes of one who waits":            {value(waited, in, "", "") - value(worked, in, "", ""), 1000, 3000},
	} {
		if !(of.got >= of.least && of.got <= of.most) {
			t.Errorf("%s: want %g to %g, got %g", name, of.least, of.most, of.got)
		}
	}
	for name, rows := range map[string]int{cpu: 4, in: 1, out: 1} {
		if got := worked[name].GetMetric(); len(got) != rows ||
			got[0].GetTimestampMs() != noon.Add(10*time.Second).UnixMilli() ||
			expositiontest.Label(got[0], "namespace") != "red" || expositiontest.Label(got[0], "pod") != "nb" {
			t.Errorf("%s: want %d rows of the running pod with their time, got %v", name, rows, got)
		}
	}
	if m := worked[in].GetMetric()[0]; expositiontest.Label(m, "interface") != "eth0" ||
		expositiontest.Label(m, "image") == "" {
		t.Errorf("want the network of the sandbox, got %v", m)
	}
	c.forget("1-2-uid")
	if begins := pageOf(t, c, noon.Add(time.Minute)); value(begins, cpu, "main", "") != 0 {
		t.Errorf("of a pod in place of it: want nothing used, got %v", begins[cpu])
	}
}
