package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
)

// Person is somebody who has signed in.
type Person struct {
	ID          string              `json:"id"`
	Name        string              `json:"name"`
	Email       string              `json:"email"`
	Roles       []string            `json:"roles"`
	Tenants     map[string][]string `json:"tenants" doc:"Roles by team"`
	SeenAt      time.Time           `json:"seenAt"`
	ConfirmedAt *time.Time          `json:"confirmedAt,omitempty" doc:"When the sign-in provider last confirmed them; absent once it does not know them any more. Their API tokens count by it"`
	Disabled    *Disabled           `json:"disabled,omitempty" doc:"Absent for somebody who may sign in"`
}

// Disabled says who shut somebody out.
type Disabled struct {
	By   string     `json:"by" enum:"administrator,provider"`
	Name string     `json:"name,omitempty" doc:"Of the administrator"`
	At   *time.Time `json:"at,omitempty"`
	Note string     `json:"note,omitempty"`
}

func personView(actor identity.Actor) Person {
	me, p := meView(actor), actor.Person
	v := Person{ID: me.ID, Name: me.Name, Email: me.Email, Roles: me.Roles, Tenants: me.Tenants, SeenAt: p.SeenAt,
		ConfirmedAt: moment(p.ConfirmedAt)}
	switch {
	case !p.DisabledAt.IsZero():
		v.Disabled = &Disabled{By: "administrator", Name: p.DisabledBy, At: moment(p.DisabledAt), Note: p.DisabledNote}
	case p.Disabled:
		v.Disabled = &Disabled{By: "provider"}
	}
	return v
}

func (a *API) person(ctx context.Context, actor identity.Actor, in *idInput) (*output[Person], error) {
	p, err := a.deps.Accounts.Person(ctx, actor, identity.PersonID(in.ID))
	if err != nil {
		return nil, err
	}
	return reply(personView(p), nil)
}

type disableInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Note string `json:"note,omitempty" maxLength:"300" doc:"Why; administrators and auditors see it"`
	}
}

func (a *API) disable(ctx context.Context, actor identity.Actor, in *disableInput) (*output[Person], error) {
	if err := a.deps.Accounts.Disable(ctx, actor, identity.PersonID(in.ID), in.Body.Note); err != nil {
		return nil, err
	}
	return a.person(ctx, actor, &idInput{ID: in.ID})
}

func (a *API) enable(ctx context.Context, actor identity.Actor, in *idInput) (*output[Person], error) {
	if err := a.deps.Accounts.Enable(ctx, actor, identity.PersonID(in.ID)); err != nil {
		return nil, err
	}
	return a.person(ctx, actor, in)
}

// SignIn is a session of a browser.
type SignIn struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	SeenAt    time.Time `json:"seenAt" doc:"Last use, exact to the minute"`
	EndsAt    time.Time `json:"endsAt" doc:"At the latest"`
	Address   string    `json:"address" doc:"Where the sign-in came from"`
	Agent     string    `json:"agent" doc:"The browser as it calls itself"`
	Current   bool      `json:"current" doc:"The one that this call came with"`
}

func (a *API) sessions(ctx context.Context, actor identity.Actor, in *idInput) (*output[List[SignIn]], error) {
	found, err := a.deps.Accounts.Sessions(ctx, actor, identity.PersonID(in.ID))
	views := make([]SignIn, len(found))
	for i, n := range found {
		views[i] = SignIn{ID: n.ID, CreatedAt: n.CreatedAt, SeenAt: n.SeenAt, EndsAt: n.EndsAt, Address: n.Address,
			Agent: n.Agent, Current: accounts.Current(actor, n)}
	}
	return reply(list(views, ""), err)
}

type endSessionsInput struct {
	ID     string `path:"id" maxLength:"64"`
	Others bool   `query:"others" doc:"Not the one that this call came with"`
}

func (a *API) endSessions(ctx context.Context, actor identity.Actor, in *endSessionsInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Accounts.EndSessions(ctx, actor, identity.PersonID(in.ID), in.Others)
}

type sessionInput struct {
	ID      string `path:"id" maxLength:"64"`
	Session string `path:"session" maxLength:"64"`
}

func (a *API) endSession(ctx context.Context, actor identity.Actor, in *sessionInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Accounts.EndSession(ctx, actor, identity.PersonID(in.ID), in.Session)
}

// Token is an API token without its secret.
type Token struct {
	ID         string     `json:"id" doc:"With the secret after a dot it is the token"`
	Name       string     `json:"name"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  time.Time  `json:"expiresAt" doc:"By the longest life that the portal allows now"`
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty" doc:"Exact to the minute"`
}

func (a *API) tokens(ctx context.Context, actor identity.Actor, in *idInput) (*output[List[Token]], error) {
	found, err := a.deps.Accounts.Tokens(ctx, actor, identity.PersonID(in.ID))
	views := make([]Token, len(found))
	for i, t := range found {
		views[i] = Token{ID: identity.TokenPrefix + t.ID, Name: t.Name, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
			LastUsedAt: moment(t.LastUsedAt)}
	}
	return reply(list(views, ""), err)
}

func (a *API) revokeTokens(ctx context.Context, actor identity.Actor, in *idInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Accounts.RevokeTokens(ctx, actor, identity.PersonID(in.ID))
}

type tokenInput struct {
	ID    string `path:"id" maxLength:"64"`
	Token string `path:"token" maxLength:"64" doc:"The part before the dot"`
}

func (a *API) revokeToken(ctx context.Context, actor identity.Actor, in *tokenInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Accounts.RevokeToken(ctx, actor, identity.PersonID(in.ID), in.Token)
}

// Holdings are what somebody holds.
type Holdings struct {
	Workloads []Held  `json:"workloads" nullable:"false" doc:"That have not ended"`
	Volumes   []Held  `json:"volumes" nullable:"false" doc:"Storage of their own, in use or kept"`
	Requests  []Held  `json:"requests" nullable:"false" doc:"That wait for a decision"`
	Owns      []Owned `json:"owns" nullable:"false" doc:"Teams that they are an owner of"`
}

// Held is one thing that somebody holds.
type Held struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Tenant string `json:"tenant"`
	State  string `json:"state,omitempty"`
}

// Owned is a team with an owner.
type Owned struct {
	Tenant string `json:"tenant"`
	Only   bool   `json:"only" doc:"There is no other owner who has signed in and is not disabled"`
}

func (a *API) holdings(ctx context.Context, actor identity.Actor, in *idInput) (*output[Holdings], error) {
	h, err := a.deps.Accounts.Holdings(ctx, actor, identity.PersonID(in.ID))
	v := Holdings{Workloads: []Held{}, Volumes: []Held{}, Requests: []Held{}, Owns: []Owned{}}
	for _, w := range h.Workloads {
		v.Workloads = append(v.Workloads, Held{ID: string(w.ID), Name: w.Name, Tenant: w.Tenant, State: string(w.State)})
	}
	for _, d := range h.Volumes {
		v.Volumes = append(v.Volumes, Held{ID: d.Name, Name: d.Name, Tenant: d.Tenant})
	}
	for _, r := range h.Requests {
		v.Requests = append(v.Requests, Held{ID: string(r.ID), Name: r.Spec.Name, Tenant: r.Spec.Tenant,
			State: string(r.State)})
	}
	for _, o := range h.Owns {
		v.Owns = append(v.Owns, Owned(o))
	}
	return reply(v, err)
}

type transferHoldingsInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Tenant string `json:"tenant" maxLength:"63"`
		To     string `json:"to" maxLength:"64" doc:"Id of a member of the team who may start something"`
	}
}

// Transferred is what was given to somebody else.
type Transferred struct {
	Workloads int      `json:"workloads"`
	Volumes   int      `json:"volumes"`
	Requests  int      `json:"requests"`
	Left      []string `json:"left" nullable:"false" doc:"Requests that stay, because the recipient has a word in their decision"`
}

func (a *API) transferHoldings(ctx context.Context, actor identity.Actor,
	in *transferHoldingsInput) (*output[Transferred], error) {
	done, err := a.deps.Accounts.Transfer(ctx, actor, identity.PersonID(in.ID), in.Body.Tenant,
		identity.PersonID(in.Body.To))
	v := Transferred{Workloads: done.Workloads, Volumes: done.Volumes, Requests: done.Requests, Left: []string{}}
	for _, id := range done.Left {
		v.Left = append(v.Left, string(id))
	}
	return reply(v, err)
}

// registerPeople is the part of the surface that is about somebody's account. The id "me" is the caller.
func (a *API) registerPeople() {
	const tag = "People"
	add(a, op(http.MethodGet, "/people/{id}", "get-person", "One person; others than oneself for admins and auditors. "+
		"\"me\" is the caller, here and below", tag), identity.ReadAccount, a.person)
	add(a, op(http.MethodPost, "/people/{id}/disable", "disable-person", "Shut somebody out: sessions end, tokens are "+
		"refused, at once. Doing it again changes nothing; for admins", tag), identity.ManagePeople, a.disable)
	add(a, op(http.MethodPost, "/people/{id}/enable", "enable-person", "Let somebody in again whom an administrator "+
		"disabled; for admins", tag), identity.ManagePeople, a.enable)
	add(a, op(http.MethodGet, "/people/{id}/sessions", "list-sessions", "Where somebody is signed in", tag),
		identity.ReadAccount, a.sessions)
	add(a, op(http.MethodDelete, "/people/{id}/sessions", "end-sessions", "End every sign-in", tag),
		identity.ManageTokens, a.endSessions)
	add(a, op(http.MethodDelete, "/people/{id}/sessions/{session}", "end-session", "End one sign-in", tag),
		identity.ManageTokens, a.endSession)
	add(a, op(http.MethodGet, "/people/{id}/tokens", "list-tokens", "API tokens, newest first", tag),
		identity.ReadAccount, a.tokens)
	add(a, op(http.MethodDelete, "/people/{id}/tokens", "revoke-tokens", "End every API token for good", tag),
		identity.ManageTokens, a.revokeTokens)
	add(a, op(http.MethodDelete, "/people/{id}/tokens/{token}", "revoke-token", "End one API token for good", tag),
		identity.ManageTokens, a.revokeToken)
	add(a, op(http.MethodGet, "/people/{id}/holdings", "get-holdings", "What somebody holds: workloads, storage, pending "+
		"requests, ownership of teams", tag), identity.ReadAccount, a.holdings)
	add(a, op(http.MethodPost, "/people/{id}/transfer", "transfer-holdings", "Give what somebody holds in a team to "+
		"another of its members, all or nothing. What runs goes on; for admins", tag), identity.ManagePeople,
		a.transferHoldings)
}
