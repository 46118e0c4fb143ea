package request

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestWhatAQuotaHasRoomFor: on the cluster of the request, as in Decide, and only what can be granted instead.
func TestWhatAQuotaHasRoomFor(t *testing.T) {
	cpu := catalog.Size{Name: "cpu", Technology: catalog.CPUOnly, PricePerHour: slice.PricePerHour}
	held := func(size, cluster string) []workload.Holding {
		return []workload.Holding{{Tenant: "vision", Size: size, Cluster: cluster, Count: 1}}
	}
	for name, c := range map[string]struct {
		change  func(*Request)
		quota   map[string]int
		held    []workload.Holding
		refuses bool
		smaller int
	}{
		"room for it":            {nil, map[string]int{"whole": 1, "slice": 1}, nil, false, 1},
		"used up, a slice left":  {nil, map[string]int{"whole": 1, "slice": 1, "cpu": 1}, held("whole", "main"), true, 1},
		"used up, none smaller":  {nil, map[string]int{"whole": 1}, held("whole", "main"), true, 0},
		"a size it may not have": {nil, map[string]int{"slice": 1}, nil, true, 1},
		"two at once": {func(r *Request) { r.Spec.Replicas = workload.Range{Min: 2, Max: 2} },
			map[string]int{"whole": 2, "slice": 2}, held("whole", "main"), true, 1},
		"held on another cluster": {nil, map[string]int{"whole": 2, tenant.QuotaKey("whole", "main"): 1},
			held("whole", "west"), false, 0},
		"an extension holds it already": {func(r *Request) { r.Kind = ExtendKind }, map[string]int{"whole": 1},
			held("whole", "main"), false, 0},
	} {
		r := Request{Kind: StartKind, Spec: Spec{Tenant: "vision", Size: whole, Cluster: "main"}}
		if c.change != nil {
			c.change(&r)
		}
		room := RoomFor(r, tenant.Tenant{Name: "vision", Quota: c.quota},
			catalog.Catalog{Sizes: []catalog.Size{cpu, slice, whole}}, c.held)
		if room.Refuses != c.refuses || len(room.Smaller) != c.smaller {
			t.Errorf("%s: want %v and %d smaller, got %v and %v", name, c.refuses, c.smaller, room.Refuses, room.Smaller)
		}
	}
}

func TestWhoseApprovalIsTheLast(t *testing.T) {
	r, _ := big(t)
	s := &Approvals{core: &core{now: func() time.Time { return now }}}
	owner := identity.Actor{Person: identity.Person{ID: "p-otto"},
		Tenants: map[string][]identity.Role{"vision": {identity.Owner}}}
	if !s.Completes(ada, r) {
		t.Error("one approver is enough")
	}
	r.Decision.Steps = append([]policy.Step{{From: []identity.Approvers{{Role: identity.Owner}}}}, r.Decision.Steps...)
	if s.Completes(owner, r) || s.Completes(ada, r) {
		t.Error("the owner comes first, and an approver is asked after that")
	}
}
