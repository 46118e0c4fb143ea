package audit

import (
	"context"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

const (
	aggregationWindow = time.Minute
	maxKeys           = 10_000 // keys that are counted one by one; all others together are one
	maxKeysPerGroup   = 20     // keys of one group; all others of the group are one
)

// Aggregator keeps somebody who is refused again and again from filling the record, from which nothing can be removed:
// of each key the first event is written at once, and then one row a minute with how many more there were. Memory is
// bounded whatever comes.
type Aggregator struct {
	now   func() time.Time
	write func(ctx context.Context, events ...Event) error

	mu     sync.Mutex
	open   map[string]*tally
	groups map[string]int // open keys of a group
}

// tally is what came of one key since a moment, beside what is in the record.
type tally struct {
	group string
	since time.Time
	more  int
	last  Event
}

// NewAggregator writes with write, by the clock now.
func NewAggregator(now func() time.Time, write func(context.Context, ...Event) error) *Aggregator {
	return &Aggregator{now: now, write: write, open: map[string]*tally{}, groups: map[string]int{}}
}

// Note writes an event or counts it. The group is who is answerable: an address or a person; the key says what was
// refused, within the group.
func (f *Aggregator) Note(ctx context.Context, group, key string, e Event) error {
	if f.First(group, key, e) {
		return f.write(ctx, e)
	}
	return nil
}

// First reports whether an event is to be written by the caller, for nothing like it came of late; else it is counted.
// A nil Aggregator counts nothing.
func (f *Aggregator) First(group, key string, e Event) bool {
	if f == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	name := f.place(group, key)
	t := f.open[name]
	if t == nil {
		f.open[name] = &tally{group: group, since: f.now()}
		f.groups[group]++
		return true
	}
	t.more++
	t.last = e
	return false
}

// place is the name under which a key is counted.
func (f *Aggregator) place(group, key string) string {
	name := group + "\x00" + key
	switch {
	case f.open[name] != nil:
		return name
	case len(f.open) >= maxKeys:
		return ""
	case f.groups[group] >= maxKeysPerGroup:
		return group
	}
	return name
}

// Flush writes one row for each key whose minute is over and that was met again, or for all of them at once. Quiet ones
// are forgotten.
func (f *Aggregator) Flush(ctx context.Context, all bool) error {
	if f == nil {
		return nil
	}
	if events := f.due(all); len(events) > 0 {
		return f.write(ctx, events...)
	}
	return nil
}

func (f *Aggregator) due(all bool) []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	var events []Event
	for key, t := range f.open {
		switch {
		case !all && now.Sub(t.since) < aggregationWindow:
		case t.more == 0:
			f.forget(key, t)
		default:
			e := t.last
			e.At, e.Changes = now, nil
			e.Detail = i18n.T("audit.refused_more", "Count", t.more, "Reason", t.last.Detail)
			events = append(events, e)
			t.since, t.more = now, 0
		}
	}
	return events
}

func (f *Aggregator) forget(key string, t *tally) {
	delete(f.open, key)
	if f.groups[t.group]--; f.groups[t.group] <= 0 {
		delete(f.groups, t.group)
	}
}
