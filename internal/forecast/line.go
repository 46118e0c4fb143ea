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

// Allocation is what a workload holds of a cluster, or is queued for.
type Allocation struct {
	Workload    workload.ID
	Tenant      string
	Cluster     string
	Size        catalog.Size
	Pool        string // of its license seats; "" for none
	Seats       int
	Until       time.Time // end of its lease; zero while it has none
	Queued      bool      // it waits for a place
	RequestedAt time.Time // when it was asked to run
}

// released reports whether the end of the lease frees what is held.
func (h Allocation) released() bool { return !h.Queued && !h.Until.IsZero() }

// queuedBefore are the allocations queued for the same size on a cluster and requested before a workload, in queue
// order. A workload that is not among them is last.
func queuedBefore(all []Allocation, id workload.ID, cluster, size string) []Allocation {
	var line []Allocation
	for _, h := range all {
		if h.Queued && h.Cluster == cluster && h.Size.Name == size {
			line = append(line, h)
		}
	}
	slices.SortStableFunc(line, func(a, b Allocation) int { return a.RequestedAt.Compare(b.RequestedAt) })
	if i := slices.IndexFunc(line, func(h Allocation) bool { return h.Workload == id }); i >= 0 {
		return line[:i]
	}
	return line
}

// byLeaseEnd are the allocations of a cluster that their leases release, earliest end first.
func byLeaseEnd(all []Allocation, of func(Allocation) bool) []Allocation {
	var list []Allocation
	for _, h := range all {
		if h.released() && of(h) {
			list = append(list, h)
		}
	}
	slices.SortStableFunc(list, func(a, b Allocation) int { return a.Until.Compare(b.Until) })
	return list
}

// supply is what a queue waits for: room(n) is how many fit once the first n leases have ended.
type supply struct {
	leases []Allocation // earliest end first
	room   func(n int) int
}

// admission is when a workload behind a queue is placed. Each one in the queue is placed as soon as there is room and
// releases its place at the end of its own lease. It gives the lease end that makes the room, how many of the leases
// have ended by then, and how many of the queue have released theirs; zero where no lease makes room.
func (s supply) admission(queue []Allocation, now time.Time) (at time.Time, leases, returned int) {
	taken := occupancy{}
	for _, h := range queue {
		if !h.Until.IsZero() && !h.Until.After(later(now, at)) {
			continue // its lease ends before it is placed
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
	return at, leases, taken.released(later(now, at))
}

// next is the first moment from one on at which there is room beside those who took places since.
func (s supply) next(taken *occupancy, from time.Time) (at time.Time, leases int, ok bool) {
	for {
		want := taken.active(from) + 1
		n := sort.Search(len(s.leases)+1, func(n int) bool { return s.room(n) >= want })
		back, returns := taken.nextRelease(from)
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

// occupancy is when each placed workload of the queue releases its place; zero: never.
type occupancy struct{ until []time.Time }

func (t *occupancy) active(at time.Time) (n int) {
	for _, until := range t.until {
		if until.IsZero() || until.After(at) {
			n++
		}
	}
	return n
}

// released counts the places released by a moment.
func (t *occupancy) released(at time.Time) int { return len(t.until) - t.active(at) }

// nextRelease is the first release after a moment.
func (t *occupancy) nextRelease(after time.Time) (at time.Time, ok bool) {
	for _, until := range t.until {
		if until.After(after) && (!ok || until.Before(at)) {
			at, ok = until, true
		}
	}
	return at, ok
}

// placementQueue is the position in the queue for nodes. Room is the fit of the snapshot without the workloads whose
// leases have ended, which holds for every technology and for sizes that share cards. What was placed after the
// snapshot was taken counts as placed. ok is false where there is room already, or the fit is unknown.
func placementQueue(s inventory.Snapshot, size catalog.Size, waiting []Allocation, all []Allocation,
	now time.Time) (l QueuePosition, ok bool) {
	free := capacity.Fit(s, size)
	there := s.Holders()
	unseen := placedSince(s, size, all, there)
	if !free.Known || free.Free > len(waiting)+len(unseen) {
		return QueuePosition{}, false
	}
	list := byLeaseEnd(all, func(h Allocation) bool { return h.Cluster == s.Cluster && there[string(h.Workload)] })
	room := func(ended []Allocation) int {
		gone := make(map[string]inventory.Freed, len(ended))
		for _, h := range ended {
			gone[string(h.Workload)] = capacity.Freed(h.Size)
		}
		return capacity.Fit(s.Without(gone), size).Free
	}
	l = QueuePosition{Basis: Leases, Position: len(waiting) + 1}
	at, n, returned := supply{list, memoize(func(n int) int { return room(list[:n]) })}.admission(
		slices.Concat(unseen, waiting), now)
	if l.At = at; !at.IsZero() {
		want := room(list[:n])
		l.Count = max(1, len(relevantLeases(list[:n], func(ended []Allocation) bool { return room(ended) >= want }))+returned)
	}
	return l, true
}

// memoize calls f once for each number: a fit over a large snapshot is expensive.
func memoize(f func(int) int) func(int) int {
	known := map[int]int{}
	return func(n int) int {
		if v, ok := known[n]; ok {
			return v
		}
		known[n] = f(n)
		return known[n]
	}
}

// snapshotLag is how much older than its TakenAt the state in a snapshot may be: a workload requested before that and
// absent from the snapshot holds nothing.
const snapshotLag = time.Minute

// placedSince are the workloads of a size that have been placed and are not in the snapshot yet.
func placedSince(s inventory.Snapshot, size catalog.Size, all []Allocation, there map[string]bool) (list []Allocation) {
	for _, h := range all {
		if !h.Queued && h.Cluster == s.Cluster && h.Size.Name == size.Name && !there[string(h.Workload)] &&
			h.RequestedAt.After(s.TakenAt.Add(-snapshotLag)) {
			list = append(list, h)
		}
	}
	return list
}

// maxTried is up to how many leases relevantLeases searches; its cost is quadratic.
const maxTried = 64

// relevantLeases drops leases whose end makes no room for the size: on other cards, on other nodes.
func relevantLeases(list []Allocation, room func([]Allocation) bool) []Allocation {
	if len(list) > maxTried {
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

// quotaQueue is the position in the queue for a tenant's quota of a size: each of its leases that ends admits one.
func quotaQueue(w workload.Workload, waiting []Allocation, all []Allocation, now time.Time) QueuePosition {
	list := byLeaseEnd(all, func(h Allocation) bool {
		return h.Tenant == w.Tenant && h.Cluster == w.Cluster && h.Size.Name == w.Size.Name && h.Workload != w.ID
	})
	at, n, returned := supply{list, func(n int) int { return n }}.admission(waiting, now)
	return QueuePosition{Basis: Leases, Position: len(waiting) + 1, At: at, Count: n + returned}
}

// seatQueue is the position in the queue for license seats; short is how many seats are missing for everybody up to it.
// A seat that several workloads share is free once the last of them has ended.
func seatQueue(pool license.Seats, place, short int, all []Allocation) QueuePosition {
	l, ended := QueuePosition{Basis: Seats, Position: place}, map[string]bool{}
	for i, h := range byLeaseEnd(all, func(h Allocation) bool { return h.Pool == pool.Pool.Name }) {
		ended[string(h.Workload)] = true
		if pool.Freed(ended) >= short {
			l.At, l.Count = h.Until, i+1
			break
		}
	}
	return l
}

// uncountedPool stands for a pool that is not configured: each workload that names it holds seats of its own.
func uncountedPool(pool string, all []Allocation) license.Seats {
	var checkouts []license.Checkout
	for _, h := range all {
		if h.Pool == pool {
			checkouts = append(checkouts, license.Checkout{Pool: pool, Workload: string(h.Workload), Seats: max(1, h.Seats),
				Cluster: h.Cluster})
		}
	}
	return license.Count([]license.Pool{{Name: pool}}, checkouts)[0]
}
