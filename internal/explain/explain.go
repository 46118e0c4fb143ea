package explain

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Facts is what is known of one workload at one moment. Everything but Workload and Now may be absent.
type Facts struct {
	Now         time.Time
	Workload    workload.Workload // the spec: size, generation, what is desired
	Generation  int64             // of the spec that the objects in the cluster carry; 0 while there are none
	RequestedAt time.Time         // of the present generation; the workload's creation where zero
	AppliedAt   time.Time         // when the objects were first there
	ApplyError  *ApplyError       // of the last attempt to write the objects; nil when it worked
	Namespace   corev1.NamespacePhase
	OwnerEvents []*corev1.Event // of the StatefulSet or Job, or of the Deployment and its ReplicaSets
	Pod         *corev1.Pod
	PodEvents   []*corev1.Event
	Claim       *corev1.PersistentVolumeClaim
	ClaimEvents []*corev1.Event
	JobEnd      *batchv1.JobCondition // with which a job has ended; nil while it has not
	NodeLost    bool                  // the pod's node does not answer
	Fit         inventory.Fit
	NeverFits   bool     // no node has what the size needs, as far as nodes tell
	Quarantined []string // nodes with room for it
}

// ApplyError is what the API server, or the controller itself, had against an object.
type ApplyError struct {
	Reason  metav1.StatusReason // "" when the API server could not be asked; AlreadyExists for an object that is not ours
	Message string
}

// Explanation is the answer.
type Explanation struct {
	Reason i18n.Text // one sentence, with one cause that somebody can change; zero when there is nothing to explain
	Detail string    // the cluster's words, for the details fold
	Failed bool      // it cannot go on by itself
	Steps  []workload.Step
}

// finding is the result of one rule; the zero finding is none.
type finding struct {
	reason i18n.Text
	detail string
	failed bool
}

func (f finding) found() bool { return !f.reason.IsZero() }

// newFinding pairs a message with what the cluster said.
func newFinding(detail, id string, pairs ...any) finding {
	return finding{reason: i18n.T(id, pairs...), detail: detail}
}

// terminal marks a finding that no waiting resolves.
func (f finding) terminal() finding {
	f.failed = true
	return f
}

// rules are asked in this order: a cause hides all that come after it.
var rules = []func(Facts) finding{
	refusedByAPI,         // the objects themselves could not be written
	namespaceTerminating, // the namespace is being deleted
	podTerminating,       // a pod that is being stopped says nothing of the next
	refusedByOwner,       // no pod exists, since admission refused it
	volumeProblem,        // the storage is not there
	unscheduled,          // no node was found
	podEnded,             // the pod is over
	nodeProblem,          // the node does not answer
	containerWaits,       // image, volume, device, start
	notReady,             // started, does not answer yet
	deviceUnhealthy,
	pending,
}

// Explain finds the first cause that explains why the workload is where it is.
func Explain(f Facts) Explanation {
	f.OwnerEvents, f.PodEvents, f.ClaimEvents = f.relevant()
	e := Explanation{Steps: steps(f)}
	if f.JobEnd != nil {
		found := jobEnded(f)
		e.Reason, e.Detail = found.reason, clip(found.detail)
		return e
	}
	for _, rule := range rules {
		if found := rule(f); found.found() {
			e.Reason, e.Detail, e.Failed = found.reason, clip(found.detail), found.failed
			return e
		}
	}
	return e
}

// Missing is why the cluster refused to make another pod of what has some, from the events of its owner; zero where it
// did not.
func Missing(f Facts) i18n.Text {
	f.Pod = nil
	f.OwnerEvents, _, _ = f.relevant()
	return refusedByOwner(f).reason
}

// requestedAt is RequestedAt or its default.
func (f Facts) requestedAt() time.Time {
	if !f.RequestedAt.IsZero() {
		return f.RequestedAt
	}
	return f.Workload.CreatedAt
}

// clockSkew is how far the clocks of portal and cluster may differ.
const clockSkew = 5 * time.Second

// relevant sorts out events of earlier specs and of earlier pods of the same name, and puts the newest first.
func (f Facts) relevant() (owner, pod, claim []*corev1.Event) {
	since := f.requestedAt().Add(-clockSkew)
	owner = newestFirst(f.OwnerEvents, func(e *corev1.Event) bool { return !at(e).Before(since) })
	pod = newestFirst(f.PodEvents, func(e *corev1.Event) bool {
		return f.Pod != nil && (e.InvolvedObject.UID == "" || f.Pod.UID == "" || e.InvolvedObject.UID == f.Pod.UID)
	})
	claim = newestFirst(f.ClaimEvents, func(e *corev1.Event) bool {
		return f.Claim != nil && (e.InvolvedObject.UID == "" || f.Claim.UID == "" || e.InvolvedObject.UID == f.Claim.UID)
	})
	return owner, pod, claim
}

// size is the display name of what is waited for.
func (f Facts) size() any { return f.Workload.Size.Called() }

func (f Facts) resource() string { return f.Workload.Size.Accelerator.Resource }

// age is how long the pod exists.
func (f Facts) age() time.Duration { return f.Now.Sub(f.Pod.CreationTimestamp.Time) }

func (f Facts) wantsToRun() bool { return f.Workload.Desired == workload.WantRunning }

// stuckAfter is how long a step may take before it is reported.
const stuckAfter = time.Minute

// pending explains a start in which nothing has failed.
func pending(f Facts) finding {
	switch {
	case f.Pod != nil && !f.wantsToRun():
		return newFinding("", "explain.stopping")
	case f.Pod != nil || !f.wantsToRun():
		return finding{}
	case f.Generation >= f.Workload.Generation && !f.AppliedAt.IsZero() &&
		f.Now.Sub(latest(f.AppliedAt, f.requestedAt())) > stuckAfter:
		return newFinding("", "explain.no_pod")
	}
	return newFinding("", "explain.creating")
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
