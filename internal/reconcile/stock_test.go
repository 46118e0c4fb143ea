package reconcile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/reconcile"
)

// What a claim holds, and for whom, survives; what it asked for and how drivers configure it does not.
func TestSlimClaim(t *testing.T) {
	result := resourcev1.DeviceRequestAllocationResult{Request: "gpu", Driver: "gpu.nvidia.com", Pool: "n1",
		Device: "gpu-0"}
	consumer := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "a", UID: "u"}
	full := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: "7", Labels: map[string]string{"a": "b"},
			Annotations: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "gpu"}}}},
		Status: resourcev1.ResourceClaimStatus{
			Allocation: &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{},
				Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{result},
					Config: []resourcev1.DeviceAllocationConfiguration{{Source: "FromClass"}}}},
			ReservedFor: []resourcev1.ResourceClaimConsumerReference{consumer},
			Devices:     []resourcev1.AllocatedDeviceStatus{{Driver: "gpu.nvidia.com"}},
		},
	}
	want := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: "7"},
		Status: resourcev1.ResourceClaimStatus{
			Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
				Results: []resourcev1.DeviceRequestAllocationResult{result}}},
			ReservedFor: []resourcev1.ResourceClaimConsumerReference{consumer},
		}}
	got, err := reconcile.Slim(full)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	waiting, _ := reconcile.Slim(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "w"}})
	if waiting.(*resourcev1.ResourceClaim).Status.Allocation != nil {
		t.Error("a claim that waits holds nothing")
	}
}
