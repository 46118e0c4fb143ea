package volumes

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// snapshotCRD is our own, with what of a VolumeSnapshot is read and written here; the real one comes with the driver.
//
//go:embed snapshots.yaml
var snapshotCRD []byte

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	volumeSnapshots = schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1",
		Resource: "volumesnapshots"}
)

// snapshotTakes is how long a snapshot is on its way, so that one sees it.
const snapshotTakes = 2 * time.Second

// Snapshots plays the snapshot controller and csi-snapshotter for VolumeSnapshots without a class: those of other
// classes are somebody else's. They have no files, as the volumes here have none.
type Snapshots struct {
	Driver *Driver
	Client dynamic.Interface
}

// Define lets the API server know what a VolumeSnapshot is.
func (s Snapshots) Define(ctx context.Context) error {
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal(snapshotCRD, &crd.Object); err != nil {
		return err
	}
	_, err := s.Client.Resource(definitions).Create(ctx, &crd, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) && err != nil {
		return fmt.Errorf("define VolumeSnapshots: %w", err)
	}
	return nil
}

// Run looks at snapshots until ctx ends.
func (s Snapshots) Run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.pass(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "devstack: snapshots:", err)
				time.Sleep(5 * time.Second)
			}
		}
	}
}

func (s Snapshots) pass(ctx context.Context) error {
	list, err := s.Client.Resource(volumeSnapshots).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) { // a test has its own definition of it
		return nil
	}
	if err != nil {
		return err
	}
	for i := range list.Items {
		u := &list.Items[i]
		_, classed, _ := unstructured.NestedString(u.Object, "spec", "volumeSnapshotClassName")
		ready, _, _ := unstructured.NestedBool(u.Object, "status", "readyToUse")
		if classed || ready || u.GetDeletionTimestamp() != nil ||
			time.Since(u.GetCreationTimestamp().Time) < snapshotTakes {
			continue
		}
		u.Object["status"] = s.status(u)
		_, err := s.Client.Resource(volumeSnapshots).Namespace(u.GetNamespace()).UpdateStatus(ctx, u,
			metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// status is that of a snapshot of a bound claim, or the error that csi-snapshotter keeps of any other.
func (s Snapshots) status(u *unstructured.Unstructured) map[string]any {
	name, _, _ := unstructured.NestedString(u.Object, "spec", "source", "persistentVolumeClaimName")
	now := time.Now().UTC().Format(time.RFC3339)
	claim, err := s.Driver.claims.PersistentVolumeClaims(u.GetNamespace()).Get(name)
	if err == nil && claim.Status.Phase == corev1.ClaimBound {
		return map[string]any{"readyToUse": true, "creationTime": now,
			"restoreSize":                    claim.Status.Capacity.Storage().String(),
			"boundVolumeSnapshotContentName": "snapcontent-" + string(u.GetUID())}
	}
	return map[string]any{"readyToUse": false, "error": map[string]any{"time": now,
		"message": "the claim " + name + " is not bound"}}
}
