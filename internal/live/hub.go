package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Topic is what kind of record changed.
type Topic string

// The topics. All but TopicMetrics are written to the outbox with the change itself.
const (
	TopicBudget     Topic = "budget"
	TopicCatalog    Topic = "catalog"
	TopicCluster    Topic = "cluster" // clusters that are added, replaced, removed
	TopicDelegation Topic = "delegation"
	TopicDifference Topic = "difference" // holds and differences, see package drift
	TopicIdle       Topic = "idle"       // settings of idle detection
	TopicInventory  Topic = "inventory"  // a newer snapshot of a cluster
	TopicLicense    Topic = "license"    // entitlements and seats
	TopicLogLevel   Topic = "loglevel"
	TopicMetrics    Topic = "metrics" // of this process only: devices were read again
	TopicPrices     Topic = "prices"
	TopicQuarantine Topic = "quarantine"
	TopicRequest    Topic = "request"
	TopicRules      Topic = "rules"
	TopicSession    Topic = "session" // sessions, tokens and the rights of a person
	TopicSystem     Topic = "system"  // what processes found of what they stand on
	TopicTenant     Topic = "tenant"  // settings, members, images
	TopicVolume     Topic = "volume"
	TopicWorkload   Topic = "workload"
)

// Change is one outbox row: what changed, and whose it is.
type Change struct {
	Seq    int64
	Topic  Topic
	ID     string // of the thing
	Tenant string
	Person string // whose it is, "" for nobody's in particular
}

// Source reads outbox rows after a sequence number, oldest first.
type Source interface {
	ChangesAfter(ctx context.Context, seq int64, limit int) ([]Change, error)
	LastChange(ctx context.Context) (int64, error)
}

// Hub fans changes out.
type Hub struct {
	source Source
	every  time.Duration
	wake   chan struct{}
	seen   atomic.Int64 // number of the last row that was handed out; -1 before the first look

	mu        sync.Mutex
	followers map[*Follower]struct{}
}

// NewHub makes a hub that looks for new rows every so often, and at once after Wake.
func NewHub(source Source, every time.Duration) *Hub {
	h := &Hub{source: source, every: every, wake: make(chan struct{}, 1), followers: map[*Follower]struct{}{}}
	h.seen.Store(-1)
	return h
}

// Seen is the number of the last row that was handed out; false before the first look.
func (h *Hub) Seen() (int64, bool) {
	seq := h.seen.Load()
	return seq, seq >= 0
}

// Follower receives changes until it is closed. Lost is true when some were dropped because it was too slow: load
// everything again.
type Follower struct {
	C    chan Change
	hub  *Hub
	want func(Change) bool

	mu   sync.Mutex
	lost bool
}

// Follow begins to receive the changes that want says yes to.
func (h *Hub) Follow(want func(Change) bool) *Follower {
	f := &Follower{C: make(chan Change, 64), hub: h, want: want}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.followers[f] = struct{}{}
	return f
}

// Close ends it.
func (f *Follower) Close() {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	delete(f.hub.followers, f)
}

// TakeLost reports whether changes were dropped since it was last asked.
func (f *Follower) TakeLost() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	lost := f.lost
	f.lost = false
	return lost
}

// Wake makes the hub look at once; the store calls it after each commit of this process.
func (h *Hub) Wake() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Publish hands out a change that has no outbox row, such as fresh metrics of this process.
func (h *Hub) Publish(c Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.followers {
		f.offer(c)
	}
}

func (f *Follower) offer(c Change) {
	if !f.want(c) {
		return
	}
	select {
	case f.C <- c:
	default:
		f.mu.Lock()
		f.lost = true
		f.mu.Unlock()
	}
}

// Run reads and hands out until the context ends. While the source fails it tries again at its pace and loses nothing.
func (h *Hub) Run(ctx context.Context) error {
	ticker := time.NewTicker(h.every)
	defer ticker.Stop()
	seq, started := int64(0), false
	for {
		if !started {
			if last, err := h.source.LastChange(ctx); err == nil {
				seq, started = last, true
				h.seen.Store(seq)
			}
		} else {
			seq = h.drain(ctx, seq)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-h.wake:
		}
	}
}

func (h *Hub) drain(ctx context.Context, seq int64) int64 {
	for {
		changes, err := h.source.ChangesAfter(ctx, seq, 500)
		if err != nil || len(changes) == 0 {
			return seq
		}
		for _, c := range changes {
			h.Publish(c)
			seq = c.Seq
			h.seen.Store(seq)
		}
		if len(changes) < 500 {
			return seq
		}
	}
}
