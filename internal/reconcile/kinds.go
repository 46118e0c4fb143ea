package reconcile

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// kind is one sort of object that the controller writes. The table is in the order in which objects are applied: what a
// pod needs comes before what makes the pod. Deletion goes the other way round.
type kind struct {
	name string
	kept bool // never deleted with a workload: namespaces and storage
	// api is the API that a cluster must serve for this kind, where older ones do not; "" for what every cluster has.
	api string
	// watch lists and watches what carries our label in one namespace; nil for Namespace, which the cluster watches
	watch   func(kubernetes.Interface, string) source
	clients func(kubernetes.Interface, string) client
}

var kinds = []kind{
	{name: "Namespace", kept: true,
		clients: func(c kubernetes.Interface, _ string) client { return adapt(c.CoreV1().Namespaces()) }},
	{name: bindingKind, kept: true,
		watch:   func(c kubernetes.Interface, ns string) source { return ourObjects(c.RbacV1().RoleBindings(ns)) },
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.RbacV1().RoleBindings(ns)) }},
	{name: "ServiceAccount",
		watch:   func(c kubernetes.Interface, ns string) source { return ourObjects(c.CoreV1().ServiceAccounts(ns)) },
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().ServiceAccounts(ns)) }},
	{name: "ResourceQuota",
		watch:   func(c kubernetes.Interface, ns string) source { return ourObjects(c.CoreV1().ResourceQuotas(ns)) },
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().ResourceQuotas(ns)) }},
	{name: "LimitRange",
		watch:   func(c kubernetes.Interface, ns string) source { return ourObjects(c.CoreV1().LimitRanges(ns)) },
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().LimitRanges(ns)) }},
	{name: "NetworkPolicy",
		watch: func(c kubernetes.Interface, ns string) source {
			return ourObjects(c.NetworkingV1().NetworkPolicies(ns))
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.NetworkingV1().NetworkPolicies(ns)) }},
	{name: "PersistentVolumeClaim", kept: true,
		watch: func(c kubernetes.Interface, ns string) source {
			return ourObjects(c.CoreV1().PersistentVolumeClaims(ns))
		},
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().PersistentVolumeClaims(ns)) }},
	{name: kube.VolumeSnapshotKind, kept: true, api: kube.SnapshotAPI,
		watch:   func(c kubernetes.Interface, ns string) source { return customIn(c, volumeSnapshots, ns) },
		clients: func(c kubernetes.Interface, ns string) client { return customIn(c, volumeSnapshots, ns) }},
	{name: "Secret",
		watch:   func(c kubernetes.Interface, ns string) source { return ourObjects(c.CoreV1().Secrets(ns)) },
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().Secrets(ns)) }},
	{name: "ResourceClaimTemplate", api: deviceAPI,
		watch: func(c kubernetes.Interface, ns string) source {
			return ourObjects(c.ResourceV1().ResourceClaimTemplates(ns))
		},
		clients: func(c kubernetes.Interface, ns string) client {
			return adapt(c.ResourceV1().ResourceClaimTemplates(ns))
		}},
	{name: "Service",
		watch:   func(c kubernetes.Interface, ns string) source { return ourObjects(c.CoreV1().Services(ns)) },
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.CoreV1().Services(ns)) }},
	customKind(kube.InferencePoolKind, kube.InferenceAPI, inferencePools),
	customKind(kube.AuthPolicyKind, kube.KuadrantAPI, authPolicies),
	customKind(kube.RateLimitPolicyKind, kube.KuadrantAPI, rateLimits),
	customKind(kube.TokenRateLimitPolicyKind, kube.KuadrantTokensAPI, tokenLimits),
	customKind(kube.HTTPRouteKind, kube.GatewayAPI, httpRoutes),
	customKind(kube.BackendKind, kube.EnvoyAPI, envoyBackends),
	customKind(kube.AIServiceBackendKind, kube.EnvoyAIAPI, serviceBackends),
	customKind(kube.SecurityPolicyKind, kube.EnvoyAPI, securityPolicies),
	customKind(kube.BackendTrafficPolicyKind, kube.EnvoyAPI, trafficPolicies),
	customKind(kube.AIGatewayRouteKind, kube.EnvoyAIAPI, aiRoutes),
	{name: "StatefulSet",
		watch:   func(c kubernetes.Interface, ns string) source { return ourObjects(c.AppsV1().StatefulSets(ns)) },
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.AppsV1().StatefulSets(ns)) }},
	{name: "Deployment",
		watch:   func(c kubernetes.Interface, ns string) source { return ourObjects(c.AppsV1().Deployments(ns)) },
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.AppsV1().Deployments(ns)) }},
	customKind(kube.InferenceServiceKind, kube.KServeAPI, inferenceServices),
	customKind(kube.LeaderWorkerSetKind, kube.LeaderWorkerSetAPI, leaderWorkerSets),
	customKind(kube.TriggerAuthenticationKind, kube.KEDAAPI, triggerAccesses),
	customKind(kube.ScaledObjectKind, kube.KEDAAPI, scaledObjects),
	{name: jobKind,
		watch:   func(c kubernetes.Interface, ns string) source { return ourObjects(c.BatchV1().Jobs(ns)) },
		clients: func(c kubernetes.Interface, ns string) client { return adapt(c.BatchV1().Jobs(ns)) }},
	customKind(kube.JobSetKind, kube.JobSetAPI, jobSets),
}

const jobKind = "Job"

// makesPods reports whether an object of a kind makes the pods of a workload.
func makesPods(kind string) bool {
	return kind == "StatefulSet" || kind == "Deployment" || kind == jobKind ||
		kind == kube.InferenceServiceKind || kind == kube.JobSetKind || kind == kube.LeaderWorkerSetKind
}

const bindingKind = "RoleBinding"

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
