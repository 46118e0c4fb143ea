package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

var _ usage.PriceStore = (*Store)(nil)

type priceRow struct {
	ID              string `gorm:"primaryKey"`
	Kind            string
	Subject         string
	Tenant          string
	UnitPriceMillis int64
	FromAt          timestamp
	UntilAt         timestamp
	Author          string
	AuthorName      string
	CreatedAt       timestamp `gorm:"autoCreateTime:false"`
}

func (priceRow) TableName() string { return "prices" }

func fromPrice(p usage.Price) priceRow {
	return priceRow{ID: p.ID, Kind: string(p.Kind), Subject: p.Subject, Tenant: p.Tenant, UnitPriceMillis: int64(p.Rate),
		FromAt: timestampOf(p.From), UntilAt: timestampOf(p.Until),
		Author: p.Author, AuthorName: p.AuthorName, CreatedAt: timestampOf(p.At)}
}

func toPrice(row priceRow) usage.Price {
	return usage.Price{ID: row.ID, Kind: usage.PriceKind(row.Kind), Subject: row.Subject, Tenant: row.Tenant,
		Rate: usage.UnitPrice(row.UnitPriceMillis), From: row.FromAt.time(),
		Until: row.UntilAt.time(), Author: row.Author, AuthorName: row.AuthorName, At: row.CreatedAt.time()}
}

var priceChange = live.Change{Topic: live.TopicPrices}

// Prices is the whole list, what is over too: earlier statements rest on it.
func (v view) Prices(ctx context.Context) (usage.PriceList, error) {
	rows, err := all[priceRow](v.at(ctx).Order("created_at, id"))
	return each(rows, toPrice), err
}

// SavePrices adds entries to the list, all or none.
func (s *Store) SavePrices(ctx context.Context, prices []usage.Price, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		for _, p := range prices {
			row := fromPrice(p)
			if err := insert(t.at(ctx), &row); err != nil {
				return err
			}
		}
		t.changed(priceChange)
		return t.Append(ctx, events...)
	})
}

// EndPrice ends an entry that has not ended before that moment; one that has not begun never will. NotFound for any
// other.
func (s *Store) EndPrice(ctx context.Context, id string, until time.Time, events ...audit.Event) error {
	if !clean(id) {
		return fault.New(fault.NotFound, i18n.T("prices.not_found"))
	}
	return s.write(ctx, func(t *tx) error {
		end := timestampOf(until)
		done := t.at(ctx).Exec("UPDATE prices SET until_at = CASE WHEN from_at > ? THEN from_at ELSE ? END WHERE id = ? "+
			"AND (until_at IS NULL OR until_at > ?)", end, end, id, end)
		if done.Error != nil {
			return done.Error
		}
		if done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("prices.not_found"))
		}
		t.changed(priceChange)
		return t.Append(ctx, events...)
	})
}
