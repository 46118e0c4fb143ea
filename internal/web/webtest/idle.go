package webtest

import (
	"context"
	"maps"
	"net/url"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Idle is what is set and known of idle time.
type Idle struct {
	*Store
	Set   idle.Revision
	Marks map[workload.ID]idle.Record
	Looks map[string]time.Time
	// what Prometheus tells of everything that runs: the highest use of a stretch; nil: nothing
	Did   func(until time.Time) float64
	Away  bool // it does not answer
	Saved int  // how often anything was written
}

func newIdle(s *Store) *Idle {
	return &Idle{Store: s, Marks: map[workload.ID]idle.Record{},
		Looks: map[string]time.Time{"local": Now.Add(-time.Minute)}}
}

// idleTx is one transaction; the stores of this package know nothing of others beside it.
type idleTx struct {
	workload.Tx
	*Idle
}

// Append writes events.
func (t idleTx) Append(ctx context.Context, events ...audit.Event) error {
	return t.Tx.Append(ctx, events...)
}

// Workload finds one.
func (t idleTx) Workload(ctx context.Context, id workload.ID) (workload.Workload, error) {
	return t.Tx.Workload(ctx, id)
}

// Workload finds one.
func (s *Idle) Workload(ctx context.Context, id workload.ID) (workload.Workload, error) {
	return workloadStore{s.Store}.Workload(ctx, id)
}

// ChangeIdle runs fn.
func (s *Idle) ChangeIdle(ctx context.Context, fn func(idle.Tx) error) error {
	return workloadStore{s.Store}.ChangeExclusively(ctx, func(tx workload.Tx) error { return fn(idleTx{tx, s}) })
}

// IdleSettings are those that count.
func (s *Idle) IdleSettings(context.Context) (idle.Revision, error) { return s.Set, nil }

// SaveIdleSettings keeps them.
func (s *Idle) SaveIdleSettings(ctx context.Context, r idle.Revision, events ...audit.Event) error {
	if r.Version != s.Set.Version+1 {
		return fault.New(fault.Conflict, i18n.T("store.conflict"))
	}
	s.Set, s.Saved = r, s.Saved+1
	return s.Store.Append(ctx, events...)
}

// IdleRecords are all of them: those that nobody asked for do no harm.
func (s *Idle) IdleRecords(context.Context, ...workload.ID) (map[workload.ID]idle.Record, error) {
	return maps.Clone(s.Marks), nil
}

// IdleObserved is up to when the cluster was looked at.
func (s *Idle) IdleObserved(context.Context) (map[string]time.Time, error) { return s.Looks, nil }

// SaveIdleRecord keeps a mark.
func (s *Idle) SaveIdleRecord(ctx context.Context, m idle.Record, events ...audit.Event) error {
	s.Marks[m.Workload], s.Saved = m, s.Saved+1
	return s.Store.Append(ctx, events...)
}

// DeleteIdleRecords forgets some.
func (s *Idle) DeleteIdleRecords(_ context.Context, ids ...workload.ID) error {
	for _, id := range ids {
		delete(s.Marks, id)
	}
	s.Saved++
	return nil
}

// SaveIdleObserved notes when the cluster was looked at.
func (s *Idle) SaveIdleObserved(_ context.Context, cluster string, until time.Time) error {
	s.Looks[cluster] = until
	s.Saved++
	return nil
}

// idleSource is Prometheus.
type idleSource struct{ *Idle }

// Clock is the tests' time.
func (s idleSource) Clock(context.Context) (time.Time, error) { return Now, nil }

// PodUtilization tells of everything that runs.
func (s idleSource) PodUtilization(_ context.Context, _ []string, from, until time.Time, slot,
	_ time.Duration) ([]gpumetrics.PodUtilization, error) {
	if s.Away || s.Did == nil {
		return nil, fault.New(fault.Unavailable, i18n.T("gpumetrics.unavailable"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []gpumetrics.PodUtilization
	for _, w := range s.Store.Works {
		one := gpumetrics.PodUtilization{Namespace: w.Namespace, Pod: w.Name + "-0", UUID: "GPU-" + w.Name}
		for end := from.Add(slot); !end.After(until); end = end.Add(slot) {
			if w.PlacedAt.Before(end) {
				one.Slots = append(one.Slots, gpumetrics.UtilizationSlot{Until: end, Known: slot,
					High: gpumetrics.Reading{Value: s.Did(end), Unit: gpumetrics.Percent, Source: gpumetrics.Measured, At: end}})
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// EndsWhenIdle has what nobody uses stopped after a time, for everybody.
func (w *World) EndsWhenIdle(after time.Duration) {
	w.Idle.Set = idle.Revision{Version: 1, Name: "Pat", At: Now.Add(-48 * time.Hour),
		Settings: idle.Settings{All: &idle.Setting{Action: idle.Stop, After: catalog.Duration(after), Below: idle.UsualBelow,
			KeepAlive: catalog.Duration(8 * time.Hour)}}}
}

// IsIdle says since when a workload's GPU does nothing, and when its owner was warned; zero for not.
func (w *World) IsIdle(id workload.ID, since, warned time.Time) {
	m := idle.Record{Workload: id, Below: idle.UsualBelow, Since: since, Until: w.Idle.Looks["local"], High: 1.2}
	if item, err := w.Idle.Workload(context.Background(), id); err == nil {
		m.Generation = item.Generation
	}
	if !warned.IsZero() {
		m = m.Warned(*w.Idle.Set.Settings.All, warned)
	}
	w.Idle.Marks[id] = m
}

// idleTried is a form that stops sooner.
var idleTried = url.Values{"base": {"1"}, "for-0": {"all"}, "action-0": {"stop"}, "after-0": {"4h"}, "below-0": {"5"},
	"keepAlive-0": {"8h"}, "for-1": {"teams.vision"}, "action-1": {"warn"}, "after-1": {"2h"}, "below-1": {"10"},
	"keepAlive-1": {""}}

// idling is a world in which one workload is idle and its owner was told, and another one is kept.
func idling() *World {
	w := Busy()
	w.EndsWhenIdle(6 * time.Hour)
	w.IsIdle("w-train-resnet", Now.Add(-5*time.Hour-10*time.Minute), Now.Add(-8*time.Minute))
	w.Warned("w-train-resnet", audit.WorkloadIdle, Now.Add(-8*time.Minute), notify.Delivery{ID: "n-1", Kind: notify.Idle,
		Person: Anna.ID, Name: Anna.Name, Channel: notify.Mail, State: notify.Sent, Attempts: 1,
		UpdatedAt: Now.Add(-7 * time.Minute)})
	w.Idle.Did = func(time.Time) float64 { return 1.2 }
	return w
}

// needed is idling after somebody said that they still need it.
func needed() *World {
	w := idling()
	w.Idle.Marks["w-train-resnet"] = w.Idle.Marks["w-train-resnet"].KeepAlive(Now.Add(7*time.Hour), Anna.Name)
	return w
}

// untold is idling without a Prometheus.
func untold() *World {
	w := idling()
	w.Idle.Away = true
	return w
}
