package store

import (
	"context"
	"math"
	"strings"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const eventList = "a"

type eventRow struct {
	Seq       int64 `gorm:"primaryKey;autoIncrement:false"`
	At        timestamp
	Kind      string
	Actor     string
	ActorName string
	Address   string
	Tenant    string
	Request   string
	Workload  string
	Volume    string
	Rule      string
	Detail    document[i18n.Text]
	Link      string

	Behalf         string
	BehalfName     string
	Via            string
	Credential     string
	CredentialName string
	Changes        list[audit.Change]
}

func (eventRow) TableName() string { return "audit_events" }

func fromEvent(seq int64, e audit.Event) eventRow {
	return eventRow{
		Seq: seq, At: timestampOf(e.At), Kind: string(e.Kind), Actor: string(e.Actor), ActorName: e.ActorName,
		Address: e.Address,
		Tenant:  e.Tenant,
		Request: e.Request, Workload: e.Workload, Volume: e.Volume, Rule: e.Rule, Detail: doc(e.Detail),
		Behalf: string(e.Behalf), BehalfName: e.BehalfName, Via: string(e.Via), Credential: e.Credential,
		CredentialName: e.CredentialName, Changes: e.Changes,
	}
}

func toEvent(row *eventRow) audit.Event {
	return audit.Event{
		Seq: row.Seq, At: row.At.time(), Kind: audit.Kind(row.Kind), Actor: identity.PersonID(row.Actor),
		ActorName: row.ActorName,
		Address:   row.Address,
		Tenant:    row.Tenant, Request: row.Request, Workload: row.Workload, Volume: row.Volume, Rule: row.Rule,
		Detail: row.Detail.is,
		Behalf: identity.PersonID(row.Behalf), BehalfName: row.BehalfName, Via: identity.Via(row.Via),
		Credential: row.Credential, CredentialName: row.CredentialName, Changes: row.Changes,
	}
}

// insertEvents writes events with the numbers after last, each linked to the one before. Nothing in this package
// changes or deletes one. The caller holds the row in counters, so that nobody else adds a link meanwhile.
func insertEvents(db *gorm.DB, events []audit.Event, last int64) error {
	if len(events) == 0 {
		return nil
	}
	var head string
	if err := db.Raw("SELECT link FROM audit_events WHERE seq = ?", last).Scan(&head).Error; err != nil {
		return err
	}
	rows := make([]eventRow, len(events))
	for i, e := range events {
		rows[i] = fromEvent(last+int64(i)+1, e)
		if err := writable(&rows[i]); err != nil {
			return err
		}
		r, err := rows[i].record()
		if err != nil {
			return err
		}
		head = r.Next(head)
		rows[i].Link = head
	}
	return db.CreateInBatches(rows, 100).Error
}

// record is the row as its link is taken over it: after writable, so that it is what the database holds.
func (row eventRow) record() (audit.Record, error) {
	detail, err := row.Detail.Value()
	if err != nil {
		return audit.Record{}, err
	}
	text, _ := detail.(string)
	changes, err := row.Changes.Value()
	if err != nil {
		return audit.Record{}, err
	}
	changed, _ := changes.(string)
	return audit.Record{Seq: row.Seq, At: row.At.Int64, Kind: row.Kind, Actor: row.Actor, ActorName: row.ActorName,
		Address: row.Address, Tenant: row.Tenant,
		Request: row.Request, Workload: row.Workload, Volume: row.Volume, Rule: row.Rule, Detail: text, Link: row.Link,
		Behalf: row.Behalf, BehalfName: row.BehalfName, Via: row.Via, Credential: row.Credential,
		CredentialName: row.CredentialName, Changes: changed}, nil
}

// recordRow reads the detail as the text it is, not as what it means: the link was taken over the text.
type recordRow struct {
	audit.Record `gorm:"embedded"`
}

func (recordRow) TableName() string { return "audit_events" }

// Records gives events after a number, oldest first, as they are stored: for export and for checking the chain.
func (v view) Records(ctx context.Context, after int64, limit int) ([]audit.Record, error) {
	rows, err := all[recordRow](v.at(ctx).Where("seq > ?", after).Order("seq").Limit(limit))
	return each(rows, func(r recordRow) audit.Record { return r.Record }), err
}

// Events gives a page of the record, newest first: by number, for clocks can be set.
func (v view) Events(ctx context.Context, f audit.Filter) ([]audit.Event, string, error) {
	if !clean(f.Person) || !clean(f.Text) { // what the database cannot hold is in no event
		return nil, "", nil
	}
	limit := pageSize(f.Limit)
	query := among(v.at(ctx), "kind", f.Kinds)
	if len(f.Without) > 0 {
		query = query.Where("kind NOT IN ?", f.Without)
	}
	for _, wanted := range []struct{ column, value string }{
		{"tenant", f.Tenant}, {"workload", f.Workload}, {"request", f.Request},
	} {
		if wanted.value != "" {
			query = query.Where(wanted.column+" = ?", wanted.value)
		}
	}
	if !f.From.IsZero() {
		query = query.Where("at >= ?", timestampOf(f.From))
	}
	if !f.Until.IsZero() {
		query = query.Where("at < ?", timestampOf(f.Until))
	}
	if f.Person != "" {
		var err error
		if query, err = v.concerning(ctx, query, f.Person); err != nil {
			return nil, "", err
		}
	}
	end := int64(math.MaxInt64)
	if f.Cursor != "" {
		p, err := parseCursor(eventList, f.Cursor)
		if err != nil {
			return nil, "", err
		}
		end = p.at
		query = query.Where("seq < ?", end)
	}
	var floor int64
	if f.Text != "" {
		var err error
		if floor, end, err = v.searchRange(ctx, end, f); err != nil {
			return nil, "", err
		}
		query = query.Where("seq > ? AND seq < ?", floor, end).Where(eventText+" LIKE lower(CAST(? AS TEXT)) ESCAPE '!'",
			containing(f.Text))
	}
	rows, err := v.eventPage(ctx, query.Order("seq DESC").Limit(limit+1), limit)
	if err != nil {
		return nil, "", err
	}
	rows, next := paged(rows, limit, func(r *eventRow) cursorAt { return cursorAt{list: eventList, at: r.Seq} })
	if next == "" && floor > 0 {
		next = cursorAt{list: eventList, at: floor + 1}.String()
	}
	return each(rows, toEvent), next, nil
}

// eventPage is a page of events. Those that people look at are kept; a file of the record reads larger ones, once.
func (v view) eventPage(ctx context.Context, query *gorm.DB, limit int) ([]*eventRow, error) {
	if limit > usualPage {
		return readEvents(query)
	}
	return v.eventRows(ctx, query)
}

// eventText is what a search looks through. Both sides are made small by the database, so that they are made so alike.
const eventText = "lower(kind || ' ' || actor_name || ' ' || address || ' ' || tenant || ' ' || request || ' ' || " +
	"workload " +
	"|| ' ' || volume || ' ' || rule || ' ' || detail || ' ' || behalf_name || ' ' || credential_name || ' ' || changes)"

// searchRange is where a page of a search looks, between two numbers: no index holds parts of words on both databases,
// so a page reads a bounded stretch, and its reader goes on from there. A search in a time begins near it: clocks can
// be set, but hardly by more than a stretch. floor is 0 where there is nothing below to look at.
func (v view) searchRange(ctx context.Context, end int64, f audit.Filter) (floor, from int64, err error) {
	ask := func(into *int64, query string, args ...any) {
		if err == nil {
			err = failure(v.at(ctx).Raw(query, args...).Scan(into).Error)
		}
	}
	var last, lowest int64
	ask(&last, "SELECT audit FROM counters WHERE id = 1")
	if !f.Until.IsZero() {
		before := int64(0)
		ask(&before, "SELECT seq FROM audit_events WHERE at < ? ORDER BY at DESC LIMIT 1", timestampOf(f.Until))
		last = min(last, before+v.window)
	}
	if !f.From.IsZero() {
		ask(&lowest, "SELECT seq FROM audit_events WHERE at >= ? ORDER BY at LIMIT 1", timestampOf(f.From))
		lowest -= v.window
	}
	from = min(end, last+1)
	if floor = from - 1 - v.window; floor <= max(0, lowest) {
		floor = 0
	}
	return floor, from, err
}

// containing is a pattern for texts with these words in them.
func containing(words string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(words) + "%"
}

// impersonations are the kinds of event that an administrator writes on somebody's behalf.
var impersonations = []audit.Kind{audit.ImpersonationBegun, audit.ImpersonationEnded}

// concerning narrows to what somebody did, and what others did in their place. Those others are administrators who see
// the portal as them, and delegates: each way is one that an index leads along, where looking for a name in whose place
// alone would read the whole record.
func (v view) concerning(ctx context.Context, query *gorm.DB, who string) (*gorm.DB, error) {
	ids, err := v.called(ctx, who)
	if err != nil {
		return nil, err
	}
	var others []string
	if err := v.at(ctx).Raw("SELECT DISTINCT delegate FROM delegations WHERE person IN ?",
		ids).Scan(&others).Error; err != nil {
		return nil, failure(err)
	}
	if len(others) == 0 {
		return query.Where("(actor IN ? OR kind IN ? AND behalf IN ?)", ids, impersonations, ids), nil
	}
	return query.Where("(actor IN ? OR kind IN ? AND behalf IN ? OR actor IN ? AND behalf IN ?)", ids, impersonations,
		ids, others,
		ids), nil
}

// mostCalled bounds how many people one search means.
const mostCalled = 100

// called are the ids of those whom a search for a person means: by id, or by a part of the name or e-mail address.
func (v view) called(ctx context.Context, who string) ([]string, error) {
	ids := []string{who}
	rows, err := all[personRow](v.at(ctx).Select("id").Where("lower(name) LIKE lower(CAST(? AS TEXT)) ESCAPE '!' OR "+
		"lower(email) LIKE lower(CAST(? AS TEXT)) ESCAPE '!'", containing(who), containing(who)).
		Order("id").Limit(mostCalled))
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids, err
}

// History is what happened to one workload, newest first.
func (v view) History(ctx context.Context, id workload.ID, limit int) ([]audit.Event, error) {
	if id == "" {
		return nil, nil
	}
	query := v.at(ctx).Where("workload = ? AND workload <> ''", string(id)).Order("seq DESC").Limit(pageSize(limit))
	rows, err := readEvents(query)
	return each(rows, toEvent), err
}
