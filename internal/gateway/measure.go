package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
)

// Recorder counts the calls of endpoints.
type Recorder interface {
	Record(s traffic.Source, o *traffic.Outcome)
}

// measure is what is seen of one call of an endpoint while it passes. One goroutine serves a call, and writes it.
type measure struct {
	source  traffic.Source
	began   time.Time
	first   time.Time            // when the body of the answer began; zero before
	broken  bool                 // by the endpoint
	cut     bool                 // by the caller, or by us
	counter *endpointkey.Counter // looks at the answer; nil where there is nothing to count
}

// measured begins to measure a call; nil for what is no endpoint.
func (g *Gateway) measured(gr grant) *measure {
	if gr.workload.Kind != catalog.Endpoint {
		return nil
	}
	m := &measure{began: g.opts.Now(), source: traffic.Source{Workload: gr.workload.ID, Person: gr.person,
		Revision: traffic.FirstRevision}}
	if gr.key != nil {
		m.source.Key = gr.key.ID
	}
	return m
}

// record counts the call at its end, also when the handler panics because the caller has gone.
func (g *Gateway) record(c *call, m *measure) {
	if m == nil || g.opts.Traffic == nil {
		return
	}
	now := g.opts.Now()
	o := traffic.Outcome{At: now, Status: c.status, Broken: m.broken, Gone: m.cut || !c.lasts && c.context.Err() != nil,
		Took: now.Sub(m.began)}
	if !m.first.IsZero() {
		o.First, o.HasFirst = m.first.Sub(m.began), true
	}
	if m.counter != nil {
		taken, told := m.counter.Usage()
		o.Prompt, o.Completion, o.WithoutUsage = taken.Prompt, taken.Completion, !told
	}
	g.opts.Traffic.Record(m.source, &o)
}

// watchAnswer has the answer of an endpoint measured, and its tokens counted, as it passes by.
func (g *Gateway) watchAnswer(e *exchange, res *http.Response) {
	if e.measure == nil || res.StatusCode == http.StatusSwitchingProtocols { // which is no body but a connection
		return
	}
	e.measure.counter = counterOf(res)
	res.Body = watchedBody{res.Body, e, g.opts.Now}
}

type watchedBody struct {
	io.ReadCloser
	exchange *exchange
	now      func() time.Time
}

func (b watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	m := b.exchange.measure
	if n > 0 {
		if m.first.IsZero() {
			m.first = b.now()
		}
		if m.counter != nil {
			_, _ = m.counter.Write(p[:n])
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		m.cut = b.exchange.ctx.Err() != nil
		m.broken = !m.cut
	}
	return n, err
}
