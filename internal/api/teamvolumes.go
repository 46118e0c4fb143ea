package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TeamVolume is storage that a team shares.
type TeamVolume struct {
	Name      string    `json:"name" doc:"In the team; workloads find it at /shared/<name>"`
	Claim     string    `json:"claim" doc:"Name of the PersistentVolumeClaim"`
	Cluster   string    `json:"cluster"`
	Storage   string    `json:"storage"`
	Class     string    `json:"class"`
	Access    string    `json:"access" enum:"ReadWriteMany,ReadWriteOnce" doc:"ReadWriteOnce: only workloads on one node have it at once, others wait"`
	ReadOnly  bool      `json:"readOnly" doc:"For everybody"`
	Note      string    `json:"note,omitempty"`
	By        string    `json:"by"`
	UsedBy    []string  `json:"usedBy" doc:"Ids of the workloads that have it, running or stopped"`
	CreatedAt time.Time `json:"createdAt"`
}

func teamVolumeView(v workload.TeamVolume) TeamVolume {
	view := TeamVolume{Name: v.Share.Name, Claim: v.Name, Cluster: v.Cluster, Storage: fmt.Sprintf("%dGi", v.GiB), Class: v.Share.Class, Access: string(v.Share.Access), ReadOnly: v.Share.ReadOnly,
		Note: v.Share.Note, By: v.OwnerName, UsedBy: []string{}, CreatedAt: v.CreatedAt}
	for _, w := range v.Users {
		view.UsedBy = append(view.UsedBy, string(w.ID))
	}
	return view
}

func (a *API) teamVolumes(ctx context.Context, actor identity.Actor, in *tenantInput) (*output[List[TeamVolume]], error) {
	volumes, err := a.deps.Workloads.TeamVolumes(ctx, actor, in.Name)
	if err != nil {
		return nil, err
	}
	var views []TeamVolume
	for _, v := range volumes {
		views = append(views, teamVolumeView(v))
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

func (a *API) addTeamVolume(ctx context.Context, actor identity.Actor, in *addTeamVolumeInput) (*output[TeamVolume], error) {
	b := in.Body
	v, err := a.deps.Workloads.ShareVolume(ctx, actor, workload.ShareDraft{Team: in.Name, Name: b.Name, Cluster: b.Cluster, Class: b.Class, GiB: b.GiB, ReadOnly: b.ReadOnly, Note: b.Note})
	if err != nil {
		return nil, err
	}
	return reply(teamVolumeView(workload.TeamVolume{Volume: v}), nil)
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
	add(a, op(http.MethodGet, "/tenants/{name}/volumes", "list-team-volumes", "Storage that a team shares, and who has it", tag), identity.ReadTenant, a.teamVolumes)
	add(a, created(op(http.MethodPost, "/tenants/{name}/volumes", "add-team-volume", "Make storage that the team's members may have in their workloads", tag)), identity.ChangeAssets, a.addTeamVolume)
	add(a, op(http.MethodDelete, "/tenants/{name}/volumes/{volume}", "end-team-volume", "Delete it with everything in it; a conflict while a workload has it", tag), identity.ChangeAssets, a.endTeamVolume)
}
