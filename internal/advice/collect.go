package advice

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
)

// Source asks one cluster's metrics what the pods of some namespaces did in a stretch of time, with one call. Any error
// means that nothing is known.
type Source interface {
	WindowSummaries(ctx context.Context, namespaces []string, from, until time.Time,
		step time.Duration) ([]gpumetrics.WindowSummary, error)
}

// CollectorOptions holds the dependencies and settings of a Collector.
type CollectorOptions struct {
	Sources    map[string]Source // by cluster
	Namespaces func() []string   // of the teams
	Rule       Rule
	Now        func() time.Time
	Logger     *slog.Logger
}

// Collector keeps the days of each cluster in memory. A day that is over is asked for once, today again and again: how
// often does not depend on who looks.
type Collector struct {
	o CollectorOptions

	mu       sync.Mutex
	clusters map[string]collected
}

type collected struct {
	days  []Day // that are over, oldest first
	today Day
	at    time.Time // when all of them were last known; zero for never
}

const (
	day = 24 * time.Hour
	// settled is how long after its end a day is asked for the last time: a scrape, and a write to another store, take
	// their time.
	settled   = 10 * time.Minute
	mostSteps = 2880 // of a stretch of time: of a day every 30 s
	shortest  = 5 * time.Second
	longest   = 30 * time.Minute
)

// NewCollector makes one that knows nothing yet.
func NewCollector(o CollectorOptions) *Collector {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Collector{o: o, clusters: map[string]collected{}}
}

// Run collects until the context ends, every half hour; more often where the rule is content with less, as in a
// demonstration.
func (c *Collector) Run(ctx context.Context) error {
	tick := time.NewTicker(max(shortest, min(longest, c.o.Rule.After/12)))
	defer tick.Stop()
	for {
		c.Collect(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// step is how finely measured time is counted: a scrape that fails now and then is no gap. A stretch has a bounded
// number of steps, for Prometheus evaluates each: a rule that is content with a minute must not cost it 35,000 a day.
func (c *Collector) step(from, until time.Time) time.Duration {
	return max(time.Second, min(5*time.Minute, c.o.Rule.After/24), until.Sub(from)/mostSteps)
}

// Collect asks each cluster for what is not known yet. What cannot be had now stays as it was, and is asked for again
// the next time.
func (c *Collector) Collect(ctx context.Context) {
	for cluster, source := range c.o.Sources {
		if err := c.collect(ctx, cluster, source); err != nil && ctx.Err() == nil {
			c.o.Logger.WarnContext(ctx, "no use of GPUs from Prometheus for advice", "cluster", cluster, "error", err.Error())
		}
	}
}

func (c *Collector) collect(ctx context.Context, cluster string, source Source) error {
	namespaces := c.o.Namespaces()
	if len(namespaces) == 0 {
		return nil
	}
	c.mu.Lock()
	known := c.clusters[cluster]
	c.mu.Unlock()
	now := c.o.Now().UTC()
	midnight, window := now.Truncate(day), now.Add(-c.o.Rule.Window)
	days := slices.DeleteFunc(slices.Clone(known.days), func(d Day) bool {
		return d.From.Before(window.Truncate(day)) || d.open
	})
	for from := window.Truncate(day); from.Before(midnight); from = from.Add(day) {
		if slices.ContainsFunc(days, func(d Day) bool { return d.From.Equal(from) }) {
			continue
		}
		d := Day{From: from, Until: from.Add(day)}
		var err error
		if d.Uses, err = source.WindowSummaries(ctx, namespaces, d.From, d.Until, c.step(d.From, d.Until)); err != nil {
			return err
		}
		d.open = now.Sub(d.Until) < settled
		days = append(days, d)
		c.keep(cluster, func(k *collected) { k.days = days })
	}
	today := Day{From: later(midnight, window), Until: now}
	var err error
	step := c.step(today.From, now)
	if today.Uses, err = source.WindowSummaries(ctx, namespaces, today.From, now, step); err != nil {
		return err
	}
	c.keep(cluster, func(k *collected) { k.days, k.today, k.at = days, today, now })
	return nil
}

func (c *Collector) keep(cluster string, change func(*collected)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.clusters[cluster]
	change(&k)
	c.clusters[cluster] = k
}

// Days are what is known of a cluster, oldest first, and as of when; zero for never.
func (c *Collector) Days(cluster string) ([]Day, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.clusters[cluster]
	if k.at.IsZero() {
		return nil, time.Time{}
	}
	return append(slices.Clone(k.days), k.today), k.at
}
