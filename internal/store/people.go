package store

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

type personRow struct {
	ID         string `gorm:"primaryKey"`
	Issuer     string
	Subject    string
	Name       string
	Email      string
	GroupNames document[[]string]
	SeenAt     moment
	Disabled   bool
	RefusedAt  moment // by the provider, until the next sign-in
}

func (personRow) TableName() string { return "people" }

func toPerson(row personRow) identity.Person {
	return identity.Person{
		ID: identity.PersonID(row.ID), Issuer: row.Issuer, Subject: row.Subject, Name: row.Name, Email: row.Email,
		Groups: row.GroupNames.is,
		SeenAt: row.SeenAt.time(), Disabled: row.Disabled || row.RefusedAt.Valid,
	}
}

// SavePerson writes down what the sign-in provider said of someone. Whether they are disabled is taken from a new
// person only: signing in must not undo what SetDisabled did. What RefusePerson did it does undo: that was the
// provider's word too.
func (s *Store) SavePerson(ctx context.Context, p identity.Person) error {
	row := personRow{ID: string(p.ID), Issuer: p.Issuer, Subject: p.Subject, Name: p.Name, Email: p.Email,
		GroupNames: doc(p.Groups),
		SeenAt:     momentOf(p.SeenAt), Disabled: p.Disabled}
	return s.write(ctx, func(t *tx) error {
		if err := writable(&row); err != nil {
			return err
		}
		if err := t.tellGroups(ctx, row.ID, p.Groups); err != nil {
			return err
		}
		return t.at(ctx).Exec(
			`INSERT INTO people (id, issuer, subject, name, email, group_names, seen_at, disabled) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email, group_names = excluded.group_names, seen_at = excluded.seen_at,
			refused_at = NULL`,
			row.ID, row.Issuer, row.Subject, row.Name, row.Email, row.GroupNames, row.SeenAt, row.Disabled).Error
	})
}

// tellGroups tells open pages, which were built with the roles of before, when these are other groups.
func (t *tx) tellGroups(ctx context.Context, person string, groups []string) error {
	known, err := all[personRow](t.at(ctx).Select("group_names").Where("id = ?", person))
	if err == nil && len(known) > 0 && !slices.Equal(known[0].GroupNames.is, groups) {
		t.changed(live.Change{Topic: "session", Person: person})
	}
	return err
}

// setGroups writes the groups that someone is in now.
func (t *tx) setGroups(ctx context.Context, person string, groups []string) error {
	if err := t.tellGroups(ctx, person, groups); err != nil {
		return err
	}
	row := personRow{GroupNames: doc(groups)}
	if err := writable(&row); err != nil {
		return err
	}
	return t.at(ctx).Exec("UPDATE people SET group_names = ? WHERE id = ?", row.GroupNames, person).Error
}

// RefusePerson shuts someone out for whom the provider no longer stands, until it signs them in again, and ends their
// sessions, with the event that says so.
func (s *Store) RefusePerson(ctx context.Context, id identity.PersonID, why audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE people SET refused_at = ? WHERE id = ? AND refused_at IS NULL", momentOf(why.At),
			string(id))
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		t.changed(live.Change{Topic: "session", Person: string(id)}) // for tokens, which are not deleted
		if err := t.endSessions(ctx, "person = ?", string(id)); err != nil {
			return err
		}
		return t.Append(ctx, why)
	})
}

// Person gives someone by id.
func (v view) Person(ctx context.Context, id identity.PersonID) (identity.Person, error) {
	row, err := one[personRow](v.at(ctx).Where("id = ?", string(id)), i18n.T("store.no_person"))
	return toPerson(row), err
}

// PersonByIssuerSubject gives someone by what the sign-in provider calls them.
func (v view) PersonByIssuerSubject(ctx context.Context, issuer, subject string) (identity.Person, error) {
	row, err := one[personRow](v.at(ctx).Where("issuer = ? AND subject = ?", issuer, subject), i18n.T("store.no_person"))
	return toPerson(row), err
}

// SetDisabled shuts someone out or lets them in again; shutting out ends their sessions as well.
func (s *Store) SetDisabled(ctx context.Context, id identity.PersonID, disabled bool) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE people SET disabled = ? WHERE id = ?", disabled, string(id))
		if done.Error != nil || done.RowsAffected == 0 || !disabled {
			return done.Error
		}
		t.changed(live.Change{Topic: "session", Person: string(id)}) // for tokens, which are not deleted
		return t.endSessions(ctx, "person = ?", string(id))
	})
}
