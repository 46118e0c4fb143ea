package explain

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// steps says how far the start has come. A step that has not been reached has no time; one that the cluster tells no
// time of has that of the step before.
func steps(f Facts) []workload.Step {
	times := []time.Time{f.requestedAt().UTC(), f.created(), {}, {}, {}}
	if p := f.Pod; p != nil && p.DeletionTimestamp == nil {
		times[1] = p.CreationTimestamp.UTC()
		if p.Spec.NodeName != "" {
			times[2] = orIfZero(since(condition(p, corev1.PodScheduled)), times[1])
			times[3] = f.imageThere(times[2])
			times[4] = since(condition(p, corev1.PodReady))
		}
	}
	names := []workload.StepName{workload.StepDecided, workload.StepCreated, workload.StepPlaced, workload.StepImage,
		workload.StepReady}
	list := make([]workload.Step, len(names))
	for i, n := range names {
		list[i] = workload.Step{Name: n, At: times[i]}
	}
	return list
}

// created is when the objects of this spec were there; those of an earlier spec do not count.
func (f Facts) created() time.Time {
	if f.AppliedAt.IsZero() || f.Generation < f.Workload.Generation {
		return time.Time{}
	}
	return latest(f.AppliedAt, f.requestedAt()).UTC()
}

// imageThere is when the image was pulled, or the container first ran.
func (f Facts) imageThere(placed time.Time) time.Time {
	for _, c := range f.Pod.Status.ContainerStatuses {
		switch {
		case c.State.Running != nil:
			return orIfZero(c.State.Running.StartedAt.UTC(), placed)
		case c.State.Terminated != nil:
			return orIfZero(c.State.Terminated.StartedAt.UTC(), placed)
		case c.LastTerminationState.Terminated != nil:
			return orIfZero(c.LastTerminationState.Terminated.StartedAt.UTC(), placed)
		}
	}
	if e := event(f.PodEvents, "Pulled"); e != nil {
		return at(e).UTC()
	}
	return time.Time{}
}

func orIfZero(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}
