package tunnel

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Rules are the bounds of a site. The zero value allows no tunnel.
type Rules struct {
	Enabled bool
	session.Limits
	MaxBytes int64 // of both directions together
}

// Permit is nil where the actor may have a tunnel to the workload now: one who is offered one, by a token of their own.
// A session in the browser is not enough: another site's page could open a WebSocket with its cookie.
func (r Rules) Permit(a identity.Actor, w workload.Workload, now time.Time) error {
	if err := r.Offers(a, w, now); err != nil {
		return err
	}
	if a.Via != identity.ViaToken {
		return fault.New(fault.Forbidden, i18n.T("tunnel.token"))
	}
	return nil
}

// Offers is nil where a program of the actor may have a tunnel to the workload: of one who may open it.
func (r Rules) Offers(a identity.Actor, w workload.Workload, now time.Time) error {
	switch {
	case !r.Enabled:
		return fault.New(fault.Forbidden, i18n.T("tunnel.off"))
	case !identity.Can(a, identity.OpenWorkload, w.ResourceAt(now)):
		return fault.New(fault.Forbidden, i18n.T("tunnel.not_shared", "Owner", w.OwnerName))
	}
	return nil
}

// Reason is why a session ended.
type Reason = session.Reason

// The reasons.
const (
	Closed   Reason = "closed" // by the server in the pod
	Left            = session.Left
	Idle            = session.Idle // no byte in either direction
	TooLong         = session.TooLong
	TooMuch  Reason = "too_much" // the most bytes are passed
	NoLonger        = session.NoLonger
	PodGone         = session.PodGone
	Slow            = session.Slow
	Stopping        = session.Stopping
)

// Reasons lists them.
func Reasons() []Reason {
	return []Reason{Closed, Left, Idle, TooLong, TooMuch, NoLonger, PodGone, Slow, Stopping}
}

// End is how a session ended.
type End struct {
	Reason   Reason
	Lasted   time.Duration
	Sent     int64 // bytes from the client to the pod
	Received int64 // and back
}

// Words say why it ended.
func (e End) Words() i18n.Text { return i18n.T("tunnel.end_" + string(e.Reason)) }
