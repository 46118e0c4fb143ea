// Package recorder writes down how busy the GPUs of each line of the ledger were, so that a month's statement can say
// what idle ones cost when the samples are long gone.
//
// The way of the data: Recorder asks each cluster's metrics once for each period that is over, an hour, with one call
// (gpumetrics) -> Attribute finds the line of the ledger that each pod's devices belong to (attribute.go, pure) -> the
// store adds them to the month of the line, and moves the cluster's watermark in the same transaction. So a restart
// goes on where the last one stopped, and of two that run at once only one counts.
//
// Live tells the same of the time after the record, and of the last day: statements of the running month and the list
// of who holds GPUs have their numbers from it, by the same query, steps and attribution.
//
// What cannot be told stays unknown: hours without samples, devices that several pods share, names that two workloads
// had in one hour.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Source asks one cluster's metrics how busy the pods of some namespaces were in a stretch of time, with one call. Any
// error means that nothing is known.
type Source interface {
	Idling(ctx context.Context, namespaces []string, from, until time.Time, step time.Duration,
		below float64) ([]gpumetrics.WindowSummary, error)
}

// Store keeps what was told. Faults: Unavailable when the database is away.
type Store interface {
	EngineWatermark(ctx context.Context, cluster string) (time.Time, error)
	MeteredOn(ctx context.Context, cluster string, s usage.Span) ([]Metered, error)
	RecordEngine(ctx context.Context, r usage.EngineRecord) error
}

// Options are the dependencies of a Recorder.
type Options struct {
	Sources    map[string]Source // by cluster
	Store      Store
	Namespaces func() []string // of the teams
	Period     time.Duration   // 0: an hour
	Zone       *time.Location  // whose months the lines are added to
	Now        func() time.Time
	Logger     *slog.Logger // nil: nothing is logged
}

// Recorder adds how busy GPUs were to the ledger, hour by hour. Only the leader runs it.
type Recorder struct{ o Options }

const (
	usualPeriod = time.Hour
	// samplesOf is in how many steps a period is looked at, and settledAfter the part of it for which samples may still
	// come: a scrape, and a write to another store, take time.
	samplesOf    = 60
	settledAfter = 6
	// reach is how far back is asked after a silence of the portal or of Prometheus; what is older stays unknown.
	// Prometheus keeps 15 days unless told otherwise.
	reach = 7 * 24 * time.Hour
	// atOnce is how many periods are asked for in one go, so that a long silence is caught up without pressing Prometheus.
	atOnce = 24
)

// New makes a Recorder; Record works off what is due.
func New(o Options) *Recorder { return &Recorder{o.withDefaults()} }

func (o Options) withDefaults() Options {
	if o.Period == 0 {
		o.Period = usualPeriod
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Every is how often Record has something to do.
func (r *Recorder) Every() time.Duration { return max(time.Second, r.o.Period/settledAfter) }

// Record asks each cluster for the periods that are over and not recorded. What cannot be had now is asked for again
// the next time; it holds up no other cluster.
func (r *Recorder) Record(ctx context.Context) error {
	var faults []error
	for cluster, source := range r.o.Sources {
		if err := r.record(ctx, cluster, source); err != nil {
			faults = append(faults, fmt.Errorf("record the use of GPUs of %s: %w", cluster, err))
		}
	}
	return errors.Join(faults...)
}

func (r *Recorder) record(ctx context.Context, cluster string, source Source) error {
	watermark, err := r.o.Store.EngineWatermark(ctx, cluster)
	if err != nil {
		return err
	}
	if watermark, err = r.skip(ctx, cluster, watermark); err != nil {
		return err
	}
	for range atOnce {
		span, over := r.next(watermark)
		if !over {
			return nil
		}
		record := usage.EngineRecord{Cluster: cluster, Month: usage.MonthOf(span.From, r.o.Zone), Before: watermark,
			From: span.From, Until: span.Until}
		if record.Lines, _, err = r.o.ask(ctx, cluster, source, span); err != nil {
			return err
		}
		if err := r.o.Store.RecordEngine(ctx, record); err != nil {
			return err
		}
		watermark = span.Until
	}
	return nil
}

// skip moves the watermark over what nobody held anything in, at one go: a new portal would else be busy with the week
// before it began for an hour, and tell nothing of today.
func (r *Recorder) skip(ctx context.Context, cluster string, watermark time.Time) (time.Time, error) {
	span, over := r.next(watermark)
	last := r.o.Now().Add(-r.o.Period / settledAfter).Truncate(r.o.Period)
	if !over || !last.After(span.Until) {
		return watermark, nil
	}
	metered, err := r.o.Store.MeteredOn(ctx, cluster, usage.Span{From: span.From, Until: last})
	if err != nil {
		return watermark, err
	}
	for _, m := range metered {
		if began := m.From.Truncate(r.o.Period); began.Before(last) {
			last = began
		}
	}
	if !last.After(span.Until) {
		return watermark, nil
	}
	return last, r.o.Store.RecordEngine(ctx, usage.EngineRecord{Cluster: cluster,
		Month: usage.MonthOf(span.From, r.o.Zone), Before: watermark, From: span.From, Until: last})
}

// next is the period after a watermark, cut where a month ends, and whether it is over and settled.
func (r *Recorder) next(watermark time.Time) (usage.Span, bool) {
	now := r.o.Now()
	from := watermark
	if earliest := now.Add(-reach).Truncate(r.o.Period); from.Before(earliest) {
		from = earliest
	}
	s := usage.Span{From: from, Until: from.Truncate(r.o.Period).Add(r.o.Period)}
	if month := usage.MonthOf(from, r.o.Zone).Span(r.o.Zone); s.Until.After(month.Until) {
		s.Until = month.Until
	}
	return s, !s.Until.Add(r.o.Period / settledAfter).After(now)
}

// step is how finely a period is looked at: one sample a minute of an hour.
func (o Options) step() time.Duration { return max(time.Second, o.Period/samplesOf) }

// ask tells how busy the devices of each line were in a span, with the meter that it was asked by. It does not trouble
// Prometheus where nobody held anything.
func (o Options) ask(ctx context.Context, cluster string, source Source, s usage.Span) ([]usage.EngineLine, []Metered,
	error) {
	metered, err := o.Store.MeteredOn(ctx, cluster, s)
	if err != nil || len(metered) == 0 {
		return nil, nil, err
	}
	namespaces := o.Namespaces()
	if len(namespaces) == 0 {
		return nil, metered, nil
	}
	seen, err := source.Idling(ctx, namespaces, s.From, s.Until, o.step(), usage.IdleBelow)
	if err != nil {
		return nil, metered, err
	}
	return Attribute(metered, seen, s), metered, nil
}
