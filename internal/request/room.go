package request

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Room is what the quota of its tenant leaves for a request. Only a start is refused for it here: what is resumed or
// extended may hold its quota already.
type Room struct {
	Quota   Quota
	Refuses bool
	Smaller []catalog.Size // that can be granted instead, and that it has room for; none without a GPU for one with
}

// RoomFor is the quota of a request as it is counted when that is granted.
func RoomFor(r Request, t tenant.Tenant, c catalog.Catalog, holdings []workload.Holding) Room {
	of := func(size string) Quota { return QuotaOf(t, size, r.Spec.Cluster, holdings) }
	room := Room{Quota: of(r.Spec.Size.Name)}
	room.Refuses = r.Kind == StartKind && quotaLacks(r.Spec, room.Quota)
	for _, s := range Smaller(c, r) {
		w := r.Spec
		if w.Size = s; s.CPUOnly() == r.Spec.Size.CPUOnly() && !quotaLacks(w, of(s.Name)) {
			room.Smaller = append(room.Smaller, s)
		}
	}
	return room
}

// quotaLacks reports whether a quota has no room for what a spec starts with.
func quotaLacks(w Spec, q Quota) bool { return q.Limit == 0 || q.Lacks(w.Replicas.Least()) }

// RoomFor is what the quota of a tenant leaves for a request of it.
func (s *Quotas) RoomFor(ctx context.Context, t tenant.Tenant, r Request) (Room, error) {
	holdings, err := s.store.Holdings(ctx, t.Name)
	if err != nil {
		return Room{}, err
	}
	return RoomFor(r, t, s.site().Catalog, holdings), nil
}

// Completes says whether the actor's approval would be the last that a request needs: quota is checked then, not
// before.
func (s *Approvals) Completes(a identity.Actor, r Request) bool {
	now := s.now()
	v, err := mayDecideAs(r, a, now)
	if err != nil {
		return false
	}
	step, _ := r.OpenStep()
	if step == len(r.Steps()) {
		return false
	}
	given := policy.Consent{Step: step, By: a.Person.ID, Approvers: r.approversOf(v, now), At: now}
	_, left := policy.Open(r.Steps(), append(slices.Clone(r.Decision.Consents), given))
	return len(left) == 0
}
