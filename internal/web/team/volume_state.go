package team

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// claims are what its cluster can say of a claim.
var claims = map[workload.Phase]teamview.Claim{workload.NoClaim: teamview.NoClaim,
	workload.ClaimPending: teamview.ClaimPending, workload.ClaimBound: teamview.ClaimBound,
	workload.ClaimLost: teamview.ClaimLost}

// claimModel is what the cluster says of the claim. What is too old is told as what was, with its time.
func claimModel(say page.Words, v workload.TeamVolume) teamview.ClaimModel {
	c := v.Claim
	m := teamview.ClaimModel{Cluster: v.Cluster, Claim: claims[c.Phase]}
	switch {
	case c.At.IsZero():
		m.Claim, m.Known = "", teamview.NotAsked
	case m.Claim == "":
		m.Known, m.Raw = teamview.NotUnderstood, string(c.Phase)
	case !c.Known(say.Now):
		m.Known, m.At = teamview.Stale, say.At(c.At).Exact
	default:
		m.Known = teamview.Told
	}
	if m.Known == teamview.Told && v.Resizing() {
		m.Claim, m.Has, m.Wanted = teamview.ClaimResizing, say.GiB(workload.GiBOf(c.Has)), say.GiB(float64(v.GiB))
	}
	if m.Known == teamview.Told && !c.Reason.IsZero() {
		m.Reason = strings.TrimSpace(say.Text(c.Reason))
	}
	return m
}

// volumeSize is how large it is meant to be, and what is there of that.
func volumeSize(say page.Words, v workload.TeamVolume) ui.StackModel {
	m := ui.StackModel{Title: say.GiB(float64(v.GiB))}
	switch {
	case v.Claim.Has == 0 || v.Claim.Has == int64(v.GiB)<<30:
	case v.Resizing():
		m.Detail = say.S("team.volume_has", "Size", say.GiB(workload.GiBOf(v.Claim.Has)))
	default: // a driver may round up
		m.Detail = say.S("team.volume_is", "Size", say.GiB(workload.GiBOf(v.Claim.Has)))
	}
	return m
}
