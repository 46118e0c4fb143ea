package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func (a *API) registerGrants() {
	add(a, op(http.MethodGet, "/workloads/{id}/grants", "list-grants", "Who may open a workload or read its logs besides "+
		"its owner", "Workloads"), identity.ChangeWorkload, a.grants)
	add(a, op(http.MethodGet, "/workloads/{id}/visitors", "list-visitors", "Who was inside a workload within 30 days, "+
		"newest first", "Workloads"), identity.ChangeWorkload, a.visitors)
	add(a, created(op(http.MethodPost, "/workloads/{id}/grants", "create-grant", "Share a workload with the team, a "+
		"colleague, a group or by a link", "Workloads")), identity.ChangeWorkload, a.createGrant)
	add(a, op(http.MethodDelete, "/workloads/{id}/grants/{grant}", "revoke-grant", "Stop sharing; whoever is inside is "+
		"out within seconds", "Workloads"), identity.ChangeWorkload, a.revokeGrant)
	add(a, op(http.MethodPost, "/workloads/{id}/join", "join-workload", "Accept what a link offers", "Workloads"),
		identity.ReadWorkload, a.join)
}

// Grant is who else may open a workload or read its logs.
type Grant struct {
	ID         string     `json:"id"`
	To         string     `json:"to" enum:"team,person,group,link"`
	Person     string     `json:"person,omitempty" doc:"ID of a colleague"`
	Name       string     `json:"name,omitempty" doc:"Of a colleague"`
	Group      string     `json:"group,omitempty"`
	ByLink     string     `json:"byLink,omitempty" doc:"Grant of the link that the colleague followed"`
	Permission string     `json:"permission" enum:"read,use" doc:"read: its logs; use: open it as well"`
	Until      *time.Time `json:"until,omitempty" doc:"Absent: as long as the workload is there"`
	CreatedAt  time.Time  `json:"createdAt"`
	Link       string     `json:"link,omitempty" doc:"Address to send to colleagues; only where it was just made"`
}

// Visit is when somebody was inside.
type Visit struct {
	Person string    `json:"person"`
	Name   string    `json:"name"`
	SeenAt time.Time `json:"seenAt"`
	Inside bool      `json:"inside" doc:"Within the last minute"`
}

func grantView(g workload.Grant, link string) Grant {
	return Grant{ID: g.ID, To: string(g.To), Person: string(g.Person), Name: g.Name, Group: g.Group, ByLink: g.Link,
		Permission: string(g.Permission), Until: moment(g.Until), CreatedAt: g.At, Link: link}
}

func (a *API) grants(ctx context.Context, actor identity.Actor, in *idInput) (*output[List[Grant]], error) {
	grants, err := a.deps.Workloads.Grants(ctx, actor, workload.ID(in.ID))
	views := make([]Grant, len(grants))
	for i, g := range grants {
		views[i] = grantView(g, "")
	}
	return reply(list(views, ""), err)
}

func (a *API) visitors(ctx context.Context, actor identity.Actor, in *idInput) (*output[List[Visit]], error) {
	visits, err := a.deps.Workloads.Visitors(ctx, actor, workload.ID(in.ID))
	views := make([]Visit, len(visits))
	for i, v := range visits {
		views[i] = Visit{Person: string(v.Person), Name: v.Name, SeenAt: v.At,
			Inside: a.deps.Now().Sub(v.At) < workload.Inside}
	}
	return reply(list(views, ""), err)
}

type createGrantInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		To         string `json:"to" enum:"team,person,group,link"`
		Person     string `json:"person,omitempty" maxLength:"300" example:"otto@example.org" doc:"ID or address of a colleague"`
		Group      string `json:"group,omitempty" maxLength:"300" doc:"As the sign-in provider calls it; its members in the team"`
		Permission string `json:"permission,omitempty" enum:"read,use" default:"use"`
		Until      string `json:"until,omitempty" maxLength:"40" example:"7d" doc:"A time (RFC 3339) or how long; absent: as long as the workload is there"`
	}
}

func (a *API) createGrant(ctx context.Context, actor identity.Actor, in *createGrantInput) (*output[Grant], error) {
	now := a.deps.Now()
	d := workload.GrantDraft{To: workload.Grantee(in.Body.To), Person: in.Body.Person, Group: in.Body.Group,
		Permission: workload.Permission(in.Body.Permission)}
	if in.Body.Until != "" {
		var err error
		if d.Until, err = time.Parse(time.RFC3339, in.Body.Until); err != nil {
			lasts, err := catalog.ParseDuration(in.Body.Until)
			if err != nil {
				lasts = 0 // the service says what is wrong with that
			}
			d.Until = now.Add(lasts.Std())
		}
	}
	w, g, secret, err := a.deps.Workloads.Grant(ctx, actor, workload.ID(in.ID), d)
	link := ""
	if secret != "" {
		link = strings.TrimRight(a.deps.PortalURL, "/") + "/workloads/" + url.PathEscape(string(w.ID)) + "/join?" +
			url.Values{"invite": {secret}}.Encode()
	}
	return reply(grantView(g, link), err)
}

type grantInput struct {
	ID    string `path:"id" maxLength:"64"`
	Grant string `path:"grant" maxLength:"64"`
}

func (a *API) revokeGrant(ctx context.Context, actor identity.Actor, in *grantInput) (*struct{}, error) {
	_, err := a.deps.Workloads.Revoke(ctx, actor, workload.ID(in.ID), in.Grant)
	return &struct{}{}, err
}

type joinInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Invite string `json:"invite" maxLength:"100" doc:"Of the link's address"`
	}
}

func (a *API) join(ctx context.Context, actor identity.Actor, in *joinInput) (*output[Workload], error) {
	w, err := a.deps.Workloads.Follow(ctx, actor, workload.ID(in.ID), in.Body.Invite)
	return a.view(ctx, w, err)
}
