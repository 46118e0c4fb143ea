package storetest

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

var logLevelCases = cases{
	"of the log level the newest override is kept whole": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		equal(t, logging.Override{}, got(s.LogLevel(ctx))(t))
		o := logging.Override{Level: "debug", Until: later(60), Author: "p-ada", Name: "Ada Lovelace", At: later(0)}
		filled(t, o)
		before := got(s.LastChange(ctx))(t)
		must(t, s.SaveLogLevel(ctx, o, Event(1)))
		equal(t, o, got(s.LogLevel(ctx))(t))
		if changes := got(s.ChangesAfter(ctx, before, 10))(t); len(changes) != 1 || changes[0].Topic != "loglevel" {
			t.Errorf("want the other replicas told, got %+v", changes)
		}
		o.Level, o.Until = "warn", later(90)
		must(t, s.SaveLogLevel(ctx, o))
		equal(t, o, got(s.LogLevel(ctx))(t))
	},
}
