package reconcile

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// Cluster is a Kubernetes cluster that the controller reconciles.
type Cluster struct {
	Name   string
	Client kubernetes.Interface
}

// The rate at which one controller may call one API server. It is a last resort: the number of workers bounds what is
// under way at once, and the server shares itself fairly among its clients.
const (
	callsPerSecond = 1000
	callsAtOnce    = 1000
)

// NewCluster makes the client for a cluster: protobuf, since ten thousand pods as JSON cost seconds of CPU, and a rate
// that suits a controller.
func NewCluster(name string, config *rest.Config) (Cluster, error) {
	c := rest.CopyConfig(config)
	c.QPS, c.Burst = callsPerSecond, callsAtOnce
	c.ContentType = "application/vnd.kubernetes.protobuf"
	c.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	c.UserAgent = "gpu-portal-controller"
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return timed{next} })
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return Cluster{}, fmt.Errorf("make a client for cluster %s: %w", name, err)
	}
	j := rest.CopyConfig(c)
	j.ContentType, j.AcceptContentTypes = "application/json", "application/json"
	custom, err := dynamic.NewForConfig(j)
	if err != nil {
		return Cluster{}, fmt.Errorf("make a client for cluster %s: %w", name, err)
	}
	return Cluster{Name: name, Client: clientset{client, custom}}, nil
}

// Names of the indexes.
const (
	byOwner    = "owner"    // UID of the controlling object
	byWorkload = "workload" // id in our record
	byTenant   = "tenant"   // tenant in our record, for the tenant's own objects
	byClaim    = "claim"    // namespace/claim that a pod mounts
	byGroup    = "group"    // namespace/LeaderWorkerSet of a pod, as its label says
	byInvolved = "involved" // UID of the object that an event is about
)

// caches is what is known of a cluster without asking it. What is cluster-scoped, and pods and claims of everybody for
// the inventory, comes from informers; what is ours in tenants' namespaces from a namespaceCache for each.
type caches struct {
	client     kubernetes.Interface
	access     kube.Access               // how rights in namespaces are come by; with bindings they are asked for first
	mine       func(kube.Owner) bool     // whether a namespace is of this portal
	ours       map[string]cache.Indexer  // by kind; only what carries our label
	sets       cache.Indexer             // ReplicaSets of ours
	happenings cache.Indexer             // events in tenants' namespaces
	spaces     cache.SharedIndexInformer // Namespaces with our label
	pods       cache.SharedIndexInformer // all
	nodes      cache.SharedIndexInformer // all
	slices     cache.SharedIndexInformer // all; what drivers say that there is to claim
	claims     cache.SharedIndexInformer // all, of everybody: what is held
	// namespaceChanged of each change of ours, of pods and of events; before is nil for a new one, after for a deleted one
	changed          func(before, after any)
	inventoryChanged func()                              // namespaceChanged when nodes or pods changed, for the inventory
	namespaceChanged func(namespace string, state error) // namespaceChanged when a namespace can be seen, or no more
	stock            *stock                              // the inventory

	mu         sync.Mutex
	ctx        context.Context
	namespaces map[string]*namespaceCache
	entered    cache.ResourceEventHandlerRegistration // of spaces
	filled     bool                                   // once everything was listed
	apis       map[string]api                         // what not every cluster serves, by group and version
	service    map[string]chan struct{}               // closed when such an API is known to be served; never replaced
}

// api is whether a cluster serves an API, and when it was asked.
type api struct {
	served bool
	asked  time.Time
}

// cachesOptions are what caches tell of what they hear.
type cachesOptions struct {
	stock            *stock
	access           kube.Access
	mine             func(kube.Owner) bool
	changed          func(before, after any)
	inventoryChanged func()
	namespaceChanged func(namespace string, state error)
}

func newCaches(client kubernetes.Interface, o cachesOptions) (*caches, error) {
	c := &caches{client: client, stock: o.stock, access: o.access, mine: o.mine, changed: o.changed,
		inventoryChanged: o.inventoryChanged,
		namespaceChanged: o.namespaceChanged, ours: map[string]cache.Indexer{}, namespaces: map[string]*namespaceCache{},
		apis:    map[string]api{},
		service: map[string]chan struct{}{}}
	for _, name := range optionalAPIs() {
		c.service[name] = make(chan struct{})
	}
	for _, k := range kinds {
		if k.watch != nil {
			c.ours[k.name] = newIndexer(cache.Indexers{byWorkload: workloadIndex, byTenant: tenantIndex})
		}
	}
	c.sets = newIndexer(cache.Indexers{byOwner: ownerIndex})
	c.happenings = newIndexer(cache.Indexers{byInvolved: involvedIndex})
	labelled := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = ourSelector }))
	c.spaces = labelled.Core().V1().Namespaces().Informer()
	all := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim))
	c.pods, c.nodes = all.Core().V1().Pods().Informer(), all.Core().V1().Nodes().Informer()
	c.slices, c.claims = all.Resource().V1().ResourceSlices().Informer(), all.Resource().V1().ResourceClaims().Informer()
	return c, c.prepare()
}

// asks reports whether rights are bound in each namespace, so that there may be none.
func (c *caches) asks() bool { return c.access.Bindings != "" }

func newIndexer(more cache.Indexers) cache.Indexer {
	more[cache.NamespaceIndex] = cache.MetaNamespaceIndexFunc
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, more)
}

func (c *caches) prepare() (err error) {
	if err := c.spaces.AddIndexers(cache.Indexers{byTenant: tenantIndex}); err != nil {
		return err
	}
	c.ours["Namespace"] = c.spaces.GetIndexer()
	if c.entered, err = c.spaces.AddEventHandler(handle(c.spaceSeen)); err != nil {
		return err
	}
	if err := c.pods.AddIndexers(cache.Indexers{byOwner: ownerIndex, byClaim: claimIndex,
		byGroup: groupIndex}); err != nil {
		return err
	}
	if err := c.stock.hear(c.pods, func(before, after any) {
		c.changed(before, after)
		c.inventoryChanged()
	}); err != nil {
		return err
	}
	for _, inf := range []cache.SharedIndexInformer{c.nodes, c.slices, c.claims} {
		if err := c.stock.hear(inf, func(_, _ any) { c.inventoryChanged() }); err != nil {
			return err
		}
	}
	return nil
}

// spaceSeen begins to watch what is in a namespace of ours, and ends it when the namespace is gone.
func (c *caches) spaceSeen(before, after any) {
	c.changed(before, after)
	if o, ok := after.(metav1.Object); ok {
		if c.mine(kube.OwnerOf(o.GetAnnotations())) {
			c.enter(o.GetName())
		}
		return
	}
	if o, ok := before.(metav1.Object); ok && after == nil {
		c.leave(o.GetName())
	}
}

// enter gives the cache of a namespace; the first call begins to fill it.
func (c *caches) enter(name string) *namespaceCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.namespaces[name]; n != nil {
		return n
	}
	n := newNamespaceCache(c, name)
	c.namespaces[name] = n
	if c.ctx != nil {
		go c.fill(c.ctx, n)
	}
	return n
}

// fill runs the cache of a namespace, and forgets what was in it when the namespace is gone.
func (c *caches) fill(ctx context.Context, n *namespaceCache) {
	n.run(ctx)
	n.mu.Lock()
	gone := n.gone
	n.mu.Unlock()
	if !gone {
		return
	}
	for _, name := range append(c.sources(), eventKind) {
		_ = (&feed{into: c.indexer(name), namespace: n.name, changed: c.changed}).prune(nil)
	}
	c.mu.Lock()
	delete(c.namespaces, n.name)
	c.mu.Unlock()
}

func (c *caches) leave(name string) {
	if n := c.within(name); n != nil {
		n.leave()
	}
}

// within gives the cache of a namespace, nil where there is none.
func (c *caches) within(name string) *namespaceCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.namespaces[name]
}

// ReplicaSets and events are watched in tenants' namespaces beside the kinds of the table.
const (
	setKind   = "ReplicaSet"
	eventKind = "Event"
)

// sources names what is watched in each namespace of a tenant.
func (c *caches) sources() []string {
	names := []string{setKind}
	for _, k := range kinds {
		if k.watch != nil && (k.name != bindingKind || c.access.Bindings == kube.BindSelf) &&
			c.wants(k.api) {
			names = append(names, k.name)
		}
	}
	return names
}

// wants reports whether the settings ask for what is behind an API: without it nobody does, and the rights are not
// there.
func (c *caches) wants(api string) bool {
	switch api {
	case kube.KServeAPI:
		return c.access.KServe
	case kube.JobSetAPI:
		return c.access.JobSet
	case kube.LeaderWorkerSetAPI:
		return c.access.LeaderWorkerSet
	case kube.KEDAAPI:
		return c.access.KEDA
	case kube.SnapshotAPI:
		return c.access.Snapshots
	case kube.InferenceAPI, kube.GatewayAPI:
		return c.access.ModelGateway
	case kube.KuadrantAPI, kube.KuadrantTokensAPI:
		return c.access.Kuadrant
	case kube.EnvoyAPI, kube.EnvoyAIAPI:
		return c.access.EnvoyAIGateway
	}
	return true
}

// behindAPI is the API that a kind needs and that not every cluster serves; "" for none.
func behindAPI(name string) string {
	if i := rank(name); i >= 0 {
		return kinds[i].api
	}
	return ""
}

func (c *caches) source(name, namespace string) source {
	switch name {
	case setKind:
		return ourObjects(c.client.AppsV1().ReplicaSets(namespace))
	case eventKind:
		return allObjects(c.client.CoreV1().Events(namespace))
	}
	return kinds[rank(name)].watch(c.client, namespace)
}

func (c *caches) indexer(name string) cache.Indexer {
	switch name {
	case setKind:
		return c.sets
	case eventKind:
		return c.happenings
	}
	return c.ours[name]
}

func handle(changed func(before, after any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { changed(nil, obj) },
		UpdateFunc: func(before, after any) {
			if version(before) != version(after) || version(after) == "" {
				changed(before, after)
			}
		},
		DeleteFunc: func(obj any) {
			if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = d.Obj
			}
			changed(obj, nil)
		},
	}
}

func version(obj any) string {
	o, ok := obj.(metav1.Object)
	if !ok {
		return ""
	}
	return o.GetResourceVersion()
}

// run watches until the context ends and returns when everything has stopped.
func (c *caches) run(ctx context.Context) {
	var wg sync.WaitGroup
	c.mu.Lock()
	c.ctx = ctx
	for _, n := range c.namespaces {
		go c.fill(ctx, n)
	}
	for name, known := range c.apis {
		if known.served {
			for _, inf := range c.optionalInformers(name) {
				wg.Go(func() { inf.RunWithContext(ctx) })
			}
		}
	}
	c.mu.Unlock()
	for _, inf := range c.all() {
		wg.Go(func() { inf.RunWithContext(ctx) })
	}
	wg.Wait()
}

// all is what every cluster has. A watch of what one does not serve would never be filled.
func (c *caches) all() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{c.spaces, c.pods, c.nodes}
}

// optionalInformers is what is watched of an API that not every cluster serves.
func (c *caches) optionalInformers(api string) []cache.SharedIndexInformer {
	if api == deviceAPI {
		return []cache.SharedIndexInformer{c.slices, c.claims}
	}
	return nil
}

// synced reports whether everything was listed once, in all namespaces that there were: a namespace that does not let
// us list does not count. Before, nothing may be concluded from what is missing. What comes later is not waited for
// here.
func (c *caches) synced() bool {
	list := c.all()
	for _, api := range optionalAPIs() {
		if c.serves(api) {
			list = append(list, c.optionalInformers(api)...)
		}
	}
	for _, inf := range list {
		if !inf.HasSynced() {
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.filled {
		return true
	}
	if !c.entered.HasSynced() {
		return false
	}
	for _, n := range c.namespaces {
		if !n.settled() {
			return false
		}
	}
	c.filled = true
	return true
}

// serves reports whether the cluster is known to serve an API; "" is what every cluster serves.
func (c *caches) serves(api string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return api == "" || c.apis[api].served
}

// askAgain is how long a cluster is taken not to serve an API: it may be upgraded without having been away.
const askAgain = 5 * time.Minute

// learn asks the cluster which of the APIs it serves that not every cluster does, and begins to watch what is behind
// them.
func (c *caches) learn(ctx context.Context, now time.Time) error {
	for _, name := range optionalAPIs() {
		c.mu.Lock()
		known := c.apis[name]
		c.mu.Unlock()
		if !c.wants(name) {
			continue
		}
		if known.served || !known.asked.IsZero() && now.Sub(known.asked) < askAgain {
			continue
		}
		served, err := offers(ctx, c.client, name)
		if err != nil {
			return fmt.Errorf("ask for %s: %w", name, err)
		}
		c.mu.Lock()
		c.apis[name] = api{served: served, asked: now}
		if served {
			close(c.service[name])
		}
		if served && c.ctx != nil {
			for _, inf := range c.optionalInformers(name) {
				go inf.RunWithContext(c.ctx)
			}
		}
		c.mu.Unlock()
	}
	return nil
}

// offers tries whether the API server lets us list what is behind an API. One that does not have it and one that does
// not let us are alike here: what needs it cannot run, and everything else goes on.
func offers(ctx context.Context, client kubernetes.Interface, api string) (bool, error) {
	if api != deviceAPI {
		return hasAPI(client, api)
	}
	one := metav1.ListOptions{Limit: 1}
	_, claims := client.ResourceV1().ResourceClaims("").List(ctx, one)
	_, devices := client.ResourceV1().ResourceSlices().List(ctx, one)
	for _, err := range []error{claims, devices} {
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// optionalAPIs lists the APIs in the table that not every cluster serves.
func optionalAPIs() []string {
	var list []string
	for _, k := range kinds {
		if k.api != "" && !slices.Contains(list, k.api) {
			list = append(list, k.api)
		}
	}
	return list
}

// eventsIn gives the events of a namespace that concern what runs there; the first call begins to watch them.
func (c *caches) eventsIn(namespace string) cache.Indexer {
	if n := c.within(namespace); n != nil {
		n.watchEvents()
	}
	return c.happenings
}

// cached gives an object of ours from the caches.
func (c *caches) cached(k Key) (metav1.Object, bool) {
	inf := c.ours[k.Kind]
	if inf == nil {
		return nil, false
	}
	name := k.Name
	if k.Namespace != "" {
		name = k.Namespace + "/" + k.Name
	}
	obj, exists, err := inf.GetByKey(name)
	if err != nil || !exists {
		return nil, false
	}
	o, ok := obj.(metav1.Object)
	return o, ok
}

// existing gathers what is known of the wanted objects.
func (c *caches) existing(objects []Object) map[Key]Existing {
	found := map[Key]Existing{}
	for _, o := range objects {
		if obj, ok := c.cached(o.Key); ok {
			found[o.Key] = existing(obj)
		}
	}
	return found
}

func lookup[T any](inf cache.Indexer, index, key string) []T {
	found, err := inf.ByIndex(index, key)
	if err != nil {
		return nil
	}
	list := make([]T, 0, len(found))
	for _, obj := range found {
		if v, ok := obj.(T); ok {
			list = append(list, v)
		}
	}
	return list
}

func listed[T any](store cache.Store) []T {
	all := store.List()
	list := make([]T, 0, len(all))
	for _, obj := range all {
		if v, ok := obj.(T); ok {
			list = append(list, v)
		}
	}
	return list
}

// lookupNamespace gives the objects of ours of one kind in a namespace.
func lookupNamespace[T any](c *caches, kind, namespace string) []T {
	return lookup[T](c.ours[kind], cache.NamespaceIndex, namespace)
}

func ownerIndex(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, nil
	}
	if owner := metav1.GetControllerOf(o); owner != nil {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}

func groupIndex(obj any) ([]string, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok || p.Labels[kube.GroupLabel] == "" {
		return nil, nil
	}
	return []string{p.Namespace + "/" + p.Labels[kube.GroupLabel]}, nil
}

func workloadIndex(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok || o.GetAnnotations()[kube.WorkloadKey] == "" {
		return nil, nil
	}
	return []string{o.GetAnnotations()[kube.WorkloadKey]}, nil
}

func tenantIndex(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok || o.GetAnnotations()[kube.WorkloadKey] != "" || o.GetAnnotations()[kube.TenantKey] == "" {
		return nil, nil
	}
	return []string{o.GetAnnotations()[kube.TenantKey]}, nil
}

func claimIndex(obj any) ([]string, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	var claims []string
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			claims = append(claims, p.Namespace+"/"+v.PersistentVolumeClaim.ClaimName)
		}
	}
	return claims, nil
}

func involvedIndex(obj any) ([]string, error) {
	e, ok := obj.(*corev1.Event)
	if !ok {
		return nil, nil
	}
	return []string{string(e.InvolvedObject.UID)}, nil
}

// ClusterStatus says whether a cluster answers.
type ClusterStatus struct {
	Name  string
	OK    bool
	Since time.Time // since when it is so
	Err   string    // for administrators, in the API server's or the network's words; "" while all is well
}
