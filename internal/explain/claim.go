package explain

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Claim explains a claim by itself, whoever has it: that it waits, is lost, is going, or does not become as large as it
// shall be, in bytes. It says nothing where all is well.
func Claim(c *corev1.PersistentVolumeClaim, events []*corev1.Event, wanted int64) Explanation {
	f := Facts{Workload: workload.Workload{Desired: workload.WantRunning}, Claim: c, ClaimEvents: events}
	_, _, f.ClaimEvents = f.relevant()
	found := volumeProblem(f)
	has := c.Status.Capacity[corev1.ResourceStorage]
	switch {
	case found.found():
	case c.Status.Phase == corev1.ClaimPending || c.Status.Phase == "":
		// the API server has it, and nobody has looked at it yet
		found = newFinding("", "explain.disk_first")
	case c.Status.Phase == corev1.ClaimBound && has.Value() < wanted:
		found = expansionProblem(f)
	}
	return Explanation{Reason: found.reason, Detail: clip(found.detail), Failed: found.failed}
}

// expansionProblem looks at storage that is bound and not as large as its claim. Sources: the conditions and resize
// states of claims in the API of Kubernetes 1.36, and the events of the external resizer.
func expansionProblem(f Facts) finding {
	switch f.Claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage] {
	case corev1.PersistentVolumeClaimControllerResizeInfeasible, corev1.PersistentVolumeClaimNodeResizeInfeasible:
		return newFinding(f.claimSays(corev1.PersistentVolumeClaimControllerResizeError,
			corev1.PersistentVolumeClaimNodeResizeError), "explain.grow_never").terminal()
	}
	if said := f.claimSays(corev1.PersistentVolumeClaimControllerResizeError,
		corev1.PersistentVolumeClaimNodeResizeError); said != "" {
		return newFinding(said, "explain.grow_failed")
	}
	if e := event(f.ClaimEvents, "VolumeResizeFailed", "VolumeResizeSuccessful", "FileSystemResizeSuccessful",
		"Resizing"); e != nil && e.Reason == "VolumeResizeFailed" {
		if containsAny(e.Message, "ResourceExhausted", "not enough free", "no space left", "insufficient") {
			return newFinding(e.Message, "explain.grow_full")
		}
		return newFinding(e.Message, "explain.grow_failed")
	}
	if said := f.claimSays(corev1.PersistentVolumeClaimFileSystemResizePending); said != "" {
		return newFinding(said, "explain.grow_pod")
	}
	return finding{}
}

// claimSays is the message of the first of the conditions that holds, its name where it has none; "" where none holds.
func (f Facts) claimSays(kinds ...corev1.PersistentVolumeClaimConditionType) string {
	for _, kind := range kinds {
		for _, c := range f.Claim.Status.Conditions {
			switch {
			case c.Type != kind || c.Status != corev1.ConditionTrue:
			case c.Message == "":
				return string(kind)
			default:
				return c.Message
			}
		}
	}
	return ""
}

// expansionRefusals are the texts of admission when a claim is to become larger: the plugins
// PersistentVolumeClaimResize and resourcequota of the API server, v1.36.
var expansionRefusals = []row{
	{[]string{"only dynamically provisioned pvc can be resized"}, "volume.refused_class", true},
	{[]string{"exceeded quota:"}, "volume.refused_quota", true},
}

// ExpansionRefused is the id of the sentence for what an API server said when a claim was to become larger.
func ExpansionRefused(text string) string {
	if r, ok := match(expansionRefusals, text); ok {
		return r.id
	}
	return "volume.refused"
}
