package request

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Reassign makes a pending request somebody else's. It is false, and nothing changes, for somebody who has spoken on it
// or was given it to decide: they would decide their own. The idempotency key stays with whom it was sent by.
func Reassign(r Request, to identity.Person) (Request, bool) {
	given := slices.ContainsFunc(r.Decision.Handed, func(h HandOver) bool { return h.From == to.ID || h.To == to.ID })
	if given || r.State != Pending || slices.Contains(r.Spoken(), to.ID) {
		return r, false
	}
	r.Asker, r.AskerName, r.Key, r.Fingerprint = to.ID, to.Name, "", ""
	return r, true
}
