package store

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

type personRow struct {
	ID          string `gorm:"primaryKey"`
	Issuer      string
	Subject     string
	Name        string
	Email       string
	GroupNames  document[[]string]
	SeenAt      timestamp
	RefusedAt   timestamp // by the provider, until the next sign-in
	ConfirmedAt timestamp

	DisabledAt   timestamp // by an administrator
	DisabledBy   string
	DisabledNote string

	Acknowledged list[string]
}

func (personRow) TableName() string { return "people" }

func toPerson(row personRow) identity.Person {
	return identity.Person{
		ID: identity.PersonID(row.ID), Issuer: row.Issuer, Subject: row.Subject, Name: row.Name, Email: row.Email,
		Groups: row.GroupNames.is,
		SeenAt: row.SeenAt.time(), ConfirmedAt: row.ConfirmedAt.time(), Disabled: row.DisabledAt.Valid || row.RefusedAt.Valid,
		DisabledAt: row.DisabledAt.time(), DisabledBy: row.DisabledBy, DisabledNote: row.DisabledNote,
		Acknowledged: row.Acknowledged,
	}
}

// SavePerson writes down what the sign-in provider said of someone at SeenAt. Signing in does not undo Disable. It does
// undo RefusePerson: that was the provider's word too.
func (s *Store) SavePerson(ctx context.Context, p identity.Person) error {
	row := personRow{ID: string(p.ID), Issuer: p.Issuer, Subject: p.Subject, Name: p.Name, Email: p.Email,
		GroupNames: doc(p.Groups), SeenAt: timestampOf(p.SeenAt)}
	return s.write(ctx, func(t *tx) error {
		if err := writable(&row); err != nil {
			return err
		}
		if err := t.tellGroups(ctx, row.ID, p.Groups); err != nil {
			return err
		}
		return t.at(ctx).Exec(
			`INSERT INTO people (id, issuer, subject, name, email, group_names, seen_at, confirmed_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email, group_names = excluded.group_names,
			seen_at = excluded.seen_at, confirmed_at = excluded.confirmed_at, refused_at = NULL`,
			row.ID, row.Issuer, row.Subject, row.Name, row.Email, row.GroupNames, row.SeenAt, row.SeenAt).Error
	})
}

// tellGroups tells open pages, which were built with the former roles, when these are other groups.
func (t *tx) tellGroups(ctx context.Context, person string, groups []string) error {
	known, err := all[personRow](t.at(ctx).Select("group_names").Where("id = ?", person))
	if err == nil && len(known) > 0 && !slices.Equal(known[0].GroupNames.is, groups) {
		t.changed(live.Change{Topic: live.TopicSession, Person: person})
	}
	return err
}

// SaveGroups writes what the provider said of someone at a time: the groups that they are in, and that it stands for
// them. NotFound for somebody who never signed in.
func (s *Store) SaveGroups(ctx context.Context, id identity.PersonID, groups []string, at time.Time) error {
	return s.write(ctx, func(t *tx) error { return t.saveGroups(ctx, string(id), groups, at) })
}

// EndStanding writes that the provider does not stand for someone any more, with the event that says so, so that their
// tokens are refused until it tells of them again. Nothing is written about somebody without standing.
func (s *Store) EndStanding(ctx context.Context, id identity.PersonID, why audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		ended, err := t.endStanding(ctx, "id = ?", string(id))
		if err != nil || !ended {
			return err
		}
		return t.Append(ctx, why)
	})
}

func (t *tx) endStanding(ctx context.Context, which string, args ...any) (ended bool, err error) {
	rows, err := all[personRow](t.at(ctx).Select("id").Where(which, args...).Where("confirmed_at IS NOT NULL"))
	if err != nil || len(rows) == 0 {
		return false, err
	}
	t.changed(live.Change{Topic: live.TopicSession, Person: rows[0].ID}) // for open pages and connections by token
	return true, t.at(ctx).Exec("UPDATE people SET confirmed_at = NULL WHERE id = ?", rows[0].ID).Error
}

// saveGroups keeps the latest time: answers to two sessions may be written in the other order than they were given.
func (t *tx) saveGroups(ctx context.Context, person string, groups []string, at time.Time) error {
	if err := t.tellGroups(ctx, person, groups); err != nil {
		return err
	}
	row := personRow{GroupNames: doc(groups)}
	if err := writable(&row); err != nil {
		return err
	}
	done := t.at(ctx).Exec("UPDATE people SET group_names = ?, confirmed_at = CASE WHEN confirmed_at > ? THEN "+
		"confirmed_at ELSE ? END "+
		"WHERE id = ?", row.GroupNames, timestampOf(at), timestampOf(at), person)
	if done.Error == nil && done.RowsAffected == 0 {
		return fault.New(fault.NotFound, i18n.T("store.no_person"))
	}
	return done.Error
}

// mostAcknowledged bounds how many marks are kept: the newest.
const mostAcknowledged = 16

// Acknowledge keeps a mark of what need not be shown to someone again. NotFound for somebody who never signed in.
func (s *Store) Acknowledge(ctx context.Context, id identity.PersonID, mark string) error {
	return s.write(ctx, func(t *tx) error {
		row, err := one[personRow](t.at(ctx).Select("acknowledged").Where("id = ?", string(id)), i18n.T("store.no_person"))
		if err != nil || slices.Contains(row.Acknowledged, mark) {
			return err
		}
		row.Acknowledged = append(row.Acknowledged, mark)
		row.Acknowledged = row.Acknowledged[max(0, len(row.Acknowledged)-mostAcknowledged):]
		if err := writable(&row); err != nil {
			return err
		}
		return t.at(ctx).Exec("UPDATE people SET acknowledged = ? WHERE id = ?", row.Acknowledged, string(id)).Error
	})
}

// RefusePerson shuts someone out for whom the provider no longer stands, until it signs them in again, and ends their
// sessions, with the event that says so.
func (s *Store) RefusePerson(ctx context.Context, id identity.PersonID, why audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE people SET refused_at = ? WHERE id = ? AND refused_at IS NULL", timestampOf(why.At),
			string(id))
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		t.changed(live.Change{Topic: live.TopicSession, Person: string(id)}) // for tokens, which are not deleted
		if err := t.endSessions(ctx, "person = ?", string(id)); err != nil {
			return err
		}
		return t.Append(ctx, why)
	})
}

// Person gives someone by id.
func (v view) Person(ctx context.Context, id identity.PersonID) (identity.Person, error) {
	row, err := personByID.one(ctx, v, i18n.T("store.no_person"), string(id))
	return toPerson(row), err
}

var personByID = asked[personRow](func(db *gorm.DB) *gorm.DB { return db.Where("id = ?", "").Limit(1) })

// Disable shuts someone out until Enable and ends their sessions, with the event that says who did; nothing is written
// about somebody who is disabled. Unauthenticated when who does it was disabled meanwhile, so that two who disable each
// other do not both succeed.
func (s *Store) Disable(ctx context.Context, id identity.PersonID, note string, event audit.Event) error {
	row := personRow{ID: string(id), DisabledAt: timestampOf(event.At), DisabledBy: event.ActorName, DisabledNote: note}
	return s.write(ctx, func(t *tx) error {
		if err := writable(&row); err != nil {
			return err
		}
		if err := t.bothStand(ctx, event.Actor, id); err != nil {
			return err
		}
		done := t.at(ctx).Exec("UPDATE people SET disabled_at = ?, disabled_by = ?, disabled_note = ? WHERE id = ? AND "+
			"disabled_at IS NULL", row.DisabledAt, row.DisabledBy, row.DisabledNote, row.ID)
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		t.changed(live.Change{Topic: live.TopicSession, Person: row.ID}) // for tokens, which are not deleted
		if err := t.endSessions(ctx, "person = ?", row.ID); err != nil {
			return err
		}
		return t.Append(ctx, event)
	})
}

// bothStand locks the rows of two people, in the order of their ids whoever comes first, and refuses the first when
// they are disabled.
func (t *tx) bothStand(ctx context.Context, actor, other identity.PersonID) error {
	for _, id := range slices.Sorted(slices.Values([]identity.PersonID{actor, other})) {
		if err := t.at(ctx).Exec("UPDATE people SET seen_at = seen_at WHERE id = ?", string(id)).Error; err != nil {
			return err
		}
	}
	off, err := all[personRow](t.at(ctx).Select("id").Where("id = ? AND disabled_at IS NOT NULL", string(actor)))
	if err == nil && len(off) > 0 {
		return fault.New(fault.Unauthenticated, i18n.T("problem.sign_in_first"))
	}
	return err
}

// Enable lets someone in again whom Disable shut out, with the event that says who did; nothing is written about
// somebody who is not disabled.
func (s *Store) Enable(ctx context.Context, id identity.PersonID, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE people SET disabled_at = NULL, disabled_by = '', disabled_note = '' WHERE id = ? AND "+
			"disabled_at IS NOT NULL", string(id))
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		return t.Append(ctx, event)
	})
}
