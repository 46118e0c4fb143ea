package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// livingList is the living workloads as they were after one change: two thousand of them take tens of milliseconds to
// decode, and pages of everybody's ask for all of them, for their meters, or for their seats. All who read share it, so
// nobody changes it.
type livingList struct {
	at        int64
	workloads []workload.Workload                               // oldest first
	ended     []workload.Workload                               // those that hold something all the same
	places    func() map[workload.ID]int                        // in workloads
	ids       func() []workload.ID                              // in the order of byState
	byState   func() []*workload.Workload                       // in the order of workload.ByState
	byOwner   func() map[identity.PersonID][]*workload.Workload // the same
	checkouts func() []license.Checkout
	held      func() heldNow
	states    func() map[workload.State]int

	mu sync.Mutex
	// meters are those that were asked for so far, nil for who has none. They were read after the change or later: what a
	// later change did to them is read again with it.
	meters map[workload.ID][]usage.Interval

	uses  kept[[]offer.Use]
	spans kept[seatSpans]
}

// kept is what was read once after a change, or later; nothing that was not read is kept.
type kept[T any] struct {
	mu   sync.Mutex
	read bool
	is   T
}

// get reads what is not there, or is not good for this any more.
func (k *kept[T]) get(good func(T) bool, read func() (T, error)) (T, error) {
	k.mu.Lock()
	is, ok := k.is, k.read
	k.mu.Unlock()
	if ok && good(is) {
		return is, nil
	}
	is, err := read() // nobody waits for another's reading
	if err == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.is, k.read = is, true
	}
	return is, err
}

// seatSpans are the spans since a time.
type seatSpans struct {
	since  time.Time
	byPool map[string][]license.Span
}

// spansFor is how much longer than asked for the spans that are kept may reach back.
const spansFor = time.Hour

// mostMeters bounds what is kept of workloads that have ended; far more than live.
const mostMeters = 20_000

func newLivingList(at int64, list, ended []workload.Workload,
	meters map[workload.ID][]usage.Interval) *livingList {
	if meters == nil || len(meters) > mostMeters {
		meters = map[workload.ID][]usage.Interval{}
	}
	byState := sync.OnceValue(func() []*workload.Workload { return orderedByState(list) })
	return &livingList{at: at, workloads: list, ended: ended, meters: meters, byState: byState,
		places: sync.OnceValue(func() map[workload.ID]int {
			places := make(map[workload.ID]int, len(list))
			for i := range list {
				places[list[i].ID] = i
			}
			return places
		}),
		ids: sync.OnceValue(func() []workload.ID {
			return each(byState(), func(w *workload.Workload) workload.ID { return w.ID })
		}),
		byOwner: sync.OnceValue(func() map[identity.PersonID][]*workload.Workload {
			owned := map[identity.PersonID][]*workload.Workload{}
			for _, w := range byState() {
				owned[w.Owner] = append(owned[w.Owner], w)
			}
			return owned
		}),
		checkouts: sync.OnceValue(func() []license.Checkout { return checkoutsOf(list) }),
		held:      sync.OnceValue(func() heldNow { return heldBy(list, ended) }),
		states: sync.OnceValue(func() map[workload.State]int {
			count := map[workload.State]int{}
			for i := range list {
				count[list[i].State]++
			}
			return count
		})}
}

func (l *livingList) number() int64 { return l.at }

// orderedByState is the order that stateRank and leaseRank give in SQL; those that are alike are newest first.
func orderedByState(list []workload.Workload) []*workload.Workload {
	order := make([]*workload.Workload, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	slices.SortFunc(order, func(a, b *workload.Workload) int {
		return cmp.Or(cmp.Compare(rankOf(a.State), rankOf(b.State)), endOf(a).Compare(endOf(b)), olderFirst(*b, *a))
	})
	return order
}

// endOf is the end of the lease of what runs; of all else the zero time.
func endOf(w *workload.Workload) (end time.Time) {
	if w.State == workload.Running || w.State == workload.Asleep {
		end = w.Lease.Until
	}
	return end
}

func rankOf(s workload.State) int {
	switch s {
	case workload.Failed:
		return 0
	case workload.Running, workload.Asleep:
		return 1
	case workload.Starting, workload.Queued:
		return 2
	}
	return 3
}

// onlyLiving reports whether a filter chooses among the living by what Go compares as both databases do: words are
// searched for by the database.
func onlyLiving(f workload.Filter) bool {
	return !f.Ended && len(f.Text) == 0 && !slices.Contains(f.States, workload.Ended)
}

// chosen are those that a filter chooses among the living, in the order of their state.
func (l *livingList) chosen(f workload.Filter) iter.Seq[*workload.Workload] {
	among := l.byState
	if f.Owner != "" {
		among = func() []*workload.Workload { return l.byOwner()[f.Owner] }
	}
	return func(yield func(*workload.Workload) bool) {
		for _, w := range among() {
			if (f.Tenants == nil || slices.Contains(f.Tenants, w.Tenant)) &&
				(len(f.States) == 0 || slices.Contains(f.States, w.State)) && !yield(w) {
				return
			}
		}
	}
}

// CountWorkloads counts as view.CountWorkloads does.
func (s *Store) CountWorkloads(ctx context.Context, f workload.Filter) (map[workload.State]int, error) {
	if !onlyLiving(f) || none(f.Tenants) {
		return s.view.CountWorkloads(ctx, f)
	}
	l, err := s.livingNow(ctx)
	if err != nil {
		return nil, err
	}
	if f.Owner == "" && f.Tenants == nil && len(f.States) == 0 {
		return maps.Clone(l.states()), nil
	}
	count := map[workload.State]int{}
	for w := range l.chosen(f) {
		count[w.State]++
	}
	return count, nil
}

// WorkloadIDs gives ids as view.WorkloadIDs does. The list is shared: whoever reads it changes nothing of it.
func (s *Store) WorkloadIDs(ctx context.Context, f workload.Filter) ([]workload.ID, error) {
	if !onlyLiving(f) || none(f.Tenants) || f.Sort != workload.ByState || f.Down {
		return s.view.WorkloadIDs(ctx, f)
	}
	l, err := s.livingNow(ctx)
	if err != nil {
		return nil, err
	}
	ids := l.ids()
	if f.Owner != "" || f.Tenants != nil || len(f.States) > 0 {
		ids = nil
		for w := range l.chosen(f) {
			ids = append(ids, w.ID)
		}
	}
	if f.Limit > 0 {
		ids = ids[min(f.Offset, len(ids)):]
		ids = ids[:min(f.Limit, len(ids))]
	}
	return slices.Clip(ids), nil
}

// Workloads gives a page as view.Workloads does: those of an owner without the database. Otherwise it says which ones
// are on the page, and those that live are not decoded again.
func (s *Store) Workloads(ctx context.Context, f workload.Filter) (list []workload.Workload, next string, err error) {
	if f.Ended || slices.Contains(f.States, workload.Ended) || none(f.Tenants) {
		return s.view.Workloads(ctx, f)
	}
	if f.Owner != "" && f.Cursor == "" && onlyLiving(f) {
		l, err := s.livingNow(ctx)
		if err != nil {
			return nil, "", err
		}
		own := slices.Collect(l.chosen(f))
		if len(own) <= pageSize(f.Limit) {
			slices.SortFunc(own, func(a, b *workload.Workload) int { return olderFirst(*b, *a) })
			return each(own, func(w *workload.Workload) workload.Workload { return *w }), "", nil
		}
	}
	err = s.readOnly(ctx, func(v view) error { // as both were at one moment
		l, err := v.livingNow(ctx)
		if err != nil {
			return err
		}
		rows, cursor, err := v.workloadPage(v.at(ctx).Select("id, created_at"), f)
		if err != nil {
			return err
		}
		places := l.places()
		list, next = make([]workload.Workload, len(rows)), cursor
		for i, row := range rows {
			place, lives := places[workload.ID(row.ID)]
			if !lives {
				return fmt.Errorf("workload %s is not among those that live", row.ID)
			}
			list[i] = l.workloads[place]
		}
		return nil
	})
	return list, next, err
}

// Living gives every workload that has not ended, oldest first, as view.Living does. The list is shared: whoever reads
// it changes nothing of it.
func (s *Store) Living(ctx context.Context) ([]workload.Workload, error) {
	l, err := s.livingNow(ctx)
	if err != nil {
		return nil, err
	}
	return l.workloads, nil
}

// Intervals gives meters as view.Intervals does: a meter changes only with its workload. What is in the map is shared.
func (s *Store) Intervals(ctx context.Context, ids []workload.ID) (map[workload.ID][]usage.Interval, error) {
	l, err := s.livingNow(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[workload.ID][]usage.Interval, len(ids))
	var missing []workload.ID
	l.mu.Lock()
	for _, id := range ids {
		meter, known := l.meters[id]
		switch {
		case !known:
			missing = append(missing, id)
		case len(meter) > 0:
			found[id] = meter
		}
	}
	l.mu.Unlock()
	if len(missing) == 0 {
		return found, nil
	}
	read, err := s.view.Intervals(ctx, missing)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range missing {
		l.meters[id] = slices.Clip(read[id])
	}
	maps.Copy(found, read)
	return found, nil
}

// WorkloadsByID gives workloads as view.WorkloadsByID does. What those that live point to is shared.
func (s *Store) WorkloadsByID(ctx context.Context, ids []workload.ID) ([]workload.Workload, error) {
	l, err := s.livingNow(ctx)
	if err != nil {
		return nil, err
	}
	places := l.places()
	if slices.ContainsFunc(ids, func(id workload.ID) bool { _, lives := places[id]; return !lives }) {
		return s.view.WorkloadsByID(ctx, ids)
	}
	list := make([]workload.Workload, len(ids))
	for i, id := range ids {
		list[i] = l.workloads[places[id]]
	}
	return list, nil
}

// Checkouts are the workloads that hold seats, once for each of their replicas, oldest first. What is written in this
// transaction counts, and what was read before does where nothing has changed since. The list is shared.
func (v view) Checkouts(ctx context.Context) ([]license.Checkout, error) {
	if v.kept == nil {
		return v.readCheckouts(ctx)
	}
	l, err := v.livingNow(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clip(l.checkouts()), nil
}

// holdings is what view.Holdings counts for a tenant.
func (l *livingList) holdings(tenant string) []workload.Holding {
	all := l.held()
	list := slices.Clone(all.byTenant[tenant])
	for _, pool := range slices.Sorted(maps.Keys(all.seats)) {
		others := all.seats[pool]
		for _, h := range list {
			if h.LicensePool == pool {
				others.count, others.seats, others.holders = others.count-h.Count, others.seats-h.Seats, others.holders-1
			}
		}
		if others.holders > 0 {
			list = append(list, workload.Holding{LicensePool: pool, Count: others.count, Seats: others.seats})
		}
	}
	return list
}

// heldNow is what the living hold: the replicas of each tenant, and all that hold seats of a pool.
type heldNow struct {
	byTenant map[string][]workload.Holding
	seats    map[string]poolHeld
}

// poolHeld is what is held of a pool, by so many lines of heldNow.byTenant.
type poolHeld struct{ count, seats, holders int }

// heldBy sums up lists of which no workload is in two.
func heldBy(lists ...[]workload.Workload) heldNow {
	sums := map[workload.Holding]*workload.Holding{} // by what they have in common
	for _, list := range lists {
		for i := range list {
			if list[i].Holds() {
				addHolding(sums, &list[i])
			}
		}
	}
	held := heldNow{byTenant: map[string][]workload.Holding{}, seats: map[string]poolHeld{}}
	for _, h := range sums {
		held.byTenant[h.Tenant] = append(held.byTenant[h.Tenant], *h)
		if h.LicensePool != "" {
			p := held.seats[h.LicensePool]
			held.seats[h.LicensePool] = poolHeld{p.count + h.Count, p.seats + h.Seats, p.holders + 1}
		}
	}
	for _, list := range held.byTenant {
		slices.SortFunc(list, func(a, b workload.Holding) int {
			return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Cluster, b.Cluster),
				cmp.Compare(a.LicensePool, b.LicensePool))
		})
	}
	return held
}

func addHolding(sums map[workload.Holding]*workload.Holding, w *workload.Workload) {
	key := workload.Holding{Tenant: w.Tenant, Size: w.Size.Name, Cluster: w.Cluster, LicensePool: w.Size.LicensePool}
	sum := sums[key]
	if sum == nil {
		sum = &key
		sums[key] = sum
	}
	sum.Count += w.Replicas.Hold()
	sum.Seats += w.LicenseSeats * w.Replicas.Hold()
}

// UseOfCatalog counts as view.UseOfCatalog does. The list is shared.
func (s *Store) UseOfCatalog(ctx context.Context) ([]offer.Use, error) {
	l, err := s.livingNow(ctx)
	if err != nil {
		return nil, err
	}
	return l.uses.get(func([]offer.Use) bool { return true },
		func() ([]offer.Use, error) { return s.view.UseOfCatalog(ctx) })
}

// Spans gives spans as view.Spans does.
func (s *Store) Spans(ctx context.Context, since time.Time) (map[string][]license.Span, error) {
	l, err := s.livingNow(ctx)
	if err != nil {
		return nil, err
	}
	known, err := l.spans.get(func(k seatSpans) bool {
		return !since.Before(k.since) && since.Sub(k.since) < spansFor
	}, func() (seatSpans, error) {
		read, err := s.view.Spans(ctx, since)
		return seatSpans{since, read}, err
	})
	if err != nil {
		return nil, err
	}
	spans := make(map[string][]license.Span, len(known.byPool))
	for pool, list := range known.byPool {
		for _, span := range list {
			if !span.Until.IsZero() && !span.Until.After(since) {
				continue
			}
			if span.From.Before(since) {
				span.From = since
			}
			spans[pool] = append(spans[pool], span)
		}
	}
	return spans, nil
}

// livingNow gives the list of now. Each change of a workload or of its meter counts the outbox on.
func (v view) livingNow(ctx context.Context) (*livingList, error) {
	return current(ctx, v, &v.kept.living, func(v view, known *livingList, now int64) (*livingList, error) {
		return v.livingAfter(ctx, known, now)
	})
}

// livingAfter reads the list in a transaction: of what is known only what has changed since.
func (v view) livingAfter(ctx context.Context, known *livingList, now int64) (*livingList, error) {
	if known == nil {
		return v.readLiving(ctx, now)
	}
	changed, all, err := v.changedSince(ctx, live.TopicWorkload, known.at, now)
	if err != nil {
		return nil, err
	}
	if !all {
		return v.readLiving(ctx, now)
	}
	return v.livingBut(ctx, known, changed, now)
}

// readLiving reads all of them. That something has ended and shall run is said by no part of the portal, but the
// database would count it.
func (v view) readLiving(ctx context.Context, now int64) (*livingList, error) {
	list, err := v.Living(ctx)
	if err != nil {
		return nil, err
	}
	ended, err := all[workloadRow](v.at(ctx).Where("state = 'ended' AND (desired = 'running' OR state = 'stopping')"))
	return newLivingList(now, list, each(ended, toWorkload), nil), err
}

// livingBut is a list with some of its workloads read again.
func (v view) livingBut(ctx context.Context, known *livingList, changed map[string]bool,
	now int64) (*livingList, error) {
	if len(changed) == 0 {
		return newLivingList(now, known.workloads, known.ended, known.metersBut(changed)), nil
	}
	ids := make([]workload.ID, 0, len(changed))
	for id := range changed {
		ids = append(ids, workload.ID(id))
	}
	again, err := v.WorkloadsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	was := func(w *workload.Workload) bool { return changed[string(w.ID)] }
	hasEnded := func(w workload.Workload) bool { return w.State == workload.Ended }
	ended := slices.DeleteFunc(slices.Clone(again),
		func(w workload.Workload) bool { return !hasEnded(w) || !w.Holds() })
	return newLivingList(now, replaced(known.workloads, slices.DeleteFunc(again, hasEnded), was, olderFirst),
		replaced(known.ended, ended, was, olderFirst), known.metersBut(changed)), nil
}

func olderFirst(a, b workload.Workload) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

func (l *livingList) metersBut(changed map[string]bool) map[workload.ID][]usage.Interval {
	l.mu.Lock()
	defer l.mu.Unlock()
	meters := maps.Clone(l.meters)
	for id := range changed {
		delete(meters, workload.ID(id))
	}
	return meters
}
