package reconcile

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// takeStock saves a snapshot of the cluster when nodes or pods changed, and now and then to say that it is still so. Changes are gathered for a while, and for
// longer where building takes long: a tenth of one core is enough for this.
func (l *loop) takeStock(ctx context.Context) {
	var last []byte
	for {
		if !l.awaitChange(ctx) {
			return
		}
		if !l.status.ok() {
			continue
		}
		begun := time.Now()
		last = l.saveSnapshot(ctx, last)
		if !sleep(ctx, max(l.o.Every.Settle, 10*time.Since(begun))) {
			return
		}
	}
}

// awaitChange waits for a change and a little longer, or until the snapshot needs a new time.
func (l *loop) awaitChange(ctx context.Context) bool {
	timer := time.NewTimer(l.o.Every.Inventory)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-l.moved:
		return sleep(ctx, min(l.o.Every.Settle, 200*time.Millisecond))
	}
}

func (l *loop) saveSnapshot(ctx context.Context, last []byte) []byte {
	now := l.o.Now()
	snapshot := inventory.Build(l.name, now, inventory.Seen{Nodes: listed[*corev1.Node](l.caches().nodes), Pods: listed[*corev1.Pod](l.caches().pods)}, l.holder, l.selected()...)
	unstamped := snapshot
	unstamped.TakenAt = time.Time{}
	text, err := json.Marshal(unstamped)
	if err != nil {
		l.log.Error("write the inventory", "error", err)
		return last
	}
	if before, known := l.snapshot(); known && string(text) == string(last) && now.Sub(before.TakenAt) < l.o.Every.Inventory {
		return last
	}
	if err := l.o.Store.SaveSnapshot(ctx, snapshot); err != nil {
		if ctx.Err() == nil {
			l.log.Error("save the inventory", "error", err)
		}
		return nil
	}
	l.mu.Lock()
	l.stock = &snapshot
	l.mu.Unlock()
	return text
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
