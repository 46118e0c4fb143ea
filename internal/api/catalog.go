package api

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// Me is who calls.
type Me struct {
	ID      string              `json:"id"`
	Name    string              `json:"name"`
	Email   string              `json:"email"`
	Roles   []string            `json:"roles" doc:"Platform-wide"`
	Tenants map[string][]string `json:"tenants" doc:"Roles by team"`
}

func (a *API) me(_ context.Context, actor identity.Actor, _ *struct{}) (*output[Me], error) {
	return reply(meView(actor), nil)
}

func meView(actor identity.Actor) Me {
	v := Me{ID: string(actor.Person.ID), Name: actor.Person.Name, Email: actor.Person.Email, Roles: []string{},
		Tenants: map[string][]string{}}
	for _, r := range actor.Global {
		v.Roles = append(v.Roles, string(r))
	}
	for name, roles := range actor.Tenants {
		for _, r := range roles {
			v.Tenants[name] = append(v.Tenants[name], string(r))
		}
	}
	return v
}

func (a *API) tenants(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[Tenant]], error) {
	var views []Tenant
	for _, t := range a.deps.Offers.Tenants(actor) {
		quotas, err := a.deps.Quotas.Of(ctx, t)
		if err != nil {
			return nil, err
		}
		views = append(views, tenantView(t, actor, quotas))
	}
	return reply(list(views, ""), nil)
}

type sizesInput struct {
	Tenant string `query:"tenant" maxLength:"63" doc:"For which team; the caller's first one when absent"`
}

func (a *API) sizes(ctx context.Context, actor identity.Actor, in *sizesInput) (*output[List[Size]], error) {
	l := i18n.From(ctx)
	name := in.Tenant
	if names := actor.TenantNames(); name == "" && len(names) > 0 {
		name = names[0]
	}
	var views []Size
	if name == "" { // an approver or auditor without a team sees what is on offer
		for _, s := range a.deps.Site().Catalog.Sizes {
			if !s.Hidden {
				views = append(views, sizeView(s, l))
			}
		}
		return reply(list(views, ""), nil)
	}
	offers, err := a.deps.Offers.List(ctx, actor, name)
	if err != nil {
		return nil, err
	}
	for _, o := range offers {
		views = append(views, offerView(o, l))
	}
	return reply(list(views, ""), nil)
}

func (a *API) images(_ context.Context, actor identity.Actor, in *sizesInput) (*output[List[Image]], error) {
	var views []Image
	site := a.deps.Site()
	images := slices.Clone(site.Catalog.Images)
	for _, t := range actor.TenantNames() {
		images = append(images, site.Directory.ImagesFor(t, site.Catalog)...)
	}
	for _, i := range images {
		offered := actor.SeesAll() || len(i.Tenants) == 0
		for _, t := range actor.TenantNames() {
			offered = offered || i.OfferedTo(t) && (in.Tenant == "" || in.Tenant == t)
		}
		if offered && !i.Hidden {
			views = append(views, imageView(i))
		}
	}
	return reply(list(views, ""), nil)
}

func (a *API) inventory(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[Cluster]], error) {
	site := a.deps.Site()
	named := map[string]bool{}
	for _, t := range site.Directory.Tenants {
		named[t.NamespaceName()] = actor.Member(t.Name)
	}
	if identity.Can(actor, identity.ReadHolders, identity.Resource{}) {
		named = nil
	}
	var views []Cluster
	for _, name := range site.Clusters {
		s, ok := a.deps.Snapshots.Snapshot(ctx, name)
		if !ok {
			s = inventory.Snapshot{Cluster: name}
		}
		views = append(views, clusterView(s, named, i18n.From(ctx)))
	}
	return reply(list(views, ""), nil)
}

type auditInput struct {
	Tenant   string    `query:"tenant" maxLength:"63"`
	Workload string    `query:"workload" maxLength:"64"`
	Request  string    `query:"request" maxLength:"64"`
	Person   string    `query:"person" maxLength:"64" doc:"An id, or a part of a name or e-mail address"`
	Text     string    `query:"text" maxLength:"100" doc:"Somewhere in the event. Each page looks through a stretch of the record and may be empty although there is a next one"`
	From     time.Time `query:"from" doc:"Not before"`
	Until    time.Time `query:"until" doc:"Before"`
	Kind     string    `query:"kind" maxLength:"64"`
	Limit    int       `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Cursor   string    `query:"cursor" maxLength:"200"`
}

func (a *API) audit(ctx context.Context, actor identity.Actor, in *auditInput) (*output[List[Event]], error) {
	if !identity.Can(actor, identity.ReadAudit, identity.Resource{}) {
		return nil, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	f := audit.Filter{Tenant: in.Tenant, Workload: in.Workload, Request: in.Request, Person: in.Person, Text: in.Text,
		From: in.From, Until: in.Until, Cursor: in.Cursor, Limit: in.Limit}
	if in.Kind != "" {
		f.Kinds = []audit.Kind{audit.Kind(in.Kind)}
	}
	events, next, err := a.deps.Events.Events(ctx, f)
	return reply(list(eventViews(events, i18n.From(ctx)), next), err)
}
