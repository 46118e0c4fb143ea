package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// value is an example: a member list, a list, or a scalar of JSON.
type value any

type (
	object []member
	member struct {
		name  string
		value value
	}
	list []value
)

// samples are examples for members that have none of their own and mean the same everywhere.
var samples = map[string]string{"tenant": "vision", "team": "vision", "cluster": "main", "size": "mig-1g.10gb",
	"image": "jupyterlab", "currency": "EUR", "unit": "EUR", "namespace": "gpu-vision", "lease": "8h", "amount": "12.40",
	"month": "2026-11", "day": "2026-11-24", "reason": "Fine-tuning for the paper", "note": "For this week",
	"person": "p-7f3a", "workload": "w-7k2m", "request": "r-4f9c", "node": "gpu-node-3", "model": "NVIDIA H100 80GB HBM3",
	"title": "H100, whole card", "email": "dana@example.org", "kind": "notebook", "url": "https://gpu.example.org/",
	"user": "dana"}

const sampleTime = "2026-11-24T09:30:00Z"

// example fills a schema. needed leaves out what may be left out; one that needs nothing shows its plain members.
func (p parser) example(name string, s *schema, needed bool, around []string) value {
	at, ref := p.resolve(s)
	if at == nil || ref != "" && slices.Contains(around, ref) {
		return nil
	}
	if ref != "" {
		around = append(slices.Clip(around), ref)
	}
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(at.Examples) > 0:
		return at.Examples[0]
	case at.Default != nil:
		return at.Default
	case len(at.Enum) > 0:
		return at.Enum[0]
	case at.is("array"):
		if item := p.example(name, at.Items, needed, around); item != nil {
			return list{item}
		}
		return list{}
	case at.is("object"):
		return p.exampleObject(at, needed, around)
	case at.is("boolean"):
		return true
	case at.is("integer"), at.is("number"):
		if at.Minimum != nil && at.Minimum.String() != "0" {
			return json.RawMessage(at.Minimum.String())
		}
		return json.RawMessage("1")
	case at.Format == "date-time":
		return sampleTime
	}
	return sample(name, at)
}

func sample(name string, s *schema) string {
	text := samples[name]
	if text == "" {
		text = "…"
	}
	if s.MaxLength != nil && len(text) > *s.MaxLength {
		text = text[:*s.MaxLength]
	}
	return text
}

func (p parser) exampleObject(s *schema, needed bool, around []string) value {
	if s.AdditionalProperties.schema != nil {
		if v := p.example("", s.AdditionalProperties.schema, needed, around); v != nil {
			return object{{"name", v}}
		}
		return object{}
	}
	fields := p.fields(s, nil)
	some := slices.ContainsFunc(fields, func(f Field) bool { return f.Required })
	o := object{}
	for _, f := range fields {
		nested := len(f.Fields) > 0
		if f.ReadOnly && needed || needed && !f.Required && !f.usual && (some || nested) {
			continue
		}
		if v := p.example(f.Name, f.schema, needed, around); v != nil {
			o = append(o, member{f.Name, v})
		}
	}
	return o
}

// language writes scalars as a programming language does.
type language struct{ yes, no, none string }

var (
	asJSON   = language{"true", "false", "null"}
	asPython = language{"True", "False", "None"}
)

// written is a value over several lines, indented by two spaces.
func written(v value, l language) string {
	var b strings.Builder
	l.write(&b, v, "")
	return b.String()
}

func (l language) write(b *strings.Builder, v value, indent string) {
	switch v := v.(type) {
	case object:
		l.block(b, "{", "}", indent, len(v), func(i int, inner string) {
			l.write(b, v[i].name, inner)
			b.WriteString(": ")
			l.write(b, v[i].value, inner)
		})
	case list:
		l.block(b, "[", "]", indent, len(v), func(i int, inner string) { l.write(b, v[i], inner) })
	case []any:
		l.block(b, "[", "]", indent, len(v), func(i int, inner string) { l.write(b, v[i], inner) })
	case bool:
		b.WriteString(map[bool]string{true: l.yes, false: l.no}[v])
	case nil:
		b.WriteString(l.none)
	case json.RawMessage:
		b.Write(v)
	case string:
		quoted, _ := json.Marshal(v) // a string has JSON
		b.Write(quoted)
	default:
		fmt.Fprint(b, v)
	}
}

func (l language) block(b *strings.Builder, open, end, indent string, n int, each func(i int, inner string)) {
	b.WriteString(open)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + indent + "  ")
		each(i, indent+"  ")
	}
	if n > 0 {
		b.WriteString("\n" + indent)
	}
	b.WriteString(end)
}
