package store

import (
	"context"

	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/logging"
)

var _ logging.Store = (*Store)(nil)

type logLevelRow struct {
	ID         int64 `gorm:"primaryKey;autoIncrement:false"` // 1: there is one row
	Level      string
	UntilAt    timestamp
	Author     string
	AuthorName string
	CreatedAt  timestamp `gorm:"autoCreateTime:false"`
}

func (logLevelRow) TableName() string { return "log_level" }

// LogLevel is the newest override, zero while there never was one.
func (v view) LogLevel(ctx context.Context) (logging.Override, error) {
	row, err := one[logLevelRow](v.at(ctx), i18n.T("logging.never_set"))
	if fault.Is(err, fault.NotFound) {
		return logging.Override{}, nil
	}
	return logging.Override{Level: row.Level, Until: row.UntilAt.time(), Author: identity.PersonID(row.Author),
		Name: row.AuthorName, At: row.CreatedAt.time()}, err
}

// SaveLogLevel replaces the override and tells every replica.
func (s *Store) SaveLogLevel(ctx context.Context, o logging.Override, events ...audit.Event) error {
	row := logLevelRow{ID: 1, Level: o.Level, UntilAt: timestampOf(o.Until), Author: string(o.Author), AuthorName: o.Name,
		CreatedAt: timestampOf(o.At)}
	return s.write(ctx, func(t *tx) error {
		if err := t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
			return failure(err)
		}
		t.changed(live.Change{Topic: live.TopicLogLevel})
		return t.Append(ctx, events...)
	})
}
