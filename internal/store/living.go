package store

import (
	"context"
	"slices"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// livingCache keeps the living workloads as values: two thousand of them take tens of milliseconds to decode, and pages
// of everybody's ask for all of them.
type livingCache struct {
	mu   sync.Mutex
	at   int64 // the change after which they were read
	list []workload.Workload
	read bool
}

// Living gives every workload that has not ended, oldest first, as view.Living does: what was read last while nothing
// has changed since. Each change of a workload counts the outbox on in its transaction, and those that count stand in
// one line, so what a number was read with is never older than it. The list is the caller's, what its workloads point
// to is not.
func (s *Store) Living(ctx context.Context) ([]workload.Workload, error) {
	now, err := s.LastChange(ctx)
	if err != nil {
		return nil, err
	}
	if list, ok := s.living.get(now); ok {
		return list, nil
	}
	list, err := s.view.Living(ctx) // nobody waits for another's reading: it may take as long as it is allowed to
	if err != nil {
		return nil, err
	}
	s.living.keep(now, slices.Clone(list))
	return list, nil
}

func (l *livingCache) get(now int64) ([]workload.Workload, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read || l.at < now {
		return nil, false
	}
	return slices.Clone(l.list), true
}

func (l *livingCache) keep(at int64, list []workload.Workload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read || l.at < at {
		l.at, l.list, l.read = at, list, true
	}
}
