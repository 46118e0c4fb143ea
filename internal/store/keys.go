package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var _ endpointkey.Store = (*Store)(nil)

type keyRow struct {
	ID                string `gorm:"primaryKey"`
	Workload          string
	Name              string
	SecretHash        string
	FormerHash        string
	FormerUntil       timestamp
	RequestsPerMinute int
	TokensPerMinute   int
	Concurrency       int
	CreatedBy         string
	CreatorName       string
	CreatedAt         timestamp `gorm:"autoCreateTime:false"`
	RotatedAt         timestamp
	ExpiresAt         timestamp
	LastUsedAt        timestamp
	RevokedAt         timestamp
}

func (keyRow) TableName() string { return "endpoint_keys" }

func toKey(row keyRow) endpointkey.Key {
	return endpointkey.Key{ID: row.ID, Workload: workload.ID(row.Workload), Name: row.Name, SecretHash: row.SecretHash,
		FormerHash: row.FormerHash, FormerUntil: row.FormerUntil.time(),
		Limits: endpointkey.Limits{RequestsPerMinute: row.RequestsPerMinute, TokensPerMinute: row.TokensPerMinute,
			Concurrency: row.Concurrency},
		CreatedBy: identity.PersonID(row.CreatedBy), CreatorName: row.CreatorName, CreatedAt: row.CreatedAt.time(),
		RotatedAt: row.RotatedAt.time(), ExpiresAt: row.ExpiresAt.time(), LastUsedAt: row.LastUsedAt.time(),
		RevokedAt: row.RevokedAt.time()}
}

func fromKey(k endpointkey.Key) keyRow {
	return keyRow{ID: k.ID, Workload: string(k.Workload), Name: k.Name, SecretHash: k.SecretHash, FormerHash: k.FormerHash,
		FormerUntil: timestampOf(k.FormerUntil), RequestsPerMinute: k.Limits.RequestsPerMinute,
		TokensPerMinute: k.Limits.TokensPerMinute, Concurrency: k.Limits.Concurrency, CreatedBy: string(k.CreatedBy),
		CreatorName: k.CreatorName, CreatedAt: timestampOf(k.CreatedAt), RotatedAt: timestampOf(k.RotatedAt),
		ExpiresAt: timestampOf(k.ExpiresAt), LastUsedAt: timestampOf(k.LastUsedAt), RevokedAt: timestampOf(k.RevokedAt)}
}

// keyEndpointRow is a further endpoint of a key.
type keyEndpointRow struct {
	KeyID    string `gorm:"primaryKey"`
	Workload string `gorm:"primaryKey"`
}

func (keyEndpointRow) TableName() string { return "endpoint_key_endpoints" }

// EndpointKey gives a key by its id. Whether it opens anything is for the caller to say.
func (v view) EndpointKey(ctx context.Context, id string) (endpointkey.Key, error) {
	row, err := one[keyRow](v.at(ctx).Where("id = ?", id), i18n.T("keys.not_found"))
	if err != nil {
		return endpointkey.Key{}, err
	}
	further, err := all[keyEndpointRow](v.at(ctx).Where("key_id = ?", id).Order("workload"))
	k := toKey(row)
	for _, e := range further {
		k.Also = append(k.Also, workload.ID(e.Workload))
	}
	return k, err
}

// opensEndpoint is a condition on endpoint_keys, of an endpoint twice.
const opensEndpoint = "revoked_at IS NULL AND (workload = ? OR id IN " +
	"(SELECT key_id FROM endpoint_key_endpoints WHERE workload = ?))"

// EndpointKeys lists the keys that open an endpoint but those that were revoked, newest first.
func (v view) EndpointKeys(ctx context.Context, id workload.ID) ([]endpointkey.Key, error) {
	rows, err := all[keyRow](v.at(ctx).Where(opensEndpoint, string(id), string(id)).Order("created_at DESC, id DESC"))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	further, err := all[keyEndpointRow](v.at(ctx).Where("key_id IN (SELECT id FROM endpoint_keys WHERE "+opensEndpoint+
		")", string(id), string(id)).Order("workload"))
	if err != nil {
		return nil, err
	}
	also := map[string][]workload.ID{}
	for _, e := range further {
		also[e.KeyID] = append(also[e.KeyID], workload.ID(e.Workload))
	}
	return each(rows, func(row keyRow) endpointkey.Key {
		k := toKey(row)
		k.Also = also[k.ID]
		return k
	}), nil
}

// KeyLimits are the limits of a minute of the keys that open an endpoint, each value once, in order.
func (v view) KeyLimits(ctx context.Context, id workload.ID) (l endpointkey.LimitValues, err error) {
	for column, values := range map[string]*[]int{"requests_per_minute": &l.Requests, "tokens_per_minute": &l.Tokens} {
		err := v.at(ctx).Model(&keyRow{}).Where(opensEndpoint, string(id), string(id)).Where(column+" > 0").Distinct().
			Order(column).Pluck(column, values).Error
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

// CreateEndpointKey is a Conflict where the endpoint has that many already.
func (s *Store) CreateEndpointKey(ctx context.Context, k endpointkey.Key, most int, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		var have int64
		err := t.at(ctx).Model(&keyRow{}).Where("workload = ? AND revoked_at IS NULL", string(k.Workload)).Count(&have).Error
		if err != nil {
			return err
		}
		if have >= int64(most) {
			return fault.New(fault.Conflict, i18n.T("keys.too_many", "Most", most))
		}
		row := fromKey(k)
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		for _, id := range k.Also {
			if err := insert(t.at(ctx), &keyEndpointRow{KeyID: k.ID, Workload: string(id)}); err != nil {
				return err
			}
		}
		t.keysChanged(k, event)
		return t.Append(ctx, event)
	})
}

// DetachEndpointKey takes one further endpoint away from a key.
func (s *Store) DetachEndpointKey(ctx context.Context, k endpointkey.Key, id workload.ID, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		gone := t.at(ctx).Where("key_id = ? AND workload = ?", k.ID, string(id)).Delete(&keyEndpointRow{})
		if gone.Error != nil {
			return gone.Error
		}
		if gone.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("keys.not_found"))
		}
		t.keysChanged(k, event)
		return t.Append(ctx, event)
	})
}

// RotateEndpointKey keeps the new secret, unless the key was revoked or rotated since it was read.
func (s *Store) RotateEndpointKey(ctx context.Context, k endpointkey.Key, event audit.Event) error {
	return s.changeKey(ctx, k, event, "secret_hash = ?", k.FormerHash, map[string]any{"secret_hash": k.SecretHash,
		"former_hash": k.FormerHash, "former_until": timestampOf(k.FormerUntil), "rotated_at": timestampOf(k.RotatedAt),
		"expires_at": timestampOf(k.ExpiresAt)})
}

// RevokeEndpointKey ends a key permanently.
func (s *Store) RevokeEndpointKey(ctx context.Context, k endpointkey.Key, event audit.Event) error {
	return s.changeKey(ctx, k, event, "workload = ?", string(k.Workload),
		map[string]any{"revoked_at": timestampOf(k.RevokedAt)})
}

func (s *Store) changeKey(ctx context.Context, k endpointkey.Key, event audit.Event, and string, value any,
	change map[string]any) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Model(&keyRow{}).Where("id = ? AND workload = ? AND revoked_at IS NULL", k.ID,
			string(k.Workload)).Where(and, value).Updates(change)
		if done.Error != nil {
			return done.Error
		}
		if done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("keys.not_found"))
		}
		t.keysChanged(k, event)
		return t.Append(ctx, event)
	})
}

// keysChanged tells open pages and gateways.
func (t *tx) keysChanged(k endpointkey.Key, event audit.Event) {
	for _, id := range k.Endpoints() {
		t.changed(live.Change{Topic: live.TopicWorkload, ID: string(id), Tenant: event.Tenant})
	}
}

// AddKeyTraffic adds what was taken with keys to their hours.
func (s *Store) AddKeyTraffic(ctx context.Context, list []endpointkey.Traffic) error {
	return s.write(ctx, func(t *tx) error {
		for _, n := range list {
			err := t.at(ctx).Exec("INSERT INTO key_traffic (key_id, hour, workload, requests, refused, prompt_tokens, "+
				"completion_tokens, without_usage) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "+
				"ON CONFLICT (key_id, workload, hour) DO UPDATE SET "+
				"requests = key_traffic.requests + excluded.requests, refused = key_traffic.refused + excluded.refused, "+
				"prompt_tokens = key_traffic.prompt_tokens + excluded.prompt_tokens, "+
				"completion_tokens = key_traffic.completion_tokens + excluded.completion_tokens, "+
				"without_usage = key_traffic.without_usage + excluded.without_usage", n.Key, timestampOf(n.Hour),
				string(n.Workload), n.Requests,
				n.Refused, n.Usage.Prompt, n.Usage.Completion, n.WithoutUsage).Error
			if err != nil {
				return err
			}
			err = t.at(ctx).Exec("UPDATE endpoint_keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR "+
				"last_used_at < ?)", timestampOf(n.LastAt), n.Key, timestampOf(n.LastAt)).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// EndpointKeyWindow changes the running minute of a key; nobody else changes it meanwhile. Fault: Conflict when there
// is no such key.
func (s *Store) EndpointKeyWindow(ctx context.Context, key string, change func(*endpointkey.Window)) error {
	return s.write(ctx, func(t *tx) error {
		// An UPDATE locks the row, which an INSERT makes first where there is none.
		err := t.at(ctx).Exec("INSERT INTO endpoint_key_windows (key_id, requests, tokens) VALUES (?, 0, 0) "+
			"ON CONFLICT (key_id) DO UPDATE SET key_id = excluded.key_id", key).Error
		if err != nil {
			return err
		}
		var row struct {
			BeganAt          timestamp
			Requests, Tokens int
		}
		err = t.at(ctx).Raw("SELECT began_at, requests, tokens FROM endpoint_key_windows WHERE key_id = ?", key).Scan(
			&row).Error
		if err != nil {
			return err
		}
		w := endpointkey.Window{From: row.BeganAt.time(), Requests: row.Requests, Tokens: row.Tokens}
		change(&w)
		return t.at(ctx).Exec("UPDATE endpoint_key_windows SET began_at = ?, requests = ?, tokens = ? WHERE key_id = ?",
			timestampOf(w.From), w.Requests, w.Tokens, key).Error
	})
}

// Shared reports whether several portals may use the database at once: not with SQLite.
func (s *Store) Shared() bool { return !s.oneWriter() }

type trafficRow struct {
	KeyID            string
	Name             string
	RevokedAt        timestamp
	LastUsedAt       timestamp
	Requests         int
	Refused          int
	PromptTokens     int
	CompletionTokens int
	WithoutUsage     int
}

// KeyTraffic sums what was taken since a time, by key; also of revoked ones.
func (v view) KeyTraffic(ctx context.Context, id workload.ID, since time.Time) ([]endpointkey.Traffic, error) {
	var rows []trafficRow
	err := v.at(ctx).Raw("SELECT t.key_id, k.name, k.revoked_at, k.last_used_at, t.requests, t.refused, t.prompt_tokens, "+
		"t.completion_tokens, t.without_usage FROM (SELECT key_id, SUM(requests) AS requests, SUM(refused) AS refused, "+
		"SUM(prompt_tokens) AS prompt_tokens, SUM(completion_tokens) AS completion_tokens, "+
		"SUM(without_usage) AS without_usage "+
		"FROM key_traffic WHERE workload = ? AND hour >= ? GROUP BY key_id) t JOIN endpoint_keys k ON k.id = t.key_id "+
		"ORDER BY t.requests DESC, t.key_id", string(id), timestampOf(since)).Scan(&rows).Error
	return each(rows, func(r trafficRow) endpointkey.Traffic {
		return endpointkey.Traffic{Key: r.KeyID, Workload: id, Name: r.Name, Revoked: !r.RevokedAt.time().IsZero(),
			Requests: r.Requests, Refused: r.Refused, WithoutUsage: r.WithoutUsage, LastAt: r.LastUsedAt.time(),
			Usage: endpointkey.Usage{Prompt: r.PromptTokens, Completion: r.CompletionTokens}}
	}), failure(err)
}
