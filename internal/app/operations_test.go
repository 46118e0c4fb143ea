package app

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/api"
)

// schema is what the fuzz needs of JSON Schema.
type schema struct {
	Ref        string             `json:"$ref"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
}

// operation is one of the OpenAPI document.
type operation struct {
	route      string // "METHOD path", as in the table of rights
	Parameters []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Schema schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
}

// document reads the OpenAPI document: what is tested is what is published.
func document(t *testing.T) (operations []operation, schemas map[string]*schema) {
	t.Helper()
	text, err := api.New(api.Deps{}).Document()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths      map[string]map[string]operation `json:"paths"`
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			op := doc.Paths[path][method]
			op.route = strings.ToUpper(method) + " " + path
			operations = append(operations, op)
		}
	}
	return operations, doc.Components.Schemas
}

// hostile are values that a field does not expect: no type, no end, no sign, no sense.
var hostile = []any{nil, "", " ", "-1", "0", "99999999999999999999", "1e309", "NaN", "true", "null", "../../etc", "%00",
	"\x00",
	"\u202eabc", "\ud7ff\uffff", "'; DROP TABLE people;--", "{{.}}", "${x}", "=1+1", "9999999999999Ti", "-1h", "10000000h",
	"2026-02-30", "2026-11-22T25:61:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "main", "cpu", "vision", "none",
	strings.Repeat("a", 63), strings.Repeat("a", 300), strings.Repeat("💥", 70), strings.Repeat("a.", 2000), 0, -1, 1, 0.5,
	1 << 31, 1 << 53, -(1 << 53), 1e300, true, false, []any{}, []any{nil}, []any{"a", 1}, map[string]any{},
	map[string]any{"a": map[string]any{"b": []any{}}}, json.RawMessage("1e400"),
	json.RawMessage(`{"a":1,"a":2}`), json.RawMessage(`"\ud800"`)}

// attempt is one call of the fuzz; those that once did harm are kept in testdata/operations.yaml.
type attempt struct {
	Route string `yaml:"route"`
	Query string `yaml:"query,omitempty"`
	Body  string `yaml:"body,omitempty"`
	Why   string `yaml:"why,omitempty"`
}

// fuzzer makes attempts of operations.
type fuzzer struct {
	w       *world
	schemas map[string]*schema
	each    int // values that are tried for a place
}

// some are a choice of the values that is the same in each run.
func (f fuzzer) some(place string) []any {
	h := fnv.New64a()
	_, _ = h.Write([]byte(place))
	r := rand.New(rand.NewPCG(20261122, h.Sum64())) //nolint:gosec // a choice that can be repeated, no secret
	values := slices.Clone(hostile)
	r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values[:min(f.each, len(values))]
}

// attempts walks each parameter and each field of the body, one at a time, the others as they should be.
func (f fuzzer) attempts(op operation) []attempt {
	var all []attempt
	body := f.honest(op.route)
	text := func() string {
		if body == nil {
			return ""
		}
		data, err := json.Marshal(body)
		if err != nil {
			f.w.t.Fatal(err)
		}
		return string(data)
	}
	for _, p := range op.Parameters {
		if p.In != "query" {
			continue
		}
		for _, v := range f.some(op.route + p.Name) {
			all = append(all, attempt{Route: op.route, Query: url.Values{p.Name: {fmt.Sprint(v)}}.Encode(), Body: text()})
		}
	}
	for kind, content := range op.RequestBody.Content {
		if strings.Contains(kind, "json") {
			for _, v := range []string{"", "null", "[]", "1", `"x"`, "{", "{}", `{"a":`, "\xff"} {
				all = append(all, attempt{Route: op.route, Body: v})
			}
			f.fields(op.route, &content.Schema, body, map[*schema]bool{}, func() {
				all = append(all, attempt{Route: op.route, Body: text()})
			})
			continue
		}
		for _, v := range []string{"", "null", "- ", "a: &a [*a]", "sizes: {", "\x00", strings.Repeat("[", 2000)} {
			all = append(all, attempt{Route: op.route, Body: v})
		}
	}
	return all
}

// honest is a body that the operation takes.
func (f fuzzer) honest(route string) map[string]any {
	data, err := json.Marshal(f.w.body(route))
	if err != nil {
		f.w.t.Fatal(err)
	}
	var body map[string]any
	if json.Unmarshal(data, &body) != nil {
		return nil
	}
	return body
}

// fields puts values into each field of an object in turn, and into those of objects in it.
func (f fuzzer) fields(place string, s *schema, body map[string]any, seen map[*schema]bool, try func()) {
	for s.Ref != "" {
		s = f.schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	if body == nil || seen[s] {
		return
	}
	seen[s] = true
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		was, had := body[name]
		for _, v := range f.some(place + "." + name) {
			body[name] = v
			try()
		}
		inside := s.Properties[name]
		inner := map[string]any{}
		if inside.Items != nil {
			body[name] = []any{inner}
			inside = inside.Items
		} else {
			body[name] = inner
		}
		f.fields(place+"."+name, inside, inner, seen, try)
		if body[name] = was; !had {
			delete(body, name)
		}
	}
}

// TestNoOperationAnswers500 sends hostile values for every parameter and field of every operation of the OpenAPI
// document, and what has failed before (T-FUZZ). Whatever comes, 500 is never an answer: it says that nobody thought of
// it. GPU_PORTAL_FUZZ=all tries every value at every place.
func TestNoOperationAnswers500(t *testing.T) {
	w := newWorld(t, unlimited)
	operations, schemas := document(t)
	f := fuzzer{w: w, schemas: schemas, each: 5}
	if os.Getenv("GPU_PORTAL_FUZZ") == "all" {
		f.each = len(hostile)
	}
	tokens := []string{w.token(admin), w.token(owner)}
	kept := keptAttempts(t)
	// Everything is laid out before the first call: what is changed on the way must not be in the way of what follows.
	type plan struct {
		token, path string
		attempts    []attempt
	}
	var plans []plan
	known, calls, sensible := map[string]bool{}, 0, 0
	for _, op := range operations {
		known[op.route] = true
		_, pattern, _ := strings.Cut(op.route, " ")
		for _, token := range tokens {
			plans = append(plans, plan{token, w.fill(pattern, developer, "vision"), append(f.attempts(op), kept[op.route]...)})
			for _, v := range f.some(op.route + " path") {
				plans = append(plans, plan{token, placeholder.ReplaceAllString(pattern, escaped(v)), []attempt{{Route: op.route}}})
			}
		}
	}
	for _, p := range plans {
		for _, a := range p.attempts {
			if calls++; w.attempt(p.token, p.path, a) < 400 {
				sensible++
			}
		}
	}
	for route := range kept {
		if !known[route] {
			t.Errorf("testdata/operations.yaml: %s is no operation", route)
		}
	}
	if calls < 20*len(operations) || sensible == 0 {
		t.Errorf("%d calls of %d operations, %d of them honest: too few to say anything", calls, len(operations), sensible)
	}
}

// placeholder is a parameter of a path. What is put in its place has no $, which would name a group.
var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

func escaped(v any) string { return strings.ReplaceAll(url.PathEscape(fmt.Sprint(v)), "$", "%24") }

func keptAttempts(t *testing.T) map[string][]attempt {
	t.Helper()
	data, err := os.ReadFile("testdata/operations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []attempt
	if err := yaml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	kept := map[string][]attempt{}
	for _, a := range list {
		kept[a.Route] = append(kept[a.Route], a)
	}
	return kept
}

// attempt makes one call. 503 is an honest answer here: the cluster of this world does not answer.
func (w *world) attempt(token, path string, a attempt) int {
	w.t.Helper()
	method, _, _ := strings.Cut(a.Route, " ")
	if a.Query != "" {
		path, _, _ = strings.Cut(path, "?")
		path += "?" + a.Query
	}
	var body any
	if a.Body != "" {
		body = a.Body
	}
	got, err := w.send(token, method, path, body)
	if err != nil {
		w.t.Logf("%s %s: %v", method, path, err) // an address that cannot be written
		return http.StatusBadRequest
	}
	if got.status >= 500 && got.status != http.StatusServiceUnavailable {
		w.t.Errorf("%s %s %.300s: %d %s", method, path, a.Body, got.status, got.body)
	}
	return got.status
}
