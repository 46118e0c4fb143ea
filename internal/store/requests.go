package store

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// requestOrders are the orders of a list. The letter is in its cursors, so that a cursor of another order is refused.
var requestOrders = map[request.Sort]listOrder{
	request.Newest:  {list: "r", column: "created_at"},
	request.Oldest:  {list: "o", column: "created_at", ascending: true},
	request.Dearest: {list: "p", column: "estimate_minor"},
	request.Longest: {list: "l", column: "lease_seconds"},

	request.Cheapest: {list: "c", column: "estimate_minor", ascending: true},
	request.Shortest: {list: "s", column: "lease_seconds", ascending: true},
}

func requestOrder(s request.Sort) listOrder {
	if o, known := requestOrders[s]; known {
		return o
	}
	return requestOrders[request.Newest]
}

type requestRow struct {
	ID               string `gorm:"primaryKey"`
	Kind             string
	Asker            string
	AskerName        string
	Tenant           string
	Name             string // of the workload that is asked for
	Workload         string
	State            string
	Spec             specDocument
	Decision         document[request.Decision]
	EstimateMinor    int64
	EstimateMost     int64
	EstimateCurrency string
	IdempotencyKey   string
	CreatedAt        timestamp `gorm:"autoCreateTime:false"`
	ExpiresAt        timestamp
	DecidedAt        timestamp
	Version          int64
	SizeName         string
	Fingerprint      string
	SeatPool         string
	SeatSince        timestamp
	LeaseSeconds     int64
	DecidedBy        string // request.Decider
	DeferredBy       string
	DeferredUntil    timestamp
}

// key is what an order sorts a row by.
func (r *requestRow) key(o listOrder) int64 {
	switch o.column {
	case "estimate_minor":
		return r.EstimateMinor
	case "lease_seconds":
		return r.LeaseSeconds
	}
	return r.CreatedAt.Int64
}

func (requestRow) TableName() string { return "requests" }

// specDocument is a spec as JSON. Its size and image are those of many others.
type specDocument struct{ is request.Spec }

// Value writes the JSON.
func (d specDocument) Value() (driver.Value, error) { return doc(d.is).Value() }

// Scan reads the JSON.
func (d *specDocument) Scan(from any) error {
	var read document[struct {
		request.Spec
		Size  shared[catalog.Size]  `json:"size"`
		Image shared[catalog.Image] `json:"image"`
	}]
	if err := read.Scan(from); err != nil {
		return err
	}
	d.is = read.is.Spec
	d.is.Size, d.is.Image = read.is.Size.is, read.is.Image.is
	return nil
}

// GormDataType tells gorm that the column is text.
func (specDocument) GormDataType() string { return "text" }

func fromRequest(r request.Request) requestRow {
	row := requestRow{
		ID: string(r.ID), Kind: string(r.Kind), Asker: string(r.Asker), AskerName: r.AskerName, Tenant: r.Spec.Tenant,
		Name:     r.Spec.Name,
		Workload: string(r.Workload), State: string(r.State), Spec: specDocument{r.Spec}, Decision: doc(r.Decision),
		EstimateMinor:    r.Estimate.Minor,
		EstimateMost:     r.EstimateMost.Minor,
		EstimateCurrency: r.Estimate.Currency, IdempotencyKey: r.Key, CreatedAt: timestampOf(r.CreatedAt),
		ExpiresAt: timestampOf(r.ExpiresAt),
		DecidedAt: timestampOf(r.DecidedAt), Version: r.Version, SizeName: r.Spec.Size.Name,
		Fingerprint: r.Fingerprint, LeaseSeconds: int64(r.Spec.Lease.Std() / time.Second), DecidedBy: string(r.Decider()),
	}
	if d := r.Decision.Deferred; d != nil {
		row.DeferredBy, row.DeferredUntil = string(d.By), timestampOf(d.Until)
	}
	if r.WaitsForSeat() {
		row.SeatPool, row.SeatSince = r.Decision.Seat.Pool, timestampOf(r.Decision.Seat.Since)
	}
	return row
}

// mostOf is the price with as many replicas as may be set; zero where that is the estimate.
func mostOf(row *requestRow) usage.Money {
	if row.EstimateMost == 0 {
		return usage.Money{}
	}
	return usage.Money{Minor: row.EstimateMost, Currency: row.EstimateCurrency}
}

func toRequest(row *requestRow) request.Request {
	return request.Request{
		ID: request.ID(row.ID), Kind: request.Kind(row.Kind), Asker: identity.PersonID(row.Asker), AskerName: row.AskerName,
		Spec:  row.Spec.is,
		State: request.State(row.State), Decision: row.Decision.is, Estimate: usage.Money{Minor: row.EstimateMinor,
			Currency: row.EstimateCurrency},
		EstimateMost: mostOf(row),
		Workload:     workload.ID(row.Workload), Key: row.IdempotencyKey, CreatedAt: row.CreatedAt.time(),
		ExpiresAt: row.ExpiresAt.time(),
		DecidedAt: row.DecidedAt.time(), Version: row.Version, Fingerprint: row.Fingerprint,
	}
}

// Request gives one request.
func (v view) Request(ctx context.Context, id request.ID) (request.Request, error) {
	rows, err := v.requestRows(ctx, func() *gorm.DB { return v.at(ctx).Where("id = ?", string(id)) })
	if err == nil && len(rows) == 0 || unwritable(err) {
		return request.Request{}, fault.New(fault.NotFound, i18n.T("request.not_found"))
	}
	if err != nil {
		return request.Request{}, err
	}
	return toRequest(rows[0]), nil
}

// RequestByKey gives the request that a person sent with this idempotency key. The empty key is nobody's.
func (v view) RequestByKey(ctx context.Context, asker identity.PersonID, key string) (request.Request, error) {
	query := v.at(ctx).Where("asker = ? AND idempotency_key = ? AND idempotency_key <> ''", string(asker), key)
	row, err := one[requestRow](query, i18n.T("request.not_found"))
	return toRequest(&row), err
}

// requestList is where lists of requests come from.
type requestList interface {
	// page gives one row more than the limit where there are more. Back is true for a page that ends before its cursor:
	// its rows come in the opposite order.
	page(ctx context.Context, f request.Filter, limit int) (rows []*requestRow, back bool, err error)
	// count goes no further than request.MostCounted+1, as before does.
	count(ctx context.Context, f request.Filter) (int, error)
	before(ctx context.Context, f request.Filter, first *requestRow) (int, error)
}

// stored is the lists of the database.
type stored struct{ view }

func (v stored) page(ctx context.Context, f request.Filter, limit int) (rows []*requestRow, back bool, err error) {
	o := requestOrder(f.Sort)
	if _, back, err = o.place(f.Cursor); err != nil {
		return nil, false, err
	}
	choose := func() *gorm.DB {
		query, _, _ := o.page(v.at(ctx), f.Cursor, limit)
		if f.Decider == request.NotRule && o.column == "created_at" {
			return query.Where("id IN (?)", v.byDecider(ctx, f, o, limit))
		}
		return requestsIn(query, f)
	}
	if name, common := listOf(f, limit); common && v.kept != nil && v.moment == nil {
		rows, err = v.listedRows(ctx, name, choose)
	} else {
		rows, err = v.requestRows(ctx, choose)
	}
	return rows, back, err
}

// byDecider are the ids on a page of what no rule decided. Rules decide most of all requests, so the newest of all are
// many to look through: each other decider is read in the order of its index, as far as the page may reach.
func (v stored) byDecider(ctx context.Context, f request.Filter, o listOrder, limit int) *gorm.DB {
	ids := func(decider request.Decider) *gorm.DB {
		query, _, _ := o.page(v.at(ctx), f.Cursor, limit)
		only := f
		only.Decider = ""
		return requestsIn(query, only).Model(&requestRow{}).Select("id").Where("decided_by = ?", string(decider))
	}
	return v.at(ctx).Raw("SELECT id FROM (?) AS nobody UNION ALL SELECT id FROM (?) AS person", ids(""),
		ids(request.DeciderPerson))
}

func (v stored) count(ctx context.Context, f request.Filter) (int, error) {
	read := func() (int, error) { return v.counted(ctx, requestsIn(v.at(ctx), f), request.MostCounted+1) }
	of, common := countOf(f)
	if v.kept == nil || !common {
		return read()
	}
	now, err := v.LastChange(ctx)
	if err != nil {
		return 0, err
	}
	return v.kept.counts.get(now, of, read)
}

func (v stored) before(ctx context.Context, f request.Filter, first *requestRow) (int, error) {
	o := requestOrder(f.Sort)
	return v.counted(ctx, o.after(requestsIn(v.at(ctx), f), first.key(o), first.ID), request.MostCounted+1)
}

// requestsOf is where the list of a filter comes from.
func (v view) requestsOf(ctx context.Context, f request.Filter) (requestList, error) {
	if onlyPending(f) {
		l, ok, err := v.pendingNow(ctx)
		if err != nil || ok && (len(f.Text) == 0 || !l.any(f)) {
			return &pendingChoice{pendingList: l}, err
		}
	}
	return stored{v}, nil
}

// Requests gives a page in the order of the filter.
func (v view) Requests(ctx context.Context, f request.Filter) ([]request.Request, string, error) {
	l, err := v.requestsOf(ctx, f)
	if err != nil {
		return nil, "", err
	}
	p, err := requestPage(ctx, l, f)
	return p.Items, p.Next, err
}

// RequestPage gives a page and counts the list. In place of a page on which nothing is left stands the first one.
func (v view) RequestPage(ctx context.Context, f request.Filter) (request.Page, error) {
	l, err := v.requestsOf(ctx, f)
	if err != nil {
		return request.Page{}, err
	}
	p, err := requestPage(ctx, l, f)
	if err == nil && len(p.Items) == 0 && f.Cursor != "" {
		f.Cursor = ""
		p, err = requestPage(ctx, l, f)
	}
	if err != nil || noRequests(f) {
		return p, err
	}
	if p.Total, err = l.count(ctx, f); err != nil || p.Prev == "" {
		return p, err
	}
	first := fromRequest(p.Items[0])
	p.Before, err = l.before(ctx, f, &first)
	return p, err
}

// CountRequests counts a list, no further than request.MostCounted+1.
func (v view) CountRequests(ctx context.Context, f request.Filter) (int, error) {
	if noRequests(f) {
		return 0, nil
	}
	l, err := v.requestsOf(ctx, f)
	if err != nil {
		return 0, err
	}
	return l.count(ctx, f)
}

// counted counts the rows of a query and stops at most.
func (v view) counted(ctx context.Context, query *gorm.DB, most int) (int, error) {
	n, err := number(v.at(ctx).Raw("SELECT count(*) FROM (?) AS counted",
		query.Model(&requestRow{}).Select("1").Limit(most)))
	return int(n), err
}

// requestPage is a page without what is counted. Going back from a page that has become the first one gives the first
// page whole.
func requestPage(ctx context.Context, l requestList, f request.Filter) (p request.Page, err error) {
	limit, o := pageSize(f.Limit), requestOrder(f.Sort)
	if _, _, err = o.place(f.Cursor); err != nil || noRequests(f) {
		return p, err
	}
	rows, back, err := l.page(ctx, f, limit)
	if err != nil {
		return p, err
	}
	more := len(rows) > limit
	rows = rows[:min(limit, len(rows))]
	if back && !more {
		f.Cursor = ""
		return requestPage(ctx, l, f)
	}
	if back {
		slices.Reverse(rows)
	}
	if n := len(rows); n > 0 {
		if more || back {
			p.Next = cursorAt{o.list, rows[n-1].key(o), rows[n-1].ID}.String()
		}
		if f.Cursor != "" {
			p.Prev = cursorAt{o.list + backwards, rows[0].key(o), rows[0].ID}.String()
		}
	}
	p.Items = each(rows, toRequest)
	return p, nil
}

// noRequests reports whether a filter lets nothing through.
func noRequests(f request.Filter) bool {
	return none(f.Tenants) || f.Inbox != nil && len(f.Inbox.Approvers) == 0
}

// requestsIn narrows a query to what a filter chooses.
func requestsIn(query *gorm.DB, f request.Filter) *gorm.DB {
	if f.Inbox != nil {
		query = inbox(query, *f.Inbox)
	}
	for _, c := range []struct {
		column, value string
	}{{"asker", string(f.Asker)}, {"workload", string(f.About)}, {"size_name", f.Size},
		{"deferred_by", string(f.DeferredBy)}} {
		if c.value != "" {
			query = query.Where(c.column+" = ?", c.value)
		}
	}
	query = among(withText(query, f.Text, "name", "asker_name", "tenant", "size_name"), "tenant", f.Tenants)
	if !f.Since.IsZero() {
		query = query.Where("created_at >= ?", timestampOf(f.Since))
	}
	if f.DeferredBy != "" || !f.DueAt.IsZero() {
		query = query.Where("deferred_until IS NOT NULL") // the condition of the index, word for word
	}
	if !f.DueAt.IsZero() {
		query = query.Where("deferred_until <= ?", timestampOf(f.DueAt))
	}
	if f.Seat {
		query = query.Where(pending + " AND seat_pool <> ''")
	}
	if f.Holding {
		query = query.Where("id IN (SELECT request FROM workloads WHERE desired = 'running' OR state = 'stopping')")
	}
	return inStates(decidedBy(query, f.Decider), f.States)
}

func decidedBy(query *gorm.DB, d request.Decider) *gorm.DB {
	switch d {
	case "":
		return query
	case request.NotRule:
		return query.Where("decided_by IN ('', 'person')") // the others that the table allows
	}
	return query.Where("decided_by = ?", string(d))
}

func inStates(query *gorm.DB, states []request.State) *gorm.DB {
	if len(states) == 1 && states[0] == request.Pending {
		return query.Where(pending)
	}
	return among(query, "state", states)
}

// pending is the condition of the indexes of what waits, word for word: SQLite does not use them for a bound value.
const pending = "state = 'pending'"

// inbox narrows a query to what waits for somebody's decision: what request.Inbox.Holds says of one request.
func inbox(query *gorm.DB, in request.Inbox) *gorm.DB {
	const decided = "NOT EXISTS (SELECT 1 FROM request_asks s WHERE s.request = requests.id AND s.asks = ?)"
	conditions := make([]string, len(in.Approvers))
	var values []any
	for i, v := range in.Approvers {
		free, granted := keysOf(v)
		keys := "a.asks IN ?"
		values = append(values, timestampOf(in.Now), free)
		for _, k := range granted {
			keys += " OR a.asks = ? AND requests.asker NOT IN ?"
			values = append(values, k, v.Granted[k])
		}
		conditions[i] = "(EXISTS (SELECT 1 FROM request_asks a WHERE a.request = requests.id AND a.from_at <= ? AND (" +
			keys + ")) AND " + decided + ")"
		values = append(values, decidedKey+string(v.Person))
	}
	return query.Where(pending).Where(decided, decidedKey+string(in.Self)).Where("("+strings.Join(conditions, " OR ")+")",
		values...)
}

// holdable are the principals that a database can hold; the others, groups with control characters, can be asked for by
// nobody.
func holdable(keys []string) []string {
	kept := []string{""}
	for _, k := range keys {
		if clean(k) {
			kept = append(kept, k)
		}
	}
	return kept
}

// keysOf are the principals of an approver that count for everybody's requests, and those that do not count for some
// people's.
func keysOf(v request.ApproverID) (free, granted []string) {
	for _, k := range holdable(v.Keys) {
		if len(v.Granted[k]) > 0 {
			granted = append(granted, k)
		} else {
			free = append(free, k)
		}
	}
	return free, granted
}

// decidedKey marks somebody whose approval does not count any more.
const decidedKey = "decided:"

// Waiting counts what an inbox holds. It asks only whose approvals are missing: those rows go with the decision of
// their request, so they say of themselves that it waits.
func (v view) Waiting(ctx context.Context, in request.Inbox) (int, error) {
	if len(in.Approvers) == 0 {
		return 0, nil
	}
	if l, ok, err := v.pendingNow(ctx); ok || err != nil {
		if err != nil {
			return 0, err
		}
		return (&pendingChoice{pendingList: l}).count(ctx, request.Filter{Inbox: &in})
	}
	const decided = "(SELECT request FROM request_asks WHERE asks = ?)"
	parts := make([]string, len(in.Approvers))
	var values []any
	for i, approver := range in.Approvers {
		free, granted := keysOf(approver)
		keys := "asks IN ?"
		values = append(values, timestampOf(in.Now), free)
		for _, k := range granted {
			keys += " OR asks = ? AND request NOT IN (SELECT id FROM requests WHERE " + pending + " AND asker IN ?)"
			values = append(values, k, approver.Granted[k])
		}
		parts[i] = "SELECT DISTINCT request FROM request_asks WHERE from_at <= ? AND (" + keys + ") AND request NOT IN " +
			decided
		values = append(values, decidedKey+string(approver.Person))
	}
	n, err := number(v.at(ctx).Raw("SELECT count(*) FROM ("+strings.Join(parts, " UNION ")+") w WHERE request NOT IN "+
		decided, append(values, decidedKey+string(in.Self))...))
	return int(n), err
}

type waitingRow struct {
	ID       string
	SeatPool string
	Workload string
}

// SeatLine lists who waits for seats. The condition is that of the index, word for word.
func (v view) SeatLine(ctx context.Context) ([]request.Waiting, error) {
	if l, ok, err := v.pendingNow(ctx); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return slices.Clone(l.line()), nil
	}
	var rows []waitingRow
	err := v.at(ctx).Raw("SELECT id, seat_pool, workload FROM requests WHERE state = 'pending' AND seat_pool <> '' " +
		"ORDER BY seat_since, id").Scan(&rows).Error
	return each(rows, func(r waitingRow) request.Waiting {
		return request.Waiting{ID: request.ID(r.ID), Pool: r.SeatPool, Workload: workload.ID(r.Workload)}
	}), failure(err)
}

// AskerHistory is what somebody was granted since a time, by when it was asked.
func (v view) AskerHistory(ctx context.Context, asker identity.PersonID,
	since time.Time) (request.AskerHistory, error) {
	var p request.AskerHistory
	err := askerHistory.into(ctx, v, []any{&p.Requests, &p.Minor}, string(asker), timestampOf(since))
	return p, err
}

var askerHistory = asked[requestRow](func(db *gorm.DB) *gorm.DB {
	return db.Raw("SELECT count(*) AS requests, COALESCE(SUM(estimate_minor), 0) AS minor FROM requests WHERE "+
		"asker = ? AND created_at >= ? AND state = 'approved' AND kind <> 'resume'", "", timestamp{})
})

// Escalated says whether the record holds that a request has escalated since a time.
func (v view) Escalated(ctx context.Context, id request.ID, since time.Time) (bool, error) {
	var n int
	err := v.at(ctx).Raw("SELECT count(*) FROM audit_events WHERE request = ? AND request <> '' AND kind = ? AND at >= ?",
		string(id), audit.RequestEscalated, timestampOf(since)).Scan(&n).Error
	return n > 0, failure(err)
}

type askRow struct {
	Request string
	Asks    string
	FromAt  timestamp
}

func (askRow) TableName() string { return "request_asks" }

// asks are the rows of those whose approval the request waits for.
func asks(r request.Request) []askRow {
	var rows []askRow
	for _, a := range r.Asks() {
		rows = append(rows, askRow{string(r.ID), a.Key, timestampOf(a.From)})
	}
	if len(rows) == 0 {
		return nil
	}
	seen := map[identity.PersonID]bool{}
	for _, p := range r.Deciders() {
		if !seen[p] {
			rows = append(rows, askRow{string(r.ID), decidedKey + string(p), timestampOf(r.CreatedAt)})
		}
		seen[p] = true
	}
	return rows
}

// SaveRequest inserts at Version 0 and else updates that version. The version that is stored, and given back, is one
// higher.
func (t *tx) SaveRequest(ctx context.Context, r request.Request) (request.Request, error) {
	if err := t.mayAsk(r); err != nil {
		return r, err
	}
	row := fromRequest(r)
	row.Version++
	t.changed(live.Change{Topic: live.TopicRequest, ID: row.ID, Tenant: row.Tenant, Person: row.Asker})
	if r.Version > 0 {
		if err := update(t.at(ctx), &row, "id", row.ID, r.Version); err != nil {
			return request.Request{}, err
		}
		if err := t.at(ctx).Exec("DELETE FROM request_asks WHERE request = ?", row.ID).Error; err != nil {
			return request.Request{}, failure(err)
		}
	} else if err := insert(t.at(ctx), &row); clash(err) == uniqueClash {
		return request.Request{}, fault.Wrap(fault.Conflict, err, i18n.T("store.key_in_use"))
	} else if err != nil {
		return request.Request{}, err
	}
	return toRequest(&row), t.saveAsks(ctx, r)
}

func (t *tx) saveAsks(ctx context.Context, r request.Request) error {
	rows := asks(r)
	if len(rows) == 0 {
		return nil
	}
	return failure(t.at(ctx).Create(&rows).Error)
}
