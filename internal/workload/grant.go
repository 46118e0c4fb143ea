package workload

import (
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Permission is what a grant allows.
type Permission string

// The permissions. Everybody in the team reads the workload's page without any.
const (
	MayRead Permission = "read" // read its logs
	MayUse  Permission = "use"  // open it as the owner does, and read its logs
)

// Grantee is the kind of subject of a grant: the team, a person, a group, or who follows a link. All must be members of
// the workload's team.
type Grantee string

// The grantees.
const (
	ToTeam   Grantee = "team"
	ToPerson Grantee = "person"
	ToGroup  Grantee = "group" // of the sign-in provider
	ToLink   Grantee = "link"  // each member who follows it gets a grant of their own
)

// Grant gives access to a workload to somebody besides its owner.
type Grant struct {
	ID         string            `json:"id"`
	To         Grantee           `json:"to"`
	Person     identity.PersonID `json:"person,omitempty"`
	Group      string            `json:"group,omitempty"`
	Name       string            `json:"name,omitempty"` // of the person, when it was given
	Link       string            `json:"link,omitempty"` // ID of the link that the person followed
	Permission Permission        `json:"permission"`
	Until      time.Time         `json:"until,omitzero"` // zero: as long as the workload is there
	SecretHash string            `json:"secretHash,omitempty"`
	At         time.Time         `json:"at"`
}

// Holds reports whether the grant has not ended.
func (g Grant) Holds(now time.Time) bool { return g.Until.IsZero() || now.Before(g.Until) }

// same reports whether two grants are for the same people.
func (g Grant) same(b Grant) bool {
	return g.To == b.To && g.To != ToLink && g.Person == b.Person && g.Group == b.Group
}

// Granted reports whether the whole team may open the workload.
func (w Workload) Granted(now time.Time) bool {
	return slices.ContainsFunc(w.Grants, func(g Grant) bool {
		return g.To == ToTeam && g.Permission == MayUse && g.Holds(now)
	})
}

// has reports whether the very same is granted already.
func (w Workload) has(g Grant, now time.Time) bool {
	return slices.ContainsFunc(w.Grants, func(b Grant) bool {
		return b.same(g) && b.Holds(now) && b.Permission == g.Permission && b.Until.Equal(g.Until)
	})
}

// mostGrants bounds the list that is asked with each call.
const mostGrants = 100

// granting adds a grant in place of one for the same people, and forgets those that have ended.
func granting(g Grant) Change {
	return func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		if w.State == Ended || w.Desired == WantDeleted {
			return w, nil, gone()
		}
		if w.has(g, now) {
			return w, nil, nil
		}
		next := slices.DeleteFunc(slices.Clone(w.Grants), func(b Grant) bool { return b.same(g) || !b.Holds(now) })
		if len(next) >= mostGrants {
			return w, nil, fault.New(fault.Conflict, i18n.T("grants.too_many", "Most", mostGrants))
		}
		w.Grants, w.UpdatedAt = append(next, g), now
		return w, []audit.Event{changed(w, a, audit.WorkloadShared, now, i18n.Text{},
			audit.Changed("grants."+g.whom(), "", g.terms()))}, nil
	}
}

// revoking takes a grant away, and with a link those of the people who followed it.
func revoking(id string) Change {
	return func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		at := slices.IndexFunc(w.Grants, func(g Grant) bool { return g.ID == id })
		if at < 0 {
			return w, nil, fault.New(fault.NotFound, i18n.T("grants.not_found"))
		}
		g := w.Grants[at]
		w.Grants = slices.DeleteFunc(slices.Clone(w.Grants), func(b Grant) bool { return b.ID == id || b.Link == id })
		w.UpdatedAt = now
		return w, []audit.Event{changed(w, a, audit.WorkloadShared, now, i18n.Text{},
			audit.Changed("grants."+g.whom(), g.terms(), ""))}, nil
	}
}

// endTeamGrants takes back what everybody in the team was granted.
func endTeamGrants(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
	at := slices.IndexFunc(w.Grants, func(g Grant) bool { return g.To == ToTeam })
	if at < 0 {
		return w, nil, nil
	}
	return revoking(w.Grants[at].ID)(w, a, now)
}

// whom is the grantee in a record of changes.
func (g Grant) whom() string {
	switch g.To {
	case ToPerson:
		return string(ToPerson) + "." + string(g.Person)
	case ToGroup:
		return string(ToGroup) + "." + g.Group
	case ToLink:
		return string(ToLink) + "." + g.ID
	default:
		return string(g.To)
	}
}

func (g Grant) terms() string {
	if g.Until.IsZero() {
		return string(g.Permission)
	}
	return string(g.Permission) + " until " + stamp(g.Until)
}

// Visit is a person's last use of a workload, through the gateway, a terminal or a tunnel.
type Visit struct {
	Workload ID
	Person   identity.PersonID
	Name     string // as listed
	At       time.Time
}

// Inside is how recent a visit is of somebody who counts as inside now.
const Inside = time.Minute
