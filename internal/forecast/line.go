package forecast

import (
	"slices"
	"sort"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Held is a workload that holds something, or waits for it.
type Held struct {
	Workload workload.ID
	Tenant   string
	Cluster  string
	Size     catalog.Size
	Pool     string // of its license seats; "" for none
	Seats    int
	Until    time.Time // end of its lease; zero while it has none
	Queued   bool      // it waits for a place
	Told     time.Time // when it was told to run
}

// givesBack reports whether what it holds is given back when its lease ends.
func (h Held) givesBack() bool { return !h.Queued && !h.Until.IsZero() }

// ahead are those that wait for the same size on a cluster and were told to run before a workload, the first in line
// first. A spec that is not among them stands at the end.
func ahead(all []Held, id workload.ID, cluster, size string) []Held {
	var line []Held
	for _, h := range all {
		if h.Queued && h.Cluster == cluster && h.Size.Name == size {
			line = append(line, h)
		}
	}
	slices.SortStableFunc(line, func(a, b Held) int { return a.Told.Compare(b.Told) })
	if i := slices.IndexFunc(line, func(h Held) bool { return h.Workload == id }); i >= 0 {
		return line[:i]
	}
	return line
}

// soonest are those of a cluster whose leases give something back, the soonest end first.
func soonest(all []Held, of func(Held) bool) []Held {
	var list []Held
	for _, h := range all {
		if h.givesBack() && of(h) {
			list = append(list, h)
		}
	}
	slices.SortStableFunc(list, func(a, b Held) int { return a.Until.Compare(b.Until) })
	return list
}

// supply is what a line waits for: room(n) tells for how many there is room once the first n of the leases have ended.
type supply struct {
	leases []Held // soonest end first
	room   func(n int) int
}

// turn is when the one behind others finds room: each of those takes a place when there is one, and gives it back when
// its own lease ends. It is the end of the lease that makes the room, of how many of the leases that have ended by
// then, and of how many of those ahead; zero where no lease does. Who finds room at once has none to wait for.
func (s supply) turn(ahead []Held, now time.Time) (at time.Time, leases, returned int) {
	taken := turns{}
	for _, h := range ahead {
		if !h.Until.IsZero() && !h.Until.After(later(now, at)) {
			continue // its lease ends before its turn comes
		}
		moment, _, ok := s.next(&taken, later(now, at))
		if !ok {
			return time.Time{}, 0, 0
		}
		at = moment
		if h.Until.IsZero() || h.Until.After(later(now, at)) {
			taken.until = append(taken.until, h.Until)
		}
	}
	at, leases, ok := s.next(&taken, later(now, at))
	if !ok {
		return time.Time{}, 0, 0
	}
	return at, leases, taken.over(later(now, at))
}

// next is the first moment from one on at which there is room beside those who took places since.
func (s supply) next(taken *turns, from time.Time) (at time.Time, leases int, ok bool) {
	for {
		want := taken.active(from) + 1
		n := sort.Search(len(s.leases)+1, func(n int) bool { return s.room(n) >= want })
		back, returns := taken.soonest(from)
		switch {
		case n <= len(s.leases) && n > 0 && s.leases[n-1].Until.After(from):
			if at = s.leases[n-1].Until; !returns || !back.Before(at) {
				return at, n, true
			}
		case n <= len(s.leases):
			return from, n, true
		}
		if !returns {
			return time.Time{}, 0, false
		}
		from = back
	}
}

// turns are the places that those ahead took: when each gives it back, zero for never.
type turns struct{ until []time.Time }

func (t *turns) active(at time.Time) (n int) {
	for _, until := range t.until {
		if until.IsZero() || until.After(at) {
			n++
		}
	}
	return n
}

// over is how many have given their place back.
func (t *turns) over(at time.Time) int { return len(t.until) - t.active(at) }

// soonest is the next return after a moment.
func (t *turns) soonest(after time.Time) (at time.Time, ok bool) {
	for _, until := range t.until {
		if until.After(after) && (!ok || until.Before(at)) {
			at, ok = until, true
		}
	}
	return at, ok
}

// placeLine is the line for a place on nodes. Room is what the picture of the cluster has when the workloads of ended
// leases are taken out of it: that holds for any technology, and for sizes that share cards with others. What the
// portal has placed since the picture was taken holds its place already. ok is false where there is room already, or
// nobody can tell.
func placeLine(s inventory.Snapshot, size catalog.Size, waiting []Held, all []Held, now time.Time) (l Line, ok bool) {
	free := capacity.Fit(s, size)
	there := s.Holders()
	unseen := placedSince(s, size, all, there)
	if !free.Known || free.Free > len(waiting)+len(unseen) {
		return Line{}, false
	}
	list := soonest(all, func(h Held) bool { return h.Cluster == s.Cluster && there[string(h.Workload)] })
	room := func(ended []Held) int {
		gone := make(map[string]inventory.Freed, len(ended))
		for _, h := range ended {
			gone[string(h.Workload)] = capacity.Freed(h.Size)
		}
		return capacity.Fit(s.Without(gone), size).Free
	}
	l = Line{Basis: Leases, Place: len(waiting) + 1}
	at, n, returned := supply{list, remember(func(n int) int { return room(list[:n]) })}.turn(
		slices.Concat(unseen, waiting), now)
	if l.At = at; !at.IsZero() {
		want := room(list[:n])
		l.Count = max(1, len(needed(list[:n], func(ended []Held) bool { return room(ended) >= want }))+returned)
	}
	return l, true
}

// remember asks once for each number: pictures of large clusters are not cheap.
func remember(f func(int) int) func(int) int {
	known := map[int]int{}
	return func(n int) int {
		if v, ok := known[n]; ok {
			return v
		}
		known[n] = f(n)
		return known[n]
	}
}

// lag is by how much a picture of a cluster may be older than what it shows: workloads that were told to run before
// that and are not in it hold nothing.
const lag = time.Minute

// placedSince are the workloads of a size that the portal knows to have a place and the picture does not show yet.
func placedSince(s inventory.Snapshot, size catalog.Size, all []Held, there map[string]bool) (list []Held) {
	for _, h := range all {
		if !h.Queued && h.Cluster == s.Cluster && h.Size.Name == size.Name && !there[string(h.Workload)] &&
			h.Told.After(s.TakenAt.Add(-lag)) {
			list = append(list, h)
		}
	}
	return list
}

// mostTried bounds how many leases are looked at one by one.
const mostTried = 64

// needed leaves out what makes no room: other cards, other nodes.
func needed(list []Held, room func([]Held) bool) []Held {
	if len(list) > mostTried {
		return list
	}
	kept := slices.Clone(list)
	for i := 0; i < len(kept)-1; {
		if without := slices.Delete(slices.Clone(kept), i, i+1); room(without) {
			kept = without
		} else {
			i++
		}
	}
	return kept
}

// quotaLine is the line before a team's own limit of a size: each of its leases that ends lets one in.
func quotaLine(w workload.Workload, waiting []Held, all []Held, now time.Time) Line {
	list := soonest(all, func(h Held) bool {
		return h.Tenant == w.Tenant && h.Cluster == w.Cluster && h.Size.Name == w.Size.Name && h.Workload != w.ID
	})
	at, n, returned := supply{list, func(n int) int { return n }}.turn(waiting, now)
	return Line{Basis: Leases, Place: len(waiting) + 1, At: at, Count: n + returned}
}

// seatLine is the line for license seats: short is how many are missing for all up to the place. A seat that several
// hold together is free when the last of them gives it back.
func seatLine(pool license.Seats, place, short int, all []Held) Line {
	l, ended := Line{Basis: Seats, Place: place}, map[string]bool{}
	for i, h := range soonest(all, func(h Held) bool { return h.Pool == pool.Pool.Name }) {
		ended[string(h.Workload)] = true
		if pool.Freed(ended) >= short {
			l.At, l.Count = h.Until, i+1
			break
		}
	}
	return l
}

// takingsOf is a pool that nobody counts, with what is held of it: each workload holds its own seats.
func takingsOf(pool string, all []Held) license.Seats {
	var checkouts []license.Checkout
	for _, h := range all {
		if h.Pool == pool {
			checkouts = append(checkouts, license.Checkout{Pool: pool, Workload: string(h.Workload), Seats: max(1, h.Seats),
				Cluster: h.Cluster})
		}
	}
	return license.Count([]license.Pool{{Name: pool}}, checkouts)[0]
}
