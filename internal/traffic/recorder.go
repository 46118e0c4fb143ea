package traffic

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// FlushEvery is how often a process writes down what it counted.
const FlushEvery = 10 * time.Second

// Adder keeps counts.
type Adder interface {
	// AddTraffic adds a batch of a process. A batch that was added before, or an older one, is not added again.
	AddTraffic(ctx context.Context, b Batch) error
}

// Batch is what a process counted since the one before. Numbers of batches rise.
type Batch struct {
	Process string
	Number  int64
	At      time.Time
	Rows    []Row
}

const (
	// usualMost bounds what one process holds in memory, in minutes of a source (about half a KiB each).
	usualMost = 40_000
	// idleFlushes is after how many flushes without a call a source is forgotten.
	idleFlushes = 6
)

// RecorderOptions are the dependencies of a Recorder.
type RecorderOptions struct {
	Store   Adder
	Process string // id of this process
	Now     func() time.Time
	Logger  *slog.Logger
	Most    int // minutes of sources in memory; 40,000
}

// Recorder counts calls in memory until they are written down. Calls of different sources share no lock.
type Recorder struct {
	o     RecorderOptions
	cells sync.Map // Source to *cell
	held  atomic.Int64
	lost  atomic.Int64

	flushing sync.Mutex // guards what follows
	number   int64
	pending  *Batch // of which nobody knows whether it was added
}

// cell has the counts of one source.
type cell struct {
	mu      sync.Mutex
	gone    bool // forgotten: another one takes its place
	idle    int  // flushes since the last call
	minutes []minute
}

type minute struct {
	at int64 // Unix time
	Counts
}

// NewRecorder counts from nothing on.
func NewRecorder(o RecorderOptions) *Recorder {
	if o.Most == 0 {
		o.Most = usualMost
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Recorder{o: o}
}

// Record counts a call.
func (r *Recorder) Record(s Source, o *Outcome) {
	for {
		found, ok := r.cells.Load(s)
		if !ok {
			found, _ = r.cells.LoadOrStore(s, new(cell))
		}
		c := found.(*cell)
		c.mu.Lock()
		if c.gone {
			c.mu.Unlock()
			continue
		}
		c.idle = 0
		if counts := r.minuteOf(c, o.At); counts != nil {
			counts.Count(o)
		} else {
			r.lost.Add(1)
		}
		c.mu.Unlock()
		return
	}
}

// minuteOf are the counts that a call at a time belongs to. While the database does not answer and too much waits, a
// source's calls are counted in the newest minute that it has; those of further sources are lost.
func (r *Recorder) minuteOf(c *cell, at time.Time) *Counts {
	second := at.Truncate(Fine.Long).Unix()
	for i := len(c.minutes) - 1; i >= 0; i-- {
		if c.minutes[i].at == second {
			return &c.minutes[i].Counts
		}
	}
	if r.held.Load() >= int64(r.o.Most) {
		if n := len(c.minutes); n > 0 {
			return &c.minutes[n-1].Counts
		}
		return nil
	}
	r.held.Add(1)
	c.minutes = append(c.minutes, minute{at: second})
	return &c.minutes[len(c.minutes)-1].Counts
}

// Flush writes down what was counted. What cannot be written now is written the next time, once.
func (r *Recorder) Flush(ctx context.Context) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	if n := r.lost.Swap(0); n > 0 {
		r.o.Logger.WarnContext(ctx, "the database does not take what is counted of endpoints, and memory for it is full: "+
			"calls are missing in the figures", "calls", n)
	}
	for range 2 { // what failed the last time, and what came since
		if r.pending == nil {
			rows := r.take()
			if len(rows) == 0 {
				return nil
			}
			r.number++
			r.pending = &Batch{Process: r.o.Process, Number: r.number, At: r.o.Now(), Rows: rows}
		}
		if err := r.o.Store.AddTraffic(ctx, *r.pending); err != nil {
			return err
		}
		r.held.Add(-int64(len(r.pending.Rows)))
		r.pending = nil
	}
	return nil
}

// take empties the cells, and forgets those that nobody calls.
func (r *Recorder) take() (rows []Row) {
	r.cells.Range(func(key, value any) bool {
		s, c := key.(Source), value.(*cell)
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range c.minutes {
			rows = append(rows, Row{Source: s, Step: Fine.Long, At: time.Unix(c.minutes[i].at, 0).UTC(),
				Counts: c.minutes[i].Counts})
		}
		if c.minutes = c.minutes[:0]; cap(c.minutes) > 2 {
			c.minutes = nil
		}
		if c.idle++; c.idle > idleFlushes {
			c.gone = true
			r.cells.Delete(s)
		}
		return true
	})
	return rows
}
