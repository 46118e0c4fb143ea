package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// namespaceCache is the reflectors of one tenant's namespace: the portal's rights on Secrets, workloads and storage end
// at a namespace, so what it lists and watches does too. The reflectors of all namespaces feed the same indexers. What
// is missing in one namespace costs the tenant of it, and nobody else.
type namespaceCache struct {
	caches *caches
	name   string
	check  trigger // the rights are to be looked at again

	mu        sync.Mutex
	ctx       context.Context // of the reflectors; nil before they run
	stop      context.CancelFunc
	begun     time.Time        // when the reflectors were started
	grace     time.Time        // until when a refusal may be an authorizer that lags behind
	forbidden bool             // the API server says that we may do nothing here
	pending   map[string]bool  // kinds that were not listed yet
	refused   map[string]error // kinds that the API server does not let us list
	events    bool             // events are watched
	gone      bool             // the namespace was deleted
	changed   chan struct{}    // closed at each change of the above
}

// authorizerLag is how long a new RoleBinding may take until every API server goes by it.
const authorizerLag = 3 * time.Second

// How often the rights of a namespace without any are looked at again: at first, and at most.
const (
	firstCheck   = 20 * time.Millisecond
	longestCheck = 30 * time.Second
)

func newNamespaceCache(c *caches, name string) *namespaceCache {
	n := &namespaceCache{caches: c, name: name, check: make(trigger, 1), pending: map[string]bool{},
		refused: map[string]error{}, changed: make(chan struct{})}
	for _, s := range c.sources() {
		if behindAPI(s) == "" {
			n.pending[s] = true
		}
	}
	return n
}

// errListingNamespace asks for another try: what a namespace has is still being listed.
var errListingNamespace = errors.New("what the tenant's namespace has is still being listed")

// noRightsError says that the portal lacks rights in a tenant's namespace.
type noRightsError struct {
	namespace string
	cause     error // what was refused; nil where nothing is granted
}

func (e noRightsError) Error() string {
	text := "the portal has no rights in namespace " + e.namespace
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e noRightsError) Unwrap() error { return e.cause }

// state is nil when the caches show what the namespace has.
func (n *namespaceCache) state() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stateLocked()
}

func (n *namespaceCache) stateLocked() error {
	if n.gone {
		return errListingNamespace
	}
	if n.forbidden {
		return noRightsError{namespace: n.name}
	}
	for _, kind := range slices.Sorted(maps.Keys(n.refused)) {
		if k := rank(kind); k < 0 || kinds[k].api == "" {
			return noRightsError{n.name, n.refused[kind]}
		}
	}
	for kind := range n.pending {
		if _, refused := n.refused[kind]; !refused {
			return errListingNamespace
		}
	}
	return nil
}

// settled reports whether it is known what the namespace has, or that we may not know.
func (n *namespaceCache) settled() bool { return !errors.Is(n.state(), errListingNamespace) }

// serves reports whether a kind of an API that not every cluster has can be used in the namespace.
func (n *namespaceCache) serves(kind string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refused[kind] == nil
}

// wait waits until it is settled, at most for so long, and gives the state.
func (n *namespaceCache) wait(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		n.mu.Lock()
		state, changed := n.stateLocked(), n.changed
		n.mu.Unlock()
		if !errors.Is(state, errListingNamespace) {
			return state
		}
		select {
		case <-changed:
		case <-timer.C:
			return state
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change changes the state under the lock, tells those who wait, and tells the loop when it has become settled.
func (n *namespaceCache) change(how func()) {
	n.mu.Lock()
	was := n.stateLocked()
	how()
	now := n.stateLocked()
	close(n.changed)
	n.changed = make(chan struct{})
	n.mu.Unlock()
	if (was == nil) != (now == nil) || was != nil && was.Error() != now.Error() {
		n.caches.namespaceChanged(n.name, now)
	}
}

// bound is called after the rights were bound: they are looked for at once, and a refusal is not believed for a moment.
func (n *namespaceCache) bound() {
	n.change(func() { n.forbidden, n.grace = false, time.Now().Add(authorizerLag) })
	n.check.fire()
}

// run lists and watches until the context ends.
func (n *namespaceCache) run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	n.mu.Lock()
	n.stop = stop
	gone := n.gone
	n.mu.Unlock()
	if gone || !n.awaitRights(ctx) {
		return
	}
	n.mu.Lock()
	n.ctx, n.begun = ctx, time.Now()
	events := n.events
	n.mu.Unlock()
	for _, name := range n.caches.sources() {
		wg.Go(func() {
			if n.awaitService(ctx, name) {
				n.reflect(ctx, name)
			}
		})
	}
	if events {
		wg.Go(func() { n.reflect(ctx, eventKind) })
	}
	for n.watchRights(ctx) {
	}
}

// awaitService waits until the cluster is known to serve the API of a kind. It reports whether the context still lives.
func (n *namespaceCache) awaitService(ctx context.Context, name string) bool {
	api := behindAPI(name)
	if api == "" {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-n.caches.service[api]:
		n.change(func() { n.pending[name] = true })
		return true
	}
}

// awaitRights waits until we may list Secrets here: rights come in one binding. Asking makes no refusals in the audit
// log of the API server. It reports whether the context still lives.
func (n *namespaceCache) awaitRights(ctx context.Context) bool {
	if !n.caches.asks() {
		return true
	}
	for pause := firstCheck; ; pause = min(2*pause, longestCheck) {
		if n.checkAccess(ctx) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-n.check:
			pause = firstCheck / 2
		case <-time.After(jitter(pause)):
		}
	}
}

// watchRights waits until the rights are in doubt and until they are there again. It reports whether the context still
// lives.
func (n *namespaceCache) watchRights(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-n.check:
		return n.awaitRights(ctx)
	}
}

// cached asks whether we have rights here, and keeps the answer.
func (n *namespaceCache) checkAccess(ctx context.Context) bool {
	allowed, err := mayList(ctx, n.caches.client, n.name)
	if err != nil {
		return false // neither yes nor no
	}
	n.change(func() {
		switch {
		case allowed:
			n.forbidden = false
		case time.Now().After(n.grace):
			n.forbidden = true
		}
	})
	return allowed
}

// mayList asks the API server; one that does not answer this question to us is taken to allow it.
func mayList(ctx context.Context, client kubernetes.Interface, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "list", Version: "v1",
			Resource: "secrets"}}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("ask for the rights in %s: %w", namespace, err)
	}
	return answer.Status.Allowed, nil
}

// reflect keeps the indexer of one kind right for this namespace.
func (n *namespaceCache) reflect(ctx context.Context, name string) {
	from := n.caches.source(name, n.name)
	list := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			found, err := from.list(ctx, o)
			n.noteForbidden(name, err)
			return found, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return from.watch(ctx, o)
		},
	}
	into := &feed{into: n.caches.indexer(name), namespace: n.name, changed: n.caches.changed,
		listed: func() { n.listed(name) }}
	r := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(list, n.caches.client), nil, into,
		cache.ReflectorOptions{Name: "reconcile " + n.name + " " + name})
	r.RunWithContext(ctx)
}

func (n *namespaceCache) listed(name string) {
	n.mu.Lock()
	news := n.pending[name] || n.refused[name] != nil
	n.mu.Unlock()
	if news {
		n.change(func() { delete(n.pending, name); delete(n.refused, name) })
	}
}

// track keeps a refusal to list. Everything else is tried again without anybody being told: the cluster's own status
// tells of an API server that is away.
func (n *namespaceCache) noteForbidden(name string, err error) {
	if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		return
	}
	n.mu.Lock()
	late := time.Since(n.begun) < authorizerLag && apierrors.IsForbidden(err) && n.caches.asks()
	n.mu.Unlock()
	if !late && name != eventKind {
		n.change(func() { n.refused[name] = err })
	}
}

// watchEvents begins to watch events, once.
func (n *namespaceCache) watchEvents() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.events {
		return
	}
	n.events = true
	if n.ctx != nil {
		go n.reflect(n.ctx, eventKind)
	}
}

// leave ends it: the namespace is gone.
func (n *namespaceCache) leave() {
	n.mu.Lock()
	n.gone = true
	stop := n.stop
	n.mu.Unlock()
	if stop != nil {
		stop()
	}
}
