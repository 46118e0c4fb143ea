package kube

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// Who binds the portal's rights in tenants' namespaces.
const (
	BindSelf  = "self"  // the portal: it may bind the named ClusterRoles, and nothing else
	BindAdmin = "admin" // an administrator: the portal makes neither namespaces nor RoleBindings
)

// Access is how the portal comes by its rights in tenants' namespaces. The zero value: they come from elsewhere (a
// kubeconfig that may do everything), the portal makes namespaces and binds nothing.
type Access struct {
	// self: the portal binds role itself; admin: somebody applies what `portal rbac` prints; default neither, and the
	// rights come from elsewhere
	Bindings string `json:"bindings,omitempty"`
	Role     string `json:"role,omitempty"` // ClusterRole of the controller's rights in one namespace
	// account that role is bound to: system:serviceaccount:NAMESPACE:NAME, or the name of a user
	Account string `json:"account,omitempty"`
	// ClusterRole of the API server's proxy to workloads, with podAccess apiserver; default none
	ProxyRole     string   `json:"proxyRole,omitempty"`
	ProxyAccounts []string `json:"proxyAccounts,omitempty"` // accounts that proxyRole is bound to
	// ClusterRole of pods' logs and events, for the pages of a workload; default none
	LogsRole     string   `json:"logsRole,omitempty"`
	LogsAccounts []string `json:"logsAccounts,omitempty"` // accounts that logsRole is bound to
	// ClusterRole of commands in pods, for terminals in the page; default none
	TerminalRole     string   `json:"terminalRole,omitempty"`
	TerminalAccounts []string `json:"terminalAccounts,omitempty"` // accounts that terminalRole is bound to
	// endpoints may run as InferenceServices of KServe here: role has the right to them; default no
	KServe bool `json:"kserve,omitempty"`
	// jobs may run as JobSets here: role has the right to them; default no
	JobSet bool `json:"jobset,omitempty"`
	// endpoints may run as LeaderWorkerSets here: role has the right to them; default no
	LeaderWorkerSet bool `json:"leaderworkerset,omitempty"`
	// KEDA may scale endpoints here: role has the right to ScaledObjects and TriggerAuthentications; default no
	KEDA bool `json:"keda,omitempty"`
	// snapshots of volumes may be taken here: role has the right to VolumeSnapshots; default no
	Snapshots bool `json:"snapshots,omitempty"`
	// routes of a gateway for models may be written here: role has the right to them; with modelGateway it is implied
	ModelGateway bool `json:"modelGateway,omitempty"`
	// policies of Kuadrant may be written here: role has the right to them; with modelGateway of kind kuadrant or embedded
	// it is implied
	Kuadrant bool `json:"kuadrant,omitempty"`
	// routes and policies of Envoy AI Gateway may be written here: role has the right to them; with modelGateway of kind
	// envoy-ai-gateway or embedded it is implied
	EnvoyAIGateway bool `json:"envoyAIGateway,omitempty"`
}

// Names of the RoleBindings in a tenant's namespace.
const (
	bindingName         = "gpu-portal"
	proxyBindingName    = "gpu-portal-proxy"
	logsBindingName     = "gpu-portal-logs"
	terminalBindingName = "gpu-portal-terminal"
)

// TenantAccess renders what stands before everything else of a tenant: the namespace with its labels and the
// RoleBindings in it. With BindAdmin the administrator applies it.
func TenantAccess(t tenant.Tenant, site Site) ([]Object, error) {
	n, err := newSpace(t, site)
	if err != nil {
		return nil, err
	}
	return n.access(), nil
}

// access is the namespace, then the RoleBindings.
func (n space) access() []Object {
	objects := []Object{n.namespace()}
	a := n.site.Access
	if a.Bindings == "" {
		return objects
	}
	objects = append(objects, n.binding(bindingName, a.Role, a.Account))
	if a.ProxyRole != "" {
		objects = append(objects, n.binding(proxyBindingName, a.ProxyRole, a.ProxyAccounts...))
	}
	if a.LogsRole != "" {
		objects = append(objects, n.binding(logsBindingName, a.LogsRole, a.LogsAccounts...))
	}
	if a.TerminalRole != "" {
		objects = append(objects, n.binding(terminalBindingName, a.TerminalRole, a.TerminalAccounts...))
	}
	return objects
}

func (n space) binding(name, role string, accounts ...string) *rbacv1.RoleBinding {
	b := &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"}, ObjectMeta: n.meta(name),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	for _, account := range accounts {
		b.Subjects = append(b.Subjects, subject(account))
	}
	return b
}

// subject is a service account where the name is one's, else a user.
func subject(account string) rbacv1.Subject {
	if namespace, name, ok := serviceAccount(account); ok {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: account}
}

func serviceAccount(account string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(account, "system:serviceaccount:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}

// Namespace is where the account lives; "" for a user.
func (a Access) Namespace() string {
	namespace, _, _ := serviceAccount(a.Account)
	return namespace
}

// Check lists what is missing or unknown.
func (a Access) Check() error {
	switch {
	case a.Bindings == "" && a.Role == "" && a.ProxyRole == "" && a.LogsRole == "" && a.TerminalRole == "":
		return nil
	case !slices.Contains([]string{BindSelf, BindAdmin}, a.Bindings):
		return fmt.Errorf("bindings: %q is none of %s, %s", a.Bindings, BindSelf, BindAdmin)
	case a.Role == "" || a.Account == "":
		return fmt.Errorf("role and account are needed: the ClusterRole that is bound in tenants' namespaces, and to whom")
	case (a.ProxyRole == "") != (len(a.ProxyAccounts) == 0):
		return fmt.Errorf("proxyRole and proxyAccounts belong together")
	case (a.LogsRole == "") != (len(a.LogsAccounts) == 0):
		return fmt.Errorf("logsRole and logsAccounts belong together")
	case (a.TerminalRole == "") != (len(a.TerminalAccounts) == 0):
		return fmt.Errorf("terminalRole and terminalAccounts belong together")
	}
	return nil
}

// Roles names the ClusterRoles that are bound in tenants' namespaces.
func (a Access) Roles() []string {
	roles := []string{a.Role}
	for _, more := range []string{a.ProxyRole, a.LogsRole, a.TerminalRole} {
		if more != "" {
			roles = append(roles, more)
		}
	}
	return roles
}
