package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

func (a *API) registerEmbeds() {
	add(a, op(http.MethodGet, "/embeds", "list-embeds", "Addresses with which pages of other sites show a panel, newest "+
		"first; those of others for admins and auditors", "People"), identity.ReadEmbeds, a.embeds)
	add(a, created(op(http.MethodPost, "/embeds", "create-embed", "Make an address with which pages of allowed sites "+
		"show a panel, read only, as far as I may see it", "People")), identity.ManageEmbeds, a.createEmbed)
	add(a, op(http.MethodDelete, "/embeds/{id}", "revoke-embed", "End an address for good; those of others for admins",
		"People"), identity.ManageEmbeds, a.revokeEmbed)
}

// Embed is an address of a panel.
type Embed struct {
	ID        string    `json:"id"`
	Panel     string    `json:"panel" enum:"workload,team,fleet,licenses"`
	Subject   string    `json:"subject,omitempty" doc:"Id of the workload, name of the team"`
	Title     string    `json:"title,omitempty" doc:"Of the subject, as it was when the address was made"`
	Theme     string    `json:"theme,omitempty" enum:"light,dark" doc:"Absent: as the reader's system says"`
	Person    string    `json:"person" doc:"Who made it, and whose rights count"`
	Address   string    `json:"address,omitempty" doc:"For an iframe; only in answers to its maker"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func embedView(e embed.Embed, address string) Embed {
	return Embed{ID: e.ID, Panel: string(e.Panel), Subject: e.Subject, Title: e.Title, Theme: string(e.Theme),
		Person: string(e.Person), Address: address, CreatedAt: e.CreatedAt.UTC(), ExpiresAt: e.ExpiresAt.UTC()}
}

type embedsInput struct {
	Person string `query:"person" maxLength:"64" doc:"Of somebody else; absent: my own"`
}

func personOrMe(id string) identity.PersonID {
	if id == "" {
		return embed.Me
	}
	return identity.PersonID(id)
}

func (a *API) embeds(ctx context.Context, actor identity.Actor, in *embedsInput) (*output[List[Embed]], error) {
	all, err := a.deps.Embeds.List(ctx, actor, personOrMe(in.Person))
	if err != nil {
		return nil, err
	}
	views := make([]Embed, len(all))
	for i, e := range all {
		address := ""
		if e.Person == actor.Person.ID {
			if address, err = a.deps.Embeds.Address(e); err != nil {
				return nil, err
			}
		}
		views[i] = embedView(e, address)
	}
	return reply(list(views, ""), nil)
}

type createEmbedInput struct {
	Body struct {
		Panel   string `json:"panel" enum:"workload,team,fleet,licenses"`
		Subject string `json:"subject,omitempty" maxLength:"64" doc:"Id of the workload, name of the team; absent for the others"`
		Theme   string `json:"theme,omitempty" enum:"light,dark" doc:"Absent: as the reader's system says"`
		Expires string `json:"expires,omitempty" maxLength:"40" example:"30d" doc:"A time (RFC 3339) or how long it lasts; absent: as long as may be"`
	}
}

func (a *API) createEmbed(ctx context.Context, actor identity.Actor, in *createEmbedInput) (*output[Embed], error) {
	draft := embed.Draft{Panel: embed.Panel(in.Body.Panel), Subject: in.Body.Subject, Theme: embed.Theme(in.Body.Theme),
		Life: a.deps.Embeds.MaxLife()}
	if in.Body.Expires != "" {
		if until, err := time.Parse(time.RFC3339, in.Body.Expires); err == nil {
			draft.Life = until.Sub(a.deps.Now())
		} else {
			lasts, err := catalog.ParseDuration(in.Body.Expires)
			if err != nil {
				lasts = 0 // the service says what is wrong with that
			}
			draft.Life = lasts.Std()
		}
	}
	e, address, err := a.deps.Embeds.Create(ctx, actor, draft)
	return reply(embedView(e, address), err)
}

type embedInput struct {
	ID     string `path:"id" maxLength:"64"`
	Person string `query:"person" maxLength:"64" doc:"Who made it, where that is somebody else"`
}

func (a *API) revokeEmbed(ctx context.Context, actor identity.Actor, in *embedInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Embeds.Revoke(ctx, actor, personOrMe(in.Person), in.ID)
}
