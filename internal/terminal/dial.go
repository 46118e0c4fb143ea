package terminal

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// pinned is a config for exec. client-go's transports for exec ignore rest.Config.Dial and resolve the API server's
// name themselves, so that an added cluster could lead them to an address which every other call is refused. It names
// the address that the config's own dialer reached; certificate and Host header keep the API server's name.
func pinned(ctx context.Context, config *rest.Config, at *url.URL) (*rest.Config, *url.URL, error) {
	if config.Dial == nil {
		return config, at, nil
	}
	port := cmp.Or(at.Port(), map[string]string{"https": "443", "http": "80"}[at.Scheme])
	conn, err := config.Dial(ctx, "tcp", net.JoinHostPort(at.Hostname(), port))
	if err != nil {
		return nil, nil, err
	}
	reached := conn.RemoteAddr().String()
	_ = conn.Close()
	fixed, there := rest.CopyConfig(config), *at
	there.Host = reached
	fixed.Host = there.Scheme + "://" + reached
	fixed.ServerName = cmp.Or(config.ServerName, at.Hostname())
	fixed.Wrap(func(next http.RoundTripper) http.RoundTripper { return called{next, at.Host} })
	return fixed, &there, nil
}

// called is a transport that names the host itself: the WebSocket one takes it from the header, the SPDY one from the
// request.
type called struct {
	http.RoundTripper
	host string
}

func (c called) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = c.host
	r.Header.Set("Host", c.host)
	return c.RoundTripper.RoundTrip(r)
}
