package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TeamVolume is storage that a team shares.
type TeamVolume struct {
	Name        string         `json:"name" doc:"In the team; workloads find it at /shared/<name>"`
	Claim       string         `json:"claim" doc:"Name of the PersistentVolumeClaim"`
	Cluster     string         `json:"cluster"`
	Storage     string         `json:"storage"`
	Class       string         `json:"class"`
	Access      string         `json:"access" enum:"ReadWriteMany,ReadWriteOnce" doc:"ReadWriteOnce: only workloads on one node have it at once, others wait"`
	ReadOnly    bool           `json:"readOnly" doc:"For everybody"`
	Note        string         `json:"note,omitempty"`
	By          string         `json:"by"`
	UsedBy      []string       `json:"usedBy" doc:"Ids of the workloads that have it, running or stopped"`
	MountedBy   []string       `json:"mountedBy" doc:"Those of them whose pod is there now"`
	State       VolumeState    `json:"state" doc:"What its cluster says of the claim"`
	NotExpanded *VolumeRefusal `json:"notExpanded,omitempty" doc:"It was to grow, and its cluster would not have it; gone with the next spec"`
	DeleteAfter *time.Time     `json:"deleteAfter,omitempty" doc:"An owner has deleted it: until then no new workload gets it, and it can be restored"`
	CreatedAt   time.Time      `json:"createdAt"`
}

// VolumeState is what a cluster said of a claim.
type VolumeState struct {
	Phase    string     `json:"phase" enum:"unknown,none,pending,bound,lost" doc:"none: the cluster makes it with the first workload that has it. unknown: the cluster was not asked for some minutes; seenAt says when it was last, and was what it said"`
	Was      string     `json:"was,omitempty" doc:"The phase at seenAt, where it is unknown now"`
	Asked    float64    `json:"askedGiB,omitempty" doc:"What the claim asks for"`
	Has      float64    `json:"hasGiB,omitempty" doc:"What the volume has"`
	Resizing bool       `json:"resizing" doc:"It has still to become as large as storage says"`
	Reason   string     `json:"reason,omitempty" doc:"In plain words, why it waits or does not grow"`
	Detail   string     `json:"detail,omitempty" doc:"The same in the cluster's words"`
	SeenAt   *time.Time `json:"seenAt,omitempty"`
}

// VolumeRefusal is why a volume did not grow.
type VolumeRefusal struct {
	GiB    int       `json:"gib" doc:"As large as it was to be"`
	Reason string    `json:"reason" doc:"In plain words"`
	Detail string    `json:"detail,omitempty" doc:"The API server's words"`
	At     time.Time `json:"at"`
}

// phaseWords are the phases as the API calls them.
var phaseWords = map[workload.Phase]string{workload.NoClaim: "none", workload.ClaimPending: "pending",
	workload.ClaimBound: "bound", workload.ClaimLost: "lost"}

func volumeStateView(v workload.TeamVolume, now time.Time, l *i18n.Localizer) VolumeState {
	c := v.Claim
	if c.At.IsZero() {
		return VolumeState{Phase: "unknown"}
	}
	s := VolumeState{Phase: phaseWords[c.Phase], Asked: workload.GiBOf(c.Asked), Has: workload.GiBOf(c.Has),
		Resizing: v.Resizing(), Reason: l.Say(c.Reason), Detail: c.Detail, SeenAt: &c.At}
	if !c.Known(now) && (v.OfTeam() || !c.Quiet(v.GiB)) {
		s.Phase, s.Was = "unknown", s.Phase
	}
	return s
}

func (a *API) teamVolumeView(ctx context.Context, v workload.TeamVolume) TeamVolume {
	l := i18n.From(ctx)
	view := TeamVolume{Name: v.Share.Name, Claim: v.Name, Cluster: v.Cluster, Storage: fmt.Sprintf("%dGi", v.GiB),
		Class: v.Share.Class, Access: string(v.Share.Access), ReadOnly: v.Share.ReadOnly,
		Note: v.Share.Note, By: v.OwnerName, UsedBy: []string{}, MountedBy: []string{}, CreatedAt: v.CreatedAt,
		State: volumeStateView(v, a.deps.Workloads.Now(), l)}
	for _, w := range v.Users {
		view.UsedBy = append(view.UsedBy, string(w.ID))
		if w.Observed.PodPresent {
			view.MountedBy = append(view.MountedBy, string(w.ID))
		}
	}
	if v.PendingDeletion() {
		view.DeleteAfter = &v.DeleteAfter
	}
	if because := v.RefusedBecause(); !because.IsZero() {
		view.NotExpanded = &VolumeRefusal{GiB: v.Refused.GiB, Reason: l.Say(because), Detail: v.Refused.Words,
			At: v.Refused.At}
	}
	return view
}

func (a *API) teamVolumes(ctx context.Context, actor identity.Actor,
	in *tenantInput) (*output[List[TeamVolume]], error) {
	volumes, err := a.deps.Workloads.TeamVolumes(ctx, actor, in.Name)
	if err != nil {
		return nil, err
	}
	var views []TeamVolume
	for _, v := range volumes {
		views = append(views, a.teamVolumeView(ctx, v))
	}
	return reply(list(views, ""), nil)
}

type addTeamVolumeInput struct {
	Name string `path:"name" maxLength:"63"`
	Body struct {
		Name     string `json:"name" maxLength:"63" doc:"Small letters, digits and dashes"`
		Cluster  string `json:"cluster" maxLength:"63"`
		Class    string `json:"class" maxLength:"253" doc:"A storage class that the administrator offers on the cluster"`
		GiB      int    `json:"gib" minimum:"1"`
		ReadOnly bool   `json:"readOnly,omitempty"`
		Note     string `json:"note,omitempty" maxLength:"300"`
	}
}

func (a *API) addTeamVolume(ctx context.Context, actor identity.Actor,
	in *addTeamVolumeInput) (*output[TeamVolume], error) {
	b := in.Body
	v, err := a.deps.Workloads.ShareVolume(ctx, actor, workload.ShareDraft{Team: in.Name, Name: b.Name, Cluster: b.Cluster,
		Class: b.Class, GiB: b.GiB, ReadOnly: b.ReadOnly, Note: b.Note})
	if err != nil {
		return nil, err
	}
	return reply(a.teamVolumeView(ctx, workload.TeamVolume{Volume: v}), nil)
}

type expandTeamVolumeInput struct {
	Name   string `path:"name" maxLength:"63"`
	Volume string `path:"volume" maxLength:"63"`
	Body   struct {
		From int `json:"from" minimum:"1" doc:"GiB that it has been seen to have: a conflict where somebody else made it larger meanwhile"`
		GiB  int `json:"gib" minimum:"1" doc:"It never becomes smaller"`
	}
}

func (a *API) expandTeamVolume(ctx context.Context, actor identity.Actor,
	in *expandTeamVolumeInput) (*output[TeamVolume], error) {
	v, err := a.deps.Workloads.ExpandVolume(ctx, actor, workload.Expansion{Team: in.Name, Name: in.Volume,
		From: in.Body.From, GiB: in.Body.GiB})
	if err != nil {
		return nil, err
	}
	return reply(a.teamVolumeView(ctx, v), nil)
}

type restoreTeamVolumeInput struct {
	Name   string `path:"name" maxLength:"63"`
	Volume string `path:"volume" maxLength:"63"`
}

func (a *API) restoreTeamVolume(ctx context.Context, actor identity.Actor, in *restoreTeamVolumeInput) (
	*output[TeamVolume], error) {
	v, err := a.deps.Workloads.RestoreVolume(ctx, actor, in.Name, in.Volume)
	if err != nil {
		return nil, err
	}
	return reply(a.teamVolumeView(ctx, v), nil)
}

type endTeamVolumeInput struct {
	Name    string `path:"name" maxLength:"63"`
	Volume  string `path:"volume" maxLength:"63"`
	Confirm string `query:"confirm" maxLength:"63" doc:"Its name once more: everything in it is lost"`
}

func (a *API) endTeamVolume(ctx context.Context, actor identity.Actor, in *endTeamVolumeInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Workloads.EndVolume(ctx, actor, in.Name, in.Volume, in.Confirm)
}

// registerTeamVolumes is the part of the surface that is about storage that a team shares.
func (a *API) registerTeamVolumes() {
	const tag = "Teams"
	add(a, op(http.MethodGet, "/tenants/{name}/volumes", "list-team-volumes", "Storage that a team shares, and who has it",
		tag), identity.ReadTenant, a.teamVolumes)
	add(a, created(op(http.MethodPost, "/tenants/{name}/volumes", "add-team-volume", "Make storage that the team's "+
		"members may have in their workloads", tag)), identity.ChangeAssets, a.addTeamVolume)
	add(a, op(http.MethodDelete, "/tenants/{name}/volumes/{volume}", "end-team-volume",
		"Delete it with everything in it, after a time of grace; a conflict while a workload has it", tag),
		identity.ChangeAssets, a.endTeamVolume)
	add(a, op(http.MethodPost, "/tenants/{name}/volumes/{volume}/expand", "expand-team-volume",
		"Make it larger; the cluster follows, see its state", tag), identity.ChangeAssets, a.expandTeamVolume)
	add(a, op(http.MethodPost, "/tenants/{name}/volumes/{volume}/restore", "restore-team-volume",
		"Take back that it was deleted, until it is gone", tag), identity.ChangeAssets, a.restoreTeamVolume)
}
