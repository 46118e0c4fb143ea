package request

import (
	"context"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Line is how many workloads of a size are granted on a cluster and wait for a place.
type Line struct {
	Cluster string
	Size    string
	Count   int
}

type place struct{ cluster, size string }

// queue remembers the lines for a moment: every offer asks, and a line that is two seconds old is as good as the
// picture of the cluster beside it. The zero value is ready.
type queue struct {
	mu    sync.Mutex
	at    time.Time
	lines map[place]int
}

const queueAge = 2 * time.Second

func (q *queue) read(ctx context.Context, from interface {
	Queued(ctx context.Context) ([]Line, error)
}, now time.Time) (map[place]int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lines != nil && now.Sub(q.at) < queueAge && !now.Before(q.at) {
		return q.lines, nil
	}
	list, err := from.Queued(ctx)
	if err != nil {
		return nil, err
	}
	lines := make(map[place]int, len(list))
	for _, l := range list {
		lines[place{l.Cluster, l.Size}] += l.Count
	}
	q.at, q.lines = now, lines
	return lines, nil
}

// waiting says why a wish would not start at once: what is in the way on the nodes, and who stands in front.
func (s *Service) waiting(ctx context.Context, w Wish) (why i18n.Text, ahead int, err error) {
	lines, err := s.queue.read(ctx, s.Store, s.Now())
	if err != nil || w.Size.Name == "" {
		return why, 0, err
	}
	if snapshot, ok := s.Snapshots.Snapshot(ctx, w.Cluster); ok {
		why = capacity.Why(snapshot, w.Size)
	}
	return why, lines[place{w.Cluster, w.Size.Name}], nil
}
