package license

import "slices"

// NodeKey identifies a node: names are unique within a cluster only.
type NodeKey struct{ Cluster, Node string }

// VGPUs are the vGPUs of one node, all of one type.
type VGPUs struct {
	Type  string // "A40-12Q"
	Count int
}

// Held is how many seats of the pool all checkouts hold together: reserved while on no node, else used. Where the unit
// is the user, all workloads of one person take the seats of the largest. Time slices of vGPUs take one seat for each
// vGPU: on a node never more than it has vGPUs, in total never more than there are of the type; which vGPU a slice is
// on is not told, and the device plugin spreads slots (k8s-device-plugin, distributed allocation), so that each counts
// as another vGPU while there are enough. That is never too few.
func (p Pool) Held(checkouts []Checkout) (reserved, used int) { return p.held(checkouts) }

// held is Held of several lists together.
func (p Pool) held(lists ...[]Checkout) (reserved, used int) {
	users, shares := map[string]*sum{}, map[string]*slots{}
	for _, list := range lists {
		for i := range list {
			t := &list[i]
			n := max(0, t.Seats)
			switch {
			case t.Pool != p.Name:
			case p.Rule(t.Device).Unit == PerUser && t.Owner != "":
				entry(users, t.Owner).most(n, t.Node != "")
			case t.Device == SharedVGPU:
				entry(shares, t.VGPU).add(t, n)
			case t.Node == "":
				reserved += n
			default:
				used += n
			}
		}
	}
	for _, u := range users {
		used += u.used
		reserved += max(0, u.reserved-u.used)
	}
	for kind, s := range shares {
		r, u := s.seats(p, kind)
		reserved, used = reserved+r, used+u
	}
	return reserved, used
}

// Shared says with whom a checkout on a node holds its seats together: those of one group, at most so many; "" where
// they are its own. It is Held as data that the meter can write down: the seats on nodes are those of every group,
// never more than the largest limit in it, and all that are in none. Most is 0 where the limit is not known.
func (p Pool) Shared(t Checkout) (group string, most int) {
	rule := p.Rule(t.Device).Unit
	switch {
	case t.Node == "":
		return "", 0
	case rule == PerUser && t.Owner != "":
		return "user/" + t.Owner, max(0, t.Seats)
	case t.Device != SharedVGPU:
		return "", 0
	case rule == PerMachine:
		most = 1
	default:
		most = p.VGPUs[NodeKey{t.Cluster, t.Node}].Count
	}
	return "vgpu/" + t.VGPU + "/" + t.Cluster + "/" + t.Node, most
}

// additional is how many seats other checkouts add to what these hold.
func (p Pool) additional(checkouts []Checkout, others ...Checkout) int {
	if !slices.ContainsFunc(others, p.together) {
		n := 0
		for _, t := range others {
			n += max(0, t.Seats)
		}
		return n
	}
	r, u := p.Held(checkouts)
	others = slices.Clone(others)
	for i := range others {
		others[i].Pool = p.Name
	}
	more, too := p.held(checkouts, others)
	return more + too - r - u
}

// together reports whether a checkout may share a seat with others: what it takes depends on them.
func (p Pool) together(t Checkout) bool {
	return t.Device == SharedVGPU || p.Rule(t.Device).Unit == PerUser
}

// contributions is what each checkout adds to Held, those on a node first and in their order: together they are what
// all hold.
func (p Pool) contributions(checkouts []Checkout) []int {
	parts, before := make([]int, len(checkouts)), []Checkout(nil)
	together := slices.ContainsFunc(checkouts, p.together)
	for _, placed := range []bool{true, false} {
		for i, t := range checkouts {
			switch {
			case placed != (t.Node != ""):
			case !together:
				parts[i] = max(0, t.Seats)
			default:
				parts[i] = p.additional(before, t)
				before = append(before, t)
			}
		}
	}
	return parts
}

// sum is the most that one workload of somebody holds.
type sum struct{ reserved, used int }

func (s *sum) most(n int, placed bool) {
	if placed {
		s.used = max(s.used, n)
	} else {
		s.reserved = max(s.reserved, n)
	}
}

// slots are those on vGPUs of one type.
type slots struct {
	unplaced int
	on       map[NodeKey]int
}

func (s *slots) add(t *Checkout, n int) {
	if t.Node == "" {
		s.unplaced += n
		return
	}
	if s.on == nil {
		s.on = map[NodeKey]int{}
	}
	s.on[NodeKey{t.Cluster, t.Node}] += n
}

func (s *slots) seats(p Pool, kind string) (reserved, used int) {
	machine := p.Rule(SharedVGPU).Unit == PerMachine
	most := func(v VGPUs) int {
		if machine {
			return min(1, v.Count)
		}
		return v.Count
	}
	for at, n := range s.on {
		switch v := p.VGPUs[at]; {
		case machine:
			n = min(n, 1)
		case v.Count > 0:
			n = min(n, v.Count)
		}
		used += n
	}
	all := 0
	for _, v := range p.VGPUs {
		if v.Type == kind {
			all += most(v)
		}
	}
	reserved = s.unplaced
	if all > 0 {
		reserved = min(reserved, max(0, all-used))
	}
	return reserved, used
}

func entry[T any](m map[string]*T, key string) *T {
	if m[key] == nil {
		m[key] = new(T)
	}
	return m[key]
}
