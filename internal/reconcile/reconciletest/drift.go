package reconciletest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Backup is a copy of everything that the store has, as a dump would be.
func (s *Store) Backup() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := NewStore()
	b.workloads, b.volumes, b.claims = maps.Clone(s.workloads), maps.Clone(s.volumes), maps.Clone(s.claims)
	b.intervals, b.events, b.starts = slices.Clone(s.intervals), slices.Clone(s.events), maps.Clone(s.starts)
	b.database, b.changes, b.saves = s.database, s.changes, s.saves
	b.holds, b.differences = maps.Clone(s.holds), maps.Clone(s.differences)
	return b
}

// Position implements reconcile.Store.
func (s *Store) Position(ctx context.Context) (drift.Position, error) {
	s.mu.Lock()
	p := drift.Position{Database: s.database, Epoch: 1, Audit: int64(len(s.events)), Outbox: s.changes}
	s.mu.Unlock()
	var err error
	p.Link, err = s.Link(ctx, p.Audit)
	return p, err
}

// Link implements reconcile.Store: a hash of all events up to a number.
func (s *Store) Link(_ context.Context, seq int64) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq <= 0 || seq > int64(len(s.events)) {
		return "", nil
	}
	text, err := json.Marshal(s.events[:seq])
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), err
}

// Volume implements reconcile.Store.
func (s *Store) Volume(_ context.Context, name string) (workload.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.volumes[name]
	if !ok {
		return v, fault.New(fault.NotFound, i18n.T("volume.not_found"))
	}
	return v, nil
}

// Holds implements reconcile.Store.
func (s *Store) Holds(context.Context) ([]drift.Hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.holds)), nil
}

// SaveHold implements reconcile.Store.
func (s *Store) SaveHold(_ context.Context, h drift.Hold, events ...audit.Event) error {
	return s.told(func() error {
		if _, held := s.holds[h.Cluster]; !held {
			s.holds[h.Cluster] = h
			s.events = append(s.events, events...)
		}
		return nil
	})
}

// EndHold implements reconcile.Store.
func (s *Store) EndHold(_ context.Context, cluster string, events ...audit.Event) error {
	return s.told(func() error {
		if _, held := s.holds[cluster]; held {
			delete(s.holds, cluster)
			s.events = append(s.events, events...)
		}
		return nil
	})
}

// told writes, and tells of it as the outbox would.
func (s *Store) told(fn func() error) error {
	err := s.write(fn)
	if err == nil {
		s.Hub.Publish(live.Change{Topic: live.TopicDifference})
	}
	return err
}

// Differences implements reconcile.Store.
func (s *Store) Differences(context.Context) ([]drift.Difference, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Collect(maps.Values(s.differences))
	slices.SortFunc(list, func(a, b drift.Difference) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return list, nil
}

// SaveDifferences implements reconcile.Store. It is no write when nothing is new.
func (s *Store) SaveDifferences(_ context.Context, cluster string, found []drift.Difference) error {
	s.mu.Lock()
	fresh := map[string]drift.Difference{}
	for _, d := range found {
		if was, known := s.differences[d.ID]; known && was.Version == d.Version {
			d = was
		} else if known && was.Decision != drift.Adopt {
			d.Decision = was.Decision
		}
		fresh[d.ID] = d
	}
	for id, d := range s.differences {
		if d.Cluster != cluster {
			fresh[id] = d
		}
	}
	same := reflect.DeepEqual(fresh, s.differences)
	s.mu.Unlock()
	if same {
		return nil
	}
	return s.told(func() error { s.differences = fresh; return nil })
}

// tx is the store for a decision; nothing of one that fails is taken back, which no test needs.
type tx struct{ *Store }

// DecideDifferences implements drift.Store.
func (s *Store) DecideDifferences(_ context.Context, fn func(drift.Tx) error) error {
	err := fn(tx{s})
	s.Hub.Publish(live.Change{Topic: live.TopicDifference})
	return err
}

// Person implements drift.Store.
func (s *Store) Person(_ context.Context, id identity.PersonID) (identity.Person, error) {
	return identity.Person{ID: id, Name: "Dana"}, nil
}

func (t tx) Difference(_ context.Context, id string) (drift.Difference, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, ok := t.differences[id]
	if !ok {
		return d, fault.New(fault.NotFound, i18n.T("drift.not_found"))
	}
	return d, nil
}

func (t tx) SaveWorkload(_ context.Context, w workload.Workload) error { t.Put(w); return nil }

func (t tx) SaveVolume(_ context.Context, v workload.Volume) error {
	v.Version++
	t.PutVolume(v)
	return nil
}

func (t tx) ForgetVolume(ctx context.Context, name string) error { return t.PurgeVolume(ctx, name) }

func (t tx) CloseMeter(_ context.Context, id workload.ID, at usage.Interval) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	at.Workload = string(id)
	t.measure(at)
	return nil
}

func (t tx) SaveDecision(_ context.Context, d drift.Difference) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.differences[d.ID] = d
	if h, held := t.holds[d.Cluster]; held {
		h.Decided++
		t.holds[d.Cluster] = h
	}
	return nil
}

func (t tx) EndHold(_ context.Context, cluster string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, held := t.holds[cluster]
	delete(t.holds, cluster)
	return held, nil
}

func (t tx) Append(_ context.Context, events ...audit.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, events...)
	return nil
}
