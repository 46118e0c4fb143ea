// Package scaler is the shell of autoscale: Scaler.Run reads what gateways, model servers and GPUs report of each
// endpoint that scales, asks autoscale.Decide, and has workload.Service set the replicas. A job of the leader.
package scaler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store is what the scaler reads.
type Store interface {
	// ScalingEndpoints are the endpoints that shall run and scale by themselves, those that sleep with them.
	ScalingEndpoints(ctx context.Context) ([]workload.Workload, error)
	EndpointLoads(ctx context.Context) ([]autoscale.Report, error)
}

// Workloads carries out. Each can be called again.
type Workloads interface {
	Autoscale(ctx context.Context, id workload.ID, from, wanted int) (workload.Workload, error)
	FollowAutoscaler(ctx context.Context, id workload.ID, needed int) (workload.Workload, error)
	RecordScaling(ctx context.Context, id workload.ID) error
}

// Options are the dependencies of a Scaler; what may be nil says so.
type Options struct {
	Store     Store
	Workloads Workloads
	// Queue is how many requests wait in the servers of an endpoint; false where not all of them told. nil: nobody knows.
	Queue func(ctx context.Context, w workload.Workload) (float64, bool)
	// GPU is the use of the GPUs in per cent, each replica's mean added up; false where one is not known. nil: nobody
	// knows.
	GPU func(w workload.Workload) (float64, bool)
	// Fresh reports whether what is known of a cluster is of now; nil: it is.
	Fresh  func(cluster string) bool
	Now    func() time.Time
	Logger *slog.Logger
}

// Scaler decides and remembers the stabilization windows. What it forgets costs one window, and no replica.
type Scaler struct {
	o  Options
	mu sync.Mutex
	is map[workload.ID]memory
}

type memory struct {
	history autoscale.History
	ready   time.Time // since when it was seen to answer
	// the last number that there was no room for, and when it was tried
	denied   int
	deniedAt time.Time
	followed time.Time // when it was last looked at what KEDA has set
}

// followEvery is how often it is looked at how many replicas KEDA may set: what others hold changes.
const followEvery = 15 * time.Second

// retryAfter is how long a number is not tried again that there was no room for.
const retryAfter = 30 * time.Second

// New makes a Scaler.
func New(o Options) *Scaler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Scaler{o: o, is: map[workload.ID]memory{}}
}

// Forget drops what was remembered: another process leads.
func (s *Scaler) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.is = map[workload.ID]memory{}
}

// Run looks at every endpoint that scales once.
func (s *Scaler) Run(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := s.o.Store.ScalingEndpoints(ctx)
	if err != nil {
		return err
	}
	kept := make(map[workload.ID]memory, len(list))
	var reports []autoscale.Report
	if len(list) > 0 {
		if reports, err = s.o.Store.EndpointLoads(ctx); err != nil {
			return err
		}
	}
	var faults []error
	for _, w := range list {
		next, err := s.look(ctx, w, s.is[w.ID], reports)
		kept[w.ID] = next
		if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
			faults = append(faults, fmt.Errorf("scale %s: %w", w.ID, err))
		}
	}
	s.is = kept
	return errors.Join(faults...)
}

// look decides about one endpoint and has it carried out.
func (s *Scaler) look(ctx context.Context, w workload.Workload, m memory,
	reports []autoscale.Report) (memory, error) {
	now := s.o.Now()
	if w.Replicas.Recorded != 0 {
		if err := s.o.Workloads.RecordScaling(ctx, w.ID); err != nil {
			return m, err
		}
	}
	switch {
	case s.o.Fresh != nil && !s.o.Fresh(w.Cluster), w.ScaledByKEDA() && w.Observed.Autoscaler == nil:
		return memory{}, nil
	case w.ScaledByKEDA():
		return s.follow(ctx, w, m, reports)
	case w.Asleep() || w.State != workload.Running || w.Observed.ReadyReplicas() == 0:
		return memory{}, nil
	}
	current := w.Replicas.Want()
	m, wanted, why := s.decide(ctx, w, m, reports)
	enough := wanted <= current && w.Replicas.Short.IsZero()
	if enough && wanted == current {
		m.denied = 0
		return m, nil
	}
	if wanted > current && wanted == m.denied && now.Sub(m.deniedAt).Abs() < retryAfter {
		return m, nil
	}
	if why == autoscale.Unknown || why == autoscale.Beginning {
		return m, nil
	}
	after, err := s.o.Workloads.Autoscale(ctx, w.ID, current, wanted)
	if err != nil {
		return m, err
	}
	m.denied = 0
	if got := after.Replicas.Want(); got < wanted {
		m.denied, m.deniedAt = wanted, now
	}
	if after.Replicas.Want() != current {
		s.o.Logger.InfoContext(ctx, "scaled an endpoint", "workload", string(w.ID), "from", current, "to",
			after.Replicas.Want(), "wanted", wanted, "reason", string(why))
	}
	return m, nil
}

// decide is how many replicas an endpoint that answers should have.
func (s *Scaler) decide(ctx context.Context, w workload.Workload, m memory,
	reports []autoscale.Report) (next memory, wanted int, why autoscale.Reason) {
	now := s.o.Now()
	if m.ready.IsZero() {
		m.ready = now
	}
	scale := autoscale.Scale{Min: w.Replicas.Lowest(), Max: w.Replicas.Most(), Current: w.Replicas.Want(),
		ReadySince: readySince(w, m.ready)}
	wanted, why, m.history = autoscale.Decide(w.Replicas.Scaling, scale, s.load(ctx, w, reports, now), m.history)
	return m, wanted, why
}

// follow takes up what KEDA has set for an endpoint. To put it to sleep is the portal's: whoever wakes it comes to the
// portal's gateway.
func (s *Scaler) follow(ctx context.Context, w workload.Workload, m memory,
	reports []autoscale.Report) (memory, error) {
	wanted := w.Replicas.Want()
	if w.State == workload.Running && w.Observed.ReadyReplicas() > 0 {
		var why autoscale.Reason
		if m, wanted, why = s.decide(ctx, w, m, reports); why == autoscale.Sleep {
			_, err := s.o.Workloads.Autoscale(ctx, w.ID, w.Replicas.Want(), 0)
			return m, err
		}
	}
	now := s.o.Now()
	if w.Observed.Autoscaler.Replicas == w.Replicas.Want() && now.Sub(m.followed).Abs() < followEvery {
		return m, nil
	}
	m.followed = now
	after, err := s.o.Workloads.FollowAutoscaler(ctx, w.ID, wanted)
	if err == nil && after.Replicas.Want() != w.Replicas.Want() {
		s.o.Logger.InfoContext(ctx, "KEDA scaled an endpoint", "workload", string(w.ID), "from", w.Replicas.Want(), "to",
			after.Replicas.Want(), "asked", w.Observed.Autoscaler.Replicas)
	}
	return m, err
}

// Load is what is known of an endpoint's load now, for whoever else scales it.
func (s *Scaler) Load(ctx context.Context, w workload.Workload) (autoscale.Load, error) {
	reports, err := s.o.Store.EndpointLoads(ctx)
	if err != nil {
		return autoscale.Load{}, err
	}
	return s.load(ctx, w, reports, s.o.Now()), nil
}

// readySince is when an endpoint began to answer: what its start recorded, else when it was first seen to.
func readySince(w workload.Workload, seen time.Time) time.Time {
	for _, step := range w.Observed.Steps {
		if step.Name == workload.StepReady && !step.At.IsZero() {
			return step.At
		}
	}
	return seen
}

// load is what is known of an endpoint's load now.
func (s *Scaler) load(ctx context.Context, w workload.Workload, reports []autoscale.Report,
	now time.Time) autoscale.Load {
	metric := w.Replicas.Scaling.Metric
	l := autoscale.Measured(reports, string(w.ID), metric, now)
	switch {
	case metric == autoscale.Queue && s.o.Queue != nil:
		l.Value, l.Known = s.o.Queue(ctx, w)
	case metric == autoscale.GPU && s.o.GPU != nil:
		l.Value, l.Known = s.o.GPU(w)
	}
	return l
}
