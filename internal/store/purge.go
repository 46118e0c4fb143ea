package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

const (
	outboxLife   = 24 * time.Hour       // a reader that was away for longer has to load everything again
	deliveryLife = notify.Kept          // how long administrators see what was sent
	expiredLife  = 30 * 24 * time.Hour  // how long people still see a token that has expired
	trafficLife  = 400 * 24 * time.Hour // of keys, and of what was taken with them
	startLife    = 180 * 24 * time.Hour
	refusedLife  = (request.HistoryDays + 1) * 24 * time.Hour
)

// purge deletes rows from before a time.
type purge struct {
	delete string
	before time.Time
}

// PurgeOld deletes what has no more use: outbox rows after a day, sessions, codes and logout tokens at their end
// (but not with what the provider is asked about owners of API tokens and embeds), tokens and embeds
// a month after theirs, messages a month after they were sent or given up, records of starts after half a year, and
// keys of endpoints 400 days after their end, with what was taken with them, and what went through endpoints after the
// time that its steps are kept. The audit record,
// meter intervals, requests and workloads stay.
func (s *Store) PurgeOld(ctx context.Context, now time.Time) error {
	var faults []error
	for _, old := range append(trafficPurges(now), []purge{
		{"DELETE FROM outbox WHERE at < ?", now.Add(-outboxLife)},
		{"DELETE FROM refusals WHERE created_at < ?", now.Add(-refusedLife)},
		{"DELETE FROM starts WHERE requested_at < ?", now.Add(-startLife)},
		{"DELETE FROM codes WHERE expires_at < ?", now},
		{"DELETE FROM sessions WHERE ends_at < ? AND NOT (refresh_token <> '' AND " + ownsTokens + ")", now},
		{"DELETE FROM logouts WHERE expires_at < ?", now},
		{"DELETE FROM deliveries WHERE state IN ('sent', 'failed') AND updated_at < ?", now.Add(-deliveryLife)},
		{"DELETE FROM tokens WHERE expires_at < ?", now.Add(-expiredLife)},
		{"DELETE FROM embeds WHERE expires_at < ?", now.Add(-expiredLife)},
		{"DELETE FROM key_traffic WHERE hour < ?", now.Add(-trafficLife)},
		{"DELETE FROM endpoint_load WHERE last_at IS NULL OR last_at < ?", now.Add(-requestsLife)},
		{"DELETE FROM visits WHERE seen_at < ?", now.Add(-visitLife)},
		{"DELETE FROM endpoint_keys WHERE COALESCE(revoked_at, expires_at) < ?", now.Add(-trafficLife)},
	}...) {
		err := s.write(ctx, func(t *tx) error { return t.at(ctx).Exec(old.delete, timestampOf(old.before)).Error })
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", old.delete, err))
		}
	}
	return errors.Join(faults...)
}
