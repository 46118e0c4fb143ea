package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Live tells how busy GPUs were of late: in the last day, and since the record of a cluster ends. It asks in the
// background; who reads it never waits for metrics.
type Live struct {
	o Options

	asked map[string]map[time.Time][]usage.EngineLine // hours by cluster; only Refresh touches it

	mu       sync.Mutex
	clusters map[string]liveUse
}

// liveUse is what is known of a cluster. It is replaced and never changed.
type liveUse struct {
	uses  usage.EngineUses // in the window
	tail  usage.EngineTail // since the watermark
	since time.Time
	at    time.Time // when both were last known; zero for never
}

const (
	hour = time.Hour
	// settled is how long after its end an hour is asked for the last time.
	settled = hour / settledAfter
	// liveFor is how long the last values are told while metrics do not answer, as readings are.
	liveFor                = 15 * time.Minute
	refreshEvery, shortest = time.Minute, 5 * time.Second
)

// NewLive makes one that knows nothing yet; Run has it ask.
func NewLive(o Options) *Live {
	return &Live{o: o.withDefaults(), asked: map[string]map[time.Time][]usage.EngineLine{}, clusters: map[string]liveUse{}}
}

// Every is how often Refresh has something to do.
func (l *Live) Every() time.Duration {
	return max(shortest, min(refreshEvery, l.o.Period/settledAfter))
}

// Run asks until the context ends.
func (l *Live) Run(ctx context.Context) error {
	tick := time.NewTicker(l.Every())
	defer tick.Stop()
	for {
		if err := l.Refresh(ctx); err != nil && ctx.Err() == nil {
			l.o.Logger.WarnContext(ctx, "no use of GPUs from Prometheus", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Refresh asks each cluster for what is not known yet. What cannot be had now stays as it was; it holds up no other
// cluster.
func (l *Live) Refresh(ctx context.Context) error {
	var faults []error
	for cluster, source := range l.o.Sources {
		if err := l.refresh(ctx, cluster, source); err != nil {
			faults = append(faults, fmt.Errorf("the use of GPUs of %s now: %w", cluster, err))
		}
	}
	return errors.Join(faults...)
}

func (l *Live) refresh(ctx context.Context, cluster string, source Source) error {
	now := l.o.Now()
	next := liveUse{at: now}
	var err error
	if next.tail, next.since, err = l.tail(ctx, cluster, source, now); err != nil {
		return err
	}
	if next.uses, err = l.window(ctx, cluster, source, now); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clusters[cluster] = next
	return nil
}

// window asks for the whole hours of the window that are settled, once for each, and for the time since again and
// again.
func (l *Live) window(ctx context.Context, cluster string, source Source, now time.Time) (usage.EngineUses, error) {
	sum, old := usage.EngineUses{}, l.asked[cluster]
	hours := map[time.Time][]usage.EngineLine{}
	l.asked[cluster] = hours
	from := now.Add(-usage.EngineWindow).Truncate(hour).Add(hour)
	for {
		s := usage.Span{From: from, Until: from.Add(hour)}
		over := !s.Until.Add(settled).After(now)
		if !over {
			s.Until = now
		}
		lines, known := old[from]
		if !known {
			var err error
			if lines, _, err = l.o.ask(ctx, cluster, source, s); err != nil {
				return nil, err
			}
		}
		for _, line := range lines {
			sum[line.Workload] = sum[line.Workload].Add(line.EngineUse)
		}
		if !over {
			return sum, nil
		}
		hours[from], from = lines, s.Until
	}
}

// tail asks for the time since the record ends: of the running month, and no more than the window.
func (l *Live) tail(ctx context.Context, cluster string, source Source, now time.Time) (usage.EngineTail, time.Time,
	error) {
	watermark, err := l.o.Store.EngineWatermark(ctx, cluster)
	if err != nil {
		return usage.EngineTail{}, watermark, err
	}
	s := usage.Span{From: watermark, Until: now}
	month := usage.MonthOf(now, l.o.Zone).Span(l.o.Zone)
	for _, earliest := range []time.Time{month.From, now.Add(-usage.EngineWindow)} {
		if s.From.Before(earliest) {
			s.From = earliest
		}
	}
	lines, metered, err := l.o.ask(ctx, cluster, source, s)
	t := usage.EngineTail{Cluster: cluster, From: s.From, Until: s.Until}
	for _, line := range lines {
		t.Lines = append(t.Lines, usage.TailLine{EngineLine: line, Since: began(metered, line, s)})
	}
	return t, watermark, err
}

// began is when a line was held for the first time in a span.
func began(metered []Metered, line usage.EngineLine, s usage.Span) time.Time {
	first := s.Until
	for _, m := range metered {
		if m.Workload == line.Workload && m.Interval.Size == line.Size && m.PerHour == line.PerHour &&
			m.From.Before(first) {
			first = m.From
		}
	}
	if first.Before(s.From) {
		return s.From
	}
	return first
}

// of is what is known of a cluster; nothing where that is too long ago.
func (l *Live) of(cluster string) liveUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.clusters[cluster]
	if l.o.Now().Sub(t.at) > liveFor {
		return liveUse{}
	}
	return t
}

// Uses are how busy the devices of a cluster's workloads were in the window, as far as is known.
func (l *Live) Uses(cluster string) usage.EngineUses { return l.of(cluster).uses }

// Tails are those of clusters whose record ends where they begin: what was recorded meanwhile is asked for anew the
// next time, and is not told twice.
func (l *Live) Tails(ctx context.Context) ([]usage.EngineTail, error) {
	var list []usage.EngineTail
	for cluster := range l.o.Sources {
		t := l.of(cluster)
		if len(t.tail.Lines) == 0 {
			continue
		}
		watermark, err := l.o.Store.EngineWatermark(ctx, cluster)
		if err != nil {
			return nil, err
		}
		if watermark.Equal(t.since) {
			list = append(list, t.tail)
		}
	}
	return list, nil
}
