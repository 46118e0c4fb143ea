package tenant

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
)

// Saved is what was written in the portal about a team. What is nil stays as the configuration has it; a team that the
// configuration does not know has all of it here.
type Saved struct {
	Title *string `json:"title,omitempty"`
	// only of a team made by hand, and never changed: its workloads are there
	Namespace string `json:"namespace,omitempty"`
	// a role that is listed here has these groups and no others
	Groups   map[identity.Role][]string `json:"groups,omitempty"`
	Quota    map[string]int             `json:"quota,omitempty"` // sizes that are listed here; the others stay
	Disabled *bool                      `json:"disabled,omitempty"`
	Defaults *Defaults                  `json:"defaults,omitempty"`
	Images   []Image                    `json:"images,omitempty"` // all of them: the configuration has none
	Schedule *schedule.Team             `json:"schedule,omitempty"`
	// members may start images of their own; the configuration says nothing of it
	CustomImages bool `json:"customImages,omitempty"`
}

// Revision is one version of what was saved about a team.
type Revision struct {
	Tenant     string
	Version    int64 // 1 and up
	Saved      Saved
	Author     identity.PersonID
	AuthorName string    // of the author, as it was then
	Note       i18n.Text // the author's own words, or what was done
	At         time.Time
}

// Member is somebody who has a role in a team by hand.
type Member struct {
	Tenant string
	Person identity.PersonID
	Role   identity.Role
	By     string // name of who added them, as it was then
	// Granted is who added them, then who had granted that person the role by which they could; see identity.Actor.
	Granted []identity.PersonID
	At      time.Time
}

// over gives a team with what was saved.
func (s Saved) over(t Tenant) Tenant {
	if s.Title != nil {
		t.Title = *s.Title
	}
	if s.Namespace != "" {
		t.Namespace = s.Namespace
	}
	t.Groups, t.Quota = layered(t.Groups, s.Groups), layered(t.Quota, s.Quota)
	if s.Disabled != nil {
		t.Disabled = *s.Disabled
	}
	if s.Defaults != nil {
		t.Defaults = *s.Defaults
	}
	t.Images, t.Schedule, t.CustomImages = s.Images, s.Schedule, s.CustomImages
	return t
}

func layered[K comparable, V any](below, above map[K]V) map[K]V {
	both := map[K]V{}
	maps.Copy(both, below)
	maps.Copy(both, above)
	return both
}

// differing is what has to be saved so that a team becomes another, over what the configuration says of it. A size or
// role that the other does not list is the configuration's again.
func differing(first, wanted Tenant) Saved {
	var s Saved
	if wanted.Title != first.Title {
		s.Title = &wanted.Title
	}
	if wanted.Disabled != first.Disabled {
		s.Disabled = &wanted.Disabled
	}
	if wanted.Defaults != first.Defaults {
		s.Defaults = &wanted.Defaults
	}
	s.Images, s.Schedule, s.CustomImages = wanted.Images, wanted.Schedule, wanted.CustomImages
	s.Groups, s.Quota = map[identity.Role][]string{}, map[string]int{}
	for role, groups := range wanted.Groups {
		if !slices.Equal(groups, first.Groups[role]) {
			s.Groups[role] = groups
		}
	}
	for size, n := range wanted.Quota {
		if was, listed := first.Quota[size]; !listed || was != n {
			s.Quota[size] = n
		}
	}
	return s
}

// Raised is what is saved about a team with a higher quota of one size, and no more than that: two that are raised at
// once do not undo each other.
func Raised(s Saved, size string, to int) Saved {
	s.Quota = layered(s.Quota, map[string]int{size: to})
	return s
}

// compose puts the configuration, what was saved over it, and the members by hand together. Teams of the configuration
// come first, in its order.
func compose(first Directory, saved []Revision, members []Member) Directory {
	d := Directory{Platform: first.Platform, Named: first.Named, ImagesFrom: first.ImagesFrom,
		Namespaces: first.Namespaces,
		Manual:     map[identity.PersonID]map[string][]identity.Role{},
		Granted:    map[identity.PersonID]map[string][]identity.PersonID{}}
	by := map[string]Revision{}
	for _, r := range saved {
		by[r.Tenant] = r
	}
	for _, t := range first.Tenants {
		if r, ok := by[t.Name]; ok {
			space := t.Namespace
			t = r.Saved.over(t)
			t.Namespace = space // the configuration's, also where the team was made by hand before
			delete(by, t.Name)
		}
		d.Tenants = append(d.Tenants, t)
	}
	for _, r := range slices.SortedFunc(maps.Values(by),
		func(a, b Revision) int { return cmp.Compare(a.Tenant, b.Tenant) }) {
		d.Tenants = append(d.Tenants, r.Saved.over(Tenant{Name: r.Tenant}))
	}
	for _, m := range members {
		if d.Manual[m.Person] == nil {
			d.Manual[m.Person], d.Granted[m.Person] = map[string][]identity.Role{}, map[string][]identity.PersonID{}
		}
		d.Granted[m.Person][identity.RolePrincipal(m.Role, m.Tenant)] = m.Granted
		d.Manual[m.Person][m.Tenant] = append(d.Manual[m.Person][m.Tenant], m.Role)
	}
	return d
}
