package identity

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Approvers is who may have to approve a request: everybody with a role, in the request's tenant or on the whole
// platform, or everybody in a group as the sign-in provider spells it. Exactly one of role and group is set.
type Approvers struct {
	Role  Role   `json:"role,omitempty"`  // owner, approver or admin
	Scope Scope  `json:"scope,omitempty"` // platform leaves out a tenant's own approvers; with role approver only
	Group string `json:"group,omitempty"` // or a group, as the provider spells it
}

// Scope narrows where a role must have been given to count.
type Scope string

// PlatformScope leaves out approvers of the tenant: only those of the whole platform and administrators count. The
// empty scope counts both.
const PlatformScope Scope = "platform"

// Label is what people read.
func (p Approvers) Label() i18n.Text {
	switch {
	case p.Group != "":
		return i18n.T("role.group", "Group", p.Group)
	case p.Scope == PlatformScope:
		return i18n.T("role.platform_" + string(p.Role))
	}
	return i18n.T("role." + string(p.Role))
}

// Principals are what open them in a tenant: whoever holds one of them belongs to it. Administrators are approvers
// everywhere.
func (p Approvers) Principals(tenant string) []string {
	if p.Group != "" {
		return []string{"group:" + p.Group}
	}
	keys := []string{rolePrincipal(p.Role)}
	if p.Scope != PlatformScope {
		keys = append(keys, RolePrincipal(p.Role, tenant))
	}
	if p.Role == Approver {
		keys = append(keys, rolePrincipal(Admin))
	}
	return keys
}

func rolePrincipal(r Role) string { return "role:" + string(r) }

// RolePrincipal is what somebody with a role in a tenant holds.
func RolePrincipal(r Role, tenant string) string { return rolePrincipal(r) + "@" + tenant }

// Includes reports whether somebody belongs to them, in this tenant.
func (p Approvers) Includes(a Actor, tenant string) bool {
	return intersects(p.Principals(tenant), a.Principals())
}

// IncludesFor is Includes for a request of somebody, see Actor.PrincipalsFor.
func (p Approvers) IncludesFor(a Actor, tenant string, asker PersonID) bool {
	return intersects(p.Principals(tenant), a.PrincipalsFor(asker))
}

// Principals are what somebody holds. Groups are the sign-in provider's and tenants the configuration's, so neither can
// spell the other.
func (a Actor) Principals() []string {
	var keys []string
	for _, r := range a.Global {
		keys = append(keys, rolePrincipal(r))
	}
	for _, t := range a.TenantNames() {
		for _, r := range a.Tenants[t] {
			keys = append(keys, RolePrincipal(r, t))
		}
	}
	for _, g := range a.Person.Groups {
		keys = append(keys, "group:"+g)
	}
	return keys
}

// PrincipalsFor are the principals that count for a request of the asker. The two-person rule is about the whole chain:
// asker, those who granted the approver's role, and approver are different people. So a role by hand does not count
// where the asker or its holder is among those who granted it.
func (a Actor) PrincipalsFor(asker PersonID) []string {
	return slices.DeleteFunc(a.Principals(), func(k string) bool {
		chain := a.Granted[k]
		return slices.Contains(chain, a.Person.ID) || asker != "" && slices.Contains(chain, asker)
	})
}

// PrincipalsOf are the principals of several approvers, each once.
func PrincipalsOf(list []Approvers, tenant string) []string {
	var keys []string
	for _, p := range list {
		for _, k := range p.Principals(tenant) {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// intersects reports whether two lists have something in common.
func intersects(a, b []string) bool {
	return slices.ContainsFunc(a, func(k string) bool { return slices.Contains(b, k) })
}
