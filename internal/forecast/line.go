package forecast

import (
	"slices"
	"sort"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
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

// place is where a workload stands among those that wait for the same size on its cluster, from 1 on: before it are all
// that were told to run earlier. A wish that is not among them stands at the end.
func place(all []Held, id workload.ID, cluster, size string) int {
	var line []Held
	for _, h := range all {
		if h.Queued && h.Cluster == cluster && h.Size.Name == size {
			line = append(line, h)
		}
	}
	slices.SortStableFunc(line, func(a, b Held) int { return a.Told.Compare(b.Told) })
	if i := slices.IndexFunc(line, func(h Held) bool { return h.Workload == id }); i >= 0 {
		return i + 1
	}
	return len(line) + 1
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

func ends(list []Held) []time.Time {
	times := make([]time.Time, len(list))
	for i, h := range list {
		times[i] = h.Until
	}
	return times
}

// placeLine is the line for a place on nodes. Need counts the leases, soonest first, after whose end the picture of the
// cluster has room for all up to the place: that holds for any technology, and for sizes that share cards with others.
// ok is false where there is room already, or nobody can tell.
func placeLine(s inventory.Snapshot, size catalog.Size, place int, all []Held) (l Line, ok bool) {
	now := capacity.Fit(s, size)
	if !now.Known || now.Free >= place {
		return Line{}, false
	}
	there := holders(s)
	list := soonest(all, func(h Held) bool { return h.Cluster == s.Cluster && there[string(h.Workload)] })
	room := func(ended []Held) bool {
		gone := make(map[string]inventory.Freed, len(ended))
		for _, h := range ended {
			gone[string(h.Workload)] = capacity.Freed(h.Size)
		}
		return capacity.Fit(s.Without(gone), size).Free >= place
	}
	l = Line{Basis: Leases, Place: place, Ends: ends(list)}
	if len(list) > 0 && room(list) {
		l.Need = sort.Search(len(list), func(n int) bool { return n > 0 && room(list[:n]) })
		l.Count = len(needed(list[:l.Need], room))
	}
	return l, true
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

// holders are the workloads that hold devices.
func holders(s inventory.Snapshot) map[string]bool {
	ids := map[string]bool{}
	for i := range s.Nodes {
		for _, r := range s.Nodes[i].Resources {
			for _, h := range r.Holders {
				ids[h.Workload] = true
			}
		}
		for j := range s.Nodes[i].Devices {
			for _, h := range s.Nodes[i].Devices[j].Holders {
				ids[h.Workload] = true
			}
		}
	}
	delete(ids, "")
	return ids
}

// quotaLine is the line before a team's own limit of a size: each of its leases that ends lets one in.
func quotaLine(w workload.Workload, place int, all []Held) Line {
	list := soonest(all, func(h Held) bool {
		return h.Tenant == w.Tenant && h.Cluster == w.Cluster && h.Size.Name == w.Size.Name && h.Workload != w.ID
	})
	l := Line{Basis: Leases, Place: place, Ends: ends(list)}
	if place <= len(list) {
		l.Need, l.Count = place, place
	}
	return l
}

// seatLine is the line for license seats: short is how many are missing for all up to the place.
func seatLine(pool string, place, short int, all []Held) Line {
	list := soonest(all, func(h Held) bool { return h.Pool == pool })
	l := Line{Basis: Seats, Place: place, Ends: ends(list)}
	for i, h := range list {
		if short -= max(1, h.Seats); short <= 0 {
			l.Need, l.Count = i+1, i+1
			break
		}
	}
	return l
}
