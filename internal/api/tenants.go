package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// TenantEntry is a team with where it comes from.
type TenantEntry struct {
	Name      string              `json:"name"`
	Title     string              `json:"title"`
	Namespace string              `json:"namespace"`
	Groups    map[string][]string `json:"groups" doc:"Group rules by role; * in one stands for any characters. Empty for members who are no owners"`
	Quota     map[string]int      `json:"quota" doc:"By size; * stands for each size that is not listed. size@cluster counts on one cluster, beside that"`
	Disabled  bool                `json:"disabled" doc:"Keeps its data and starts nothing; what runs goes on until it is stopped"`
	Defaults  TenantDefaults      `json:"defaults"`
	Custom    bool                `json:"customImages" doc:"Members may start images of their own, of repositories that the administrator allows"`
	From      string              `json:"from" enum:"configuration,portal,both" doc:"Who says so; with both, what was saved in the portal counts over the configuration"`
	Version   int64               `json:"version" doc:"Send it back as base"`
}

// TenantDefaults are what a member's first start begins with.
type TenantDefaults struct {
	Size  string `json:"size,omitempty" maxLength:"63"`
	Image string `json:"image,omitempty" maxLength:"63"`
	Lease string `json:"lease,omitempty" maxLength:"32" example:"8h"`
}

func tenantEntryView(e tenant.Entry) TenantEntry {
	v := TenantEntry{Name: e.Name, Title: e.Display(), Namespace: e.NamespaceName(), Groups: map[string][]string{},
		Quota: map[string]int{}, Disabled: e.Disabled,
		Defaults: TenantDefaults(e.Defaults), Custom: e.CustomImages, Version: e.Version(), From: "both"}
	switch {
	case e.Configured == nil:
		v.From = "portal"
	case e.Newest == nil:
		v.From = "configuration"
	}
	for role, groups := range e.Groups {
		v.Groups[string(role)] = append([]string{}, groups...)
	}
	for size, n := range e.Quota {
		v.Quota[size] = n
	}
	return v
}

type tenantInput struct {
	Name string `path:"name" maxLength:"63"`
}

func (a *API) tenantEntry(_ context.Context, actor identity.Actor, in *tenantInput) (*output[TenantEntry], error) {
	e, err := a.deps.Tenants.Visible(actor, in.Name)
	if err != nil {
		return nil, err
	}
	v := tenantEntryView(e)
	if !actor.SeesAll() && !identity.Can(actor, identity.ChangeMembers, identity.Resource{Tenant: in.Name}) {
		v.Groups = map[string][]string{} // whose groups open the team is for those who answer for it
	}
	return reply(v, nil)
}

// TenantBody is what can be said of a team.
type TenantBody struct {
	Title    string              `json:"title,omitempty" maxLength:"80"`
	Groups   map[string][]string `json:"groups,omitempty" doc:"By role: developer, owner, approver. A role that is left out is the configuration's"`
	Quota    map[string]int      `json:"quota,omitempty" doc:"By size. A size that is left out is the configuration's"`
	Disabled bool                `json:"disabled,omitempty"`
	Note     string              `json:"note,omitempty" maxLength:"300"`
}

func (b TenantBody) draft() tenant.Draft {
	d := tenant.Draft{Title: b.Title, Quota: b.Quota, Disabled: b.Disabled, Note: b.Note,
		Groups: map[identity.Role][]string{}}
	for role, groups := range b.Groups {
		d.Groups[identity.Role(role)] = groups
	}
	return d
}

type createTenantInput struct {
	Body struct {
		TenantBody
		Name      string `json:"name" maxLength:"63"`
		Namespace string `json:"namespace,omitempty" maxLength:"63" doc:"gpu-<name> when absent"`
	}
}

func (a *API) createTenant(ctx context.Context, actor identity.Actor,
	in *createTenantInput) (*output[TenantEntry], error) {
	d := in.Body.draft()
	d.Name, d.Namespace, d.New = in.Body.Name, in.Body.Namespace, true
	return a.savedTenant(ctx, actor, d)
}

type saveTenantInput struct {
	Name string `path:"name" maxLength:"63"`
	Body struct {
		TenantBody
		Base int64 `json:"base" minimum:"0" doc:"The version that this was written from; another one that came between is a conflict"`
	}
}

func (a *API) saveTenant(ctx context.Context, actor identity.Actor, in *saveTenantInput) (*output[TenantEntry], error) {
	d := in.Body.draft()
	d.Name, d.Base = in.Name, in.Body.Base
	return a.savedTenant(ctx, actor, d)
}

func (a *API) savedTenant(ctx context.Context, actor identity.Actor, d tenant.Draft) (*output[TenantEntry], error) {
	e, err := a.deps.Tenants.Save(ctx, actor, d)
	if err != nil {
		return nil, err
	}
	return reply(tenantEntryView(e), nil)
}

// CheckedQuota is what another quota would mean for a team. Each start of the last 30 days is looked at with what the
// team held then.
type CheckedQuota struct {
	Seen    int              `json:"seen" doc:"Starts of the last 30 days, those that were refused among them"`
	Capped  bool             `json:"capped" doc:"There were more than are looked at"`
	Refused []ComparedStart  `json:"refused" doc:"Those that would have been refused"`
	Allowed []ComparedStart  `json:"allowed" doc:"Those that were refused and would not have been"`
	Running int              `json:"running" doc:"Workloads that hold something now"`
	Over    []QuotaExceeding `json:"over" doc:"Sizes of which the team holds more than it then may; what runs goes on"`
	Waiting int              `json:"waiting" doc:"Starts that nobody decided yet"`
	Blocked []ComparedStart  `json:"blocked" doc:"Those of them that could not be approved"`
}

// ComparedStart is one start of the past.
type ComparedStart struct {
	Request string    `json:"request" doc:"Empty for one that was refused at once"`
	Asker   string    `json:"asker"`
	Size    string    `json:"size"`
	AskedAt time.Time `json:"askedAt"`
}

// QuotaExceeding is a size of which a team holds too many.
type QuotaExceeding struct {
	Size    string          `json:"size"`
	Cluster string          `json:"cluster,omitempty" doc:"Where it is counted; left out for all clusters together"`
	Holds   int             `json:"holds"`
	Limit   int             `json:"limit"`
	Started []ComparedStart `json:"started" doc:"The last ones over the limit, newest first"`
}

type checkQuotaInput struct {
	Name string `path:"name" maxLength:"63"`
	Body struct {
		Quota map[string]int `json:"quota" doc:"How many of a size at once, by name; * for all others, size@cluster on one cluster"`
	}
}

func (a *API) checkQuota(ctx context.Context, actor identity.Actor,
	in *checkQuotaInput) (*output[CheckedQuota], error) {
	c, err := a.deps.Comparisons.Quota(ctx, actor, in.Name, in.Body.Quota)
	if err != nil {
		return nil, err
	}
	v := CheckedQuota{Seen: c.Seen, Capped: c.Capped, Refused: comparedStarts(c.Refused),
		Allowed: comparedStarts(c.Allowed), Running: c.Running, Over: []QuotaExceeding{},
		Waiting: c.Waiting, Blocked: comparedStarts(c.Blocked)}
	for _, o := range c.Excesses {
		v.Over = append(v.Over, QuotaExceeding{Size: o.Size.Name, Cluster: o.Cluster, Holds: o.Holds, Limit: o.Limit,
			Started: comparedStarts(o.Started)})
	}
	return reply(v, nil)
}

func comparedStarts(list []request.Compared) []ComparedStart {
	views := []ComparedStart{}
	for _, r := range list {
		views = append(views, ComparedStart{Request: string(r.Request), Asker: r.AskerName, Size: r.Spec.Size.Name,
			AskedAt: r.AskedAt})
	}
	return views
}

// TenantRevision is one version of what was saved about a team.
type TenantRevision struct {
	Version int64     `json:"version"`
	Author  string    `json:"author"`
	Note    string    `json:"note,omitempty"`
	SavedAt time.Time `json:"savedAt"`
}

type tenantRevisionsInput struct {
	Name   string `path:"name" maxLength:"63"`
	Before int64  `query:"before" minimum:"0" doc:"Only versions below this one"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50"`
}

func (a *API) tenantRevisions(ctx context.Context, actor identity.Actor,
	in *tenantRevisionsInput) (*output[List[TenantRevision]], error) {
	revisions, _, err := a.deps.Tenants.Revisions(ctx, actor, in.Name, in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	var views []TenantRevision
	for _, r := range revisions {
		views = append(views, TenantRevision{Version: r.Version, Author: r.AuthorName, Note: i18n.From(ctx).Say(r.Note),
			SavedAt: r.At})
	}
	return reply(list(views, ""), nil)
}

// Member is a person with one role in a team.
type Member struct {
	Person string `json:"person"`
	Name   string `json:"name"`
	Email  string `json:"email"`
	Role   string `json:"role" enum:"developer,owner,approver"`
	Group  string `json:"group,omitempty" doc:"Of the sign-in provider, which gives the role; absent for by hand"`
	By     string `json:"by,omitempty" doc:"Who gave it by hand"`
	// Barred are ids, as people may have the same name.
	Barred []string `json:"notFor,omitempty" doc:"Ids of the people whose requests the person cannot decide by this role, because they gave it, or gave the giver theirs; with the person's own id among them it counts for nobody's"`
}

func (a *API) members(ctx context.Context, actor identity.Actor, in *tenantInput) (*output[List[Member]], error) {
	members, err := a.deps.Tenants.Members(ctx, actor, in.Name)
	if err != nil {
		return nil, err
	}
	var views []Member
	for _, m := range members {
		v := Member{Person: string(m.Person.ID), Name: m.Person.Name, Email: m.Person.Email,
			Role: string(m.Role), Group: m.Group, By: m.By}
		for _, p := range m.Barred {
			v.Barred = append(v.Barred, string(p.ID))
		}
		views = append(views, v)
	}
	return reply(list(views, ""), nil)
}

type addMemberInput struct {
	Name string `path:"name" maxLength:"63"`
	Body struct {
		Person string `json:"person" maxLength:"64" doc:"Id of somebody who has signed in"`
		Role   string `json:"role" enum:"developer,owner,approver"`
	}
}

func (a *API) addMember(ctx context.Context, actor identity.Actor, in *addMemberInput) (*output[List[Member]], error) {
	return a.membersAfter(ctx, actor, in.Name, a.deps.Tenants.AddMember(ctx, actor, in.Name,
		identity.PersonID(in.Body.Person), identity.Role(in.Body.Role)))
}

type removeMemberInput struct {
	Name   string `path:"name" maxLength:"63"`
	Person string `path:"person" maxLength:"64"`
	Role   string `path:"role" maxLength:"32"`
}

func (a *API) removeMember(ctx context.Context, actor identity.Actor,
	in *removeMemberInput) (*output[List[Member]], error) {
	return a.membersAfter(ctx, actor, in.Name, a.deps.Tenants.RemoveMember(ctx, actor, in.Name,
		identity.PersonID(in.Person), identity.Role(in.Role)))
}

// membersAfter answers a change with who is in now; nobody, for one who took their own last role.
func (a *API) membersAfter(ctx context.Context, actor identity.Actor, name string,
	err error) (*output[List[Member]], error) {
	if err != nil {
		return nil, err
	}
	out, err := a.members(ctx, a.deps.Tenants.Directory().Actor(actor.Person, actor.Via), &tenantInput{Name: name})
	if fault.Is(err, fault.NotFound) {
		return reply(list[Member](nil, ""), nil)
	}
	return out, err
}

type defaultsInput struct {
	Name string `path:"name" maxLength:"63"`
	Body TenantDefaults
}

func (a *API) saveDefaults(ctx context.Context, actor identity.Actor,
	in *defaultsInput) (*output[TenantDefaults], error) {
	e, err := a.deps.Tenants.SaveDefaults(ctx, actor, in.Name, tenant.Defaults(in.Body))
	return reply(TenantDefaults(e.Defaults), err)
}

type peopleInput struct {
	Search string `query:"search" maxLength:"100" doc:"A part of the name or the e-mail address"`
}

func (a *API) people(ctx context.Context, actor identity.Actor, in *peopleInput) (*output[List[Person]], error) {
	people, err := a.deps.Tenants.People(ctx, actor, in.Search)
	if err != nil {
		return nil, err
	}
	var views []Person
	for _, p := range people {
		views = append(views, personView(p))
	}
	return reply(list(views, ""), nil)
}

type askQuotaInput struct {
	Name string `path:"name" maxLength:"63"`
	Key  string `header:"Idempotency-Key" maxLength:"100" doc:"The same key gives the same request, with other contents a conflict"`
	Body struct {
		Size   string `json:"size" maxLength:"63"`
		Amount int    `json:"amount" minimum:"1" doc:"How many of the size the team may hold then"`
		Reason string `json:"reason" maxLength:"500"`
	}
}

func (a *API) askQuota(ctx context.Context, actor identity.Actor, in *askQuotaInput) (*output[Request], error) {
	r, err := a.deps.Quotas.Ask(ctx, actor, request.QuotaDraft{Tenant: in.Name, Size: in.Body.Size,
		Amount: in.Body.Amount, Reason: in.Body.Reason, Key: in.Key})
	if err != nil {
		return nil, err
	}
	return reply(requestView(r, i18n.From(ctx)), nil)
}

// registerTenants is the part of the surface that is about teams.
func (a *API) registerTenants() {
	const tag = "Teams"
	add(a, created(op(http.MethodPost, "/tenants", "create-tenant", "Make a team; for admins", tag)),
		identity.ChangeTenants, a.createTenant)
	add(a, op(http.MethodGet, "/tenants/{name}", "get-tenant", "One team with its quota and where it comes from; "+
		"for its members, admins and auditors", tag), identity.ReadTenant, a.tenantEntry)
	add(a, op(http.MethodPut, "/tenants/{name}", "save-tenant", "Change a team; it counts at once", tag),
		identity.ChangeTenants, a.saveTenant)
	add(a, op(http.MethodGet, "/tenants/{name}/revisions", "list-tenant-revisions",
		"What was saved about a team, newest first", tag), identity.ReadTenants, a.tenantRevisions)
	add(a, op(http.MethodGet, "/tenants/{name}/members", "list-members",
		"Who has signed in and belongs to a team, and why", tag), identity.ReadMembers, a.members)
	add(a, op(http.MethodPost, "/tenants/{name}/members", "add-member", "Give somebody a role by hand; it counts at "+
		"once. Answers with who is in then", tag), identity.ChangeMembers, a.addMember)
	add(a, op(http.MethodDelete, "/tenants/{name}/members/{person}/{role}", "remove-member",
		"Take a role that was given by hand. Answers with who is in then", tag), identity.ChangeMembers, a.removeMember)
	add(a, op(http.MethodPut, "/tenants/{name}/defaults", "save-tenant-defaults",
		"What a member's first start begins with", tag), identity.ChangeMembers, a.saveDefaults)
	add(a, op(http.MethodPost, "/tenants/{name}/quota-check", "check-quota",
		"What another quota would mean for a team, before it is saved; writes nothing, for admins", tag),
		identity.ChangeTenants, a.checkQuota)
	add(a, created(op(http.MethodPost, "/tenants/{name}/quota", "ask-for-more-quota", "Ask that the team may hold more "+
		"of a size; answers with the request, which an administrator decides", tag)), identity.SubmitRequest, a.askQuota)
	add(a, op(http.MethodGet, "/people", "list-people", "Who has signed in, with their roles; for admins and auditors",
		tag), identity.ReadPeople, a.people)
}
