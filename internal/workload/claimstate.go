package workload

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Phase is the phase of a PersistentVolumeClaim, in Kubernetes' words.
type Phase string

// The phases. NoClaim: the cluster makes it with the first workload that has it.
const (
	NoClaim      Phase = ""
	ClaimPending Phase = "Pending"
	ClaimBound   Phase = "Bound"
	ClaimLost    Phase = "Lost" // the volume behind it is gone
)

// ClaimState is the status of the PersistentVolumeClaim of a volume at a moment; zero before the first observation.
type ClaimState struct {
	Phase  Phase     `json:"phase,omitempty"`
	Asked  int64     `json:"asked,omitempty"`  // bytes that the claim asks for
	Has    int64     `json:"has,omitempty"`    // bytes that the volume has; 0 while there is none
	Reason i18n.Text `json:"reason,omitzero"`  // why it waits, or does not grow
	Detail string    `json:"detail,omitempty"` // the same in the cluster's words
	At     time.Time `json:"-"`
}

// Same reports whether two looks, at whatever time, saw the same.
func (c ClaimState) Same(other ClaimState) bool {
	a, errA := json.Marshal(c)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Quiet reports whether nothing is to be expected of the claim of a volume: there is none yet, or it is bound, as large
// as it shall be, and has no problem.
func (c ClaimState) Quiet(gib int) bool {
	return c.Reason.IsZero() && (c.Phase == NoClaim || c.Phase == ClaimBound && c.Has >= int64(gib)<<30)
}

// staleAfter is three times as long as the controller leaves an unchanged state without a new time.
const staleAfter = 3 * time.Minute

// Known reports whether the state is fresh enough to be passed off as how things are now.
func (c ClaimState) Known(now time.Time) bool { return !c.At.IsZero() && now.Sub(c.At) <= staleAfter }

// GiBOf converts bytes to GiB, rounded to a hundredth.
func GiBOf(bytes int64) float64 { return math.Round(float64(bytes)/(1<<30)*100) / 100 }

// Refusal is the cluster's reason for not expanding a team's volume, which keeps its size.
type Refusal struct {
	GiB   int       `json:"gib,omitempty"`   // as large as it was to be
	Cause string    `json:"cause,omitempty"` // id of a sentence
	Words string    `json:"words,omitempty"` // the API server's
	At    time.Time `json:"at,omitzero"`
}

// RefusedBecause says why the volume did not grow; zero where nothing was refused.
func (v Volume) RefusedBecause() i18n.Text {
	if v.Refused.Cause == "" {
		return i18n.Text{}
	}
	if v.Refused.Cause == "volume.refused_class" && v.Share.Class == "" {
		return i18n.T("volume.refused_class_own", "GiB", v.Refused.GiB)
	}
	return i18n.T(v.Refused.Cause, "GiB", v.Refused.GiB, "Class", v.Share.Class)
}

// Resizing reports whether the cluster has still to make it as large as it shall be.
func (v TeamVolume) Resizing() bool {
	return v.Claim.Phase == ClaimBound && v.Claim.Has < int64(v.GiB)<<30
}
