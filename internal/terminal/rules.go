package terminal

import (
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Rules are the bounds of a site. The zero value allows no terminal.
type Rules struct {
	Enabled   bool
	Tenants   []string // the only ones whose workloads have terminals; none: all
	Files     bool     // whether files pass, where there are terminals
	FileBytes int64    // of one file
	session.Limits
}

// Permit is nil where the actor may have a terminal in the workload now: one who may open it, by a session of their
// own. A token is not enough, nor is somebody else's place.
func (r Rules) Permit(a identity.Actor, w workload.Workload, now time.Time) error {
	switch {
	case !r.Enabled, len(r.Tenants) > 0 && !slices.Contains(r.Tenants, w.Tenant):
		return fault.New(fault.Forbidden, i18n.T("terminal.off"))
	case a.Via != identity.ViaSession:
		return fault.New(fault.Forbidden, i18n.T("terminal.session"))
	case !identity.Can(a, identity.OpenWorkload, w.ResourceAt(now)):
		return fault.New(fault.Forbidden, i18n.T("terminal.not_shared", "Owner", w.OwnerName))
	}
	return nil
}

// Reason is why a session ended.
type Reason = session.Reason

// The reasons.
const (
	Exited   Reason = "exited" // the shell ended by itself
	Left            = session.Left
	Idle            = session.Idle // no key and no output
	TooLong         = session.TooLong
	NoLonger        = session.NoLonger
	PodGone         = session.PodGone
	Slow            = session.Slow // the client took no output
	Stopping        = session.Stopping
	Broken   Reason = "broken"  // the connection to the cluster
	Refused  Reason = "refused" // the cluster did not start it
)

// Reasons lists them.
func Reasons() []Reason {
	return []Reason{Exited, Left, Idle, TooLong, NoLonger, PodGone, Slow, Stopping, Broken, Refused}
}

// End is how a session ended.
type End struct {
	Reason Reason
	Code   int // of the shell, where it exited
	Lasted time.Duration
}

// Words say it to who sat there.
func (e End) Words() i18n.Text {
	if e.Reason == Exited {
		return i18n.T("terminal.end_exited", "Code", e.Code)
	}
	return i18n.T("terminal.end_" + string(e.Reason))
}
