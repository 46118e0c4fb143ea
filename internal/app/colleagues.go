package app

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// colleagues finds people by the team that their groups put them into now.
type colleagues struct{ a *App }

// mostSearched bounds how many people of the site are looked through for those of a team.
const mostSearched = 2000

// Colleagues whose ID is the text, or whose name or address contains it.
func (c colleagues) Colleagues(ctx context.Context, team, search string, most int) ([]identity.Person, error) {
	people, err := c.a.store.People(ctx, search, mostSearched)
	if err != nil {
		return nil, err
	}
	if p, err := c.a.store.Person(ctx, identity.PersonID(search)); err == nil {
		people = append(people, p)
	} else if !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	var list []identity.Person
	for _, p := range people {
		if len(list) < most && !p.Disabled && c.a.actor(p, identity.ViaSession).Member(team) {
			list = append(list, p)
		}
	}
	return list, nil
}
