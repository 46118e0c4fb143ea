package workload

import (
	"context"
	"slices"
	"sync"
	"time"
)

// comparedLast is how old amounts to compare may be while nothing is written.
const comparedLast = 15 * time.Second

// comparedCosts are amounts to compare, of those workloads that somebody has compared.
type comparedCosts struct {
	mu sync.Mutex
	by map[ID]int64

	ids   []ID // that were asked for last, mostly the same again
	costs []int64
}

// ComparedCosts is what each of some workloads has cost up to now or a few seconds ago, in hundredths and in the order
// of the ids: amounts to sort by. Both lists are shared afterwards and must not be changed.
func (s *Service) ComparedCosts(ctx context.Context, ids []ID) ([]int64, error) {
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
func (c *comparedCosts) of(ctx context.Context, s *Service, ids []ID) ([]int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Equal(ids, c.ids) {
		return c.costs, nil
	}
	costs := make([]int64, len(ids))
	var missing []ID
	var places []int // of what is missing
	for i, id := range ids {
		cost, known := c.by[id]
		if !known {
			missing, places = append(missing, id), append(places, i)
		}
		costs[i] = cost
	}
	if len(missing) == 0 {
		c.ids, c.costs = ids, costs
		return costs, nil
	}
	cost, err := s.costing(ctx, missing)
	if err != nil {
		return nil, err
	}
	if c.by == nil {
		c.by = make(map[ID]int64, len(missing))
	}
	now := s.Now()
	for i, id := range missing {
		amount := cost(id, now).Minor
		c.by[id], costs[places[i]] = amount, amount
	}
	c.ids, c.costs = ids, costs
	return costs, nil
}
