package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// SeatWait says that everything has been decided and a pending start waits for seats of a pool. It holds nothing
// meanwhile: no seat, no quota, no money.
type SeatWait struct {
	Pool  string    `json:"pool"`
	Title string    `json:"title"`
	Since time.Time `json:"since"` // its place in the line
}

// Waiting is one request in the line for seats.
type Waiting struct {
	ID       ID
	Pool     string
	Workload workload.ID // that is to be resumed; "" for a new one
}

// WaitsForSeat reports whether only a seat is missing.
func (r Request) WaitsForSeat() bool { return r.State == Pending && r.Decision.Seat != nil }

// seatless reports whether a start has to wait for seats, or cannot be: too few are left, or others wait for them
// already.
func (f Facts) seatless(w Spec) bool {
	return f.Seats != nil && f.Seats.Turn(f.more(w), f.SeatLine) != license.Now
}

// takes is how many seats a start takes of the pool by itself; a workload that is resumed takes what it took before.
func (f Facts) takes(w Spec) int {
	if f.Extends != nil {
		return max(1, f.Extends.LicenseSeats)
	}
	return max(1, w.Size.Seats(f.Seats.Pool))
}

// more is how many seats a start takes beside those that are taken: none where it shares the seat of what runs.
func (f Facts) more(w Spec) int {
	if f.Seats == nil {
		return 0
	}
	t := w.Size.Taking(f.Seats.Pool, string(f.Owner))
	if f.Extends != nil {
		t = f.Extends.Size.Taking(f.Seats.Pool, string(f.Extends.Owner))
	}
	t.Seats = f.takes(w)
	return f.Seats.More(t)
}

// waitsForSeat reports whether a request that is granted has to stand in line first: a new start, or a resume of what
// does not hold its seat any more.
func (f Facts) waitsForSeat(r Request) bool {
	return (r.Kind == StartKind || r.Kind == ResumeKind && !f.Extends.Holds()) && f.seatless(r.Spec)
}

// seatRefused reports whether a start is turned down for want of seats: the pool has no line, or would never have that
// many.
func (f Facts) seatRefused(w Spec) bool {
	return f.Seats != nil && f.Seats.Turn(f.more(w), f.SeatLine) == license.Never
}

// seatPlace is the place in the line that a start would get; 0 where it need not wait.
func (f Facts) seatPlace(w Spec) int {
	if !f.seatless(w) || f.seatRefused(w) {
		return 0
	}
	return f.SeatLine + 1
}

// queued puts a request that is decided into the line. The decision stays as it is: who said yes need not say it again.
// A line may be long: the time to expire begins anew.
func queued(r Request, a identity.Actor, f Facts) Outcome {
	r.Decision.Seat = &SeatWait{Pool: f.Seats.Pool.Name, Title: f.Seats.Pool.Title, Since: f.Now}
	r.ExpiresAt = f.Now.Add(TTL)
	return Outcome{Request: r, Events: []audit.Event{event(r, a, audit.RequestQueued, f.Now,
		i18n.T("request.waits_for_seat", "Pool", f.Seats.Pool.Title))}}
}

// Seat goes on with a request that waits for seats, where there are enough now. Served says that it did; Short that it
// still waits for seats, so that those behind it wait too. Neither: something of its own is in the way, and it keeps
// its place without holding up others.
func Seat(r Request, f Facts) (out Outcome, served, short bool, err error) {
	if !r.WaitsForSeat() || open(r, f.Now) != nil {
		return Outcome{}, false, false, nil
	}
	f.SeatLine = 0 // it is the first of those who could go
	if f.seatless(r.Spec) {
		return Outcome{}, false, true, nil
	}
	if len(granting(r, f)) > 0 {
		return Outcome{}, false, false, nil
	}
	pool := r.Decision.Seat.Pool
	r.Decision.Seat = nil
	out, err = grant(r, identity.System(), f)
	switch {
	case err != nil:
	case r.Decision.By != "": // that somebody approved it was written when they did
		out.Events = out.Events[1:]
	default:
		out.Events[0].Changes = audit.Changed(audit.SeatPool, pool, "")
	}
	return out, err == nil, false, err
}

// inLine counts the line of one pool, without one request.
func inLine(line []Waiting, seats *license.Seats, but ID) (n int) {
	for _, w := range line {
		if seats != nil && w.Pool == seats.Pool.Name && w.ID != but {
			n++
		}
	}
	return n
}

// SeatPlaces are the places of all requests that wait for seats, each in the line of its pool, from 1 on.
func (s *Service) SeatPlaces(ctx context.Context) (map[ID]int, error) {
	line, err := s.Store.SeatLine(ctx)
	places, ahead := map[ID]int{}, map[string]int{}
	for _, w := range line {
		ahead[w.Pool]++
		places[w.ID] = ahead[w.Pool]
	}
	return places, err
}

// SeatWaiting lets those go on who wait for seats, in their order, as far as seats are free; the controller calls it on
// its tick.
func (s *Service) SeatWaiting(ctx context.Context) error {
	line, err := s.Store.SeatLine(ctx)
	if err != nil {
		return err
	}
	var full []string
	var faults []error
	for _, w := range line {
		if slices.Contains(full, w.Pool) {
			continue
		}
		short, err := s.seat(ctx, w.ID)
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

// seat decides one of the line again.
func (s *Service) seat(ctx context.Context, id ID) (short bool, err error) {
	seen, err := s.Store.Request(ctx, id)
	if err != nil || !seen.WaitsForSeat() {
		return false, err
	}
	t, err := s.working(seen.Spec.Tenant)
	if err != nil {
		return false, err
	}
	before := s.before(ctx, t, seen.Spec)
	err = s.exclusively(ctx, t.Name, func(tx Tx) error {
		r, err := tx.Request(ctx, id)
		if err != nil {
			return err
		}
		f, err := s.gather(ctx, tx, before, r.subject(Reduction{}, t))
		if err != nil {
			return err
		}
		if r.Kind == ResumeKind && !f.Extends.CanStart() {
			return s.needless(ctx, tx, r, f.Now)
		}
		out, served, waits, err := Seat(r, f)
		short = waits
		if err != nil || !served {
			return err
		}
		_, err = s.save(ctx, tx, out)
		return err
	})
	return short, err
}
