package tenant

import (
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
)

// Tenant is a team.
type Tenant struct {
	Name      string `json:"name"`                // DNS label, unique, at most 50 characters; needed
	Title     string `json:"title,omitempty"`     // what people read; default the name
	Namespace string `json:"namespace,omitempty"` // its namespace on every cluster; default gpu-NAME
	// by role (developer, owner, approver): names of groups as the provider spells them, "*" for any characters
	Groups map[identity.Role][]string `json:"groups"`
	// how many of a size at once; "*" speaks for sizes that are not listed, which are not allowed without it. "h100@edge"
	// limits a size on one cluster beside that, "*@edge" each size there
	Quota    map[string]int `json:"quota"`
	Disabled bool           `json:"disabled,omitempty"` // keeps its data, starts nothing
	Defaults Defaults       `json:"defaults,omitzero"`  // what the form for a start begins with
	Images   []Image        `json:"-"`                  // the team's own, which its owners add in the portal
	Schedule *schedule.Team `json:"-"`                  // when its workloads run; nil where its owners said nothing
	// CustomImages lets members start images that neither the catalog nor the team has, of repositories that the
	// administrator allows.
	CustomImages bool `json:"-"`
}

// GroupNames are the groups whose people are in the tenant, each once: developers' first.
func (t Tenant) GroupNames() []string {
	var names []string
	for _, role := range MemberRoles {
		for _, g := range t.Groups[role] {
			if !slices.Contains(names, g) {
				names = append(names, g)
			}
		}
	}
	return names
}

// Defaults are what a member's first start begins with; an empty one leaves that to the portal.
type Defaults struct {
	Size  string `json:"size,omitempty"`  // name of a size
	Image string `json:"image,omitempty"` // name of an image
	Lease string `json:"lease,omitempty"` // how long it runs, "8h"
}

// EverySize is the entry of a quota that stands for each size without an entry of its own, also for one that is offered
// later.
const EverySize = "*"

// QuotaOf is how many of a size the tenant may hold at once, on all clusters together.
func (t Tenant) QuotaOf(size string) int {
	limit, listed := t.Quota[size]
	if !listed {
		limit = t.Quota[EverySize]
	}
	return max(0, limit)
}

// QuotaKey is the entry of a quota that counts a size on one cluster, beside the entry that counts it on all of them;
// cluster "" is that one.
func QuotaKey(size, cluster string) string {
	if cluster == "" {
		return size
	}
	return size + "@" + cluster
}

// ParseQuotaKey takes a key of a quota apart.
func ParseQuotaKey(key string) (size, cluster string) {
	size, cluster, _ = strings.Cut(key, "@")
	return size, cluster
}

// Limit is how many of a size a tenant may hold at once.
type Limit struct {
	Most    int
	Cluster string // where; "" for all clusters together
}

// Limits of a size on a cluster: the one of all clusters together, then that of the cluster where there is one.
func (t Tenant) Limits(size, cluster string) []Limit {
	list := []Limit{{Most: t.QuotaOf(size)}}
	if cluster == "" {
		return list
	}
	most, listed := t.Quota[QuotaKey(size, cluster)]
	if !listed {
		most, listed = t.Quota[QuotaKey(EverySize, cluster)]
	}
	if listed {
		list = append(list, Limit{Most: max(0, most), Cluster: cluster})
	}
	return list
}

// QuotaOn is how many of a size the tenant may hold at once on a cluster.
func (t Tenant) QuotaOn(size, cluster string) int {
	most := t.QuotaOf(size)
	for _, l := range t.Limits(size, cluster) {
		most = min(most, l.Most)
	}
	return most
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
	Named    Roles    `json:"named,omitempty"` // rules for all teams, with a TeamHole
	// Manual are the roles that people have beside those of their groups, by person and team.
	Manual map[identity.PersonID]map[string][]identity.Role `json:"-"`
	// Granted is who gave those roles, by person and identity.RolePrincipal; see identity.Actor.
	Granted    map[identity.PersonID]map[string][]identity.PersonID `json:"-"`
	Namespaces NamespaceRule                                        `json:"-"`
	// ImagesFrom are patterns of the repositories that owners may take images from, see ImagesFromProblem; none means that
	// they may take none.
	ImagesFrom []string `json:"-"`
}

// ByName finds a tenant.
func (d Directory) ByName(name string) (Tenant, bool) {
	for i := range d.Tenants { // a page asks for hundreds of names, and a tenant is much to pass on
		if d.Tenants[i].Name == name {
			return d.Tenants[i], true
		}
	}
	return Tenant{}, false
}

// Actor says what a person is, by their groups.
func (d Directory) Actor(p identity.Person, via identity.Via) identity.Actor {
	m := d.memberOf(p, via)
	for i := range d.Tenants {
		m.join(&d.Tenants[i])
	}
	return m.actor
}

// Actors is Actor of many people: it looks for each only at the teams that one of them may be in.
func (d Directory) Actors(people []identity.Person, via identity.Via) []identity.Actor {
	members, groups, named := make([]member, len(people)), map[string]bool{}, map[string]bool{}
	for i, p := range people {
		m := d.memberOf(p, via)
		for _, group := range p.Groups {
			groups[group] = true
		}
		for team := range m.named {
			named[team] = true
		}
		for team := range m.manual {
			named[team] = true
		}
		members[i] = m
	}
	for i := range d.Tenants {
		t := &d.Tenants[i]
		if !named[t.Name] && !t.mayHave(groups) {
			continue
		}
		for _, m := range members {
			m.join(t)
		}
	}
	actors := make([]identity.Actor, len(members))
	for i, m := range members {
		actors[i] = m.actor
	}
	return actors
}

// mayHave reports whether a rule of the team is the name of one of these groups, or a pattern.
func (t *Tenant) mayHave(groups map[string]bool) bool {
	for _, rules := range t.Groups {
		if slices.ContainsFunc(rules, func(r string) bool { return groups[r] || strings.Contains(r, "*") }) {
			return true
		}
	}
	return false
}

// member is somebody whose teams are being found.
type member struct {
	actor         identity.Actor
	named, manual map[string][]identity.Role // by team: of the rules for all teams, and beside those of groups
	granted       map[string][]identity.PersonID
}

func (d Directory) memberOf(p identity.Person, via identity.Via) member {
	return member{named: d.named(p.Groups), manual: d.Manual[p.ID], granted: d.Granted[p.ID],
		actor: identity.Actor{Person: p, Via: via, Tenants: map[string][]identity.Role{},
			Global: rolesOf(d.Platform, p.Groups), Granted: map[string][]identity.PersonID{}}}
}

// join gives the roles that they have in a team, if any.
func (m member) join(t *Tenant) {
	groups, manual := union(rolesOf(t.Groups, m.actor.Person.Groups), m.named[t.Name]), m.manual[t.Name]
	if roles := union(groups, manual); len(roles) > 0 {
		m.actor.Tenants[t.Name] = roles
	}
	for _, role := range manual {
		if !slices.Contains(groups, role) {
			key := identity.RolePrincipal(role, t.Name)
			m.actor.Granted[key] = m.granted[key]
		}
	}
}

// union has each role once, in the order of the roles; hand are those that come from elsewhere than the team's own
// groups.
func union(groups, hand []identity.Role) []identity.Role {
	if len(hand) == 0 {
		return groups
	}
	var both []identity.Role
	for _, r := range MemberRoles {
		if slices.Contains(groups, r) || slices.Contains(hand, r) {
			both = append(both, r)
		}
	}
	return both
}

// MemberRoles are the roles that somebody can have in a team.
var MemberRoles = []identity.Role{identity.Developer, identity.Owner, identity.Approver}

// GroupFor is the first group of a person that gives them a role in the team; ok is false where none does.
func (t Tenant) GroupFor(role identity.Role, groups []string) (group string, ok bool) {
	i := slices.IndexFunc(groups, func(g string) bool {
		return slices.ContainsFunc(t.Groups[role], func(pattern string) bool { return Matches(pattern, g) })
	})
	if i < 0 {
		return "", false
	}
	return groups[i], true
}

// Matches reports whether a group is the one of a rule: the same name, or one that has the rule's parts in their order
// where the rule has "*" between them.
func Matches(pattern, group string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == group
	}
	last := len(parts) - 1
	rest, found := strings.CutPrefix(group, parts[0])
	if !found {
		return false
	}
	for _, part := range parts[1:last] { // the leftmost place of each leaves most room for the next
		if _, rest, found = strings.Cut(rest, part); !found {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[last])
}

// everyRole is in the order in which roles are told.
var everyRole = []identity.Role{identity.Developer, identity.Owner, identity.Approver, identity.Admin, identity.Auditor}

func rolesOf(by map[identity.Role][]string, groups []string) []identity.Role {
	var roles []identity.Role
	left := len(by) // most teams have groups for two roles: the others need not be looked up
	for _, role := range everyRole {
		if left == 0 {
			break
		}
		patterns, has := by[role]
		if !has {
			continue
		}
		left--
		if slices.ContainsFunc(patterns, func(pattern string) bool { return held(pattern, groups) }) {
			roles = append(roles, role)
		}
	}
	return roles
}

// held is Matches for all groups of a person; a plain name is looked up without taking it apart.
func held(pattern string, groups []string) bool {
	if !strings.Contains(pattern, "*") {
		return slices.Contains(groups, pattern)
	}
	return slices.ContainsFunc(groups, func(g string) bool { return Matches(pattern, g) })
}
