package reconcile_test

import (
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/trace"
)

// A pass is linked to the call that requested it, and has what it writes to the cluster in it.
func TestPassesAreLinkedToTheSpec(t *testing.T) {
	w, spans := newWorld(t), tracetest.NewInMemoryExporter()
	nb := notebook("nb-a")
	const id = "0af7651916cd43dd8448eb211c80319c"
	nb.Trace = "00-" + id + "-b7ad6b7169203331-01"
	w.store.Put(nb)
	w.run(func(o *reconcile.Options) { o.Traces = trace.By(sdk.NewTracerProvider(sdk.WithSyncer(spans))) })
	within(t, 2*time.Minute, "a pass that made the set, linked to the spec", func() bool {
		var all tracetest.SpanStubs = spans.GetSpans()
		for _, s := range all {
			if s.Name != "create StatefulSet" {
				continue
			}
			for _, pass := range all {
				if pass.SpanContext.SpanID() == s.Parent.SpanID() && pass.Name == "reconcile" && len(pass.Links) == 1 &&
					pass.Links[0].SpanContext.TraceID().String() == id {
					return pass.SpanContext.TraceID().String() != id && strings.HasPrefix(s.Attributes[0].Value.AsString(),
						"StatefulSet ")
				}
			}
		}
		return false
	})
}
