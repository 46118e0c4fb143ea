package license

import "testing"

func TestSeats(t *testing.T) {
	pools := []Pool{{Name: "vws", Seats: 2}, {Name: "small", Seats: 1}, {Name: "none"}}
	seats := Count(pools, []Checkout{{Pool: "vws", Seats: 1},
		{Pool: "small", Seats: 3}, {Seats: 7}, {Pool: "unknown", Seats: 1}})
	for pool, want := range map[string]struct{ used, free int }{"vws": {1, 1}, "small": {3, 0}, "none": {0, 0}} {
		s, ok := Find(seats, pool)
		if !ok || s.Used != want.used || s.Free() != want.free {
			t.Errorf("%s: want %d used and %d free, got %+v", pool, want.used, want.free, s)
		}
	}
	if _, ok := Find(seats, "unknown"); ok {
		t.Error("a pool that is not configured was found")
	}
}
