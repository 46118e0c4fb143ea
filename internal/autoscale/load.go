package autoscale

import (
	"net/url"
	"strings"
	"time"
)

// Where an autoscaler of the cluster asks the portal for the load of one endpoint, with the endpoint's own token in
// Authorization. The answer is JSON: LoadField is the load of all replicas together, by the policy's metric.
const (
	LoadPath  = "/autoscale/load"
	LoadQuery = "workload" // its id
	LoadField = "value"
)

// LoadURL is that address at a portal.
func LoadURL(portal, id string) string {
	return strings.TrimSuffix(portal, "/") + LoadPath + "?" + url.Values{LoadQuery: {id}}.Encode()
}

// How gateways report, and what their silence means.
const (
	ReportEvery = 5 * time.Second
	// reportFresh is how old a report may be to count as of now.
	reportFresh = 4 * ReportEvery
	// Gone is after how long a gateway that reports no more is taken to pass nothing on any more: it closes what is open
	// long before, when it does not reach the database. In between nobody knows what it does.
	Gone = 2 * time.Minute
)

// Report is what one gateway measured of the endpoints. Of those that are not in it, it had no requests lately.
type Report struct {
	Gateway   string // id of its process
	At        time.Time
	Endpoints []EndpointLoad
}

// EndpointLoad is what one gateway measured of one endpoint.
type EndpointLoad struct {
	Workload    string // id
	UnderWay    int    // requests, now
	Concurrency float64
	PerSecond   float64
	LastRequest time.Time
}

// Measured is the load of one endpoint as all gateways together saw it. Of the metrics that gateways do not measure,
// Value stays unknown.
func Measured(reports []Report, id string, m Metric, now time.Time) Load {
	l, current, silent, underWay := Load{At: now}, 0, false, 0
	for _, r := range reports {
		age := now.Sub(r.At).Abs()
		fresh := age <= reportFresh
		switch {
		case fresh:
			current++
		case age <= Gone:
			silent = true
		}
		for _, e := range r.Endpoints {
			if e.Workload != id {
				continue
			}
			if e.LastRequest.After(l.LastRequest) {
				l.LastRequest = e.LastRequest
			}
			if !fresh {
				continue
			}
			underWay += e.UnderWay
			switch m {
			case Concurrency:
				l.Value += e.Concurrency
			case Requests:
				l.Value += e.PerSecond
			}
		}
	}
	whole := current > 0 && !silent
	l.Known = whole && (m == Concurrency || m == Requests)
	l.Quiet = whole && underWay == 0
	return l
}
