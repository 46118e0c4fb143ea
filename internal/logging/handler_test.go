package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

func TestContextAttributesAreAddedOnce(t *testing.T) {
	ctx := With(With(With(context.Background(), Request, "r-1"), Workload, "w-1"), Actor, "")
	ctx = With(ctx, Workload, "w-2")
	for name, c := range map[string]struct {
		log  func(*slog.Logger)
		want map[string]string
	}{
		"from the context": {func(l *slog.Logger) { l.InfoContext(ctx, "m") },
			map[string]string{Request: "r-1", Workload: "w-2"}},
		"the record's own wins": {func(l *slog.Logger) { l.InfoContext(ctx, "m", Workload, "w-3") },
			map[string]string{Request: "r-1", Workload: "w-3"}},
		"Logger.With wins": {func(l *slog.Logger) { l.With(Workload, "w-4").InfoContext(ctx, "m") },
			map[string]string{Request: "r-1", Workload: "w-4"}},
		"nothing without context": {func(l *slog.Logger) { l.Info("m") }, map[string]string{}},
	} {
		var out bytes.Buffer
		c.log(New(&out, JSON, slog.LevelInfo))
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v in %q", name, err, out.String())
		}
		for _, key := range []string{Request, Workload, Actor} {
			if got, _ := line[key].(string); got != c.want[key] {
				t.Errorf("%s: %s: want %q, got %q", name, key, c.want[key], got)
			}
			if n := strings.Count(out.String(), `"`+key+`":`); n > 1 {
				t.Errorf("%s: %s stands %d times in %s", name, key, n, out.String())
			}
		}
	}
}

func TestTheLevelHoldsWhenALineIsWritten(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log := New(&out, Text, level)
	log.Debug("before")
	level.Set(slog.LevelDebug)
	log.Debug("after")
	if got := out.String(); strings.Contains(got, "before") || !strings.Contains(got, "level=DEBUG msg=after") {
		t.Errorf("want only the line after the change, as text, got %q", got)
	}
	for _, name := range LevelNames() {
		if _, err := ParseLevel(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := ParseLevel("trace"); err == nil {
		t.Error("trace is no level of ours")
	}
}
