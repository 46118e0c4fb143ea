package store

import (
	"context"
	"slices"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/live"
)

// caches is what reads keep for those that come after them. Each says how it knows that what it kept is still so.
type caches struct {
	living   newest[*livingList]
	pending  newest[*pendingList]
	requests recent[versionRow, requestRow]
	events   recent[eventKey, eventRow]
	counts   requestCounts
	lists    requestLists
	most     int // mostPending
}

// mostChanges is from how many changes on everything is read again.
const mostChanges = 500

// numbered is what was read in one transaction with the number of the outbox.
type numbered interface {
	comparable
	number() int64
}

// newest keeps what was read at the highest number.
type newest[L numbered] struct {
	mu sync.Mutex
	is L
}

func (n *newest[L]) get() L {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.is
}

func (n *newest[L]) keep(read L) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var nothing L
	if n.is == nothing || n.is.number() < read.number() {
		n.is = read
	}
}

// current is what is kept while nothing has changed since, else what is read now: each change counts the outbox on in
// its transaction, and those that count stand in one line. What is read with its number in one transaction is exactly
// what was after that change. Nobody waits for another's reading: it may take as long as it is allowed to.
func current[L numbered](ctx context.Context, v view, kept *newest[L],
	again func(v view, known L, now int64) (L, error)) (read L, err error) {
	now, err := v.LastChange(ctx)
	if err != nil {
		return read, err
	}
	var nothing L
	known := kept.get()
	if known != nothing && known.number() == now {
		return known, nil
	}
	err = v.readOnly(ctx, func(v view) error {
		now, err := v.LastChange(ctx)
		if err != nil {
			return err
		}
		read, err = again(v, known, now)
		return err
	})
	if err == nil {
		kept.keep(read)
		if v.moment == nil {
			live.Note(ctx, read.number())
		}
	}
	return read, err
}

// changedSince are the ids of a topic that have changed from one number of the outbox to another. All is false where
// that cannot be said any more, or is too much: what was known at the first number is no help then.
func (v view) changedSince(ctx context.Context, topic live.Topic, from, to int64) (ids map[string]bool, all bool,
	err error) {
	if from > to || to-from > mostChanges {
		return nil, false, nil
	}
	changes, err := v.ChangesAfter(ctx, from, mostChanges)
	if err != nil || int64(len(changes)) != to-from { // some were purged
		return nil, false, err
	}
	ids = map[string]bool{}
	for _, c := range changes {
		if c.Topic == topic {
			ids[c.ID] = true
		}
	}
	return ids, true, nil
}

// replaced is a sorted list without what has changed, and with what was read in its place, in any order.
func replaced[T any](list, again []T, changed func(*T) bool, order func(a, b T) int) []T {
	slices.SortFunc(again, order)
	merged := make([]T, 0, len(list)+len(again))
	for i := range list {
		if changed(&list[i]) {
			continue
		}
		for len(again) > 0 && order(again[0], list[i]) < 0 {
			merged, again = append(merged, again[0]), again[1:]
		}
		merged = append(merged, list[i])
	}
	return append(merged, again...)
}
