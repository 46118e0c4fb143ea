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
// one line, so what a number was read with is never older than it. The list is the caller's, what its workloads point to
// is not.
func (s *Store) Living(ctx context.Context) ([]workload.Workload, error) {
	now, err := s.LastChange(ctx)
	if err != nil {
		return nil, err
	}
	s.living.mu.Lock()
	defer s.living.mu.Unlock()
	if s.living.read && s.living.at >= now {
		return slices.Clone(s.living.list), nil
	}
	list, err := s.view.Living(ctx)
	if err != nil {
		return nil, err
	}
	s.living.at, s.living.list, s.living.read = now, list, true
	return slices.Clone(list), nil
}
