package reconcile

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// kind is one sort of object that the controller writes. The table is in the order in which objects are applied: what a
// pod needs comes before what makes the pod. Deletion goes the other way round.
type kind struct {
	name string
	kept bool // never deleted with a workload: namespaces and storage
	// api is the API that a cluster must serve for this kind, where older ones do not; "" for what every cluster has.
	api     string
	watch   func(informers.SharedInformerFactory) cache.SharedIndexInformer
	clients func(kubernetes.Interface, string) client
}

var kinds = []kind{
	{name: "Namespace", kept: true,
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().Namespaces().Informer()
		},
		clients: func(c kubernetes.Interface, _ string) client { return adapt(c.CoreV1().Namespaces()) }},
	{name: "ServiceAccount",
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().ServiceAccounts().Informer()
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().ServiceAccounts(ns)) }},
	{name: "ResourceQuota",
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().ResourceQuotas().Informer()
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().ResourceQuotas(ns)) }},
	{name: "LimitRange",
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().LimitRanges().Informer()
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().LimitRanges(ns)) }},
	{name: "NetworkPolicy",
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Networking().V1().NetworkPolicies().Informer()
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.NetworkingV1().NetworkPolicies(ns)) }},
	{name: "PersistentVolumeClaim", kept: true,
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().PersistentVolumeClaims().Informer()
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().PersistentVolumeClaims(ns)) }},
	{name: "Secret",
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().Secrets().Informer()
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().Secrets(ns)) }},
	{name: "ResourceClaimTemplate", api: deviceAPI,
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Resource().V1().ResourceClaimTemplates().Informer()
		},
		clients: func(c kubernetes.Interface, ns string) client {
			return adapt(c.ResourceV1().ResourceClaimTemplates(ns))
		}},
	{name: "Service",
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().Services().Informer()
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().Services(ns)) }},
	{name: "StatefulSet",
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Apps().V1().StatefulSets().Informer()
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.AppsV1().StatefulSets(ns)) }},
	{name: "Deployment",
		watch: func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Apps().V1().Deployments().Informer()
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.AppsV1().Deployments(ns)) }},
}

// deviceAPI is dynamic resource allocation. It is served from Kubernetes 1.34 on; its older versions have other shapes.
const deviceAPI = "resource.k8s.io/v1"

// rank is the place of a kind in the table; -1 for a kind that the controller does not write.
func rank(name string) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
}

// client is the part of a typed client that the controller uses, for one kind in one namespace.
type client interface {
	get(ctx context.Context, name string) (metav1.Object, error)
	patch(ctx context.Context, name string, how types.PatchType, body []byte, opts metav1.PatchOptions) (
		metav1.Object, error)
	remove(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

type typed[T metav1.Object] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions,
		subresources ...string) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

type adapted[T metav1.Object] struct{ typed typed[T] }

func adapt[T metav1.Object](c typed[T]) client { return adapted[T]{c} }

func (a adapted[T]) get(ctx context.Context, name string) (metav1.Object, error) {
	return a.typed.Get(ctx, name, metav1.GetOptions{})
}

func (a adapted[T]) patch(ctx context.Context, name string, how types.PatchType, body []byte,
	opts metav1.PatchOptions) (metav1.Object, error) {
	return a.typed.Patch(ctx, name, how, body, opts)
}

func (a adapted[T]) remove(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return a.typed.Delete(ctx, name, opts)
}
