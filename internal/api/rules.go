package api

import (
	"context"
	"strconv"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

// Rules are one version of the administrators' rules.
type Rules struct {
	Version int64      `json:"version" doc:"0 is the configuration's"`
	Text    string     `json:"text,omitempty" doc:"YAML; left out in lists"`
	Author  string     `json:"author,omitempty"`
	Note    string     `json:"note,omitempty"`
	SavedAt *time.Time `json:"savedAt,omitempty"`
}

func rulesView(r policy.Revision, l *i18n.Localizer) Rules {
	v := Rules{Version: r.Version, Text: r.Text, Author: r.AuthorName, Note: l.Say(r.Note)}
	if !r.At.IsZero() {
		v.SavedAt = &r.At
	}
	return v
}

func (a *API) rules(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[Rules], error) {
	s, err := a.deps.Rules.Status(actor)
	return reply(rulesView(s.Newest, i18n.From(ctx)), err)
}

type revisionsInput struct {
	Before int64 `query:"before" minimum:"0" doc:"Only versions below this one"`
	Limit  int   `query:"limit" minimum:"1" maximum:"100" default:"50"`
}

func (a *API) rulesRevisions(ctx context.Context, actor identity.Actor,
	in *revisionsInput) (*output[List[Rules]], error) {
	revisions, _, err := a.deps.Rules.Revisions(ctx, actor, in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	views := make([]Rules, len(revisions))
	for i, r := range revisions {
		views[i] = rulesView(r, i18n.From(ctx))
	}
	return reply(list(views, ""), nil)
}

type rulesVersionInput struct {
	Version string `path:"version" maxLength:"64" example:"3"`
}

func (a *API) rulesAt(ctx context.Context, actor identity.Actor, in *rulesVersionInput) (*output[Rules], error) {
	version, err := strconv.ParseInt(in.Version, 10, 64)
	if err != nil {
		version = -1 // like any other that there is not
	}
	r, err := a.deps.Rules.Revision(ctx, actor, version)
	return reply(rulesView(r, i18n.From(ctx)), err)
}

type saveRulesInput struct {
	Body struct {
		Text string `json:"text" maxLength:"60000" doc:"YAML: a list of rules, the first that matches decides"`
		Base int64  `json:"base" minimum:"0" doc:"The version that the text was written from; another one that came between is a conflict"`
		Note string `json:"note,omitempty" maxLength:"300"`
	}
}

func (a *API) saveRules(ctx context.Context, actor identity.Actor, in *saveRulesInput) (*output[Rules], error) {
	r, err := a.deps.Rules.Save(ctx, actor, policy.Draft{Text: in.Body.Text, Base: in.Body.Base, Note: in.Body.Note})
	return reply(rulesView(r, i18n.From(ctx)), err)
}

// CheckedRules is what can be said of a text without keeping it.
type CheckedRules struct {
	Problems []RuleProblem `json:"problems"`
	Seen     int           `json:"seen" doc:"Requests of the last 30 days"`
	Capped   bool          `json:"capped" doc:"There were more than are looked at"`
	Differ   []Difference  `json:"differ" doc:"Of them, those that would have been decided differently"`
	Running  int           `json:"running" doc:"Workloads that hold something now"`
	Stricter []Difference  `json:"stricter" doc:"Of them, those whose request would now be refused or need more; they go on"`
}

// RuleProblem is one thing that is wrong with a text, and where.
type RuleProblem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
}

// Difference is one request that would have been decided differently.
type Difference struct {
	Request string   `json:"request"`
	Asker   string   `json:"asker"`
	Was     Decision `json:"was"`
	Now     Decision `json:"now"`
}

type checkRulesInput struct {
	Body struct {
		Text string `json:"text" maxLength:"60000"`
	}
}

func (a *API) checkRules(ctx context.Context, actor identity.Actor,
	in *checkRulesInput) (*output[CheckedRules], error) {
	p, problems, err := a.deps.Rules.Check(ctx, actor, in.Body.Text)
	if err != nil {
		return nil, err
	}
	v := CheckedRules{Problems: []RuleProblem{}, Differ: []Difference{}, Stricter: []Difference{}}
	for _, w := range problems {
		v.Problems = append(v.Problems, RuleProblem{Line: w.Line, Column: w.Column, Rule: w.Rule, Message: w.Message})
	}
	if p == nil {
		return reply(v, nil)
	}
	c, err := a.deps.Comparisons.Rules(ctx, actor, p)
	if err != nil {
		return nil, err
	}
	l := i18n.From(ctx)
	v.Seen, v.Capped, v.Running = c.Seen, c.Capped, c.Running
	v.Differ, v.Stricter = differences(c.Differ, l), differences(c.Stricter, l)
	return reply(v, nil)
}

func differences(list []request.Difference, l *i18n.Localizer) []Difference {
	views := []Difference{}
	for _, d := range list {
		views = append(views, Difference{Request: string(d.Request), Asker: d.AskerName,
			Was: *verdictView(d.Was, l), Now: *verdictView(d.Now, l)})
	}
	return views
}
