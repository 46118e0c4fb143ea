package request

import (
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
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

// Waiting is a decided request that starts as soon as its license seats are free.
type Waiting struct {
	ID       ID
	Pool     string
	Workload workload.ID // that is to be resumed; "" for a new one
}

// WaitsForSeat reports whether only a seat is missing.
func (r Request) WaitsForSeat() bool { return r.State == Pending && r.Decision.Seat != nil }

// seatsMissing reports whether a start has to wait for seats, or cannot be: too few are left, or others wait for them
// already.
func (f Facts) seatsMissing(w Spec) bool {
	return f.Seats != nil && f.Seats.Admit(f.additionalSeats(w), f.SeatLine) != license.Admitted
}

// seatCount is how many seats a start takes of the pool by itself, with all its replicas; a workload that is resumed
// takes what it took before.
func (f Facts) seatCount(w Spec) int { return w.Replicas.Least() * f.seatsOfOne(w) }

// seatsOfOne are those of one replica.
func (f Facts) seatsOfOne(w Spec) int {
	if f.Extends != nil {
		return max(1, f.Extends.LicenseSeats)
	}
	return max(1, w.Size.Seats(f.Seats.Pool))
}

// additionalSeats is how many seats a start takes beside those that are taken: none where it shares the seat of what
// runs.
func (f Facts) additionalSeats(w Spec) int {
	if f.Seats == nil {
		return 0
	}
	t := w.Size.Checkout(f.Seats.Pool, string(f.Owner))
	if f.Extends != nil {
		t = f.Extends.Size.Checkout(f.Seats.Pool, string(f.Extends.Owner))
	}
	t.Seats = f.seatsOfOne(w)
	return f.Seats.Additional(slices.Repeat([]license.Checkout{t}, w.Replicas.Least())...)
}

// waitsForSeat reports whether a request that is granted has to stand in line first: a new start, or a resume of what
// does not hold its seat any more.
func (f Facts) waitsForSeat(r Request) bool {
	return (r.Kind == StartKind || r.Kind == ResumeKind && !f.Extends.Holds()) && f.seatsMissing(r.Spec)
}

// seatRefused reports whether a start is turned down for want of seats: the pool has no line, or would never have that
// many.
func (f Facts) seatRefused(w Spec) bool {
	return f.Seats != nil && f.Seats.Admit(f.additionalSeats(w), f.SeatLine) == license.Rejected
}

// seatPlace is the place in the line that a start would get; 0 where it need not wait.
func (f Facts) seatPlace(w Spec) int {
	if !f.seatsMissing(w) || f.seatRefused(w) {
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

// Seat goes on with a request that waits for seats, where there are enough now. Short says that there are not, so that
// those behind it wait too. An empty outcome that is not short: something of its own is in the way, and it keeps its
// place without holding up others.
func Seat(r Request, f Facts) (out Outcome, short bool, err error) {
	if !r.WaitsForSeat() || r.Decision.Deferred != nil || open(r, f.Now) != nil {
		return Outcome{}, false, nil
	}
	f.SeatLine = 0 // it is the first of those who could go
	if f.seatsMissing(r.Spec) {
		return Outcome{}, true, nil
	}
	if len(grantObstacles(r, f)) > 0 {
		return Outcome{}, false, nil
	}
	pool := r.Decision.Seat.Pool
	r.Decision.Seat = nil
	out, err = grant(r, identity.System(), f)
	switch {
	case err != nil:
		return Outcome{}, false, err
	case r.Decision.By != "": // that somebody approved it was written when they did
		out.Events = out.Events[1:]
	default:
		out.Events[0].Changes = audit.Changed(audit.SeatPool, pool, "")
	}
	return out, false, nil
}

// queueLength counts the line of one pool, without one request.
func queueLength(line []Waiting, seats *license.Seats, but ID) (n int) {
	for _, w := range line {
		if seats != nil && w.Pool == seats.Pool.Name && w.ID != but {
			n++
		}
	}
	return n
}
