package request

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Reached reports whether a request waits for somebody's approval only because its open step has escalated.
func Reached(r Request, a identity.Actor, now time.Time) bool {
	at, then := r.Escalates()
	return len(then) > 0 && Awaits(r, a, now) && !Awaits(r, a, at.Add(-time.Microsecond))
}

// Awaits reports whether a request waits for somebody's approval now.
func Awaits(r Request, a identity.Actor, now time.Time) bool {
	_, err := mayDecideAs(r, a, now)
	return err == nil && open(r, now) == nil
}
