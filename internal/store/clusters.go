package store

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

var _ cluster.Store = (*Store)(nil)

type clusterRow struct {
	Name       string `gorm:"primaryKey"`
	Server     string
	Sealed     string
	AddedBy    string
	AdderName  string
	AddedAt    timestamp
	ReplacedAt timestamp
	Version    int64
}

func (clusterRow) TableName() string { return "clusters" }

func toCluster(row clusterRow) cluster.Cluster {
	return cluster.Cluster{Name: row.Name, Server: row.Server, Sealed: row.Sealed,
		AddedBy: identity.PersonID(row.AddedBy), AdderName: row.AdderName, AddedAt: row.AddedAt.time(),
		ReplacedAt: row.ReplacedAt.time(), Version: row.Version}
}

// Clusters lists those that were added in the portal, by name.
func (v view) Clusters(ctx context.Context) ([]cluster.Cluster, error) {
	rows, err := all[clusterRow](v.at(ctx).Order("name"))
	return each(rows, toCluster), err
}

// CreateCluster is a Conflict for a name that is taken, and where there are so many.
func (s *Store) CreateCluster(ctx context.Context, c cluster.Cluster, most int, event audit.Event) error {
	row := clusterRow{Name: c.Name, Server: c.Server, Sealed: c.Sealed, AddedBy: string(c.AddedBy),
		AdderName: c.AdderName, AddedAt: timestampOf(c.AddedAt), Version: 1}
	return s.write(ctx, func(t *tx) error {
		var have int64
		if err := t.at(ctx).Model(&clusterRow{}).Count(&have).Error; err != nil {
			return err
		}
		if have >= int64(most) {
			return fault.New(fault.Conflict, i18n.T("clusters.too_many", "Most", most))
		}
		err := insert(t.at(ctx), &row)
		if clash(err) == uniqueClash {
			taken := i18n.T("clusters.name_taken", "Name", c.Name)
			return &fault.Error{Kind: fault.Conflict, Sentence: taken, Fields: []fault.Field{{Name: "name", Reason: taken}},
				Cause: err}
		}
		if err != nil {
			return err
		}
		t.changed(live.Change{Topic: live.TopicCluster, ID: c.Name})
		return t.Append(ctx, event)
	})
}

// ReplaceCluster writes other credentials. Conflict for a lost race.
func (s *Store) ReplaceCluster(ctx context.Context, c cluster.Cluster, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Model(&clusterRow{}).Where("name = ? AND version = ?", c.Name, c.Version).
			Updates(map[string]any{"server": c.Server, "sealed": c.Sealed, "replaced_at": timestampOf(c.ReplacedAt),
				"version": c.Version + 1})
		if done.Error == nil && done.RowsAffected == 0 {
			return lostRace()
		}
		if done.Error != nil {
			return done.Error
		}
		t.changed(live.Change{Topic: live.TopicCluster, ID: c.Name})
		return t.Append(ctx, event)
	})
}

// ResealCluster writes the sealed text alone. Conflict for a lost race.
func (s *Store) ResealCluster(ctx context.Context, c cluster.Cluster) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE clusters SET sealed = ?, version = version + 1 WHERE name = ? AND version = ?",
			c.Sealed, c.Name, c.Version)
		if done.Error == nil && done.RowsAffected == 0 {
			return lostRace()
		}
		return done.Error
	})
}

// RemoveCluster takes one out, with what was known of it. Conflict while workloads that have not ended, or volumes, are
// there. Grants under way end first.
func (s *Store) RemoveCluster(ctx context.Context, name string, event audit.Event) error {
	return s.exclusively(ctx, "remove a cluster", func(t *tx) error {
		var workloads, volumes int64
		if err := t.at(ctx).Raw("SELECT COUNT(*) FROM workloads WHERE cluster = ? AND state <> 'ended'", name).
			Scan(&workloads).Error; err != nil {
			return err
		}
		if err := t.at(ctx).Raw("SELECT COUNT(*) FROM volumes WHERE cluster = ?", name).Scan(&volumes).Error; err != nil {
			return err
		}
		if workloads+volumes > 0 {
			return fault.New(fault.Conflict, i18n.T("clusters.not_empty", "Name", name, "Workloads", workloads, "Volumes",
				volumes))
		}
		done := t.at(ctx).Where("name = ?", name).Delete(&clusterRow{})
		if done.Error == nil && done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("clusters.not_found"))
		}
		if done.Error != nil {
			return done.Error
		}
		for _, of := range []string{"DELETE FROM snapshots WHERE cluster = ?", "DELETE FROM differences WHERE cluster = ?",
			"DELETE FROM cluster_holds WHERE cluster = ?"} {
			if err := t.at(ctx).Exec(of, name).Error; err != nil {
				return err
			}
		}
		t.changed(live.Change{Topic: live.TopicCluster, ID: name})
		return t.Append(ctx, event)
	})
}
