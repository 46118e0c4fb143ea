package store

import (
	"context"
	"strconv"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

var _ policy.Store = (*Store)(nil)

type rulesRow struct {
	Version    int64 `gorm:"primaryKey;autoIncrement:false"`
	Text       string
	Author     string
	AuthorName string
	Note       document[i18n.Text]
	CreatedAt  timestamp `gorm:"autoCreateTime:false"`
}

func (rulesRow) TableName() string { return "rules" }

func toRules(row rulesRow) policy.Revision {
	return policy.Revision{Version: row.Version, Text: row.Text, Author: identity.PersonID(row.Author),
		AuthorName: row.AuthorName, Note: row.Note.is, At: row.CreatedAt.time()}
}

// LatestRules gives the revision that counts; NotFound while there is none.
func (v view) LatestRules(ctx context.Context) (policy.Revision, error) {
	row, err := one[rulesRow](v.at(ctx).Order("version DESC"), i18n.T("store.no_rules"))
	return toRules(row), err
}

// RulesAt gives one revision.
func (v view) RulesAt(ctx context.Context, version int64) (policy.Revision, error) {
	row, err := one[rulesRow](v.at(ctx).Where("version = ?", version), i18n.T("store.no_rules"))
	return toRules(row), err
}

// RulesRevisions lists revisions without their texts, newest first.
func (v view) RulesRevisions(ctx context.Context, before int64, limit int) ([]policy.Revision, error) {
	query := v.at(ctx).Select("version", "author", "author_name", "note", "created_at").Order("version DESC").Limit(
		pageSize(limit))
	if before > 0 {
		query = query.Where("version < ?", before)
	}
	rows, err := all[rulesRow](query)
	return each(rows, toRules), err
}

// SaveRules keeps a revision that follows the newest one. Of two that follow the same one the second loses: the version
// is the primary key.
func (s *Store) SaveRules(ctx context.Context, r policy.Revision, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		newest, err := t.LatestRules(ctx)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if r.Version != newest.Version+1 {
			return lostRace()
		}
		row := rulesRow{Version: r.Version, Text: r.Text, Author: string(r.Author), AuthorName: r.AuthorName,
			Note:      doc(r.Note),
			CreatedAt: timestampOf(r.At)}
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		t.changed(live.Change{Topic: live.TopicRules, ID: strconv.FormatInt(r.Version, 10)})
		return t.Append(ctx, events...)
	})
}
