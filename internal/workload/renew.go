package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// renewal is how long before its end a lease becomes longer by itself: late, so that whoever has begun to wait by then
// gets the GPU.
const renewal = 15 * time.Minute

// renewed is the end that a lease gets by itself: the size's usual length more, up to its longest. False where nothing
// is due, or nothing is left up to the longest.
func renewed(w Workload, size catalog.Size, now time.Time) (until time.Time, ok bool) {
	l := w.Lease
	if !size.AutoExtend || w.Desired != WantRunning || w.State != Running || l.Until.IsZero() || l.Over(now) {
		return until, false
	}
	if l.Left(now) > min(renewal, l.Until.Sub(l.From)/4) {
		return until, false
	}
	until = l.Until.Add(size.DefaultLease.Std())
	if most := l.From.Add(size.MaxLease.Std()); size.MaxLease > 0 && until.After(most) {
		until = most
	}
	return until, until.After(l.Until)
}

// waits is where somebody waits: a size on a cluster.
type waits struct{ cluster, size string }

// ExtendDue makes the leases longer whose sizes say so, while nobody waits for the same size on the same cluster and
// the team's budget has enough left. Who is not served keeps the lease as it is, and hears of its end as always.
func (s *Service) ExtendDue(ctx context.Context) error {
	if s.Sizes == nil {
		return nil
	}
	waiting := map[waits]bool{}
	var due []Workload
	for cursor := ""; ; {
		page, next, err := s.Store.Workloads(ctx, Filter{States: []State{Running, Queued}, Cursor: cursor, Limit: 500})
		if err != nil {
			return err
		}
		for _, w := range page {
			if w.State == Queued && w.Desired == WantRunning {
				waiting[waits{w.Cluster, w.Size.Name}] = true
			}
			if _, ok := renewed(w, s.now(w.Size), s.Now()); ok {
				due = append(due, w)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	var faults []error
	for _, w := range due {
		if waiting[waits{w.Cluster, w.Size.Name}] || s.Limits.TenantDisabled(w.Tenant) {
			continue
		}
		if err := s.renew(ctx, w.ID); err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
			faults = append(faults, fmt.Errorf("workload %s: %w", w.ID, err))
		}
	}
	return errors.Join(faults...)
}

// now is a size as the catalog has it now; what is not offered any more does not go on by itself.
func (s *Service) now(size catalog.Size) catalog.Size {
	current, ok := s.Sizes(size.Name)
	if !ok {
		return catalog.Size{}
	}
	return current
}

// renew makes one lease longer. Conflict when the budget has not enough left.
func (s *Service) renew(ctx context.Context, id ID) error {
	return s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := tx.Workload(ctx, id)
		if err != nil {
			return err
		}
		until, ok := renewed(w, s.now(w.Size), s.Now())
		if !ok {
			return nil
		}
		next, err := s.apply(ctx, tx, identity.System(), w, func(w Workload, a identity.Actor,
			now time.Time) (Workload, []audit.Event, error) {
			next, events, err := Extend(w, until, a, now)
			for i := range events {
				events[i].Detail = i18n.T("workload.extended_alone", "Until", stamp(until))
			}
			return next, events, err
		})
		if err != nil {
			return err
		}
		return s.afford(ctx, tx, next)
	})
}
