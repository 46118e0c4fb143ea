package store

import (
	"cmp"
	"context"
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

// livingCache keeps the living workloads as values: two thousand of them take tens of milliseconds to decode, and pages
// of everybody's ask for all of them, for their meters, or for their seats.
type livingCache struct {
	mu   sync.Mutex
	last *livingList
}

// livingList is the living workloads as they were after one change. All who read share it, so nobody changes it.
type livingList struct {
	at        int64
	workloads []workload.Workload                               // oldest first
	places    func() map[workload.ID]int                        // in workloads
	byState   func() []*workload.Workload                       // in the order of workload.ByState
	byOwner   func() map[identity.PersonID][]*workload.Workload // the same
	checkouts func() []license.Checkout

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

// mostChanges is from how many changes on everything is read again.
const mostChanges = 500

func newLivingList(at int64, list []workload.Workload, meters map[workload.ID][]usage.Interval) *livingList {
	if meters == nil || len(meters) > mostMeters {
		meters = map[workload.ID][]usage.Interval{}
	}
	byState := sync.OnceValue(func() []*workload.Workload { return orderedByState(list) })
	return &livingList{at: at, workloads: list, meters: meters, byState: byState,
		places: sync.OnceValue(func() map[workload.ID]int {
			places := make(map[workload.ID]int, len(list))
			for i := range list {
				places[list[i].ID] = i
			}
			return places
		}),
		byOwner: sync.OnceValue(func() map[identity.PersonID][]*workload.Workload {
			owned := map[identity.PersonID][]*workload.Workload{}
			for _, w := range byState() {
				owned[w.Owner] = append(owned[w.Owner], w)
			}
			return owned
		}),
		checkouts: sync.OnceValue(func() []license.Checkout { return checkoutsOf(list) })}
}

// orderedByState is the order that stateRank gives in SQL; those that are alike are newest first.
func orderedByState(list []workload.Workload) []*workload.Workload {
	order := make([]*workload.Workload, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	slices.SortFunc(order, func(a, b *workload.Workload) int {
		return cmp.Or(cmp.Compare(rankOf(a.State), rankOf(b.State)), olderFirst(*b, *a))
	})
	return order
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
	count := map[workload.State]int{}
	for w := range l.chosen(f) {
		count[w.State]++
	}
	return count, nil
}

// WorkloadIDs gives ids as view.WorkloadIDs does.
func (s *Store) WorkloadIDs(ctx context.Context, f workload.Filter) ([]workload.ID, error) {
	if !onlyLiving(f) || none(f.Tenants) || f.Sort != workload.ByState || f.Down {
		return s.view.WorkloadIDs(ctx, f)
	}
	l, err := s.livingNow(ctx)
	if err != nil {
		return nil, err
	}
	ids, skip := []workload.ID{}, f.Offset
	if f.Limit <= 0 {
		skip = 0
	}
	for w := range l.chosen(f) {
		if skip > 0 {
			skip--
			continue
		}
		if ids = append(ids, w.ID); len(ids) == f.Limit {
			break
		}
	}
	return ids, nil
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
// transaction counts, and what was read before does where nothing has changed since.
func (v view) Checkouts(ctx context.Context) ([]license.Checkout, error) {
	if v.kept == nil {
		return v.readCheckouts(ctx)
	}
	l, err := v.livingNow(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clone(l.checkouts()), nil
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

// livingNow gives the list of now: the one that was read last while nothing has changed since. Each change of a
// workload or of its meter counts the outbox on in its transaction, and those that count stand in one line. A list is
// read with its number in one transaction, so it is exactly what was after that change. Nobody waits for another's
// reading: it may take as long as it is allowed to.
func (v view) livingNow(ctx context.Context) (*livingList, error) {
	now, err := v.LastChange(ctx)
	if err != nil {
		return nil, err
	}
	known := v.kept.get()
	if known != nil && known.at == now {
		return known, nil
	}
	var read *livingList
	err = v.readOnly(ctx, func(v view) (err error) {
		read, err = v.livingAfter(ctx, known)
		return err
	})
	if err != nil {
		return nil, err
	}
	v.kept.keep(read)
	return read, nil
}

// livingAfter reads the list in a transaction: of what is known only what has changed since.
func (v view) livingAfter(ctx context.Context, known *livingList) (*livingList, error) {
	now, err := v.LastChange(ctx)
	if err != nil {
		return nil, err
	}
	if known == nil || known.at > now || now-known.at > mostChanges {
		list, err := v.Living(ctx)
		return newLivingList(now, list, nil), err
	}
	changes, err := v.ChangesAfter(ctx, known.at, mostChanges)
	if err != nil {
		return nil, err
	}
	if int64(len(changes)) != now-known.at { // some were purged
		list, err := v.Living(ctx)
		return newLivingList(now, list, nil), err
	}
	changed := map[workload.ID]bool{}
	for _, c := range changes {
		if c.Topic == live.TopicWorkload {
			changed[workload.ID(c.ID)] = true
		}
	}
	list, err := v.livingBut(ctx, known.workloads, changed)
	return newLivingList(now, list, known.metersBut(changed)), err
}

// livingBut is a list with some of its workloads read again.
func (v view) livingBut(ctx context.Context, list []workload.Workload,
	changed map[workload.ID]bool) ([]workload.Workload, error) {
	if len(changed) == 0 {
		return list, nil
	}
	again, err := v.WorkloadsByID(ctx, slices.Collect(maps.Keys(changed)))
	if err != nil {
		return nil, err
	}
	again = slices.DeleteFunc(again, func(w workload.Workload) bool { return w.State == workload.Ended })
	slices.SortFunc(again, olderFirst)
	merged := make([]workload.Workload, 0, len(list)+len(again))
	for i := range list {
		if changed[list[i].ID] {
			continue
		}
		for len(again) > 0 && olderFirst(again[0], list[i]) < 0 {
			merged, again = append(merged, again[0]), again[1:]
		}
		merged = append(merged, list[i])
	}
	return append(merged, again...), nil
}

func olderFirst(a, b workload.Workload) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

func (l *livingList) metersBut(changed map[workload.ID]bool) map[workload.ID][]usage.Interval {
	l.mu.Lock()
	defer l.mu.Unlock()
	meters := maps.Clone(l.meters)
	for id := range changed {
		delete(meters, id)
	}
	return meters
}

func (c *livingCache) get() *livingList {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *livingCache) keep(l *livingList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || c.last.at < l.at {
		c.last = l
	}
}
