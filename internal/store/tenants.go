package store

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

var _ tenant.Store = (*Store)(nil)

type tenantRow struct {
	Tenant     string `gorm:"primaryKey"`
	Version    int64  `gorm:"primaryKey;autoIncrement:false"`
	Saved      document[tenant.Saved]
	Author     string
	AuthorName string
	Note       document[i18n.Text]
	CreatedAt  timestamp `gorm:"autoCreateTime:false"`
}

func (tenantRow) TableName() string { return "tenant_revisions" }

func toTenant(row tenantRow) tenant.Revision {
	return tenant.Revision{Tenant: row.Tenant, Version: row.Version, Saved: row.Saved.is,
		Author: identity.PersonID(row.Author), AuthorName: row.AuthorName,
		Note: row.Note.is, At: row.CreatedAt.time()}
}

// LatestTenants gives the newest revision of each team, by name.
func (v view) LatestTenants(ctx context.Context) ([]tenant.Revision, error) {
	rows, err := all[tenantRow](v.at(ctx).Where("version = (SELECT max(n.version) FROM tenant_revisions n WHERE " +
		"n.tenant = tenant_revisions.tenant)").Order("tenant"))
	return each(rows, toTenant), err
}

// TenantRevisions lists those of one team, newest first.
func (v view) TenantRevisions(ctx context.Context, name string, before int64, limit int) ([]tenant.Revision, error) {
	query := v.at(ctx).Where("tenant = ?", name).Order("version DESC").Limit(pageSize(limit))
	if before > 0 {
		query = query.Where("version < ?", before)
	}
	rows, err := all[tenantRow](query)
	return each(rows, toTenant), err
}

// SaveTenant keeps a revision that follows the newest one of its team. Of two that follow the same one the second
// loses: the version is in the primary key.
func (s *Store) SaveTenant(ctx context.Context, r tenant.Revision, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		newest, err := t.tenantVersion(ctx, r.Tenant)
		if err != nil {
			return err
		}
		if r.Version != newest.Version+1 {
			return lostRace()
		}
		if err := t.saveTenant(ctx, r); err != nil {
			return err
		}
		return t.Append(ctx, events...)
	})
}

// tenantVersion is the newest revision of a team; the zero one while there is none.
func (t *tx) tenantVersion(ctx context.Context, name string) (tenant.Revision, error) {
	list, err := t.TenantRevisions(ctx, name, 0, 1)
	if err != nil || len(list) == 0 {
		return tenant.Revision{Tenant: name}, err
	}
	return list[0], nil
}

func (t *tx) saveTenant(ctx context.Context, r tenant.Revision) error {
	row := tenantRow{Tenant: r.Tenant, Version: r.Version, Saved: doc(r.Saved), Author: string(r.Author),
		AuthorName: r.AuthorName, Note: doc(r.Note), CreatedAt: timestampOf(r.At)}
	if err := insert(t.at(ctx), &row); err != nil {
		return err
	}
	t.changed(live.Change{Topic: live.TopicTenant, ID: r.Tenant + "@" + strconv.FormatInt(r.Version, 10),
		Tenant: r.Tenant})
	return nil
}

type memberRow struct {
	Tenant  string `gorm:"primaryKey"`
	Person  string `gorm:"primaryKey"`
	Role    string `gorm:"primaryKey"`
	AddedBy string
	Granted document[[]identity.PersonID]
	AddedAt timestamp
}

func (memberRow) TableName() string { return "tenant_members" }

func toMember(row memberRow) tenant.Member {
	return tenant.Member{Tenant: row.Tenant, Person: identity.PersonID(row.Person), Role: identity.Role(row.Role),
		By: row.AddedBy, Granted: row.Granted.is, At: row.AddedAt.time()}
}

// Members lists who has a role in a team by hand, in a stated order.
func (v view) Members(ctx context.Context) ([]tenant.Member, error) {
	rows, err := all[memberRow](v.at(ctx).Order("tenant, person, role"))
	return each(rows, toMember), err
}

// AddMember gives a role, with the event that says so. Conflict when the person has it, or was never there.
func (s *Store) AddMember(ctx context.Context, m tenant.Member, event audit.Event) error {
	row := memberRow{Tenant: m.Tenant, Person: string(m.Person), Role: string(m.Role), AddedBy: m.By,
		Granted: doc(m.Granted), AddedAt: timestampOf(m.At)}
	err := s.write(ctx, func(t *tx) error {
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		t.memberChanged(m)
		return t.Append(ctx, event)
	})
	if clash(err) == uniqueClash {
		return fault.Wrap(fault.Conflict, err, i18n.T("store.member_already"))
	}
	return err
}

// RemoveMember takes a role that was given by hand. NotFound when nobody gave it.
func (s *Store) RemoveMember(ctx context.Context, m tenant.Member, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Where("tenant = ? AND person = ? AND role = ?", m.Tenant, string(m.Person),
			string(m.Role)).Delete(&memberRow{})
		if unwritable(done.Error) || done.Error == nil && done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("store.no_member"))
		}
		if done.Error != nil {
			return done.Error
		}
		t.memberChanged(m)
		return t.Append(ctx, event)
	})
}

// memberChanged tells the replicas of the team, and open pages of the person, which were built with the roles of
// before.
func (t *tx) memberChanged(m tenant.Member) {
	t.changed(live.Change{Topic: live.TopicTenant, ID: m.Tenant, Tenant: m.Tenant, Person: string(m.Person)})
	t.changed(live.Change{Topic: live.TopicSession, Person: string(m.Person)})
}

// People lists those who have signed in, by name. What is searched for is a part of the name or the e-mail address, in
// any letter case that the database knows of.
func (v view) People(ctx context.Context, search string, limit int) ([]identity.Person, error) {
	people, _, err := v.peoplePage(ctx, tenant.PeopleFilter{Text: search, Limit: limit})
	return people, err
}

// PeopleIn lists those who have signed in and are in a group of these rules, or one of these people, by name. A rule is
// the name of a group, in which "*" is any text. It is looked for in the list of groups as a whole, so that others may
// be among them.
func (v view) PeopleIn(ctx context.Context, rules []string, people []identity.PersonID, limit int) ([]identity.Person,
	error) {
	query := v.at(ctx).Where("id IN ?", each(people, func(id identity.PersonID) string { return string(id) }))
	for _, rule := range rules {
		text, err := json.Marshal(rule) // as document has it
		switch {
		case err != nil:
			return nil, err
		case strings.Contains(rule, "*"):
			query = query.Or("group_names"+likePart, strings.ReplaceAll(containing(string(text)), "*", "%"))
		default:
			query = query.Or(has(v.db, "group_names"), string(text))
		}
	}
	// An index in the order of names would lead to each row by itself, and few of them are looked for.
	rows, err := all[personRow](query.Order("name || '', id").Limit(limit))
	return each(rows, toPerson), err
}

// PeoplePage gives a page of those who have signed in, and counts all that the filter chooses.
func (v view) PeoplePage(ctx context.Context, f tenant.PeopleFilter) ([]identity.Person, int, error) {
	people, query, err := v.peoplePage(ctx, f)
	if err != nil || query == nil {
		return nil, 0, err
	}
	var total int64
	err = query.Model(&personRow{}).Count(&total).Error
	return people, int(total), failure(err)
}

// peoplePage is a page, with the query that counts.
func (v view) peoplePage(ctx context.Context, f tenant.PeopleFilter) ([]identity.Person, *gorm.DB, error) {
	if !clean(f.Text) {
		return nil, nil, nil
	}
	named := func() *gorm.DB {
		if f.Text == "" {
			return v.at(ctx)
		}
		part := containing(strings.ToLower(f.Text))
		return v.at(ctx).Where(folded(v.db, "name")+likePart+" OR "+folded(v.db, "email")+likePart, part, part)
	}
	order, way := "name", ""
	if f.BySeen {
		order = "COALESCE(seen_at, 0)"
	}
	if f.Down {
		way = " DESC"
	}
	rows, err := all[personRow](named().Order(order + way + ", id").Limit(max(0, f.Limit)).Offset(f.Offset))
	return each(rows, toPerson), named(), err
}

// TokensOfAll lists the tokens of these people, newest first.
func (v view) TokensOfAll(ctx context.Context, people []identity.PersonID) ([]identity.Token, error) {
	var tokens []identity.Token
	for len(people) > 0 { // a statement has room for so many values
		n := min(len(people), largestOne)
		ids := make([]string, n)
		for i, p := range people[:n] {
			ids[i] = string(p)
		}
		rows, err := all[tokenRow](v.at(ctx).Where("person IN ?", ids).Order("created_at DESC, id DESC"))
		if err != nil {
			return nil, err
		}
		tokens, people = append(tokens, each(rows, toToken)...), people[n:]
	}
	return tokens, nil
}

// RaiseQuota saves that a team may hold more of a size, as the next revision of the team. What was saved meanwhile
// stays, and a higher number stays higher.
func (t *tx) RaiseQuota(ctx context.Context, r request.Raise) error {
	newest, err := t.tenantVersion(ctx, r.Tenant)
	if err != nil || newest.Saved.Quota[r.Size] >= r.To {
		return err
	}
	return t.saveTenant(ctx, tenant.Revision{Tenant: r.Tenant, Version: newest.Version + 1,
		Saved: tenant.Raised(newest.Saved, r.Size, r.To), Author: r.By.Person.ID, AuthorName: r.By.Person.Name,
		Note: r.Note, At: r.At})
}
