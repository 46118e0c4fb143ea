package api

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Volume is storage that outlives workloads.
type Volume struct {
	Name      string    `json:"name"`
	Tenant    string    `json:"tenant"`
	Owner     string    `json:"owner"`
	Cluster   string    `json:"cluster"`
	Storage   string    `json:"storage"`
	Workload  string    `json:"workload,omitempty" doc:"Who has it as its home; absent for kept storage"`
	CreatedAt time.Time `json:"createdAt"`

	Team      bool       `json:"team,omitempty" doc:"It is shared by the whole team, see its volumes"`
	KeptUntil *time.Time `json:"keptUntil,omitempty" doc:"When it will be reclaimed, with what stands still on it, unless somebody uses or keeps it; absent while it is used or kept for ever"`

	Path         string           `json:"path,omitempty" doc:"Of a personal volume: where the workloads find it that have it"`
	From         string           `json:"from,omitempty" doc:"Of a personal volume: the volume that it is a clone of"`
	FromSnapshot string           `json:"fromSnapshot,omitempty" doc:"Of a personal volume: id of the snapshot that it is made from"`
	Snapshots    []VolumeSnapshot `json:"snapshots,omitempty" doc:"Oldest first"`
	UsedBy       []string         `json:"usedBy,omitempty" doc:"Of a personal volume: ids of the workloads that have it, running or stopped"`
	State        *VolumeState     `json:"state,omitempty" doc:"What its cluster says of the claim; absent for a team's volume, and for a home that nothing is to be said of"`
	NotExpanded  *VolumeRefusal   `json:"notExpanded,omitempty" doc:"It was to grow, and its cluster would not have it; gone with the next size"`
}

// VolumeSnapshot is the files of a volume as they were at a moment.
type VolumeSnapshot struct {
	ID         string     `json:"id" doc:"Name of the VolumeSnapshot in the cluster"`
	Volume     string     `json:"volume"`
	Name       string     `json:"name"`
	State      string     `json:"state" enum:"taking,ready,failed,gone" doc:"gone: it was deleted in the cluster"`
	RestoreGiB int        `json:"restoreGiB,omitempty" doc:"Least size of a volume made from it; absent while it is not known"`
	CreatedAt  time.Time  `json:"createdAt" doc:"When it was asked for"`
	TakenAt    *time.Time `json:"takenAt,omitempty" doc:"When the storage took it"`
	Reason     string     `json:"reason,omitempty" doc:"Why it is not ready"`
	Detail     string     `json:"detail,omitempty" doc:"The same in the cluster's words"`
}

func (a *API) snapshotView(ctx context.Context, s workload.VolumeSnapshot) VolumeSnapshot {
	l, c := i18n.From(ctx), s.State
	view := VolumeSnapshot{ID: s.ID, Volume: s.Volume, Name: s.Name, State: string(s.Is()), RestoreGiB: c.GiB(),
		CreatedAt: s.CreatedAt, Detail: c.Detail}
	if !c.TakenAt.IsZero() {
		view.TakenAt = &c.TakenAt
	}
	if why := s.Why(a.deps.Workloads.Now()); !why.IsZero() {
		view.Reason = l.Say(why)
	}
	return view
}

func (a *API) volumeView(ctx context.Context, v workload.OwnVolume) Volume {
	view := Volume{Name: v.Name, Tenant: v.Tenant, Owner: v.OwnerName, Cluster: v.Cluster,
		Storage: fmt.Sprintf("%dGi", v.GiB), Workload: string(v.Workload), CreatedAt: v.CreatedAt, Team: v.OfTeam(),
		From: v.Personal.From, FromSnapshot: v.Personal.Snapshot}
	if until := a.deps.Workloads.Retention.Until(v.Volume); !until.IsZero() {
		view.KeptUntil = &until
	}
	if v.OfTeam() {
		return view
	}
	l := i18n.From(ctx)
	if v.IsPersonal() {
		view.Path = path.Join(workload.DataDir, v.Personal.Name)
	}
	for _, s := range v.Snapshots {
		view.Snapshots = append(view.Snapshots, a.snapshotView(ctx, s))
	}
	for _, w := range v.Users {
		view.UsedBy = append(view.UsedBy, string(w.ID))
	}
	if v.IsPersonal() || !v.Claim.At.IsZero() {
		s := volumeStateView(workload.TeamVolume{Volume: v.Volume, Claim: v.Claim}, a.deps.Workloads.Now(), l)
		view.State = &s
	}
	if because := v.RefusedBecause(); !because.IsZero() {
		view.NotExpanded = &VolumeRefusal{GiB: v.Refused.GiB, Reason: l.Say(because), Detail: v.Refused.Words,
			At: v.Refused.At}
	}
	return view
}

type volumesInput struct {
	Scope string `query:"scope" enum:"mine,all" default:"all"`
}

func (a *API) volumes(ctx context.Context, actor identity.Actor, in *volumesInput) (*output[List[Volume]], error) {
	items, err := a.deps.Workloads.OwnVolumes(ctx, actor, in.Scope == "mine")
	views := make([]Volume, len(items))
	for i, v := range items {
		views[i] = a.volumeView(ctx, v)
	}
	return reply(list(views, ""), err)
}

type addVolumeInput struct {
	Body struct {
		Name    string `json:"name" maxLength:"63" doc:"Small letters, digits and dashes; workloads find it at /data/<name>"`
		Tenant  string `json:"tenant" maxLength:"63" doc:"The team that pays, whose workloads can have it"`
		Cluster string `json:"cluster,omitempty" maxLength:"63" doc:"May be left out where there is one"`
		GiB     int    `json:"gib" minimum:"1"`
		From    string `json:"from,omitempty" maxLength:"100" doc:"Name of a volume of mine, of the same team on the same cluster and not in use, to make a clone of; gib is at least its size"`

		Snapshot string `json:"snapshot,omitempty" maxLength:"140" doc:"Id of a ready snapshot of mine, of the same team on the same cluster, in place of from; gib is at least its restoreGiB"`
	}
}

func (a *API) addVolume(ctx context.Context, actor identity.Actor, in *addVolumeInput) (*output[Volume], error) {
	b := in.Body
	v, err := a.deps.Workloads.AddVolume(ctx, actor, workload.PersonalDraft{Team: b.Tenant, Name: b.Name,
		Cluster: b.Cluster, GiB: b.GiB, From: b.From, Snapshot: b.Snapshot})
	if err != nil {
		return nil, err
	}
	return reply(a.volumeView(ctx, v), nil)
}

type expandVolumeInput struct {
	Name string `path:"name" maxLength:"100"`
	Body struct {
		From int `json:"from" minimum:"1" doc:"GiB that it has been seen to have: a conflict where it was made larger meanwhile"`
		GiB  int `json:"gib" minimum:"1" doc:"It never becomes smaller"`
	}
}

func (a *API) expandVolume(ctx context.Context, actor identity.Actor, in *expandVolumeInput) (*output[Volume], error) {
	v, err := a.deps.Workloads.ExpandOwnVolume(ctx, actor, in.Name, in.Body.From, in.Body.GiB)
	if err != nil {
		return nil, err
	}
	return reply(a.volumeView(ctx, v), nil)
}

type volumeInput struct {
	Name string `path:"name" maxLength:"100"`
}

func (a *API) keepVolume(ctx context.Context, actor identity.Actor, in *volumeInput) (*output[Volume], error) {
	v, err := a.deps.Workloads.ExtendRetention(ctx, actor, in.Name)
	if err != nil {
		return nil, err
	}
	return reply(a.volumeView(ctx, workload.OwnVolume{Volume: v}), nil)
}

func (a *API) removeVolume(ctx context.Context, actor identity.Actor, in *volumeInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Workloads.DeleteVolume(ctx, actor, in.Name)
}

type takeSnapshotInput struct {
	Name string `path:"name" maxLength:"100"`
	Body struct {
		Name string `json:"name" maxLength:"63" doc:"Small letters, digits and dashes, once for the volume"`
	}
}

func (a *API) takeSnapshot(ctx context.Context, actor identity.Actor,
	in *takeSnapshotInput) (*output[VolumeSnapshot], error) {
	s, err := a.deps.Workloads.TakeSnapshot(ctx, actor, in.Name, in.Body.Name)
	if err != nil {
		return nil, err
	}
	return reply(a.snapshotView(ctx, s), nil)
}

type snapshotInput struct {
	Name     string `path:"name" maxLength:"100"`
	Snapshot string `path:"snapshot" maxLength:"63" doc:"Name of the snapshot"`
}

func (a *API) deleteSnapshot(ctx context.Context, actor identity.Actor, in *snapshotInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Workloads.DeleteSnapshot(ctx, actor, in.Name, in.Snapshot)
}

// registerVolumes is the part of the surface that is about storage of one person.
func (a *API) registerVolumes() {
	const tag = "Storage"
	add(a, op(http.MethodGet, "/volumes", "list-volumes", "Storage, in use and kept", tag), identity.ReadVolume,
		a.volumes)
	add(a, created(op(http.MethodPost, "/volumes", "add-volume", "Make a personal volume, empty or as a clone", tag)),
		identity.AddVolume, a.addVolume)
	add(a, op(http.MethodDelete, "/volumes/{name}", "delete-volume", "Delete kept storage for good", tag),
		identity.DeleteVolume, a.removeVolume)
	add(a, op(http.MethodPost, "/volumes/{name}/expand", "expand-volume",
		"Make a home volume or a personal one larger; the cluster follows, see its state", tag), identity.ExpandVolume,
		a.expandVolume)
	add(a, created(op(http.MethodPost, "/volumes/{name}/snapshots", "take-snapshot",
		"Keep the files of a home volume or a personal one as they are now; the cluster follows, see its state", tag)),
		identity.SnapshotVolume, a.takeSnapshot)
	add(a, op(http.MethodDelete, "/volumes/{name}/snapshots/{snapshot}", "delete-snapshot",
		"Delete a snapshot for good; volumes made from it stay", tag), identity.SnapshotVolume, a.deleteSnapshot)
	add(a, op(http.MethodPost, "/volumes/{name}/keep", "keep-volume", "Keep unused storage for longer", tag),
		identity.KeepVolume, a.keepVolume)
}
