package tunnel

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Rules are the bounds of a site. The zero value allows no tunnel.
type Rules struct {
	Enabled   bool
	Idle      time.Duration // without a byte in either direction
	Longest   time.Duration
	MaxBytes  int64 // of both directions together
	Most      int   // sessions at once in this process
	PerPerson int   // of those, of one person
}

// Permit is nil where the actor may have a tunnel to the workload now: one who may open it.
func (r Rules) Permit(a identity.Actor, w workload.Workload, now time.Time) error {
	switch {
	case !r.Enabled:
		return fault.New(fault.Forbidden, i18n.T("tunnel.off"))
	case !identity.Can(a, identity.OpenWorkload, w.ResourceAt(now)):
		return fault.New(fault.Forbidden, i18n.T("tunnel.not_shared", "Owner", w.OwnerName))
	}
	return nil
}

// Reason is why a session ended.
type Reason string

// The reasons.
const (
	Closed   Reason = "closed"    // by the server in the pod
	Left     Reason = "left"      // the client went away
	Idle     Reason = "idle"      // no byte in either direction
	TooLong  Reason = "too_long"  // the longest time is over
	TooMuch  Reason = "too_much"  // the most bytes are passed
	NoLonger Reason = "no_longer" // the right or the sign-in ended
	PodGone  Reason = "pod_gone"  // or another one is in its place
	Slow     Reason = "slow"      // a side took no bytes
	Stopping Reason = "stopping"  // the portal stops
)

// End is how a session ended.
type End struct {
	Reason   Reason
	Lasted   time.Duration
	Sent     int64 // bytes from the client to the pod
	Received int64 // and back
}
