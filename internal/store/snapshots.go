package store

import (
	"context"
	"errors"
	"sync"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

type snapshotRow struct {
	Cluster  string `gorm:"primaryKey"`
	TakenAt  timestamp
	Revision int64 // counts the saves
	Data     document[inventory.Snapshot]
}

func (snapshotRow) TableName() string { return "snapshots" }

// snapshots keeps the last snapshot of each cluster as a value: one of a thousand nodes takes milliseconds to decode,
// and every request asks for it.
type snapshotCache struct {
	mu   sync.Mutex
	last map[string]keptSnapshot
}

type keptSnapshot struct {
	snapshotRow
	at int64 // a number of the outbox after which it was the newest; 0: not known
}

func (p *snapshotCache) get(cluster string) (keptSnapshot, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	row, ok := p.last[cluster]
	return row, ok
}

func (p *snapshotCache) keep(kept keptSnapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[string]keptSnapshot{}
	}
	p.last[kept.Cluster] = kept
}

// newest notes after which number one that is kept was still the newest.
func (p *snapshotCache) newest(was keptSnapshot, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if is := p.last[was.Cluster]; is.Revision == was.Revision {
		is.at = at
		p.last[was.Cluster] = is
	}
}

// SaveSnapshot keeps the newest snapshot of a cluster; one that was taken earlier changes nothing.
func (s *Store) SaveSnapshot(ctx context.Context, taken inventory.Snapshot) error {
	taken.TakenAt = exact(taken.TakenAt)
	return s.write(ctx, func(t *tx) error {
		row := snapshotRow{Cluster: taken.Cluster, TakenAt: timestampOf(taken.TakenAt), Data: doc(taken)}
		if err := writable(&row); err != nil {
			return err
		}
		done := t.at(ctx).Exec(`INSERT INTO snapshots (cluster, taken_at, revision, data) VALUES (?, ?, 1, ?)
			ON CONFLICT (cluster) DO UPDATE SET taken_at = excluded.taken_at, revision = snapshots.revision + 1,
				data = excluded.data
			WHERE snapshots.taken_at <= excluded.taken_at`, row.Cluster, row.TakenAt, row.Data)
		if done.Error == nil && done.RowsAffected > 0 {
			t.changed(live.Change{Topic: live.TopicInventory, ID: taken.Cluster})
		}
		return done.Error
	})
}

// Snapshot gives the last snapshot of a cluster; ok is false while there is none, and when the database is away and
// nothing was read before: then nothing is known. The value is shared, so callers only read it.
func (s *Store) Snapshot(ctx context.Context, cluster string) (inventory.Snapshot, bool) {
	taken, err := s.snapshot(ctx, cluster)
	switch {
	case err == nil:
		return taken, true
	case errors.Is(err, gorm.ErrRecordNotFound):
		return inventory.Snapshot{}, false
	}
	if !errors.Is(err, context.Canceled) {
		s.opts.Log.WarnContext(ctx, "inventory could not be read, the last known one is used", "cluster", cluster, "error",
			err)
	}
	known, ok := s.snapshots.get(cluster)
	return known.Data.is, ok // it carries its age
}

var snapshotRevision = asked[snapshotRow](func(db *gorm.DB) *gorm.DB {
	return db.Raw("SELECT revision FROM snapshots WHERE cluster = ?", "")
})

// snapshot reads the row only when it is not the one that was read before. Each newer one counts the outbox on, and so
// does the end of a cluster: in one moment the number says enough, which is asked for once.
func (s *Store) snapshot(ctx context.Context, cluster string) (_ inventory.Snapshot, err error) {
	var now int64
	noted := live.OneMoment(ctx)
	if noted {
		if now, err = s.LastChange(ctx); err != nil {
			return inventory.Snapshot{}, err
		}
	}
	known, ok := s.snapshots.get(cluster)
	if ok && noted && known.at == now {
		return known.Data.is, nil
	}
	var revision int64
	err = snapshotRevision.into(ctx, s.view, []any{&revision}, cluster)
	switch {
	case err != nil:
		return inventory.Snapshot{}, err
	case revision == 0:
		return inventory.Snapshot{}, gorm.ErrRecordNotFound
	case ok && known.Revision == revision:
		if noted {
			s.snapshots.newest(known, now)
		}
		return known.Data.is, nil
	}
	var row snapshotRow
	if err := s.at(ctx).Where("cluster = ?", cluster).Take(&row).Error; err != nil {
		return inventory.Snapshot{}, err
	}
	s.snapshots.keep(keptSnapshot{row, now})
	return row.Data.is, nil
}
