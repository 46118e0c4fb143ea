package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Document is the whole reference.
type Document struct {
	Version string
	Groups  []Group
}

// Group is a tag of the OpenAPI document.
type Group struct {
	ID         string // for anchors
	Name       string
	Operations []Operation
}

// Operation is one call.
type Operation struct {
	ID, Method, Path string
	Summary          string
	Description      string
	Parameters       []Field
	Body             *Content // nil: none is sent
	Answer           Answer
	Errors           []Problem
}

// Answer is that of a call that succeeded.
type Answer struct {
	Status  int
	Headers []Field
	Content *Content // nil: none
}

// Content is a body. Fields is empty for one that is not JSON.
type Content struct {
	Type     string // of the media
	Required bool
	List     bool // an array of what Fields describe
	Fields   []Field
	example  value
}

// Problem is an error that a call may answer with.
type Problem struct {
	Status int
	Type   string // URN
	Title  string
}

// Field is a parameter, or a member of a body.
type Field struct {
	Name        string
	In          string // "path", "query" or "header" of a parameter
	Type        string // "string", "date-time", "array of string", …
	Description string
	Required    bool
	ReadOnly    bool
	Limits      []Limit
	Fields      []Field // of an object, or of the objects in it
	schema      *schema
	usual       bool // not needed, but one of those members of which one is
}

// Limit is what a value has to keep: Name is the keyword of JSON Schema.
type Limit struct{ Name, Value string }

// The parts of an OpenAPI document that are read.
type (
	openAPI struct {
		Info       struct{ Version string }
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]*schema }
	}
	operation struct {
		OperationID          string
		Summary, Description string
		Tags                 []string
		Parameters           []parameter
		RequestBody          *struct {
			Required bool
			Content  map[string]media
		}
		Responses map[string]struct {
			Content map[string]media
			Headers map[string]struct{ Schema *schema }
		}
	}
	parameter struct {
		Name, In, Description string
		Required              bool
		Schema                *schema
	}
	media struct {
		Schema  *schema
		Example json.RawMessage
	}
)

// Parse reads an OpenAPI 3.1 document.
func Parse(document []byte) (Document, error) {
	var in openAPI
	if err := json.Unmarshal(document, &in); err != nil {
		return Document{}, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	p := parser{schemas: in.Components.Schemas}
	groups := map[string]*Group{}
	for path, methods := range in.Paths {
		for method, op := range methods {
			o, err := p.operation(strings.ToUpper(method), path, op)
			if err != nil {
				return Document{}, fmt.Errorf("%s %s: %w", method, path, err)
			}
			name := "Other"
			if len(op.Tags) > 0 {
				name = op.Tags[0]
			}
			if groups[name] == nil {
				groups[name] = &Group{Name: name, ID: strings.ToLower(strings.ReplaceAll(name, " ", "-"))}
			}
			groups[name].Operations = append(groups[name].Operations, o)
		}
	}
	d := Document{Version: in.Info.Version}
	for _, g := range groups {
		slices.SortFunc(g.Operations, func(a, b Operation) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(order(a.Method), order(b.Method)))
		})
		d.Groups = append(d.Groups, *g)
	}
	slices.SortFunc(d.Groups, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return d, nil
}

// order is read, make, change, remove.
func order(method string) int {
	return slices.Index([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, method)
}

// Find is an operation by its id, with its group.
func (d Document) Find(id string) (Operation, Group, bool) {
	for _, g := range d.Groups {
		for _, o := range g.Operations {
			if o.ID == id {
				return o, g, true
			}
		}
	}
	return Operation{}, Group{}, false
}

// Words are what an operation is found by.
func (o Operation) Words() string {
	words := []string{o.Method, o.Path, o.ID, o.Summary}
	for _, p := range o.Parameters {
		words = append(words, p.Name)
	}
	if o.Body != nil {
		for _, f := range o.Body.Fields {
			words = append(words, f.Name)
		}
	}
	return strings.Join(words, " ")
}

type parser struct{ schemas map[string]*schema }

func (p parser) operation(method, path string, in operation) (Operation, error) {
	o := Operation{ID: in.OperationID, Method: method, Path: path, Summary: in.Summary, Description: in.Description}
	for _, a := range in.Parameters {
		f := p.field(a.Name, a.Schema, a.Required, nil)
		f.In, f.Description = a.In, cmp.Or(a.Description, f.Description)
		o.Parameters = append(o.Parameters, f)
	}
	slices.SortStableFunc(o.Parameters, func(a, b Field) int { return cmp.Compare(place(a), place(b)) })
	if in.RequestBody != nil {
		o.Body = p.content(in.RequestBody.Content, true)
		if o.Body != nil {
			o.Body.Required = in.RequestBody.Required
		}
	}
	for code, r := range in.Responses {
		status, err := strconv.Atoi(code)
		if err != nil {
			return o, fmt.Errorf("the status %q: %w", code, err)
		}
		if status < 300 {
			o.Answer = Answer{Status: status, Content: p.content(r.Content, false)}
			for name, h := range r.Headers {
				o.Answer.Headers = append(o.Answer.Headers, p.field(name, h.Schema, false, nil))
			}
			slices.SortFunc(o.Answer.Headers, byName)
			continue
		}
		e := Problem{Status: status}
		for _, m := range r.Content {
			var said struct{ Type, Title string }
			if len(m.Example) > 0 && json.Unmarshal(m.Example, &said) == nil {
				e.Type, e.Title = said.Type, said.Title
			}
		}
		o.Errors = append(o.Errors, e)
	}
	slices.SortFunc(o.Errors, func(a, b Problem) int { return cmp.Compare(a.Status, b.Status) })
	return o, nil
}

// place puts what is needed first, by where it goes.
func place(f Field) int {
	n := slices.Index([]string{"path", "query", "header"}, f.In) * 2
	if !f.Required {
		n++
	}
	return n
}

// content prefers JSON where a body can have several forms. What is sent is shown with what it needs, what is answered
// with all that it has.
func (p parser) content(forms map[string]media, sent bool) *Content {
	kinds := make([]string, 0, len(forms))
	for kind := range forms {
		kinds = append(kinds, kind)
	}
	if len(kinds) == 0 {
		return nil
	}
	slices.Sort(kinds)
	kind := kinds[0]
	if slices.Contains(kinds, jsonType) {
		kind = jsonType
	}
	c := &Content{Type: kind}
	if kind != jsonType {
		return c
	}
	s, _ := p.resolve(forms[kind].Schema)
	c.List, c.Fields = s.is("array"), p.fields(forms[kind].Schema, nil)
	c.example = p.example("", forms[kind].Schema, sent, nil)
	return c
}

const jsonType = "application/json"

// Example is a body of this form; "" for one that is not JSON.
func (c *Content) Example() string {
	if c == nil || c.example == nil {
		return ""
	}
	return written(c.example, asJSON)
}

func byName(a, b Field) int { return cmp.Compare(a.Name, b.Name) }
