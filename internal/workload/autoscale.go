package workload

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// recordEvery is the shortest time between two events of an endpoint that the portal scales.
const recordEvery = time.Minute

// Wake makes a sleeping endpoint answer again, because somebody calls it whom the caller has let in; what does not
// sleep is left as it is. A Conflict that comes with the workload says why quota, license seats or budget have no room
// for it, which its owner sees too; one without it is a lost race. The cluster follows when the controller does, in
// whatever process that runs.
func (s *Service) Wake(ctx context.Context, id ID) (Workload, error) {
	w, err := s.follow(ctx, id, func(w Workload) int {
		switch {
		case !w.Asleep():
			return w.Replicas.Want()
		case w.Replicas.Scaling.Automatic():
			return w.Replicas.Least()
		}
		return max(w.Replicas.Least(), w.Replicas.Wanted) // as many as its owner had set
	})
	if err == nil && w.Asleep() {
		return w, fault.New(fault.Conflict, w.Replicas.Short)
	}
	return w, err
}

// Autoscale carries out what was decided for an endpoint with so many replicas, unless it has another number by now, or
// shall not run: a stop and the end of a lease or a budget win. Where there is no room for all, there are as many as
// there is room for, and the workload says why.
func (s *Service) Autoscale(ctx context.Context, id ID, from, wanted int) (Workload, error) {
	return s.follow(ctx, id, func(w Workload) int {
		if w.Replicas.Want() != from || w.Asleep() || !w.Replicas.Scaling.Acts() ||
			wanted == 0 && w.Revisions.Rollout != nil { // nobody calls what does not answer yet
			return w.Replicas.Want()
		}
		return wanted
	})
}

// FollowAutoscaler takes up how many replicas KEDA has set for an endpoint, within what there is room for, and keeps
// how many it may set. Where needed are more than that, the workload says why.
func (s *Service) FollowAutoscaler(ctx context.Context, id ID, needed int) (Workload, error) {
	var out Workload
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := tx.Workload(ctx, id)
		if err != nil || !w.ScaledByKEDA() || !w.CanDelete() || w.Observed.Autoscaler == nil {
			out = w
			return err
		}
		room, short, err := s.possible(ctx, tx, w, w.Replicas.Most())
		if err != nil {
			return err
		}
		if needed <= room {
			short = i18n.Text{}
		}
		next := w
		next.Replicas.Ceiling, next.Replicas.Short = room, short
		out, err = s.set(ctx, tx, w, next, min(max(w.Observed.Autoscaler.Replicas, w.Replicas.Least()), room))
		return err
	})
	if err != nil {
		return Workload{}, err
	}
	return out, nil
}

// follow sets the number of replicas that choose gives, or as many of them as there is room for.
func (s *Service) follow(ctx context.Context, id ID, choose func(Workload) int) (Workload, error) {
	var out Workload
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := tx.Workload(ctx, id)
		if err != nil || w.Desired != WantRunning || !w.CanDelete() {
			out = w
			return err
		}
		out, err = s.reach(ctx, tx, w, min(choose(w), w.Replicas.Most()))
		return err
	})
	if err != nil {
		return Workload{}, err
	}
	return out, nil
}

// reach sets as many replicas as there is room for, up to a number, and keeps why there are fewer.
func (s *Service) reach(ctx context.Context, tx Tx, w Workload, wanted int) (Workload, error) {
	possible, short, err := s.possible(ctx, tx, w, wanted)
	if err != nil {
		return w, err
	}
	next := w
	next.Replicas.Short = short
	return s.set(ctx, tx, w, next, possible)
}

// set saves a workload with a number of replicas that there is room for, unless nothing of them is new, and its events.
func (s *Service) set(ctx context.Context, tx Tx, w, next Workload, possible int) (Workload, error) {
	before := w.Replicas.Want()
	now := s.Now()
	if possible != before {
		next = next.scaled(possible, now)
	}
	next, events := next.recordScaling(w, now)
	if fmt.Sprint(next.Replicas.Short) == fmt.Sprint(w.Replicas.Short) { // numbers come back from the database as float64
		next.Replicas.Short = w.Replicas.Short
	}
	if reflect.DeepEqual(next.Replicas, w.Replicas) {
		return w, nil
	}
	next.UpdatedAt = now
	if err := tx.SaveWorkload(ctx, next); err != nil {
		return w, err
	}
	next.Version++
	if err := tx.Append(ctx, events...); err != nil || s.Budgets == nil || possible == before {
		return next, err
	}
	c, err := tx.BudgetClaim(ctx, string(w.ID))
	if err != nil {
		return w, err
	}
	return next, s.Budgets.Hold(ctx, tx, c, possible > before)
}

// possible is how many of the wanted replicas there is room for, at least as many as there are, and why not all.
func (s *Service) possible(ctx context.Context, tx Tx, w Workload, wanted int) (n int, short i18n.Text, err error) {
	before := w.Replicas.Want()
	fits := func(n int) (bool, error) {
		_, err := s.scaled(ctx, tx, identity.System(), w, n)
		if fault.Is(err, fault.Conflict) {
			short = fault.As(err).Sentence
			return false, nil
		}
		return err == nil, err
	}
	if wanted <= before {
		return wanted, short, nil
	}
	if ok, err := fits(wanted); ok || err != nil {
		return wanted, i18n.Text{}, err
	}
	why := short
	for n = before; n+1 < wanted; n++ {
		if ok, err := fits(n + 1); !ok || err != nil {
			return n, why, err
		}
	}
	return n, why, nil
}

// recordScaling gives the events of what the portal did by itself. Numbers that follow each other within a minute
// become one event, when it is over; see RecordScaling.
func (w Workload) recordScaling(before Workload, now time.Time) (Workload, []audit.Event) {
	from, to := before.Replicas.Want(), w.Replicas.Want()
	var events []audit.Event
	if !w.Replicas.Short.IsZero() && before.Replicas.Short.IsZero() {
		events = append(events, changed(w, identity.System(), audit.WorkloadScalingShort, now, w.Replicas.Short, nil))
	}
	if to == from {
		return w, events
	}
	kind := audit.WorkloadScaled
	switch {
	case to == 0:
		kind = audit.WorkloadSlept
	case from == 0:
		kind = audit.WorkloadWoken
	case now.Sub(w.Replicas.RecordedAt) < recordEvery:
		if w.Replicas.Recorded == 0 {
			w.Replicas.Recorded = from
		}
		return w, events
	}
	w.Replicas.Recorded, w.Replicas.RecordedAt = 0, now.UTC()
	detail := i18n.T("replicas.scaled", "From", from, "To", to)
	return w, append(events, changed(w, identity.System(), kind, now, detail, audit.Changed("replicas.wanted", from, to)))
}

// RecordScaling appends one event for the replicas that the portal has set by itself since the last, once that is
// recordEvery ago.
func (s *Service) RecordScaling(ctx context.Context, id ID) error {
	return s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := tx.Workload(ctx, id)
		if err != nil || w.Replicas.Recorded == 0 || s.Now().Sub(w.Replicas.RecordedAt) < recordEvery {
			return err
		}
		from, to := w.Replicas.Recorded, w.Replicas.Want()
		w.Replicas.Recorded, w.Replicas.RecordedAt = 0, s.Now().UTC()
		if err := tx.SaveWorkload(ctx, w); err != nil || from == to {
			return err
		}
		return tx.Append(ctx, changed(w, identity.System(), audit.WorkloadScaled, s.Now(), i18n.T("replicas.scaled", "From",
			from, "To", to), audit.Changed("replicas.wanted", from, to)))
	})
}

// SetScaling changes the least number of replicas of an endpoint, and by what it scales; the most stays what was agreed
// to. Invalid with each field. What quota, seats or budget have no room for is a Conflict, and nothing changes then.
func (s *Service) SetScaling(ctx context.Context, a identity.Actor, id ID, least int,
	typed autoscale.Typed) (Workload, error) {
	var out Workload
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := s.permitted(ctx, tx, a, id)
		if err != nil {
			return err
		}
		p, problems := autoscale.Parse(typed, least == 0, w.Image, w.Size)
		if len(problems) > 0 {
			return fault.InvalidFields(fieldsOf(problems))
		}
		change := SetScaling(least, p)
		next, _, err := change(w, a, s.Now())
		if err != nil {
			return err
		}
		before, after := w.Replicas.Want(), next.Replicas.Want()
		if after > before {
			if _, err := s.scaled(ctx, tx, a, w, after); err != nil {
				return err
			}
		}
		if out, err = s.apply(ctx, tx, a, w, change); err != nil || s.Budgets == nil || !out.Holds() || after == before {
			return err
		}
		c, err := tx.BudgetClaim(ctx, string(w.ID))
		if err != nil {
			return err
		}
		return s.Budgets.Hold(ctx, tx, c, true)
	})
	return out, err
}

func fieldsOf(problems []autoscale.Problem) []fault.Field {
	fields := make([]fault.Field, len(problems))
	for i, p := range problems {
		fields[i] = fault.Field{Name: p.Field, Reason: p.Reason}
	}
	return fields
}
