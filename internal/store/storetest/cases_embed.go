package storetest

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

func embedOf(id string, person identity.PersonID, made int) embed.Embed {
	return embed.Embed{ID: id, Panel: embed.Workload, Subject: "w-1", Title: "train", Theme: embed.Dark, Person: person,
		CreatedAt: later(made), ExpiresAt: later(made + 100)}
}

var embedCases = cases{
	"an embed is made, listed newest first, and revoked by its person only": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SavePerson(ctx, Person("p-ada")))
		must(t, s.SavePerson(ctx, Person("p-bob")))
		one, two := embedOf("e-1", "p-ada", 0), embedOf("e-2", "p-ada", 5)
		filled(t, one)
		must(t, s.CreateEmbed(ctx, one, 2, Event(0)))
		must(t, s.CreateEmbed(ctx, two, 2, Event(0)))
		equal(t, one, got(s.Embed(ctx, "e-1"))(t))
		equal(t, []embed.Embed{two, one}, got(s.EmbedsOf(ctx, "p-ada"))(t))
		equal(t, 0, len(got(s.EmbedsOf(ctx, "p-bob"))(t)))
		fails(t, fault.NotFound, s.RevokeEmbed(ctx, "p-bob", "e-1", Event(1)))
		must(t, s.RevokeEmbed(ctx, "p-ada", "e-1", Event(1)))
		fails(t, fault.NotFound, s.RevokeEmbed(ctx, "p-ada", "e-1", Event(1)))
		_, err := s.Embed(ctx, "e-1")
		fails(t, fault.NotFound, err)
	},
	"nobody has more embeds than so many that go on; those that ended are seen for a month": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		must(t, s.SavePerson(ctx, Person("p-ada")))
		must(t, s.CreateEmbed(ctx, embedOf("e-1", "p-ada", 0), 1, Event(0)))
		fails(t, fault.Conflict, s.CreateEmbed(ctx, embedOf("e-2", "p-ada", 99), 1, Event(0)))
		must(t, s.CreateEmbed(ctx, embedOf("e-3", "p-ada", 100), 1, Event(0)))
		must(t, s.PurgeOld(ctx, later(101)))
		equal(t, 2, len(got(s.EmbedsOf(ctx, "p-ada"))(t)))
		must(t, s.PurgeOld(ctx, later(31*24*3600)))
		equal(t, 0, len(got(s.EmbedsOf(ctx, "p-ada"))(t)))
	},
}
