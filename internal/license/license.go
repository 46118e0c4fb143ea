// Package license counts NVIDIA licence seats. In its smallest form a pool is a number in the configuration and a seat is taken by each
// workload of a size that names the pool, from the decision until it has stopped.
package license

import "slices"

// Pool is a number of seats of one feature.
type Pool struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Feature string `json:"feature"` // as the licence server spells it, "NVIDIA RTX Virtual Workstation"
	Seats   int    `json:"seats"`
}

// Seats is a pool and how much of it is taken.
type Seats struct {
	Pool Pool
	Used int
}

// Free is what is left; never below zero, for a pool may have been made smaller than its use.
func (s Seats) Free() int { return max(0, s.Pool.Seats-s.Used) }

// Count puts the number of seats that are taken, by the name of the pool, beside each pool.
func Count(pools []Pool, taken map[string]int) []Seats {
	seats := make([]Seats, len(pools))
	for i, p := range pools {
		seats[i] = Seats{Pool: p, Used: taken[p.Name]}
	}
	return seats
}

// Find gives the seats of a pool.
func Find(seats []Seats, pool string) (Seats, bool) {
	i := slices.IndexFunc(seats, func(s Seats) bool { return s.Pool.Name == pool })
	if i < 0 {
		return Seats{}, false
	}
	return seats[i], true
}
