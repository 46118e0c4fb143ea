package logstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Placeholders of a template.
const (
	clusterPlace   = "{cluster}"
	namespacePlace = "{namespace}"
	podPlace       = "{pod}" // a regular expression of the whole name
	containerPlace = "{container}"
	workloadPlace  = "{workload}" // its ID, for stores that keep the labels of pods
)

var places = []string{clusterPlace, namespacePlace, podPlace, containerPlace, workloadPlace}

// values are what a question puts in the places of a template, escaped.
func (q Question) values(escape func(string) string) *strings.Replacer {
	return strings.NewReplacer(clusterPlace, escape(q.Cluster), namespacePlace, escape(q.Namespace),
		podPlace, escape(q.Pod), containerPlace, escape(q.Container), workloadPlace, escape(q.Workload))
}

// template makes a query of a question.
type template interface {
	fill(q Question) string
	has(place string) bool
}

// complete refuses a template whose query could find the lines of somebody else.
func complete(t template) error {
	if t.has(workloadPlace) || t.has(namespacePlace) && t.has(podPlace) {
		return nil
	}
	return errors.New("query: it must have {namespace} and {pod}, or {workload}")
}

// logQL is a query in pieces: every other one is what stands between double quotes, the first one is not.
type logQL []string

// newLogQL cuts a query at its strings (LogQL has those of Go: "…" with escapes, and `…` without). Values are put
// between double quotes only, where they can be escaped.
func newLogQL(text string) (logQL, error) {
	t, from, quote := logQL{}, 0, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote == 0 && (c == '"' || c == '`'):
			if quote = c; c == '"' {
				t, from = append(t, text[from:i+1]), i+1
			}
		case quote != 0 && c == quote:
			if quote = 0; c == '"' {
				t, from = append(t, text[from:i]), i
			}
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("query: a string that begins with %c has no end", quote)
	}
	t = append(t, text[from:])
	for i := 0; i < len(t); i += 2 {
		for _, place := range places {
			if strings.Contains(t[i], place) {
				return nil, fmt.Errorf("query: %s must stand between double quotes", place)
			}
		}
	}
	return t, complete(t)
}

func (t logQL) has(place string) bool {
	return slices.ContainsFunc(t, func(piece string) bool { return strings.Contains(piece, place) })
}

func (t logQL) fill(q Question) string {
	var out strings.Builder
	values := q.values(func(v string) string {
		quoted := strconv.Quote(v)
		return quoted[1 : len(quoted)-1]
	})
	for i, piece := range t {
		if i%2 == 1 {
			piece = values.Replace(piece)
		}
		out.WriteString(piece)
	}
	return out.String()
}

// queryDSL is a query of Elasticsearch as a JSON object. Values are put into its strings before these are encoded, so
// that no value can become anything else than a string.
type queryDSL struct{ query map[string]any }

func newQueryDSL(text string) (queryDSL, error) {
	var t queryDSL
	if err := json.Unmarshal([]byte(text), &t.query); err != nil || t.query == nil {
		return t, fmt.Errorf("query: it must be an object of JSON, such as {\"bool\": {\"filter\": […]}}: %w", err)
	}
	if key := keyWithPlace(t.query); key != "" {
		return t, fmt.Errorf("query: the name of a field must not have a placeholder, as %q has", key)
	}
	return t, complete(t)
}

func keyWithPlace(v any) string {
	found := ""
	walk(v, func(key string) {
		if slices.ContainsFunc(places, func(place string) bool { return strings.Contains(key, place) }) {
			found = key
		}
	}, func(string) string { return "" })
	return found
}

// walk gives a copy of a JSON value with other strings.
func walk(v any, key func(string), text func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			key(name)
			out[name] = walk(inner, key, text)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = walk(v[i], key, text)
		}
		return out
	case string:
		return text(v)
	}
	return v
}

func (t queryDSL) has(place string) bool {
	found := false
	walk(t.query, func(string) {}, func(text string) string {
		found = found || strings.Contains(text, place)
		return text
	})
	return found
}

func (t queryDSL) object(q Question) any {
	return walk(t.query, func(string) {}, q.values(func(v string) string { return v }).Replace)
}

func (t queryDSL) fill(q Question) string {
	text, err := json.Marshal(t.object(q))
	if err != nil {
		panic(err) // it was read from JSON
	}
	return string(text)
}
