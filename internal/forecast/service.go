package forecast

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Days of history are looked at.
const Days = 30

// Store reads starts, decisions and leases. Faults: Unavailable when the database is away.
type Store interface {
	// StartDurations lists how long starts of a size took that were ready since a time, the newest first; not all of very
	// many.
	StartDurations(ctx context.Context, size string, kind catalog.WorkloadKind, since time.Time) ([]StartDuration, error)
	// DecisionDurations lists how long requests of a team for a start waited for people who then decided them, since a
	// time; not all of very many.
	DecisionDurations(ctx context.Context, tenant string, since time.Time) ([]time.Duration, error)
	// EarlyReleases lists how long before the end of its lease a size was given back, since a time; not all of very many.
	EarlyReleases(ctx context.Context, size string, since time.Time) ([]time.Duration, error)
	// Allocations lists what holds something or waits for it, of all clusters.
	Allocations(ctx context.Context) ([]Allocation, error)
	SeatLine(ctx context.Context) ([]request.Waiting, error)
}

// Options are the dependencies of a Service.
type Options struct {
	Store     Store
	Snapshots request.Snapshots
	// Seats counts every license pool; nil where there is none.
	Seats func(ctx context.Context) ([]license.Seats, error)
	Now   func() time.Time
}

// Service gathers facts and estimates. What it read it remembers for a moment, for pages with many rows.
type Service struct {
	o       Options
	took    memory[sizeKind, []StartDuration]
	decided memory[string, Distribution]
	early   memory[string, time.Duration]
	held    memory[struct{}, []Allocation]
}

type sizeKind struct {
	size string
	kind catalog.WorkloadKind
}

// New makes a service.
func New(o Options) *Service { return &Service{o: o} }

// Fresh is how old a picture of a cluster may be: it is confirmed every minute.
const Fresh = 3 * time.Minute

const (
	remembered   = 10 * time.Second
	heldFor      = 2 * time.Second
	mostRemember = 1000
)

// ForWorkload is when a workload that is on its way will be ready; the zero Estimate for one that is not.
func (s *Service) ForWorkload(ctx context.Context, w workload.Workload) (Estimate, error) {
	now := s.o.Now()
	if w.Desired != workload.WantRunning || w.State != workload.Queued && w.State != workload.Starting {
		return Estimate{}, nil
	}
	if at := w.Observed.At; !at.IsZero() && now.Sub(at) > Fresh {
		return none(Silent, now), nil
	}
	took, err := s.startDurations(ctx, w.Size.Name, w.Kind)
	if err != nil {
		return Estimate{}, err
	}
	if w.State == workload.Starting {
		return FromDurations(Placed, afterPlacement(took), orElse(w.UpdatedAt, reached(w, workload.StepPlaced)), now), nil
	}
	return s.forQueued(ctx, w, took, now)
}

// forQueued estimates a workload that is not placed yet.
func (s *Service) forQueued(ctx context.Context, w workload.Workload, took []StartDuration,
	now time.Time) (Estimate, error) {
	told := orElse(w.UpdatedAt, w.Observed.Decided())
	waits, known := causes[w.Reason.ID]
	if !known {
		return none(Stuck, now), nil
	}
	all, err := s.allocations(ctx)
	if err != nil {
		return Estimate{}, err
	}
	first := queuedBefore(all, w.ID, w.Cluster, w.Size.Name)
	if waits == awaitsQuota {
		return s.fromQueue(ctx, quotaQueue(w, first, all, now), w.Size.Name, took, now)
	}
	return s.forPlacement(ctx, w.Cluster, w.Size, first, all, took, told, now)
}

// cause is what a queued workload waits for.
type cause int

const (
	awaitsPlacement cause = iota
	awaitsQuota
)

// causes are the reasons (see explain) that the end of somebody's lease mends, and those that say nothing yet. What is
// not here somebody has to mend.
var causes = map[string]cause{
	"": awaitsPlacement, "explain.creating": awaitsPlacement, "explain.preparing": awaitsPlacement,
	"explain.searching": awaitsPlacement,
	"explain.queued":    awaitsPlacement, "explain.still_stopping": awaitsPlacement,
	"explain.in_use": awaitsPlacement, "explain.in_use_unknown": awaitsPlacement, "explain.other_in_use": awaitsPlacement,
	"explain.node_full": awaitsPlacement, "explain.nodes_full": awaitsPlacement,
	"explain.growth_limit": awaitsPlacement, "explain.growth_no_machines": awaitsPlacement,
	"explain.card_memory":  awaitsPlacement,
	"explain.card_compute": awaitsPlacement, "explain.making_room": awaitsPlacement,
	"explain.device_moment": awaitsPlacement, "explain.lost_race": awaitsPlacement, "explain.replacing": awaitsPlacement,
	"explain.preempted": awaitsPlacement, "explain.claim_in_use": awaitsPlacement,
	"explain.disk_making": awaitsPlacement, "workload.being_created": awaitsPlacement,
	"workload.resuming":  awaitsPlacement,
	"explain.quota_full": awaitsQuota, "explain.quota_unknown": awaitsQuota,
}

// forPlacement is the estimate for something that needs a place on nodes: at once where there is room, else after the
// leases before it.
func (s *Service) forPlacement(ctx context.Context, cluster string, size catalog.Size, first, all []Allocation,
	took []StartDuration,
	told, now time.Time) (Estimate, error) {
	snapshot, ok := s.o.Snapshots.Snapshot(ctx, cluster)
	if !ok || now.Sub(snapshot.TakenAt) > Fresh {
		return none(Silent, now), nil
	}
	if fit := capacity.Fit(snapshot, size); fit.Known && fit.Total == 0 {
		e := none(Stuck, now)
		e.Position = len(first) + 1
		return e, nil
	}
	line, waits := placementQueue(snapshot, size, first, all, now)
	if !waits {
		return FromDurations(Starts, totals(took), told, now), nil
	}
	return s.fromQueue(ctx, line, size.Name, took, now)
}

func (s *Service) fromQueue(ctx context.Context, l QueuePosition, size string, took []StartDuration,
	now time.Time) (Estimate, error) {
	early, err := s.early.get(size, now, remembered, func() (time.Duration, error) {
		list, err := s.o.Store.EarlyReleases(ctx, size, now.AddDate(0, 0, -Days))
		return mean(list), err
	})
	l.EarlyRelease = early
	return FromQueue(l, afterPlacement(took), now), err
}

// ForPreview is when a spec would be ready if it were sent now; the zero Estimate for one that cannot be sent.
func (s *Service) ForPreview(ctx context.Context, p request.Preview) (Estimate, error) {
	now, w := s.o.Now(), p.Spec
	if len(p.Fields) > 0 && !p.NeedsReason() || !p.Refused.IsZero() || w.Size.Name == "" || w.Image.Name == "" ||
		p.Verdict.Outcome == "" {
		return Estimate{}, nil
	}
	if p.Verdict.Outcome == policy.Approve {
		return s.fromDecisions(ctx, w, now, now)
	}
	if p.Place > 0 && p.Seats != nil {
		return s.forSeats(ctx, w, p.Seats.Pool.Name, p.Place, max(1, w.Size.Seats(p.Seats.Pool)), now)
	}
	took, err := s.startDurations(ctx, w.Size.Name, w.Kind)
	if err != nil {
		return Estimate{}, err
	}
	all, err := s.allocations(ctx)
	if err != nil {
		return Estimate{}, err
	}
	// it is ready with its last replica: the others stand before that one
	others := slices.Repeat([]Allocation{{Cluster: w.Cluster, Size: w.Size, Queued: true}}, w.Replicas.Least()-1)
	e, err := s.forPlacement(ctx, w.Cluster, w.Size,
		slices.Concat(queuedBefore(all, "", w.Cluster, w.Size.Name), others), all, took, now, now)
	if e.Position > 0 {
		e.Position = max(1, e.Position-len(others))
	}
	return e, err
}

// ForRequest is when a start that waits for people or for a license seat will be ready; the zero Estimate for all
// others.
func (s *Service) ForRequest(ctx context.Context, r request.Request) (Estimate, error) {
	now := s.o.Now()
	if r.State != request.Pending || r.Kind != request.StartKind && !r.WaitsForSeat() {
		return Estimate{}, nil
	}
	if !r.WaitsForSeat() {
		return s.fromDecisions(ctx, r.Spec, r.CreatedAt, now)
	}
	line, err := s.o.Store.SeatLine(ctx)
	if err != nil {
		return Estimate{}, err
	}
	pool, at := r.Decision.Seat.Pool, 0
	for _, x := range line {
		if x.Pool == pool {
			at++
		}
		if x.ID == r.ID {
			break
		}
	}
	return s.forSeats(ctx, r.Spec, pool, at, 1, now)
}

// fromDecisions is the estimate for a spec that people have to decide.
func (s *Service) fromDecisions(ctx context.Context, w request.Spec, asked, now time.Time) (Estimate, error) {
	waited, err := s.decided.get(w.Tenant, now, remembered, func() (Distribution, error) {
		list, err := s.o.Store.DecisionDurations(ctx, w.Tenant, now.AddDate(0, 0, -Days))
		return NewDistribution(list), err
	})
	if err != nil {
		return Estimate{}, err
	}
	took, err := s.startDurations(ctx, w.Size.Name, w.Kind)
	return FromDecisions(waited, totals(took), asked, now), err
}

// forSeats is the estimate for one that waits for license seats, each checkout as many as those before it.
func (s *Service) forSeats(ctx context.Context, w request.Spec, pool string, at, each int,
	now time.Time) (Estimate, error) {
	all, err := s.allocations(ctx)
	if err != nil {
		return Estimate{}, err
	}
	short, seats := at*each, uncountedPool(pool, all)
	if s.o.Seats != nil {
		pools, err := s.o.Seats(ctx)
		if err != nil {
			return Estimate{}, err
		}
		if p, ok := license.Find(pools, pool); ok {
			short, seats = short-p.Free(), p
		}
	}
	took, err := s.startDurations(ctx, w.Size.Name, w.Kind)
	if err != nil {
		return Estimate{}, err
	}
	return s.fromQueue(ctx, seatQueue(seats, at, max(1, short), all), w.Size.Name, took, now)
}

func (s *Service) startDurations(ctx context.Context, size string, kind catalog.WorkloadKind) ([]StartDuration, error) {
	now := s.o.Now()
	return s.took.get(sizeKind{size, kind}, now, remembered, func() ([]StartDuration, error) {
		return s.o.Store.StartDurations(ctx, size, kind, now.AddDate(0, 0, -Days))
	})
}

func (s *Service) allocations(ctx context.Context) ([]Allocation, error) {
	return s.held.get(struct{}{}, s.o.Now(), heldFor, func() ([]Allocation, error) { return s.o.Store.Allocations(ctx) })
}

// reached is when a start came to a step; zero where the cluster has not said so.
func reached(w workload.Workload, name workload.StepName) time.Time {
	for _, step := range w.Observed.Steps {
		if step.Name == name {
			return step.At
		}
	}
	return time.Time{}
}

// orElse is the second time, or the first where that is not known.
func orElse(otherwise, t time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}

// memory keeps what was read for a moment. The zero value is ready.
type memory[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]memo[V]
}

type memo[V any] struct {
	at    time.Time
	value V
}

func (m *memory[K, V]) get(key K, now time.Time, age time.Duration, read func() (V, error)) (V, error) {
	m.mu.Lock()
	if is, ok := m.known[key]; ok && now.Sub(is.at) < age && !now.Before(is.at) {
		m.mu.Unlock()
		return is.value, nil
	}
	m.mu.Unlock()
	value, err := read()
	if err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= mostRemember {
		m.known = map[K]memo[V]{}
	}
	m.known[key] = memo[V]{now, value}
	return value, nil
}
