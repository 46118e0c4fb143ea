package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Dataset is what a team offers its members to read.
type Dataset struct {
	Name      string        `json:"name" doc:"In the team; workloads find it at /datasets/<name>, read-only"`
	Title     string        `json:"title"`
	Note      string        `json:"note,omitempty"`
	Source    DatasetSource `json:"source"`
	Path      string        `json:"path" doc:"Where a workload finds it"`
	Storage   string        `json:"storage,omitempty" doc:"Of the volume that it lies on, or most that a copy takes; absent where that is not known"`
	By        string        `json:"by"`
	UsedBy    []string      `json:"usedBy" doc:"Ids of the workloads that have it, running or stopped"`
	CreatedAt time.Time     `json:"createdAt"`
	UpdatedAt time.Time     `json:"updatedAt"`
}

// DatasetSource is where the files of a data set are: on a volume of the team, on a claim of another, or in a bucket.
type DatasetSource struct {
	Volume  string `json:"volume,omitempty" maxLength:"63" doc:"Name of a volume of the team"`
	Claim   string `json:"claim,omitempty" maxLength:"63" doc:"Name of a PersistentVolumeClaim of the team's namespace that the portal has not made"`
	Cluster string `json:"cluster,omitempty" maxLength:"63" doc:"Of the claim; may be left out where there is one cluster. That of a volume is its own"`
	SubPath string `json:"subPath,omitempty" maxLength:"500" example:"images/2012" doc:"Directory in it; absent for all of it, and for a bucket"`
	Bucket  string `json:"bucket,omitempty" maxLength:"500" example:"s3://corpus/2026" doc:"Object storage (S3) with the directory in it; copied to the node's disk whenever a workload that has it begins"`
	Secret  string `json:"secret,omitempty" maxLength:"63" doc:"Of a bucket: name of the team's secret of kind s3 that opens it"`
	GiB     int    `json:"gib,omitempty" minimum:"1" doc:"Of a bucket: most that its copy may take"`
}

func datasetView(d workload.OfferedDataset) Dataset {
	s := d.Source
	v := Dataset{Name: d.Name, Title: d.Called(), Note: d.Note, Path: d.Path(), By: d.ByName, UsedBy: []string{},
		Source: DatasetSource{Volume: s.Volume, Claim: s.Claim, Cluster: s.Cluster, SubPath: s.SubPath,
			Bucket: s.Bucket, Secret: s.Secret, GiB: s.GiB},
		CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt}
	if d.GiB > 0 {
		v.Storage = fmt.Sprintf("%dGi", d.GiB)
	}
	for _, w := range d.Users {
		v.UsedBy = append(v.UsedBy, string(w.ID))
	}
	return v
}

func (a *API) datasets(ctx context.Context, actor identity.Actor, in *tenantInput) (*output[List[Dataset]], error) {
	sets, err := a.deps.Workloads.Datasets(ctx, actor, in.Name)
	if err != nil {
		return nil, err
	}
	var views []Dataset
	for _, d := range sets {
		views = append(views, datasetView(d))
	}
	return reply(list(views, ""), nil)
}

// DatasetBody is what can be changed of a data set.
type DatasetBody struct {
	Title  string        `json:"title,omitempty" maxLength:"80" doc:"For people; the name where it is absent"`
	Note   string        `json:"note,omitempty" maxLength:"300"`
	Source DatasetSource `json:"source"`
}

func (b DatasetBody) draft(team, name string) workload.DatasetDraft {
	s := b.Source
	return workload.DatasetDraft{Team: team, Name: name, Title: b.Title, Note: b.Note, Volume: s.Volume, Claim: s.Claim,
		Cluster: s.Cluster, SubPath: s.SubPath, Bucket: s.Bucket, Secret: s.Secret, GiB: s.GiB}
}

type addDatasetInput struct {
	Name string `path:"name" maxLength:"63"`
	Body struct {
		Name string `json:"name" maxLength:"63" doc:"Small letters, digits and dashes"`
		DatasetBody
	}
}

func (a *API) addDataset(ctx context.Context, actor identity.Actor, in *addDatasetInput) (*output[Dataset], error) {
	d, err := a.deps.Workloads.OfferDataset(ctx, actor, in.Body.draft(in.Name, in.Body.Name))
	if err != nil {
		return nil, err
	}
	return a.datasetNow(ctx, actor, d)
}

// datasetNow is a data set as it is after a change, with who has it.
func (a *API) datasetNow(ctx context.Context, actor identity.Actor, d workload.Dataset) (*output[Dataset], error) {
	sets, err := a.deps.Workloads.Datasets(ctx, actor, d.Team)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		if set.Name == d.Name {
			return reply(datasetView(set), nil)
		}
	}
	return reply(datasetView(workload.OfferedDataset{Dataset: d}), nil) // withdrawn meanwhile
}

type saveDatasetInput struct {
	Name    string `path:"name" maxLength:"63"`
	Dataset string `path:"dataset" maxLength:"63"`
	Body    DatasetBody
}

func (a *API) saveDataset(ctx context.Context, actor identity.Actor, in *saveDatasetInput) (*output[Dataset], error) {
	d, err := a.deps.Workloads.ChangeDataset(ctx, actor, in.Body.draft(in.Name, in.Dataset))
	if err != nil {
		return nil, err
	}
	return a.datasetNow(ctx, actor, d)
}

type removeDatasetInput struct {
	Name    string `path:"name" maxLength:"63"`
	Dataset string `path:"dataset" maxLength:"63"`
}

func (a *API) removeDataset(ctx context.Context, actor identity.Actor, in *removeDatasetInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Workloads.WithdrawDataset(ctx, actor, in.Name, in.Dataset)
}

// registerDatasets is the part of the surface that is about data sets.
func (a *API) registerDatasets() {
	const tag = "Teams"
	add(a, op(http.MethodGet, "/tenants/{name}/datasets", "list-datasets",
		"Data sets that a team offers, and who has them", tag), identity.ReadTenant, a.datasets)
	add(a, created(op(http.MethodPost, "/tenants/{name}/datasets", "add-dataset", "Offer files that the team's members "+
		"may read in their workloads", tag)), identity.ChangeAssets, a.addDataset)
	add(a, op(http.MethodPut, "/tenants/{name}/datasets/{dataset}", "save-dataset",
		"Change it for the next start; what runs keeps what it was started with", tag), identity.ChangeAssets,
		a.saveDataset)
	add(a, op(http.MethodDelete, "/tenants/{name}/datasets/{dataset}", "delete-dataset",
		"Withdraw it; the files stay. A conflict while a workload has it", tag), identity.ChangeAssets, a.removeDataset)
}
