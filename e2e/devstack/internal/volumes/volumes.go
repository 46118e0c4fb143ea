// Package volumes plays the controller of a storage driver: it makes a volume for a claim when the scheduler has chosen
// a node (or at once, for classes that do not wait), lets claims grow, and removes volumes whose claim is gone. The
// binding itself is done by the real controller-manager and scheduler. Beside it, snapshots.go plays the snapshot
// controller.
package volumes

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/seed"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// Driver is the controller.
type Driver struct {
	client  kubernetes.Interface
	claims  listers.PersistentVolumeClaimLister
	volumes listers.PersistentVolumeLister
	classes storagelisters.StorageClassLister
}

// New registers its caches with the cluster's; call it before they are started.
func New(cluster *world.Cluster) *Driver {
	core := cluster.Informers.Core().V1()
	return &Driver{
		client: cluster.Client, claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		classes: cluster.Informers.Storage().V1().StorageClasses().Lister(),
	}
}

// Run looks at claims and volumes until ctx ends.
func (d *Driver) Run(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := d.pass(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "devstack: storage:", err)
				time.Sleep(time.Second)
			}
		}
	}
}

func (d *Driver) pass(ctx context.Context) error {
	claims, err := d.claims.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, claim := range claims {
		switch {
		case claim.DeletionTimestamp != nil:
		case claim.Status.Phase == corev1.ClaimPending && d.isOurs(claim):
			err = d.provision(ctx, claim)
		case claim.Status.Phase == corev1.ClaimBound && d.mustGrow(claim):
			err = d.grow(ctx, claim)
		}
		if err != nil {
			return err
		}
	}
	volumes, err := d.volumes.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, volume := range volumes {
		if volume.Status.Phase == corev1.VolumeReleased && volume.Spec.CSI != nil &&
			volume.Spec.CSI.Driver == seed.Provisioner &&
			volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete &&
			volume.DeletionTimestamp == nil {
			err := d.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}

// isOurs: the controller-manager has named our driver, and a class that waits has a node chosen.
func (d *Driver) isOurs(claim *corev1.PersistentVolumeClaim) bool {
	if claim.Annotations["volume.kubernetes.io/storage-provisioner"] != seed.Provisioner || claim.Spec.VolumeName != "" {
		return false
	}
	class := d.class(claim)
	if class == nil {
		return false
	}
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	return !waits || claim.Annotations["volume.kubernetes.io/selected-node"] != ""
}

func (d *Driver) class(claim *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	if claim.Spec.StorageClassName == nil {
		return nil
	}
	class, err := d.classes.Get(*claim.Spec.StorageClassName)
	if err != nil {
		return nil
	}
	return class
}

func (d *Driver) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	class := d.class(claim)
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "pvc-" + string(claim.UID),
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": seed.Provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode, StorageClassName: class.Name,
			PersistentVolumeReclaimPolicy: *class.ReclaimPolicy,
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: seed.Provisioner, VolumeHandle: string(claim.UID)},
			},
		},
	}
	_, err := d.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make a volume for %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}

func (d *Driver) mustGrow(claim *corev1.PersistentVolumeClaim) bool {
	wanted, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	return claim.Annotations["volume.kubernetes.io/storage-provisioner"] == seed.Provisioner && wanted.Cmp(has) > 0
}

// grow makes the volume larger, and then tells the claim so.
func (d *Driver) grow(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	volume, err := d.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("grow %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	volume.Spec.Capacity[corev1.ResourceStorage] = size
	if _, err := d.client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("grow %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	claim = claim.DeepCopy()
	claim.Status.Capacity[corev1.ResourceStorage] = size
	_, err = d.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("grow %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}
