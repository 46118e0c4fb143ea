package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// snapshotDigest is what was saved last: enough to know whether the next one says anything new.
type snapshotDigest struct {
	sum  [sha256.Size]byte
	size int // of the JSON, in bytes
}

// bytesPerSecond is how much of the database's log the inventory may fill: a large one is written less often.
const bytesPerSecond = 1 << 20

// takeStock saves a snapshot of the cluster when nodes, pods or devices changed, and now and then to say that it is
// still so. Changes are gathered for a while, and for longer where building takes long or the snapshot is large: a
// tenth of one core is enough for this.
func (l *loop) takeStock(ctx context.Context) {
	var last snapshotDigest
	beat := l.o.Watchdog.Begin(ctx, "cluster/"+l.name+"/inventory", snapshotWithin)
	defer beat.End()
	for {
		if !l.awaitChange(ctx, beat) {
			return
		}
		if !l.status.ok() {
			continue
		}
		begun := time.Now()
		beat.Beat(ctx, snapshotWithin)
		last = l.saveSnapshot(ctx, last)
		if !jobs.Sleep(ctx, beat, max(l.o.Every.Debounce, 10*time.Since(begun),
			time.Duration(last.size)*time.Second/bytesPerSecond)) {
			return
		}
	}
}

// awaitChange waits for a change and a little longer, or until the snapshot needs a new time.
func (l *loop) awaitChange(ctx context.Context, beat *jobs.Loop) bool {
	switch _, why := jobs.Await(ctx, beat, l.dirty, l.o.Every.Inventory); why {
	case jobs.Rung:
		return jobs.Sleep(ctx, beat, min(l.o.Every.Debounce, 200*time.Millisecond))
	case jobs.Elapsed:
		return true
	}
	return false
}

func (l *loop) saveSnapshot(ctx context.Context, last snapshotDigest) snapshotDigest {
	now, c := l.o.Now(), l.caches()
	if !c.complete() {
		l.dirty.fire() // cached again soon
		return last
	}
	snapshot := c.stock.take(now, l.selected(), l.cards(), l.quarantine())
	snapshot.ServingRuntimes = l.runtimes.Load()
	unstamped := snapshot
	unstamped.TakenAt = time.Time{}
	text, err := json.Marshal(unstamped)
	if err != nil {
		l.log.ErrorContext(ctx, "write the inventory", "error", err)
		return last
	}
	taken := snapshotDigest{sum: sha256.Sum256(text), size: len(text)}
	if before, known := l.snapshot(); known && taken == last && now.Sub(before.TakenAt) < l.o.Every.Inventory {
		return last
	}
	if err := l.o.Store.SaveSnapshot(ctx, snapshot); err != nil {
		if ctx.Err() == nil {
			l.log.ErrorContext(ctx, "save the inventory", "error", err)
		}
		return snapshotDigest{}
	}
	l.mu.Lock()
	l.stock = &snapshot
	l.mu.Unlock()
	l.countFleet(ctx, snapshot)
	return taken
}

// countFleet takes down what the cards do. What fails is made good by the next time, or becomes time that nobody knows
// of.
func (l *loop) countFleet(ctx context.Context, s inventory.Snapshot) {
	if l.o.Fleet == nil {
		return
	}
	if err := l.o.Fleet.Count(ctx, usage.Sample{Cluster: l.name, At: s.TakenAt, Stock: inventory.Stock(s)}); err != nil &&
		ctx.Err() == nil {
		l.log.ErrorContext(ctx, "count the hours of the fleet", "error", err)
	}
}

func (l *loop) cards() map[string][]inventory.PhysicalCard {
	if l.o.Cards == nil {
		return nil
	}
	return l.o.Cards(l.name)
}

// snapshot is the last one that was saved.
func (l *loop) snapshot() (inventory.Snapshot, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stock == nil {
		return inventory.Snapshot{}, false
	}
	return *l.stock, true
}

// selected lists the labels that sizes select nodes by: the snapshot keeps them whatever they are called.
func (l *loop) selected() []string {
	keys := map[string]bool{}
	for _, size := range l.o.Site().Catalog.Sizes {
		for key := range size.Placement.NodeSelector {
			keys[key] = true
		}
		for _, match := range size.Placement.NodeMatch {
			keys[match.Key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
