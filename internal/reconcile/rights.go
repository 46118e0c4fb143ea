package reconcile

import rbacv1 "k8s.io/api/rbac/v1"

// Rights is everything that the controller may do in a cluster, and all that it needs; the chart's cluster role says
// the same, and a test runs the controller with nothing else. It never lists what it could delete by a wildcard, makes
// no roles, and reads no configuration of the cluster.
func Rights() []rbacv1.PolicyRule {
	look := []string{"get", "list", "watch"}
	keep := []string{"get", "list", "watch", "create", "patch"}
	own := []string{"get", "list", "watch", "create", "patch", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes", "pods", "events"}, Verbs: look},
		{APIGroups: []string{"apps"}, Resources: []string{"replicasets"}, Verbs: look},
		{APIGroups: []string{""}, Resources: []string{"namespaces", "serviceaccounts", "resourcequotas", "limitranges"},
			Verbs: keep},
		{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"networkpolicies"}, Verbs: keep},
		{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims", "secrets", "services"}, Verbs: own},
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets", "deployments"}, Verbs: own},
		{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaimtemplates"}, Verbs: own},
		{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceslices", "resourceclaims"}, Verbs: look},
		{NonResourceURLs: []string{"/readyz"}, Verbs: []string{"get"}},
	}
}
