package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

const refusalList = "f"

type refusedRow struct {
	ID        string `gorm:"primaryKey"`
	Kind      string
	Asker     string
	AskerName string
	Tenant    string
	Spec      specDocument
	Decision  document[refusal]
	CreatedAt timestamp `gorm:"autoCreateTime:false"`
}

func (refusedRow) TableName() string { return "refusals" }

// refusal is the part that nobody selects by.
type refusal struct {
	Rule     string       `json:"rule"`
	Sentence i18n.Text    `json:"sentence"`
	Facts    policy.Facts `json:"facts"`
}

func toRefused(row refusedRow) request.Refused {
	is := row.Decision.is
	return request.Refused{ID: request.ID(row.ID), Kind: request.Kind(row.Kind), Asker: identity.PersonID(row.Asker),
		AskerName: row.AskerName, Spec: row.Spec.is, Rule: is.Rule, Sentence: is.Sentence, Facts: is.Facts,
		At: row.CreatedAt.time()}
}

// SaveRefusal keeps what was refused when it was sent, with its events.
func (s *Store) SaveRefusal(ctx context.Context, r request.Refused, events ...audit.Event) error {
	row := refusedRow{ID: string(r.ID), Kind: string(r.Kind), Asker: string(r.Asker), AskerName: r.AskerName,
		Tenant: r.Spec.Tenant, Spec: specDocument{r.Spec}, Decision: doc(refusal{r.Rule, r.Sentence, r.Facts}),
		CreatedAt: timestampOf(r.At)}
	return s.write(ctx, func(t *tx) error {
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		return t.Append(ctx, events...)
	})
}

// Refusals gives a page of what was refused when it was sent since a time, newest first.
func (v view) Refusals(ctx context.Context, since time.Time, cursor string,
	limit int) ([]request.Refused, string, error) {
	limit = pageSize(limit)
	query, err := newestFirst(v.at(ctx), refusalList, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := all[refusedRow](query.Where("created_at >= ?", timestampOf(since)))
	if err != nil {
		return nil, "", err
	}
	rows, next := paged(rows, limit, func(r refusedRow) cursorAt { return cursorAt{refusalList, r.CreatedAt.Int64, r.ID} })
	return each(rows, toRefused), next, nil
}
