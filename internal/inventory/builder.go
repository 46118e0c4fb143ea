package inventory

import (
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Builder keeps what a snapshot is made of and builds anew only the nodes that something happened to. In whatever order
// events come, the snapshot is that of Build over what is there in the end. The objects it is given are kept and never
// changed. It is not safe for concurrent use.
type Builder struct {
	cluster    string
	ours       func(*corev1.Pod) string
	keep       []string
	nodes      map[string]*nodeState
	pods       map[string]*podState
	dra        draState
	names      []string // of the nodes that exist, in order; nil when one came or went
	attached   map[poolKey][]Attached
	quarantine Quarantine
	loose      map[poolKey]bool // pools that may have devices of no single node and have to be looked at anew
}

// nodeState outlives its node while pods are bound to it: events of different kinds come in any order.
type nodeState struct {
	node  *corev1.Node // nil: not known, or gone
	pods  map[string]*podState
	cards []PhysicalCard // what the node's agent says
	built Node
	fresh bool
}

type podState struct {
	pod      *corev1.Pod
	workload string // the portal's id
	use      use
	outside  outside
}

func (p *podState) holder(count int64) Holder {
	return Holder{Namespace: clean(p.pod.Namespace, longestName), Pod: clean(p.pod.Name, longestName),
		Workload: p.workload, Count: count}
}

// NewBuilder makes one that knows nothing yet; Build says what ours and keep are.
func NewBuilder(cluster string, ours func(*corev1.Pod) string, keep ...string) *Builder {
	return &Builder{cluster: cluster, ours: ours, keep: slices.Clone(keep), nodes: map[string]*nodeState{},
		pods: map[string]*podState{}, dra: newDRAState(),
		attached: map[poolKey][]Attached{}, loose: map[poolKey]bool{}}
}

// Keep changes which labels are kept whatever they are called.
func (b *Builder) Keep(keys []string) {
	if slices.Equal(b.keep, keys) {
		return
	}
	b.keep = slices.Clone(keys)
	for _, s := range b.nodes {
		s.fresh = false
	}
}

// SetNode takes a node that is new or has changed.
func (b *Builder) SetNode(n *corev1.Node) {
	s := b.at(n.Name)
	if s.node == nil {
		b.names = nil
	}
	if s.node == nil || !maps.Equal(s.node.Labels, n.Labels) {
		b.loosen(n.Name)
	}
	s.node, s.fresh = n, false
}

// SetCards takes what the agents say now, by node. A node that is not named has no agent, or one that is not believed.
// What they say is shown beside what the API server says and changes none of it: no count, no capacity.
func (b *Builder) SetCards(cards map[string][]PhysicalCard) {
	for name, s := range b.nodes {
		if !reflect.DeepEqual(s.cards, cards[name]) {
			s.cards, s.fresh = cards[name], false
		}
	}
}

// DropNode takes notice that a node is gone. Its pods still hold what they held if it comes back.
func (b *Builder) DropNode(name string) {
	if s := b.nodes[name]; s != nil && s.node != nil {
		s.node, s.built, s.fresh = nil, Node{}, false
		b.names = nil
		b.loosen(name)
		b.forget(name)
	}
}

// loosen marks the pools that a change of a node's labels, or its coming and going, may concern.
func (b *Builder) loosen(node string) {
	for key, p := range b.dra.pools {
		if b.dra.view(key).wide || key.name == node || len(p.slices) == 0 || b.dra.byNode[node][key] {
			b.loose[key] = true
		}
	}
}

// SetPod takes a pod that is new or has changed. Unlike its node's, a pod's place never changes while it lives; a new
// pod of the same name may have another.
func (b *Builder) SetPod(p *corev1.Pod) {
	key := p.Namespace + "/" + p.Name
	b.forgetPod(key)
	if !ended(p) {
		state := &podState{pod: p, workload: b.ours(p), use: usageOf(p)}
		state.outside = outsideOf(p, state.use)
		b.pods[key] = state
		if p.Spec.NodeName != "" {
			s := b.at(p.Spec.NodeName)
			s.pods[key], s.fresh = state, false
		}
	}
	b.touchClaims(b.dra.byPod[key])
}

// DropPod takes notice that a pod is gone.
func (b *Builder) DropPod(namespace, name string) {
	key := namespace + "/" + name
	b.forgetPod(key)
	b.touchClaims(b.dra.byPod[key])
}

func (b *Builder) forgetPod(key string) {
	old := b.pods[key]
	if old == nil {
		return
	}
	delete(b.pods, key)
	if name := old.pod.Spec.NodeName; name != "" {
		s := b.nodes[name]
		delete(s.pods, key)
		s.fresh = false
		b.forget(name)
	}
}

// Recheck asks again whose the pods are that hold something: the object that proves it may have been seen after the
// pod.
func (b *Builder) Recheck() {
	for key, p := range b.pods {
		claims := b.dra.byPod[key]
		if len(p.use.devices) == 0 && len(claims) == 0 && !p.outside.is {
			continue
		}
		if workload := b.ours(p.pod); workload != p.workload {
			p.workload = workload
			if s := b.nodes[p.pod.Spec.NodeName]; s != nil {
				s.fresh = false
			}
			b.touchClaims(claims)
		}
	}
}

// SetSlice takes a ResourceSlice that is new or has changed.
func (b *Builder) SetSlice(s *resourcev1.ResourceSlice) {
	b.DropSlice(s.Name)
	key, nodes := b.dra.addSlice(s)
	b.touchNodes(nodes)
	b.touchPool(key)
}

// DropSlice takes notice that a ResourceSlice is gone.
func (b *Builder) DropSlice(name string) {
	if key, nodes, known := b.dra.removeSlice(name); known {
		b.touchNodes(nodes)
		b.touchPool(key)
	}
}

// SetClaim takes a ResourceClaim that is new or has changed.
func (b *Builder) SetClaim(c *resourcev1.ResourceClaim) {
	b.DropClaim(c.Namespace, c.Name)
	b.dra.addClaim(c)
	b.touchClaims([]string{c.Namespace + "/" + c.Name})
}

// DropClaim takes notice that a ResourceClaim is gone.
func (b *Builder) DropClaim(namespace, name string) {
	key := namespace + "/" + name
	b.touchClaims([]string{key})
	b.dra.removeClaim(key)
}

func (b *Builder) touchClaims(keys []string) {
	for _, key := range keys {
		for _, pool := range b.dra.poolsOfClaim(key) {
			b.touchPool(pool)
		}
	}
}

// touchPool marks the nodes that a pool has devices on. A claim may outlive the slices of its pool; then the device is
// shown where the pool's name says.
func (b *Builder) touchPool(key poolKey) {
	view := b.dra.view(key)
	b.touchNodes(view.nodes)
	b.touchNodes([]string{key.name})
	b.loose[key] = true
}

func (b *Builder) touchNodes(names []string) {
	for _, name := range names {
		if s := b.nodes[name]; s != nil {
			s.fresh = false
		}
	}
}

func (b *Builder) at(name string) *nodeState {
	s := b.nodes[name]
	if s == nil {
		s = &nodeState{pods: map[string]*podState{}}
		b.nodes[name] = s
	}
	return s
}

// forget lets go of a node that neither exists nor has pods.
func (b *Builder) forget(name string) {
	if s := b.nodes[name]; s.node == nil && len(s.pods) == 0 {
		delete(b.nodes, name)
	}
}

// Snapshot gives the value. Nodes that nothing happened to are shared with earlier snapshots, so nobody may change
// them.
func (b *Builder) Snapshot(now time.Time) Snapshot {
	if b.names == nil {
		b.names = b.existing()
	}
	s := Snapshot{Cluster: b.cluster, TakenAt: now, Nodes: make([]Node, len(b.names))}
	for i, name := range b.names {
		state := b.nodes[name]
		if !state.fresh {
			state.built, state.fresh = buildNode(state.node, state.pods, b.devicesOf(name), b.keep), true
			state.built.Cards.Each = tidy(state.cards)
			state.built = withQuarantine(state.built, b.quarantine)
		}
		s.Nodes[i] = state.built
	}
	s.Attached = b.attachedPools()
	return s
}

func (b *Builder) existing() []string {
	names := make([]string, 0, len(b.nodes))
	for name, s := range b.nodes {
		if s.node != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
