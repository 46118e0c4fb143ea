package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

var unescape = url.QueryUnescape

// newProxy makes a proxy of all calls; where each goes stands in its exchange. buffer is in bytes, for each call.
func (g *Gateway) newProxy(buffer int) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		Transport:      roundTripper{g.opts.Pods},
		BufferPool:     &buffers{size: buffer},
		ModifyResponse: g.modifyResponse,
		ErrorHandler:   g.failed,
		// Event streams and answers of unknown length go on piece by piece at once, whatever stands here
		// (ReverseProxy.flushInterval). An answer of known length that comes slowly goes on after this; -1 would cost every
		// small answer a second write.
		FlushInterval: 100 * time.Millisecond,
		ErrorLog:      slog.NewLogLogger(g.opts.Logger.Handler(), slog.LevelDebug),
	}
}

// rewrite sends a call to the pod. The Host header stays: Jupyter compares it with the Origin of websockets.
func (g *Gateway) rewrite(pr *httputil.ProxyRequest) {
	e := exchangeOf(pr.In.Context())
	out := pr.Out
	out.URL.Scheme, out.URL.Host, out.URL.User, out.URL.Opaque = "http", e.grant.target.host, nil, ""
	out.Host = pr.In.Host
	cleanRequest(out.Header)
	if upgrade := pr.In.Header["Upgrade"]; len(upgrade) > 0 &&
		(len(upgrade) > 1 || !strings.EqualFold(upgrade[0], "websocket")) {
		// Any other protocol (h2c above all) would carry further calls that nobody here has looked at.
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
		out.Header.Del("Http2-Settings")
	}
	if e.grant.served().Image.Auth == "token" {
		out.URL.RawQuery = withoutToken(out.URL.RawQuery)
	}
	out.Header["X-Forwarded-For"] = []string{g.opts.ClientAddress(pr.In)}
	out.Header["X-Forwarded-Host"] = []string{pr.In.Host}
	out.Header["X-Forwarded-Proto"] = []string{g.scheme}
	if e.grant.key != nil {
		withoutKeys(out.Header)
		out.Header["Accept-Encoding"] = []string{"identity"} // the tokens of the answer are counted
	}
	g.opts.Pods.authorize(out.Header, *e.grant.served())
}

// roundTripper chooses the transport of the workload's cluster. It follows no redirects: the browser does.
type roundTripper struct{ pods *Pods }

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	e := exchangeOf(r.Context())
	transport := t.pods.transports[e.grant.target.cluster]
	if transport == nil {
		return nil, fmt.Errorf("no way to cluster %q", e.grant.target.cluster)
	}
	res, err := transport.RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		return res, err
	}
	if conn, ok := res.Body.(io.ReadWriteCloser); ok {
		e.pod = &podConn{ReadWriteCloser: conn}
		res.Body = e.pod
	}
	return res, nil
}

func (g *Gateway) modifyResponse(res *http.Response) error {
	cleanResponse(res.Header)
	g.transportPolicy(res.Header)
	e := exchangeOf(res.Request.Context())
	if e.grant.workload.Revisable() {
		res.Header.Set(revisionHeader, strconv.Itoa(e.grant.target.revision))
	}
	if e.grant.key != nil {
		g.setLimits(res.Header, e.grant.key)
	}
	g.watchAnswer(e, res)
	return nil
}

// failed says in plain words why the pod gave no answer.
func (g *Gateway) failed(w http.ResponseWriter, r *http.Request, err error) {
	e := exchangeOf(r.Context())
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the browser has gone, or we closed the call: nobody is there to read an answer
	}
	name := e.grant.workload.Name
	var dial dialError
	var timeout net.Error
	status, text := http.StatusBadGateway, i18n.T("gateway.broken", "Name", name)
	switch {
	case errors.As(err, &dial):
		text = i18n.T("gateway.not_yet", "Name", name)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		status, text = http.StatusGatewayTimeout, i18n.T("gateway.slow", "Name", name)
	}
	g.opts.Logger.WarnContext(r.Context(), "pod did not answer", "pod", e.grant.target.pod, "error",
		err.Error())
	g.unreachable(w, r, status, text, *e.grant.workload)
}
