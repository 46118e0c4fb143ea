package gateway

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
)

// call is what the access line of a call says at its end, and what else is done then. One goroutine serves a call, and
// writes it.
type call struct {
	http.ResponseWriter
	status  int   // 0: nothing was answered, the caller has gone
	bytes   int64 // of the body; of a websocket none are counted
	context context.Context
	lasts   bool     // a websocket goes on after the handler: its end is that of the call
	ends    []func() // what is done at the end, the last first
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// atEnd has f called when the call is over.
func (c *call) atEnd(f func()) { c.ends = append(c.ends, f) }

// handled is when the handler returns, or panics because the caller has gone.
func (c *call) handled() {
	if c.lasts {
		// what is kept for as long as a websocket is open keeps no writer, and with it the buffers of the server
		c.ResponseWriter = nil
		return
	}
	c.over()
}

func (c *call) over() {
	for _, f := range slices.Backward(c.ends) {
		f()
	}
}

// begin gives a call its id, and has its access line written at the end. The path of a call that goes to a pod is left
// out, as its query is: both are the user's own data.
func (g *Gateway) begin(w http.ResponseWriter, r *http.Request) (*call, *http.Request) {
	start := time.Now()
	c := &call{ResponseWriter: w}
	c.context = context.WithValue(problem.WithRequestID(r.Context(), problem.NewRequestID()), callKey{}, c)
	attrs := []any{"method", r.Method, "host", hostName(r), "address", g.opts.ClientAddress(r)}
	if strings.HasPrefix(r.URL.Path, ownPaths) {
		attrs = append(attrs, "path", r.URL.Path)
	}
	c.atEnd(func() {
		g.opts.Logger.InfoContext(c.context, "gateway call", append(attrs, "status", c.status, "bytes", c.bytes,
			"ms", time.Since(start).Milliseconds())...)
	})
	return c, r.WithContext(c.context)
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
	callOf(ctx).context = ctx
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
		c.status, c.lasts = http.StatusSwitchingProtocols, true
	}
	return conn, rw, err
}
