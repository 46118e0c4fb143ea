package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
)

var _ notify.Store = (*Store)(nil)

const deliveryList = "n"

type deliveryRow struct {
	ID        string `gorm:"primaryKey"`
	Event     int64
	Kind      string
	Recipient string
	Person    string
	Name      string
	Address   string
	Channel   string
	Notice    document[notify.Notice]
	State     string
	Attempts  int
	NextAt    timestamp
	Problem   document[i18n.Text]
	Error     string
	CreatedAt timestamp `gorm:"autoCreateTime:false"`
	UpdatedAt timestamp `gorm:"autoUpdateTime:false"`
}

func (deliveryRow) TableName() string { return "deliveries" }

func fromDelivery(d notify.Delivery) deliveryRow {
	return deliveryRow{ID: d.ID, Event: d.Event, Kind: string(d.Kind), Recipient: d.Recipient, Person: string(d.Person),
		Name: d.Name, Address: d.Address, Channel: string(d.Channel),
		Notice: doc(d.Notice), State: string(d.State), Attempts: d.Attempts, NextAt: timestampOf(d.NextAt),
		Problem: doc(d.Problem), Error: d.Error, CreatedAt: timestampOf(d.CreatedAt), UpdatedAt: timestampOf(d.UpdatedAt)}
}

func toDelivery(r deliveryRow) notify.Delivery {
	return notify.Delivery{ID: r.ID, Event: r.Event, Kind: notify.Kind(r.Kind), Recipient: r.Recipient,
		Person: identity.PersonID(r.Person), Name: r.Name, Address: r.Address,
		Channel: notify.Channel(r.Channel), Notice: r.Notice.is, State: notify.State(r.State), Attempts: r.Attempts,
		NextAt: r.NextAt.time(), Problem: r.Problem.is, Error: r.Error,
		CreatedAt: r.CreatedAt.time(), UpdatedAt: r.UpdatedAt.time()}
}

type addressRow struct {
	ID        string `gorm:"primaryKey"`
	Channel   string
	Person    string
	Tenant    string
	Host      string
	Sealed    string
	Kinds     list[notify.Kind]
	CreatedAt timestamp `gorm:"autoCreateTime:false"`
}

func (addressRow) TableName() string { return "notice_addresses" }

func toAddress(r addressRow) notify.Address {
	return notify.Address{ID: r.ID, Channel: notify.Channel(r.Channel), Person: identity.PersonID(r.Person),
		Tenant: r.Tenant, Host: r.Host, Sealed: r.Sealed, Kinds: r.Kinds, CreatedAt: r.CreatedAt.time()}
}

type preferencesRow struct {
	Person      string `gorm:"primaryKey"`
	Preferences document[notify.Preferences]
}

func (preferencesRow) TableName() string { return "notice_preferences" }

// NotifyCursor is the number of the last event that was looked at for deliveries.
func (v view) NotifyCursor(ctx context.Context) (int64, error) {
	var seq int64
	err := v.at(ctx).Raw("SELECT seq FROM notice_cursor WHERE id = 1").Scan(&seq).Error
	return seq, failure(err)
}

// EventsAfter gives events after a number, oldest first. Numbers follow the order of commits (see flush), so whoever
// goes on from the last one misses none.
func (v view) EventsAfter(ctx context.Context, seq int64, limit int) ([]audit.Event, error) {
	rows, err := readEvents(v.at(ctx).Where("seq > ?", seq).Order("seq").Limit(limit))
	return each(rows, toEvent), err
}

// QueueDeliveries writes deliveries and moves the cursor, both or neither; false when the cursor is not where the
// caller saw it.
func (s *Store) QueueDeliveries(ctx context.Context, from, to int64, deliveries []notify.Delivery) (bool, error) {
	moved := false
	err := s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE notice_cursor SET seq = ? WHERE id = 1 AND seq = ?", to, from)
		if moved = done.RowsAffected == 1; done.Error != nil || !moved {
			return done.Error
		}
		for _, d := range deliveries {
			row := fromDelivery(d)
			if err := insert(t.at(ctx), &row); err != nil {
				return err
			}
		}
		return nil
	})
	return moved && err == nil, err
}

// DueDeliveries gives those whose time has come, also those that somebody claimed and did not bring to an end, the
// oldest first.
func (v view) DueDeliveries(ctx context.Context, now time.Time, limit int) ([]notify.Delivery, error) {
	rows, err := all[deliveryRow](v.at(ctx).Where("state IN ('due', 'sending') AND next_at <= ?",
		timestampOf(now)).Order("next_at, id").Limit(pageSize(limit)))
	return each(rows, toDelivery), err
}

// ClaimDelivery makes one the caller's until a time. Each claim counts as an attempt, so the number tells claims apart.
func (s *Store) ClaimDelivery(ctx context.Context, d notify.Delivery, until time.Time) (bool, error) {
	mine := false
	err := s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE deliveries SET state = 'sending', attempts = attempts + 1, next_at = ? WHERE id = ? "+
			"AND attempts = ? AND next_at = ? AND state IN ('due', 'sending')",
			timestampOf(until), d.ID, d.Attempts, timestampOf(d.NextAt))
		mine = done.RowsAffected == 1
		return done.Error
	})
	return mine && err == nil, err
}

// MarkDelivery writes what came of an attempt; when somebody else has begun another one since, theirs counts.
func (s *Store) MarkDelivery(ctx context.Context, d notify.Delivery) error {
	row := fromDelivery(d)
	return s.write(ctx, func(t *tx) error {
		if err := writable(&row); err != nil {
			return err
		}
		return t.at(ctx).Exec("UPDATE deliveries SET state = ?, next_at = ?, problem = ?, error = ?, updated_at = ? WHERE "+
			"id = ? AND attempts = ? AND state = 'sending'",
			row.State, row.NextAt, row.Problem, row.Error, row.UpdatedAt, row.ID, row.Attempts).Error
	})
}

// SaveDelivery writes one that follows from no event.
func (s *Store) SaveDelivery(ctx context.Context, d notify.Delivery) error {
	row := fromDelivery(d)
	return s.write(ctx, func(t *tx) error { return insert(t.at(ctx), &row) })
}

// RetryDelivery makes a failed one of an event due, with the audit event that says so. Its attempts go on counting, for
// claims are told apart by them.
func (s *Store) RetryDelivery(ctx context.Context, id string, now time.Time, event audit.Event) error {
	if !clean(id) {
		return fault.New(fault.NotFound, i18n.T("notify.not_failed"))
	}
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE deliveries SET state = 'due', next_at = ?, updated_at = ? WHERE id = ? AND state = "+
			"'failed' AND event > 0", timestampOf(now), timestampOf(now), id)
		if done.Error != nil {
			return done.Error
		}
		if done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("notify.not_failed"))
		}
		return t.Append(ctx, event)
	})
}

// Deliveries is a page of them, newest first; state "" for every one.
func (v view) Deliveries(ctx context.Context, state notify.State, cursor string,
	limit int) ([]notify.Delivery, string, error) {
	limit = pageSize(limit)
	query := v.at(ctx)
	if state != "" {
		query = query.Where("state = ?", string(state))
	}
	query, err := newestFirst(query, deliveryList, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := all[deliveryRow](query)
	rows, next := paged(rows, limit, func(r deliveryRow) cursorAt {
		return cursorAt{list: deliveryList, at: r.CreatedAt.Int64,
			id: r.ID}
	})
	return each(rows, toDelivery), next, err
}

// DeliveriesOf are those of one event, the oldest first.
func (v view) DeliveriesOf(ctx context.Context, event int64) ([]notify.Delivery, error) {
	rows, err := all[deliveryRow](v.at(ctx).Where("event = ? AND event > 0", event).Order("created_at, id"))
	return each(rows, toDelivery), err
}

// Preferences are those of everybody who chose.
func (v view) Preferences(ctx context.Context) (map[identity.PersonID]notify.Preferences, error) {
	rows, err := all[preferencesRow](v.at(ctx))
	preferences := map[identity.PersonID]notify.Preferences{}
	for _, r := range rows {
		preferences[identity.PersonID(r.Person)] = r.Preferences.is
	}
	return preferences, err
}

// PreferencesOf are one person's; the zero value of somebody who never chose.
func (v view) PreferencesOf(ctx context.Context, p identity.PersonID) (notify.Preferences, error) {
	rows, err := all[preferencesRow](v.at(ctx).Where("person = ?", string(p)))
	if err != nil || len(rows) == 0 {
		return notify.Preferences{}, err
	}
	return rows[0].Preferences.is, nil
}

// SavePreferences keeps what somebody chose, in place of what they chose before.
func (s *Store) SavePreferences(ctx context.Context, p identity.PersonID, preferences notify.Preferences) error {
	row := preferencesRow{Person: string(p), Preferences: doc(preferences)}
	return s.write(ctx, func(t *tx) error {
		if err := writable(&row); err != nil {
			return err
		}
		return t.at(ctx).Exec("INSERT INTO notice_preferences (person, preferences) VALUES (?, ?) ON CONFLICT (person) DO "+
			"UPDATE SET preferences = excluded.preferences", row.Person, row.Preferences).Error
	})
}

// Addresses are all there are, oldest first.
func (v view) Addresses(ctx context.Context) ([]notify.Address, error) {
	rows, err := all[addressRow](v.at(ctx).Order("created_at, id"))
	return each(rows, toAddress), err
}

// SaveAddress keeps an address, in place of the one with its id, with the event that says so.
func (s *Store) SaveAddress(ctx context.Context, a notify.Address, event audit.Event) error {
	row := addressRow{ID: a.ID, Channel: string(a.Channel), Person: string(a.Person), Tenant: a.Tenant, Host: a.Host,
		Sealed: a.Sealed, Kinds: a.Kinds, CreatedAt: timestampOf(a.CreatedAt)}
	return s.write(ctx, func(t *tx) error {
		if err := t.at(ctx).Exec("DELETE FROM notice_addresses WHERE id = ?", row.ID).Error; err != nil {
			return err
		}
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		return t.Append(ctx, event)
	})
}

// DeleteAddress takes an address out, with the event that says so; NotFound when it is gone already.
func (s *Store) DeleteAddress(ctx context.Context, id string, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		if _, err := one[addressRow](t.at(ctx).Where("id = ?", id), i18n.T("notify.no_address")); err != nil {
			return err
		}
		if err := t.at(ctx).Exec("DELETE FROM notice_addresses WHERE id = ?", id).Error; err != nil {
			return err
		}
		return t.Append(ctx, event)
	})
}

// Everybody who has ever signed in and is not shut out.
func (v view) Everybody(ctx context.Context) ([]identity.Person, error) {
	rows, err := all[personRow](v.at(ctx).Where("disabled_at IS NULL AND refused_at IS NULL").Order("id"))
	return each(rows, toPerson), err
}
