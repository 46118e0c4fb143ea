package license

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func slice(id, node string) Checkout {
	return Checkout{Pool: "p", Workload: id, Tenant: "red", Owner: "dana", Cluster: "main", Node: node, Seats: 1,
		Device: SharedVGPU, VGPU: "A40-12Q"}
}

func slicesOn(node string, n int) []Checkout {
	var list []Checkout
	for i := range n {
		list = append(list, slice(fmt.Sprint(node, i), node))
	}
	return list
}

func onNodes(count int, names ...string) map[NodeKey]VGPUs {
	m := map[NodeKey]VGPUs{}
	for _, name := range names {
		m[NodeKey{"main", name}] = VGPUs{Type: "A40-12Q", Count: count}
	}
	return m
}

func whose(owner, node string, seats int) Checkout {
	return Checkout{Pool: "p", Owner: owner, Node: node, Seats: seats, Device: TimeSlicedVGPU}
}

func TestTurnsOnOneVGPUTakeOneSeatTogether(t *testing.T) {
	user := []Rule{{Device: TimeSlicedVGPU, Unit: PerUser, Source: "contract"}}
	for sentence, c := range map[string]struct {
		pool           Pool
		checkouts      []Checkout
		reserved, used int
	}{
		"four slices on the one vGPU of a machine": {Pool{Product: NVAIE, VGPUs: onNodes(1, "vm")}, slicesOn("vm", 4), 0, 1},
		"two slices on a machine with four, which the plugin spreads": {Pool{Product: NVAIE, VGPUs: onNodes(4, "vm")},
			slicesOn("vm", 2), 0, 2},
		"sixteen slices on a machine with four":   {Pool{Product: VCS, VGPUs: onNodes(4, "vm")}, slicesOn("vm", 16), 0, 4},
		"a product that licenses the machine":     {Pool{Product: VWS, VGPUs: onNodes(4, "vm")}, slicesOn("vm", 16), 0, 1},
		"two machines":                            {Pool{Product: VWS}, append(slicesOn("a", 3), slicesOn("b", 3)...), 0, 2},
		"nobody knows the nodes":                  {Pool{Product: NVAIE}, slicesOn("vm", 3), 0, 3},
		"on no node yet, and there is one in all": {Pool{Product: NVAIE, VGPUs: onNodes(1, "vm")}, slicesOn("", 3), 1, 0},
		"on no node yet, beside a machine that is counted": {Pool{Product: NVAIE, VGPUs: onNodes(1, "vm")},
			append(slicesOn("vm", 2), slicesOn("", 3)...), 0, 1},
		"one user with three": {Pool{Rules: user}, []Checkout{whose("dana", "a", 1), whose("dana", "b", 2),
			whose("dana", "", 1)}, 0, 2},
		"one user with one that has a node and a larger one that waits": {Pool{Rules: user},
			[]Checkout{whose("dana", "a", 1), whose("dana", "", 3)}, 2, 1},
		"two users":         {Pool{Rules: user}, []Checkout{whose("dana", "a", 1), whose("kim", "a", 1)}, 0, 2},
		"of another pool":   {Pool{Rules: user}, []Checkout{{Pool: "other", Seats: 7}}, 0, 0},
		"whole vGPUs, each": {Pool{Product: NVAIE}, []Checkout{whose("dana", "a", 2), whose("dana", "", 1)}, 1, 2},
	} {
		c.pool.Name = "p"
		if reserved, used := c.pool.Held(c.checkouts); reserved != c.reserved || used != c.used {
			t.Errorf("%s: want %d reserved and %d used, got %d and %d", sentence, c.reserved, c.used, reserved, used)
		}
	}
}

func TestAnotherTurnOnVGPUsThatAreCountedNeedsNoSeat(t *testing.T) {
	s := Count([]Pool{{Name: "p", Product: NVAIE, Seats: 2, VGPUs: onNodes(2, "vm")}}, slicesOn("vm", 2))[0]
	if more := s.Additional(slice("next", "")); s.Free() != 0 || more != 0 || s.Admit(more, 3) != Admitted {
		t.Errorf("free %d, more %d: both vGPUs are counted, a third slice starts", s.Free(), more)
	}
	if more := s.Additional(whose("dana", "", 1)); more != 1 || s.Admit(more, 0) != Rejected {
		t.Errorf("want one more for a vGPU of its own, got %d", more)
	}
}

// What each checkout adds is never below zero, and all of it is what they hold together.
func TestPartsAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		p := Pool{Name: "p", Product: []Product{NVAIE, VWS, ""}[random.IntN(3)], VGPUs: onNodes(random.IntN(4), "a", "b")}
		if random.IntN(2) == 0 {
			p.Rules = []Rule{{Device: TimeSlicedVGPU, Unit: PerUser, Source: "contract"}}
		}
		var checkouts []Checkout
		for i := range random.IntN(10) {
			x := slice(fmt.Sprint(i), []string{"", "a", "b"}[random.IntN(3)])
			if random.IntN(2) == 0 {
				x = whose([]string{"dana", "kim"}[random.IntN(2)], x.Node, random.IntN(4))
			}
			checkouts = append(checkouts, x)
		}
		reserved, used := p.Held(checkouts)
		sum := 0
		for i, n := range p.contributions(checkouts) {
			if sum += n; n < 0 {
				t.Fatalf("%d of %+v in %+v", n, checkouts[i], checkouts)
			}
		}
		if sum != reserved+used {
			t.Fatalf("parts add up to %d, held are %d and %d: %+v", sum, reserved, used, checkouts)
		}
	}
}

// TestTheMeterSharesAsAdmissionCounts: what the meter writes down of each checkout on a node, put together again, is
// what Held says of all of them.
func TestTheMeterSharesAsAdmissionCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		p := Pool{Name: "p", Product: []Product{NVAIE, VWS, VCS, ""}[random.IntN(4)],
			VGPUs: onNodes(random.IntN(4), "a", "b")}
		if random.IntN(2) == 0 {
			p.Rules = []Rule{{Device: TimeSlicedVGPU, Unit: PerUser, Source: "contract"}}
		}
		var checkouts []Checkout
		groups, most, want := map[string]int{}, map[string]int{}, 0
		for i := range random.IntN(12) {
			x := slice(fmt.Sprint(i), []string{"a", "b", "c"}[random.IntN(3)])
			if x.Seats = 1 + random.IntN(2); random.IntN(3) == 0 {
				x = whose([]string{"dana", "kim", ""}[random.IntN(3)], x.Node, 1+random.IntN(4))
			}
			checkouts = append(checkouts, x)
			group, limit := p.Shared(x)
			if group == "" {
				want += x.Seats
				continue
			}
			groups[group], most[group] = groups[group]+x.Seats, max(most[group], limit)
		}
		for group, seats := range groups {
			if limit := most[group]; limit > 0 {
				seats = min(seats, limit)
			}
			want += seats
		}
		if _, used := p.Held(checkouts); used != want {
			t.Fatalf("held are %d, the groups have %d: %+v of %+v", used, want, checkouts, p)
		}
	}
	if group, _ := (Pool{Product: VWS}).Shared(slice("x", "")); group != "" {
		t.Errorf("on no node yet, want no group, got %s", group)
	}
}
