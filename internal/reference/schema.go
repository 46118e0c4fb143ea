package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// schema is a JSON Schema as far as the document uses it.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 types
	Format               string
	Description          string
	Properties           map[string]*schema
	Required             []string
	Items                *schema
	AdditionalProperties extra
	Enum                 []any
	Examples             []any
	Default              any
	MinLength, MaxLength *int
	MinItems, MaxItems   *int
	Minimum, Maximum     *json.Number
	Pattern              string
	ReadOnly             bool
	// OneOf are members of which a body needs one; the first is the usual one.
	OneOf []string `json:"x-one-of"`
}

// types is one type, or several of which one is "null".
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = types{one}
		return nil
	}
	var all []string
	err := json.Unmarshal(b, &all)
	*t = slices.DeleteFunc(all, func(s string) bool { return s == "null" })
	return err
}

// extra is the schema of further members, or false where there are none.
type extra struct{ *schema }

func (e *extra) UnmarshalJSON(b []byte) error {
	if string(b) == "false" || string(b) == "true" {
		return nil
	}
	e.schema = &schema{}
	return json.Unmarshal(b, e.schema)
}

func (s *schema) is(kind string) bool { return s != nil && slices.Contains(s.Type, kind) }

// resolve follows a reference; name is "" for a schema that has none.
func (p parser) resolve(s *schema) (at *schema, name string) {
	if s != nil && s.Ref != "" {
		name = s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return p.schemas[name], name
	}
	return s, ""
}

// inner is what a schema holds in the end: the items of a list, the values of a map.
func (p parser) inner(s *schema) (at *schema, names []string) {
	for {
		next, name := p.resolve(s)
		if name != "" {
			names = append(names, name)
		}
		switch {
		case next.is("array") && next.Items != nil:
			s = next.Items
		case next.is("object") && next.AdditionalProperties.schema != nil:
			s = next.AdditionalProperties.schema
		default:
			return next, names
		}
	}
}

// fields are the members of what a schema holds: those that are needed first. around are the schemas that it stands in:
// one that holds itself ends there.
func (p parser) fields(s *schema, around []string) []Field {
	at, names := p.inner(s)
	if at == nil || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(around, n) }) {
		return nil
	}
	around = append(slices.Clip(around), names...)
	var list []Field
	for name, member := range at.Properties {
		f := p.field(name, member, slices.Contains(at.Required, name), around)
		f.usual = len(at.OneOf) > 0 && at.OneOf[0] == name
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Field) int {
		return cmp.Or(cmp.Compare(last(a.Required), last(b.Required)), byName(a, b))
	})
	return list
}

func last(first bool) int {
	if first {
		return 0
	}
	return 1
}

func (p parser) field(name string, s *schema, required bool, around []string) Field {
	at, _ := p.resolve(s)
	f := Field{Name: name, Required: required, schema: s}
	if at == nil {
		return f
	}
	f.Type, f.ReadOnly, f.Limits = p.typeOf(s), s.ReadOnly || at.ReadOnly, limits(at)
	f.Description = cmp.Or(s.Description, at.Description)
	f.Fields = p.fields(s, around)
	return f
}

func (p parser) typeOf(s *schema) string {
	at, _ := p.resolve(s)
	switch {
	case at == nil || len(at.Type) == 0:
		return "any"
	case at.is("array") && at.Items != nil:
		return "array of " + p.typeOf(at.Items)
	case at.is("object") && at.AdditionalProperties.schema != nil:
		return "map of " + p.typeOf(at.AdditionalProperties.schema)
	case at.is("string") && at.Format != "":
		return at.Format
	}
	return at.Type[0]
}

func limits(s *schema) []Limit {
	var list []Limit
	add := func(name string, value any) { list = append(list, Limit{name, fmt.Sprint(value)}) }
	for _, l := range []struct {
		name  string
		value *int
	}{{"minLength", s.MinLength}, {"maxLength", s.MaxLength}, {"minItems", s.MinItems}, {"maxItems", s.MaxItems}} {
		if l.value != nil {
			add(l.name, *l.value)
		}
	}
	if s.Minimum != nil {
		add("minimum", *s.Minimum)
	}
	if s.Maximum != nil {
		add("maximum", *s.Maximum)
	}
	if s.Pattern != "" {
		add("pattern", s.Pattern)
	}
	enum := s.Enum
	if s.is("array") && s.Items != nil {
		enum = s.Items.Enum
	}
	if len(enum) > 0 {
		add("enum", joined(enum))
	}
	if s.Default != nil {
		add("default", s.Default)
	}
	if len(s.Examples) > 0 {
		add("example", joined(s.Examples))
	}
	return list
}

func joined(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}
