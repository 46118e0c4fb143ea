package request

import (
	"context"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// SizeQueue is the queue of workloads for a size on a cluster.
type SizeQueue struct {
	Cluster string
	Size    string
	Count   int           // granted, not placed yet
	Placed  []workload.ID // placed since a time: an older snapshot does not show them yet
}

type queueKey struct{ cluster, size string }

// queue caches the queues for queueAge: every offer asks, and the snapshot beside it is older than that. The zero value
// is ready.
type queue struct {
	mu    sync.Mutex
	at    time.Time
	lines map[queueKey]SizeQueue
}

const (
	queueAge = 2 * time.Second
	// placedWithin is how old a snapshot of a busy cluster may become before the cluster counts as silent.
	placedWithin = 3 * time.Minute
)

func (q *queue) read(ctx context.Context, from interface {
	Queued(ctx context.Context, placedSince time.Time) ([]SizeQueue, error)
}, now time.Time) (map[queueKey]SizeQueue, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lines != nil && now.Sub(q.at) < queueAge && !now.Before(q.at) {
		return q.lines, nil
	}
	list, err := from.Queued(ctx, now.Add(-placedWithin))
	if err != nil {
		return nil, err
	}
	lines := make(map[queueKey]SizeQueue, len(list))
	for _, l := range list {
		lines[queueKey{l.Cluster, l.Size}] = l
	}
	q.at, q.lines = now, lines
	return lines, nil
}

// forget makes the next read a fresh one: this process has granted something.
func (q *queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines = nil
}

// depth is how many of the places that a snapshot shows as free are spoken for; holders are those that it shows.
func (l SizeQueue) depth(holders func() map[string]bool) int {
	n := l.Count
	if len(l.Placed) == 0 {
		return n
	}
	there := holders()
	for _, id := range l.Placed {
		if !there[string(id)] {
			n++
		}
	}
	return n
}
