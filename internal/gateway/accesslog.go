package gateway

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
)

// call is what the access line of a call says at its end. One goroutine serves a call, and writes it.
type call struct {
	http.ResponseWriter
	status  int   // 0: nothing was answered, the caller has gone
	bytes   int64 // of the body; of a websocket none are counted
	context context.Context
}

type callKey struct{}

// begin gives a call its id and a writer that counts; logged writes the access line, also when the handler panics. The
// path of a call that goes to a pod is left out, as its query is: both are the user's own data.
func (g *Gateway) begin(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request, func()) {
	start := time.Now()
	c := &call{ResponseWriter: w}
	c.context = context.WithValue(problem.WithRequestID(r.Context(), problem.NewRequestID()), callKey{}, c)
	r = r.WithContext(c.context)
	return c, r, func() {
		attrs := []any{"method", r.Method, "host", hostName(r), "status", c.status, "bytes", c.bytes,
			"ms", time.Since(start).Milliseconds(), "address", g.opts.ClientAddress(r)}
		if strings.HasPrefix(r.URL.Path, ownPaths) {
			attrs = append(attrs, "path", r.URL.Path)
		}
		g.opts.Logger.InfoContext(c.context, "gateway call", attrs...)
	}
}

// admitted notes whose call it is and where it goes, for the access line and for every line in between.
func admitted(r *http.Request, to grant) *http.Request {
	who := string(to.person)
	if to.key != nil {
		who = to.key.Shown()
	}
	ctx := logging.With(r.Context(), logging.Actor, who)
	ctx = logging.With(ctx, logging.Workload, string(to.workload.ID))
	ctx = logging.With(ctx, logging.Cluster, to.workload.Cluster)
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.context = ctx
	}
	return r.WithContext(ctx)
}

// maxHost is the longest host name of DNS, in bytes; what is longer names nothing.
const maxHost = 253

func hostName(r *http.Request) string {
	host := bare(r.Host)
	return host[:min(len(host), maxHost)]
}

// Unwrap lets http.ResponseController find Flush and the deadlines.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *call) WriteHeader(status int) {
	if status >= http.StatusOK {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *call) Write(data []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(data)
	c.bytes += int64(n)
	return n, err
}

// Hijack is how the proxy takes over the connection of a websocket, once the pod has agreed.
func (c *call) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err == nil {
		c.status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}
