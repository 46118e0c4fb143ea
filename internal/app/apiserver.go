package app

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/gateway"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// throughAPIServer reaches pods by the API server's service proxy, for portals outside the cluster's network. The API
// server drops the Authorization header, so only workloads without a secret of their own can be opened in this way. It
// takes the right to services/proxy in tenants' namespaces (reconcile.Rights, the chart's rbac.proxy).
func throughAPIServer(rc *rest.Config) (http.RoundTripper, error) {
	transport, err := rest.TransportFor(rc)
	if err != nil {
		return nil, err
	}
	host, _, err := rest.DefaultServerUrlFor(rc)
	if err != nil {
		return nil, err
	}
	return serviceProxy{host, transport}, nil
}

// serviceProxy sends calls for a workload to its Service below the address of an API server, which may have a path of
// its own (Rancher and other prefixing proxies).
type serviceProxy struct {
	host      *url.URL
	transport http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p serviceProxy) RoundTrip(r *http.Request) (*http.Response, error) {
	w, ok := gateway.WorkloadOf(r)
	if !ok {
		return nil, errors.New("no workload to go to")
	}
	return p.call(w, r)
}

func (p serviceProxy) call(w workload.Workload, r *http.Request) (*http.Response, error) {
	if dotted(r.URL) {
		return refuse(r), nil
	}
	to, err := proxyURL(p.host, w, r.URL)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL, r.Host = to, p.host.Host
	return p.transport.RoundTrip(r)
}

// proxyURL keeps the encoding of the workload's path: a notebook may have a slash in a file's name.
func proxyURL(host *url.URL, w workload.Workload, from *url.URL) (*url.URL, error) {
	service := fmt.Sprintf("/api/v1/namespaces/%s/services/%s:80/proxy", w.Namespace, w.Name)
	to := *from
	to.Scheme, to.Host, to.User = host.Scheme, host.Host, nil
	to.RawPath = strings.TrimRight(host.EscapedPath(), "/") + service + from.EscapedPath()
	path, err := url.PathUnescape(to.RawPath)
	to.Path = path
	return &to, err
}

// unescapes is how often a path is decoded to look for dot segments: once by the API server, and by proxies before it.
const unescapes = 4

// dotted reports whether a path has "." or ".." segments, however encoded: what normalises it on the way would leave
// the Service and call the API server itself, with the portal's credentials.
func dotted(u *url.URL) bool {
	path := u.EscapedPath()
	for range unescapes {
		segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
		if slices.ContainsFunc(segments, func(s string) bool {
			name, _, _ := strings.Cut(s, ";") // path parameters, which some proxies drop
			return name == "." || name == ".."
		}) {
			return true
		}
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			return false
		}
		path = decoded
	}
	return true // encoded over and over: nobody means well
}

func refuse(r *http.Request) *http.Response {
	const text = "This path has . or .. segments, which the portal does not pass on.\n"
	return &http.Response{StatusCode: http.StatusBadRequest, Status: "400 Bad Request", Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: r}
}
