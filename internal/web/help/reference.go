package help

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/manual"
	"github.com/gpu-portal/gpu-portal/internal/reference"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/help"
)

// firstCall is the one to try a token with.
const firstCall = "me"

// reference lists the operations, for everybody: the document is public, and so are the paths.
func (w *Pages) reference(k page.Call) (page.View, error) {
	d, err := w.Reference()
	if err != nil {
		return page.View{}, err
	}
	m := help.ReferenceModel{Base: strings.TrimSuffix(w.PortalURL, "/") + "/api/v1", Document: page.OpenAPIPath,
		Guide: guide(k), Words: k.Get("q")}
	if m.Guide != "" {
		m.Account = "/account"
	}
	for _, g := range d.Groups {
		group := operations(g)
		m.Groups, m.Count = append(m.Groups, group), m.Count+len(group.Items)
	}
	if o, _, ok := d.Find(firstCall); ok {
		m.First = o.Snippets(w.PortalURL)[0].Text
	}
	return page.View{Title: k.Words.S("reference.title"), Body: help.Reference(m)}, nil
}

// guide is the text about the API, for those who are signed in.
func guide(k page.Call) string {
	if k.Actor.IsZero() || !identity.Can(k.Actor, identity.ReadCatalog, identity.Resource{}) {
		return ""
	}
	return manual.Path("api")
}

func operations(g reference.Group) help.OperationsModel {
	m := help.OperationsModel{ID: g.ID, Name: g.Name}
	for _, o := range g.Operations {
		m.Items = append(m.Items, help.OperationItemModel{ID: o.ID, Method: o.Method, Path: o.Path, Summary: o.Summary,
			Href: page.ReferencePath + "/" + o.ID, Filter: g.Name + " " + o.Words()})
	}
	return m
}

// answered is a body without marks of what is required: that is for those who send it.
func answered(c *reference.Content) *help.BodyModel {
	m := body(c)
	if m != nil {
		unmark(m.Fields)
	}
	return m
}

func unmark(list []help.FieldModel) {
	for i := range list {
		list[i].Required = false
		unmark(list[i].Fields)
	}
}

// operation shows one call.
func (w *Pages) operation(k page.Call) (page.View, error) {
	d, err := w.Reference()
	if err != nil {
		return page.View{}, err
	}
	o, g, ok := d.Find(k.Get("operation"))
	if !ok {
		return page.View{}, fault.New(fault.NotFound, i18n.T("reference.no_operation"))
	}
	m := help.OperationModel{Guide: guide(k), Group: operations(g), Method: o.Method, Path: o.Path, Summary: o.Summary,
		Description: o.Description, Parameters: fields(o.Parameters), Body: body(o.Body),
		Answer: help.AnswerModel{Status: o.Answer.Status, Headers: fields(o.Answer.Headers),
			Body: answered(o.Answer.Content)}}
	for _, e := range o.Errors {
		m.Errors = append(m.Errors, help.ProblemModel(e))
	}
	for _, s := range o.Snippets(w.PortalURL) {
		m.Snippets = append(m.Snippets, help.SnippetModel(s))
	}
	return page.View{Title: o.Summary, Body: help.Operation(m)}, nil
}

func body(c *reference.Content) *help.BodyModel {
	if c == nil {
		return nil
	}
	return &help.BodyModel{Type: c.Type, List: c.List, Fields: fields(c.Fields), Example: c.Example()}
}

func fields(list []reference.Field) []help.FieldModel {
	var models []help.FieldModel
	for _, f := range list {
		m := help.FieldModel{Name: f.Name, In: f.In, Type: f.Type, Description: f.Description, Required: f.Required,
			ReadOnly: f.ReadOnly, Fields: fields(f.Fields)}
		for _, l := range f.Limits {
			m.Limits = append(m.Limits, help.LimitModel(l))
		}
		models = append(models, m)
	}
	return models
}
