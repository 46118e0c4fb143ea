package traffic

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Consumer is what one key or person took, of all revisions together.
type Consumer struct {
	Key     string
	Person  identity.PersonID
	Name    string // of the key or the person; "" where neither is known any more
	Revoked bool   // the key is
	Counts
}

// Sample is what was seen of an endpoint in the step that begins at a time: sums over Count samples.
type Sample struct {
	At            time.Time
	Count         int64
	Wanted, Ready int64
	QueueCount    int64 // samples in which every server reported its queue
	Queue         float64
}

// Value is a number, or unknown.
type Value struct {
	Is    float64
	Known bool
}

func known(v float64) Value { return Value{v, true} }

func share(part, of float64) Value {
	if of == 0 {
		return Value{}
	}
	return known(part / of)
}

// Point is what was so in a stretch of time.
type Point struct {
	At       time.Time // its begin
	Requests Value     // per second
	Errors   Value     // per cent of the requests
	FirstP50 Value     // seconds until an answer began
	FirstP95 Value
	Tokens   Value // per second
	Wanted   Value // replicas, the mean
	Ready    Value
	Queue    Value // requests that wait in the servers, the mean
}

// Figures is what went through an endpoint in a span.
type Figures struct {
	Span         Span
	Since, Until time.Time
	Total        Counts
	Points       []Point
	Consumers    []Consumer // of all revisions together, the busiest first
	More         bool       // there are further consumers
	Revisions    []Revision
	Cost         usage.Money // of the endpoint in the span
}

// Revision is what all consumers took of one revision.
type Revision struct {
	Number int
	Counts
}

// shortest is how long a step under way must have lasted for rates: what is counted is written down every FlushEvery.
const shortest = 2 * FlushEvery

// newFigures puts together what was kept. Rows are sums over the consumers.
func newFigures(span Span, now time.Time, rows []Row, samples []Sample) Figures {
	f := Figures{Span: span, Since: span.Since(now), Until: now}
	n := int(span.Long / span.Step)
	counts, sums := make([]Counts, n), make([]Sample, n)
	place := func(at time.Time) (int, bool) {
		i := int(at.Sub(f.Since) / span.Step)
		return i, !at.Before(f.Since) && i < n
	}
	for i := range rows {
		r := &rows[i]
		at, ok := place(r.At)
		if !ok {
			continue
		}
		counts[at].Add(&r.Counts)
		f.Total.Add(&r.Counts)
		f.revision(r.Revision).Add(&r.Counts)
	}
	for _, s := range samples {
		at, ok := place(s.At)
		if !ok {
			continue
		}
		l := &sums[at]
		l.Count, l.Wanted, l.Ready = l.Count+s.Count, l.Wanted+s.Wanted, l.Ready+s.Ready
		l.QueueCount, l.Queue = l.QueueCount+s.QueueCount, l.Queue+s.Queue
	}
	slices.SortFunc(f.Revisions, func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) })
	for i := range n {
		at := f.Since.Add(time.Duration(i) * span.Step)
		lasted := min(span.Step, now.Sub(at))
		if lasted < shortest {
			break
		}
		f.Points = append(f.Points, pointOf(at, lasted, &counts[i], sums[i]))
	}
	return f
}

func (f *Figures) revision(number int) *Counts {
	for i := range f.Revisions {
		if f.Revisions[i].Number == number {
			return &f.Revisions[i].Counts
		}
	}
	f.Revisions = append(f.Revisions, Revision{Number: number})
	return &f.Revisions[len(f.Revisions)-1].Counts
}

func pointOf(at time.Time, lasted time.Duration, c *Counts, s Sample) Point {
	count := float64(s.Count)
	return Point{At: at, Requests: known(float64(c.Requests) / lasted.Seconds()), Errors: c.ErrorShare(),
		FirstP50: c.First.Seconds(.5), FirstP95: c.First.Seconds(.95), Tokens: known(float64(c.Tokens()) / lasted.Seconds()),
		Wanted: share(float64(s.Wanted), count), Ready: share(float64(s.Ready), count),
		Queue: share(s.Queue, float64(s.QueueCount))}
}

// Seconds is a quantile in seconds.
func (h *Histogram) Seconds(q float64) Value {
	d, ok := h.Quantile(q)
	return Value{d.Seconds(), ok}
}

// ErrorShare is how many of the requests were answered by an error, in per cent; unknown where there are none.
func (c *Counts) ErrorShare() Value { return share(100*float64(c.Errors()), float64(c.Requests)) }

// PerMillion is what a million tokens cost at this cost of all of them; false where there are none.
func (c *Counts) PerMillion(cost usage.Money) (usage.Money, bool) {
	if c.Tokens() == 0 {
		return usage.Money{}, false
	}
	minor := math.Round(float64(cost.Minor) * 1e6 / float64(c.Tokens()))
	if minor > math.MaxInt64/2 {
		return usage.Money{}, false
	}
	return usage.Money{Minor: int64(minor), Currency: cost.Currency}, true
}
