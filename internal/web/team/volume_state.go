package team

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// volumeStates say how it is with a volume of a team, the most urgent first: that it goes, that it did not grow, and
// what its cluster says of its claim.
func volumeStates(say page.Words, v workload.TeamVolume) []ui.StateModel {
	var list []ui.StateModel
	if v.PendingDeletion() {
		list = append(list, ui.StateModel{Kind: ui.Warning, Word: say.S("team.volume_goes"),
			Detail: say.S("team.volume_goes_why", "At", say.At(v.DeleteAfter).Exact), Test: "pending-deletion"})
	}
	if because := v.RefusedBecause(); !because.IsZero() {
		detail := say.S("team.volume_not_grown_to", "Size", say.GiB(float64(v.Refused.GiB))) + " " + say.Text(because)
		if v.Refused.Words != "" {
			detail += " " + say.S("team.volume_api_says", "Words", v.Refused.Words)
		}
		list = append(list, ui.StateModel{Kind: ui.Danger, Word: say.S("team.volume_not_grown"), Detail: detail,
			Test: "not-grown"})
	}
	return append(list, claimState(say, v))
}

// phases are the states of a claim in a word, and what it means where the cluster gives no reason.
var phases = map[workload.Phase]struct {
	kind ui.Kind
	id   string
}{
	workload.NoClaim: {ui.Off, "team.claim_none"}, workload.ClaimPending: {ui.Waiting, "team.claim_pending"},
	workload.ClaimBound: {ui.OK, "team.claim_bound"}, workload.ClaimLost: {ui.Danger, "team.claim_lost"},
}

// claimState is what the cluster says of the claim. What is too old is told as what was, with its time.
func claimState(say page.Words, v workload.TeamVolume) ui.StateModel {
	c := v.Claim
	m := ui.StateModel{Kind: ui.Unknown, Word: say.S("web.unknown"), Test: "state"}
	p, known := phases[c.Phase]
	switch {
	case c.At.IsZero():
		m.Detail = say.S("team.claim_not_asked", "Cluster", v.Cluster)
		return m
	case !known:
		m.Detail = string(c.Phase)
		return m
	case !c.Known(say.Now):
		m.Detail = say.S("team.claim_stale", "Cluster", v.Cluster, "At", say.At(c.At).Exact, "Was", say.S(p.id))
		return m
	}
	m.Kind, m.Word = p.kind, say.S(p.id)
	if c.Phase == workload.NoClaim {
		m.Detail = say.S("team.volume_unused_why")
	}
	if v.Grows() {
		m.Kind, m.Word, m.Detail = ui.Progress, say.S("team.claim_growing"), say.S("team.claim_growing_why", "Has",
			say.GiB(workload.GiBOf(c.Has)), "Wanted", say.GiB(float64(v.GiB)))
	}
	if !c.Reason.IsZero() {
		m.Detail = strings.TrimSpace(say.Text(c.Reason))
	}
	return m
}

// volumeSize is how large it is meant to be, and what is there of that.
func volumeSize(say page.Words, v workload.TeamVolume) ui.StackModel {
	m := ui.StackModel{Title: say.GiB(float64(v.GiB))}
	switch {
	case v.Claim.Has == 0 || v.Claim.Has == int64(v.GiB)<<30:
	case v.Grows():
		m.Detail = say.S("team.volume_has", "Size", say.GiB(workload.GiBOf(v.Claim.Has)))
	default: // a driver may round up
		m.Detail = say.S("team.volume_is", "Size", say.GiB(workload.GiBOf(v.Claim.Has)))
	}
	return m
}
