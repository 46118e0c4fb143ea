package reconcile

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// Rights are the RBAC rules that the portal needs in a cluster; the chart's roles are the same, and a test runs the
// controller with nothing else and finds each rule in the audit log of the API server.
type Rights struct {
	Cluster  []rbacv1.PolicyRule // of the controller, everywhere
	Tenant   []rbacv1.PolicyRule // of the controller, in each tenant's namespace
	Proxy    []rbacv1.PolicyRule // of controller and gateway, in each tenant's namespace, with dial: apiserver
	Logs     []rbacv1.PolicyRule // of the pages, in each tenant's namespace: logs and events of a workload
	Terminal []rbacv1.PolicyRule // of the pages, in each tenant's namespace: a shell in a workload; only where it is on
	Runtimes []rbacv1.PolicyRule // of the controller, everywhere, with KServe: what the catalog can name; optional
	Agents   []rbacv1.PolicyRule // of the controller, in the namespace of the node agents, with dial: apiserver
}

var (
	look = []string{"get", "list", "watch"}
	keep = []string{"get", "list", "watch", "create", "patch"}
	own  = []string{"get", "list", "watch", "create", "patch", "delete"}
)

// RightsFor lists them. Cluster-wide it reads what the inventory is made of (GPUs are held by everybody's pods), and
// writes namespaces. Where the portal binds itself, bind on the named ClusterRoles alone lets it make RoleBindings of
// them, and nothing else; where an administrator binds, it writes nothing outside of tenants' namespaces.
func RightsFor(a kube.Access) Rights {
	policies := keep
	if a.JobSet || a.LeaderWorkerSet { // each of those has a NetworkPolicy of its own, which goes with it
		policies = own
	}
	r := Rights{
		Cluster: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceslices", "resourceclaims"},
				Verbs: []string{"list", "watch"}},
			{NonResourceURLs: []string{"/readyz"}, Verbs: []string{"get"}},
		},
		Tenant: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{"apps"}, Resources: []string{"replicasets"}, Verbs: look},
			{APIGroups: []string{""}, Resources: []string{"serviceaccounts", "resourcequotas", "limitranges"}, Verbs: keep},
			{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"networkpolicies"}, Verbs: policies},
			{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims", "secrets", "services"}, Verbs: own},
			{APIGroups: []string{"apps"}, Resources: []string{"statefulsets", "deployments"}, Verbs: own},
			{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: own},
			{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaimtemplates"}, Verbs: own},
		},
		Proxy: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"services/proxy"},
			Verbs: []string{"get", "create", "update", "patch", "delete"}}},
		Logs: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
		},
		// A WebSocket begins with a GET: the API server asks for get, from 1.35 on for create as well, as of SPDY's POST.
		Terminal: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get", "create"}},
		},
		Agents: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods/proxy"}, Verbs: []string{"get"}}},
	}
	r.Tenant = append(r.Tenant, operatorRights(a)...)
	if a.KServe {
		r.Runtimes = []rbacv1.PolicyRule{{APIGroups: []string{"serving.kserve.io"},
			Resources: []string{"clusterservingruntimes"}, Verbs: []string{"list"}}}
	}
	if a.Bindings == kube.BindAdmin {
		r.Cluster = append(r.Cluster, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"},
			Verbs: look})
		r.Tenant = append(r.Tenant, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"},
			Verbs: []string{"patch"}}) // of the tenant's own: the checkpoint of where the database is
		return r
	}
	r.Cluster = append(r.Cluster, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"},
		Verbs: keep})
	if a.Bindings == kube.BindSelf {
		r.Cluster = append(r.Cluster,
			rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"rolebindings"},
				Verbs: []string{"get", "create", "patch"}},
			rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"},
				Verbs: []string{"bind"}, ResourceNames: a.Roles()})
		r.Tenant = append(r.Tenant, rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName},
			Resources: []string{"rolebindings"}, Verbs: []string{"list", "watch"}})
	}
	return r
}

// operatorRights are those in a tenant's namespace to the objects of operators, as far as access lets the portal write
// them.
func operatorRights(a kube.Access) (rules []rbacv1.PolicyRule) {
	to := func(allowed bool, group string, resources ...string) {
		if allowed {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: own})
		}
	}
	to(a.KServe, "serving.kserve.io", "inferenceservices")
	to(a.JobSet, "jobset.x-k8s.io", "jobsets")
	to(a.LeaderWorkerSet, "leaderworkerset.x-k8s.io", "leaderworkersets")
	to(a.KEDA, "keda.sh", "scaledobjects", "triggerauthentications")
	to(a.Snapshots, "snapshot.storage.k8s.io", "volumesnapshots")
	to(a.ModelGateway, "gateway.networking.k8s.io", "httproutes")
	to(a.ModelGateway, "inference.networking.k8s.io", "inferencepools")
	to(a.Kuadrant, "kuadrant.io", "authpolicies", "ratelimitpolicies", "tokenratelimitpolicies")
	to(a.EnvoyAIGateway, "gateway.envoyproxy.io", "backends", "securitypolicies", "backendtrafficpolicies")
	to(a.EnvoyAIGateway, "aigateway.envoyproxy.io", "aigatewayroutes", "aiservicebackends")
	return rules
}
