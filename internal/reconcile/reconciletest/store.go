// Package reconciletest has what tests of the controller need: Store in memory, which can be made to fail; workloads in
// one line (Notebook, Endpoint, Job) and a Site; and Devstack, a running API server with its audit log (NeedDevstack).
package reconciletest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store is a reconcile.Store in memory. Like a database it keeps copies, checks versions, and tells of changes.
type Store struct {
	Hub *live.Hub

	mu        sync.Mutex
	workloads map[workload.ID]workload.Workload
	volumes   map[string]workload.Volume
	taken     map[string]workload.VolumeSnapshot
	claims    map[string]workload.ClaimState
	intervals []usage.Interval
	events    []audit.Event
	snapshots map[string]inventory.Snapshot
	starts    map[workload.ID]forecast.Start
	before    func() error // called before each write; an error is what the caller gets
	after     func() error // called after each write; an error is what the caller gets although it was written
	saves     int
	compared  int

	database    string
	changes     int64
	holds       map[string]drift.Hold
	differences map[string]drift.Difference
}

// NewStore makes an empty store.
func NewStore() *Store {
	return &Store{Hub: live.NewHub(nil, time.Hour), workloads: map[workload.ID]workload.Workload{},
		volumes: map[string]workload.Volume{}, taken: map[string]workload.VolumeSnapshot{},
		claims:    map[string]workload.ClaimState{},
		snapshots: map[string]inventory.Snapshot{}, starts: map[workload.ID]forecast.Start{}, database: "test",
		holds: map[string]drift.Hold{}, differences: map[string]drift.Difference{}}
}

// Follow gives the changes of workloads and volumes.
func (s *Store) Follow() *live.Follower {
	return s.Hub.Follow(func(c live.Change) bool {
		return c.Topic == live.TopicWorkload || c.Topic == live.TopicVolume || c.Topic == live.TopicDifference
	})
}

// BeforeWrite has fn called before each write of the controller; an error of it is what the controller gets, and
// nothing is written.
func (s *Store) BeforeWrite(fn func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = fn
}

// AfterWrite has fn called after each write of the controller; an error of it is what the controller gets though all
// was written, as when the connection breaks after the commit.
func (s *Store) AfterWrite(fn func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = fn
}

// Put writes a workload as people do: whatever version it has.
func (s *Store) Put(w workload.Workload) {
	s.mu.Lock()
	s.changes++
	w.Version = s.workloads[w.ID].Version + 1
	s.workloads[w.ID] = copied(w)
	s.mu.Unlock()
	s.Hub.Publish(live.Change{Topic: live.TopicWorkload, ID: string(w.ID)})
}

// SetDesired changes a workload as a person would.
func (s *Store) SetDesired(id workload.ID, change workload.Change, now time.Time) error {
	s.mu.Lock()
	w := s.workloads[id]
	next, events, err := change(w, identity.System(), now)
	if err == nil {
		next.Version = w.Version + 1
		s.workloads[id] = copied(next)
		s.changes++
		s.events = append(s.events, events...)
	}
	s.mu.Unlock()
	s.Hub.Publish(live.Change{Topic: live.TopicWorkload, ID: string(id)})
	return err
}

// PutVolume writes a volume.
func (s *Store) PutVolume(v workload.Volume) {
	s.mu.Lock()
	s.changes++
	s.volumes[v.Name] = v
	s.mu.Unlock()
	s.Hub.Publish(live.Change{Topic: live.TopicVolume, ID: v.Name})
}

// Get gives a workload; the zero one when there is none.
func (s *Store) Get(id workload.ID) workload.Workload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied(s.workloads[id])
}

// Meter gives the intervals of a workload.
func (s *Store) Meter(id workload.ID) []usage.Interval {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []usage.Interval
	for _, i := range s.intervals {
		if i.Workload == string(id) {
			list = append(list, i)
		}
	}
	return list
}

// Events gives the kinds of what the audit has of a workload, in order.
func (s *Store) Events(id workload.ID) []audit.Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kinds []audit.Kind
	for _, e := range s.events {
		if e.Workload == string(id) {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// EventKinds gives the kinds of all that the audit has, in order.
func (s *Store) EventKinds() []audit.Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds := make([]audit.Kind, len(s.events))
	for i, e := range s.events {
		kinds[i] = e.Kind
	}
	return kinds
}

// Saves says how often the controller has written workloads.
func (s *Store) Saves() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saves
}

// Snapshot gives what was saved of a cluster.
func (s *Store) Snapshot(cluster string) (inventory.Snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot, ok := s.snapshots[cluster]
	return snapshot, ok
}

// Comparisons is how often the living workloads were listed: once for each comparison with the cluster, and by who
// looks for differences.
func (s *Store) Comparisons() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compared
}

// Living implements reconcile.Store.
func (s *Store) Living(context.Context) ([]workload.Workload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compared++
	var list []workload.Workload
	for _, w := range s.workloads {
		if w.State != workload.Ended {
			list = append(list, copied(w))
		}
	}
	slices.SortFunc(list, func(a, b workload.Workload) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return list, nil
}

// Workload implements reconcile.Store.
func (s *Store) Workload(_ context.Context, id workload.ID) (workload.Workload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.workloads[id]
	if !ok {
		return w, fault.New(fault.NotFound, i18n.T("workload.not_found"))
	}
	return copied(w), nil
}

// SaveObserved implements reconcile.Store.
func (s *Store) SaveObserved(_ context.Context, w workload.Workload, events []audit.Event, meter *usage.Interval,
	starts ...forecast.Start) error {
	err := s.write(func() error {
		if s.workloads[w.ID].Version != w.Version {
			return fault.New(fault.Conflict, i18n.T("store.changed"))
		}
		for _, start := range starts {
			if is, ok := s.starts[start.Workload]; ok && is.Generation == start.Generation && !is.Open() {
				return fault.New(fault.Conflict, i18n.T("store.changed"))
			}
			s.starts[start.Workload] = start
		}
		w.Version++
		s.workloads[w.ID] = copied(w)
		s.events = append(s.events, events...)
		if meter != nil {
			s.measure(*meter)
		}
		s.saves++
		s.changes++
		return nil
	})
	if err == nil {
		s.Hub.Publish(live.Change{Topic: live.TopicWorkload, ID: string(w.ID)})
	}
	return err
}

// Start implements reconcile.Store. It keeps the last start of each workload.
func (s *Store) Start(_ context.Context, id workload.ID, generation int64) (forecast.Start, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if start, ok := s.starts[id]; ok && start.Generation == generation {
		return start, nil
	}
	return forecast.Start{}, fault.New(fault.NotFound, i18n.T("workload.not_found"))
}

func (s *Store) measure(i usage.Interval) {
	open := slices.IndexFunc(s.intervals, func(o usage.Interval) bool {
		return o.Workload == i.Workload &&
			o.Until.IsZero()
	})
	switch {
	case i.Until.IsZero() && open < 0:
		s.intervals = append(s.intervals, i)
	case !i.Until.IsZero() && open >= 0:
		s.intervals[open].Until = i.Until
	}
	if i.Then != nil {
		begun := *i.Then
		begun.Until, begun.Then = time.Time{}, nil
		s.measure(begun)
		if !i.Then.Until.IsZero() {
			s.measure(*i.Then)
		}
	}
}

// OpenIntervals implements reconcile.Store.
func (s *Store) OpenIntervals(context.Context) (map[workload.ID]usage.Interval, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[workload.ID]usage.Interval{}
	for _, i := range s.intervals {
		if i.Until.IsZero() {
			open[workload.ID(i.Workload)] = i
		}
	}
	return open, nil
}

// OpenInterval implements reconcile.Store.
func (s *Store) OpenInterval(ctx context.Context, id workload.ID) (*usage.Interval, error) {
	open, err := s.OpenIntervals(ctx)
	if i, ok := open[id]; ok {
		return &i, err
	}
	return nil, err
}

// Append implements reconcile.Store.
func (s *Store) Append(_ context.Context, events ...audit.Event) error {
	return s.write(func() error { s.events = append(s.events, events...); return nil })
}

// EventsOf gives what the audit has of a kind, in order.
func (s *Store) EventsOf(k audit.Kind) []audit.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(e audit.Event) bool { return e.Kind != k })
}

// SaveSnapshot implements reconcile.Store.
func (s *Store) SaveSnapshot(_ context.Context, snapshot inventory.Snapshot) error {
	return s.write(func() error { s.snapshots[snapshot.Cluster] = snapshot; return nil })
}

// DeletedVolumes implements reconcile.Store.
func (s *Store) DeletedVolumes(context.Context) ([]workload.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []workload.Volume
	for _, v := range s.volumes {
		if v.Deleted {
			list = append(list, v)
		}
	}
	return list, nil
}

// Volumes implements reconcile.Store.
func (s *Store) Volumes(_ context.Context, f workload.VolumeFilter) ([]workload.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []workload.Volume
	for _, name := range slices.Sorted(maps.Keys(s.volumes)) {
		v := s.volumes[name]
		if !v.Deleted && (f.Cluster == "" || v.Cluster == f.Cluster) && (!f.Shared || v.OfTeam()) {
			list = append(list, v)
		}
	}
	return list, nil
}

// Claims implements reconcile.Store.
func (s *Store) Claims(_ context.Context, volumes ...string) (map[string]workload.ClaimState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	claims := map[string]workload.ClaimState{}
	for _, name := range volumes {
		if c, ok := s.claims[name]; ok {
			claims[name] = c
		}
	}
	return claims, nil
}

// SaveClaim implements reconcile.Store.
func (s *Store) SaveClaim(_ context.Context, volume string, c workload.ClaimState) error {
	return s.write(func() error { s.claims[volume] = c; return nil })
}

// PurgeVolume implements reconcile.Store.
func (s *Store) PurgeVolume(_ context.Context, name string) error {
	return s.write(func() error { delete(s.volumes, name); return nil })
}

// PutSnapshot writes a snapshot of a volume.
func (s *Store) PutSnapshot(v workload.VolumeSnapshot) {
	s.mu.Lock()
	s.taken[v.ID] = v
	s.mu.Unlock()
	s.Hub.Publish(live.Change{Topic: live.TopicVolume, ID: v.Volume})
}

// ClusterSnapshots implements reconcile.Store.
func (s *Store) ClusterSnapshots(_ context.Context, cluster string) ([]workload.VolumeSnapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []workload.VolumeSnapshot
	for _, id := range slices.Sorted(maps.Keys(s.taken)) {
		if s.taken[id].Cluster == cluster {
			list = append(list, s.taken[id])
		}
	}
	return list, nil
}

// VolumeSnapshot implements reconcile.Store.
func (s *Store) VolumeSnapshot(_ context.Context, id string) (workload.VolumeSnapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.taken[id]
	if !ok {
		return v, fault.New(fault.NotFound, i18n.T("snapshot.not_found"))
	}
	return v, nil
}

// SaveSnapshotState implements reconcile.Store.
func (s *Store) SaveSnapshotState(_ context.Context, id string, state workload.SnapshotState) error {
	return s.write(func() error {
		if v, ok := s.taken[id]; ok {
			v.State = state
			s.taken[id] = v
		}
		return nil
	})
}

// PurgeVolumeSnapshot implements reconcile.Store.
func (s *Store) PurgeVolumeSnapshot(_ context.Context, id string) error {
	return s.write(func() error { delete(s.taken, id); return nil })
}

// AdoptVolumeSnapshot implements reconcile.Store.
func (s *Store) AdoptVolumeSnapshot(_ context.Context, v workload.VolumeSnapshot, _ audit.Event) error {
	return s.write(func() error {
		if _, ok := s.taken[v.ID]; !ok {
			s.taken[v.ID] = v
		}
		return nil
	})
}

// HasVolume reports whether there is a row of that name.
func (s *Store) HasVolume(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.volumes[name]
	return ok
}

// ErrDown is what a store that is down answers.
var ErrDown = errors.New("the store is down")

func (s *Store) write(fn func() error) error {
	s.mu.Lock()
	before, after := s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	if err := s.locked(fn); err != nil || after == nil {
		return err
	}
	return after()
}

func (s *Store) locked(fn func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fn()
}

// copied goes through JSON, as a database row would: numbers in texts become float64, and times lose what does not
// last.
func copied(w workload.Workload) workload.Workload {
	var c workload.Workload
	text, err := json.Marshal(w)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		panic(err)
	}
	return c
}
