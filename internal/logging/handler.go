package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
)

// Keys of the attributes that come from the context.
const (
	Request  = "request" // id of the call, as in X-Request-Id and in a problem's instance
	Actor    = "actor"   // id of the person who calls
	Workload = "workload"
	Cluster  = "cluster"
)

// Formats of a line.
const (
	Text = "text" // key=value
	JSON = "json" // one object a line
)

// Formats lists them.
func Formats() []string { return []string{Text, JSON} }

// LevelNames lists the levels, from the most lines to the fewest.
func LevelNames() []string { return []string{"debug", "info", "warn", "error"} }

// ParseLevel reads one of LevelNames.
func ParseLevel(name string) (slog.Level, error) {
	i := slices.Index(LevelNames(), name)
	if i < 0 {
		return 0, fmt.Errorf("%q is none of %v", name, LevelNames())
	}
	return []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}[i], nil
}

// New writes lines of the format to out, from the level on that holds when a line is written.
func New(out io.Writer, format string, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == JSON {
		return slog.New(&handler{Handler: slog.NewJSONHandler(out, options)})
	}
	return slog.New(&handler{Handler: slog.NewTextHandler(out, options)})
}

type contextKey struct{}

// With keeps an attribute for every line that is logged with the context; one of the same key is replaced, and an empty
// value adds nothing.
func With(ctx context.Context, key, value string) context.Context {
	if value == "" {
		return ctx
	}
	known, _ := ctx.Value(contextKey{}).([]slog.Attr)
	attrs := slices.DeleteFunc(slices.Clone(known), func(a slog.Attr) bool { return a.Key == key })
	return context.WithValue(ctx, contextKey{}, append(attrs, slog.String(key, value)))
}

// handler adds the context's attributes to each record. Loggers of the portal open no groups; within one the context's
// attributes would be the group's.
type handler struct {
	slog.Handler
	own []string // keys that Logger.With has set
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	attrs, _ := ctx.Value(contextKey{}).([]slog.Attr)
	if len(attrs) == 0 {
		return h.Handler.Handle(ctx, r)
	}
	own := slices.Clone(h.own)
	r.Attrs(func(a slog.Attr) bool { own = append(own, a.Key); return true })
	r = r.Clone()
	for _, a := range attrs {
		if !slices.Contains(own, a.Key) {
			r.AddAttrs(a)
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	own := slices.Clone(h.own)
	for _, a := range attrs {
		own = append(own, a.Key)
	}
	return &handler{Handler: h.Handler.WithAttrs(attrs), own: own}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{Handler: h.Handler.WithGroup(name), own: h.own}
}
