// Package trace follows a spec through the portal: the call (serve), the decision (store), and, linked to it because it
// may come hours later, each pass of the controller with what it writes to the cluster (reconcile). Spans go out by
// OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/) where an endpoint is set, and nowhere otherwise. Ids are
// attributes of spans, never names of people.
package trace

import (
	"context"
	"fmt"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope is who made the spans.
const scope = "github.com/gpu-portal/gpu-portal"

// Provider makes spans and sends them away. Zero: it makes none.
type Provider struct{ spans trace.TracerProvider }

// By makes spans with a provider that somebody else ends.
func By(spans trace.TracerProvider) Provider { return Provider{spans} }

// Send makes a provider that sends to an OTLP endpoint, "http://collector:4318", below which /v1/traces is asked;
// headers, certificates and the share of traces that is kept come from the usual OTEL_ variables. "" sends nothing.
// stop sends what is left.
func Send(ctx context.Context, endpoint, version string) (p Provider, stop func(context.Context) error, err error) {
	if endpoint == "" {
		return Provider{}, func(context.Context) error { return nil }, nil
	}
	target, err := url.JoinPath(endpoint, "v1", "traces")
	if err != nil {
		return Provider{}, nil, fmt.Errorf("tracesEndpoint: %w", err)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(target))
	if err != nil {
		return Provider{}, nil, fmt.Errorf("tracesEndpoint: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "gpu-portal"),
		attribute.String("service.version", version)), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return Provider{}, nil, fmt.Errorf("tracesEndpoint: %w", err)
	}
	spans := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return Provider{spans}, spans.Shutdown, nil
}

func (p Provider) tracer() trace.Tracer {
	if p.spans == nil {
		return noop.NewTracerProvider().Tracer(scope)
	}
	return p.spans.Tracer(scope)
}

// Span is something that takes time.
type Span struct{ span trace.Span }

// Begin starts a trace: what callers send is not believed. links are traces that led to it, as Parent gave them; what
// cannot be read is left out.
func (p Provider) Begin(ctx context.Context, name string, links ...string) (context.Context, Span) {
	options := []trace.SpanStartOption{trace.WithNewRoot()}
	for _, l := range links {
		if from := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(),
			propagation.MapCarrier{"traceparent": l})); from.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: from}))
		}
	}
	ctx, span := p.tracer().Start(ctx, name, options...)
	return ctx, Span{span}
}

// Begin starts a part of the trace in the context; nothing where there is none.
func Begin(ctx context.Context, name string) (context.Context, Span) {
	ctx, span := trace.SpanFromContext(ctx).TracerProvider().Tracer(scope).Start(ctx, name)
	return ctx, Span{span}
}

// Name gives the span another name, for one whose meaning shows later.
func (s Span) Name(name string) { s.span.SetName(name) }

// Set notes something about it: key, value, key, value.
func (s Span) Set(pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		s.span.SetAttributes(attribute.String(pairs[i], pairs[i+1]))
	}
}

// Happened notes something within it.
func (s Span) Happened(what string, pairs ...string) {
	var attributes []attribute.KeyValue
	for i := 0; i+1 < len(pairs); i += 2 {
		attributes = append(attributes, attribute.String(pairs[i], pairs[i+1]))
	}
	s.span.AddEvent(what, trace.WithAttributes(attributes...))
}

// End closes it; an error makes it one that failed.
func (s Span) End(err error) {
	if err != nil {
		s.span.RecordError(err)
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// ID is the trace that the context belongs to, as people search for it; "" for none.
func ID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		return c.TraceID().String()
	}
	return ""
}

// Parent is the span of the context as W3C's traceparent, to be kept for those who go on later; "" for none.
func Parent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}
