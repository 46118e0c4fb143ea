package reconcile

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// stock keeps the inventory up to date from what the watches tell, so that one pod costs one node.
type stock struct {
	mu       sync.Mutex
	builder  *inventory.Builder
	handlers map[cache.SharedIndexInformer]cache.ResourceEventHandlerRegistration
}

func newStock(cluster string, holder func(*corev1.Pod) string) *stock {
	return &stock{builder: inventory.NewBuilder(cluster, holder),
		handlers: map[cache.SharedIndexInformer]cache.ResourceEventHandlerRegistration{}}
}

// hear listens to nodes, pods, slices or claims.
func (s *stock) hear(inf cache.SharedIndexInformer, also func(before, after any)) error {
	told, err := inf.AddEventHandler(handle(func(before, after any) { s.update(before, after); also(before, after) }))
	s.handlers[inf] = told
	return err
}

// update passes on one change; after is nil for what is gone.
func (s *stock) update(before, after any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after == nil {
		s.remove(before)
		return
	}
	switch o := after.(type) {
	case *corev1.Node:
		s.builder.SetNode(o)
	case *corev1.Pod:
		s.builder.SetPod(o)
	case *resourcev1.ResourceSlice:
		s.builder.SetSlice(o)
	case *resourcev1.ResourceClaim:
		s.builder.SetClaim(o)
	}
}

func (s *stock) remove(gone any) {
	switch o := gone.(type) {
	case *corev1.Node:
		s.builder.DropNode(o.Name)
	case *corev1.Pod:
		s.builder.DropPod(o.Namespace, o.Name)
	case *resourcev1.ResourceSlice:
		s.builder.DropSlice(o.Name)
	case *resourcev1.ResourceClaim:
		s.builder.DropClaim(o.Namespace, o.Name)
	}
}

// take gives the snapshot of now. Whose a pod is may have become clear after the pod was seen.
func (s *stock) take(now time.Time, keep []string, cards map[string][]inventory.PhysicalCard,
	q inventory.Quarantine) inventory.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builder.Keep(keep)
	s.builder.Recheck()
	s.builder.SetCards(cards)
	s.builder.SetQuarantine(q)
	return s.builder.Snapshot(now)
}

// complete reports whether everything that was listed has been told. Before, a snapshot would say that cards are
// missing.
func (c *caches) complete() bool {
	for inf, told := range c.stock.handlers {
		if inf.HasSynced() && !told.HasSynced() { // what the cluster does not serve is never filled
			return false
		}
	}
	return c.synced()
}
