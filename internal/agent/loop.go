package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// Source reads the node's GPUs.
type Source interface {
	// Read makes one round. Everything that fails is in the report; the error is nil or ErrRestart.
	Read(now time.Time) (Report, error)
	// Close ends the session with the driver.
	Close()
}

// ErrRestart asks for a new process: the driver was replaced by one of another version, and a library that was used
// cannot be unloaded.
var ErrRestart = errors.New("the driver was replaced by another version; a new process is needed to load its library")

// Options of a Loop.
type Options struct {
	Source   Source
	Interval time.Duration
	Node     string
	Version  string
	Now      func() time.Time // nil: time.Now
	Ticks    <-chan time.Time // nil: a ticker of Interval
	Log      *slog.Logger     // nil: silent
}

// Loop reads round after round and keeps the last report.
type Loop struct {
	Options
	last    atomic.Pointer[Round]
	started atomic.Int64 // of the round in progress, Unix nanoseconds; 0 between rounds
	rounds  int
	state   string
}

// Round is a report and how it came about.
type Round struct {
	Report   Report
	Number   int
	Duration time.Duration
	Unknowns map[Reason]int
}

// NewLoop begins nothing; Run does.
func NewLoop(o Options) *Loop {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Loop{Options: o}
}

// Run reads until the context ends or the source asks for a new process (ErrRestart). A round that takes longer than
// the interval delays the next one.
func (l *Loop) Run(ctx context.Context) error {
	defer l.Source.Close()
	ticks := l.Ticks
	if ticks == nil {
		ticker := time.NewTicker(l.Interval)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		if err := l.round(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// Once makes a single round, for a look at a node without a server.
func (l *Loop) Once() (Report, error) {
	defer l.Source.Close()
	err := l.round()
	return l.last.Load().Report, err
}

func (l *Loop) round() error {
	begin := l.Now()
	l.started.Store(begin.UnixNano())
	defer l.started.Store(0)
	report, err := l.Source.Read(begin)
	report.Schema, report.Node, report.AgentVersion = Schema, l.Node, l.Version
	report.TakenAt, report.IntervalSeconds = begin.UTC(), l.Interval.Seconds()
	l.rounds++
	l.last.Store(&Round{Report: report, Number: l.rounds, Duration: l.Now().Sub(begin), Unknowns: unknowns(report)})
	l.logDriverState(report)
	return err
}

// logDriverState writes a line when the driver comes or goes, not one per round.
func (l *Loop) logDriverState(r Report) {
	if r.Driver.State == l.state {
		return
	}
	l.state = r.Driver.State
	if l.state == Ready {
		l.Log.Info("driver ready", "driver", r.Driver.Version.Or("unknown"), "gpus", len(r.GPUs.Or(nil)), "missing_calls",
			r.Driver.MissingCalls)
		return
	}
	l.Log.Warn("no GPU can be read; asked again each round", "reason", l.state)
}

// Last is not ok before the first round has ended.
func (l *Loop) Last() (Round, bool) {
	r := l.last.Load()
	if r == nil {
		return Round{}, false
	}
	return *r, true
}

// staleRounds is after how many intervals a report is too old to be shown as how things are.
const staleRounds = 3

// Fresh is not ok either when the last report is too old, for example because a call into the driver hangs.
func (l *Loop) Fresh() (Round, bool) {
	r, ok := l.Last()
	return r, ok && l.Now().Sub(r.Report.TakenAt) <= staleRounds*l.Interval
}

// stuckAfter is how long one round may take. Calls into a driver whose card fell off the bus were seen to take tens of
// seconds; only a new process ends one that never comes back.
const stuckAfter = 2 * time.Minute

// Stuck says that a round has been running for longer than any should.
func (l *Loop) Stuck() bool {
	started := l.started.Load()
	return started != 0 && l.Now().Sub(time.Unix(0, started)) > stuckAfter
}
