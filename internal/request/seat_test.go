package request

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

func seated(mode license.WhenFull, seats, used, line int) (Wish, Facts) {
	size := catalog.Size{Name: "vgpu", LicencePool: "vws"}
	return Wish{Size: size, Cluster: "c"}, Facts{Now: time.Unix(1000, 0), Quota: Quota{Limit: 9}, SeatLine: line,
		Seats: &license.Seats{Pool: license.Pool{Name: "vws", Title: "vWS", Seats: seats, WhenFull: mode}, Used: used}}
}

func TestAFullPool(t *testing.T) {
	cases := map[string]struct {
		mode              license.WhenFull
		seats, used, line int
		refused           bool
		place             int
	}{
		"a seat is free":                      {license.Queue, 5, 4, 0, false, 0},
		"none is free":                        {license.Queue, 5, 5, 0, false, 1},
		"more is used than there is":          {license.Queue, 5, 8, 0, false, 1},
		"others wait":                         {license.Queue, 5, 5, 3, false, 4},
		"one is free, and others are first":   {license.Queue, 5, 4, 1, false, 2},
		"the pool refuses":                    {license.Refuse, 5, 5, 0, true, 0},
		"nothing is said":                     {"", 5, 5, 0, true, 0},
		"refuses now, and some still wait":    {license.Refuse, 5, 4, 1, true, 0},
		"there will never be enough":          {license.Queue, 0, 0, 0, true, 0},
		"a free seat of a pool that refuses":  {license.Refuse, 5, 4, 0, false, 0},
		"a pool that was made smaller refuse": {license.Refuse, 2, 5, 0, true, 0},
	}
	for name, c := range cases {
		w, f := seated(c.mode, c.seats, c.used, c.line)
		if got := len(shortages(w, f)) > 0; got != c.refused || f.seatPlace(w) != c.place {
			t.Errorf("%s: want refused %v at place %d, got %v at %d", name, c.refused, c.place, got, f.seatPlace(w))
		}
	}
	w, f := seated(license.Queue, 0, 7, 0)
	f.Seats.Pool.Unknown = true
	if f.seatless(w) {
		t.Error("a number that nobody knows keeps somebody waiting")
	}
}
