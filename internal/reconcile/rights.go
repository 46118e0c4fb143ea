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
	if a.KServe {
		r.Tenant = append(r.Tenant, rbacv1.PolicyRule{APIGroups: []string{"serving.kserve.io"},
			Resources: []string{"inferenceservices"}, Verbs: own})
		r.Runtimes = []rbacv1.PolicyRule{{APIGroups: []string{"serving.kserve.io"},
			Resources: []string{"clusterservingruntimes"}, Verbs: []string{"list"}}}
	}
	if a.JobSet {
		r.Tenant = append(r.Tenant, rbacv1.PolicyRule{APIGroups: []string{"jobset.x-k8s.io"},
			Resources: []string{"jobsets"}, Verbs: own})
	}
	if a.LeaderWorkerSet {
		r.Tenant = append(r.Tenant, rbacv1.PolicyRule{APIGroups: []string{"leaderworkerset.x-k8s.io"},
			Resources: []string{"leaderworkersets"}, Verbs: own})
	}
	if a.Snapshots {
		r.Tenant = append(r.Tenant, rbacv1.PolicyRule{APIGroups: []string{"snapshot.storage.k8s.io"},
			Resources: []string{"volumesnapshots"}, Verbs: own})
	}
	if a.ModelGateway {
		r.Tenant = append(r.Tenant,
			rbacv1.PolicyRule{APIGroups: []string{"gateway.networking.k8s.io"}, Resources: []string{"httproutes"}, Verbs: own},
			rbacv1.PolicyRule{APIGroups: []string{"inference.networking.k8s.io"}, Resources: []string{"inferencepools"},
				Verbs: own})
	}
	if a.Kuadrant {
		r.Tenant = append(r.Tenant, rbacv1.PolicyRule{APIGroups: []string{"kuadrant.io"},
			Resources: []string{"authpolicies", "ratelimitpolicies", "tokenratelimitpolicies"}, Verbs: own})
	}
	if a.EnvoyAIGateway {
		r.Tenant = append(r.Tenant,
			rbacv1.PolicyRule{APIGroups: []string{"gateway.envoyproxy.io"},
				Resources: []string{"backends", "securitypolicies", "backendtrafficpolicies"}, Verbs: own},
			rbacv1.PolicyRule{APIGroups: []string{"aigateway.envoyproxy.io"},
				Resources: []string{"aigatewayroutes", "aiservicebackends"}, Verbs: own})
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
