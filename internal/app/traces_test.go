package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/gpu-portal/gpu-portal/internal/trace"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestTraceOfAStart: the call, and in it the decision with its rule, are one trace, which the workload keeps for the
// controller; a refusal names its trace to the caller and in the log. What a caller says of traces is not believed.
func TestTraceOfAStart(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	w := newWorldWith(t, []Option{WithTraces(trace.By(sdk.NewTracerProvider(sdk.WithSyncer(spans))))})
	token := w.token(developer)
	const theirs = "0af7651916cd43dd8448eb211c80319c"
	reply := w.call(token, http.MethodPost, "/api/v1/requests", map[string]any{"kind": "notebook", "tenant": "vision",
		"size": "cpu", "image": "jupyterlab", "name": "traced"},
		"Traceparent", "00-"+theirs+"-b7ad6b7169203331-01")
	if reply.status/100 != 2 {
		t.Fatalf("%d: %s", reply.status, reply.body)
	}
	call := w.span(spans, "POST /api/v1/requests")
	decide := w.span(spans, "decide")
	id := call.SpanContext.TraceID().String()
	if id == theirs || decide.SpanContext.TraceID() != call.SpanContext.TraceID() ||
		decide.Parent.SpanID() != call.SpanContext.SpanID() {
		t.Errorf("want a trace of our own with the decision in the call, got %s and %s", id, decide.SpanContext.TraceID())
	}
	kinds := ""
	for _, e := range decide.Events {
		kinds += e.Name + " "
	}
	if !strings.Contains(kinds, "request.auto_approved") || !strings.Contains(kinds, "workload.created") {
		t.Errorf("the decision says %q", kinds)
	}
	var made struct{ Workload workload.ID }
	if err := json.Unmarshal([]byte(reply.body), &made); err != nil {
		t.Fatal(err)
	}
	item, err := w.store.Workload(t.Context(), made.Workload)
	if err != nil {
		t.Fatalf("%v in %s", err, reply.body)
	}
	if !strings.Contains(item.Trace, id) {
		t.Errorf("want the workload to keep the trace %s, got %q", id, item.Trace)
	}

	spans.Reset()
	refused := w.call(token, http.MethodGet, "/api/v1/requests/none", nil)
	var p struct{ Trace string }
	if err := json.Unmarshal([]byte(refused.body), &p); err != nil {
		t.Fatal(err)
	}
	id = w.span(spans, "GET /api/v1/requests/{id}").SpanContext.TraceID().String()
	if p.Trace != id || !strings.Contains(w.log.String(), "trace="+id) {
		t.Errorf("want the trace %s in the answer and in the log, got %q", id, p.Trace)
	}
}

// span waits for a span that has ended.
func (w *world) span(spans *tracetest.InMemoryExporter, name string) tracetest.SpanStub {
	w.t.Helper()
	var found tracetest.SpanStub
	w.until("the span "+name, func() bool {
		for _, s := range spans.GetSpans() {
			if s.Name == name {
				found = s
				return true
			}
		}
		return false
	})
	return found
}

// TestNoTraceWithoutTracing: nothing is said of traces where none are kept.
func TestNoTraceWithoutTracing(t *testing.T) {
	w := newWorld(t)
	refused := w.call(w.token(developer), http.MethodGet, "/api/v1/requests/none", nil)
	if strings.Contains(refused.body, "trace") || strings.Contains(w.log.String(), "trace=") {
		t.Errorf("a trace that nobody keeps is named: %s", refused.body)
	}
	if item := w.running(developer, "vision"); w.unusedVolume(developer, "vision").Name == "" || item.Trace != "" {
		t.Error("a workload keeps a trace that is none")
	}
}
