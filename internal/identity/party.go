package identity

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Party is whose word a decision may need: everybody with a role, in the request's tenant or on the whole platform, or
// everybody in a group as the sign-in provider spells it. Exactly one of the two is set.
type Party struct {
	Role  Role   `json:"role,omitempty"`
	Group string `json:"group,omitempty"`
}

// Word is what people read.
func (p Party) Word() i18n.Text {
	if p.Group != "" {
		return i18n.T("role.group", "Group", p.Group)
	}
	return i18n.T("role." + string(p.Role))
}

// Keys are what open the party in a tenant: whoever holds one of them belongs to it. Administrators are approvers
// everywhere.
func (p Party) Keys(tenant string) []string {
	if p.Group != "" {
		return []string{"group:" + p.Group}
	}
	keys := []string{roleKey(p.Role), roleKey(p.Role) + "@" + tenant}
	if p.Role == Approver {
		keys = append(keys, roleKey(Admin))
	}
	return keys
}

func roleKey(r Role) string { return "role:" + string(r) }

// Includes reports whether somebody belongs to the party, in this tenant.
func (p Party) Includes(a Actor, tenant string) bool { return meet(p.Keys(tenant), a.Keys()) }

// Keys are what somebody holds. Groups are the sign-in provider's and tenants the configuration's, so neither can spell
// the other.
func (a Actor) Keys() []string {
	var keys []string
	for _, r := range a.Global {
		keys = append(keys, roleKey(r))
	}
	for _, t := range a.TenantNames() {
		for _, r := range a.Tenants[t] {
			keys = append(keys, roleKey(r)+"@"+t)
		}
	}
	for _, g := range a.Person.Groups {
		keys = append(keys, "group:"+g)
	}
	return keys
}

// KeysOf are the keys of several parties, each once.
func KeysOf(parties []Party, tenant string) []string {
	var keys []string
	for _, p := range parties {
		for _, k := range p.Keys(tenant) {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// meet reports whether two lists have something in common.
func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(k string) bool { return slices.Contains(b, k) })
}
