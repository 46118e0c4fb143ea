package inventory

import "sync"

// Once keeps what was made of each cluster's snapshot until there is another one: going through thousands of nodes
// takes milliseconds, and every page does it with the same result. The zero value is ready. What it gives is shared.
type Once[T any] struct {
	mu   sync.Mutex
	kept map[string]kept[T]
}

type kept[T any] struct {
	first *Node // of a snapshot that is still the same
	count int
	with  any // what else the value was made of
	value T
}

// Of is what make gives for a snapshot and what else it depends on, which is compared by ==. A snapshot without nodes
// is looked at anew.
func (o *Once[T]) Of(s Snapshot, with any, make func() T) T {
	if len(s.Nodes) == 0 {
		return make()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if k, ok := o.kept[s.Cluster]; ok && k.first == &s.Nodes[0] && k.count == len(s.Nodes) && k.with == with {
		return k.value
	}
	if o.kept == nil {
		o.kept = map[string]kept[T]{}
	}
	k := kept[T]{first: &s.Nodes[0], count: len(s.Nodes), with: with, value: make()}
	o.kept[s.Cluster] = k
	return k.value
}
