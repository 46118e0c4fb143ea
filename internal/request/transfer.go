package request

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Transfer makes a pending request another person's. It is false, and nothing changes, for somebody who has approved it
// or to whom it is reassigned: they would decide their own. The idempotency key stays with the former asker, and so do
// their own secrets.
func Transfer(r Request, to identity.Person) (Request, bool) {
	given := slices.ContainsFunc(r.Decision.Reassigned, func(h Reassignment) bool {
		return h.From == to.ID ||
			h.To == to.ID
	})
	if given || r.State != Pending || slices.Contains(r.Deciders(), to.ID) {
		return r, false
	}
	r.Spec.Secrets = slices.DeleteFunc(slices.Clone(r.Spec.Secrets), func(u workload.SecretUse) bool { return !u.Team })
	r.Asker, r.AskerName, r.Key, r.Fingerprint = to.ID, to.Name, "", ""
	return r, true
}
