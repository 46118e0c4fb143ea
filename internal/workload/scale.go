package workload

import (
	"context"
	"errors"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Scale sets how many replicas an endpoint has. What quota, license seats or budget have no room for is a Conflict that
// says how many there can be now; the endpoint stays as it is then.
func (s *Service) Scale(ctx context.Context, a identity.Actor, id ID, wanted int) (Workload, error) {
	var out Workload
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := s.permitted(ctx, tx, a, id)
		if err != nil {
			return err
		}
		if w.Replicas.Scaling.Automatic() && wanted != 0 && !w.Replicas.Asleep {
			return fault.New(fault.Conflict, i18n.T("scaling.automatic"))
		}
		if _, err := s.scaled(ctx, tx, a, w, wanted); err != nil {
			return err
		}
		if out, err = s.apply(ctx, tx, a, w, Scale(wanted)); err != nil || s.Budgets == nil || !out.Holds() {
			return err
		}
		c, err := tx.BudgetClaim(ctx, string(w.ID))
		if err != nil {
			return err
		}
		return s.Budgets.Hold(ctx, tx, c, wanted > w.Replicas.Want())
	})
	return out, err
}

// Scaling is the effect of another number of replicas on price, quota and budget.
type Scaling struct {
	Wanted     int
	PerHour    usage.Money // of all of them
	Used       int         // of the size that the team holds then
	Limit      int
	Budget     budget.Ask // what it takes of the month's budget beyond what is held
	Impossible i18n.Text  // why it cannot be set now, and how many could; zero where it can
}

// PreviewScale says what Scale would come to, and writes nothing. What Scale refuses is told in Impossible. 0 asks for
// as many as there are.
func (s *Service) PreviewScale(ctx context.Context, a identity.Actor, id ID, wanted int) (Scaling, error) {
	var out Scaling
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := s.permitted(ctx, tx, a, id)
		if err != nil {
			return err
		}
		if wanted == 0 {
			wanted = w.Replicas.Want()
		}
		out, err = s.scaled(ctx, tx, a, w, wanted)
		if fault.Is(err, fault.Conflict) {
			out.Impossible, err = fault.As(err).Sentence, nil
		}
		if err != nil {
			return err
		}
		return errDry
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return out, err
}

// errDry takes back what a preview had to write to see what follows.
var errDry = fault.New(fault.Internal, i18n.Text{})

// scaled checks a number of replicas, without writing it. What is not running takes nothing now: it is looked at when
// it starts.
func (s *Service) scaled(ctx context.Context, tx Tx, a identity.Actor, w Workload, wanted int) (Scaling, error) {
	next, _, err := Scale(wanted)(w, a, s.Now())
	out := Scaling{Wanted: wanted, PerHour: w.Size.PricePerHour}
	if err != nil {
		return out, err
	}
	out.PerHour.Minor *= int64(wanted)
	holdings, err := tx.Holdings(ctx, w.Tenant)
	if err != nil {
		return out, err
	}
	quota := QuotaOf(w.Tenant, w.Size.Name, s.Limits.QuotaLimits(w.Tenant, w.Size.Name, w.Cluster), holdings)
	out.Limit, out.Used = quota.Limit, quota.Used
	if !w.Holds() {
		return out, nil
	}
	more := next.Replicas.Hold() - w.Replicas.Hold()
	out.Used += wanted - w.Replicas.Hold()
	if s.Limits.TenantDisabled(w.Tenant) && wanted > w.Replicas.Want() {
		return out, fault.New(fault.Conflict, i18n.T("request.tenant_disabled", "Tenant", w.Tenant))
	}
	if s.Budgets != nil {
		if out.Budget, err = s.scaleAsk(ctx, tx, w, wanted); err != nil {
			return out, err
		}
	}
	switch {
	case more > 0 && out.Used > out.Limit:
		return out, fault.New(fault.Conflict, i18n.T("replicas.over_quota", "Size", quota.Names(w.Size), "Used",
			out.Used-wanted+w.Replicas.Hold(), "Limit", out.Limit, "Most", max(w.Replicas.Want(), wanted-out.Used+out.Limit)))
	case wanted > w.Replicas.Want() && !out.Budget.Fits():
		return out, fault.New(fault.Conflict, out.Budget.Sentence("replicas.over_budget"))
	case more > 0:
		return out, s.scaleSeats(ctx, tx, w, more)
	}
	return out, nil
}

// scaleAsk is what a number of replicas would take of the budget.
func (s *Service) scaleAsk(ctx context.Context, tx Tx, w Workload, wanted int) (budget.Ask, error) {
	c, err := tx.BudgetClaim(ctx, string(w.ID))
	if err != nil {
		return budget.Ask{}, err
	}
	c.Replicas, c.Holds, c.Wanted = wanted, true, wanted > 0
	w.Replicas.Wanted, w.Replicas.Asleep = wanted, wanted == 0
	c.Seats = w.Seats()
	return s.Budgets.Ask(ctx, tx, c)
}

// scaleSeats refuses more replicas than there are license seats for. They do not wait in the pool's line: what runs is
// not stopped for them, and they can be asked for again.
func (s *Service) scaleSeats(ctx context.Context, tx Tx, w Workload, more int) error {
	seats, ahead, err := s.seats(ctx, tx, w)
	if err != nil || seats == nil {
		return err
	}
	possible := 0
	for n := 1; n <= more; n++ {
		if seats.Admit(seats.Additional(checkouts(w, seats.Pool, n)...), ahead) != license.Admitted {
			break
		}
		possible = n
	}
	if possible == more {
		return nil
	}
	return fault.New(fault.Conflict, i18n.T("replicas.over_seats", "Pool", seats.Pool.Title, "Seats", seats.Pool.Seats,
		"Most", w.Replicas.Hold()+possible))
}

// seats are those of the pool that a workload takes of, and how many others wait for them; nil where it takes none.
func (s *Service) seats(ctx context.Context, tx Tx, w Workload) (*license.Seats, int, error) {
	if w.Size.LicensePool == "" {
		return nil, 0, nil
	}
	held, err := tx.Checkouts(ctx)
	if err != nil {
		return nil, 0, err
	}
	seats, ok := license.Find(license.Count(s.Limits.Pools(), held), w.Size.LicensePool)
	if !ok {
		return nil, 0, nil
	}
	if s.SeatQueue == nil {
		return &seats, 0, nil
	}
	ahead, err := s.SeatQueue.Depth(ctx, tx, seats.Pool.Name, w.ID)
	return &seats, ahead, err
}

// checkouts are those of so many replicas of a workload, before they have a place.
func checkouts(w Workload, pool license.Pool, replicas int) []license.Checkout {
	one := w.Size.Checkout(pool, string(w.Owner))
	one.Seats = max(1, w.LicenseSeats)
	list := make([]license.Checkout, replicas)
	for i := range list {
		list[i] = one
	}
	return list
}
