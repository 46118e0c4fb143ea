package store

import (
	"context"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

type datasetRow struct {
	Tenant    string `gorm:"primaryKey"`
	Name      string `gorm:"primaryKey"`
	Title     string
	Note      string
	Source    document[workload.DatasetSource]
	OfferedBy string
	ByName    string
	CreatedAt timestamp `gorm:"autoCreateTime:false"`
	UpdatedAt timestamp `gorm:"autoUpdateTime:false"`
	Version   int64
}

func (datasetRow) TableName() string { return "datasets" }

func fromDataset(d workload.Dataset) datasetRow {
	return datasetRow{Tenant: d.Team, Name: d.Name, Title: d.Title, Note: d.Note, Source: doc(d.Source),
		OfferedBy: string(d.By), ByName: d.ByName, CreatedAt: timestampOf(d.CreatedAt),
		UpdatedAt: timestampOf(d.UpdatedAt), Version: d.Version}
}

func toDataset(row datasetRow) workload.Dataset {
	return workload.Dataset{Team: row.Tenant, Name: row.Name, Title: row.Title, Note: row.Note, Source: row.Source.is,
		By: identity.PersonID(row.OfferedBy), ByName: row.ByName, CreatedAt: row.CreatedAt.time(),
		UpdatedAt: row.UpdatedAt.time(), Version: row.Version}
}

// Dataset gives one of a team. Who may see it is for the caller to say.
func (v view) Dataset(ctx context.Context, team, name string) (workload.Dataset, error) {
	row, err := one[datasetRow](v.at(ctx).Where("tenant = ? AND name = ?", team, name), i18n.T("dataset.not_found"))
	return toDataset(row), err
}

// Datasets lists those of some teams, nil for all, by team and name.
func (v view) Datasets(ctx context.Context, teams []string) ([]workload.Dataset, error) {
	if none(teams) {
		return nil, nil
	}
	if len(teams) == 1 {
		rows, err := datasetsOfTeam.all(ctx, v, teams[0])
		return each(rows, toDataset), err
	}
	rows, err := all[datasetRow](among(v.at(ctx), "tenant", teams).Order("tenant, name"))
	return each(rows, toDataset), err
}

var datasetsOfTeam = asked[datasetRow](func(db *gorm.DB) *gorm.DB {
	return db.Where("tenant IN ?", []string{""}).Order("tenant, name")
})

// WithDataset lists the workloads that have a data set of a team and have not ended.
func (v view) WithDataset(ctx context.Context, team, name string) ([]workload.Workload, error) {
	return v.mounting(ctx, team, func(m workload.Mount) bool { return m.Dataset == name })
}

// SaveDataset inserts at Version 0 and else updates that version; the row's version is one higher afterwards.
func (t *tx) SaveDataset(ctx context.Context, d workload.Dataset) error {
	row := fromDataset(d)
	row.Version++
	t.changed(datasetChange(row))
	if d.Version == 0 {
		return insert(t.at(ctx), &row)
	}
	return update(t.at(ctx).Where("tenant = ?", row.Tenant), &row, "name", row.Name, d.Version)
}

// DeleteDataset is a Conflict for a lost race.
func (t *tx) DeleteDataset(ctx context.Context, d workload.Dataset) error {
	row := fromDataset(d)
	done := t.at(ctx).Where("tenant = ? AND name = ? AND version = ?", row.Tenant, row.Name, row.Version).
		Delete(&datasetRow{})
	if done.Error == nil && done.RowsAffected == 0 {
		return lostRace()
	}
	t.changed(datasetChange(row))
	return done.Error
}

func datasetChange(row datasetRow) live.Change {
	return live.Change{Topic: live.TopicTenant, ID: row.Tenant, Tenant: row.Tenant}
}
