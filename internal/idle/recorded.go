package idle

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Recorded is what statements say of a workload's GPUs. It stays when Prometheus has forgotten the samples, so a
// preview of the past can say that GPUs were idle, and what that cost, where it cannot say any more what would have
// followed.
type Recorded struct {
	Measured time.Duration
	Idle     time.Duration // of the measured time
	Cost     usage.Money   // of the idle time
}

// add is the sum with what a line of a statement says.
func (r Recorded) add(l usage.Line) Recorded {
	return Recorded{r.Measured + l.Engine.Measured, r.Idle + l.Engine.Idle, r.Cost.Add(l.IdleCost())}
}

// Statements gives the statement of a month for whoever may read everybody's.
type Statements interface {
	Statement(ctx context.Context, a identity.Actor, scope usage.Scope, m usage.Month) (usage.Statement, error)
}

// recorded is what the statements of the months say in which a span lies, whole months as they are charged, and from
// when on that is.
func (s *Service) recorded(ctx context.Context, a identity.Actor, from, until time.Time) (
	all map[workload.ID]Recorded, since time.Time, err error) {
	if s.o.Statements == nil || !identity.Can(a, identity.ReadUsage, identity.Resource{}) {
		return nil, time.Time{}, nil
	}
	zone := s.o.Zone
	if zone == nil {
		zone = time.UTC
	}
	first, last := usage.MonthOf(from, zone), usage.MonthOf(until, zone)
	all = map[workload.ID]Recorded{}
	for m := first; !last.Before(m); m = m.Add(1) {
		st, err := s.o.Statements.Statement(ctx, a, usage.All, m)
		if err != nil {
			return nil, time.Time{}, err
		}
		for _, l := range st.Lines {
			if l.Engine.Measured > 0 {
				all[workload.ID(l.Workload)] = all[workload.ID(l.Workload)].add(l)
			}
		}
	}
	return all, first.Span(zone).From, nil
}
