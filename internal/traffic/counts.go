package traffic

import (
	"math"
	"net/http"
	"time"
)

// Buckets of a Histogram: one for each of the bounds, and one for what is longer.
const Buckets = 25

// bounds are the upper ends of the buckets but the last: five for each power of ten (the R5 series of ISO 3), so that a
// quantile is at most a quarter off. Rows in databases have them in columns: to change them is a migration.
var bounds = [Buckets - 1]time.Duration{6300 * time.Microsecond, 10 * time.Millisecond, 16 * time.Millisecond,
	25 * time.Millisecond, 40 * time.Millisecond, 63 * time.Millisecond, 100 * time.Millisecond, 160 * time.Millisecond,
	250 * time.Millisecond, 400 * time.Millisecond, 630 * time.Millisecond, time.Second, 1600 * time.Millisecond,
	2500 * time.Millisecond, 4 * time.Second, 6300 * time.Millisecond, 10 * time.Second, 16 * time.Second,
	25 * time.Second, 40 * time.Second, 63 * time.Second, 100 * time.Second, 160 * time.Second, 250 * time.Second}

// Histogram counts durations by bucket. Two of them are merged by adding.
type Histogram [Buckets]int64

// Observe counts a duration.
func (h *Histogram) Observe(d time.Duration) {
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h[i]++
}

// Add merges another one in.
func (h *Histogram) Add(o *Histogram) {
	for i := range h {
		h[i] += o[i]
	}
}

// Count is how many durations there are.
func (h *Histogram) Count() (n int64) {
	for _, c := range h {
		n += c
	}
	return n
}

// Quantile is the duration that the share q of all does not exceed, as near as the buckets tell; false where there is
// none. What is above the last bound is said to be at it.
func (h *Histogram) Quantile(q float64) (time.Duration, bool) {
	all := h.Count()
	if all == 0 {
		return 0, false
	}
	rank, below := q*float64(all), 0.0
	for i, n := range h {
		if n == 0 || below+float64(n) < rank {
			below += float64(n)
			continue
		}
		switch i {
		case 0:
			return time.Duration(float64(bounds[0]) * (rank - below) / float64(n)), true
		case len(bounds):
			return bounds[len(bounds)-1], true
		}
		low, high := float64(bounds[i-1]), float64(bounds[i])
		return time.Duration(low * math.Pow(high/low, (rank-below)/float64(n))), true
	}
	return bounds[len(bounds)-1], true
}

// Counts is what was counted in a stretch of time. Every call is in Requests, and in one of the classes of errors where
// it was answered by one.
type Counts struct {
	Requests     int64
	ClientErrors int64     // 4xx but 429
	ServerErrors int64     // 5xx, and answers that broke off
	Refused      int64     // 429: over a limit
	Prompt       int64     // tokens
	Completion   int64     // tokens
	WithoutUsage int64     // answers that might have reported token usage, and did not
	First        Histogram // until the first byte of an answer without error
	Took         Histogram // of whole answers without error
}

// Add merges others in.
func (c *Counts) Add(o *Counts) {
	c.Requests += o.Requests
	c.ClientErrors += o.ClientErrors
	c.ServerErrors += o.ServerErrors
	c.Refused += o.Refused
	c.Prompt += o.Prompt
	c.Completion += o.Completion
	c.WithoutUsage += o.WithoutUsage
	c.First.Add(&o.First)
	c.Took.Add(&o.Took)
}

// Errors are the calls that were answered by one.
func (c *Counts) Errors() int64 { return c.ClientErrors + c.ServerErrors + c.Refused }

// Tokens are those of prompts and completions.
func (c *Counts) Tokens() int64 { return c.Prompt + c.Completion }

// Outcome is what came of a call.
type Outcome struct {
	At     time.Time // when it ended
	Status int       // 0: the caller had gone before there was an answer
	Broken bool      // the endpoint broke the answer off
	Gone   bool      // the caller did not wait for the end
	First  time.Duration
	Took   time.Duration
	// HasFirst reports whether anything of the answer's body came.
	HasFirst           bool
	Prompt, Completion int
	WithoutUsage       bool
}

// Count adds a call.
func (c *Counts) Count(o *Outcome) {
	c.Requests++
	c.Prompt += int64(max(0, o.Prompt))
	c.Completion += int64(max(0, o.Completion))
	if o.WithoutUsage {
		c.WithoutUsage++
	}
	switch {
	case o.Broken, o.Status >= http.StatusInternalServerError:
		c.ServerErrors++
	case o.Status == http.StatusTooManyRequests:
		c.Refused++
	case o.Status >= http.StatusBadRequest:
		c.ClientErrors++
	case o.Status >= http.StatusOK:
		if o.HasFirst {
			c.First.Observe(o.First)
		}
		if !o.Gone {
			c.Took.Observe(o.Took)
		}
	}
}
