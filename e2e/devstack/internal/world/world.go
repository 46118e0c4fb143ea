// Package world is what our simulators see of the cluster: caches of its objects, found by what a simulator asks for.
// The caches go on answering while the API server is stopped.
package world

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Cluster is the caches and the client behind them.
type Cluster struct {
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
	pods      cache.SharedIndexInformer
	services  cache.SharedIndexInformer
	nodes     cache.SharedIndexInformer
	claims    cache.SharedIndexInformer
}

const (
	byIP   = "ip"
	byNode = "node"
)

// New prepares the caches; Start fills them.
func New(client kubernetes.Interface) (*Cluster, error) {
	f := informers.NewSharedInformerFactory(client, 0)
	c := &Cluster{
		Client: client, Informers: f,
		pods:     f.Core().V1().Pods().Informer(),
		services: f.Core().V1().Services().Informer(),
		nodes:    f.Core().V1().Nodes().Informer(),
		claims:   f.Resource().V1().ResourceClaims().Informer(),
	}
	for _, informer := range []cache.SharedIndexInformer{c.pods, c.services, c.nodes, c.claims} {
		if err := informer.SetTransform(withoutManagedFields); err != nil {
			return nil, err
		}
	}
	return c, errors.Join(
		c.pods.AddIndexers(cache.Indexers{byIP: podIPs, byNode: podNode}),
		c.services.AddIndexers(cache.Indexers{byIP: serviceIPs}),
	)
}

// withoutManagedFields drops the biggest part of an object, which nobody here reads.
func withoutManagedFields(obj any) (any, error) {
	if meta, ok := obj.(interface {
		SetManagedFields([]metav1.ManagedFieldsEntry)
	}); ok {
		meta.SetManagedFields(nil)
	}
	return obj, nil
}

// Start begins to watch and waits until the caches are filled.
func (c *Cluster) Start(ctx context.Context) error {
	c.Informers.Start(ctx.Done())
	for _, ok := range c.Informers.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return errors.New("the caches were not filled")
		}
	}
	return nil
}

func podIPs(obj any) ([]string, error) {
	pod := obj.(*corev1.Pod)
	if pod.Status.PodIP == "" || pod.Spec.HostNetwork {
		return nil, nil
	}
	return []string{pod.Status.PodIP}, nil
}

func podNode(obj any) ([]string, error) {
	if node := obj.(*corev1.Pod).Spec.NodeName; node != "" {
		return []string{node}, nil
	}
	return nil, nil
}

func serviceIPs(obj any) ([]string, error) {
	ip := obj.(*corev1.Service).Spec.ClusterIP
	if ip == "" || ip == corev1.ClusterIPNone {
		return nil, nil
	}
	return []string{ip}, nil
}

// answersWithin is how long the API server may take to say whether there is a pod.
const answersWithin = 5 * time.Second

// Pod finds a pod by name; nil when there is none. One that the cache does not know is asked of the API server: whoever
// was told of a pod may ask for it before the watch is back after an outage.
func (c *Cluster) Pod(namespace, name string) *corev1.Pod {
	if pod := find[*corev1.Pod](c.pods, namespace+"/"+name); pod != nil {
		return pod
	}
	ctx, cancel := context.WithTimeout(context.Background(), answersWithin)
	defer cancel()
	pod, err := c.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return pod
}

// Node finds a node by name; nil when there is none.
func (c *Cluster) Node(name string) *corev1.Node { return find[*corev1.Node](c.nodes, name) }

// Claim finds a resource claim; nil when there is none.
func (c *Cluster) Claim(namespace, name string) *resourcev1.ResourceClaim {
	return find[*resourcev1.ResourceClaim](c.claims, namespace+"/"+name)
}

// Service finds a service by name; nil when there is none.
func (c *Cluster) Service(namespace, name string) *corev1.Service {
	return find[*corev1.Service](c.services, namespace+"/"+name)
}

func find[T any](informer cache.SharedIndexInformer, key string) T {
	obj, _, _ := informer.GetStore().GetByKey(key)
	found, _ := obj.(T)
	return found
}

// Nodes are all nodes by name.
func (c *Cluster) Nodes() []*corev1.Node {
	list := cast[*corev1.Node](c.nodes.GetStore().List())
	slices.SortFunc(list, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// PodsOn are the pods bound to a node that have not ended.
func (c *Cluster) PodsOn(node string) []*corev1.Pod {
	objs, _ := c.pods.GetIndexer().ByIndex(byNode, node)
	return slices.DeleteFunc(cast[*corev1.Pod](objs), ended)
}

// PodAt is the pod that has an address now; nil when none has.
func (c *Cluster) PodAt(ip string) *corev1.Pod {
	objs, _ := c.pods.GetIndexer().ByIndex(byIP, ip)
	for _, pod := range cast[*corev1.Pod](objs) {
		if !ended(pod) {
			return pod
		}
	}
	return nil
}

// ServiceAt is the service that has a cluster address; nil when none has.
func (c *Cluster) ServiceAt(ip string) *corev1.Service {
	objs, _ := c.services.GetIndexer().ByIndex(byIP, ip)
	if list := cast[*corev1.Service](objs); len(list) > 0 {
		return list[0]
	}
	return nil
}

// PodsOf are the ready pods behind a service, oldest first.
func (c *Cluster) PodsOf(service *corev1.Service) []*corev1.Pod {
	if len(service.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	objs, _ := c.pods.GetIndexer().ByIndex(cache.NamespaceIndex, service.Namespace)
	list := slices.DeleteFunc(cast[*corev1.Pod](objs), func(p *corev1.Pod) bool {
		return ended(p) || !Ready(p) || !selector.Matches(labels.Set(p.Labels))
	})
	slices.SortFunc(list, older)
	return list
}

func older(a, b *corev1.Pod) int {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return strings.Compare(string(a.UID), string(b.UID))
}

func cast[T any](objs []any) []T {
	list := make([]T, 0, len(objs))
	for _, obj := range objs {
		if t, ok := obj.(T); ok {
			list = append(list, t)
		}
	}
	return list
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Ready says whether the pod's condition Ready is true.
func Ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// OnPodGone calls f with the UID of every pod that is deleted.
func (c *Cluster) OnPodGone(f func(uid string)) {
	_, _ = c.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = last.Obj
		}
		if pod, ok := obj.(*corev1.Pod); ok {
			f(string(pod.UID))
		}
	}})
}
