package store

import (
	"context"
	"errors"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	_ drift.Store = (*Store)(nil)
	_ drift.Tx    = (*tx)(nil)
)

// databaseID is the setting that tells databases apart; a backup carries it too.
const databaseID = "database.id"

type holdRow struct {
	Cluster    string `gorm:"primaryKey"`
	Since      timestamp
	Cause      string
	Checkpoint document[drift.Checkpoint]
	Position   document[drift.Position]
	Decided    int64
}

func (holdRow) TableName() string { return "cluster_holds" }

func toHold(r holdRow) drift.Hold {
	return drift.Hold{Cluster: r.Cluster, Since: r.Since.time(), Cause: drift.Cause(r.Cause), Checkpoint: r.Checkpoint.is,
		Database: r.Position.is, Decided: r.Decided}
}

type differenceRow struct {
	ID          string `gorm:"primaryKey"`
	Cluster     string
	Data        document[difference]
	Version     string
	FoundAt     timestamp
	Decision    string
	DecidedBy   string
	DecidedName string
	DecidedAt   timestamp
}

func (differenceRow) TableName() string { return "differences" }

// difference is the part that nobody selects by.
type difference struct {
	Resource drift.ResourceKind
	Key      string
	Kind     drift.Kind
	Fields   []drift.Field
	Seen     *drift.ClusterState
	Row      *drift.Row
}

func fromDifference(d drift.Difference) differenceRow {
	return differenceRow{ID: d.ID, Cluster: d.Cluster, Version: d.Version, FoundAt: timestampOf(d.FoundAt),
		Data:     doc(difference{d.ResourceKind, d.Key, d.Kind, d.Fields, d.Live, d.Row}),
		Decision: string(d.Decision), DecidedBy: string(d.By), DecidedName: d.ByName, DecidedAt: timestampOf(d.DecidedAt)}
}

func toDifference(r differenceRow) drift.Difference {
	is := r.Data.is
	return drift.Difference{ID: r.ID, Cluster: r.Cluster, ResourceKind: is.Resource, Key: is.Key, Kind: is.Kind,
		Fields: is.Fields,
		Live:   is.Seen, Row: is.Row, Version: r.Version, FoundAt: r.FoundAt.time(), Decision: drift.Decision(r.Decision),
		By: identity.PersonID(r.DecidedBy), ByName: r.DecidedName, DecidedAt: r.DecidedAt.time()}
}

// Position is where the database is, read in one statement.
func (v view) Position(ctx context.Context) (drift.Position, error) {
	var p drift.Position
	row := v.at(ctx).Raw(`SELECT c.audit, c.outbox, l.epoch,
		COALESCE((SELECT a.link FROM audit_events AS a WHERE a.seq = c.audit), '') AS link,
		COALESCE((SELECT s.value FROM settings AS s WHERE s.name = ?), '') AS database_id
		FROM counters AS c, leadership AS l WHERE c.id = 1 AND l.id = 1`, databaseID).Row()
	err := row.Scan(&p.Audit, &p.Outbox, &p.Epoch, &p.Link, &p.Database)
	if err == nil && p.Database == "" {
		err = errors.New("the database has no id: it was not migrated by this program")
	}
	return p, failure(err)
}

// Link is the hash of the audit event of a number; "" for none.
func (v view) Link(ctx context.Context, seq int64) (string, error) {
	var link string
	err := v.at(ctx).Raw("SELECT link FROM audit_events WHERE seq = ?", seq).Scan(&link).Error
	return link, failure(err)
}

// Holds are the clusters in which nothing is done, by name.
func (v view) Holds(ctx context.Context) ([]drift.Hold, error) {
	rows, err := all[holdRow](v.at(ctx).Order("cluster"))
	return each(rows, toHold), err
}

// SaveHold begins a hold and writes the events; where there is one it does nothing. Grants under way end first.
func (s *Store) SaveHold(ctx context.Context, h drift.Hold, events ...audit.Event) error {
	row := holdRow{Cluster: h.Cluster, Since: timestampOf(h.Since), Cause: string(h.Cause), Checkpoint: doc(h.Checkpoint),
		Position: doc(h.Database)}
	if err := writable(&row); err != nil {
		return err
	}
	return s.exclusively(ctx, "hold", func(t *tx) error {
		done := t.at(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		t.changed(live.Change{Topic: live.TopicDifference, ID: h.Cluster})
		return t.Append(ctx, events...)
	})
}

// EndHold lets work in a cluster go on and writes the events; where there is no hold it does nothing.
func (s *Store) EndHold(ctx context.Context, cluster string, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		ended, err := t.EndHold(ctx, cluster)
		if err != nil || !ended {
			return err
		}
		return t.Append(ctx, events...)
	})
}

// Differences lists what databases and clusters do not agree on, as the leader saw it last.
func (v view) Differences(ctx context.Context) ([]drift.Difference, error) {
	rows, err := all[differenceRow](v.at(ctx).Order("cluster, id"))
	return each(rows, toDifference), err
}

// SaveDifferences replaces what is known of a cluster, and writes only what changed. A decision stays with its
// difference; one to adopt is void when what was adopted still is not what the cluster has.
func (s *Store) SaveDifferences(ctx context.Context, cluster string, found []drift.Difference) error {
	return s.write(ctx, func(t *tx) error {
		rows, err := all[differenceRow](t.at(ctx).Where("cluster = ?", cluster))
		if err != nil {
			return err
		}
		known := map[string]differenceRow{}
		for _, r := range rows {
			known[r.ID] = r
		}
		changed := false
		for _, d := range found {
			was, there := known[d.ID]
			delete(known, d.ID)
			if there && was.Version == d.Version {
				continue
			}
			if err := t.saveDifference(ctx, carried(d, was)); err != nil {
				return err
			}
			changed = true
		}
		for id := range known {
			if err := t.at(ctx).Exec("DELETE FROM differences WHERE id = ?", id).Error; err != nil {
				return err
			}
			changed = true
		}
		if changed {
			t.changed(live.Change{Topic: live.TopicDifference, ID: cluster})
		}
		return nil
	})
}

func carried(d drift.Difference, was differenceRow) differenceRow {
	row := fromDifference(d)
	if was.ID == "" {
		return row
	}
	row.FoundAt = was.FoundAt
	if was.Decision != string(drift.Adopt) {
		row.Decision, row.DecidedBy, row.DecidedName = was.Decision, was.DecidedBy, was.DecidedName
		row.DecidedAt = was.DecidedAt
	}
	return row
}

func (t *tx) saveDifference(ctx context.Context, row differenceRow) error {
	if err := writable(&row); err != nil {
		return err
	}
	return t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error
}

// DecideDifferences runs fn in one transaction that no grant runs beside. Holds do not bind it.
func (s *Store) DecideDifferences(ctx context.Context, fn func(drift.Tx) error) error {
	return s.exclusively(ctx, "difference", func(t *tx) error {
		t.held = nil
		return fn(t)
	})
}

// Difference gives one difference.
func (v view) Difference(ctx context.Context, id string) (drift.Difference, error) {
	row, err := one[differenceRow](v.at(ctx).Where("id = ?", id), i18n.T("drift.not_found"))
	return toDifference(row), err
}

// SaveDecision writes what was decided about a difference, and counts it with the hold of its cluster.
func (t *tx) SaveDecision(ctx context.Context, d drift.Difference) error {
	t.changed(live.Change{Topic: live.TopicDifference, ID: d.Cluster})
	err := t.at(ctx).Exec("UPDATE cluster_holds SET decided = decided + 1 WHERE cluster = ?", d.Cluster).Error
	if err != nil {
		return failure(err)
	}
	return failure(t.saveDifference(ctx, fromDifference(d)))
}

// EndHold lets work in a cluster go on; false where there was no hold.
func (t *tx) EndHold(ctx context.Context, cluster string) (bool, error) {
	done := t.at(ctx).Exec("DELETE FROM cluster_holds WHERE cluster = ?", cluster)
	if done.Error != nil || done.RowsAffected == 0 {
		return false, failure(done.Error)
	}
	t.changed(live.Change{Topic: live.TopicDifference, ID: cluster})
	return true, nil
}

// ForgetVolume takes the row of storage away and ends its meter. Its claim is nobody's concern then.
func (t *tx) ForgetVolume(ctx context.Context, name string) error {
	var gone []volumeRow
	if err := t.at(ctx).Raw("DELETE FROM volumes WHERE name = ? RETURNING *", name).Scan(&gone).Error; err != nil {
		return failure(err)
	}
	for _, row := range gone {
		t.changed(volumeChange(row))
		if err := t.endMeter(ctx, row.Name); err != nil {
			return err
		}
	}
	return nil
}

// CloseMeter ends the open interval of a workload, if there is one.
func (t *tx) CloseMeter(ctx context.Context, id workload.ID, at usage.Interval) error {
	return failure(t.closeInterval(ctx, id, at))
}

// loadHolds reads in which clusters nothing may be granted; the caller is the only one that grants.
func (t *tx) loadHolds(ctx context.Context) error {
	rows, err := all[holdRow](t.at(ctx))
	if err != nil {
		return err
	}
	for _, r := range rows {
		if t.held == nil {
			t.held = map[string]bool{}
		}
		t.held[r.Cluster] = true
	}
	return nil
}

// ClusterHeld says whether nothing is granted in a cluster.
func (v view) ClusterHeld(ctx context.Context, cluster string) (bool, error) {
	var n int64
	err := holdsOf.into(ctx, v, []any{&n}, cluster)
	return n > 0, err
}

var holdsOf = asked[holdRow](func(db *gorm.DB) *gorm.DB {
	return db.Raw("SELECT count(*) FROM cluster_holds WHERE cluster = ?", "")
})

// unheld refuses a spec for a cluster in which nothing is done: what is granted now would rest on a state of the past.
func (t *tx) unheld(cluster string) error {
	if !t.held[cluster] {
		return nil
	}
	return fault.New(fault.Unavailable, i18n.T("drift.held", "Cluster", cluster))
}

// mayAsk refuses new requests for a cluster that is held. What was asked before can be withdrawn, rejected, or expire.
func (t *tx) mayAsk(r request.Request) error {
	if r.Version > 0 && r.State != request.Approved {
		return nil
	}
	return t.unheld(r.Spec.Cluster)
}
