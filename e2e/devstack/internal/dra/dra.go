// Package dra plays the publishing half of NVIDIA's DRA driver: device classes, and a ResourceSlice for each node of a
// DRA pool. Which claim gets which device is decided by the real scheduler.
package dra

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// Publish writes what is missing. The classes have no extended resource name, as the GPU operator makes them: the same
// cluster has device plugins too.
func Publish(ctx context.Context, cluster *world.Cluster) error {
	for name, kind := range map[string]string{"gpu.nvidia.com": "gpu", "mig.nvidia.com": "mig"} {
		expression := fmt.Sprintf("device.driver == '%s' && device.attributes['%s'].type == '%s'", nodes.DRADriver,
			nodes.DRADriver, kind)
		class := &resourcev1.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
				{CEL: &resourcev1.CELDeviceSelector{Expression: expression}},
			}},
		}
		_, err := cluster.Client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("device class %s: %w", name, err)
		}
	}
	for _, node := range cluster.Nodes() {
		kind, layout, err := nodes.Read(node)
		if err != nil || !kind.DRA {
			continue
		}
		owner := metav1.NewControllerRef(node, corev1.SchemeGroupVersion.WithKind("Node"))
		slice := kind.Slice(node.Name, layout, owner)
		_, err = cluster.Client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("resource slice of %s: %w", node.Name, err)
		}
	}
	return nil
}
