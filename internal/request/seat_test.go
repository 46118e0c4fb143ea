package request

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

func seated(mode license.ExhaustionPolicy, seats, used, line int) (Spec, Facts) {
	size := catalog.Size{Name: "vgpu", LicensePool: "vws"}
	return Spec{Size: size, Cluster: "c"}, Facts{Now: time.Unix(1000, 0), Quota: Quota{Limit: 9}, SeatLine: line,
		Seats: &license.Seats{Pool: license.Pool{Name: "vws", Title: "vWS", Seats: seats, OnExhaustion: mode}, Used: used}}
}

func TestAFullPool(t *testing.T) {
	cases := map[string]struct {
		mode              license.ExhaustionPolicy
		seats, used, line int
		refused           bool
		place             int
	}{
		"a seat is free":                      {license.QueueStarts, 5, 4, 0, false, 0},
		"none is free":                        {license.QueueStarts, 5, 5, 0, false, 1},
		"more is used than there is":          {license.QueueStarts, 5, 8, 0, false, 1},
		"others wait":                         {license.QueueStarts, 5, 5, 3, false, 4},
		"one is free, and others are first":   {license.QueueStarts, 5, 4, 1, false, 2},
		"the pool refuses":                    {license.RefuseStarts, 5, 5, 0, true, 0},
		"nothing is said":                     {"", 5, 5, 0, true, 0},
		"refuses now, and some still wait":    {license.RefuseStarts, 5, 4, 1, true, 0},
		"there will never be enough":          {license.QueueStarts, 0, 0, 0, true, 0},
		"a free seat of a pool that refuses":  {license.RefuseStarts, 5, 4, 0, false, 0},
		"a pool that was made smaller refuse": {license.RefuseStarts, 2, 5, 0, true, 0},
	}
	for name, c := range cases {
		w, f := seated(c.mode, c.seats, c.used, c.line)
		if got := len(shortages(w, f)) > 0; got != c.refused || f.seatPlace(w) != c.place {
			t.Errorf("%s: want refused %v at place %d, got %v at %d", name, c.refused, c.place, got, f.seatPlace(w))
		}
	}
	w, f := seated(license.QueueStarts, 0, 7, 0)
	f.Seats.Pool.Unknown = true
	if f.seatsMissing(w) {
		t.Error("a number that nobody knows keeps somebody waiting")
	}
}

// TestRulesSeeSeats: what a rule may know of the pool that a size takes seats of.
func TestRulesSeeSeats(t *testing.T) {
	type seats struct {
		Pool                        string
		Taken, Left, Total, Waiting int64
	}
	seen := func(w Spec, f Facts) seats {
		p := PolicyFacts(StartKind, w, nobody, f, time.Hour)
		return seats{p.SeatPool, p.SeatsTaken, p.SeatsLeft, p.SeatsTotal, p.SeatsWaiting}
	}
	w, f := seated(license.QueueStarts, 5, 4, 2)
	if got, want := seen(w, f), (seats{"vws", 1, 1, 5, 2}); got != want {
		t.Errorf("want %+v, got %+v", want, got)
	}
	f.Seats.Pool.Unknown = true
	if got, want := seen(w, f), (seats{"vws", 1, -1, -1, 2}); got != want {
		t.Errorf("a number that nobody knows: want %+v, got %+v", want, got)
	}
	f.Seats = nil
	if got, want := seen(w, f), (seats{"", 0, -1, -1, 0}); got != want {
		t.Errorf("a size that takes none: want %+v, got %+v", want, got)
	}
	p, problems := policy.Compile([]policy.Rule{
		{Name: "last-seats",
			When:    `request.seats_taken > 0 && request.seats_left >= 0 && request.seats_left - request.seats_taken < 2`,
			Outcome: policy.Approve},
		{Name: "rest", When: "true", Outcome: policy.Allow}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for used, want := range map[int]string{2: "rest", 3: "rest", 4: "last-seats", 5: "last-seats"} {
		w, f := seated(license.QueueStarts, 6, used, 0)
		f.Policy = p
		if got := p.Decide(PolicyFacts(StartKind, w, nobody, f, time.Hour)).Rule; got != want {
			t.Errorf("%d of 6 used: want %s, got %s", used, want, got)
		}
	}
}

// A turn on a vGPU that is counted, and another workload of a person whose seat is theirs, start when no seat is free.
func TestASeatThatIsShared(t *testing.T) {
	shared := catalog.Size{Name: "turn", LicensePool: "vws", Technology: catalog.TimeSlicing,
		Accelerator: catalog.Accelerator{Profile: "A40-12Q"}}
	whole := catalog.Size{Name: "vgpu", LicensePool: "vws", Technology: catalog.VGPU,
		Accelerator: catalog.Accelerator{Profile: "A40-12Q"}}
	one := license.Pool{Name: "vws", Product: license.VWS, Seats: 1,
		VGPUs: map[license.NodeKey]license.VGPUs{{Cluster: "c", Node: "vm"}: {Type: "A40-12Q", Count: 1}}}
	each := one
	each.Rules = []license.Rule{{Device: license.TimeSlicedVGPU, Unit: license.PerUser, Source: "contract"}}
	for sentence, c := range map[string]struct {
		pool        license.Pool
		held, asked catalog.Size
		owner       identity.PersonID
		refused     bool
	}{
		"another turn on the vGPU":                     {one, shared, shared, "kim", false},
		"a vGPU of one's own":                          {one, shared, whole, "kim", true},
		"a second vGPU, and a machine is licensed":     {one, whole, whole, "dana", true},
		"a second vGPU, and a person is licensed":      {each, whole, whole, "dana", false},
		"another's vGPU, and each person is licensed":  {each, whole, whole, "kim", true},
		"a turn on a vGPU that somebody has to itself": {one, whole, shared, "kim", true},
	} {
		held := c.held.Checkout(c.pool, "dana")
		held.Cluster, held.Node = "c", "vm"
		seats := license.Count([]license.Pool{c.pool}, []license.Checkout{held})[0]
		f := Facts{Now: time.Unix(1000, 0), Quota: Quota{Limit: 9}, Seats: &seats, Owner: c.owner}
		if got := f.seatRefused(Spec{Size: c.asked, Cluster: "c"}); got != c.refused || seats.Free() != 0 {
			t.Errorf("%s: want refused %v, got %v with %d free", sentence, c.refused, got, seats.Free())
		}
	}
}
