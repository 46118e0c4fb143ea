package request

import (
	"context"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Line is what stands before a new workload of a size on a cluster.
type Line struct {
	Cluster string
	Size    string
	Count   int           // granted, and waiting for a place
	Placed  []workload.ID // with a place since a time: a snapshot that is older does not show them yet
}

type place struct{ cluster, size string }

// queue remembers the lines for a moment: every offer asks, and a line that is two seconds old is as good as the
// picture of the cluster beside it. The zero value is ready.
type queue struct {
	mu    sync.Mutex
	at    time.Time
	lines map[place]Line
}

const (
	queueAge = 2 * time.Second
	// placedWithin is how old a snapshot of a busy cluster may become before the cluster counts as silent.
	placedWithin = 3 * time.Minute
)

func (q *queue) read(ctx context.Context, from interface {
	Queued(ctx context.Context, placedSince time.Time) ([]Line, error)
}, now time.Time) (map[place]Line, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lines != nil && now.Sub(q.at) < queueAge && !now.Before(q.at) {
		return q.lines, nil
	}
	list, err := from.Queued(ctx, now.Add(-placedWithin))
	if err != nil {
		return nil, err
	}
	lines := make(map[place]Line, len(list))
	for _, l := range list {
		lines[place{l.Cluster, l.Size}] = l
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

// ahead is how many places of a snapshot that are free in it are somebody's.
func (l Line) ahead(s inventory.Snapshot) int {
	n := l.Count
	if len(l.Placed) == 0 {
		return n
	}
	there := s.Holders()
	for _, id := range l.Placed {
		if !there[string(id)] {
			n++
		}
	}
	return n
}
