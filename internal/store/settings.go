package store

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

type settingRow struct {
	Name  string `gorm:"primaryKey"`
	Value string
	SetAt timestamp
}

func (settingRow) TableName() string { return "settings" }

// Setting gives a value that the portal once wrote down; NotFound when it never did.
func (v view) Setting(ctx context.Context, name string) (string, error) {
	row, err := one[settingRow](v.at(ctx).Where("name = ?", name), i18n.T("store.no_setting"))
	return row.Value, err
}

// PutSetting writes a value down if there is none and gives the one that holds, so that portals that start at once
// agree on it.
func (s *Store) PutSetting(ctx context.Context, name, value string) (string, error) {
	err := s.write(ctx, func(t *tx) error {
		_, err := t.putSetting(ctx, name, value)
		return err
	})
	if err != nil {
		return "", err
	}
	return s.Setting(ctx, name)
}

// putSetting reports whether there was none before.
func (t *tx) putSetting(ctx context.Context, name, value string) (first bool, err error) {
	row := settingRow{Name: name, Value: value, SetAt: timestampOf(t.now)}
	if err := writable(&row); err != nil {
		return false, err
	}
	done := t.at(ctx).Exec("INSERT INTO settings (name, value, set_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING",
		row.Name, row.Value, row.SetAt)
	return done.RowsAffected == 1, done.Error
}
