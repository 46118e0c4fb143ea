package gateway

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// exchange is one call under way, perhaps a websocket that stays open for hours. It can be ended from outside.
type exchange struct {
	holder holder
	grant  grant
	ctx    context.Context
	cancel context.CancelFunc
	w      http.ResponseWriter
	// measure is of a call of an endpoint; nil for others.
	measure *measure
	pod     *podConn // once the pod has agreed to a websocket

	mu    sync.Mutex
	done  bool
	conn  net.Conn // once a websocket has taken the connection over; w is nil then
	ended bool     // by us
	// goneAt is when its pod was first seen no more; zero while it is there
	goneAt time.Time
}

type exchangeKey struct{}

func newExchange(w http.ResponseWriter, r *http.Request, gr grant, m *measure) *exchange {
	e := &exchange{holder: holder{person: gr.person, workload: gr.workload.ID}, grant: gr, w: w, measure: m}
	if gr.key != nil {
		e.holder.key = gr.key.ID
	}
	e.ctx, e.cancel = context.WithCancel(r.Context())
	return e
}

func (e *exchange) context() context.Context { return context.WithValue(e.ctx, exchangeKey{}, e) }

func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	return e
}

// end closes both directions, also when the browser does not read what is written to it.
func (e *exchange) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return
	}
	e.ended = true
	e.cancel()
	if e.conn != nil {
		_ = e.conn.Close()
		return
	}
	past := time.Unix(1, 0)
	rc := http.NewResponseController(e.w)
	_ = rc.SetReadDeadline(past)
	_ = rc.SetWriteDeadline(past)
}

// finish keeps a late end from touching a connection that serves another call by now.
func (e *exchange) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = true
}

func (e *exchange) writer() http.ResponseWriter { return &writer{ResponseWriter: e.w, exchange: e} }

// writer stands between proxy and browser: it knows the connection after a hijack, and keeps early hints (1xx) from
// setting cookies.
type writer struct {
	http.ResponseWriter
	exchange *exchange
}

// Unwrap lets http.ResponseController find Flush and the deadlines.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader cleans informational answers, which ReverseProxy passes on without asking ModifyResponse.
func (w *writer) WriteHeader(status int) {
	if status >= 100 && status < 200 {
		cleanResponse(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

// Hijack gives the connection to the proxy and keeps a hand on it.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return conn, rw, err
	}
	e := w.exchange
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conn, e.w = conn, nil
	if e.ended {
		_ = conn.Close()
	}
	return &socket{Conn: conn, pod: e.pod, call: callOf(e.ctx)}, rw, nil
}
