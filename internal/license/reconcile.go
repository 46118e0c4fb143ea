package license

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Checkout is one workload that seats are kept for, from the decision until its pod is gone.
type Checkout struct {
	Pool     string
	Workload string // id
	Name     string
	Tenant   string
	Cluster  string
	Node     string // "" while it is on none: the seats are reserved, not used
	Seats    int    // by itself; Held says what all take together
	Owner    string // id of the person
	Device   DeviceKind
	VGPU     string // the type of the vGPU that it has time slices of; "" for all others
	Since    time.Time
}

// PoolStatus is a pool beside the license server's report. Total, Reserved and Used are the portal's own count; InUse
// is the server's. Neither is derived from the other.
type PoolStatus struct {
	Pool       Pool
	Reserved   int // promised, on no node yet
	Used       int // on a node
	InUse      int // leased, as the server says; means nothing unless ServerKnown
	ServerOK   bool
	Tenants    []TenantSeats
	Checkouts  []Checkout
	Difference []Difference
}

// CheckedOut is what counts against the pool.
func (a PoolStatus) CheckedOut() int { return a.Reserved + a.Used }

// Free is what is left, never below zero.
func (a PoolStatus) Free() int { return max(0, a.Pool.Seats-a.CheckedOut()) }

// Over is by how much more was taken than there is: an entitlement has ended, or leases of others count too.
func (a PoolStatus) Over() int {
	if a.Pool.Unknown {
		return 0
	}
	return max(0, a.CheckedOut()-a.Pool.Seats)
}

// TenantSeats is one tenant's seats. Leased are the server's leases on machines of its workloads; where leases are
// reported, the sum of all rows is the number of leases. Tenant is "" for what the portal does not know.
type TenantSeats struct {
	Tenant   string
	Reserved int
	Used     int
	Leased   int
}

// DifferenceKind is the way in which checkouts and what was observed disagree.
type DifferenceKind string

// The differences.
const (
	NoLease       DifferenceKind = "no_lease" // a workload runs on a machine that has fewer leases than its seats
	ForeignLease  DifferenceKind = "foreign"  // a machine has leases that no workload of the portal is behind
	MoreInUse     DifferenceKind = "more"     // the server counts more than the portal, and does not say whose
	FewerInUse    DifferenceKind = "fewer"    // the server counts fewer
	Overcommitted DifferenceKind = "over"     // more is taken than there is
	ServerOver    DifferenceKind = "server"   // the server says more are leased than bought
	LeaseExpired  DifferenceKind = "expired"  // the server lists a lease whose time is over
)

// Difference is one mismatch between portal, license server and machines.
type Difference struct {
	Kind     DifferenceKind
	Node     string // or the client's host name
	Workload string
	Name     string
	Tenant   string
	Count    int
}

// Sentence says it to people.
func (d Difference) Sentence() i18n.Text {
	return i18n.T("licenses.differs_"+string(d.Kind), "Count", d.Count, "Node", d.Node, "Name", d.Name, "Tenant", d.Tenant)
}

// Reconcile puts what the portal has given out beside what the license server says. Machines are compared by host name
// alone: no license server knows of pods.
func Reconcile(p Pool, checkouts []Checkout, answer Answer, now time.Time) PoolStatus {
	a, n := PoolStatus{Pool: p}, 0
	for i := range checkouts {
		if checkouts[i].Pool == p.Name {
			n++
		}
	}
	a.Checkouts = slices.Grow(a.Checkouts, n)
	for i := range checkouts {
		if t := &checkouts[i]; t.Pool == p.Name {
			a.Checkouts = append(a.Checkouts, *t)
			a.Checkouts[len(a.Checkouts)-1].Seats = max(0, t.Seats)
		}
	}
	a.Reserved, a.Used = p.Held(a.Checkouts)
	slices.SortFunc(a.Checkouts, func(x, y Checkout) int {
		return cmp.Or(x.Since.Compare(y.Since),
			cmp.Compare(x.Workload, y.Workload))
	})
	a.InUse, a.ServerOK = answer.InUse(p)
	rows, parts := map[string]*TenantSeats{}, p.contributions(a.Checkouts)
	for i, t := range a.Checkouts {
		row := rowOf(rows, t.Tenant)
		if t.Node == "" {
			row.Reserved += parts[i]
		} else {
			row.Used += parts[i]
		}
	}
	if answer.LeasesKnown && !answer.At.IsZero() {
		a.attribute(rows, parts, answer.leases(p), now)
	} else if a.ServerOK && a.InUse != a.Used {
		kind := MoreInUse
		if a.InUse < a.Used {
			kind = FewerInUse
		}
		a.Difference = append(a.Difference, Difference{Kind: kind, Count: max(a.InUse, a.Used) - min(a.InUse, a.Used)})
	}
	if a.ServerOK && !p.Unknown && a.InUse > p.Seats {
		a.Difference = append(a.Difference, Difference{Kind: ServerOver, Count: a.InUse - p.Seats})
	}
	if a.Over() > 0 {
		a.Difference = append(a.Difference, Difference{Kind: Overcommitted, Count: a.Over()})
	}
	for _, r := range rows {
		a.Tenants = append(a.Tenants, *r)
	}
	slices.SortFunc(a.Tenants, func(x, y TenantSeats) int { return cmp.Compare(x.Tenant, y.Tenant) })
	return a
}

func rowOf(rows map[string]*TenantSeats, tenant string) *TenantSeats {
	if rows[tenant] == nil {
		rows[tenant] = &TenantSeats{Tenant: tenant}
	}
	return rows[tenant]
}

// attribute gives each lease of a machine to the workloads on it, the oldest first, and what is left over to nobody. A
// machine with one seat for all its users leases less than the workloads on it: that is no difference as long as it
// leases something.
func (a *PoolStatus) attribute(rows map[string]*TenantSeats, parts []int, leases []Lease, now time.Time) {
	left := map[string]int{}
	for _, l := range leases {
		left[host(l.Client)] += max(0, l.Count)
		if !l.Until.IsZero() && !now.Before(l.Until) {
			a.Difference = append(a.Difference, Difference{Kind: LeaseExpired, Node: l.Client, Count: max(0, l.Count)})
		}
	}
	had := map[string]bool{}
	for client, n := range left {
		had[client] = n > 0
	}
	shared := a.Pool.Rule(TimeSlicedVGPU).Unit == PerMachine
	for i, t := range a.Checkouts {
		if t.Node == "" {
			continue
		}
		got := min(parts[i], left[host(t.Node)])
		left[host(t.Node)] -= got
		rowOf(rows, t.Tenant).Leased += got
		if missing := parts[i] - got; missing > 0 && !(shared && had[host(t.Node)]) {
			a.Difference = append(a.Difference, Difference{Kind: NoLease, Node: t.Node, Workload: t.Workload, Name: t.Name,
				Tenant: t.Tenant, Count: missing})
		}
	}
	total := 0
	for _, l := range leases {
		total += max(0, l.Count)
		h := host(l.Client)
		if left[h] > 0 {
			rowOf(rows, "").Leased += left[h]
			a.Difference = append(a.Difference, Difference{Kind: ForeignLease, Node: l.Client, Count: left[h]})
			left[h] = 0
		}
	}
	if a.ServerOK && a.InUse > total { // counted, and listed for nobody
		rowOf(rows, "").Leased += a.InUse - total
		a.Difference = append(a.Difference, Difference{Kind: MoreInUse, Count: a.InUse - total})
	}
}

// host is a machine's name without its domain, as both sides may or may not write it.
func host(name string) string {
	short, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), ".")
	return short
}
