package reconcile_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/reconcile"
)

// BenchmarkSlim reports what ten thousand pods of other people cost in memory, as they come from the API server and as
// they are kept.
func BenchmarkSlim(b *testing.B) {
	wire, err := foreignPod().Marshal()
	if err != nil {
		b.Fatal(err)
	}
	const pods = 10_000
	for _, slim := range []bool{false, true} {
		b.Run(fmt.Sprint("slim=", slim), func(b *testing.B) {
			for range b.N {
				before := heap()
				kept := make([]*corev1.Pod, pods)
				for i := range kept {
					kept[i] = &corev1.Pod{}
					if err := kept[i].Unmarshal(wire); err != nil {
						b.Fatal(err)
					}
					if slim {
						if _, err := reconcile.Slim(kept[i]); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(heap()-before)/1e6, "MB/10000pods")
				runtime.KeepAlive(kept)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// foreignPod is as large as pods of training operators are.
func foreignPod() *corev1.Pod {
	container := corev1.Container{Name: "main", Image: "registry.example/team/train:2026.3",
		Command: []string{"python", "train.py"},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("8"),
			"memory": resource.MustParse("64Gi"), "nvidia.com/gpu": resource.MustParse("1")}}}
	for i := range 30 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", i),
			Value: "some value of usual length"})
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "train-0", Namespace: "team", UID: "0f5f4b3e-7f0c-4a2e-9f3b-1d2c3b4a5f6e",
			Labels: map[string]string{"app": "train", "job": "x"}},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{container, container},
			Volumes: []corev1.Volume{{Name: "a"}, {Name: "b"}, {Name: "kube-api-access"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.64.0.9"},
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady,
		corev1.PodReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(time.Unix(1, 0))})
	}
	for _, manager := range []string{"kube-controller-manager", "kubelet"} {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager,
			Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(fmt.Sprintf("%2000s", "{}"))})
	}
	return p
}
