package explain

import (
	corev1 "k8s.io/api/core/v1"
)

// volumeProblem looks at storage that is not bound yet. Waiting for the first pod is normal and says nothing.
func volumeProblem(f Facts) finding {
	switch {
	case f.Claim == nil || !f.wantsToRun():
		return finding{}
	case f.Claim.DeletionTimestamp != nil:
		return newFinding("", "explain.disk_deleting").terminal()
	case f.Claim.Status.Phase == corev1.ClaimLost:
		return newFinding("", "explain.disk_lost").terminal()
	case f.Claim.Status.Phase == corev1.ClaimBound:
		return finding{}
	}
	newest := event(f.ClaimEvents, "ProvisioningFailed", "FailedBinding", "ExternalProvisioning", "Provisioning",
		"ProvisioningSucceeded", "WaitForFirstConsumer", "WaitForPodScheduled")
	if newest == nil {
		return finding{}
	}
	text := newest.Message
	switch newest.Reason {
	case "ProvisioningFailed", "FailedBinding":
		switch {
		case containsAny(text, "exceeded quota:"):
			return quota(f, text)
		case containsAny(text, "no storage class is set", "storageclass.storage.k8s.io"):
			return newFinding(text, "explain.disk_no_class").terminal()
		case containsAny(text, "ResourceExhausted", "not enough free", "no space left", "insufficient"):
			return newFinding(text, "explain.storage_full")
		}
		if from := f.Claim.Spec.DataSource; from != nil && from.Kind == "VolumeSnapshot" {
			if containsAny(text, "volumesnapshots.snapshot.storage.k8s.io") && containsAny(text, "not found") {
				return newFinding(text, "explain.disk_no_snapshot")
			}
			return newFinding(text, "explain.disk_snapshot_failed")
		} else if from != nil {
			return newFinding(text, "explain.disk_clone_failed")
		}
		return newFinding(text, "explain.disk_failed")
	case "ExternalProvisioning", "Provisioning":
		if f.Claim.Spec.DataSource != nil {
			return newFinding(text, "explain.disk_cloning")
		}
		return newFinding(text, "explain.disk_making")
	}
	return finding{}
}
