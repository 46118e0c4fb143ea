package cluster

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// Guard says where API servers may be. Clusters have private addresses, so those are allowed; the portal's own machine
// and what is on its link (metadata services of clouds among them) are not, unless a network says so.
type Guard struct {
	Networks []netip.Prefix // where they must be; none: anywhere but on this machine and its link
}

var errAddress = errors.New("the API server's address is not one that the configuration (clusterNetworks) allows")

func (g Guard) allows(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if len(g.Networks) > 0 {
		return slices.ContainsFunc(g.Networks, func(p netip.Prefix) bool { return p.Contains(ip) })
	}
	return ip.IsGlobalUnicast()
}

// dialer looks at the address that is about to be dialled, after the name was resolved: a name that resolves to
// something else the next time gains nothing.
func (g Guard) dialer() *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !g.allows(at.Addr()) {
				return errAddress
			}
			return nil
		}}
}

// noProxy: a proxy of the environment would dial in our place.
func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

// Transport calls what the guard allows, for the metrics server of an added cluster.
func (g Guard) Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext, t.Proxy = g.dialer().DialContext, nil
	return t
}
