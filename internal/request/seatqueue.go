package request

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// SeatQueue is the queue for license seats: starts and resumes that are approved and wait for nothing else.
type SeatQueue struct {
	*core
	store seatStore
}

type seatStore interface {
	// SeatLine lists the pending requests that wait for seats, in the order in which they go on.
	SeatLine(ctx context.Context) ([]Waiting, error)
	// Checkouts are the workloads that hold license seats, oldest first.
	Checkouts(ctx context.Context) ([]license.Checkout, error)
}

// Pools lists every license pool with its seats and checkouts.
func (s *SeatQueue) Pools(ctx context.Context) ([]license.Seats, error) {
	checkouts, err := s.store.Checkouts(ctx)
	return license.Count(s.site().Pools, checkouts), err
}

// Places are the places of all requests that wait for seats, each in the line of its pool, from 1 on.
func (s *SeatQueue) Places(ctx context.Context) (map[ID]int, error) {
	line, err := s.store.SeatLine(ctx)
	places, ahead := map[ID]int{}, map[string]int{}
	for _, w := range line {
		ahead[w.Pool]++
		places[w.ID] = ahead[w.Pool]
	}
	return places, err
}

// Lengths counts who waits for seats, by pool.
func (s *SeatQueue) Lengths(ctx context.Context) (map[string]int, error) {
	line, err := s.store.SeatLine(ctx)
	lengths := map[string]int{}
	for _, w := range line {
		lengths[w.Pool]++
	}
	return lengths, err
}

// Assign lets those go on who wait for seats, in their order, as far as seats are free; the controller calls it on
// its tick.
func (s *SeatQueue) Assign(ctx context.Context) error {
	line, err := s.store.SeatLine(ctx)
	if err != nil {
		return err
	}
	var full []string
	var faults []error
	for _, w := range line {
		if slices.Contains(full, w.Pool) {
			continue
		}
		short, err := s.assign(ctx, w.ID)
		// those are its own: a volume that is in use, a budget that is used up
		if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid) {
			faults = append(faults, fmt.Errorf("request %s: %w", w.ID, err))
		}
		if short {
			full = append(full, w.Pool)
		}
	}
	return errors.Join(faults...)
}

// assign decides one of the line again.
func (s *SeatQueue) assign(ctx context.Context, id ID) (short bool, err error) {
	seen, err := s.db.Request(ctx, id)
	if err != nil || !seen.WaitsForSeat() {
		return false, err
	}
	t, err := s.working(seen.Spec.Tenant)
	if err != nil {
		return false, err
	}
	base := s.before(ctx, t, seen.Spec)
	_, err = s.decide(ctx, s.exclusively, t.Name, func(tx Tx) (out Outcome, err error) {
		r, f, err := s.gatherAgain(ctx, tx, id, base, func(r Request) subject { return r.subject(Reduction{}, t) })
		if err != nil {
			return Outcome{}, err
		}
		if r.Kind == ResumeKind && !f.Extends.CanStart() { // it runs already, or is gone
			return Withdraw(r, identity.System(), f.Now)
		}
		out, short, err = Seat(r, f)
		return out, err
	})
	return short, err
}

// Depth counts who waits for seats of a pool, besides a workload's own resume.
func (s *SeatQueue) Depth(ctx context.Context, tx Tx, pool string, but workload.ID) (n int, err error) {
	line, err := tx.SeatLine(ctx)
	for _, w := range line {
		if w.Pool == pool && w.Workload != but {
			n++
		}
	}
	return n, err
}

// Join puts a resume at the end of the line for seats of a pool. One that stands there keeps its place.
func (s *SeatQueue) Join(ctx context.Context, tx Tx, a identity.Actor, w workload.Workload, pool license.Pool) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	line, err := tx.SeatLine(ctx)
	if err != nil || slices.ContainsFunc(line, func(x Waiting) bool { return x.Workload == w.ID }) {
		return err
	}
	_, err = s.save(ctx, tx, resumed(w, a, Facts{Now: s.now(), ID: ID(s.newID("r-")), Seats: &license.Seats{Pool: pool}}))
	return err
}

// Leave gives up the place of a resume in the line, if it has one.
func (s *SeatQueue) Leave(ctx context.Context, tx Tx, id workload.ID) error {
	line, err := tx.SeatLine(ctx)
	at := slices.IndexFunc(line, func(x Waiting) bool { return x.Workload == id })
	if err != nil || at < 0 {
		return err
	}
	r, err := tx.Request(ctx, line[at].ID)
	if err != nil || r.Kind != ResumeKind {
		return err
	}
	out, err := Withdraw(r, identity.System(), s.now())
	if err == nil {
		_, err = s.save(ctx, tx, out)
	}
	return err
}

// ResumeOf is the request by which a stopped workload waits for a seat, with its place in the line; "" where it does
// not wait.
func (s *SeatQueue) ResumeOf(ctx context.Context, w workload.Workload) (id ID, place int, err error) {
	if !w.CanStart() || w.Size.LicensePool == "" {
		return "", 0, nil
	}
	line, err := s.store.SeatLine(ctx)
	ahead := map[string]int{}
	for _, x := range line {
		ahead[x.Pool]++
		if x.Workload == w.ID {
			return x.ID, ahead[x.Pool], err
		}
	}
	return "", 0, err
}
