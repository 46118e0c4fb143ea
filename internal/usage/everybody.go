package usage

import (
	"context"
	"sync"
	"time"
)

// Changes tell whether anything was written since: a number that counts what changes.
type Changes interface {
	LastChange(ctx context.Context) (int64, error)
}

// statementsLast is how old a statement of everybody may be while nothing is written: what runs goes on costing, and
// what GPUs did is recorded by the minute.
const statementsLast = 15 * time.Second

type statementKey struct {
	month  Month
	change int64
	prices *Price // where the price list is: it is replaced as a whole
	count  int
}

// shared is statement for everybody, added up once for all who look.
func (s *Service) shared(ctx context.Context, m Month) (Statement, error) {
	if s.Changes == nil {
		return s.statement(ctx, Filter{}, m)
	}
	change, err := s.Changes.LastChange(ctx)
	if err != nil {
		return Statement{}, err
	}
	key, now := statementKey{month: m, change: change}, s.Now()
	if s.Prices != nil {
		if list := s.Prices.List(); len(list) > 0 {
			key.prices, key.count = &list[0], len(list)
		}
	}
	return s.everybody.Get(key, now, statementsLast, func() (Statement, error) {
		st, err := s.statement(ctx, Filter{}, m)
		st.Known = &KnownSums{by: map[string][]Sum{}}
		return st, err
	})
}

// KnownSums caches the totals of shared statements by name.
type KnownSums struct {
	mu sync.Mutex
	by map[string][]Sum
}

// of is what is known under a name, or what sums gives. A statement that is not shared knows nothing.
func (k *KnownSums) of(name string, sums func() []Sum) []Sum {
	if k == nil {
		return sums()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	list, ok := k.by[name]
	if !ok {
		list = sums()
		k.by[name] = list
	}
	return list
}

// Grouped is By with one of Groupings. The list is shared.
func (s Statement) Grouped(by string) []Sum {
	return s.Known.of(by, func() []Sum { return s.By(Groupings[by]) })
}

// OfKind is what the lines of one kind of GPU come to.
func (s Statement) OfKind(kind Kind) Sum {
	for _, g := range s.Known.of("kinds", s.kinds) {
		if g.Lines[0].Kind == kind {
			return g
		}
	}
	return sum("", nil)
}

func (s Statement) kinds() (list []Sum) {
	lines := map[Kind][]Line{}
	for _, l := range s.Lines {
		if l.Devices > 0 {
			lines[l.Kind] = append(lines[l.Kind], l)
		}
	}
	for _, of := range lines {
		list = append(list, sum("", of))
	}
	return list
}

// Part is what some of the lines come to.
func (s Statement) Part(in func(Line) bool) Sum {
	var lines []Line
	for _, l := range s.Lines {
		if in(l) {
			lines = append(lines, l)
		}
	}
	return sum("", lines)
}
