package logging

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// table is the row that replicas share.
type table struct {
	saved  Override
	events []audit.Event
	err    error
}

func (s *table) LogLevel(context.Context) (Override, error) { return s.saved, s.err }

func (s *table) SaveLogLevel(_ context.Context, o Override, events ...audit.Event) error {
	if s.err == nil {
		s.saved, s.events = o, append(s.events, events...)
	}
	return s.err
}

// replica is one process.
type replica struct {
	*Levels
	level slog.LevelVar
	log   bytes.Buffer
}

func newReplica(s Store, now *time.Time) *replica {
	r := &replica{}
	r.Levels = NewLevels(Options{Store: s, Level: &r.level, Configured: "warn", Now: func() time.Time { return *now },
		Logger: New(&r.log, Text, &r.level)})
	return r
}

func person(roles ...identity.Role) identity.Actor {
	return identity.Actor{Person: identity.Person{ID: "p-ada", Name: "Ada"}, Global: roles, Via: identity.ViaToken}
}

func TestAnOverrideReachesEveryReplicaAndEnds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	shared := &table{}
	one, two := newReplica(shared, &now), newReplica(shared, &now)
	want := func(when string, levels ...slog.Level) {
		t.Helper()
		for i, r := range []*replica{one, two} {
			if got := r.level.Level(); got != levels[i] {
				t.Errorf("%s: replica %d logs from %s on, want %s", when, i+1, got, levels[i])
			}
		}
	}
	refresh := func() {
		t.Helper()
		for _, r := range []*replica{one, two} {
			if err := r.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	want("as configured", slog.LevelWarn, slog.LevelWarn)
	s, err := one.Set(t.Context(), person(identity.Admin), "debug", 30*time.Minute)
	if err != nil || s.Level != "debug" || s.Configured != "warn" || !s.Override.Until.Equal(now.Add(30*time.Minute)) {
		t.Errorf("got %+v, %v", s, err)
	}
	want("at once where it was asked for", slog.LevelDebug, slog.LevelWarn)
	refresh()
	want("elsewhere once it hears of it", slog.LevelDebug, slog.LevelDebug)
	if !strings.Contains(one.log.String(), "log level changed") {
		t.Errorf("the change itself is not logged: %q", one.log.String())
	}
	if e := shared.events; len(e) != 1 || e[0].Kind != audit.LogLevelSet || e[0].Actor != "p-ada" ||
		len(e[0].Changes) != 1 || e[0].Changes[0] != (audit.Change{Field: "level", Old: "warn", New: "debug"}) {
		t.Errorf("want it on record, got %+v", e)
	}
	now = now.Add(31 * time.Minute)
	refresh()
	want("past its end", slog.LevelWarn, slog.LevelWarn)

	_, err = one.Set(t.Context(), person(identity.Admin), "debug", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	shared.err = errors.New("away")
	now = now.Add(2 * time.Hour)
	if err := one.Refresh(t.Context()); !errors.Is(err, shared.err) {
		t.Errorf("want the trouble, got %v", err)
	}
	want("it ends without the database too", slog.LevelWarn, slog.LevelWarn)
}

func TestWhoMaySetTheLevel(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		actor      identity.Actor
		level      string
		lasts      time.Duration
		read, kind fault.Kind // "" for none
	}{
		"nobody":          {identity.Actor{}, "debug", time.Hour, fault.Unauthenticated, fault.Unauthenticated},
		"a developer":     {person(), "debug", time.Hour, fault.NotFound, fault.NotFound},
		"an auditor":      {person(identity.Auditor), "debug", time.Hour, "", fault.Forbidden},
		"an admin":        {person(identity.Admin), "debug", time.Hour, "", ""},
		"no level":        {person(identity.Admin), "trace", time.Hour, "", fault.Invalid},
		"no time":         {person(identity.Admin), "debug", 0, "", fault.Invalid},
		"for a long time": {person(identity.Admin), "debug", 25 * time.Hour, "", fault.Invalid},
	} {
		shared := &table{}
		r := newReplica(shared, &now)
		is := func(err error, kind fault.Kind) bool {
			return kind == "" && err == nil || kind != "" && fault.Is(err, kind)
		}
		if _, err := r.Status(c.actor); !is(err, c.read) {
			t.Errorf("%s: read: want %q, got %v", name, c.read, err)
		}
		_, err := r.Set(t.Context(), c.actor, c.level, c.lasts)
		if !is(err, c.kind) || (err == nil) != (shared.saved.Level != "") {
			t.Errorf("%s: want %q, got %v and %+v saved", name, c.kind, err, shared.saved)
		}
	}
}
