package store

import (
	"context"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const eventList = "a"

type eventRow struct {
	Seq      int64 `gorm:"primaryKey;autoIncrement:false"`
	At       moment
	Kind     string
	Actor    string
	Name     string
	Address  string
	Tenant   string
	Request  string
	Workload string
	Volume   string
	Rule     string
	Detail   document[i18n.Text]
	Link     string
}

func (eventRow) TableName() string { return "audit_events" }

func fromEvent(seq int64, e audit.Event) eventRow {
	return eventRow{
		Seq: seq, At: momentOf(e.At), Kind: string(e.Kind), Actor: string(e.Actor), Name: e.Name, Address: e.Address, Tenant: e.Tenant,
		Request: e.Request, Workload: e.Workload, Volume: e.Volume, Rule: e.Rule, Detail: doc(e.Detail),
	}
}

func toEvent(row eventRow) audit.Event {
	return audit.Event{
		Seq: row.Seq, At: row.At.time(), Kind: audit.Kind(row.Kind), Actor: identity.PersonID(row.Actor), Name: row.Name, Address: row.Address,
		Tenant: row.Tenant, Request: row.Request, Workload: row.Workload, Volume: row.Volume, Rule: row.Rule, Detail: row.Detail.is,
	}
}

// insertEvents writes events with the numbers after last, each linked to the one before. Nothing in this room changes or deletes one. The caller holds the row
// in counters, so that nobody else adds a link meanwhile.
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
	return audit.Record{Seq: row.Seq, At: row.At.Int64, Kind: row.Kind, Actor: row.Actor, Name: row.Name, Address: row.Address, Tenant: row.Tenant,
		Request: row.Request, Workload: row.Workload, Volume: row.Volume, Rule: row.Rule, Detail: text, Link: row.Link}, nil
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
	limit := pageSize(f.Limit)
	query := among(v.at(ctx), "kind", f.Kinds)
	for _, wanted := range []struct{ column, value string }{
		{"tenant", f.Tenant}, {"actor", f.Person}, {"workload", f.Workload}, {"request", f.Request},
	} {
		if wanted.value != "" {
			query = query.Where(wanted.column+" = ?", wanted.value)
		}
	}
	if f.Cursor != "" {
		p, err := placeOf(eventList, f.Cursor)
		if err != nil {
			return nil, "", err
		}
		query = query.Where("seq < ?", p.at)
	}
	rows, err := all[eventRow](query.Order("seq DESC").Limit(limit + 1))
	if err != nil {
		return nil, "", err
	}
	rows, next := cut(rows, limit, func(r eventRow) place { return place{list: eventList, at: r.Seq} })
	return each(rows, toEvent), next, nil
}

// History is what happened to one workload, newest first.
func (v view) History(ctx context.Context, id workload.ID, limit int) ([]audit.Event, error) {
	if id == "" {
		return nil, nil
	}
	query := v.at(ctx).Where("workload = ? AND workload <> ''", string(id)).Order("seq DESC").Limit(pageSize(limit))
	rows, err := all[eventRow](query)
	return each(rows, toEvent), err
}
