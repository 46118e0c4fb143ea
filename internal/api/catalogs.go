package api

import (
	"context"
	"mime"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/offer"
)

// Catalog is one version of what is on offer, as it is written.
type Catalog struct {
	Version  int64            `json:"version" doc:"0 is the configuration's"`
	Active   int64            `json:"active" doc:"The version that counts now; an older one while this one cannot be read"`
	Text     string           `json:"text" doc:"YAML"`
	Author   string           `json:"author,omitempty"`
	Note     string           `json:"note,omitempty"`
	At       *time.Time       `json:"at,omitempty"`
	Problems []CatalogProblem `json:"problems,omitempty" doc:"Why this version cannot be used"`
	Warnings []string         `json:"warnings,omitempty" doc:"License pools that do not license the vGPU of their size, in the version that counts"`
}

// CatalogProblem is one thing that is wrong with a text, and where.
type CatalogProblem struct {
	Line    int    `json:"line"`
	Path    string `json:"path,omitempty" example:"sizes[2].cpu"`
	Message string `json:"message"`
}

func problemViews(list []catalog.Problem, l *i18n.Localizer) []CatalogProblem {
	views := []CatalogProblem{}
	for _, p := range list {
		views = append(views, CatalogProblem{Line: p.Line, Path: p.Path, Message: l.Say(p.Reason())})
	}
	return views
}

func warningViews(list []catalog.Mismatch, l *i18n.Localizer) []string {
	var views []string
	for _, m := range list {
		views = append(views, l.Say(m.Sentence()))
	}
	return views
}

func revisionView(r offer.Revision, running int64, l *i18n.Localizer) Catalog {
	v := Catalog{Version: r.Version, Active: running, Text: r.Text, Author: r.AuthorName, Note: l.Say(r.Note)}
	if !r.At.IsZero() {
		v.At = &r.At
	}
	return v
}

type catalogOutput struct {
	ETag string `header:"ETag" doc:"Send it back as If-Match to save the next version"`
	Body Catalog
}

func tagged(v Catalog) *catalogOutput {
	return &catalogOutput{ETag: strconv.Quote(strconv.FormatInt(v.Version, 10)), Body: v}
}

func (a *API) catalog(ctx context.Context, actor identity.Actor, _ *struct{}) (*catalogOutput, error) {
	s, err := a.deps.Catalog.Status(actor)
	if err != nil {
		return nil, err
	}
	v := revisionView(s.Newest, s.Active.Version, i18n.From(ctx))
	if len(s.Problems) > 0 {
		v.Problems = problemViews(s.Problems, i18n.From(ctx))
	}
	v.Warnings = warningViews(a.deps.Catalog.Mismatches(), i18n.From(ctx))
	return tagged(v), nil
}

// catalogText reads a catalog on its way in: YAML, or JSON, which becomes YAML so that people can go on from it.
func catalogText(contentType string, body []byte) (string, error) {
	if kind, _, err := mime.ParseMediaType(contentType); err == nil && kind == "application/json" {
		return offer.FromJSON(string(body))
	}
	return string(body), nil
}

type checkCatalogInput struct {
	ContentType string `header:"Content-Type"`
	RawBody     []byte `contentType:"application/yaml" doc:"The whole catalog as YAML, or as JSON with Content-Type application/json"`
}

type saveCatalogInput struct {
	ContentType string `header:"Content-Type"`
	RawBody     []byte `contentType:"application/yaml" doc:"The whole catalog as YAML, or as JSON with Content-Type application/json"`
	IfMatch     string `header:"If-Match" maxLength:"32" doc:"The version that this was written from, as its ETag says"`
	Note        string `query:"note" maxLength:"400" doc:"Why, for the history"`
	Confirm     bool   `query:"confirm" doc:"It may take away what living workloads hold; they go on with what they have"`
}

func (a *API) saveCatalog(ctx context.Context, actor identity.Actor,
	in *saveCatalogInput) (*catalogOutput, error) {
	if err := a.deps.Catalog.MayChange(actor); err != nil { // rights before what is wrong with the call
		return nil, err
	}
	base, err := strconv.ParseInt(strings.Trim(in.IfMatch, `"`), 10, 64)
	if err != nil {
		return nil, fault.InvalidFields([]fault.Field{{Name: "If-Match", Reason: i18n.T("offer.if_match")}})
	}
	text, err := catalogText(in.ContentType, in.RawBody)
	if err != nil {
		return nil, err
	}
	r, err := a.deps.Catalog.Save(ctx, actor, offer.Draft{Text: text, Base: base, Note: in.Note, Confirm: in.Confirm})
	if err != nil {
		return nil, err
	}
	return tagged(revisionView(r, r.Version, i18n.From(ctx))), nil
}

// CatalogCheck is what can be said of a text before it is saved.
type CatalogCheck struct {
	OK       bool             `json:"ok"`
	Problems []CatalogProblem `json:"problems"`
	Warnings []string         `json:"warnings,omitempty" doc:"License pools that do not license the vGPU of their size, in sizes that are on offer like this already; in others that is a problem"`
	Removes  []CatalogRemoval `json:"removes" doc:"What living workloads hold and the text no longer has; saving it needs confirm=true"`
	Changes  []CatalogChange  `json:"changes" doc:"To what counts now"`
}

// CatalogRemoval is an entry that would go while somebody holds it.
type CatalogRemoval struct {
	List      string `json:"list" enum:"sizes,images"`
	Name      string `json:"name"`
	Workloads int    `json:"workloads"`
}

// CatalogChange is one entry that differs.
type CatalogChange struct {
	List   string               `json:"list" enum:"sizes,images,technologies"`
	Name   string               `json:"name"`
	Kind   string               `json:"kind" enum:"added,removed,changed"`
	Fields []CatalogFieldChange `json:"fields,omitempty"`
}

// CatalogFieldChange is one value that differs.
type CatalogFieldChange struct {
	Path string `json:"path" example:"pricePerHour.minor"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

func (a *API) checkCatalog(ctx context.Context, actor identity.Actor,
	in *checkCatalogInput) (*output[CatalogCheck], error) {
	if err := a.deps.Catalog.MayChange(actor); err != nil {
		return nil, err
	}
	text, err := catalogText(in.ContentType, in.RawBody)
	if err != nil {
		return nil, err
	}
	c, err := a.deps.Catalog.Check(ctx, actor, text)
	v := CatalogCheck{OK: len(c.Problems) == 0, Problems: problemViews(c.Problems, i18n.From(ctx)),
		Warnings: warningViews(c.Warnings, i18n.From(ctx)), Removes: []CatalogRemoval{},
		Changes: []CatalogChange{}}
	for _, r := range c.Removals {
		v.Removes = append(v.Removes, CatalogRemoval{List: string(r.List), Name: r.Name, Workloads: r.Count})
	}
	for _, e := range c.Changes {
		change := CatalogChange{List: e.List, Name: e.Name, Kind: string(e.Kind)}
		for _, f := range e.Fields {
			change.Fields = append(change.Fields, CatalogFieldChange{Path: f.Path, Old: f.Old, New: f.New})
		}
		v.Changes = append(v.Changes, change)
	}
	return reply(v, err)
}

// CatalogVersion is a version in a list.
type CatalogVersion struct {
	Version int64      `json:"version"`
	Active  bool       `json:"active"`
	Author  string     `json:"author,omitempty"`
	Note    string     `json:"note,omitempty"`
	At      *time.Time `json:"at,omitempty"`
}

type versionsInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor string `query:"cursor" maxLength:"32"`
}

func (a *API) catalogVersions(ctx context.Context, actor identity.Actor,
	in *versionsInput) (*output[List[CatalogVersion]], error) {
	s, err := a.deps.Catalog.Status(actor)
	if err != nil {
		return nil, err
	}
	before := int64(0)
	if in.Cursor != "" {
		if before, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || before < 1 {
			return nil, fault.InvalidFields([]fault.Field{{Name: "cursor", Reason: i18n.T("api.field")}})
		}
	}
	revisions, more, err := a.deps.Catalog.Revisions(ctx, actor, before, in.Limit)
	var views []CatalogVersion
	next := ""
	for _, r := range revisions {
		full := revisionView(r, s.Active.Version, i18n.From(ctx))
		views = append(views, CatalogVersion{Version: r.Version, Active: r.Version == s.Active.Version,
			Author: full.Author, Note: full.Note, At: full.At})
		if more {
			next = strconv.FormatInt(r.Version, 10)
		}
	}
	return reply(list(views, next), err)
}

type versionInput struct {
	Version string `path:"version" maxLength:"32" example:"3" doc:"A number; 0 is the configuration's"`
}

func (a *API) catalogVersion(ctx context.Context, actor identity.Actor,
	in *versionInput) (*output[Catalog], error) {
	s, err := a.deps.Catalog.Status(actor)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(in.Version, 10, 64)
	if err != nil || n < 0 {
		return nil, fault.New(fault.NotFound, i18n.T("store.no_catalog"))
	}
	r, err := a.deps.Catalog.Revision(ctx, actor, n)
	return reply(revisionView(r, s.Active.Version, i18n.From(ctx)), err)
}

// CatalogFinding is one place where the catalog and the nodes do not agree.
type CatalogFinding struct {
	Kind     string `json:"kind" enum:"unoffered,never-runs,unserved"`
	Cluster  string `json:"cluster,omitempty"`
	Size     string `json:"size,omitempty" doc:"The size that can never run"`
	Image    string `json:"image,omitempty" doc:"The image whose ServingRuntime cannot serve it"`
	Resource string `json:"resource,omitempty" doc:"Extended resource, driver of devices, or name of the ServingRuntime"`
	Model    string `json:"model,omitempty"`
	Count    int64  `json:"count" doc:"How many the nodes can give out"`
	Reason   string `json:"reason"`
	Proposal string `json:"proposal,omitempty" doc:"A size that would offer it, as an entry of the list sizes in YAML"`
}

// ServingRuntime is a model server of KServe that an image of kind endpoint can name.
type ServingRuntime struct {
	Cluster  string   `json:"cluster"`
	Name     string   `json:"name" doc:"Of the ClusterServingRuntime"`
	Formats  []string `json:"formats" doc:"Model formats that it supports"`
	Image    string   `json:"image,omitempty" doc:"Of the container that serves"`
	Disabled bool     `json:"disabled"`
}

func (a *API) servingRuntimes(ctx context.Context, actor identity.Actor,
	_ *struct{}) (*output[List[ServingRuntime]], error) {
	runtimes, err := a.deps.Catalog.ServingRuntimes(ctx, actor)
	var views []ServingRuntime
	for _, r := range runtimes {
		views = append(views, ServingRuntime{Cluster: r.Cluster, Name: r.Name, Formats: append([]string{}, r.Formats...),
			Image: r.Image, Disabled: r.Disabled})
	}
	return reply(list(views, ""), err)
}

func (a *API) catalogFindings(ctx context.Context, actor identity.Actor,
	_ *struct{}) (*output[List[CatalogFinding]], error) {
	findings, err := a.deps.Catalog.Findings(ctx, actor)
	var views []CatalogFinding
	for _, f := range findings {
		views = append(views, CatalogFinding{Kind: string(f.Kind), Cluster: f.Cluster, Size: f.Size, Image: f.Image,
			Resource: f.Resource, Model: f.Model, Count: f.Count,
			Reason: i18n.From(ctx).Say(f.Reason), Proposal: f.Written()})
	}
	return reply(list(views, ""), err)
}
