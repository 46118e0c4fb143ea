package tenant

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Colleagues finds people by the team that their groups put them into now.
type Colleagues struct {
	Store interface {
		Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
		People(ctx context.Context, search string, limit int) ([]identity.Person, error)
	}
	Actor func(p identity.Person) identity.Actor
}

// mostSearched bounds how many people of the site are looked through for those of a team.
const mostSearched = 2000

// Colleagues whose ID is the text, or whose name or address contains it, at most that many.
func (c Colleagues) Colleagues(ctx context.Context, team, search string, most int) ([]identity.Person, error) {
	people, err := c.Store.People(ctx, search, mostSearched)
	if err != nil {
		return nil, err
	}
	if p, err := c.Store.Person(ctx, identity.PersonID(search)); err == nil {
		people = append(people, p)
	} else if !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	var list []identity.Person
	for _, p := range people {
		if len(list) < most && !p.Disabled && c.Actor(p).Member(team) {
			list = append(list, p)
		}
	}
	return list, nil
}
