package store

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// pendingList is the requests that wait, as they were after one change: how many wait for the reader stands on every
// page. All who read share it, so nobody changes it.
type pendingList struct {
	at   int64
	rows []*pendingRow            // oldest first
	line func() []request.Waiting // for seats
	many bool                     // more than mostPending wait, and the database is asked
}

// pendingRow is a request with whom it asks, as the table request_asks has it.
type pendingRow struct {
	requestRow
	asks []askRow
}

// mostPending bounds what is kept, some kilobytes each.
const mostPending = 5000

func newPendingList(at int64, rows []*pendingRow) *pendingList {
	return &pendingList{at: at, rows: rows, line: sync.OnceValue(func() []request.Waiting { return seatLineOf(rows) })}
}

func (l *pendingList) number() int64 { return l.at }

func pendingOf(row requestRow) *pendingRow {
	kept := keepable(row)
	return &pendingRow{*kept, asks(toRequest(kept))}
}

func firstAsked(a, b *pendingRow) int {
	return cmp.Or(cmp.Compare(a.CreatedAt.Int64, b.CreatedAt.Int64), cmp.Compare(a.ID, b.ID))
}

// seatLineOf is the order of view.SeatLine.
func seatLineOf(rows []*pendingRow) []request.Waiting {
	line := slices.DeleteFunc(slices.Clone(rows), func(r *pendingRow) bool { return r.SeatPool == "" })
	slices.SortFunc(line, func(a, b *pendingRow) int {
		return cmp.Or(cmp.Compare(a.SeatSince.Int64, b.SeatSince.Int64), cmp.Compare(a.ID, b.ID))
	})
	return each(line, func(r *pendingRow) request.Waiting {
		return request.Waiting{ID: request.ID(r.ID), Pool: r.SeatPool, Workload: workload.ID(r.Workload)}
	})
}

// pendingNow gives the list of now, and ok where the database need not be asked. Each change of a request counts the
// outbox on.
func (v view) pendingNow(ctx context.Context) (l *pendingList, ok bool, err error) {
	if v.kept == nil {
		return nil, false, nil
	}
	l, err = current(ctx, v, &v.kept.pending, func(v view, known *pendingList, now int64) (*pendingList, error) {
		return v.pendingAfter(ctx, known, now)
	})
	return l, err == nil && !l.many, err
}

// pendingAfter reads the list in a transaction: of what is known only what has changed since.
func (v view) pendingAfter(ctx context.Context, known *pendingList, now int64) (*pendingList, error) {
	if known == nil || known.many {
		return v.readPending(ctx, now)
	}
	changed, all, err := v.changedSince(ctx, live.TopicRequest, known.at, now)
	if err != nil {
		return nil, err
	}
	if !all {
		return v.readPending(ctx, now)
	}
	list, err := v.pendingBut(ctx, known.rows, changed)
	if err == nil && len(list) > v.kept.most {
		return &pendingList{at: now, many: true}, nil
	}
	return newPendingList(now, list), err
}

// readPending counts first: too many are not worth reading.
func (v view) readPending(ctx context.Context, now int64) (*pendingList, error) {
	n, err := v.counted(ctx, v.at(ctx).Where(pending), v.kept.most+1)
	if err != nil || n > v.kept.most {
		return &pendingList{at: now, many: true}, err
	}
	rows, err := all[requestRow](v.at(ctx).Where(pending).Order("created_at, id"))
	return newPendingList(now, each(rows, pendingOf)), err
}

// pendingBut is a list with some of its requests read again.
func (v view) pendingBut(ctx context.Context, list []*pendingRow, changed map[string]bool) ([]*pendingRow, error) {
	if len(changed) == 0 {
		return list, nil
	}
	ids := make([]string, 0, len(changed))
	for id := range changed {
		ids = append(ids, id)
	}
	var again []*pendingRow
	for some := range slices.Chunk(ids, intervalsAtOnce) {
		rows, err := all[requestRow](v.at(ctx).Where("id IN ? AND "+pending, some))
		if err != nil {
			return nil, err
		}
		again = append(again, each(rows, pendingOf)...)
	}
	return replaced(list, again, func(r **pendingRow) bool { return changed[(*r).ID] }, firstAsked), nil
}

// onlyPending reports whether a filter chooses among what waits by what Go compares as both databases do. The database
// knows what holds something. It also searches for words, where something waits that they may be in.
func onlyPending(f request.Filter) bool {
	pending := f.Inbox != nil || f.Seat || len(f.States) == 1 && f.States[0] == request.Pending
	return pending && !f.Holding
}

// any reports whether the list has something for a filter, whatever its words are.
func (l *pendingList) any(f request.Filter) bool {
	return slices.ContainsFunc(l.rows, func(r *pendingRow) bool { return r.in(f) })
}

// in is what requestsIn says in SQL, but for the words.
func (r *pendingRow) in(f request.Filter) bool {
	for _, c := range []struct{ is, wanted string }{{r.Asker, string(f.Asker)}, {r.Workload, string(f.About)},
		{r.SizeName, f.Size}, {r.DeferredBy, string(f.DeferredBy)}} {
		if c.wanted != "" && c.is != c.wanted {
			return false
		}
	}
	return (f.Inbox == nil || r.waitsFor(*f.Inbox)) && (f.Tenants == nil || slices.Contains(f.Tenants, r.Tenant)) &&
		(f.Since.IsZero() || r.CreatedAt.Int64 >= timestampOf(f.Since).Int64) && r.due(f) &&
		(!f.Seat || r.SeatPool != "") && r.decidedBy(f.Decider) &&
		(len(f.States) == 0 || slices.Contains(f.States, request.Pending))
}

func (r *pendingRow) due(f request.Filter) bool {
	if f.DueAt.IsZero() {
		return f.DeferredBy == "" || r.DeferredUntil.Valid
	}
	return r.DeferredUntil.Valid && r.DeferredUntil.Int64 <= timestampOf(f.DueAt).Int64
}

func (r *pendingRow) decidedBy(d request.Decider) bool {
	switch d {
	case "":
		return true
	case request.NotRule:
		return r.DecidedBy != string(request.DeciderRule)
	}
	return r.DecidedBy == string(d)
}

// waitsFor is what inbox says in SQL.
func (r *pendingRow) waitsFor(in request.Inbox) bool {
	if len(r.asks) == 0 || r.spoke(in.Self) {
		return false
	}
	now := timestampOf(in.Now).Int64
	return slices.ContainsFunc(in.Approvers, func(v request.ApproverID) bool {
		return !r.spoke(v.Person) && slices.ContainsFunc(r.asks, func(a askRow) bool {
			return a.FromAt.Int64 <= now && slices.Contains(v.Keys, a.Asks) &&
				!slices.Contains(v.Granted[a.Asks], identity.PersonID(r.Asker))
		})
	})
}

// spoke reports whether the approval of somebody does not count any more.
func (r *pendingRow) spoke(who identity.PersonID) bool {
	return slices.ContainsFunc(r.asks, func(a askRow) bool {
		return len(a.Asks) == len(decidedKey)+len(who) && a.Asks[:len(decidedKey)] == decidedKey &&
			a.Asks[len(decidedKey):] == string(who)
	})
}

// pendingChoice is what waits, for one filter whatever its place and length: a page and its count choose once.
type pendingChoice struct {
	*pendingList
	rows   []*requestRow
	chosen bool
}

// choose are those that a filter chooses, in its order.
func (l *pendingChoice) choose(f request.Filter) []*requestRow {
	if !l.chosen {
		l.rows, l.chosen = l.pendingList.choose(f), true
	}
	return l.rows
}

func (l *pendingList) choose(f request.Filter) []*requestRow {
	var rows []*requestRow
	for _, r := range l.rows {
		if r.in(f) {
			rows = append(rows, &r.requestRow)
		}
	}
	o := requestOrder(f.Sort)
	slices.SortFunc(rows, func(a, b *requestRow) int { return o.compare(a, cursorAt{at: b.key(o), id: b.ID}) })
	return rows
}

func (l *pendingChoice) page(_ context.Context, f request.Filter, limit int) (rows []*requestRow, back bool,
	err error) {
	rows = l.choose(f)
	if f.Cursor == "" {
		return rows[:min(len(rows), limit+1)], false, nil
	}
	o := requestOrder(f.Sort)
	p, back, err := o.place(f.Cursor)
	if err != nil {
		return nil, false, err
	}
	at, found := slices.BinarySearchFunc(rows, p, o.compare)
	if back {
		rows = slices.Clone(rows[:at])
		slices.Reverse(rows)
	} else if rows = rows[at:]; found {
		rows = rows[1:]
	}
	return rows[:min(len(rows), limit+1)], back, nil
}

func (l *pendingChoice) count(_ context.Context, f request.Filter) (n int, err error) {
	if l.chosen {
		return len(l.rows), nil
	}
	for _, r := range l.pendingList.rows {
		if r.in(f) {
			n++
		}
	}
	return n, nil
}

func (l *pendingChoice) before(_ context.Context, f request.Filter, first *requestRow) (int, error) {
	o := requestOrder(f.Sort)
	n, _ := slices.BinarySearchFunc(l.choose(f), cursorAt{at: first.key(o), id: first.ID}, o.compare)
	return n, nil
}

// compare is the order of the rows of a list.
func (o listOrder) compare(r *requestRow, p cursorAt) int {
	order := cmp.Or(cmp.Compare(r.key(o), p.at), cmp.Compare(r.ID, p.id))
	if o.ascending {
		return order
	}
	return -order
}
