package license

import "slices"

// Pool is the seats of one license feature that starts share, NLS: a feature of a license server.
type Pool struct {
	Name    string  `json:"name"`              // by which sizes name it; needed
	Title   string  `json:"title"`             // what people read
	Feature string  `json:"feature"`           // by which the license server knows it, "NVIDIA RTX Virtual Workstation"
	Product Product `json:"product,omitempty"` // how seats are counted; default guessed from feature
	Server  string  `json:"server,omitempty"`  // the license server that says how many there are; default none
	Seats   int     `json:"seats"`             // how many seats, while no server or entitlement says it
	// what becomes of a start that finds too few seats: refuse or queue; default refuse
	OnExhaustion ExhaustionPolicy `json:"onExhaustion,omitempty"`
	// what a contract says otherwise: rules above those of the product, each for one kind of device
	Rules []Rule `json:"rules,omitempty"`
	// vGPU series that the pool licenses: A, B, C, Q; default those of the product
	Series []Series `json:"series,omitempty"`
	// VGPUs are those that nodes show now, by which time slices of them are counted; not known where empty.
	VGPUs map[NodeKey]VGPUs `json:"-"`
	// Unknown says that nobody has told how many seats there are: the server that should has not answered yet. Such a pool
	// refuses nobody.
	Unknown bool `json:"-"`
}

// ExhaustionPolicy is what becomes of a start that finds too few seats.
type ExhaustionPolicy string

// The choices.
const (
	RefuseStarts ExhaustionPolicy = "refuse"
	QueueStarts  ExhaustionPolicy = "queue" // it is accepted and waits in the pool's line
)

// ExhaustionPolicies lists every policy in the order of forms.
func ExhaustionPolicies() []ExhaustionPolicy { return []ExhaustionPolicy{RefuseStarts, QueueStarts} }

// Seats is a pool with its checkouts.
type Seats struct {
	Pool      Pool
	Used      int
	Checkouts []Checkout // with those of the pool, behind Used
}

// Additional is how many seats other checkouts would take together beside those that are taken.
func (s Seats) Additional(more ...Checkout) int { return s.Pool.additional(s.Checkouts, more...) }

// Freed is how many seats are given back when some workloads, by id, have ended.
func (s Seats) Freed(ended map[string]bool) int {
	left := slices.DeleteFunc(slices.Clone(s.Checkouts), func(t Checkout) bool { return ended[t.Workload] })
	reserved, used := s.Pool.Held(left)
	return s.Used - reserved - used
}

// Free is what is left; never below zero, for a pool may have been made smaller than its use.
func (s Seats) Free() int { return max(0, s.Pool.Seats-s.Used) }

// Has reports whether so many more may be taken. A number that nobody knows keeps nobody out.
func (s Seats) Has(more int) bool { return s.Pool.Unknown || s.Free() >= more }

// Admission is whether a start that needs seats gets them now, waits in the queue or is rejected.
type Admission string

// The admissions.
const (
	Admitted Admission = "admitted"
	Queued   Admission = "queued"   // it gets a place in the pool's line
	Rejected Admission = "rejected" // the pool has no line, or would never have that many
)

// Admit says what becomes of a start that needs so many seats while others stand in the line already.
func (s Seats) Admit(needs, line int) Admission {
	switch {
	case needs == 0 || s.Has(needs) && line == 0:
		return Admitted
	case s.Pool.OnExhaustion != QueueStarts || !s.Pool.Unknown && needs > s.Pool.Seats:
		return Rejected
	}
	return Queued
}

// Count adds the seats in use to each pool. It keeps the list of checkouts, which must not be changed: Held looks only
// at those of the pool.
func Count(pools []Pool, checkouts []Checkout) []Seats {
	seats := make([]Seats, len(pools))
	for i, p := range pools {
		seats[i] = Seats{Pool: p, Checkouts: checkouts}
		reserved, used := p.Held(checkouts)
		seats[i].Used = reserved + used
	}
	return seats
}

// Find gives the seats of a pool by name; false where there is no such pool.
func Find(seats []Seats, pool string) (Seats, bool) {
	i := slices.IndexFunc(seats, func(s Seats) bool { return s.Pool.Name == pool })
	if i < 0 {
		return Seats{}, false
	}
	return seats[i], true
}
