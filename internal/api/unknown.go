package api

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// schemasKey is where an operation keeps the schemas of its document.
const schemasKey = "schemas"

// unknown is the problem of a name that the operation does not have, with the one that was meant where one is close: a
// misspelt filter that is passed over would answer another question.
func unknown(location, id string, known func(location string) []string) fault.Field {
	f := fault.Field{Name: fieldName(location), Reason: i18n.T(id)}
	if known == nil {
		return f
	}
	name := location[strings.LastIndex(location, ".")+1:]
	if meant := closest(name, known(location)); meant != "" {
		if f.Reason = i18n.T("api.unknown_field_but", "Known", meant); id == unknownQuery {
			f.Reason = i18n.T("api.unknown_query_but", "Known", meant)
		}
	}
	return f
}

// knownIn gives the names that may stand where huma found one that may not: of query parameters, or of the object in
// the body.
func knownIn(op *huma.Operation) func(location string) []string {
	if op == nil {
		return nil
	}
	return func(location string) []string {
		place, path, _ := strings.Cut(location, ".")
		var names []string
		if place == "query" {
			for _, p := range op.Parameters {
				if p.In == place {
					names = append(names, p.Name)
				}
			}
			return names
		}
		schema := objectAt(op, path)
		if schema == nil {
			return nil
		}
		for name := range schema.Properties {
			names = append(names, name)
		}
		return names
	}
}

// objectAt is the schema of the object that a path of the body leads into; nil where the document has none.
func objectAt(op *huma.Operation, path string) *huma.Schema {
	schemas, _ := op.Metadata[schemasKey].(huma.Registry)
	if schemas == nil || op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	at := op.RequestBody.Content["application/json"].Schema
	steps := strings.Split(path, ".")
	for i := 0; ; i++ {
		for at != nil && at.Ref != "" {
			at = schemas.SchemaFromRef(at.Ref)
		}
		if at == nil || i == len(steps)-1 {
			return at
		}
		name, _, list := strings.Cut(steps[i], "[")
		if at = at.Properties[name]; list && at != nil {
			at = at.Items
		}
	}
}

// closest is the name that was most likely meant, "" for none: it differs in letter case and signs between words alone,
// or in two letters at most and in less than half of them.
func closest(name string, names []string) string {
	const most = 64
	if len(name) > most {
		return ""
	}
	slices.Sort(names)
	best, least := "", 3
	for _, n := range names {
		d := distance(plainName(name), plainName(n))
		if d < least && 2*d < utf8.RuneCountInString(n) {
			best, least = n, d
		}
	}
	return best
}

func plainName(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// distance counts the letters to insert, delete or change (Levenshtein).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before := row[0]
		row[0] = i + 1
		for j := range y {
			change := before
			if x[i] != y[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
