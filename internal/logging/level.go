package logging

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/revision"
)

// Override replaces the level of the settings until it ends. The zero value replaces nothing.
type Override struct {
	Level  string // one of LevelNames
	Until  time.Time
	Author identity.PersonID
	Name   string // of the author, as it was then
	At     time.Time
}

// Holds reports whether the override applies at a time.
func (o Override) Holds(now time.Time) bool { return o.Level != "" && now.Before(o.Until) }

// MaxOverride bounds how long an override may last, so that a forgotten "debug" does not fill the disks.
const MaxOverride = 24 * time.Hour

// Store keeps the newest override. Fault: Unavailable.
type Store interface {
	// LogLevel is the newest override, zero while there never was one.
	LogLevel(ctx context.Context) (Override, error)
	SaveLogLevel(ctx context.Context, o Override, events ...audit.Event) error
}

// Options is what Levels needs.
type Options struct {
	Store      Store
	Level      *slog.LevelVar // of the process's logger
	Configured string         // by the settings, one of LevelNames
	Now        func() time.Time
	Logger     *slog.Logger
}

// Levels sets the process's level to the override that all replicas share, or to that of the settings.
type Levels struct {
	o       Options
	mu      sync.Mutex
	current Override
}

// NewLevels begins with the level of the settings.
func NewLevels(o Options) *Levels {
	l := &Levels{o: o}
	l.apply(Override{})
	return l
}

// Status is the level that applies. Override is zero where it is that of the settings.
type Status struct {
	Level, Configured string
	Override          Override
}

// Status says which level applies. Who may not read it finds nothing.
func (l *Levels) Status(a identity.Actor) (Status, error) {
	if err := permit(a, identity.ReadLogLevel); err != nil {
		return Status{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status(), nil
}

func (l *Levels) status() Status {
	s := Status{Level: l.o.Configured, Configured: l.o.Configured}
	if l.current.Holds(l.o.Now()) {
		s.Level, s.Override = l.current.Level, l.current
	}
	return s
}

// Set overrides the level in every replica for a time. Faults: Forbidden, Invalid with the fields that are wrong.
func (l *Levels) Set(ctx context.Context, a identity.Actor, level string, lasts time.Duration) (Status, error) {
	if err := permit(a, identity.ChangeLogLevel); err != nil {
		return Status{}, err
	}
	var wrong []fault.Field
	if _, err := ParseLevel(level); err != nil {
		wrong = append(wrong, fault.Field{Name: "level", Reason: i18n.T("logging.no_level")})
	}
	if lasts < time.Second || lasts > MaxOverride {
		wrong = append(wrong, fault.Field{Name: "for", Reason: i18n.T("logging.no_time")})
	}
	if len(wrong) > 0 {
		return Status{}, fault.InvalidFields(wrong)
	}
	now := l.o.Now()
	next := Override{Level: level, Until: now.Add(lasts), Author: a.Person.ID, Name: a.Person.Name, At: now}
	before, _ := l.Status(a)
	e := audit.By(a, audit.LogLevelSet, now)
	e.Changes = []audit.Change{{Field: "level", Old: before.Level, New: level}}
	if err := l.o.Store.SaveLogLevel(ctx, next, e); err != nil {
		return Status{}, err
	}
	return l.apply(next), nil
}

func permit(a identity.Actor, action identity.Action) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	switch {
	case !identity.Can(a, identity.ReadLogLevel, identity.Resource{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, action, identity.Resource{}):
		return fault.New(fault.Forbidden, i18n.T("logging.admins_only"))
	}
	return nil
}

// Refresh loads the override of the database, and ends one that is over.
func (l *Levels) Refresh(ctx context.Context) error {
	saved, err := l.o.Store.LogLevel(ctx)
	if err != nil {
		l.mu.Lock()
		saved = l.current
		l.mu.Unlock()
	}
	l.apply(saved)
	return err
}

// Follow loads what other replicas set until the context ends; see revision.Follow.
func (l *Levels) Follow(ctx context.Context, changed <-chan struct{}, every time.Duration) error {
	return revision.Follow(ctx, changed, every, l.Refresh, func(err error) {
		l.o.Logger.WarnContext(ctx, "the log level could not be read, the last known one applies", "error", err)
	})
}

// apply sets the level of the process, and logs the change at a level that is always written.
func (l *Levels) apply(o Override) Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = o
	s := l.status()
	level, err := ParseLevel(s.Level)
	if err != nil { // written by another version: the level of the settings is better than none
		level, _ = ParseLevel(l.o.Configured)
	}
	if was := l.o.Level.Level(); was != level {
		l.o.Level.Set(level)
		l.o.Logger.Log(context.Background(), max(level, slog.LevelInfo), "log level changed", "level", s.Level,
			"until", s.Override.Until, "by", string(s.Override.Author))
	}
	return s
}
