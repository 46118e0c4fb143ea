package nls

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/license"
)

// mostLeases is more than one site has: what is above is a mistake of the server's.
const mostLeases = 100_000

type licenseServers struct {
	Servers []struct {
		Instance string `json:"serviceInstanceId"`
	} `json:"licenseServers"`
}

// clients are the machines that hold leases. The list and its leases are as a public exporter of NVIDIA's cloud license
// service reads them; where the host name stands is not documented, so that each of the usual places is looked at.
type clients struct {
	Clients []client `json:"clients"`
}

type client struct {
	Hostname    string  `json:"hostname"`
	HostName    string  `json:"hostName"`
	ClientName  string  `json:"clientHostName"`
	Leases      []lease `json:"leases"`
	Environment struct {
		Hostname string `json:"hostname"`
	} `json:"environment"`
	More struct {
		Hostname string `json:"hostname"`
		HostName string `json:"host_name"`
	} `json:"additionalProperties"`
}

type lease struct {
	ID      string `json:"leaseId"`
	Feature string `json:"featureName"`
	Count   *int   `json:"leaseCount"`
	Expires string `json:"expires"`
}

// leases asks who holds what. Known is false where the server does not tell all of it: no such call, no right to it, a
// shape that is not known, or a machine without a name. Half a list would show leases as missing that are not.
func (s *Server) leases(ctx context.Context, groups []string) (list []license.Lease, known bool) {
	for _, group := range groups {
		if group == "" {
			return nil, false
		}
		below := "/" + url.PathEscape(group)
		var servers licenseServers
		if s.get(ctx, below+"/license-servers", "", &servers) != nil {
			return nil, false
		}
		var instances []string
		for _, server := range servers.Servers {
			instances = append(instances, server.Instance)
		}
		slices.Sort(instances)
		for _, instance := range slices.Compact(instances) {
			var got clients
			if s.get(ctx, below+"/leases", clean(instance), &got) != nil || got.Clients == nil {
				return nil, false
			}
			for _, c := range got.Clients {
				held, ok := c.read()
				if !ok || len(list)+len(held) > mostLeases {
					return nil, false
				}
				list = append(list, held...)
			}
		}
	}
	return once(list), true
}

// once takes each lease once: groups of one service instance list the same leases.
func once(list []license.Lease) []license.Lease {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(l license.Lease) bool {
		twice := l.ID != "" && seen[l.ID]
		seen[l.ID] = true
		return twice
	})
}

func (c client) read() (list []license.Lease, ok bool) {
	name := clean(cmp.Or(c.Hostname, c.HostName, c.ClientName, c.Environment.Hostname, c.More.Hostname, c.More.HostName))
	for _, l := range c.Leases {
		count := 1
		if l.Count != nil {
			count = *l.Count
		}
		until, dated := license.ParseDay(l.Expires, false)
		if name == "" || clean(l.Feature) == "" || count < 0 || count > mostSeats || !dated {
			return nil, false
		}
		list = append(list, license.Lease{ID: clean(l.ID), Feature: clean(l.Feature), Client: name, Count: count,
			Until: until})
	}
	return list, true
}
