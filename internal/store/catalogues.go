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

type catalogueRow struct {
	Version    int64 `gorm:"primaryKey;autoIncrement:false"`
	Text       string
	Author     string
	AuthorName string
	Note       document[i18n.Text]
	CreatedAt  moment `gorm:"autoCreateTime:false"`
}

func (catalogueRow) TableName() string { return "catalogues" }

func toRevision(row catalogueRow) offer.Revision {
	return offer.Revision{Version: row.Version, Text: row.Text, Author: identity.PersonID(row.Author),
		Name: row.AuthorName, Note: row.Note.is, At: row.CreatedAt.time()}
}

// LatestCatalogue gives the revision that counts; NotFound while there is none.
func (v view) LatestCatalogue(ctx context.Context) (offer.Revision, error) {
	row, err := one[catalogueRow](v.at(ctx).Order("version DESC"), i18n.T("store.no_catalogue"))
	return toRevision(row), err
}

// Catalogue gives one revision.
func (v view) Catalogue(ctx context.Context, version int64) (offer.Revision, error) {
	row, err := one[catalogueRow](v.at(ctx).Where("version = ?", version), i18n.T("store.no_catalogue"))
	return toRevision(row), err
}

// Catalogues lists revisions without their texts, newest first.
func (v view) Catalogues(ctx context.Context, before int64, limit int) ([]offer.Revision, error) {
	query := v.at(ctx).Select("version", "author", "author_name", "note", "created_at").Order("version DESC").Limit(
		pageSize(limit))
	if before > 0 {
		query = query.Where("version < ?", before)
	}
	rows, err := all[catalogueRow](query)
	return each(rows, toRevision), err
}

// SaveCatalogue keeps a revision that follows the newest one. Of two that follow the same one the second loses: the
// version is the primary key.
func (s *Store) SaveCatalogue(ctx context.Context, r offer.Revision, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		newest, err := t.LatestCatalogue(ctx)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if r.Version != newest.Version+1 {
			return lostRace()
		}
		row := catalogueRow{Version: r.Version, Text: r.Text, Author: string(r.Author), AuthorName: r.Name, Note: doc(r.Note),
			CreatedAt: momentOf(r.At)}
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		t.changed(live.Change{Topic: "catalogue", ID: strconv.FormatInt(r.Version, 10)})
		return t.Append(ctx, events...)
	})
}

type useRow struct {
	Size  shared[catalog.Size]
	Image shared[catalog.Image]
	Count int
}

// UseOfCatalogue counts living workloads by the size and image that they froze.
func (v view) UseOfCatalogue(ctx context.Context) ([]offer.Use, error) {
	var rows []useRow
	err := v.at(ctx).Raw("SELECT size, image, count(*) AS count FROM workloads WHERE state <> 'ended' GROUP BY size, " +
		"image").Scan(&rows).Error
	return each(rows, func(r useRow) offer.Use { return offer.Use{Size: r.Size.is, Image: r.Image.is, Count: r.Count} }),
		failure(err)
}
