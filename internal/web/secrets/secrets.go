// Package secrets has the pages of secrets of people and teams (package secret): list, create, replace, delete. A value
// that was saved is never shown.
package secrets

import (
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	view "github.com/gpu-portal/gpu-portal/views/secrets"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Secrets *secret.Service
	Tenants *tenant.Service
}

// Routes are the addresses of the area: the same under one's account and under a team.
func (w *Pages) Routes() []page.Route {
	var routes []page.Route
	for _, path := range []string{page.SecretsPath, "/team/:name/secrets"} {
		routes = append(routes, w.Shows(path, identity.ReadSecrets, w.page(path)),
			page.Post(path, identity.ManageSecrets, w.create),
			page.Post(path+"/:id", identity.ManageSecrets, w.replace),
			page.Post(path+"/:id/delete", identity.ManageSecrets, w.remove))
	}
	return routes
}

func (w *Pages) page(path string) page.Page {
	name := "secrets"
	if path != page.SecretsPath {
		name = "team-secrets"
	}
	return page.Page{Name: name, Build: w.secrets, Topics: page.Topics{live.TopicWorkload}}
}

// place is whose secrets a page is about, and where it is.
type place struct {
	owner secret.Owner
	path  string
}

func placeOf(k page.Call, team string) place {
	if team == "" {
		return place{secret.Owner{Person: k.Actor.Person.ID}, page.SecretsPath}
	}
	return place{secret.Owner{Tenant: team}, page.TeamSecretsPath(team)}
}

// typed is what somebody has filled in, and what is wrong with it.
type typed struct {
	id       string // of the secret whose value is replaced
	draft    secret.Draft
	problems []fault.Field
}

// secrets answers: what do workloads of mine, or of the team, sign in with; and how do I add that.
func (w *Pages) secrets(k page.Call) (page.View, error) {
	t := typed{id: k.Get("replace"), draft: secret.Draft{Kind: secret.Kind(k.Get("kind"))}}
	p := placeOf(k, k.Get("name"))
	if !slices.Contains(secret.KindsFor(p.owner), t.draft.Kind) {
		t.draft.Kind = secret.Kinds()[0]
	}
	return w.view(k, p, t)
}

func (w *Pages) view(k page.Call, p place, t typed) (page.View, error) {
	list, err := w.Secrets.List(k.Ctx, k.Actor, p.owner)
	if err != nil {
		return page.View{}, err
	}
	say, title := k.Words, k.Words.S("secrets.title")
	m := view.PageModel{Team: p.owner.OfTeam(), Errors: page.FormErrors(say, t.problems),
		Header: ui.HeaderModel{Title: title, Lead: say.S("secrets.lead_own")}}
	v := page.View{Title: title, Nav: page.SecretsPath, Wide: true}
	if m.Team {
		e, err := w.Tenants.Visible(k.Actor, p.owner.Tenant)
		if err != nil {
			return page.View{}, err
		}
		m.Header = ui.HeaderModel{Title: say.S("team.heading", "Team", e.Display()), Crumbs: blocks.TeamCrumbs(k, e, title)}
		m.Tabs = blocks.TeamTabs(k, e.Name, p.path)
		v.Nav = page.TeamPlace(k, e.Name)
	}
	manages := w.Secrets.MayManage(k.Actor, p.owner)
	for _, s := range list {
		m.Rows = append(m.Rows, row(k, p, s, manages))
	}
	if manages {
		m.Form = form(k, p, list, t)
	}
	v.Body = view.Page(m)
	return v, nil
}

func row(k page.Call, p place, s secret.Listed, manages bool) view.RowModel {
	m := view.RowModel{ID: s.ID, Name: s.Name, Kind: k.Words.S("secrets.kind." + string(s.Kind)),
		Unused: s.UsedAt.IsZero(), Used: k.Words.Ago(s.UsedAt), Changed: k.Words.Ago(s.CreatedAt)}
	if !s.ReplacedAt.IsZero() {
		m.Changed = k.Words.Ago(s.ReplacedAt)
	}
	if s.OfTeam() {
		m.By = s.CreatorName
	}
	for _, f := range s.Kind.Fields() {
		if known := s.About[f.Name]; known != "" && s.Kind != secret.Variables && s.Kind != secret.File {
			m.About = append(m.About, known)
		}
	}
	m.Gets = append(m.Gets, s.Env...)
	switch s.Kind {
	case secret.Registry: // nothing is mounted
		m.Pulls, m.Unchecked = s.About["host"], s.About[secret.CheckedKey] == secret.Unchecked
	case secret.Variables: // the files hold the same once more
		m.Gets = append(m.Gets, workload.SecretsDir+"/"+s.Name+"/")
	default:
		for _, file := range s.Files {
			m.Gets = append(m.Gets, s.Use().Path(file))
		}
	}
	for _, u := range s.Users {
		m.Users = append(m.Users, view.UserModel{Name: u.Name, Href: page.WorkloadPath(u.ID)})
	}
	if manages {
		m.Replace = p.path + "?replace=" + url.QueryEscape(s.ID) + "#secret"
		m.Delete = p.path + "/" + url.PathEscape(s.ID) + "/delete"
	}
	return m
}

// form fills in what was typed, but nothing that is secret: what a page holds, its reader's browser keeps.
func form(k page.Call, p place, list []secret.Listed, t typed) *view.FormModel {
	m := &view.FormModel{Action: p.path, Kind: string(t.draft.Kind), Name: t.draft.Name, Back: p.path,
		NameFail: page.WrongIn(k.Words, t.problems, "name")}
	values, kind := t.draft.Values, t.draft.Kind
	if at := slices.IndexFunc(list, func(s secret.Listed) bool { return s.ID == t.id }); at >= 0 {
		kind, m.Replaces = list[at].Kind, list[at].Name
		m.Kind, m.Action = string(kind), p.path+"/"+url.PathEscape(t.id)
		if values == nil {
			values = list[at].About
		}
	} else {
		for _, other := range secret.KindsFor(p.owner) {
			m.Kinds = append(m.Kinds, view.KindModel{ID: string(other), Current: other == kind,
				Href: p.path + "?kind=" + string(other) + "#secret"})
		}
	}
	for _, f := range kind.Fields() {
		field := view.FieldModel{Name: f.Name, Example: f.Example, Secret: f.Secret, Lines: f.Lines, Optional: f.Optional,
			Error: page.WrongIn(k.Words, t.problems, f.Name)}
		if !f.Secret {
			field.Value = values[f.Name]
		}
		m.Fields = append(m.Fields, field)
	}
	return m
}

// read takes what was sent for a kind; what other kinds have is left out.
func read(c echo.Context, k secret.Kind) secret.Draft {
	d := secret.Draft{Name: strings.TrimSpace(c.FormValue("name")), Kind: k, Values: map[string]string{}}
	for _, f := range k.Fields() {
		if value := c.FormValue(f.Name); value != "" {
			d.Values[f.Name] = value
		}
	}
	return d
}

func (w *Pages) create(c echo.Context) error {
	k := w.CallOf(c)
	p, t := placeOf(k, c.Param("name")), typed{draft: read(c, secret.Kind(c.FormValue("kind")))}
	return w.save(c, k, p, t, "secret-added", func() error {
		_, err := w.Secrets.Create(k.Ctx, k.Actor, p.owner, t.draft)
		return err
	})
}

func (w *Pages) replace(c echo.Context) error {
	k := w.CallOf(c)
	p := placeOf(k, c.Param("name"))
	is, err := w.Secrets.Get(k.Ctx, k.Actor, c.Param("id"))
	if err != nil {
		return err
	}
	t := typed{id: is.ID, draft: read(c, is.Kind)}
	return w.save(c, k, p, t, "secret-replaced", func() error {
		return w.Secrets.Replace(k.Ctx, k.Actor, is.ID, t.draft.Values)
	})
}

// save carries out what was typed, or says what is wrong with it: while somebody types, and on the page.
func (w *Pages) save(c echo.Context, k page.Call, p place, t typed, flash string, do func() error) error {
	if validating, err := w.Validating(c); err != nil {
		return err
	} else if validating {
		err := w.Secrets.Check(k.Ctx, k.Actor, p.owner, t.id, t.draft)
		if err != nil && !fault.Is(err, fault.Invalid) {
			return err
		}
		return w.Validated(c, "secret-form", page.FieldProblems(k.Words, page.ProblemsOf(err)))
	}
	err := do()
	if err == nil {
		return w.Done(c, flash, p.path)
	}
	if !fault.Is(err, fault.Invalid) && (!fault.Is(err, fault.Conflict) || len(fault.As(err).Fields) == 0) {
		return err
	}
	t.problems = page.ProblemsOf(err)
	v, viewErr := w.view(k, p, t)
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: "secrets"}, v, page.StatusOf(err))
}

func (w *Pages) remove(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Secrets.Delete(k.Ctx, k.Actor, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "secret-deleted", placeOf(k, c.Param("name")).path)
}
