package workload

import (
	"context"
	"maps"
	"sync"
	"time"
)

// comparedLast is how old amounts to compare may be while nothing is written.
const comparedLast = 15 * time.Second

// comparedCosts are amounts to compare, of as many workloads as somebody has compared.
type comparedCosts struct {
	mu sync.Mutex
	by map[ID]int64
}

// ComparedCosts is what each of some workloads has cost up to now or a few seconds ago, in hundredths: amounts to sort
// by. The map may have others too; it belongs to all who ask and must not be changed.
func (s *Service) ComparedCosts(ctx context.Context, ids []ID) (map[ID]int64, error) {
	if s.Changes == nil {
		return (&comparedCosts{}).of(ctx, s, ids)
	}
	change, err := s.Changes.LastChange(ctx)
	if err != nil {
		return nil, err
	}
	known, err := s.compared.Get(change, s.Now(), comparedLast, func() (*comparedCosts, error) {
		return &comparedCosts{}, nil
	})
	if err != nil {
		return nil, err
	}
	return known.of(ctx, s, ids)
}

// LastChange is the number of the last change in the database: while it is the same, nothing was written. It is 0 where
// nobody counts.
func (s *Service) LastChange(ctx context.Context) (int64, error) {
	if s.Changes == nil {
		return 0, nil
	}
	return s.Changes.LastChange(ctx)
}

// of reads what is not known yet.
func (c *comparedCosts) of(ctx context.Context, s *Service, ids []ID) (map[ID]int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing []ID
	for _, id := range ids {
		if _, ok := c.by[id]; !ok {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return c.by, nil
	}
	cost, err := s.costing(ctx, missing)
	if err != nil {
		return nil, err
	}
	by := make(map[ID]int64, len(c.by)+len(missing)) // others are reading the one that is known
	maps.Copy(by, c.by)
	now := s.Now()
	for _, id := range missing {
		by[id] = cost(id, now).Minor
	}
	c.by = by
	return by, nil
}
