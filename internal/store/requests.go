package store

import (
	"context"
	"database/sql/driver"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const requestList = "r"

type requestRow struct {
	ID               string `gorm:"primaryKey"`
	Kind             string
	Asker            string
	AskerName        string
	Tenant           string
	Name             string // of the workload that is asked for
	Workload         string
	State            string
	Wish             wishDocument
	Decision         document[request.Decision]
	EstimateMinor    int64
	EstimateCurrency string
	IdempotencyKey   string
	CreatedAt        moment `gorm:"autoCreateTime:false"`
	ExpiresAt        moment
	DecidedAt        moment
	Version          int64
}

func (requestRow) TableName() string { return "requests" }

// wishDocument is a wish as JSON. Its size and image are those of many others.
type wishDocument struct{ is request.Wish }

// Value writes the JSON.
func (d wishDocument) Value() (driver.Value, error) { return doc(d.is).Value() }

// Scan reads the JSON.
func (d *wishDocument) Scan(from any) error {
	var read document[struct {
		request.Wish
		Size  shared[catalog.Size]  `json:"size"`
		Image shared[catalog.Image] `json:"image"`
	}]
	if err := read.Scan(from); err != nil {
		return err
	}
	d.is = read.is.Wish
	d.is.Size, d.is.Image = read.is.Size.is, read.is.Image.is
	return nil
}

// GormDataType tells gorm that the column is text.
func (wishDocument) GormDataType() string { return "text" }

func fromRequest(r request.Request) requestRow {
	return requestRow{
		ID: string(r.ID), Kind: string(r.Kind), Asker: string(r.Asker), AskerName: r.AskerName, Tenant: r.Wish.Tenant, Name: r.Wish.Name,
		Workload: string(r.Workload), State: string(r.State), Wish: wishDocument{r.Wish}, Decision: doc(r.Decision), EstimateMinor: r.Estimate.Minor,
		EstimateCurrency: r.Estimate.Currency, IdempotencyKey: r.Key, CreatedAt: momentOf(r.CreatedAt), ExpiresAt: momentOf(r.ExpiresAt),
		DecidedAt: momentOf(r.DecidedAt), Version: r.Version,
	}
}

func toRequest(row requestRow) request.Request {
	return request.Request{
		ID: request.ID(row.ID), Kind: request.Kind(row.Kind), Asker: identity.PersonID(row.Asker), AskerName: row.AskerName, Wish: row.Wish.is,
		State: request.State(row.State), Decision: row.Decision.is, Estimate: usage.Money{Minor: row.EstimateMinor, Currency: row.EstimateCurrency},
		Workload: workload.ID(row.Workload), Key: row.IdempotencyKey, CreatedAt: row.CreatedAt.time(), ExpiresAt: row.ExpiresAt.time(),
		DecidedAt: row.DecidedAt.time(), Version: row.Version,
	}
}

// Request gives one request.
func (v view) Request(ctx context.Context, id request.ID) (request.Request, error) {
	row, err := one[requestRow](v.at(ctx).Where("id = ?", string(id)), i18n.T("request.not_found"))
	return toRequest(row), err
}

// RequestByKey gives the request that a person sent with this idempotency key. The empty key is nobody's.
func (v view) RequestByKey(ctx context.Context, asker identity.PersonID, key string) (request.Request, error) {
	query := v.at(ctx).Where("asker = ? AND idempotency_key = ? AND idempotency_key <> ''", string(asker), key)
	row, err := one[requestRow](query, i18n.T("request.not_found"))
	return toRequest(row), err
}

// Requests gives a page, newest first.
func (v view) Requests(ctx context.Context, f request.Filter) ([]request.Request, string, error) {
	limit := pageSize(f.Limit)
	query, err := newestFirst(v.at(ctx), requestList, f.Cursor, limit)
	if err != nil || none(f.Tenants) {
		return nil, "", err
	}
	if f.Asker != "" {
		query = query.Where("asker = ?", string(f.Asker))
	}
	query = among(query, "tenant", f.Tenants)
	if len(f.States) == 1 && f.States[0] == request.Pending {
		query = query.Where(pending)
	} else {
		query = among(query, "state", f.States)
	}
	rows, err := all[requestRow](query)
	if err != nil {
		return nil, "", err
	}
	rows, next := cut(rows, limit, func(r requestRow) place { return place{requestList, r.CreatedAt.Int64, r.ID} })
	return each(rows, toRequest), next, nil
}

// pending is the condition of the indexes of what waits, word for word: SQLite does not use them for a bound value.
const pending = "state = 'pending'"

// Waiting counts the requests in these tenants that wait for a decision; nil for all tenants. Those of one person, who does not decide them, are left out.
func (v view) Waiting(ctx context.Context, tenants []string, except identity.PersonID) (int, error) {
	if none(tenants) {
		return 0, nil
	}
	var n int64
	err := among(v.at(ctx).Model(&requestRow{}).Where(pending).Where("asker <> ?", string(except)), "tenant", tenants).Count(&n).Error
	return int(n), failure(err)
}

// SaveRequest inserts at Version 0 and else updates that version; the row's version is one higher afterwards.
func (t *tx) SaveRequest(ctx context.Context, r request.Request) error {
	row := fromRequest(r)
	row.Version++
	t.changed(live.Change{Topic: "request", ID: row.ID, Tenant: row.Tenant, Person: row.Asker})
	if r.Version > 0 {
		return update(t.at(ctx), &row, "id", row.ID, r.Version)
	}
	err := insert(t.at(ctx), &row)
	if clash(err) == uniqueClash {
		return fault.Wrap(fault.Conflict, err, i18n.T("store.key_in_use"))
	}
	return err
}
