package usage

import "time"

// Held is what the cluster says of a workload's GPU at one moment, beside what it said before.
type Held struct {
	Workload string
	Tenant   string
	Size     string
	PerHour  Money
	Placed   bool      // a pod is on a node, perhaps terminating: nobody else can have the GPU
	SeenAt   time.Time // when the cluster last confirmed what was known before; zero when it never did
}

// LostFor is how long the cluster may be silent before the silence is no longer charged: a pod that is found gone after a longer one was last
// seen when the silence began, and nobody can tell when it left.
const LostFor = 3 * time.Minute

// Meter says how the meter changes: nil for not at all, an Interval without Until to open one, one with Until to close the open one. The price is
// the one of the approved size. A closed interval never ends before it began, whatever clocks do.
func Meter(open *Interval, h Held, now time.Time) *Interval {
	switch {
	case open == nil && h.Placed:
		return &Interval{Workload: h.Workload, Tenant: h.Tenant, Size: h.Size, PerHour: h.PerHour, From: now}
	case open != nil && !h.Placed:
		closed := *open
		closed.Until = later(open.From, lastHeld(h, now))
		if closed.Until.Before(now) {
			closed.UnknownUntil = now
		}
		return &closed
	case open != nil && (open.Size != h.Size || open.PerHour != h.PerHour):
		closed := *open // the next observation opens one at the new price
		closed.Until = later(open.From, now)
		return &closed
	}
	return nil
}

func lastHeld(h Held, now time.Time) time.Time {
	if !h.SeenAt.IsZero() && now.Sub(h.SeenAt) > LostFor {
		return h.SeenAt
	}
	return now
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
