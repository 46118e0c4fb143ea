package store

import (
	"context"
	"strconv"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/offer"
)

var _ offer.Store = (*Store)(nil)

type catalogRow struct {
	Version    int64 `gorm:"primaryKey;autoIncrement:false"`
	Text       string
	Author     string
	AuthorName string
	Note       document[i18n.Text]
	CreatedAt  timestamp `gorm:"autoCreateTime:false"`
}

func (catalogRow) TableName() string { return "catalogs" }

func toRevision(row catalogRow) offer.Revision {
	return offer.Revision{Version: row.Version, Text: row.Text, Author: identity.PersonID(row.Author),
		AuthorName: row.AuthorName, Note: row.Note.is, At: row.CreatedAt.time()}
}

// LatestCatalog gives the revision that counts; NotFound while there is none.
func (v view) LatestCatalog(ctx context.Context) (offer.Revision, error) {
	row, err := one[catalogRow](v.at(ctx).Order("version DESC"), i18n.T("store.no_catalog"))
	return toRevision(row), err
}

// Catalog gives one revision.
func (v view) Catalog(ctx context.Context, version int64) (offer.Revision, error) {
	row, err := one[catalogRow](v.at(ctx).Where("version = ?", version), i18n.T("store.no_catalog"))
	return toRevision(row), err
}

// Catalogs lists revisions without their texts, newest first.
func (v view) Catalogs(ctx context.Context, before int64, limit int) ([]offer.Revision, error) {
	query := v.at(ctx).Select("version", "author", "author_name", "note", "created_at").Order("version DESC").Limit(
		pageSize(limit))
	if before > 0 {
		query = query.Where("version < ?", before)
	}
	rows, err := all[catalogRow](query)
	return each(rows, toRevision), err
}

// SaveCatalog keeps a revision that follows the newest one. Of two that follow the same one the second loses: the
// version is the primary key.
func (s *Store) SaveCatalog(ctx context.Context, r offer.Revision, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		newest, err := t.LatestCatalog(ctx)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if r.Version != newest.Version+1 {
			return lostRace()
		}
		row := catalogRow{Version: r.Version, Text: r.Text, Author: string(r.Author), AuthorName: r.AuthorName,
			Note:      doc(r.Note),
			CreatedAt: timestampOf(r.At)}
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		t.changed(live.Change{Topic: live.TopicCatalog, ID: strconv.FormatInt(r.Version, 10)})
		return t.Append(ctx, events...)
	})
}

type useRow struct {
	Size  shared[catalog.Size]
	Image shared[catalog.Image]
	Count int
}

// UseOfCatalog counts living workloads by the size and image that they froze.
func (v view) UseOfCatalog(ctx context.Context) ([]offer.Use, error) {
	var rows []useRow
	err := v.at(ctx).Raw("SELECT size, image, count(*) AS count FROM workloads WHERE state <> 'ended' GROUP BY size, " +
		"image").Scan(&rows).Error
	return each(rows, func(r useRow) offer.Use { return offer.Use{Size: r.Size.is, Image: r.Image.is, Count: r.Count} }),
		failure(err)
}
