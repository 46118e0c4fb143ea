package e2e

import (
	"context"
	"net"
	"net/http"
	"strings"
)

// localhost is an HTTP client that resolves *.localhost to this machine, as browsers do (RFC 6761, section 6.3), and
// follows no redirect.
func localhost() *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err == nil && strings.HasSuffix(host, ".localhost") {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
}
