package store

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var _ secret.Store = (*Store)(nil)

type secretRow struct {
	ID          string `gorm:"primaryKey"`
	Person      string
	Tenant      string
	Name        string
	Kind        string
	About       document[map[string]string]
	Env         list[string]
	Files       list[string]
	Sealed      string
	CreatedBy   string
	CreatorName string
	CreatedAt   timestamp `gorm:"autoCreateTime:false"`
	ReplacedAt  timestamp
	UsedAt      timestamp
	Version     int64
}

func (secretRow) TableName() string { return "secrets" }

func toSecret(row secretRow) secret.Secret {
	return secret.Secret{Owner: secret.Owner{Person: identity.PersonID(row.Person), Tenant: row.Tenant}, ID: row.ID,
		Name: row.Name, Kind: secret.Kind(row.Kind), About: row.About.is, Env: row.Env, Files: row.Files,
		Sealed: row.Sealed, CreatedBy: identity.PersonID(row.CreatedBy), CreatorName: row.CreatorName,
		CreatedAt: row.CreatedAt.time(), ReplacedAt: row.ReplacedAt.time(), UsedAt: row.UsedAt.time(), Version: row.Version}
}

func fromSecret(s secret.Secret) secretRow {
	return secretRow{ID: s.ID, Person: string(s.Person), Tenant: s.Tenant, Name: s.Name, Kind: string(s.Kind),
		About: doc(s.About), Env: s.Env, Files: s.Files, Sealed: s.Sealed, CreatedBy: string(s.CreatedBy),
		CreatorName: s.CreatorName, CreatedAt: timestampOf(s.CreatedAt), ReplacedAt: timestampOf(s.ReplacedAt),
		UsedAt: timestampOf(s.UsedAt), Version: s.Version}
}

// Secret gives one by its id. Who may see it is for the caller to say.
func (v view) Secret(ctx context.Context, id string) (secret.Secret, error) {
	row, err := one[secretRow](v.at(ctx).Where("id = ?", id), i18n.T("secrets.not_found"))
	return toSecret(row), err
}

// SecretsOf lists those of one owner, by name.
func (v view) SecretsOf(ctx context.Context, o secret.Owner) ([]secret.Secret, error) {
	if (o.Person == "") == (o.Tenant == "") {
		return nil, errors.New("secrets of nobody in particular")
	}
	rows, err := secretsOfOne.all(ctx, v, string(o.Person), o.Tenant)
	return each(rows, toSecret), err
}

var secretsOfOne = asked[secretRow](func(db *gorm.DB) *gorm.DB {
	return db.Where("person = ? AND tenant = ?", "", "").Order("name")
})

// SecretsAfter lists those of everybody in the order of their ids.
func (v view) SecretsAfter(ctx context.Context, id string, limit int) ([]secret.Secret, error) {
	rows, err := all[secretRow](v.at(ctx).Where("id > ?", id).Order("id").Limit(limit))
	return each(rows, toSecret), err
}

// WorkloadsWithSecrets lists the workloads of an owner that were asked for with secrets and have not ended.
func (v view) WorkloadsWithSecrets(ctx context.Context, o secret.Owner) ([]workload.Workload, error) {
	query := v.at(ctx).Where("tenant = ? AND state <> 'ended' AND secrets <> ''", o.Tenant)
	if !o.OfTeam() {
		query = v.at(ctx).Where("owner = ? AND state <> 'ended' AND secrets <> ''", string(o.Person))
	}
	rows, err := all[workloadRow](query.Order("created_at, id"))
	return each(rows, toWorkload), err
}

// CreateSecret is a Conflict for a name that its owner has already, and where there are so many.
func (s *Store) CreateSecret(ctx context.Context, item secret.Secret, most int, event audit.Event) error {
	row := fromSecret(item)
	row.Version = 1
	return s.write(ctx, func(t *tx) error {
		var have int64
		if err := t.at(ctx).Model(&secretRow{}).Where("person = ? AND tenant = ?", row.Person, row.Tenant).
			Count(&have).Error; err != nil {
			return err
		}
		if have >= int64(most) {
			return fault.New(fault.Conflict, i18n.T("secrets.too_many", "Most", most))
		}
		err := insert(t.at(ctx), &row)
		if clash(err) == uniqueClash {
			taken := i18n.T("secrets.name_taken", "Name", item.Name)
			return &fault.Error{Kind: fault.Conflict, Sentence: taken, Fields: []fault.Field{{Name: "name", Reason: taken}},
				Cause: err}
		}
		if err != nil {
			return err
		}
		return t.Append(ctx, event)
	})
}

// ReplaceSecret writes other values, and has the workloads with them rendered again. Conflict for a lost race.
func (s *Store) ReplaceSecret(ctx context.Context, item secret.Secret, using []workload.Workload,
	event audit.Event) error {
	return s.changeSecret(ctx, item, using, event, func(t *tx) (int64, error) {
		row := fromSecret(item)
		done := t.at(ctx).Model(&secretRow{}).Where("id = ? AND person = ? AND tenant = ? AND version = ?", row.ID,
			row.Person, row.Tenant, row.Version).Updates(map[string]any{"sealed": row.Sealed, "about": row.About,
			"replaced_at": row.ReplacedAt, "version": row.Version + 1})
		return done.RowsAffected, done.Error
	})
}

// ResealSecret writes the sealed text alone. Conflict for a lost race.
func (s *Store) ResealSecret(ctx context.Context, item secret.Secret) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE secrets SET sealed = ?, version = version + 1 WHERE id = ? AND person = ? AND "+
			"tenant = ? AND version = ?", item.Sealed, item.ID, string(item.Person), item.Tenant, item.Version)
		if done.Error == nil && done.RowsAffected == 0 {
			return lostRace()
		}
		return done.Error
	})
}

// DeleteSecret takes one away, and has the workloads with it rendered again. Conflict for a lost race.
func (s *Store) DeleteSecret(ctx context.Context, item secret.Secret, using []workload.Workload,
	event audit.Event) error {
	return s.changeSecret(ctx, item, using, event, func(t *tx) (int64, error) {
		done := t.at(ctx).Where("id = ? AND person = ? AND tenant = ? AND version = ?", item.ID, string(item.Person),
			item.Tenant, item.Version).Delete(&secretRow{})
		return done.RowsAffected, done.Error
	})
}

func (s *Store) changeSecret(ctx context.Context, item secret.Secret, using []workload.Workload, event audit.Event,
	change func(*tx) (int64, error)) error {
	return s.write(ctx, func(t *tx) error {
		changed, err := change(t)
		if err == nil && changed == 0 {
			err = lostRace()
		}
		if err != nil {
			return err
		}
		for _, w := range using {
			t.changed(live.Change{Topic: live.TopicWorkload, ID: string(w.ID), Tenant: w.Tenant, Person: string(w.Owner)})
		}
		return t.Append(ctx, event)
	})
}

// useSecrets notes when a new workload was started with secrets.
func (t *tx) useSecrets(ctx context.Context, w workload.Workload) error {
	for _, u := range w.Secrets {
		if err := t.at(ctx).Exec("UPDATE secrets SET used_at = ? WHERE id = ? AND (tenant = ? OR person = ?)",
			timestampOf(w.CreatedAt), u.ID, w.Tenant, string(w.Owner)).Error; err != nil {
			return err
		}
	}
	return nil
}
