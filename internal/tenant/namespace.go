package tenant

import (
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// NamespaceRule says which namespaces can be tenants'. The cluster's admission policy holds the portal to the same
// names.
type NamespaceRule struct {
	Names []string // with "*" for any characters, see Matches; none: any name
	Own   []string // where the portal itself and its node agents run
}

const maxNamespace = 63 // a DNS label

// Problem is why a name cannot be a tenant's namespace; zero for none.
func (r NamespaceRule) Problem(name string) i18n.Text {
	switch {
	case !Label(name, maxNamespace) || reserved(name):
		return i18n.T("tenant.namespace_wrong", "Namespace", clip(name))
	case slices.Contains(r.Own, name):
		return i18n.T("tenant.namespace_own", "Namespace", name)
	case len(r.Names) > 0 && !slices.ContainsFunc(r.Names, func(p string) bool { return Matches(p, name) }):
		return i18n.T("tenant.namespace_pattern", "Namespace", name, "Names", strings.Join(r.Names, ", "))
	}
	return i18n.Text{}
}

// reserved namespaces belong to the platform and can never be a tenant's.
func reserved(name string) bool {
	return name == "default" || name == "openshift" || strings.HasPrefix(name, "kube-") ||
		strings.HasPrefix(name, "openshift-")
}
