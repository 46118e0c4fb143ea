package store

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

var _ embed.Store = (*Store)(nil)

type embedRow struct {
	ID        string `gorm:"primaryKey"`
	Panel     string
	Subject   string
	Title     string
	Theme     string
	Person    string
	CreatedAt timestamp `gorm:"autoCreateTime:false"`
	ExpiresAt timestamp
}

func (embedRow) TableName() string { return "embeds" }

func toEmbed(row embedRow) embed.Embed {
	return embed.Embed{ID: row.ID, Panel: embed.Panel(row.Panel), Subject: row.Subject, Title: row.Title,
		Theme: embed.Theme(row.Theme), Person: identity.PersonID(row.Person), CreatedAt: row.CreatedAt.time(),
		ExpiresAt: row.ExpiresAt.time()}
}

// Embed gives an embed by its id. Whether it still shows anything is for the caller to say.
func (v view) Embed(ctx context.Context, id string) (embed.Embed, error) {
	row, err := one[embedRow](v.at(ctx).Where("id = ?", id), i18n.T("embed.not_found"))
	return toEmbed(row), err
}

// EmbedsOf lists those of a person, newest first.
func (v view) EmbedsOf(ctx context.Context, person identity.PersonID) ([]embed.Embed, error) {
	rows, err := all[embedRow](v.at(ctx).Where("person = ?", string(person)).Order("created_at DESC, id DESC"))
	return each(rows, toEmbed), err
}

// CreateEmbed keeps a new embed, with the event that says so. Conflict when its person has so many already that had not
// ended when it was made.
func (s *Store) CreateEmbed(ctx context.Context, e embed.Embed, most int, event audit.Event) error {
	row := embedRow{ID: e.ID, Panel: string(e.Panel), Subject: e.Subject, Title: e.Title, Theme: string(e.Theme),
		Person: string(e.Person), CreatedAt: timestampOf(e.CreatedAt), ExpiresAt: timestampOf(e.ExpiresAt)}
	return s.write(ctx, func(t *tx) error {
		var have int64
		if err := t.at(ctx).Model(&embedRow{}).Where("person = ? AND expires_at > ?", string(e.Person),
			timestampOf(e.CreatedAt)).Count(&have).Error; err != nil {
			return err
		}
		if have >= int64(most) {
			return fault.New(fault.Conflict, i18n.T("embed.too_many", "Most", most))
		}
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		return t.Append(ctx, event)
	})
}

// RevokeEmbed ends an embed permanently, with the event that says so. NotFound when it is not this person's.
func (s *Store) RevokeEmbed(ctx context.Context, person identity.PersonID, id string, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Where("id = ? AND person = ?", id, string(person)).Delete(&embedRow{})
		if done.Error == nil && done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("embed.not_found"))
		}
		if done.Error != nil {
			return done.Error
		}
		return t.Append(ctx, event)
	})
}
