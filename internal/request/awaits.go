package request

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Awaits reports whether a request waits for somebody's word now.
func Awaits(r Request, a identity.Actor, now time.Time) bool {
	_, err := voice(r, a, now)
	return err == nil && open(r, now) == nil
}
