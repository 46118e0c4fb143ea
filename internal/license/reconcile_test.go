package license

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 30, 12, 0, 0, 0, time.UTC) // a Monday

func hours(n float64) time.Time { return noon.Add(time.Duration(n * float64(time.Hour))) }

var vcs = Pool{Name: "vcs", Title: "vCS", Feature: "NVIDIA Virtual Compute Server", Product: VCS, Seats: 4}

func checkout(id, tenant, node string, seats int) Checkout {
	return Checkout{Pool: "vcs", Workload: id, Name: "nb-" + id, Tenant: tenant, Node: node, Seats: seats, Since: noon}
}

func answer(total, inUse int, leases ...Lease) Answer {
	return Answer{At: noon, Features: []Feature{{Name: vcs.Feature, Total: total, InUse: inUse}}, Leases: leases,
		LeasesKnown: leases != nil}
}

func lease(client string, count int) Lease {
	return Lease{Feature: vcs.Feature, Client: client, Count: count}
}

func TestDifferencesAreNamed(t *testing.T) {
	expired := lease("vm-1", 1)
	expired.Until = hours(-1)
	for sentence, c := range map[string]struct {
		checkouts []Checkout
		answer    Answer
		want      []Difference
	}{
		"nothing is known of the server, so nothing differs": {[]Checkout{checkout("a", "red", "vm-1", 1)}, Answer{}, nil},
		"portal and server agree": {[]Checkout{checkout("a", "red", "vm-1", 1)},
			answer(4, 1, lease("VM-1.example.org", 1)), nil},
		"what is reserved only has no lease yet": {[]Checkout{checkout("a", "red", "", 2)}, answer(4, 0, []Lease{}...), nil},
		"a workload without a lease": {[]Checkout{checkout("a", "red", "vm-1", 1), checkout("b", "blue", "vm-2", 2)},
			answer(4, 2, lease("vm-1", 1), lease("vm-2", 1)),
			[]Difference{{Kind: NoLease, Node: "vm-2", Workload: "b", Name: "nb-b", Tenant: "blue", Count: 1}}},
		"a lease of nobody here": {nil, answer(4, 3, lease("desk", 3)),
			[]Difference{{Kind: ForeignLease, Node: "desk", Count: 3}}},
		"more than the server's leases": {nil, answer(4, 3, lease("desk", 1)),
			[]Difference{{Kind: ForeignLease, Node: "desk", Count: 1}, {Kind: MoreInUse, Count: 2}}},
		"a server that only counts": {[]Checkout{checkout("a", "red", "vm-1", 1)}, answer(4, 3),
			[]Difference{{Kind: MoreInUse, Count: 2}}},
		"a server that counts fewer": {[]Checkout{checkout("a", "red", "vm-1", 2)}, answer(4, 1),
			[]Difference{{Kind: FewerInUse, Count: 1}}},
		"fewer licenses than vGPUs": {[]Checkout{checkout("a", "red", "vm-1", 6)}, answer(4, 6),
			[]Difference{{Kind: ServerOver, Count: 2}, {Kind: Overcommitted, Count: 2}}},
		"an expired lease is listed": {[]Checkout{checkout("a", "red", "vm-1", 1)}, answer(4, 1, expired),
			[]Difference{{Kind: LeaseExpired, Node: "vm-1", Count: 1}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Reconcile(vcs, c.checkouts, c.answer, noon).Difference); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOneSeatForAllUsersOfAMachine(t *testing.T) {
	vws := vcs
	vws.Product = VWS
	a := Reconcile(vws, []Checkout{checkout("a", "red", "vm-1", 1), checkout("b", "blue", "vm-1", 1),
		checkout("c", "blue", "vm-2", 1)}, answer(4, 1, lease("vm-1", 1)), noon)
	want := []Difference{{Kind: NoLease, Node: "vm-2", Workload: "c", Name: "nb-c", Tenant: "blue", Count: 1}}
	if diff := cmp.Diff(want, a.Difference); diff != "" {
		t.Error(diff)
	}
}

// Whatever is given out and whatever a server says: the tenants' parts add up to the whole, and nothing is below zero.
func TestSumsOfTenants(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 9))
	for range 3000 {
		var checkouts []Checkout
		for i := range random.IntN(8) {
			checkouts = append(checkouts, checkout(fmt.Sprint(i), []string{"red", "blue", "green"}[random.IntN(3)],
				[]string{"", "vm-1", "vm-2"}[random.IntN(3)], random.IntN(5)-1))
		}
		var leases []Lease
		leased := 0
		for range random.IntN(5) {
			l := lease([]string{"vm-1", "vm-2.example.org", "desk"}[random.IntN(3)], random.IntN(4)-1)
			leases, leased = append(leases, l), leased+max(0, l.Count)
		}
		inUse := leased + random.IntN(3)
		said := answer(random.IntN(9), inUse, leases...)
		said.LeasesKnown = true
		p := vcs
		p.Seats, p.Product = random.IntN(9), []Product{VCS, VWS, ""}[random.IntN(3)]
		a := Reconcile(p, checkouts, said, noon)
		var reserved, used, told int
		for _, r := range a.Tenants {
			reserved, used, told = reserved+r.Reserved, used+r.Used, told+r.Leased
			if r.Reserved < 0 || r.Used < 0 || r.Leased < 0 {
				t.Fatalf("below zero: %+v", r)
			}
		}
		if reserved != a.Reserved || used != a.Used || told != inUse || told != a.InUse {
			t.Fatalf("want sums %d reserved, %d used, %d leased, got %d, %d, %d of %+v", a.Reserved, a.Used, inUse, reserved,
				used, told, a)
		}
		if a.Free() < 0 || a.Over() < 0 || a.Free() > 0 && a.Over() > 0 || a.Free()+a.CheckedOut() != p.Seats+a.Over() {
			t.Fatalf("free %d, taken %d, over %d of %d", a.Free(), a.CheckedOut(), a.Over(), p.Seats)
		}
		for _, d := range a.Difference {
			if d.Count < 0 {
				t.Fatalf("a difference below zero: %+v", d)
			}
		}
	}
}
