// Package seed puts into the fresh API server what a site has before the first user comes: nodes, storage classes, the
// runtime class of the NVIDIA toolkit and the namespace of the GPU operator. It may run again at any time.
package seed

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// OperatorNamespace is where the GPU operator lives.
const OperatorNamespace = "gpu-operator"

// Provisioner is the name of the made-up storage driver; package volumes plays it.
const Provisioner = "disk.devstack.example"

// Site makes the objects of the site that are missing.
func Site(ctx context.Context, client kubernetes.Interface) error {
	makers := []func() error{
		func() error { return namespace(ctx, client) },
		func() error { return runtimeClass(ctx, client) },
		func() error { return storage(ctx, client) },
		func() error { return agents(ctx, client) },
	}
	for _, makeIt := range makers {
		if err := makeIt(); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("prepare the site: %w", err)
		}
	}
	return nil
}

func namespace(ctx context.Context, client kubernetes.Interface) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: OperatorNamespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "privileged",
	}}}
	_, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	return err
}

func runtimeClass(ctx context.Context, client kubernetes.Interface) error {
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "nvidia"}, Handler: "nvidia"}
	_, err := client.NodeV1().RuntimeClasses().Create(ctx, class, metav1.CreateOptions{})
	return err
}

// storage makes two classes: the default one waits for the pod, as on most sites, so that the disk is made where the
// GPU is; the shared one is made at once and may be mounted by many.
func storage(ctx context.Context, client kubernetes.Interface) error {
	attach := false
	driver := &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: Provisioner}, Spec: storagev1.CSIDriverSpec{AttachRequired: &attach},
	}
	if _, err := client.StorageV1().CSIDrivers().Create(ctx, driver, metav1.CreateOptions{}); !settled(err) {
		return err
	}
	expand := true
	for name, mode := range map[string]storagev1.VolumeBindingMode{
		"standard": storagev1.VolumeBindingWaitForFirstConsumer, "shared": storagev1.VolumeBindingImmediate,
	} {
		class := &storagev1.StorageClass{
			ObjectMeta:  metav1.ObjectMeta{Name: name},
			Provisioner: Provisioner, VolumeBindingMode: &mode, AllowVolumeExpansion: &expand,
		}
		if name == "standard" {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		}
		if _, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); !settled(err) {
			return err
		}
	}
	return nil
}

// settled says that a create did what it should, or found the object there.
func settled(err error) bool { return err == nil || apierrors.IsAlreadyExists(err) }
