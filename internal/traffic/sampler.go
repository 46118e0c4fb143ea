package traffic

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// SampleEvery is how often endpoints are looked at.
const SampleEvery = time.Minute

// sampleWithin bounds how long servers are asked how many requests wait; of those not reached it is not known.
const sampleWithin = 20 * time.Second

// SampleStore keeps samples.
type SampleStore interface {
	// RunningEndpoints are the endpoints that shall run, those that sleep with them.
	RunningEndpoints(ctx context.Context) ([]workload.Workload, error)
	AddSamples(ctx context.Context, samples map[workload.ID]Sample) error
}

// Sampler writes down how many replicas endpoints have. The leader runs it.
type Sampler struct {
	Store SampleStore
	// Queue is how many requests wait in the servers of an endpoint; false where not all of them told.
	Queue func(ctx context.Context, w workload.Workload) (float64, bool)
	// Fresh reports whether what is known of a cluster is of now.
	Fresh func(cluster string) bool
	Now   func() time.Time
}

// Run samples every endpoint once.
func (s *Sampler) Run(ctx context.Context) error {
	list, err := s.Store.RunningEndpoints(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	asking, stop := context.WithTimeout(ctx, sampleWithin)
	defer stop()
	samples, at := map[workload.ID]Sample{}, s.Now().Truncate(Fine.Long)
	for _, w := range list {
		if !s.Fresh(w.Cluster) {
			continue
		}
		one := Sample{At: at, Count: 1, Wanted: int64(w.Replicas.Want()), Ready: int64(w.Observed.ReadyReplicas())}
		if one.Ready > 0 && asking.Err() == nil {
			if waiting, ok := s.Queue(asking, w); ok {
				one.QueueCount, one.Queue = 1, waiting
			}
		}
		samples[w.ID] = one
	}
	if len(samples) == 0 {
		return nil
	}
	return s.Store.AddSamples(ctx, samples)
}
