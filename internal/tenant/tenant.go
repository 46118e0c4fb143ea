// Package tenant knows teams: which groups give which role, in which namespace they work, and how much of each size they may hold.
package tenant

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Tenant is a team.
type Tenant struct {
	Name      string                     `json:"name"`                // DNS label, unique
	Title     string                     `json:"title,omitempty"`     // what people read
	Namespace string                     `json:"namespace,omitempty"` // on every cluster; default "gpu-<name>"
	Groups    map[identity.Role][]string `json:"groups"`              // group names as the sign-in provider spells them
	Quota     map[string]int             `json:"quota"`               // how many of a size at once; EverySize speaks for those not listed, and without it they are not allowed
	Disabled  bool                       `json:"disabled,omitempty"`  // keeps its data, starts nothing
}

// EverySize is the entry of a quota that stands for each size without an entry of its own, also for one that is offered later.
const EverySize = "*"

// QuotaOf is how many of a size the tenant may hold at once.
func (t Tenant) QuotaOf(size string) int {
	limit, listed := t.Quota[size]
	if !listed {
		limit = t.Quota[EverySize]
	}
	return max(0, limit)
}

// Display is the title, or the name where there is none.
func (t Tenant) Display() string {
	if t.Title != "" {
		return t.Title
	}
	return t.Name
}

// NamespaceName is the namespace of the tenant.
func (t Tenant) NamespaceName() string {
	if t.Namespace != "" {
		return t.Namespace
	}
	return "gpu-" + t.Name
}

// Roles of the platform, by group.
type Roles map[identity.Role][]string

// Directory is every tenant and the platform-wide roles.
type Directory struct {
	Tenants  []Tenant `json:"tenants"`
	Platform Roles    `json:"platform"`
}

// ByName finds a tenant.
func (d Directory) ByName(name string) (Tenant, bool) {
	i := slices.IndexFunc(d.Tenants, func(t Tenant) bool { return t.Name == name })
	if i < 0 {
		return Tenant{}, false
	}
	return d.Tenants[i], true
}

// Actor says what a person is, by their groups.
func (d Directory) Actor(p identity.Person, via identity.Via) identity.Actor {
	a := identity.Actor{Person: p, Via: via, Tenants: map[string][]identity.Role{}, Global: rolesOf(d.Platform, p.Groups)}
	for _, t := range d.Tenants {
		if roles := rolesOf(t.Groups, p.Groups); len(roles) > 0 {
			a.Tenants[t.Name] = roles
		}
	}
	return a
}

func rolesOf(by map[identity.Role][]string, groups []string) []identity.Role {
	var roles []identity.Role
	for _, role := range []identity.Role{identity.Developer, identity.Owner, identity.Approver, identity.Admin, identity.Auditor} {
		if slices.ContainsFunc(by[role], func(g string) bool { return slices.Contains(groups, g) }) {
			roles = append(roles, role)
		}
	}
	return roles
}
