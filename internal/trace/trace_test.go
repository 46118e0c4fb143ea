package trace

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestSend: spans arrive at the endpoint by OTLP over HTTP, at the latest when the portal ends.
func TestSend(t *testing.T) {
	got := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(body)
		}
		data, _ := io.ReadAll(body)
		got <- r.URL.Path + " " + r.Header.Get("Content-Type") + " " + string(data)
	}))
	defer collector.Close()
	p, stop, err := Send(t.Context(), collector.URL, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	ctx, outer := p.Begin(t.Context(), "outer", "no trace at all")
	_, inner := Begin(ctx, "inner")
	inner.End(nil)
	outer.End(nil)
	if err := stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	said := <-got
	for _, want := range []string{"/v1/traces application/x-protobuf", "gpu-portal", "1.2.3", "outer", "inner"} {
		if !strings.Contains(said, want) {
			t.Errorf("want %q in what was sent", want)
		}
	}
}

// TestNothingIsMadeWithoutAnEndpoint: no id, no parent, no trouble.
func TestNothingIsMadeWithoutAnEndpoint(t *testing.T) {
	p, stop, err := Send(t.Context(), "", "1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := p.Begin(t.Context(), "outer")
	ctx, inner := Begin(ctx, "inner")
	inner.Set("a", "b")
	inner.End(io.EOF)
	span.End(nil)
	if ID(ctx) != "" || Parent(ctx) != "" || stop(t.Context()) != nil {
		t.Errorf("got the trace %q", ID(ctx))
	}
}
