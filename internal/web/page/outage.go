package page

import (
	"cmp"
	"slices"
	"time"
)

// System is a dependency of the portal that a banner can name.
type System string

// The systems.
const (
	ClusterSystem    System = "cluster"
	PrometheusSystem System = "prometheus"
	SignInSystem     System = "signin"
	HeldSystem       System = "held" // a cluster in which nothing is changed, see package drift
)

// Outage is a dependency that does not answer.
type Outage struct {
	System System
	Name   string // of the cluster; "" where there is one
	Since  time.Time
}

// inOrder makes two lists of the same outages equal, however they were gathered.
func inOrder(list []Outage) []Outage {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b Outage) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}
